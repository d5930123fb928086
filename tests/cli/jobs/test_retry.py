"""`rowtui retry`: failed jobs once more, from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from rowtui.core.state.row.postcard import encode_submitted

from tests.cli.conftest import Shell
from tests.cli.in_process import Here, prepared
from tests.cli.terminal import on_a_terminal

WORKFLOW = """\
[[action]]
name = "one"
command = "if test -e slow; then sleep 60; fi; test -e fine && touch workspace/{directory}/x"
products = ["x"]
group.maximum_size = 2
resources.walltime.per_submission = "00:00:01"
resources.memory_per_cpu_mb = 64
"""


class Local(Here):
    """The same on this machine's own queue."""

    cluster = "local"


@pytest.fixture
def failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Here:
    """A project of directories a, b and c whose two jobs have failed."""
    made = prepared(tmp_path, monkeypatch, capsys, WORKFLOW)
    here = Local(made.folder, made.home, made.capture)
    assert here("submit", "--yes").code == 1
    return here


def planned(here: Here, *arguments: str) -> list[tuple[list[str], int]]:
    """The directories and the attempt of each job."""
    jobs = here.json("retry", "--dry-run", *arguments)["jobs"]
    return [(job["directories"], job["attempt"]) for job in jobs]


def four_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Local:
    """A project on this machine whose four jobs fit on it together; three of them fail."""
    monkeypatch.setenv("ROWTUI_LOCAL_CORES", "4")
    workflow = WORKFLOW.replace("00:00:01", "00:01:00").replace("_size = 2", "_size = 1")
    made = prepared(tmp_path, monkeypatch, capsys, workflow)
    return Local(made.folder, made.home, made.capture)


def test_a_job_of_a_bundle_is_named_by_its_number_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = four_jobs(tmp_path, monkeypatch, capsys)

    done = here("submit", "--yes", "--pack", "--search", "0")

    assert done.code == 1
    said = [f"Job 1.{number} (one) failed" in done.err for number in range(4)]
    assert said == [True, True, True, False]
    assert planned(here, "1.1") == [(["b"], 2)]
    assert len(planned(here, "1")) == 3


def test_failed_jobs_are_retried_in_one_bundle_and_their_attempts_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = four_jobs(tmp_path, monkeypatch, capsys)
    assert here("submit", "--yes").code == 1
    pack = ("--pack", "--search", "0")

    jobs = here.json("retry", "--dry-run", *pack)["jobs"]
    assert len({job["bundle"] for job in jobs}) == 1
    done = here("retry", "--yes", *pack)

    assert "attempt 2: job 1 failed" in done.out
    assert "Packed by" in done.out
    assert "Submitting a bundle of 3 jobs" in done.out
    assert [f"Job 4.{number} (one) failed" in done.err for number in range(3)] == [True] * 3
    assert planned(here, *pack) == [(["a"], 3), (["b"], 3), (["c"], 3)]
    (here.folder / "fine").touch()
    assert here("retry", "--yes", *pack, "--largest", "2").code == 0
    assert planned(here) == []


def test_a_retry_refuses_a_packing_as_a_submission_does(failed: Here) -> None:
    for command in ("submit", "retry"):
        unknown = failed(command, "--packer", "bset")
        assert (unknown.code, "there is no packer 'bset'" in unknown.err) == (1, True)
        nothing = failed(command, "--no-pack", "--largest", "2")
        assert (nothing.code, "--no-pack packs nothing" in nothing.err) == (1, True)


def test_jobs_that_reached_their_time_limit_end_well_with_more_time(empty_folder: Shell) -> None:
    folder = empty_folder.folder
    (folder / "workflow.toml").write_text(WORKFLOW)
    (folder / "workspace/it's a").mkdir(parents=True)
    (folder / "slow").touch()
    assert empty_folder("submit", "--yes", cluster="local").returncode == 1
    (folder / "slow").unlink()
    (folder / "fine").touch()

    again = empty_folder("retry", "--yes", "--time", "01:00", cluster="local")
    assert again.returncode == 0, again.stderr
    assert "attempt 2: job 1 reached its time limit; time 00:00:01 -> 01:00:00" in again.stdout
    assert "Retrying 1 job (1 time limit) that may cost up to 1 CPU-hours." in again.stdout
    assert (folder / "workspace/it's a/x").exists()


def test_all_that_failed_is_retried_or_what_is_named(failed: Here) -> None:
    assert planned(failed) == [(["a", "b"], 2), (["c"], 2)]
    assert planned(failed, "2") == [(["c"], 2)]
    assert planned(failed, "b", "c/") == [(["c"], 2), (["b"], 2)]
    assert planned(failed, "-n", "1") == [(["a", "b"], 2)]
    unknown = failed("retry", "--yes", "99", "zzz")
    assert unknown.code == 1
    assert "'99' is no job and no directory" in unknown.err
    assert "No actions match 'two'" in failed("retry", "-a", "two").err


def test_what_is_changed_is_in_the_scripts(failed: Here) -> None:
    document = failed.json("retry", "--dry-run", "--memory=2G", "--time=2x", "--cpus=2")
    job = document["jobs"][0]
    assert (job["memory_mb"], job["walltime_seconds"], job["cpus"]) == (2048, 2, 2)
    scripts = failed("retry", "--dry-run", "--cpus", "2").out
    assert scripts.count("ACTION_THREADS_PER_PROCESS=2") == 2
    wrong = failed("retry", "--memory", "64")
    assert wrong.code == 2
    assert 'write it as "2x" or "64G"' in wrong.err


def test_nothing_is_sent_without_a_yes(failed: Here) -> None:
    shell = Shell(failed.folder, failed.home)
    command = ("--cluster", "local", "retry", "--memory", "1.5x")
    code, seen = on_a_terminal(shell, *command, typed=b"n\n")
    assert code == 0
    assert b"job 1 failed: exit code" in seen
    assert b"memory 64 MB -> 96 MB" in seen
    assert b"Proceed?" in seen
    assert b"Nothing was submitted." in seen
    assert planned(failed) == [(["a", "b"], 2), (["c"], 2)]


def test_each_attempt_is_counted_until_there_is_nothing_left(failed: Here) -> None:
    assert failed("retry", "--yes").code == 1
    assert planned(failed) == [(["a", "b"], 3), (["c"], 3)]
    old = failed("retry", "--yes", "1")
    assert old.code == 1
    assert "job 1: nothing of it is to be tried again" in old.err
    (failed.folder / "fine").touch()
    sent = failed.json("retry", "--yes", "--detach", "4")
    assert (sent["errors"], [job["attempt"] for job in sent["jobs"]]) == ([], [3])
    assert planned(failed) == [(["a", "b"], 3)]
    assert failed("retry", "--yes").code == 0
    nothing = failed("retry")
    assert (nothing.code, nothing.out) == (0, "")
    assert "There is no failed job to retry." in nothing.err


def test_failed_jobs_that_cannot_be_changed_so_are_not_denied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    workflow = WORKFLOW.replace("resources.memory_per_cpu_mb = 64\n", "")
    made = prepared(tmp_path, monkeypatch, capsys, workflow)
    here = Local(made.folder, made.home, made.capture)
    assert here("submit", "--yes").code == 1

    done = here("retry", "--memory", "2x", "--yes")

    assert "No failed job can be retried, for the reasons above." in done.err
    assert "There is no failed job" not in done.err


def test_jobs_on_other_clusters_are_mentioned_where_none_matches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = prepared(tmp_path, monkeypatch, capsys, WORKFLOW)
    (made.folder / ".row").mkdir(exist_ok=True)
    jobs = {b"a": ("elsewhere", 5), b"b": ("elsewhere", 5), b"c": ("elsewhere", 6)}
    (made.folder / ".row" / "submitted.postcard").write_bytes(encode_submitted({"one": jobs}))
    here = Local(made.folder, made.home, made.capture)

    done = here("show", "jobs")

    assert done.out == "No matches.\n"
    assert "2 jobs are on other clusters: 'rowtui show jobs --long' lists them." in done.err


def test_the_command_is_also_called_resubmit(failed: Here) -> None:
    words = ("--dry-run", "--json", "a")
    assert failed("resubmit", *words).code == failed("retry", *words).code == 0
    assert "retry (resubmit)" in failed("--help").out
    assert "resubmit" not in failed("network", "--help").out
