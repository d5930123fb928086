"""How a job ended is one fact: `run`, `status`, `usage` and `history` agree, whatever happened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rowtui.core.runs.execution import driver, project_run
from rowtui.core.runs.run import Run
from rowtui.core.submission.plan.model import JobStep
from rowtui.core.submission.sending.journal import Journal

from tests.cli.in_process import Here, prepared
from tests.rig.slurm import SlurmCluster

ONE = """\
[[action]]
name = "one"
command = '''{command}'''
products = ["x"]
group.maximum_size = {size}
resources.walltime.per_submission = "00:01:00"
"""


class Local(Here):
    """The same on this machine's own queue."""

    cluster = "local"


class Made:
    """Makes a project of directories a, b and c with one action."""

    def __init__(self, *fixtures: Any) -> None:
        self._fixtures = fixtures

    def __call__(self, command: str, size: int = 1, more: str = "") -> Local:
        made = prepared(*self._fixtures, ONE.format(command=command, size=size) + more)
        return Local(made.folder, made.home, made.capture)


@pytest.fixture
def make(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Made:
    return Made(tmp_path, monkeypatch, capsys)


def counts(here: Local) -> dict[str, int]:
    (action,) = here.json("show", "status")["actions"]
    return {name: action[name] for name in ("completed", "failed", "cancelled", "not_reached")}


def states(here: Local) -> tuple[int, int, int]:
    """Completed, failed and cancelled jobs, as `usage` and `history` count them."""
    total = here.json("usage")["total"]
    past = here.json("history")["intervals"]
    found = (
        total["jobs"] - total["failed"] - total["cancelled"],
        total["failed"],
        total["cancelled"],
    )
    assert found == tuple(
        sum(it[name] for it in past) for name in ("ended_well", "failed", "cancelled")
    )
    return found


# A run is done only if every directory is complete


@pytest.mark.parametrize(
    ("more", "files", "why"),
    [
        (
            "",
            {"rowtui.toml": '[[retry]]\non = "exit 75"\npartition = "nosuch"\n'},
            "0 of 3 directories complete; 3 failed (exit code 75; ",
        ),
        (
            "resources.threads_per_process = 100000\n",
            {},
            "0 of 3 directories complete; 3 not placeable (",
        ),
        (
            "",
            {"mapping.yml": "tools:\n  one:\n    rules:\n    - if: true\n      fail: not today\n"},
            "0 of 3 directories complete; 3 not placeable (",
        ),
    ],
)
def test_work_that_cannot_be_sent_is_not_done(
    make: Made, more: str, files: dict[str, str], why: str
) -> None:
    here = make("exit 75 # {directory}", more=more)
    for name, text in files.items():
        (here.folder / name).write_text(text)
    if "mapping.yml" in files:
        assert here("mapping", "trust", "mapping.yml", "--yes").code == 0
    done = here("run", "--yes")
    assert done.code == 1
    assert why in done.err
    assert "Done" not in done.out
    shown = here.json("run", "--status")
    assert shown["status"] == "failed"
    assert why in shown["why"]
    assert why in here("run", "--status").out


@pytest.mark.slurm
def test_what_the_scheduler_refuses_five_times_is_left_and_named(
    make: Made, monkeypatch: pytest.MonkeyPatch, slurm: SlurmCluster
) -> None:
    monkeypatch.setattr(project_run, "LONGEST_SECONDS", 0.1)
    monkeypatch.setattr(project_run, "LOOK_SECONDS", 0.1)
    refused = 'submit_options.alpha.custom = ["--constraint=nosuch"]\n'
    here = make("true # {directory}", more=refused)
    monkeypatch.setenv("SLURM_CONF", str(slurm.conf))
    here.cluster = ""  # the one that is found
    done = here("run", "--yes")
    assert done.code == 1
    assert done.err.count("was refused") == 3  # each sentence once
    journal = Journal(here.folder)
    steps = [it.step for plan in journal.plan_ids() for it in journal.latest(plan).values()]
    assert steps.count(JobStep.REJECTED) == 15
    assert "0 of 3 directories complete; 3 refused (Invalid feature specification)" in done.err


def test_a_mapping_file_that_is_not_trusted_pauses_the_run(make: Made) -> None:
    here = make("touch workspace/{directory}/x")
    code = "    - if: |\n        1 + 1 == 2\n      cores: 1\n"
    (here.folder / "mapping.yml").write_text(f"tools:\n  one:\n    rules:\n{code}")
    done = here("run", "--yes")
    assert done.code == 1
    assert "Paused: mapping.yml is not trusted; 0 of 3 directories complete" in done.err
    assert here.json("run", "--status")["status"] == "paused"


def test_what_the_user_cancelled_is_named_and_not_sent_again(make: Made) -> None:
    here = make("test -e go || exec sleep 1000; touch workspace/{directory}/x")
    assert here("submit", "--yes", "--detach").code == 0
    assert here("cancel", "--all", "--yes").code == 0
    (here.folder / "go").touch()
    done = here("run", "--yes")
    assert done.code == 1
    assert "0 of 3 directories complete; 3 cancelled" in done.err
    assert counts(here) == {"completed": 0, "failed": 0, "cancelled": 3, "not_reached": 0}
    assert states(here) == (0, 0, 3)


# What a job did not reach


def test_what_a_failed_job_did_not_reach_is_sent_on_its_own(make: Made) -> None:
    here = make("test {directory} != a || exit 3; touch workspace/{directory}/x", size=3)
    done = here("run", "--yes")
    assert done.code == 1
    assert "2 of 3 directories complete; 1 failed (exit code 3)" in done.err
    assert counts(here) == {"completed": 2, "failed": 1, "cancelled": 0, "not_reached": 0}


def test_what_was_not_reached_before_a_retry_by_hand_is_sent_by_the_next_run(make: Made) -> None:
    here = make(
        "test -e mended || test {directory} != a || exit 3; touch workspace/{directory}/x", size=3
    )
    here("submit", "--yes")
    assert counts(here)["not_reached"] == 2
    (here.folder / "mended").touch()
    assert here("retry", "a", "--yes").code == 0
    done = here("run", "--yes")
    assert done.code == 0, done.err
    assert counts(here)["completed"] == 3


# Products decide


def test_a_job_without_its_product_failed_in_every_count(make: Made) -> None:
    here = make("test {directory} = a || touch workspace/{directory}/x")
    assert here("submit", "--yes").code == 1
    assert counts(here) == {"completed": 2, "failed": 1, "cancelled": 0, "not_reached": 0}
    assert states(here) == (2, 1, 0)
    (failed,) = here.json("usage", "--failed", "--by", "reason")["groups"]
    assert failed["name"] == "it ended well, but products are missing"


def test_a_job_that_could_not_report_its_products_is_complete(make: Made) -> None:
    # as after a full disk: the folder of the reports takes nothing
    spoil = "rm -rf .row/completed; : > .row/completed"
    here = make(f"touch workspace/{{directory}}/x; {spoil}", size=3)
    here("submit", "--yes")
    assert counts(here) == {"completed": 3, "failed": 0, "cancelled": 0, "not_reached": 0}
    assert states(here) == (1, 0, 0)
    assert "There is no failed job to retry." in here("retry", "--yes").err


def test_a_product_that_a_stopped_job_left_does_not_count(make: Made) -> None:
    here = make("touch workspace/{directory}/x; kill -KILL $$")
    here("submit", "--yes", "a")
    assert counts(here) == {"completed": 0, "failed": 1, "cancelled": 0, "not_reached": 0}
    assert here("scan").code == 0  # a person who looks decides
    assert counts(here)["completed"] == 1


def test_a_product_that_grows_at_the_time_limit_does_not_count(make: Made) -> None:
    command = "printf hal > workspace/{directory}/x; test {directory} = b || exit 0; sleep 100"
    here = make(command, size=3)
    limit = here.folder / "workflow.toml"
    limit.write_text(limit.read_text().replace("00:01:00", "00:00:03"))
    here("submit", "--yes")
    assert counts(here) == {"completed": 1, "failed": 1, "cancelled": 0, "not_reached": 1}


def test_what_an_earlier_job_left_half_written_does_not_count_after_another_failure(
    make: Made,
) -> None:
    setup = 'submit_options.local.setup = "! test -e spoiled"\n'
    here = make("printf hal > workspace/{directory}/x; kill -KILL $$", more=setup)
    here("submit", "--yes", "a")
    (here.folder / "spoiled").touch()
    here("retry", "a", "--yes")
    assert counts(here) == {"completed": 0, "failed": 1, "cancelled": 0, "not_reached": 0}


def test_a_group_with_many_bad_directories_is_finished_all_the_same(make: Made) -> None:
    here = make("case {directory} in d*) exit 3 ;; esac; touch workspace/{directory}/x", size=20)
    for number in range(7):
        (here.folder / f"workspace/d{number}").mkdir()
    (here.folder / "workspace/z").mkdir()
    done = here("run", "--yes", "--max-cpu-hours", "10")
    assert "4 of 11 directories complete; 7 failed (exit code 3)" in done.err


def test_what_needs_no_retry_runs_where_the_retry_cannot_be_planned(make: Made) -> None:
    here = make("test {directory} != a || exit 75; touch workspace/{directory}/x", size=3)
    (here.folder / "rowtui.toml").write_text('[[retry]]\non = "exit 75"\npartition = "nosuch"\n')
    done = here("run", "--yes")
    assert "2 of 3 directories complete; 1 failed (exit code 75; " in done.err


@pytest.mark.parametrize("name", ["USR2", "XCPU", "SEGV", "PIPE"])
def test_a_signal_that_the_script_does_not_expect_is_a_failure(make: Made, name: str) -> None:
    here = make(f"kill -{name} $$; sleep 5 # {{directory}}")
    here("submit", "--yes", "a")
    assert counts(here)["failed"] == 1
    assert states(here) == (0, 1, 0)


# A full disk


def test_a_driver_that_cannot_write_its_journal_waits_and_goes_on(
    make: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = make("touch workspace/{directory}/x")
    monkeypatch.setattr(driver, "UNWRITABLE_SECONDS", 0.05)
    full = iter([False, True, True, True])
    append = Run._append

    def at_times(self: Run, name: str, data: bytes) -> None:
        if next(full, False):
            raise self._unwritable(OSError(28, "No space left on device"))
        append(self, name, data)

    monkeypatch.setattr(Run, "_append", at_times)
    done = here("run", "--yes")
    assert done.code == 0, done.err
    assert done.err.count("No space left on device") == 1
    assert "the run waits" in done.err
    assert counts(here)["completed"] == 3
