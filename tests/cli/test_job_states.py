"""The same job has the same state in all commands and views, and they count alike."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from rowtui.core.clusters.polling.poll import Polled
from rowtui.core.clusters.schedulers.base import Job, JobState, QueueSnapshot, token_in_queue
from rowtui.core.project.queue.book import QueueBook
from rowtui.core.project.queue.queue_list import cluster_rows
from rowtui.core.project.queue.views import PROJECT, QueueRequest
from rowtui.core.project.views.views import ClusterView, JobsView
from rowtui.core.submission.plan.model import JobStep, JournalEntry
from rowtui.core.submission.plan.record import JobRecord
from rowtui.core.submission.sending.job_records import end_of, with_queues

from tests.cli.in_process import Here, prepared
from tests.eventually import eventually
from tests.job_records import a_record

WORKFLOW = """\
[[action]]
name = "one"
command = "test {directory} = a"

[[action]]
name = "two"
command = "test {directory} != b"
[action.group]
maximum_size = 3
"""


WAITING = """
[[action]]
name = "three"
command = "until [ -e go ]; do sleep 0.1; done; true {directories}"
"""


@pytest.fixture
def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Here:
    """Jobs of one directory each, and one of all three that fails at the second."""
    here = prepared(tmp_path, monkeypatch, capsys, WORKFLOW)
    here.cluster = "local"
    return here


def test_commands_and_views_count_jobs_in_each_state_alike(here: Here) -> None:
    assert here("submit", "--yes", "-q", "-a", "two").code == 1
    listed = here.json("show", "jobs", "--long")["jobs"]
    (queue,) = here.json("queue", "--ended")["clusters"]
    states = {job["token"]: job["state"] for job in listed}
    assert Counter(states.values()) == {"failed": 1}
    assert {job["token"]: job["state"] for job in queue["jobs"]} == states
    assert here("queue", "--ended").out.startswith("local  this machine  1 failed\n")
    table = here("show", "directories", "-a", "two", "--no-header").out
    statuses = [line.split(maxsplit=1)[1].strip() for line in table.splitlines()]
    assert statuses == ["eligible", "failed", "not reached"]


def test_show_jobs_lists_the_same_jobs_as_text_and_as_json(here: Here) -> None:
    # Given a job that ended, and one that runs,
    assert here("submit", "--yes", "-q", "-a", "two").code == 1
    workflow = here.folder / "workflow.toml"
    workflow.write_text(workflow.read_text() + WAITING)
    assert here("submit", "--yes", "-q", "-a", "three", "--detach").code == 0
    # then both forms list the one that runs, and both the other one with --long.
    forms = [
        (here(*words, "--short").out.split(), [it["id"] for it in here.json(*words)["jobs"]])
        for words in (("show", "jobs"), ("show", "jobs", "--long"))
    ]
    # A job whose folder went away first would wait for ever.
    (here.folder / "go").touch()
    eventually(lambda: here.json("show", "jobs")["jobs"], lambda jobs: not jobs, every=0.2)
    assert forms == [(["2"], ["2"]), (["2", "1"], ["2", "1"])]


def test_eligible_is_one_number_with_those_that_failed(here: Here) -> None:
    assert here("submit", "--yes", "-q", "-a", "two").code == 1
    table = here("show", "status", "-a", "two").out.splitlines()
    row = dict(zip(table[0].split(), table[1].split(), strict=False))
    listed = here("show", "directories", "-a", "two", "--eligible", "--short").out.split()
    (counts,) = here.json("show", "status", "-a", "two")["actions"]
    assert (row["Eligible"], len(listed), counts["eligible"]) == ("3", 3, 3)
    assert counts["failed"] == 1


def test_the_numbers_of_an_action_add_up_and_parts_are_in_parentheses(here: Here) -> None:
    # Given three eligible directories, of which one failed and one was not reached,
    assert here("submit", "--yes", "-q", "-a", "two").code == 1
    heading, row = here("show", "status", "-a", "two").out.splitlines()
    # then each part stands beside the whole,
    assert heading.split("  ")[0].startswith("Action Completed Submitted Eligible (failed) (not r")
    cells = row.split()[1:7]
    assert cells == ["0", "0", "3", "(1)", "(1)", "0"]
    # and what is in no parentheses adds up to all directories.
    assert sum(int(cell) for cell in cells if not cell.startswith("(")) == 3


def test_doctor_names_a_directory_that_is_set_aside(here: Here) -> None:
    workflow = here.folder / "workflow.toml"
    workflow.write_text('[workspace]\nvalue_file = "v.json"\n' + workflow.read_text())
    for name in "ac":
        (here.folder / "workspace" / name / "v.json").write_text("1")
    (here.folder / "workspace/b/v.json").mkdir()  # cannot be read
    assert "1 directory is not counted" in here("show", "status").err
    (found,) = [it for it in here.json("doctor")["findings"] if it["topic"] == "directories"]
    assert found["verdict"] == "warning"
    assert found["text"].startswith("1 directory is not counted: b: ")
    assert "rowtui show directories --json" in found["hint"]


def view(
    step: JobStep, reason: str = "", *, token: str = "t", seen: JobState | None = None
) -> JobRecord:
    job_id = 0 if step is JobStep.REJECTED else 7
    record = a_record(token, step=step, job_id=job_id)
    entry = JournalEntry(token, "p", step, 2.0, job_id, reason)
    if step is JobStep.ENDED:
        entry = entry._replace(detail=f"- {reason}")
    record = record._replace(end=end_of(entry, job_id))
    jobs = () if seen is None else (Job(7, seen, token=token_in_queue(token)),)
    polled = Polled("local", QueueSnapshot("local", 2.0, jobs), as_of=2.0)
    return next(iter(with_queues([record], {"local": polled}, 3.0)))


JOBS = (
    view(JobStep.ACCEPTED, token="b~0", seen=JobState.RUNNING),
    view(JobStep.ENDED, "exit code 1", token="b~1"),
    view(JobStep.ENDED, token="b~2"),
    view(JobStep.ENDED, "cancelled", token="c~0"),
    view(JobStep.ABANDONED, "not begun: its bundle ended (time limit)", token="d~0"),
    view(JobStep.ENDED, "time limit", token="d~1"),
    view(JobStep.REJECTED, "no such partition", token="e"),
    view(JobStep.REJECTED, "not sent: connection refused", token="f"),
    view(JobStep.PLANNED, token="g"),
    view(JobStep.ACCEPTED, token="h", seen=JobState.HELD),
)
QUEUE = (
    Job(7, JobState.RUNNING, token="b"),
    Job(8, JobState.TIMEOUT, token="d"),
    Job(9, JobState.HELD, token="h"),
)


def test_every_list_has_each_job_once_in_the_same_state() -> None:
    cluster = ClusterView("local", "local", as_of=2.0, jobs=QUEUE)
    listed = Counter(job.state for job in JOBS)
    # in `queue --ended`, where a bundle is one row
    rows = cluster_rows(cluster, JOBS, ended=True)
    assert Counter(it.state for row in rows for it in row.ours or (row.record,)) == listed
    (bundle,) = [row for row in rows if row.requests]
    assert (bundle.record.job_id, bundle.name) == (7, "1 request: one")
    # in the status and queue views
    book = QueueBook()
    told = book.take(JobsView(1, 2.0, JOBS, clusters=(cluster,)))
    assert told.states == listed
    page = book.page(QueueRequest(whose=PROJECT, folding=False), 0, 100)
    assert Counter(row.state for row in page.rows if not row.key.folded) == listed
    # and what has not ended is what `queue` shows without --ended
    shown = cluster_rows(cluster, JOBS, ended=False)
    assert sorted(row.record.state.value for row in shown) == ["held", "reserved", "running"]


def test_a_pilot_is_one_row_with_its_requests() -> None:
    pilot = view(JobStep.ACCEPTED, token="p-pilot", seen=JobState.RUNNING)
    assert pilot.planned is not None
    planned = pilot.planned._replace(action="pilot", directories=())
    pilot = pilot._replace(planned=planned, size=0)
    requests = [
        view(JobStep.ACCEPTED, token=f"p-pilot~{at}", seen=JobState.RUNNING) for at in (0, 1)
    ]
    queue = (Job(7, JobState.RUNNING, token="p-pilot"),)
    cluster = ClusterView("local", "local", as_of=2.0, jobs=queue)
    (row,) = cluster_rows(cluster, [pilot, *requests], ended=True)
    assert (row.record.job_id, row.name) == (7, "pilot: 2 requests")
    (idle,) = cluster_rows(cluster, [pilot], ended=True)
    assert idle.name == "pilot"
