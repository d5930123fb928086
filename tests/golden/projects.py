"""The projects that the commands run in, each made from nothing and then left alone."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.rig.login import LoginNode
from tests.rig.slurm import start_slurm
from tests.seams.combinations import Combination
from tests.seams.folder import FolderProject
from tests.seams.projects import SeamProject

EXAMPLES = Path(__file__).parents[2] / "examples"
ENVIRONMENT = {
    "TZ": "UTC", "COLUMNS": "100", "TERM": "xterm", "COLORTERM": "truecolor", "USER": "ada",
    "LOGNAME": "ada",
}  # fmt: skip
CLUSTERS = ".config/rowtui/clusters.toml"
# A cluster of which all is known, so that no connection is needed to plan for it.
FAR = """
[[cluster]]
name = "far"
scheduler = "slurm"
currency = "EUR"
[cluster.ssh]
host = "nowhere.invalid"
[[cluster.partition]]
name = "cpu"
[[cluster.node_type]]
name = "large"
cpus = 4
memory = "64G"
price_per_hour = 1.0
count = 2
boot_time = 60
maximum_walltime = "00:30:00"
[[cluster.node_type]]
name = "small"
cpus = 2
memory = "4G"
price_per_hour = 0.25
"""
WORKFLOW = """\
[workspace]
value_file = "value.json"
[[action]]
name = "one"
command = "touch workspace/{directory}/one"
products = ["one"]
"""
# Folders in which something is wrong: their files, as seen from the project's folder.
WRONG: dict[str, dict[str, str]] = {
    "empty": {},
    "bad-toml": {"workflow.toml": '[[action]]\nname = "one\ncommand = "true"\n'},
    "bad-workflow": {
        "workflow.toml": WORKFLOW
        + 'comand = "x"\nprevious_actions = ["zero"]\n[action.group]\nmaximum_size = 0\n'
        + '[[action]]\nname = "one more"\n'
    },
    "bad-value": {
        "workflow.toml": WORKFLOW,
        "workspace/a/value.json": '{"x": 1}\n',
        "workspace/b/value.json": '{"x": \n',
        "workspace/c/other.json": "{}\n",
    },
    "bad-yaml": {
        "workflow.toml": WORKFLOW,
        "mapping.yml": "tools:\n  one:\n    cores: 2\n   mem: [1\n",
        "workspace/a/value.json": '{"x": 1}\n',
    },
    "bad-network": {
        "workflow.toml": WORKFLOW,
        "network.toml": 'name = "n"\n[[source]]\nname = "s"\n[source.values]\nx = [1, 1]\n'
        + '[[node]]\nname = "one"\nfrom = "nowhere"\ncolapse = ["x"]\n',
    },
    "bad-clusters": {
        "workflow.toml": WORKFLOW,
        "workspace/a/value.json": '{"x": 1}\n',
        f"../home/{CLUSTERS}": '[[cluster]]\nname = "far"\nscheduler = "pbs"\nshh = 1\n',
    },
}
WRONG_MAPPING = """\
tools:
  simulate:
    cores: 2 +
    memm: 4
    inherits: nothing
    rules:
      - if: input_sise > 3
        cores: "four"
destinations:
  there:
    runner: nowhere
"""
UNTIDY = (
    "tools:\n    simulate: {cores: 2,   mem: 'cores*2'}\nglobal:\n    default_inherits: simulate\n"
)
WRONG_CASES = """\
- name: goes where it does not
  action: simulate
  user: ada
  values: [{kind: water, atoms: 3000}]
  expect: {destination: gpu, cores: 3}
"""


@contextmanager
def made(name: str, folder: Path) -> Iterator[FolderProject]:
    """The project of this name, made in this folder; all that it started ends with it."""
    with ExitStack() as stack:
        if name in MAKERS:
            yield MAKERS[name](folder, stack)
        else:
            yield make_folder(folder, WRONG.get(name, {}))


def make_plain(folder: Path, stack: ExitStack) -> FolderProject:
    """Of five directories three are completed, one failed, and one was not reached; one action is
    refused.
    """
    project = _seam(folder, stack, "plain", "single", "local", "refusal")
    with project.here():
        project.flag("broken")
        project("submit", "--yes", "--detach", "-n", "2")
        project.wait_until_ended()
    return project


def make_mapped(folder: Path, stack: ExitStack) -> FolderProject:
    """The example with a mapping file, which is trusted, on a cluster that never answers."""
    project = FolderProject(folder, **ENVIRONMENT, ROWTUI_CLUSTER="hpc")
    shutil.copytree(EXAMPLES / "mapped", project.root)
    subprocess.run(["sh", "make_workspace.sh"], cwd=project.root, check=True)
    clusters = project.home / CLUSTERS
    clusters.parent.mkdir(parents=True)
    (project.root / "clusters.toml").rename(clusters)
    for name, text in {
        "wrong.yml": WRONG_MAPPING,
        "untidy.yml": UNTIDY,
        "wrong_cases.yml": WRONG_CASES,
    }.items():
        (project.root / name).write_text(text)
    with project.here():
        project.succeed("mapping", "trust", "mapping.yml", "--yes")
        project("submit", "--yes", "--detach", "-n", "1", "--cluster", "local", "-a", "simulate")
        project.wait_until_ended()
    return project


def make_packed(folder: Path, stack: ExitStack) -> FolderProject:
    """Five jobs for nodes that they share; nothing was submitted."""
    project = _seam(folder, stack, "plain", "packed", "local", "success")
    workflow = project.root / "workflow.toml"
    workflow.write_text(workflow.read_text().replace("maximum_size = 3", "maximum_size = 1"))
    with (project.home / CLUSTERS).open("a") as clusters:
        clusters.write(FAR)
    return project


def make_network(folder: Path, stack: ExitStack) -> FolderProject:
    """A run that stopped, since a directory failed."""
    project = _seam(folder, stack, "network", "single", "local", "failure")
    with project.here():
        project.flag("broken")
        project.start("network", "run", "--yes")
        project.finish_children()
        project.wait_until_ended()
    return project


def make_mirrored(folder: Path, stack: ExitStack) -> FolderProject:
    """One job ran on a Slurm cluster that has a copy; since then both sides changed."""
    rig = start_slurm()
    stack.callback(rig.close)
    login = LoginNode(rig.keeper, rig.cluster)
    project = _seam(folder, stack, "plain", "single", "copied", "success", login=login)
    with project.here():
        project.succeed("submit", "--yes", "-n", "1")
        project.wait_until_ended()
    (copy,) = (folder / "far").iterdir()
    (copy / "step.sh").write_text("echo theirs\n")
    (copy / "workspace/s,x=1/trajectory").write_text("of the job\n")
    (copy / "workspace/s,x=2/one").unlink()
    (project.root / "step.sh").write_text("echo ours, which is longer\n")
    project.write_value("s,x=4", {"node": "s", "x": 40})
    return project


def make_folder(folder: Path, files: dict[str, str]) -> FolderProject:
    """A folder with only these files."""
    project = FolderProject(folder, **ENVIRONMENT)
    project.root.mkdir(parents=True)
    project.home.mkdir()
    for name, text in files.items():
        file = project.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return project


def _seam(
    folder: Path, stack: ExitStack, *which: str, login: LoginNode | None = None
) -> SeamProject:
    """A project of the matrix."""
    project = SeamProject(Combination(*which), folder, login)
    stack.callback(project.close)
    project.environment |= ENVIRONMENT
    return project


MAKERS = {
    "plain": make_plain,
    "mapped": make_mapped,
    "packed": make_packed,
    "network": make_network,
    "mirrored": make_mirrored,
}
