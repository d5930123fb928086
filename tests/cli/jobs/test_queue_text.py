"""The text of queues: bounded lines, nothing that steers, each reason explained once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from rowtui.cli.jobs.queue_text import queue_lines
from rowtui.cli.output.output import Output, display_width
from rowtui.core.clusters.polling.poll import Polled
from rowtui.core.clusters.schedulers.base import Job, JobState, QueueSnapshot
from rowtui.core.project.queue.queue_list import cluster_rows
from rowtui.core.project.views.views import ClusterView
from rowtui.core.submission.plan.outcome import read_old_end
from rowtui.core.submission.plan.record import JobRecord
from rowtui.core.submission.sending.job_records import with_queues

from tests.job_records import a_record

NOW = 1_000_000.0
ROOT = Path(__file__).parents[3]


def ours(job: Job, *directories: str, state: JobState | None = None) -> JobRecord:
    record = a_record(
        job.token,
        cluster="alpha",
        partition=job.partition,
        action="sample",
        directories=directories,
        name=job.name,
        job_id=job.id,
        task=job.task,
        state=state,
    )
    return record if state is not None else record._replace(queued=job)


def lines(
    jobs: Sequence[Job],
    views: Sequence[JobRecord] = (),
    *,
    width: int | None = None,
    ended: bool = False,
    **cluster: Any,
) -> list[str]:
    seen = {"as_of": NOW - 14, "next_at": NOW + 46, "where": "me@alpha", **cluster}
    view = ClusterView("alpha", "slurm", jobs=tuple(jobs), **seen)
    polled = Polled("alpha", QueueSnapshot("alpha", 0.0, tuple(jobs)), as_of=NOW - 14)
    records = tuple(with_queues(views, {"alpha": polled}, NOW))
    rows = {"alpha": cluster_rows(view, records, ended=ended)}
    out = Output(color="never")
    return [*queue_lines([view], rows, NOW, out, in_project=bool(views), width=width)]


def test_the_heading_says_how_old_it_is_and_what_is_wrong() -> None:
    running = [Job(1, JobState.RUNNING)]
    refused = "me@alpha refused it\x1b"
    assert lines([])[0] == "alpha  me@alpha  no jobs  14 s ago, next in 46 s"
    assert lines(running, error=refused)[0] == (
        r"alpha  me@alpha  1 running  14 s ago; no answer now: me@alpha refused it\x1b;"
        " again in 46 s"
    )
    assert lines([], error="refused", as_of=None, next_at=0.0)[0] == (
        "alpha  me@alpha  no answer now: refused"
    )
    assert lines(
        running, error="no key", login="no key fits", login_command="rowtui connect alpha"
    )[0] == (
        "alpha  me@alpha  1 running  14 s ago; no key fits; log in with 'rowtui connect alpha'"
    )
    assert lines(running, error="key", login="another key", login_command="")[0] == (
        "alpha  me@alpha  1 running  14 s ago; another key"
    )
    assert lines(running, where="here", next_at=0.0)[0] == "alpha  this machine  1 running"


def test_waiting_tasks_that_are_alike_share_a_line() -> None:
    def task(number: int, **more: Any) -> Job:
        given = {"token": f"t.{number}", "reason": "Priority", "task": number, **more}
        return Job(7, JobState.PENDING, **given)

    jobs = [task(number) for number in range(2000)]
    jobs += [task(3000), task(3001, reason="Resources"), Job(8, JobState.PENDING, token="x")]
    views = [ours(job, f"d{job.task}", "e") for job in jobs]
    table = lines(jobs, views)[1:]
    assert [line.split()[:4] for line in table[1:4]] == [
        ["8", "pending", "sample", "2"],
        ["7_[0-1999,3000]", "pending", "sample", "4,002"],
        ["7_3001", "pending", "sample", "2"],
    ]
    # and many that are apart do not make the table wide
    odd = [task(number) for number in range(1, 4000, 2)]
    assert max(map(len, lines(odd, [ours(job, "d") for job in odd])[1:3])) < 100


def test_a_reason_is_explained_once() -> None:
    jobs = [Job(number, JobState.PENDING, reason="Priority") for number in range(1, 9)]
    jobs.append(Job(9, JobState.PENDING, reason="Priority", start_estimate=int(NOW) + 7300))
    text = lines(jobs)
    assert sum("Jobs of higher priority" in line for line in text) == 1
    assert text[2].endswith("Priority, in 2 h")


def test_a_job_that_was_sent_since_is_shown_and_one_of_the_same_id_is_not_taken_for_it() -> None:
    sent = ours(Job(5, JobState.PENDING, token="new", name="sample-a"), "a")
    sent = sent._replace(submitted_at=NOW - 1)
    strangers = Job(5, JobState.RUNNING, token="somebody's", name="other")
    table = lines([strangers], [sent])
    assert [line.split()[:3] for line in table[2:4]] == [
        ["5", "running", "other"],
        ["5", "pending", "sample"],
    ]
    # one without a token may be ours
    bare = Job(5, JobState.RUNNING, name="other")
    assert [line.split()[:4] for line in lines([bare], [sent])[2:]] == [
        ["5", "running", "sample", "1"]
    ]


texts = st.text(st.characters(codec="utf-8") | st.just("\udcff"), max_size=40)
jobs = st.builds(
    Job,
    st.integers(1, 10**9),
    st.sampled_from(JobState),
    name=texts,
    reason=texts,
    partition=st.text(st.characters(codec="ascii"), max_size=6),
    elapsed=st.none() | st.integers(0, 10**6),
    limit=st.none() | st.integers(0, 10**7),
    nodes=texts,
    start_estimate=st.none() | st.integers(0, 2**40),
    task=st.none() | st.integers(0, 10**6),
)


def test_a_job_of_the_project_has_ended_as_its_own_script_says() -> None:
    # the scheduler only knows the script's exit code
    job = Job(7, JobState.FAILED, token="t-0", exit_code=2, reason="NonZeroExitCode")
    why = "exit code 3 in directory d7"
    record = ours(job, "d6", "d7")._replace(end=read_old_end(3, why, 1.0))
    text = lines([job], [record], ended=True)
    assert text[2].split(maxsplit=6)[:3] == ["7", "failed", "sample"]
    assert text[2].endswith(why)
    assert text[3:] == [f"  Its script failed ({why}). See the log of the job."]
    # a job of nobody's records stays as the scheduler says
    assert any("exit code 2" in line for line in lines([job], ended=True))


@given(st.lists(jobs, max_size=8), st.booleans())
def test_whatever_jobs_say_lines_are_printable_and_jobs_are_all_there(
    found: list[Job], ended: bool
) -> None:
    text = lines(found, ended=ended)
    assert all(line.isprintable() for line in text)
    shown = [job for job in found if ended or job.state.may_change]
    rows = cluster_rows(ClusterView("alpha", "slurm", jobs=tuple(found)), (), ended=ended)
    assert sorted(row.record.job_id for row in rows) == sorted(job.id for job in shown)


@given(st.lists(jobs, min_size=1, max_size=8))
def test_on_a_terminal_only_what_cannot_be_cut_is_wider_than_it(found: list[Job]) -> None:
    text = lines(found, width=130, ended=True)
    table = [line for line in text[1:] if not line.startswith("  ")]
    assert max(display_width(line) for line in table) <= 130
