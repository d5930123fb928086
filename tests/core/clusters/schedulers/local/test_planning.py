"""The rule by which waiting jobs start."""

import math
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.clusters.schedulers.local.planning import (
    PRIORITY,
    RESOURCES,
    LocalResources,
    RunningJob,
    WaitingJob,
    plan_starts,
)

WHOLE = LocalResources(cores=4, memory_mb=100, gpus=2)


class Submitted(NamedTuple):
    at: int
    need: LocalResources
    limit: int | None
    takes: int


def needs() -> st.SearchStrategy[LocalResources]:
    return st.builds(
        LocalResources,
        cores=st.integers(1, 5),
        memory_mb=st.sampled_from([0, 0, 30, 60, 100]),
        gpus=st.sampled_from([0, 0, 0, 1, 2]),
    )


@st.composite
def submissions(draw: st.DrawFn) -> list[Submitted]:
    jobs = []
    for _ in range(draw(st.integers(1, 12))):
        limit = draw(st.none() | st.integers(1, 20))
        takes = draw(st.integers(1, limit or 20))
        jobs.append(Submitted(draw(st.integers(0, 30)), draw(needs()), limit, takes))
    return sorted(jobs, key=lambda job: job.at)


def simulate(jobs: list[Submitted], *, only: int | None = None) -> dict[int, int]:
    """When each job starts, second by second. With `only`, no later job starts at all."""
    started: dict[int, int] = {}
    for now in range(2000):
        running = {i: at for i, at in started.items() if now < at + jobs[i].takes}
        waiting = [
            WaitingJob(i, job.need, job.limit or math.inf)
            for i, job in enumerate(jobs)
            if job.at <= now and i not in started and (only is None or i <= only)
        ]
        plan = plan_starts(
            waiting,
            [
                RunningJob(
                    jobs[i].need, math.inf if not (limit := jobs[i].limit) else at + limit - now
                )
                for i, at in running.items()
            ],
            WHOLE,
        )
        assert plan.reasons.keys() | set(plan.start) == {job.id for job in waiting}
        used = [jobs[i].need.at_most(WHOLE) for i in (*running, *plan.start)]
        assert sum(need.cores for need in used) <= WHOLE.cores
        assert sum(need.memory_mb for need in used) <= WHOLE.memory_mb
        assert sum(need.gpus for need in used) <= WHOLE.gpus
        started.update(dict.fromkeys(plan.start, now))
        if len(started) == len(jobs) or only in started:
            return started
    raise AssertionError("a job never started")


@given(submissions())
def test_every_job_starts_and_together_they_never_exceed_the_machine(
    jobs: list[Submitted],
) -> None:
    assert len(simulate(jobs)) == len(jobs)


@given(submissions(), st.data())
def test_no_later_job_delays_the_first_that_waits_beyond_the_limits_of_what_runs(
    jobs: list[Submitted], data: st.DataObject
) -> None:
    # When jobs take as long as their limits say, a reservation is kept to the second.
    exact = [job._replace(limit=job.takes) for job in jobs]
    first_to_wait = next(
        (i for i, job in enumerate(exact) if simulate(exact).get(i, 0) > job.at), None
    )
    if first_to_wait is not None:
        alone = simulate(exact, only=first_to_wait)[first_to_wait]
        assert simulate(exact)[first_to_wait] == alone


def test_a_short_job_fills_the_gap_before_a_reservation() -> None:
    plan = plan_starts(
        [
            WaitingJob(1, LocalResources(4), 100),
            WaitingJob(2, LocalResources(1), 50),
            WaitingJob(3, LocalResources(1), 51),
        ],
        [RunningJob(LocalResources(2), 50)],
        WHOLE,
    )
    assert plan.start == (2,)
    assert plan.reasons == {1: RESOURCES, 3: PRIORITY}


def test_a_long_job_starts_beside_a_reservation_that_does_not_need_its_cores() -> None:
    plan = plan_starts(
        [
            WaitingJob(1, LocalResources(3), 100),
            WaitingJob(2, LocalResources(1)),
            WaitingJob(3, LocalResources(1)),
        ],
        [RunningJob(LocalResources(2), 50)],
        WHOLE,
    )
    assert plan.start == (2,)
    assert plan.reasons == {1: RESOURCES, 3: PRIORITY}


def test_nothing_overtakes_when_nobody_knows_how_long_the_running_jobs_take() -> None:
    plan = plan_starts(
        [WaitingJob(1, LocalResources(4), 100), WaitingJob(2, LocalResources(1), 1)],
        [RunningJob(LocalResources(2))],
        WHOLE,
    )
    assert plan.start == ()
    assert plan.reasons == {1: RESOURCES, 2: PRIORITY}


def test_a_job_larger_than_the_machine_runs_alone() -> None:
    assert (
        plan_starts(
            [WaitingJob(1, LocalResources(9))], [RunningJob(LocalResources(1), 5)], WHOLE
        ).start
        == ()
    )
    assert plan_starts(
        [WaitingJob(1, LocalResources(9)), WaitingJob(2, LocalResources(1))], [], WHOLE
    ).start == (1,)
    assert (
        plan_starts(
            [WaitingJob(1, LocalResources(1))], [RunningJob(LocalResources(9), 5)], WHOLE
        ).start
        == ()
    )


def test_ten_thousand_waiting_jobs_are_all_given_a_reason() -> None:
    plan = plan_starts([WaitingJob(i, LocalResources(1), 60) for i in range(10_000)], [], WHOLE)
    assert plan.start == (0, 1, 2, 3)
    assert len(plan.reasons) == 9_996
