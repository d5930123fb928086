"""Projects of the matrix: small real ones, each with a home, a queue and a record of what ran.

Two actions: `one` in five directories, in groups of three and two, and `two`, which needs all that
`one` made in its directory (plain) or in all directories (network). Each job writes a line for each
directory to the file `ran`; while there is a file `gate`, jobs wait.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from tests.eventually import eventually
from tests.rig.login import LoginNode
from tests.seams.combinations import Combination
from tests.seams.folder import FolderProject

NAMES = tuple(f"s,x={number}" for number in range(1, 6))
MINUTES = 10  # that a job asks for; `strict` jobs fail with less than twice as many

WORKFLOW = """\
[workspace]
value_file = "value.json"

[default.action.resources]
walltime.per_submission = "00:10:00"
memory_per_cpu_mb = 50

[[action]]
name = "one"
command = "sh step.sh one {directory}"
products = ["one"]
[action.group]
maximum_size = 3
[[action.group.include]]
condition = ["/node", "==", "s"]

[[action]]
name = "two"
command = "sh step.sh two {directory}"
products = ["two"]
group.maximum_size = 5
"""
PLAIN = 'previous_actions = ["one"]\n'
OF_NODE = '[[action.group.include]]\ncondition = ["/node", "==", "two"]\n'
# Asks for more than any machine here has.
HUGE = """
[[action]]
name = "huge"
command = "sh step.sh huge {directory}"
products = ["huge"]
resources.processes.per_submission = 1
resources.gpus_per_process = 64
[[action.group.include]]
condition = ["/node", "==", "s"]
"""
NETWORK = """\
name = "seams"

[[source]]
name = "s"
[source.values]
x = [1, 2, 3, 4, 5]

[[node]]
name = "one"
from = "s"

[[node]]
name = "two"
from = "one"
output = "one"
collapse = ["x"]
"""
HUGE_NODE = '\n[[node]]\nname = "huge"\nfrom = "s"\n'
# A line of `ran`: the job's id, action, directory, and whether the inputs were there.
STEP = """\
here='{here}'
inputs=there
if [ "$1" = two ]; then {inputs} || inputs=missing; fi
echo "${{SLURM_JOB_ID:-$ROWTUI_JOB_ID}} $1 $2 $inputs" >> "$here/ran"
while [ -e "$here/gate" ]; do sleep 0.2; done
[ -e "$here/broken" ] && [ "$2" = 's,x=2' ] && exit 3
[ -e "$here/strict" ] && [ "$ACTION_WALLTIME_IN_MINUTES" -lt {minutes} ] && exit 3
[ "$inputs" = there ] || exit 4
: > "workspace/$2/$1"
"""
PLAIN_INPUTS = '[ -e "workspace/$2/one" ]'
ALL_OF_ONE = "$(ls -d workspace/s,x=*/one 2>/dev/null | wc -l)"
NETWORK_INPUTS = f'[ -e "workspace/$2/inputs.json" ] && [ "{ALL_OF_ONE}" = {len(NAMES)} ]'
MAPPING = """\
tools:
  one:
    cores: 2
    mem: attempt / 4
  two:
    cores: 1
    mem: 1 / 8
  huge:
    rules:
      - if: "True"
        fail: no machine has so many GPUs
destinations:
  there:
    runner: {cluster}
    params: {{{params}}}
"""
NODE_TYPE = """\
[[cluster.node_type]]
name = "four"
partition = "cpu"
cpus = 4
memory = "1G"
maximum_walltime = "01:00:00"
"""
CLUSTER = """\
[[cluster]]
name = "{name}"
identify.always = true
scheduler = "{scheduler}"
partition = [{{ name = "{partition}", maximum_gpus_per_job = 0 }}]
{more}
"""
COPIED = """
[cluster.ssh]
host = "alpha"
config = ["{config}"]
mirror = "{mirror}"
"""


class Ran(NamedTuple):
    """One line that a job wrote."""

    job: str
    action: str
    directory: str
    inputs: str


class SeamProject(FolderProject):
    """The project of a combination."""

    def __init__(self, which: Combination, folder: Path, login: LoginNode | None) -> None:
        self.which, self.login = which, login
        environment = {"ROWTUI_CLUSTER": self.cluster}
        if which.place == "slurm":
            assert login is not None
            environment["SLURM_CONF"] = str(login.cluster.conf)
        super().__init__(folder, **environment)
        self.root.mkdir(parents=True)
        self._write_configuration()
        self._write_project()
        if which.place == "copied":  # one login for all commands
            with self.here():
                self.succeed("connect", "alpha")

    @property
    def is_network(self) -> bool:
        """Whether there is a network.toml, or will be."""
        return self.which.flow == "network"

    @property
    def cluster(self) -> str:
        """The name of the cluster that jobs go to."""
        return "local" if self.which.place == "local" else "alpha"

    def ran(self) -> list[Ran]:
        """What really ran, in order."""
        try:
            lines = (self.folder / "ran").read_text().splitlines()
        except FileNotFoundError:
            return []
        return [Ran(*line.split(" ")) for line in lines]

    def flag(self, name: str, *, there: bool = True) -> None:
        """Make or remove one of the files that jobs look for: `gate`, `broken`, `strict`."""
        path = self.folder / name
        if there:
            path.touch()
        else:
            path.unlink(missing_ok=True)

    def wait_until_begun(self, jobs: int) -> None:
        """Wait until so many scheduler jobs or requests have written their first line."""
        eventually(lambda: len(self.ran()) >= jobs, what=f"{jobs} jobs to begin")

    def close(self) -> None:
        """End all that this project started."""
        self.flag("gate", there=False)
        super().close()
        if self.which.place == "copied":
            with self.here():
                self("disconnect", "alpha")

    def _write_configuration(self) -> None:
        packed = self.which.sharing == "packed"
        is_local = self.which.place == "local"
        packing = '[cluster.packing]\nlongest = "00:50:00"\n'
        text = CLUSTER.format(
            name=self.cluster,
            scheduler="local" if is_local else "slurm",
            partition="local" if is_local else "cpu",
            more=packing + ("" if is_local else NODE_TYPE) if packed else "",
        )
        if self.which.place == "copied":
            assert self.login is not None
            mirror = self.folder / "far"
            mirror.mkdir()
            text += COPIED.format(config=self.login.ssh_config, mirror=mirror)
        folder = self.home / ".config" / "rowtui"
        folder.mkdir(parents=True)
        (folder / "clusters.toml").write_text(text)

    def _write_project(self) -> None:
        is_refused = self.which.event == "refusal"
        workflow = WORKFLOW + (OF_NODE if self.is_network else PLAIN)
        (self.root / "workflow.toml").write_text(workflow + (HUGE if is_refused else ""))
        inputs = NETWORK_INPUTS if self.is_network else PLAIN_INPUTS
        (self.root / "step.sh").write_text(
            STEP.format(here=self.folder, inputs=inputs, minutes=2 * MINUTES)
        )
        if self.is_network:
            network = NETWORK + (HUGE_NODE if is_refused else "")
            (self.root / "network.toml").write_text(network)
        else:
            for number, name in enumerate(NAMES, 1):
                self.write_value(name, {"node": "s", "x": number})
        if self.which.sharing == "mapped":
            params = "" if self.which.place == "local" else "partition: cpu"
            text = MAPPING.format(cluster=self.cluster, params=params)
            (self.root / "mapping.yml").write_text(text)
            with self.here():
                self.succeed("mapping", "trust", "mapping.yml", "--yes")

    def write_value(self, name: str, value: dict[str, Any]) -> None:
        """Write the value of a directory."""
        directory = self.root / "workspace" / name
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "value.json").write_text(json.dumps(value))
