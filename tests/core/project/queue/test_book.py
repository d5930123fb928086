"""What an engine keeps of the queues, and the bounded part of it that screens get."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.clusters.schedulers.base import Job, JobState
from rowtui.core.clusters.schedulers.reasons import explain
from rowtui.core.clusters.schedulers.slurm.parse import job_state
from rowtui.core.clusters.schedulers.slurm.queue import QueueForm
from rowtui.core.project.queue.book import MOST_JOBS, QueueBook
from rowtui.core.project.queue.needs import LONG, STUCK, queue_needs
from rowtui.core.project.queue.rows import QueueRow, RowKey
from rowtui.core.project.queue.views import SORTS, QueueRequest
from rowtui.core.project.views.views import ClusterView, JobsView
from rowtui.core.submission.plan.outcome import read_old_end
from rowtui.core.submission.plan.record import JobRecord

from tests.job_records import a_record

NOW = 1_000_000.0
DAY = 86_400


def job(
    number: int,
    state: JobState = JobState.PENDING,
    *,
    token: str = "",
    task: int | None = None,
    at: float = NOW - 100,
    directories: int = 1,
    ended: float = 0.0,
    reason: str = "",
    elapsed: int | None = None,
) -> JobRecord:
    return a_record(
        token or f"t{number}" + (f".{task}" if task is not None else ""),
        cluster="anvil",
        partition="cpu",
        action="sample",
        directories=[f"d{it}" for it in range(directories)],
        job_id=number,
        task=task,
        at=at,
        end=read_old_end(1, f"exit code 1 in directory d{number}", ended) if ended else None,
        state=state,
        reason=reason,
        elapsed=elapsed,
        limit=3_600,
    )


def view(*jobs: JobRecord, others: tuple[Job, ...] = ()) -> JobsView:
    return JobsView(1, NOW, jobs, clusters=(ClusterView("anvil", "slurm", jobs=others),))


def foreign(user: str, job: Job) -> JobRecord:
    return JobRecord(job.token, "anvil", job.key, user, queued=job)


def labels(rows: tuple[QueueRow, ...]) -> list[str]:
    return [row.label + row.tasks for row in rows]


def test_the_copy_for_a_screen_is_bounded_and_counts_everything() -> None:
    others = tuple(Job(it, JobState.RUNNING) for it in range(5_000))
    jobs = [job(it, directories=500) for it in range(2_000)]
    copy = QueueBook().take(view(*jobs, others=others))
    assert len(copy.jobs) == MOST_JOBS
    assert copy.jobs[0].size == 500
    assert len(copy.jobs[0].directories) < 100
    assert copy.total == 2_000
    assert copy.clusters[0].jobs == ()
    assert copy.clusters[0].counts == ((JobState.RUNNING, 5_000),)
    assert len(pickle.dumps(copy)) < 1_000_000


def test_what_ended_since_the_last_look_is_told_once() -> None:
    book = QueueBook()
    assert not book.take(view(job(1), job(2, JobState.COMPLETED))).ended
    after = book.take(view(job(1, JobState.FAILED, ended=NOW), job(2, JobState.COMPLETED)))
    assert [(one.label, one.state) for one in after.ended] == [("1", JobState.FAILED)]
    assert not book.take(view(job(1, JobState.FAILED, ended=NOW))).ended
    many = [job(it, JobState.RUNNING) for it in range(100)]
    book.take(view(*many))
    all_over = book.take(view(*(job(it, JobState.COMPLETED) for it in range(100))))
    assert len(all_over.ended) < all_over.ended_in_all == 100


def test_arrays_and_bundles_of_three_are_one_row_and_unfold() -> None:
    array = [job(9, token=f"a.{it}", task=it) for it in (1, 2, 3, 7)]
    bundle = [job(8, token=f"b~{it}") for it in range(3)]
    pair = [job(7, token=f"c.{it}", task=it) for it in (0, 1)]
    book = QueueBook()
    book.take(view(*array, *bundle, *pair))
    page = book.page(QueueRequest(), 0, 10)
    assert labels(page.rows) == ["9[1-3,7]", "8×3", "7_0", "7_1"]
    assert [row.jobs for row in page.rows] == [4, 3, 1, 1]
    assert (page.total, page.jobs) == (4, 9)
    fold = page.rows[0].key
    open_ = book.page(QueueRequest(unfolded=frozenset({fold})), 0, 10)
    assert labels(open_.rows)[:5] == ["9[1-3,7]", "9_1", "9_2", "9_3", "9_7"]
    assert all(row.inside and row.key.parent == fold for row in open_.rows[1:5])
    assert book.page(QueueRequest(folding=False), 0, 1).total == 4 + 7
    assert book.chosen([fold], "cancel").jobs == 4
    assert sorted(book.tokens([fold, open_.rows[1].key], "cancel")) == ["a.1", "a.2", "a.3", "a.7"]


def test_a_row_is_found_again_after_a_poll_a_fold_and_by_its_token_alone() -> None:
    array = [job(9, token=f"a.{it}", task=it) for it in range(5)]
    book = QueueBook()
    book.take(view(*array, job(3)))
    key = book.page(QueueRequest(folding=False), 3, 1).rows[0].key
    book.take(view(job(11), *array, job(3)))
    assert book.page(QueueRequest(folding=False, follow=key), 0, 1).followed == 4
    assert book.page(QueueRequest(follow=key), 0, 1).followed == 1  # its array
    by_token = RowKey("", 0, None, "t3")
    assert book.page(QueueRequest(follow=by_token), 0, 1).followed == 2
    assert book.page(QueueRequest(follow=RowKey("", 0, None, "gone")), 0, 1).followed is None


def test_a_verb_takes_only_jobs_in_a_state_for_it_and_none_of_others() -> None:
    jobs = [job(1), job(2, JobState.HELD), job(3, JobState.FAILED, ended=NOW)]
    book = QueueBook()
    book.take(view(*jobs, others=(Job(99, JobState.PENDING),)))
    rows = book.page(QueueRequest(whose="mine"), 0, 9).rows
    assert [row.ours for row in rows] == [True, True, True, False]
    keys = [row.key for row in rows]
    for verb, tokens in {
        "cancel": ["t1", "t2"], "hold": ["t1"], "release": ["t2"], "retry": ["t3"],
        "change": ["t1", "t2"],
    }.items():  # fmt: skip
        assert book.tokens(keys, verb) == tokens
        assert (book.chosen(keys, verb).total, book.chosen(keys, verb).jobs) == (3, len(tokens))
    assert [it.cause for it in book.chosen(keys, "retry").failed] == ["exit code 1"]
    assert book.marked([*keys, RowKey("x", 1)]) == tuple(row.marked for row in rows)


def test_a_filter_has_the_words_of_every_list_and_says_why_it_cannot_be_read() -> None:
    book = QueueBook()
    book.take(view(job(1, reason="Priority"), job(2, JobState.RUNNING, elapsed=3_000)))
    for text, found in {
        "priority": ["1"], "state=running": ["2"], "!state=running": ["1"], "~prio|x": ["1"],
        "elapsed>45m": ["2"], "action=sample job=2": ["2"],
    }.items():  # fmt: skip
        page = book.page(QueueRequest(text=text), 0, 9)
        assert labels(page.rows) == found, text
        assert page.all_jobs == 2
    assert "no column" in book.page(QueueRequest(text="colour=red"), 0, 9).problem


def test_everybodys_jobs_are_listed_without_those_that_are_mine() -> None:
    book = QueueBook()
    book.take(view(job(1), others=(Job(5, JobState.RUNNING),)))
    book.take_foreign([foreign("ada", Job(it, JobState.PENDING)) for it in (5, 6)])
    page = book.page(QueueRequest(whose="everybody"), 0, 9)
    assert [(row.label, row.user, row.ours) for row in page.rows] == [
        ("1", "", True), ("5", "", False), ("6", "ada", False),
    ]  # fmt: skip
    assert book.page(QueueRequest(), 0, 9).hidden == 1


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.sampled_from(JobState), st.integers(0, 9)),
        unique_by=lambda it: (it[0], it[2]),
    ),
    st.sampled_from(SORTS),
    st.booleans(),
    st.booleans(),
    st.integers(1, 5),
)
def test_every_job_is_in_the_pages_once_whatever_the_order(
    made: list[tuple[int, JobState, int]], sort: str, descending: bool, folding: bool, length: int
) -> None:
    jobs = [job(array, state, token=f"a{array}.{task}", task=task) for array, state, task in made]
    book = QueueBook()
    book.take(view(*jobs))
    asked = QueueRequest(sort=sort, descending=descending, folding=folding)

    def rows() -> Iterator[QueueRow]:
        total = book.page(asked, 0, 0).total
        for start in range(0, total, length):
            yield from book.page(asked, start, length).rows

    found = list(rows())
    assert len({row.key for row in found}) == len(found)
    meant = [row for row in found if row.key.folded or not row.inside]
    assert sum(row.jobs for row in meant) == len(jobs)
    assert sorted(book.tokens([row.key for row in meant], "cancel")) == sorted(
        it.token for it in jobs if it.state.active
    )


def test_a_hundred_thousand_jobs_of_squeue_become_pages_of_bounded_size() -> None:
    form = QueueForm("mark")
    record = "mark>{0}|{0}|N/A|PENDING|0:00|1:00:00|N/A|cpu||Prioritymark||(null)mark||job{0}\n"
    record = record.replace("mark||", "mark|")
    text = "".join(record.format(number) for number in range(1, 100_001))
    book = QueueBook()
    book.take(view(others=tuple(form.read(text.encode()).jobs)))
    page = book.page(QueueRequest(whose="mine", sort="id"), 70_000, 100)
    assert (page.total, len(page.rows), page.rows[0].label) == (100_000, 100, "70001")
    assert len(pickle.dumps(page)) < 60_000


def test_what_waits_for_days_needs_a_person_by_cause_and_what_failed_does_not() -> None:
    old = [job(it, at=NOW - 3 * DAY, reason="QOSMaxCpuPerUserLimit") for it in range(3)]
    fine = [
        job(30, at=NOW - DAY, reason="Priority"),
        job(31, JobState.FAILED, at=NOW - 50, ended=NOW - 10),  # its directories are
        job(33, JobState.CANCELLED, at=NOW - 50, ended=NOW - 10),
    ]
    (need,) = queue_needs([*old, *fine], NOW)
    assert (need.kind, need.cause, need.jobs) == (LONG, "QOSMaxCpuPerUserLimit", 3)
    assert need.tokens == ("t0", "t1", "t2")
    assert need.since == NOW - 3 * DAY
    assert need.hint


@pytest.mark.parametrize(
    ("state", "reason", "words"),
    [
        ("PENDING", "launch failed requeued held", ("not be started", "Release it", "cancel it")),
        ("PENDING", "JobHoldMaxRequeue", ("too many times", "release", "cancel")),
        ("REQUEUE_HOLD", "job requeued in held state", ("put back into the queue", "release")),
        ("PENDING", "reboot failed requeued held", ("It is held: ", "Release it")),
        ("PENDING", "PartitionTimeLimit", ("longer than the partition allows", "Cancel it")),
    ],
)
def test_a_job_that_the_scheduler_does_not_start_needs_a_person_at_once(
    state: str, reason: str, words: tuple[str, ...]
) -> None:
    jobs = [job(it, job_state(state, reason), at=NOW - 5, reason=reason) for it in (1, 2)]
    (need,) = queue_needs(jobs, NOW)
    assert (need.kind, need.cause, need.tokens) == (STUCK, reason, ("t1", "t2"))
    assert [word for word in words if word not in need.hint] == []


def test_whatever_holds_a_job_it_needs_a_person_and_one_that_waits_for_room_does_not() -> None:
    held = job(1, JobState.HELD, at=NOW - 5, reason="JobHeldUser")
    (need,) = queue_needs([held, job(2, reason="Resources")], NOW)
    assert (need.kind, need.tokens) == (STUCK, ("t1",))
    assert explain(Job(1, JobState.HELD, reason="JobHeldUser"), NOW).needs_person


def test_a_job_is_found_by_what_it_is_called_however_old_it_is() -> None:
    array = [job(9, token=f"a.{it}", task=it) for it in (3, 1, 2)]
    bundle = [job(8, token=f"b~{it}") for it in (1, 0)]
    book = QueueBook()
    book.take(view(*(job(it + 100) for it in range(MOST_JOBS)), *array, *bundle, job(0)))
    for label, token in {
        "9_2": "a.2", "9": "a.1", "8.1": "b~1", "8": "b~0", "105": "t105",
    }.items():  # fmt: skip
        found = book.named(label)
        assert found is not None
        assert found.token == token
    assert [book.named(label) for label in ("9_7", "77", "0", "", "a.1")] == [None] * 5


def test_words_of_jobs_of_every_kind_are_found() -> None:
    book = QueueBook()
    others = (Job(7, JobState.RUNNING, "Mine", task=3, partition="gpu", nodes="n1", reason="Why"),)
    book.take(view(job(1, reason="Priority"), others=others))
    book.take_foreign([foreign("Grace", Job(9, JobState.PENDING, "hers"))])
    for text, label in {
        "grace": "9", "hers": "9", "mine": "7_3", "7_3": "7_3", "gpu": "7_3", "n1": "7_3",
        "why": "7_3", "priority": "1", "sample": "1", "d0": "1",
    }.items():  # fmt: skip
        assert labels(book.page(QueueRequest(text, whose="everybody"), 0, 9).rows) == [label], text


def test_what_has_ended_is_not_stale_while_its_cluster_is_silent() -> None:
    book = QueueBook()
    jobs = [job(1), job(2, JobState.FAILED, ended=NOW)]
    error = (ClusterView("anvil", "slurm", error="timed out"),)
    book.take(view(*jobs)._replace(clusters=error))
    rows = book.page(QueueRequest(), 0, 10).rows
    assert {row.label: row.silent for row in rows} == {"1": True, "2": False}


def test_a_job_that_was_submitted_after_the_last_poll_is_found() -> None:
    book = QueueBook()
    older, newer = a_record("one"), a_record("two", directories=("b", "a"))
    found = book.find("one", "a", [newer, older])
    assert found is not None
    assert found.token == "two"
    assert book.find("one", "b", [older]) is None
