"""The numbers of a report: each job counts once in every part, whatever the jobs are."""

from __future__ import annotations

import statistics
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from rowtui.core.clusters.schedulers.measured import Used
from rowtui.core.submission.plan.outcome import read_old_end
from rowtui.core.usage.costs import job_costs
from rowtui.core.usage.model import NO_USAGE, JobUsage, UsageKind
from rowtui.core.usage.past_shares import UsedShare, used_shares
from rowtui.core.usage.report import (
    CHOSEN_BARS,
    EXAMPLES,
    MOST_BARS,
    UsageReport,
    failure_causes,
    running_jobs,
    usage_report,
)
from rowtui.core.usage.store import UsageColumns, UsageStore

KIND = UsageKind("simulate", "alpha", "cpu", "jane", 1, 4, 0, 1, 100)
START = 1_700_000_000.0


def job(
    number: int,
    reason: str = "",
    used: Used = NO_USAGE,
    at: int = 0,
    **more: object,
) -> JobUsage:
    end = read_old_end(0, reason, START + (at or number))
    plain = JobUsage(f"abc-{number}", KIND, number, 1, end, START, used)
    return plain._replace(**more)  # type: ignore[arg-type]


def stored(root: Path, *jobs: JobUsage) -> UsageColumns:
    store = UsageStore(root)
    store.append(jobs)
    return store.columns()


def report(columns: UsageColumns) -> UsageReport:
    return usage_report(columns, job_costs(columns, {}))


def test_no_jobs_make_an_empty_report(tmp_path: Path) -> None:
    assert report(stored(tmp_path)) == UsageReport()


@given(
    some.lists(
        some.tuples(
            some.sampled_from(["a", "b"]),
            some.sampled_from(["", "out of memory", "time limit"]),
            some.none() | some.floats(0, 1e5, width=32),
            some.integers(1, 10**6),
        ),
        min_size=1, max_size=30,
    )
)  # fmt: skip
def test_each_job_counts_once_in_every_part(
    tmp_path_factory: pytest.TempPathFactory, jobs: list[tuple[str, str, float | None, int]]
) -> None:
    columns = stored(tmp_path_factory.mktemp("project"), *(
        job(number, reason, Used(wall), at=ended, kind=KIND._replace(action=action))
        for number, (action, reason, wall, ended) in enumerate(jobs)
    ))  # fmt: skip
    found = report(columns)
    failed = sum(reason != "" for _, reason, _, _ in jobs)
    unknown = sum(wall is None for _, _, wall, _ in jobs)
    assert found.total is not None
    assert found.total.jobs == len(jobs)
    for rows in (found.actions, found.clusters, found.nodes, found.days):
        assert sum(row.jobs for row in rows) == len(jobs)
        assert sum(row.jobs - row.ended_well for row in rows) == failed
        hours = sum(row.charged_cpu_hours for row in rows)
        assert hours == pytest.approx(found.total.charged_cpu_hours)
    assert sum(it.ended_well + it.failed for it in found.intervals) == len(jobs)
    assert sum(it.failed for it in found.intervals) == failed
    assert sum(it.jobs for it in found.failures) == failed
    assert sum(row.jobs for row in found.reasons) == failed
    assert (found.unmeasured, found.ran) == (unknown, len(jobs) - unknown)
    assert len(found.bars) == found.ran
    times = [it for it in found.shares if it.resource == "walltime"]
    assert sum(it.jobs for it in times) == found.ran


def test_of_many_jobs_those_that_failed_or_took_longest_are_drawn(tmp_path: Path) -> None:
    jobs = [
        job(it, "cause" if it < 5 else "", Used(50.0 + (it == 77))) for it in range(MOST_BARS + 1)
    ]
    found = report(stored(tmp_path, *jobs))
    assert len(found.bars) == CHOSEN_BARS
    assert {0, 1, 2, 3, 4, 77} <= {bar.job.job_id for bar in found.bars}
    [density] = found.density
    busy = sum(density.running) * found.seconds_each
    assert busy == pytest.approx((MOST_BARS + 1) * 50.0, rel=0.01)


def test_running_jobs_are_counted_for_the_time_that_they_ran(tmp_path: Path) -> None:
    columns = stored(
        tmp_path, job(10, "", Used(10.0)), job(15, "", Used(10.0)), job(40, "", Used(5.0))
    )
    edges = START + np.array([0.0, 10.0, 20.0, 30.0, 40.0])
    [found] = running_jobs(columns, ["simulate", "unknown"], edges)
    assert found.running == pytest.approx((1.5, 0.5, 0.0, 0.5))


@given(
    some.lists(
        some.tuples(
            some.sampled_from(["simulate", "analyze"]),
            some.floats(1, 1000, width=32),
            some.none() | some.floats(0, 4000, width=32),
            some.none() | some.integers(1, 2**20),
        ),
        min_size=1, max_size=40,
    )
)  # fmt: skip
def test_quartiles_are_those_of_used_by_requested(
    tmp_path_factory: pytest.TempPathFactory,
    jobs: list[tuple[str, float, float | None, int | None]],
) -> None:
    kinds = {name: KIND._replace(action=name) for name in ("simulate", "analyze")}
    columns = stored(tmp_path_factory.mktemp("project"), *(
        job(number, "", Used(wall, cpu, memory), at=number + 2000, kind=kinds[action])
        for number, (action, wall, cpu, memory) in enumerate(jobs)
    ))  # fmt: skip
    # A hundred seconds, 4 CPUs and 1,024 KiB are requested.
    expected = {
        (action, resource): [
            share
            for name, wall, cpu, memory in jobs
            if name == action
            and (
                share := {
                    "walltime": wall / 100,
                    "memory": None if memory is None else memory / 1024,
                    "CPUs": None if cpu is None else cpu / (4 * wall),
                }[resource]
            )
            is not None
        ]
        for action in {job[0] for job in jobs}
        for resource in ("walltime", "memory", "CPUs")
    }
    found = {
        (it.action, it.resource): it
        for it in used_shares(columns, sorted({job[0] for job in jobs}))
    }
    assert set(found) == {key for key, values in expected.items() if values}
    for key, it in found.items():
        check_quartiles(it, expected[key])


def check_quartiles(it: UsedShare, values: list[float]) -> None:
    assert it.jobs == len(values)
    assert it.over == sum(value > 1.0001 for value in values)
    assert (it.least, it.most) == pytest.approx((min(values), max(values)))
    quarters = statistics.quantiles(values * (2 if len(values) == 1 else 1), method="inclusive")
    assert (it.lower, it.median, it.upper) == pytest.approx(quarters)


def test_the_newest_failures_of_each_cause_are_named(tmp_path: Path) -> None:
    columns = stored(tmp_path, *(job(it, "cause") for it in range(1, 9)), job(9, "other"))
    found = failure_causes(columns)
    assert [(it.reason, it.jobs) for it in found] == [("cause", 8), ("other", 1)]
    assert [it.job_id for it in found[0].newest] == list(range(8, 8 - EXAMPLES, -1))


@given(some.integers(0, 2), some.sampled_from([
    b'"x"', b"5", b"null", b"[]", b"{}", b'["a"]', b"[[],{}]", b"\xff\xfe", b"1e999", b"true",
    b'["a","b","c",{},1,-4,0,null,"z"]', b'["a","b","c","d",1,1,0,1e400,0]', b"[null,null]",
]))  # fmt: skip
def test_a_damaged_text_spoils_no_report(
    tmp_path_factory: pytest.TempPathFactory, line: int, junk: bytes
) -> None:
    root = tmp_path_factory.mktemp("project")
    stored(root, job(1, "cause", Used(5.0, 5.0, 512, node="n1")), job(2))
    [path] = (root / ".row/rowtui/usage").glob("names-*")
    lines = path.read_bytes().split(b"\n")
    lines[line] = junk
    path.write_bytes(b"\n".join(lines))
    columns = UsageStore(root).columns()
    found = report(columns)
    assert found.total is not None
    assert found.total.jobs == len(list(columns.jobs())) == 2
