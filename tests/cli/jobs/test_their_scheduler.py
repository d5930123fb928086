"""A scheduler of another package, through the whole command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Shell
from tests.eventually import eventually

# All that a package needs: a kind, a scheduler, and one entry point. The queue is a folder with two
# files for each job, and a process for each job that runs.
THEIRS = """
import json
import os
import signal
import subprocess
import time
from pathlib import Path

from rowtui.core.clusters.schedulers.base import (
    Accepted, DryAnswer, DryVerdict, Job, JobAnswer, JobState, QueueSnapshot,
)
from rowtui.core.clusters.schedulers.kind import SchedulerKind

FOLDER = Path(os.environ["HOME"]) / "their-queue"
RUN = "bash \\"$1\\" >\\"$2\\" 2>&1; echo $? >\\"$3\\""


class Theirs(SchedulerKind):
    name = "theirs"
    names_job = True
    job_id = "${THEIR_JOB:-BY_HAND}"
    only_choice = "their queue runs it"

    def connect(self, cluster, transport, query_timeout):
        return TheirScheduler(cluster)

    def name_line(self, job_name):
        return f"#THEIRS name {job_name}"

    def header(self, request, cluster, partition):
        return [f"#THEIRS seconds {request.walltime_seconds}"]


class Refusing(SchedulerKind):
    name = "refusing"

    def connect(self, cluster, transport, query_timeout):
        raise ValueError("password=1234")


class TheirScheduler:
    kind, immediate, place, shared = "theirs", False, "", False
    holds, forgets, at_once = False, False, 1

    def __init__(self, cluster):
        self.cluster = cluster

    async def submit(self, job):
        FOLDER.mkdir(exist_ok=True)
        number = len(list(FOLDER.glob("*.job"))) + 1
        script = FOLDER / f"{number}.sh"
        script.write_text(job.script)
        log = job.workdir / job.log_path.replace("%j", str(number))
        process = subprocess.Popen(
            ["bash", "-c", RUN, "run", script, log, FOLDER / f"{number}.end"],
            cwd=job.workdir, start_new_session=True, env={**os.environ, "THEIR_JOB": str(number)},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        about = {"token": job.token, "name": job.name, "pid": process.pid, "log": job.log_path}
        (FOLDER / f"{number}.job").write_text(json.dumps(about))
        return Accepted(number)

    async def test_only(self, job):
        return DryAnswer(DryVerdict.TAKES)

    def _jobs(self):
        for path in FOLDER.glob("*.job"):
            about, end = json.loads(path.read_text()), path.with_suffix(".end")
            code = end.read_text().strip() if end.exists() else ""
            state = JobState.RUNNING
            if code:
                failed = JobState.CANCELLED if code == "cancelled" else JobState.FAILED
                state = JobState.COMPLETED if code == "0" else failed
            yield Job(
                int(path.stem), state, about["name"], about["token"], log_path=about["log"],
                exit_code=int(code) if code.isdecimal() else None,
            )

    async def find(self, tokens):
        return {job.token: (job,) for job in self._jobs() if job.token in tokens}

    async def queue(self, job_ids=None):
        jobs = tuple(job for job in self._jobs() if job_ids is None or job.id in job_ids)
        return QueueSnapshot(self.cluster, time.time(), jobs)

    async def folders(self, job_ids):
        return {}

    async def cancel(self, jobs):
        for key in jobs:
            about = json.loads((FOLDER / f"{key.id}.job").read_text())
            os.killpg(about["pid"], signal.SIGKILL)
            (FOLDER / f"{key.id}.end").write_text("cancelled")
        return tuple(JobAnswer(key) for key in jobs)

    async def hold(self, jobs):
        return tuple(JobAnswer(key, "their queue holds no jobs") for key in jobs)

    async def release(self, jobs):
        return tuple(JobAnswer(key) for key in jobs)
"""
POINTS = "[rowtui.schedulers]\ntheirs = their_queue:Theirs\ngone = their_queue:Gone\n"
POINTS += "refusing = their_queue:Refusing\n"
CLUSTERS = """\
[[cluster]]
name = "mine"
scheduler = "{}"
identify.always = true
partition = []
"""
WORKFLOW = """\
[[action]]
name = "wait"
command = "while ! [ -e go ]; do sleep 0.2; done; touch workspace/{directory}/out"
products = ["out"]
group.maximum_size = 1
"""


@pytest.fixture
def mine(empty_folder: Shell, tmp_path: Path) -> Iterator[Shell]:
    """A project on a cluster with their scheduler."""
    site = tmp_path / "site"
    (site / "their_queue-1.dist-info").mkdir(parents=True)
    (site / "their_queue-1.dist-info/METADATA").write_text("Name: their-queue\nVersion: 1\n")
    (site / "their_queue-1.dist-info/entry_points.txt").write_text(POINTS)
    (site / "their_queue.py").write_text(THEIRS)
    configure(empty_folder, "theirs")
    for name in "ab":
        (empty_folder.folder / "workspace" / name).mkdir(parents=True)
    (empty_folder.folder / "workflow.toml").write_text(WORKFLOW)
    empty_folder.environment["PYTHONPATH"] = str(site)
    empty_folder.starts_python = True
    yield empty_folder
    (empty_folder.folder / "go").touch()  # no job outlives its test


def configure(shell: Shell, scheduler: str) -> None:
    home = Path(shell.environment["HOME"]) / ".config/rowtui"
    home.mkdir(parents=True, exist_ok=True)
    (home / "clusters.toml").write_text(CLUSTERS.format(scheduler))


def queued(shell: Shell) -> list[dict[str, Any]]:
    answer = json.loads(shell.succeed("queue", "--json", cluster=None))  # type: ignore[arg-type]
    (there,) = [it for it in answer["clusters"] if it["name"] == "mine"]
    rows: list[dict[str, Any]] = there["jobs"]
    return rows


def test_a_scheduler_of_another_package_submits_lists_and_ends_jobs(mine: Shell) -> None:
    plan = mine("plan", cluster=None).stdout
    assert "mine" in plan
    script = mine("submit", "--dry-run", cluster=None).stdout
    assert "#THEIRS name wait-a\n#THEIRS seconds 3600\n" in script
    assert "rowtui_job=theirs:${THEIR_JOB:-" in script

    mine.succeed("submit", "--yes", "--detach", cluster=None)  # type: ignore[arg-type]
    assert {row["state"] for row in queued(mine)} == {"running"}

    # one of them is cancelled, and may be submitted again
    first = queued(mine)[0]["id"]
    mine.succeed("cancel", str(first), "--yes", cluster=None)  # type: ignore[arg-type]
    mine.succeed("submit", "--yes", "--detach", cluster=None)  # type: ignore[arg-type]
    assert [row["state"] for row in queued(mine)].count("running") == 2

    (mine.folder / "go").touch()
    eventually(lambda: queued(mine), lambda rows: all(row["state"] != "running" for row in rows))
    mine.succeed("scan", cluster=None)  # type: ignore[arg-type]
    status = json.loads(mine.succeed("show", "status", "--all", "--json", cluster=None))  # type: ignore[arg-type]
    assert status["actions"][0]["completed"] == 2


@pytest.mark.parametrize("words", [("queue",), ("plan",), ("submit", "--yes"), ("show", "status")])
def test_a_scheduler_that_cannot_be_loaded_is_named_by_each_command(
    mine: Shell, words: tuple[str, ...]
) -> None:
    configure(mine, "gone")

    said = mine(*words, cluster=None).stderr

    assert "clusters.toml:3:1: scheduler 'gone': its plug-in failed with AttributeError" in said
    assert "their_queue:Gone" in said
    assert "unexpected" not in said


@pytest.mark.parametrize("words", [("queue",), ("cancel", "--all", "--yes"), ("queue", "--json")])
def test_jobs_on_a_scheduler_that_fails_are_kept_with_the_reason(
    mine: Shell, words: tuple[str, ...]
) -> None:
    mine.succeed("submit", "--yes", "--detach", cluster=None)  # type: ignore[arg-type]
    (mine.folder / "go").touch()
    configure(mine, "refusing")

    done = mine(*words, cluster=None)

    assert "scheduler 'refusing': its plug-in failed with ValueError" in done.stdout + done.stderr
    assert "unexpected" not in done.stderr
    assert "1234" not in done.stdout + done.stderr
