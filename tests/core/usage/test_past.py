"""What ran when: the numbers add up in every interval, and a bad node is told from bad luck."""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from rowtui.core.base.text import Cost
from rowtui.core.clusters.model import BudgetLimit
from rowtui.core.clusters.schedulers.measured import Used
from rowtui.core.submission.plan.charges import DatedCharge
from rowtui.core.submission.plan.outcome import read_old_end
from rowtui.core.usage.model import JobUsage, UsageKind
from rowtui.core.usage.past import PastRequest, PastView, past_view
from rowtui.core.usage.past_intervals import (
    DAY,
    LENGTHS,
    MOST_INTERVALS,
    WEEK,
    UnendedJob,
    interval_edges,
)
from rowtui.core.usage.past_nodes import chance_text, corrected_chances, standing_out
from rowtui.core.usage.past_shares import budgets_left
from rowtui.core.usage.store import UsageColumns, UsageStore

ALL = PastRequest()
KIND = UsageKind("simulate", "alpha", "cpu", "jane", 1, 4, 0, 2048, 3600)
NOON = 1_790_000_000.0


@pytest.fixture
def berlin() -> Iterator[None]:
    """Local time with clocks that change."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "Europe/Berlin"
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


def job(
    number: int,
    ended: float,
    wall: float | None = 600.0,
    *,
    kind: UsageKind = KIND,
    reason: str = "",
    node: str = "n1",
    waited: float = 0.0,
) -> JobUsage:
    submitted = ended - (wall or 0.0) - waited
    used = Used(wall=wall, node=node)
    end = read_old_end(0, reason, ended)
    return JobUsage(f"abc-{number}", kind, number, 1, end, submitted, used)


def columns_of(jobs: list[JobUsage]) -> UsageColumns:
    with TemporaryDirectory() as folder:
        UsageStore(Path(folder)).append(jobs)
        return UsageStore(Path(folder)).columns()


def past_of(jobs: list[JobUsage], asked: PastRequest = ALL) -> PastView:
    return past_view(columns_of(jobs), asked, NOON + 1000 * DAY)


many_jobs = some.lists(
    some.tuples(
        some.integers(0, 400 * DAY),
        some.integers(0, 3 * DAY),
        some.sampled_from(["", "cancelled", "exit code 1"]),
    ),
    min_size=1,
    max_size=40,
).map(
    lambda rows: [
        job(number, NOON + end, float(wall), reason=reason)
        for number, (end, wall, reason) in enumerate(rows)
    ]
)


@given(many_jobs, some.integers(1, 80))
def test_every_job_ends_in_exactly_one_interval(jobs: list[JobUsage], most: int) -> None:
    past = past_of(jobs, PastRequest(intervals=most))
    assert sum(each.jobs for each in past.intervals) == past.job_count == len(jobs)
    assert sum(each.ended_well for each in past.intervals) == sum(not it.end.cause for it in jobs)
    assert sum(each.cancelled for each in past.intervals) == sum(
        it.end.cause == "cancelled" for it in jobs
    )
    hours = sum((it.used.wall or 0) * 4 / 3600 for it in jobs)
    assert sum(each.cpu_hours for each in past.intervals) == pytest.approx(hours)
    assert len(past.intervals) <= max(most, 4)


@given(many_jobs)
def test_the_cpus_in_use_add_up_to_the_cpu_hours(jobs: list[JobUsage]) -> None:
    past = past_of(jobs)
    ends = [*(each.start for each in past.intervals[1:]), past.last]
    seconds = sum(
        each.cpus_in_use * (end - each.start)
        for each, end in zip(past.intervals, ends, strict=True)
        if end > each.start
    )
    # Seconds of walls are stored with 24 bits, and a job may end at the very last moment.
    assert seconds == pytest.approx(sum((it.used.wall or 0) * 4 for it in jobs), rel=1e-3, abs=20)


@given(
    some.integers(0, 2_000_000_000), some.integers(0, 3000 * DAY), some.sampled_from([0, *LENGTHS])
)
def test_intervals_cover_the_time_and_are_bounded(start: int, span: int, seconds: int) -> None:
    edges, length, cut = interval_edges(start, start + span, seconds, 60)
    assert edges == sorted(set(edges))
    assert edges[-2] <= start + span < edges[-1]
    assert cut or edges[0] <= start
    assert len(edges) <= (MOST_INTERVALS if seconds else 60) + 1
    assert length in LENGTHS


@pytest.mark.usefixtures("berlin")
def test_intervals_begin_at_round_local_times_also_where_clocks_change() -> None:
    first = datetime(2026, 10, 23, 15, 7, tzinfo=UTC).timestamp()
    for seconds, expected in ((DAY, {(0, 0)}), (6 * 3600, {(0, 0), (6, 0), (12, 0), (18, 0)})):
        edges, _, _ = interval_edges(first, first + 5 * DAY, seconds, 60)
        local = [datetime.fromtimestamp(at, UTC).astimezone() for at in edges]
        assert {(it.hour, it.minute) for it in local} == expected
    edges, _, _ = interval_edges(first, first + 30 * DAY, WEEK, 60)
    local = [datetime.fromtimestamp(at, UTC).astimezone() for at in edges]
    assert {(it.weekday(), it.hour) for it in local} == {(0, 0)}


def test_waits_are_listed_by_partition_with_the_most_jobs_first() -> None:
    other = KIND._replace(partition="gpu")
    jobs = [job(at, NOON + at, waited=60.0 * at) for at in range(11)]
    jobs += [job(50, NOON, None, kind=other), job(51, NOON, 60.0, kind=other, waited=7200)]
    cpu, gpu = past_of(jobs).waits
    assert (cpu.partition, cpu.jobs) == ("alpha/cpu", 11)
    assert (cpu.median_seconds, cpu.most_of_seconds, cpu.longest_seconds) == pytest.approx(
        (300, 540, 600), abs=2
    )
    assert (gpu.partition, gpu.jobs) == ("alpha/gpu", 1)  # of the other one no start is known
    assert gpu.median_seconds == pytest.approx(7200, abs=2)


def test_what_cannot_be_true_is_left_out() -> None:
    jobs = [job(1, NOON), job(2, 0.0, None), job(3, NOON + 3000 * DAY)]
    past = past_of(jobs)
    assert (past.all_jobs, past.job_count) == (3, 1)


def test_a_period_ends_now_and_actions_are_patterns() -> None:
    jobs = [job(1, NOON), job(2, NOON - DAY), job(3, NOON, kind=KIND._replace(action="fit"))]
    columns = columns_of(jobs)
    past = past_view(columns, PastRequest(period=3600.0, actions=("sim*",)), NOON + 60)
    assert (past.job_count, past.actions) == (1, ("fit", "simulate"))
    assert (past.first, past.last) == (NOON + 60 - 3600, NOON + 60)
    nothing = past_view(columns, PastRequest(period=30.0), NOON + 60)
    assert (nothing.job_count, nothing.all_jobs, nothing.intervals) == (0, 3, ())


# Single jobs


def test_single_jobs_are_the_newest_the_longest_or_the_first_and_the_rest_is_counted() -> None:
    jobs = [job(at, NOON + 100 * at, 10.0 * ((at * 7) % 20 + 1)) for at in range(20)]
    newest, longest, first = (
        past_of(jobs, PastRequest(jobs=3, order=order))
        for order in ("newest", "longest", "first")  # type: ignore[arg-type]
    )
    assert {it.id for it in newest.jobs} == {"17", "18", "19"}
    lasting = sorted((it.used.wall or 0 for it in jobs), reverse=True)[:3]
    shown = sorted((it.ended_at - it.started_at for it in longest.jobs), reverse=True)
    assert shown == pytest.approx(lasting, abs=1.0)
    starts = sorted(it.started_at for it in jobs)[:3]
    assert [it.started_at for it in first.jobs] == pytest.approx(starts, abs=1.0)
    assert newest.jobs_left_out == longest.jobs_left_out == first.jobs_left_out == 17


# Nodes


def on_nodes(seed: int, bad: str = "") -> list[JobUsage]:
    """2,000 jobs on 20 nodes, of which 5 % fail, on the bad node 30 %."""
    luck = random.Random(seed)
    rows = []
    for number in range(2000):
        node = f"n{luck.randrange(20):02}"
        fails = luck.random() < (0.3 if node == bad else 0.05)
        reason = "exit code 1" if fails else ""
        rows.append(job(number, NOON + number, reason=reason, node=node))
    return rows


@pytest.mark.parametrize("seed", range(5))
def test_a_bad_node_among_twenty_is_named_and_it_alone(seed: int) -> None:
    nodes = past_of(on_nodes(seed, "n07")).nodes
    assert [row.node for row in nodes if row.stands_out] == ["n07"]
    assert nodes[0].node == "n07"
    assert standing_out(nodes)[0].startswith("n07 stands out: ")


@pytest.mark.parametrize("seed", range(20))
def test_among_equal_nodes_none_is_named(seed: int) -> None:
    nodes = past_of(on_nodes(seed)).nodes
    assert len(nodes) == 20
    assert standing_out(nodes) == []


def test_a_node_that_alone_runs_an_action_that_fails_is_not_named() -> None:
    fails = KIND._replace(action="broken")
    jobs = [job(at, NOON, node=f"n{at % 20:02}") for at in range(2000)]
    jobs += [
        job(5000 + at, NOON, kind=fails, reason="exit code 1", node="n03") for at in range(200)
    ]
    assert standing_out(past_of(jobs).nodes) == []


def test_cancelled_jobs_and_unknown_nodes_accuse_no_node() -> None:
    jobs = [job(at, NOON, node=f"n{at % 4}") for at in range(400)]
    jobs += [job(500 + at, NOON, reason="cancelled", node="n0") for at in range(200)]
    jobs += [job(900 + at, NOON, reason="exit code 1", node="") for at in range(200)]
    nodes = past_of(jobs).nodes
    assert {row.node: (row.jobs, row.failed) for row in nodes} == {f"n{at}": (100, 0)
                                                                   for at in range(4)}  # fmt: skip


counts = some.lists(some.tuples(some.integers(0, 12), some.integers(0, 12)), min_size=1, max_size=6)


@given(counts)
def test_the_chance_is_that_of_fishers_test_times_the_nodes(rows: list[tuple[int, int]]) -> None:
    jobs = np.array([[good + bad] for good, bad in rows])
    failed = np.array([[bad] for _, bad in rows])
    total, marked = int(jobs.sum()), int(failed.sum())
    nodes = int((jobs > 0).sum())
    for (own,), (bad,), chance in zip(
        jobs.tolist(), failed.tolist(), corrected_chances(jobs, failed), strict=True
    ):
        if not total or bad <= own * marked / total:
            assert chance == 1.0
            continue
        tail = sum(
            math.comb(marked, many) * math.comb(total - marked, own - many)
            for many in range(bad, min(own, marked) + 1)
        ) / math.comb(total, own)
        assert chance == pytest.approx(min(1.0, tail * nodes), rel=1e-6)


def test_a_chance_is_written_as_the_power_of_ten_above_it() -> None:
    assert chance_text(3e-7) == "p < 1e-6"
    assert chance_text(0.0) == "p < 1e-12"


def test_the_shares_of_limits_add_up_to_the_completed_jobs() -> None:
    walls = [360.0, 361.0, 1800.0, 3600.0, 4000.0]  # of a limit of 3,600 s
    jobs = [job(at, NOON + at, wall) for at, wall in enumerate(walls)]
    jobs += [job(9, NOON, 3600.0, reason="exit code 1"), job(10, NOON, None)]
    (one, same) = past_of(jobs).used
    assert (one.resource, one.action, same.action, one.jobs) == ("walltime", "", "simulate", 5)
    assert one.over == 1
    assert one.bins == (1, 1, 0, 0, 1, 0, 0, 0, 0, 1, 1)
    assert (one.least, one.median) == (pytest.approx(0.1), 0.5)
    assert one.most == pytest.approx(4000 / 3600)


@given(many_jobs)
def test_every_failure_has_one_cause_and_every_share_one_bin(jobs: list[JobUsage]) -> None:
    past = past_of(jobs)
    assert sum(one.jobs for one in past.causes) == past.failed
    assert all(sum(one.bins) == one.jobs for one in past.used)
    assert all(one.least <= one.lower <= one.median <= one.upper <= one.most for one in past.used)


def test_the_cpus_of_running_jobs_are_in_use_up_to_now() -> None:
    running = [UnendedJob("7", "simulate", "n1", NOON - 1800, NOON + 1800, 8),
               UnendedJob("8", "other", "n1", NOON - 60, None, 100)]  # fmt: skip
    asked = PastRequest(actions=("simulate",), by="hour", period=4 * 3600.0)
    past = past_view(columns_of([job(1, NOON - 9000, 60.0)]), asked, NOON, running)
    ends = [*(one.start for one in past.intervals[1:]), past.last]
    seconds = sum(
        one.cpus_in_use * (end - one.start) for one, end in zip(past.intervals, ends, strict=True)
    )
    assert past.running == (running[0],)
    assert seconds == pytest.approx(8 * 1800 + 4 * 60, rel=1e-3)
    assert past.last == NOON


@given(
    some.lists(some.tuples(some.integers(-5, 40), some.integers(0, 50)), max_size=20),
    some.integers(1, 20),
)
def test_a_budget_has_left_what_was_not_charged_before(
    found: list[tuple[int, int]], many: int
) -> None:
    ends = [NOON + at * 3600 for at in range(1, many + 1)]
    charges = [DatedCharge("alpha", NOON + at * 1800, Cost(float(hours))) for at, hours in found]
    charges.append(DatedCharge("beta", NOON, Cost(7.0)))
    budgets = {"alpha": BudgetLimit(1000.0, None), "beta": BudgetLimit(None, 5.0)}
    (one,) = budgets_left(budgets, charges, ends)
    for end, left in zip(ends, one.left, strict=True):
        spent = sum(hours for at, hours in found if NOON + at * 1800 <= end)
        assert left == pytest.approx(1000.0 - spent)


def test_nodes_that_are_left_out_are_counted_together() -> None:
    jobs = [job(at, NOON + at, node=f"n{at:03}", reason="exit code 1" * (at % 2))
            for at in range(120)]  # fmt: skip
    past = past_of(jobs)
    assert past.nodes_left_out == 70
    assert past.jobs_on_others == 70
    assert past.failed_on_others + sum(row.failed for row in past.nodes) == 60
