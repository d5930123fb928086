"""Tables of usage: the numbers add up, however jobs are grouped."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some
from rowtui.core.clusters.schedulers.measured import Used
from rowtui.core.submission.plan.outcome import JobOutcome, JobResult, read_old_end
from rowtui.core.submission.reconcile.ending import Evidence, outcome_of
from rowtui.core.submission.sending.fence import Ended
from rowtui.core.usage.model import JobUsage, UsageKind
from rowtui.core.usage.report import failure_causes
from rowtui.core.usage.store import UsageColumns, UsageStore
from rowtui.core.usage.table import GROUPINGS, chosen_usage, total_row, usage_table

KIND = UsageKind("simulate", "alpha", "cpu", "jane", 1, 4, 0, 2048, 3600)


def columns_of(root: Path, jobs: list[JobUsage]) -> UsageColumns:
    UsageStore(root).append(jobs)
    return UsageStore(root).columns()


def job(number: int, kind: UsageKind = KIND, reason: str = "", **used: object) -> JobUsage:
    values = {"wall": 1800.0, "cpu": 3600.0, "memory": 1024 * 1024, "node": "n1", **used}
    end = read_old_end(0, reason, 1_700_000_000 + number)
    return JobUsage(
        f"abc-{number}", kind, number, 1, end, 1_700_000_000,
        Used(**values),  # type: ignore[arg-type]
    )  # fmt: skip


def test_an_action_charged_four_cpus_and_used_two(tmp_path: Path) -> None:
    columns = columns_of(tmp_path, [job(1), job(2, wall=3600.0, memory=2 * 1024 * 1024)])
    [row] = usage_table(columns)
    assert row.name == "simulate"
    assert (row.jobs, row.ended_well) == (2, 2)
    assert row.charged_cpu_hours == pytest.approx(4 * 1.5)
    assert row.used_cpu_hours == pytest.approx(2.0)
    assert row.cpu_share == pytest.approx(2 / 6)
    assert (row.median_wall_seconds, row.longest_wall_seconds) == (2700, 3600)
    assert row.requested_wall_seconds == 3600
    assert (row.most_memory_kib, row.requested_memory_kib) == (2 * 1024 * 1024, 2048 * 1024)
    assert row.memory_share == pytest.approx(0.75)


def test_there_are_as_many_causes_as_kinds_and_codes(tmp_path: Path) -> None:
    reasons = [
        *(f"exit code {3 + at % 2} in directory d{at}" for at in range(6)),
        'killed (signal KILL) in directory a " in directory b',
        "killed (signal KILL)",
        "time limit",
    ]
    jobs = [job(at, reason=reason) for at, reason in enumerate(reasons)]
    lacking = Evidence(3, incomplete=(1,), began=True, marker=Ended(0, "exit", "local:7", 1.7e9, 0))
    jobs += [
        job(90 + at)._replace(end=outcome_of(lacking._replace(incomplete=tuple(range(at + 1)))))
        for at in range(3)
    ]
    jobs += [
        job(95 + at)._replace(end=JobResult(JobOutcome.NOT_STARTED, f"it did not start: a: {at}"))
        for at in range(2)
    ]
    columns = columns_of(tmp_path, jobs)

    assert {row.name: row.jobs for row in usage_table(columns, "reason")} == {
        "exit code 3": 3,
        "exit code 4": 3,
        "killed (signal KILL)": 2,
        "time limit": 1,
        "it ended well, but products are missing": 3,
        "it did not start: a": 2,
    }
    assert len(failure_causes(columns)) == 6


def test_what_is_not_known_is_not_taken_for_zero(tmp_path: Path) -> None:
    unknown = job(2, KIND._replace(memory_mb=None), cpu=None, memory=None)
    [row] = usage_table(columns_of(tmp_path, [job(1), unknown]))
    assert row.cpu_share == pytest.approx(0.5)  # of the job that was measured
    assert row.charged_cpu_hours == pytest.approx(4.0)
    assert row.median_memory_kib == 1024 * 1024
    row = total_row(chosen_usage(columns_of(tmp_path, []), job_ids=[2]))
    assert (row.cpu_share, row.used_cpu_hours) == (None, None)
    assert (row.requested_memory_kib, row.most_memory_kib) == (None, None)


jobs = some.lists(
    some.tuples(
        some.sampled_from(["simulate", "analyze*", "fit[1]"]),
        some.sampled_from(["alpha", "beta"]),
        some.sampled_from(["", "out of memory", "exit code 3"]),
        some.sampled_from(["n1", "n2", ""]),
        some.none() | some.floats(0, 1e6, width=32),
        some.none() | some.floats(0, 1e6, width=32),
        some.none() | some.integers(1, 1 << 31),
    ),
    min_size=1,
    max_size=12,
)


@given(jobs, some.sampled_from(GROUPINGS))
def test_groups_add_up_to_the_total(
    tmp_path_factory: pytest.TempPathFactory, jobs: list[tuple[object, ...]], by: str
) -> None:
    made = []
    for number, (action, cluster, reason, node, wall, cpu, memory) in enumerate(jobs):
        kind = KIND._replace(action=action, cluster=cluster, attempt=number % 2 + 1)
        made.append(job(number, kind, str(reason), wall=wall, cpu=cpu, memory=memory, node=node))
    columns = columns_of(tmp_path_factory.mktemp("project"), made)
    rows, total = usage_table(columns, by), total_row(columns)
    assert sum(row.jobs for row in rows) == total.jobs == len(made)
    assert sum(row.ended_well for row in rows) == sum(not it.end.cause for it in made)
    assert math.isclose(
        sum(row.charged_cpu_hours for row in rows), total.charged_cpu_hours, abs_tol=1e-6
    )
    assert len({row.name for row in rows}) == len(rows)
    known = [it.used.memory for it in made if it.used.memory]
    assert total.most_memory_kib == (max(known) if known else None)


def test_jobs_are_chosen_by_all_conditions_together(tmp_path: Path) -> None:
    other = KIND._replace(action="analyze", cluster="beta")
    columns = columns_of(
        tmp_path, [job(1), job(2, reason="time limit"), job(3, other, "time limit")]
    )

    def ids(**conditions: object) -> list[int]:
        return [it.job_id for it in chosen_usage(columns, **conditions).jobs()]  # type: ignore[arg-type]

    assert ids() == [1, 2, 3]
    assert ids(actions=["sim*"]) == [1, 2]
    assert ids(failed=True) == [2, 3]
    assert ids(failed=True, clusters=["beta"]) == [3]
    assert ids(since=1_700_000_002) == [2, 3]
    assert ids(job_ids=[1, 3]) == [1, 3]
