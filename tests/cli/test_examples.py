"""The example projects run to their end, on this machine's own queue and on a real Slurm."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli import row_records
from tests.cli.conftest import Shell
from tests.eventually import eventually

if TYPE_CHECKING:
    from tests.rig.slurm import SlurmCluster

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class Example:
    """What an example has when it has ended. `jobs`: by action; `groups`: of the first submit."""

    directories: int
    jobs: dict[str, int]
    completed: dict[str, int]
    check: Callable[[Path], None]


def check_hello(root: Path) -> None:
    for number in range(3):
        greeting = root / f"workspace/directory{number}/greeting.txt"
        assert greeting.read_text() == f"Hello, directory{number}!\n"


def check_groups(root: Path) -> None:
    for x in (0, 3, 6):
        for y in (0, 4, 8, 12):
            text = (root / f"workspace/point-{x}-{y}/distance.txt").read_text()
            assert float(text) == pytest.approx((x * x + y * y) ** 0.5, rel=1e-5)
    assert (root / "letters.txt").read_text() == "letter-d letter-c letter-b letter-a\n"
    assert not list(root.glob("workspace/letter-*/distance.txt"))
    assert not list(root.glob("workspace/point-*/joined"))


def check_actions(root: Path) -> None:
    for count in (1, 2, 4, 8, 16):
        folder = root / f"workspace/count-{count}"
        numbers = range(1, count + 1)
        assert folder.joinpath("numbers.txt").read_text().split() == [*map(str, numbers)]
        assert folder.joinpath("squares.txt").read_text().split() == [str(n * n) for n in numbers]
        assert int(folder.joinpath("total.txt").read_text()) == sum(n * n for n in numbers)


def check_resources(root: Path) -> None:
    for number in range(1, 7):
        folder = root / f"workspace/run{number}"
        assert folder.joinpath("threads.txt").read_text() == "2 1\n"
        said = dict(
            line.split("=", 1)
            for line in folder.joinpath("environment.txt").read_text().splitlines()
        )
        assert said["ACTION_NAME"] == "environment"
        assert said["ACTION_PROCESSES"] == "1"
        assert said["ACTION_THREADS_PER_PROCESS"] == "2"
        assert said["ACTION_WALLTIME_IN_MINUTES"] == "2"


FOUR = {
    "hello": Example(3, {"hello": 1}, {"hello": 3}, check_hello),
    "groups": Example(
        16,
        {"measure_points": 3, "join_letters": 1},
        {"measure_points": 12, "join_letters": 4},
        check_groups,
    ),
    "actions": Example(
        5,
        {"generate": 3, "square": 1, "total": 1},
        {"generate": 5, "square": 5, "total": 5},
        check_actions,
    ),
    "resources": Example(
        6, {"threads": 2, "environment": 1}, {"threads": 6, "environment": 6}, check_resources
    ),
}


def unpack(name: str, shell: Shell) -> Path:
    """The example in this shell's folder, with its workspace."""
    source = EXAMPLES / name
    for file in source.iterdir():
        if file.is_file():
            shutil.copy2(file, shell.folder)
    subprocess.run(["sh", "make_workspace.sh"], cwd=shell.folder, check=True)
    return shell.folder


def jobs_of(shell: Shell, cluster: str | None) -> list[dict[str, Any]]:
    """What `show jobs` says of each job, newest first."""
    document = json.loads(shell.succeed("show", "jobs", "--long", "--json", cluster=cluster))
    assert document["error"] is None
    return list(document["jobs"])


def wait_for_jobs(shell: Shell, cluster: str | None, count: int) -> None:
    """Until `count` jobs have written down how they ended and rowtui says the same of all."""
    ended = shell.folder / ".row/rowtui/ended"
    eventually(
        lambda: ended.exists() and len(list(ended.iterdir())) == count,
        what=f"{count} jobs to end",
        every=0.05,
    )

    def all_ended() -> bool:
        return {job["state"] for job in jobs_of(shell, cluster)} == {"completed"}

    eventually(all_ended, what="rowtui to notice", every=0.1)


def submit(shell: Shell, cluster: str | None, *options: str) -> set[str] | None:
    """One submission: the ids that were said, or None where nothing was eligible."""
    done = shell("submit", "--yes", *options, cluster=cluster)
    assert done.returncode == 0, done.stderr
    if "no eligible jobs" in done.stderr:
        return None
    return set(re.findall(r"^Row submitted job (?:\S+/)?(\d+)\.$", done.stdout, re.MULTILINE))


def check_row_agrees(shell: Shell, cluster: str | None, *sent: tuple[str, str]) -> None:
    """After jobs have ended: Row knows of each completion, and of no job any more."""
    status = json.loads(shell.succeed("show", "status", "--all", "--json", cluster=cluster))
    counted = {row["name"]: row["completed"] for row in status["actions"] if row["completed"]}
    in_row = row_records.completed(shell.folder)
    assert {action: len(names) for action, names in in_row.items()} == counted
    assert {(action, name) for action, names in in_row.items() for name in names} >= set(sent)
    assert row_records.submitted(shell.folder) == {}


def detached_rounds(shell: Shell, cluster: str | None, called: str) -> None:
    """Submit and wait, until nothing is eligible; what Row's files say is looked at each time."""
    count = 0
    while ids := submit(shell, cluster, "--detach"):
        in_row = {
            (action, name): job
            for action, jobs in row_records.submitted(shell.folder).items()
            for name, job in jobs.items()
        }
        assert set(in_row.values()) == {(called, int(job_id)) for job_id in ids}
        count += len(ids)
        assert count < 20
        wait_for_jobs(shell, cluster, count)
        check_row_agrees(shell, cluster, *in_row)


def check_the_end(name: str, shell: Shell, cluster: str | None, called: str) -> None:
    example = FOUR[name]
    example.check(shell.folder)

    status = json.loads(shell.succeed("show", "status", "--json", cluster=cluster))
    assert status["directories"] == example.directories
    assert {row["name"]: row["completed"] for row in status["actions"]} == example.completed
    assert all(
        row["submitted"] + row["eligible"] + row["waiting"] == 0 for row in status["actions"]
    )

    jobs = jobs_of(shell, cluster)
    by_action: dict[str, int] = {}
    for job in jobs:
        by_action[job["action"]] = by_action.get(job["action"], 0) + 1
        assert (job["cluster"], job["exit_code"], job["reason"]) == (called, 0, None)
    assert by_action == example.jobs
    table = shell.succeed("show", "jobs", "--long", cluster=cluster).splitlines()
    assert table[0].split()[:4] == ["ID", "Cluster", "State", "Action"]
    assert sorted(line.split()[0] for line in table[1:]) == sorted(job["id"] for job in jobs)
    assert all(line.split()[2] == "completed" for line in table[1:])

    # Every job's log can be read; these commands write nothing to it.
    some = jobs[0]
    assert shell.succeed("logs", str(some["id"]), cluster=cluster) == ""
    path = shell.succeed("logs", "--path", str(some["id"]), cluster=cluster).strip()
    assert Path(path) == shell.folder / some["log_path"]
    assert Path(path).exists()

    in_row = row_records.completed(shell.folder)
    assert {action: len(names) for action, names in in_row.items()} == example.completed
    assert set(row_records.directories(shell.folder)) == {
        path.name for path in (shell.folder / "workspace").iterdir()
    }


@pytest.mark.parametrize("name", FOUR)
def test_an_example_runs_to_its_end_on_this_machine(name: str, empty_folder: Shell) -> None:
    unpack(name, empty_folder)
    rounds = 0
    while submit(empty_folder, "local"):  # follows the jobs to their end
        rounds += 1
        assert rounds < 5
        check_row_agrees(empty_folder, "local")
    check_the_end(name, empty_folder, "local", "local")


@pytest.mark.slurm
@pytest.mark.parametrize("name", FOUR)
def test_an_example_runs_to_its_end_on_slurm(
    name: str, empty_folder: Shell, slurm: SlurmCluster
) -> None:
    # Given a login node that no configuration describes.
    empty_folder.environment["SLURM_CONF"] = str(slurm.conf)
    unpack(name, empty_folder)
    detached_rounds(empty_folder, None, slurm.name)
    check_the_end(name, empty_folder, None, slurm.name)


def test_detached_jobs_run_to_their_end_and_row_is_told_of_each(empty_folder: Shell) -> None:
    unpack("hello", empty_folder)
    detached_rounds(empty_folder, "local", "local")
    check_the_end("hello", empty_folder, "local", "local")


def test_what_a_job_writes_is_in_its_log(empty_folder: Shell) -> None:
    (empty_folder.folder / "workspace/a").mkdir(parents=True)
    (empty_folder.folder / "workflow.toml").write_text(
        '[[action]]\nname = "say"\ncommand = "echo one; echo two >&2; echo {directory}; false"\n'
        'products = ["never"]\n'
    )
    # When the job is followed to its bad end, then that is said.
    done = empty_folder("submit", "--yes", cluster="local")
    assert done.returncode == 1
    assert "(say) failed: exit code" in done.stderr
    assert "Its log: say-" in done.stderr

    assert empty_folder.succeed("logs", "a", cluster="local").splitlines()[:3] == [
        "one",
        "two",
        "a",
    ]
    assert empty_folder.succeed("logs", "a", "-n", "1", cluster="local").count("\n") == 1
    status = json.loads(empty_folder.succeed("show", "status", "--json", cluster="local"))
    assert status["actions"][0]["failed"] == 1


JSON_COMMANDS = (
    ("show", "status"),
    ("show", "status", "-a", "nothing"),
    ("show", "directories"),
    ("show", "directories", "-a", "square"),
    ("show", "jobs"),
    ("show", "jobs", "-a", "nothing"),
    ("show", "cluster"),
    ("show", "cluster", "--all"),
    ("show", "launchers"),
    ("show", "launchers", "--all"),
    ("plan",),
    ("plan", "-a", "nothing"),
    ("submit", "--yes", "-n", "1", "-a", "nothing"),
    ("submit", "--yes", "-n", "1", "-a", "square"),
    ("cancel", "--all", "--yes"),
    ("scan",),
    ("scan", "-a", "nothing"),
    ("doctor",),
)


@pytest.mark.slurm
@pytest.mark.parametrize("cluster", ["local", "slurm"])
def test_whatever_is_said_is_json_where_json_was_asked_for(
    cluster: str, empty_folder: Shell, request: pytest.FixtureRequest
) -> None:
    # Every command is started here as a person starts it, with all its imports.
    empty_folder.starts_python = cluster == "local"
    named: str | None = cluster
    if cluster == "slurm":
        empty_folder.environment["SLURM_CONF"] = str(request.getfixturevalue("slurm").conf)
        named = None
    unpack("actions", empty_folder)
    answer = json.loads(empty_folder.succeed("submit", "--yes", "--json", cluster=named))
    assert len(answer["jobs"]) == 3
    wait_for_jobs(empty_folder, named, 3)
    for words in JSON_COMMANDS:
        done = empty_folder(*words, "--json", cluster=named)
        printed = json.loads(done.stdout or f"nothing was printed by {' '.join(words)}")
        refused = words == ("plan", "-a", "nothing")
        failed = "version" in printed and len(printed) == 2 and bool(printed.get("error"))
        assert (done.returncode, failed) == (int(refused), refused), (words, done.stderr)
