"""`rowtui hold`, `release`, `cancel` and `logs` on jobs of two real clusters and this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Shell
from tests.cli.on_clusters import OnClusters, configure
from tests.cli.terminal import Terminal, on_a_terminal
from tests.eventually import eventually
from tests.rig.login import LoginNode

WAITING = """\
[[action]]
name = "wait"
command = "touch workspace/{directory}/out"
products = ["out"]
group.maximum_size = 1

[action.submit_options.alpha]
custom = ["--begin=now+1hour"]
[action.submit_options.beta]
custom = ["--begin=now+1hour"]
"""
TALKING = r"""
[[action]]
name = "talk"
command = "sh ./talk.sh {directory}"
products = ["out"]
"""


@pytest.fixture
def project(
    two: tuple[LoginNode, ...], here: OnClusters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """Two tasks of an array wait on alpha, one job on beta; what `show jobs` says of them."""
    root = two[0].cluster.work / tmp_path.name
    for name in "abc":
        (root / "workspace" / name).mkdir(parents=True)
    (root / "workflow.toml").write_text(WAITING)
    monkeypatch.chdir(root)
    for where, *names in (("alpha", "a", "b"), ("beta", "c")):
        assert here("submit", "--cluster", where, "--yes", *names).code == 0
    return {job["directories"][0]: job for job in jobs(here)}


def jobs(here: OnClusters) -> list[dict[str, Any]]:
    done = here("show", "jobs", "--long", "--json")
    assert done.code == 0, done.err
    found: list[dict[str, Any]] = json.loads(done.out)["jobs"]
    return found


def states(here: OnClusters) -> dict[str, str]:
    return {job["directories"][0]: job["state"] for job in jobs(here)}


def test_a_job_that_the_scheduler_does_not_start_is_explained_below_the_table(
    project: dict[str, Any], two: tuple[LoginNode, ...], here: OnClusters
) -> None:
    array = project["a"]["id"].partition("_")[0]
    two[0].cluster.run(f"scontrol hold {array}_1")
    done = here("show", "jobs", "--long")
    assert "JobHeldAdmin" in done.out
    assert done.err == (
        f"Job {array}_1: An administrator holds it."
        " Only an administrator can release it: ask why.\n"
    )


def test_jobs_are_held_released_and_cancelled_one_or_many(
    project: dict[str, Any], here: OnClusters
) -> None:
    array, other = project["a"]["id"].partition("_")[0], project["c"]["id"]
    assert (project["a"]["id"], project["b"]["id"]) == (f"{array}_0", f"{array}_1")
    waiting = {"a": "pending", "b": "pending", "c": "pending"}
    assert states(here) == waiting
    table = here("show", "jobs", "--long").out
    assert f"{array}_1 alpha/cpu" in table
    assert completed(here, f"rowtui hold {array}") == sorted(
        {str(array), f"{array}_0", f"{array}_1"} | ({str(other)} if other == array else set())
    )
    # one: without a question
    done = here("hold", f"{array}_1")
    assert (done.code, done.out) == (0, f"Held job {array}_1.\n")
    assert states(here) == {**waiting, "b": "held"}
    # many: only after one, which has no answer here
    done = here("hold", str(array), "--cluster", "alpha")
    assert done.code == 1
    assert "add --yes" in done.err
    done = here("hold", "--all", "--yes")
    assert (done.code, done.err) == (0, "")
    assert sorted(done.out.splitlines()) == sorted(
        [f"Held job {array}_0 on alpha.", f"Held job {other} on beta."]
    )
    assert set(states(here).values()) == {"held"}
    # and back
    done = here("release", "-a", "wait", "--yes", "--json", "--cluster", "alpha")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["answers"] == [
        {"id": f"{array}_{task}", "cluster": "alpha", "error": None} for task in (0, 1)
    ]
    assert states(here) == {**waiting, "c": "held"}
    # what is asked for in vain is said
    assert here("release").code == 1
    done = here("hold", "999999", "--json")
    assert (done.code, json.loads(done.out)) == (1, {"version": 1, "answers": []})
    assert "'999999' is no active job of this project." in done.err
    # a task is cancelled by its number, and the other goes on waiting
    done = here("cancel", f"{array}_0", "--yes")
    assert (done.code, done.out) == (0, f"Cancelled job {array}_0.\n")
    now = eventually(lambda: states(here), lambda now: now["a"] == "cancelled")
    assert (now["b"], now["c"]) == ("pending", "held")
    # each task of an array has a log of its own
    done = here("logs", str(array), "--cluster", "alpha")
    assert done.code == 1
    assert f"job {array} is an array" in done.err
    assert f"{array}_0, {array}_1" in done.err
    path = here("logs", f"{array}_1", "--path", "--cluster", "alpha").out
    assert path.endswith(f"-{array}_1.out\n")
    assert here("logs", f"{array}_1", "--cluster", "alpha").code == 1


def test_more_than_one_is_only_held_after_a_yes(project: dict[str, Any], here: OnClusters) -> None:
    shell = Shell(Path.cwd(), here.home)
    shell.environment = dict(os.environ)
    terminal = Terminal(shell, "hold", "-a", "wait", "--cluster", "alpha")
    terminal.answer(b"Hold 2 jobs? [y/N]: ", b"\n")
    assert terminal.end() == 0
    key = project["a"]["id"]
    assert f"{key} wait (pending) on 1 directory".encode() in terminal.seen
    assert b"Nothing was held." in terminal.seen
    assert set(states(here).values()) == {"pending"}


def test_waiting_jobs_are_changed_and_retries_begin_with_the_new_limit(
    project: dict[str, Any], two: tuple[LoginNode, ...], here: OnClusters
) -> None:
    array, other = project["a"]["id"].partition("_")[0], project["c"]["id"]
    done = here("change", "-a", "wait", "--time", "7h", "--nice", "20", "--yes")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "  Time limit: 01:00:00 -> 07:00:00 (3 jobs)"
    assert lines[1] == "  Nice value: 0 -> 20 (3 jobs)"
    assert sorted(lines[2:]) == sorted(
        [f"Changed job {array}_{task} on alpha." for task in (0, 1)]
        + [f"Changed job {other} on beta."]
    )
    shown = two[0].cluster.run(f"squeue -h -r -j {array} -o %l/%y").stdout.split()
    assert shown == ["7:00:00/20"] * 2
    # a partition that only one of the clusters has, and jobs that do not exist
    done = here("change", "--all", "--after", "999999", "--yes", "--json")
    assert done.code == 1
    errors = [answer["error"] for answer in json.loads(done.out)["answers"]]
    assert [error.partition(" to wait")[0].partition(" ")[2] for error in errors] == [
        "has no job 999999"
    ] * 3
    done = here("change", f"{array}_0", "--partition", "nosuch")
    assert (done.code, "has no partition nosuch" in done.err) == (1, True)
    done = here("change", f"{array}_0", "--after", f"{array}")
    assert (done.code, "a job cannot wait for itself" in done.err) == (1, True)
    for options, why in (((), "what is to change?"), (("--time", "soon"), "'soon' is no time")):
        done = here("change", f"{array}_0", *options)
        assert (done.code, why in done.err) == (1, True)
    # the limit of the job that failed is the new one
    two[0].cluster.run(f"scancel {array}")
    eventually(lambda: states(here), lambda now: now["a"] == "cancelled")
    done = here("retry", f"{array}_0", "--time", "2x", "--dry-run", "--cluster", "alpha")
    assert "#SBATCH --time=840" in done.out


COPIED = """\
[[cluster]]
name = "alpha"
[cluster.ssh]
host = "alpha"
config = ["{config}"]
mirror = "{mirror}"
"""
SAYING = """\
[[action]]
name = "say"
command = "echo far away; until [ -e finish ]; do sleep 0.1; done; touch workspace/{directory}/out"
products = ["out"]
"""


def test_a_log_is_read_where_the_project_is_copied_to(
    two: tuple[LoginNode, ...], here: OnClusters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = two[0].cluster.work / f"copies-{tmp_path.name}"
    configure(here.home, COPIED.format(config=two[0].ssh_config, mirror=copies))
    root = tmp_path / "far"
    (root / "workspace" / "a").mkdir(parents=True)
    (root / "workflow.toml").write_text(SAYING)
    monkeypatch.chdir(root)
    assert here("submit", "--cluster", "alpha", "--yes").code == 0
    # while it runs, there
    done = eventually(lambda: here("logs", "a"), lambda done: done.out)
    assert done.out == "far away\n"
    place = here("logs", "a", "--path").out
    (copy,) = copies.iterdir()
    assert place == f"alpha:{next(copy.glob('say-*.out'))}\n"
    # and afterwards here
    (copy / "finish").touch()
    eventually(lambda: here.json("--cluster", "alpha")["alpha"]["jobs"], lambda jobs: not jobs)
    eventually(lambda: list(root.glob("say-*.out")))
    assert here("logs", "a").out == "far away\n"
    assert here("logs", "a", "--path").out == f"{next(root.glob('say-*.out'))}\n"


def completed(here: OnClusters, line: str) -> list[str]:
    """What the shell is told to complete this line with."""
    shell = Shell(Path.cwd(), here.home)
    shell(
        cluster=None,
        _ARGCOMPLETE="1",
        _ARGCOMPLETE_STDOUT_FILENAME=str(here.home / "answer"),
        COMP_LINE=line,
        COMP_POINT=str(len(line)),
        _ARGCOMPLETE_IFS="\n",
    )
    return (here.home / "answer").read_text().split("\n")


@pytest.fixture
def talking(empty_folder: Shell) -> Shell:
    """A project on this machine whose job says something terrible and then waits."""
    root = empty_folder.folder
    (root / "workspace" / "a").mkdir(parents=True)
    (root / "workflow.toml").write_text(TALKING)
    (root / "talk.sh").write_text(
        "printf 'one\\ntwo \\033[31mred\\r\\n'\n"
        "while [ -e talk.sh ] && ! [ -e finish ]; do sleep 0.05; done\n"
        'touch "workspace/$1/out"\n'
    )
    empty_folder.succeed("submit", "--yes", "--detach", cluster="local")  # type: ignore[arg-type]
    log = root / "talk-1.out"
    eventually(lambda: log.exists() and log.read_bytes().endswith(b"\n"))
    return empty_folder


def test_a_log_is_followed_to_the_end_of_the_job_also_in_a_new_file(talking: Shell) -> None:
    root = talking.folder
    arguments = [sys.executable, "-m", "rowtui.cli.main", "logs", "-f", "--raw", "-n", "1", "a"]
    with subprocess.Popen(
        arguments, cwd=root, env=talking.environment, stdout=subprocess.PIPE
    ) as following:
        assert following.stdout is not None
        # for a program the very bytes
        assert following.stdout.readline() == b"two \x1b[31mred\r\n"
        # a new log in its place is shown from its start
        (root / "talk-1.out").rename(root / "talk-1.out.old")
        (root / "new").write_bytes(b"a line\nwithout an end")
        (root / "new").rename(root / "talk-1.out")
        assert following.stdout.readline() == b"a line\n"
        (root / "finish").touch()
        assert following.stdout.read() == b"without an end"
    assert following.returncode == 0


def test_on_a_terminal_a_log_steers_nothing(talking: Shell) -> None:
    (talking.folder / "finish").touch()
    code, seen = on_a_terminal(talking, "logs", "1", ROWTUI_CLUSTER="local")
    assert code == 0
    assert seen == b"one\r\ntwo \\x1b[31mred\\r\r\n"
    # a pipe may lead to a terminal, too
    assert talking.succeed("logs", "1", cluster="local") == "one\ntwo \\x1b[31mred\\r\n"
    assert "\x1b[31mred" in talking.succeed("logs", "1", "--raw", cluster="local")
