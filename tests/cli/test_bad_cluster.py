"""A cluster that does not answer, answers late or refuses: said in a line, and nothing is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli import row_records
from tests.cli.conftest import Shell
from tests.eventually import eventually

if TYPE_CHECKING:
    from tests.rig.slurm import SlurmCluster

pytestmark = pytest.mark.slurm

# Each job waits until it is told to go on, so that it is certainly there for as long as it matters.
HELD = """\
[[action]]
name = "one"
command = '''
while [ ! -e go ]; do sleep 0.2; done
echo {directory} >> runs.txt; touch workspace/{directory}/x
'''
products = ["x"]
[action.group]
maximum_size = 1
[action.resources]
walltime.per_submission = "00:10:00"
"""
REFUSED = "Invalid account or account/partition combination specified"
REFUSAL = f"sbatch: error: Batch job submission failed: {REFUSED}"
SILENCE = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"
# The real command, with less patience than people have.
IMPATIENT = (
    "import sys, rowtui.core.clusters.model as model; kind = model.Cluster; "
    "names = [*kind._field_defaults]; given = [*kind.__new__.__defaults__]; "
    "given[names.index('query_seconds')] = 1.0; kind.__new__.__defaults__ = tuple(given); "
    "from rowtui.cli.main import main; sys.exit(main())"
)


@pytest.fixture
def on_slurm(empty_folder: Shell, slurm: SlurmCluster) -> Shell:
    """A project of three directories on the login node of the rig."""
    slurm.clean()
    empty_folder.environment["SLURM_CONF"] = str(slurm.conf)
    for name in "abc":
        (empty_folder.folder / "workspace" / name).mkdir(parents=True)
    (empty_folder.folder / "workflow.toml").write_text(HELD)
    return empty_folder


def replace_command(shell: Shell, name: str, script: str) -> str:
    """A PATH on which this script is the command."""
    folder = shell.folder.parent / "bin"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def counts(shell: Shell, **environment: str) -> dict[str, int]:
    answer = json.loads(
        shell.succeed("show", "status", "--all", "--json", cluster=None, **environment)  # type: ignore[arg-type]
    )
    (row,) = answer["actions"]
    return {key: row[key] for key in ("completed", "submitted", "eligible", "waiting")}


def finish(shell: Shell) -> None:
    """Let the jobs go on, submit what is left, and see that each directory ran once."""
    (shell.folder / "go").touch()
    done = shell("submit", "--yes", cluster=None)
    assert done.returncode == 0, done.stderr
    runs = shell.folder / "runs.txt"

    def all_ran() -> bool:
        counts(shell)  # a job whose node was not ready is held by Slurm, and let go at a look
        return runs.exists() and len(runs.read_text().split()) >= 3

    eventually(all_ran, what="the jobs to run", every=0.2)

    def seen() -> tuple[int, dict[str, int], str]:
        found = counts(shell)
        return found["submitted"], found, shell("show", "jobs", "--long", cluster=None).stdout

    _, found, _ = eventually(seen, lambda it: it[0] == 0, what="rowtui to notice", every=0.1)
    assert found == {"completed": 3, "submitted": 0, "eligible": 0, "waiting": 0}
    assert sorted(runs.read_text().split()) == list("abc")


def test_a_queue_that_fails_is_said_and_jobs_stay_submitted(
    on_slurm: Shell, slurm: SlurmCluster
) -> None:
    on_slurm.succeed("submit", "--yes", "-n", "2", cluster=None)
    path = replace_command(on_slurm, "squeue", f"echo '{SILENCE}' >&2\nexit 1")
    before = row_records.submitted(on_slurm.folder)
    known = {"completed": 0, "submitted": 2, "eligible": 1, "waiting": 0}

    for words in (("show", "status"), ("show", "directories", "-a", "one"), ("show", "jobs")):
        done = on_slurm(*words, cluster=None, PATH=path)
        assert done.returncode == 0
        said = f"{slurm.name} could not be asked: {SILENCE}; its earlier jobs are shown"
        assert done.stderr == f"[WARN  rowtui] {said}\n"
    assert counts(on_slurm, PATH=path) == known

    done = on_slurm("show", "jobs", "--long", cluster=None, PATH=path)
    assert done.returncode == 0
    assert done.stderr == f"[WARN  rowtui] States may be out of date: {slurm.name}: {SILENCE}\n"
    assert done.stdout.count(" unknown ") == 2
    document = json.loads(on_slurm.succeed("show", "jobs", "--json", cluster=None, PATH=path))
    assert document["error"] == f"{slurm.name}: {SILENCE}"
    assert {job["state"] for job in document["jobs"]} == {"unknown"}

    # What cannot be checked is not cancelled: the id may be another job's by now.
    done = on_slurm("cancel", "--all", "--yes", cluster=None, PATH=path)
    assert done.returncode == 1
    assert done.stderr.count("cannot be checked") == 2

    assert row_records.submitted(on_slurm.folder) == before
    assert counts(on_slurm) == known
    finish(on_slurm)


def test_a_queue_that_answers_late_is_not_waited_for(on_slurm: Shell, slurm: SlurmCluster) -> None:
    on_slurm.succeed("submit", "--yes", cluster=None)
    path = replace_command(on_slurm, "squeue", "sleep 600")
    for words in (("status",), ("jobs", "--long")):
        done = subprocess.run(
            [sys.executable, "-c", IMPATIENT, "show", *words],
            cwd=on_slurm.folder,
            env={**on_slurm.environment, "PATH": path},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0
        assert "Traceback" not in done.stderr
        assert slurm.name in done.stderr
        assert "no answer within 1 s" in done.stderr
    assert counts(on_slurm) == {"completed": 0, "submitted": 3, "eligible": 0, "waiting": 0}
    finish(on_slurm)


def test_a_controller_that_is_gone_hides_nothing_that_is_known(
    on_slurm: Shell, slurm: SlurmCluster
) -> None:
    on_slurm.succeed("submit", "--yes", "-n", "2", cluster=None)
    known = {"completed": 0, "submitted": 2, "eligible": 1, "waiting": 0}
    slurm.run("scontrol shutdown slurmctld")  # which saves what it knows
    eventually(lambda: not slurm.controller.alive, what="the controller to be gone")
    try:
        done = on_slurm("show", "status", cluster=None)
        assert done.returncode == 0, done.stderr
        assert f"{slurm.name} could not be asked: " in done.stderr
        assert "its earlier jobs are shown" in done.stderr
        assert "Traceback" not in done.stderr
        assert done.stdout.splitlines()[1].split()[:5] == ["one", "0", "2", "1", "0"]
        done = on_slurm("show", "jobs", "--short", cluster=None)
        assert len(done.stdout.split()) == 2
        # Nothing runs on the login node in its place.
        done = on_slurm("submit", "--yes", cluster=None)
        assert done.returncode == 1
        assert "does not answer" in done.stderr
    finally:
        slurm.restart_controller()
    assert counts(on_slurm) == known
    finish(on_slurm)


def _jobs(shell: Shell) -> list[dict[str, object]]:
    document = json.loads(shell.succeed("show", "jobs", "--json", "--long", cluster=None))
    assert document["error"] is None
    return list(document["jobs"])


def test_a_job_that_is_refused_says_why_and_frees_its_directories(on_slurm: Shell) -> None:
    path = replace_command(on_slurm, "sbatch", f"echo '{REFUSAL}' >&2\nexit 1")
    done = on_slurm("submit", "--yes", cluster=None, PATH=path)
    assert done.returncode == 1
    assert "was refused: " in done.stderr
    assert REFUSED in done.stderr
    assert "2 jobs were not sent" in done.stderr
    assert "Traceback" not in done.stderr
    assert counts(on_slurm) == {"completed": 0, "submitted": 0, "eligible": 3, "waiting": 0}
    assert row_records.submitted(on_slurm.folder) == {}
    assert [job["state"] for job in _jobs(on_slurm)] == ["refused"]  # the others were never sent
    finish(on_slurm)


def test_a_submission_without_an_answer_is_found_again(
    on_slurm: Shell, slurm: SlurmCluster
) -> None:
    # Given an sbatch that submits and then dies without a word.
    real = slurm.run("command -v sbatch").stdout.strip()
    path = replace_command(on_slurm, "sbatch", f'{real} "$@" >/dev/null\nkill -9 $$')
    done = on_slurm("submit", "--yes", "-n", "1", cluster=None, PATH=path)
    assert "Traceback" not in done.stderr
    # Then the job is found by its token: it is known, once.
    assert counts(on_slurm) == {"completed": 0, "submitted": 1, "eligible": 2, "waiting": 0}
    assert len([job for job in _jobs(on_slurm) if job["id"]]) == 1
    finish(on_slurm)
    assert len(slurm.run(f"squeue -h -t all -u {slurm.user} -o %Z").stdout.split()) >= 3


def test_results_of_a_job_that_the_queue_forgot_are_not_lost(
    on_slurm: Shell, slurm: SlurmCluster
) -> None:
    # Given jobs that have ended, and a queue that no longer knows any of them.
    on_slurm.succeed("submit", "--yes", cluster=None)
    (on_slurm.folder / "go").touch()
    ended = on_slurm.folder / ".row/rowtui/ended"
    eventually(
        lambda: ended.exists() and len(list(ended.iterdir())) == 3,
        what="the jobs to end",
    )
    path = replace_command(on_slurm, "squeue", "exit 0")
    after = {"completed": 3, "submitted": 0, "eligible": 0, "waiting": 0}
    assert counts(on_slurm, PATH=path) == after
    assert Path(on_slurm.folder / "runs.txt").read_text().split() != []
