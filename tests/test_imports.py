"""What the small commands load and touch: little, however large the project is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# Runs the command and prints, behind its output, the modules that it loaded and how often it
# opened, listed or changed a file of the project.
REPORT = """\
import sys
touched = {"open": 0, "os.listdir": 0, "os.scandir": 0, "changes": 0, "processes": 0}
CHANGES = ("os.link", "os.rename", "os.remove", "os.mkdir", "os.symlink", "os.truncate")
inside = sys.argv.pop(1)
def hook(event, arguments):
    if event in ("subprocess.Popen", "os.posix_spawn", "os.fork"):
        touched["processes"] += 1
    elif event in touched or event in CHANGES:
        path = arguments[0]
        if isinstance(path, bytes):
            path = path.decode()
        if isinstance(path, int) or str(path).startswith(inside):
            touched[event if event in touched else "changes"] += 1
sys.addaudithook(hook)
from rowtui.cli.main import main
code = 0
try:
    code = main()
finally:
    sys.stdout.flush()
    modules = sorted(sys.modules)
    import json
    print("\\n@@@" + json.dumps({"code": code, "modules": modules, "touched": touched}))
"""
# What nobody needs who asks for a status or a list.
HEAVY = {
    "asyncio",
    "asyncssh",
    "concurrent",
    "multiprocessing",
    "numpy",
    "rich",
    "textual",
    "tomlkit",
    "watchfiles",
    "yaml",
}
WORKFLOW = """\
[workspace]
value_file = "v.json"

[[action]]
name = "one"
command = "touch workspace/{directory}/one"
products = ["one"]

[[action]]
name = "two"
command = "touch workspace/{directory}/two"
products = ["two"]
previous_actions = ["one"]
[action.group]
include = [{ condition = ["/v", "<", 7] }]
sort_by = ["/v"]
"""


class Report:
    """What one command printed, loaded and touched."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        done = subprocess.run(
            [sys.executable, "-P", "-c", REPORT, str(folder), *arguments],
            cwd=folder,
            env={
                name: value
                for name, value in os.environ.items()
                if not name.startswith(("ROW", "SLURM", "SBATCH", "CLICOLOR", "NO_COLOR"))
            }
            | {"HOME": str(folder.parent), "ROW_HOME": str(folder.parent / "nobody")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        )
        self.text, _, report = done.stdout.partition("\n@@@")
        found = json.loads(report)
        assert found["code"] == 0, done.stderr
        assert done.stderr == ""
        self.modules = set(found["modules"])
        self.packages = {module.split(".")[0] for module in self.modules}
        self.touched = dict(found["touched"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that was looked at before; its workspace has rested for a while."""
    folder = tmp_path_factory.mktemp("imports") / "project"
    for number in range(20):
        directory = folder / "workspace" / f"d{number:02}"
        directory.mkdir(parents=True)
        (directory / "v.json").write_text(json.dumps({"v": number}))
        if number < 5:
            (directory / "one").touch()
    (folder / "workflow.toml").write_text(WORKFLOW)
    # A listing of a folder that changed a moment ago may miss what changes within the same tick.
    long_ago = (1_000_000_000, 1_000_000_000)
    os.utime(folder / "workspace", long_ago)
    Report(folder, "show", "status")
    return folder


def test_help_loads_next_to_nothing(folder: Path) -> None:
    report = Report(folder, "--help")
    assert "Usage: rowtui" in report.text
    assert not report.packages & {*HEAVY, "orjson", "tomli", "json", "subprocess"}
    assert not {module for module in report.modules if module.startswith("rowtui.tui")}
    assert report.touched == dict.fromkeys(report.touched, 0)


def test_a_status_that_is_still_true_costs_a_few_looks(folder: Path) -> None:
    report = Report(folder, "show", "status")
    assert report.text.splitlines()[1].split()[:5] == ["one", "5", "0", "15", "0"]
    assert not report.packages & {
        *HEAVY,
        "orjson",
        "tomli",
        "subprocess",
        "dataclasses",
    }
    assert not report.modules & {
        f"rowtui.{name}" for name in ("cli.show.status", "core.project.project", "core.state")
    }
    # The summary alone is opened; staged files, journals and records are listed.
    assert report.touched == {
        "open": 1,
        "os.listdir": 3,
        "os.scandir": 0,
        "changes": 0,
        "processes": 0,
    }


def test_a_copied_project_is_looked_at_itself(folder: Path, tmp_path: Path) -> None:
    copied = tmp_path / "copied"
    shutil.copytree(folder, copied)
    shutil.rmtree(copied / "workspace" / "d04")

    report = Report(copied, "show", "status")

    assert report.text.splitlines()[1].split()[:5] == ["one", "4", "0", "15", "0"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "status", "--all"),
        ("show", "status", "--json"),
        ("show", "status", "d03"),
        ("show", "directories"),
        ("show", "directories", "-a", "one"),
        ("show", "directories", "-a", "one", "--eligible", "--short"),
        ("show", "jobs"),
    ],
    ids=" ".join,
)
def test_what_only_looks_loads_nothing_heavy_and_changes_nothing(
    arguments: tuple[str, ...], folder: Path
) -> None:
    report = Report(folder, *arguments)
    assert not report.packages & {*HEAVY, "orjson", "tomli"}
    assert report.touched["changes"] == 0
    assert report.touched["processes"] == 0
    # The records and the names; the workspace is neither listed nor its values opened.
    assert report.touched["open"] <= 8
    assert report.touched["os.scandir"] == 0


def test_values_are_read_with_orjson_alone(folder: Path) -> None:
    report = Report(folder, "show", "directories", "-a", "one", "--value", "/v")
    assert report.text.splitlines()[1].split() == ["d00", "completed", "0"]
    assert not report.packages & {*HEAVY, "tomli"}


def test_sorted_groups_are_formed_without_numpy_where_they_are_few(folder: Path) -> None:
    report = Report(folder, "show", "directories", "-a", "two", "--short")
    assert report.text.split() == [f"d{number:02}" for number in range(7)]
    assert not report.packages & (HEAVY - {"numpy"})


def test_a_run_without_a_network_loads_no_numpy(folder: Path) -> None:
    report = Report(folder, "--cluster", "local", "run", "--rules")
    assert not report.packages & {"numpy", "asyncssh", "watchfiles", "textual"}


def test_the_command_line_never_loads_the_dashboard(folder: Path) -> None:
    for arguments in (
        ("plan",),
        ("submit", "--dry-run"),
        ("scan",),
        ("show", "cluster", "--cluster", "local"),
        ("show", "launchers"),
        ("show", "jobs", "--long"),
    ):
        report = Report(folder, "--cluster", "local", *arguments)
        assert not report.packages & {"textual", "rich", "asyncssh", "watchfiles"}, arguments
        assert not {module for module in report.modules if module.startswith("rowtui.tui")}


def test_an_explanation_loads_tomlkit_only_for_its_change(folder: Path, tmp_path: Path) -> None:
    copied = tmp_path / "copied"
    shutil.copytree(folder, copied)
    explain = ("--cluster", "local", "explain", "two", "--time", "01:10")

    assert "tomlkit" not in Report(copied, *explain).packages
    assert "tomlkit" in Report(copied, *explain, "--write", "--yes", "--json").packages
    assert "resources.walltime.per_directory = " in (copied / "workflow.toml").read_text()


# All of rowtui that a status or a listing of a small project may load, and what costs a start dear
# although it is light: a change that needs more pays for it with every command that people type.
TO_LOOK_AT_A_PROJECT = {
    "cli": "argument_parser environment main output parser project show",
    "cli.output": "output progress table",
    "cli.project": "open",
    "cli.show": "status directories parser",
    "core": "base groups network project state workflow",
    "core.base": "errors files lazy quantities text values",
    "core.groups": "request form include model order status",
    "core.network": "definition",
    "core.network.definition": "find",
    "core.project": "context open_project planning project summary workflows",
    "core.project.context": "cluster_context configured",
    "core.project.planning": "statuses",
    "core.state": "columns container directories merge model names pointer_values row store",
    "core.state.row": "postcard",
    "core.state.store": "store stored",
    "core.workflow": "compiled find model",
}
DEAR = {
    "ast", "dataclasses", "datetime", "decimal", "hashlib", "inspect",
    "logging", "pickle", "random", "shutil", "socket", "statistics", "subprocess", "tempfile",
    "tomllib",
}  # fmt: skip
"""Not `threading`: files that answer slowly, as on a busy machine, are asked for in threads."""


@pytest.mark.parametrize(
    ("arguments", "further"),
    [
        (
            ("show", "status", "--all"),
            {"core.groups.select", "core.project.mapping_files", "core.project.statuses"},
        ),
        (
            ("show", "status", "d03", "d04"),
            {"core.groups.select", "core.project.mapping_files", "core.project.statuses"},
        ),
        (("show", "directories"), {"cli.show.listing"}),
        (("show", "directories", "-a", "two", "--eligible"), {"cli.show.listing"}),
        (("show", "directories", "-a", "one", "--value", "/v"), {"cli.show.listing"}),
    ],
    ids=lambda words: " ".join(sorted(words)),
)
def test_what_is_typed_all_day_loads_what_it_needs_and_no_more(
    arguments: tuple[str, ...], further: set[str], folder: Path
) -> None:
    allowed = {f"rowtui.{name}" for name in {"cli", "core", *further}}
    for package, names in TO_LOOK_AT_A_PROJECT.items():
        allowed |= {f"rowtui.{package}.{name}" for name in names.split()}

    report = Report(folder, *arguments)

    assert {module for module in report.modules if module.startswith("rowtui.")} <= allowed
    assert report.packages & {*HEAVY, *DEAR, "orjson", "tomli"} == set()


@pytest.mark.parametrize(
    ("arguments", "light"),
    [
        (("show", "jobs"), {"asyncio", "dataclasses", "inspect", "subprocess"}),
        (("plan",), {"asyncio", "concurrent", "dataclasses", "numpy"}),
        (("submit", "--dry-run"), {"asyncio", "concurrent", "dataclasses", "numpy"}),
        (("usage",), {"asyncio", "concurrent", "dataclasses", "numpy", "subprocess"}),
        (("queue",), {"dataclasses", "numpy"}),
        (("explain", "one"), {"dataclasses", "difflib", "numpy", "tomlkit"}),
    ],
    ids=lambda words: " ".join(sorted(words)),
)
def test_what_plans_or_looks_loads_nothing_that_it_does_not_use(
    arguments: tuple[str, ...], light: set[str], folder: Path
) -> None:
    report = Report(folder, "--cluster", "local", *arguments)
    assert not report.packages & light
    sends = "rowtui.core.submission.sending"
    assert not report.modules & {f"{sends}.carry_out", f"{sends}.release_held", f"{sends}.send"}
