"""Reservations: all of a job or nothing, and only by their token."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from rowtui.core.clusters.schedulers.base import Job, JobState, QueueSnapshot
from rowtui.core.clusters.schedulers.local.scheduler import LocalScheduler
from rowtui.core.state.model import LastEnd, Submitted
from rowtui.core.state.store.store import Store
from rowtui.core.submission.sending.reservations import (
    ReservationRelease,
    StoredReservations,
    released,
    reserved,
    with_ids,
    with_made,
    without_gone,
)

from tests.core.submission.conftest import RealProject

NAMES = ["a", "b c", "d\udcff"]


def failure(reason: str) -> LastEnd:
    return LastEnd("local", 4, "n-0", reason)


def test_a_job_gets_all_its_directories_or_none(real: RealProject) -> None:
    plan = real.plan("n", size=3)
    (job,) = plan.jobs
    state = real.state._replace(submitted={"one": {1: Submitted("other", 9, "x")}})

    after, refused = reserved(state, [job])

    assert after is state
    assert refused == {"n-0": "b c was submitted meanwhile (other/9)"}


def test_complete_and_vanished_directories_are_refused(real: RealProject) -> None:
    first, second, _ = real.plan("n").jobs
    state = real.state._replace(completed={"one": 0b001})
    gone = second._replace(directories=("gone\n",))

    after, refused = reserved(state, [first, gone])

    assert after.submitted == {}
    assert refused["n-0"] == "a is complete already"
    assert refused["n-1"] == "gone\\n is no longer in the workspace"


def test_products_that_a_job_may_be_writing_complete_nothing(real: RealProject) -> None:
    state = real.state._replace(
        submitted={"one": {0: Submitted("local", 9, "x")}},
        ends={"one": {1: failure("time limit"), 2: failure("exit code 1")}},
    )

    assert with_made(state, {"one": NAMES}).completed == {"one": 0b100}


def test_reserving_again_changes_nothing(real: RealProject) -> None:
    plan = real.plan("n", size=3)
    state, refused = reserved(real.state, plan.jobs)
    state = with_ids(state, {"n-0": 7})

    again, refused_again = reserved(state, plan.jobs)

    assert refused == refused_again == {}
    assert again is state
    assert with_ids(state, {"n-0": 7}) is state
    assert state.submitted["one"][2] == Submitted("local", 7, "n-0")


def test_a_release_only_concerns_its_token_and_what_is_not_complete(real: RealProject) -> None:
    state = real.state._replace(
        completed={"one": 0b001},
        submitted={
            "one": {0: Submitted("l", 4, "n-0"), 1: Submitted("l", 4, "n-0"), 2: Submitted("l", 5)}
        },
    )
    failures = {name: failure("no") for name in [*NAMES, "gone"]}

    after = released(state, [ReservationRelease("n-0", "one", failures)])

    assert after.submitted == {"one": {2: Submitted("l", 5)}}
    assert after.ends == {"one": {1: failure("no")}}
    assert released(after, [ReservationRelease("n-0", "one", failures)]) is after


def test_a_job_that_ends_well_takes_an_older_failure_with_it(real: RealProject) -> None:
    plan = real.plan("n", size=3)
    state = real.state._replace(ends={"one": {0: failure("old"), 1: failure("old")}})

    state, _ = reserved(state, plan.jobs)
    state = state._replace(completed={"one": 0b011})
    after = released(state, [ReservationRelease("n-0", "one", {})])

    assert after.ends == {}


def test_jobs_of_row_are_forgotten_by_rows_rule(real: RealProject) -> None:
    ours, theirs, running = Submitted("c", 1, "n-0"), Submitted("c", 2), Submitted("c", 3)
    elsewhere = Submitted("d", 2)
    state = real.state._replace(
        submitted={"one": {0: ours, 1: theirs, 2: running}, "two": {0: elsewhere}}
    )
    jobs = (Job(3, JobState.RUNNING), Job(2, JobState.COMPLETED))

    after = without_gone(state, QueueSnapshot("c", 0.0, jobs), [1, 2, 3])

    assert after.submitted == {"one": {0: ours, 2: running}, "two": {0: elsewhere}}
    assert without_gone(state, QueueSnapshot("c", 0.0, error="no"), [1, 2, 3]) is state


def test_two_processes_never_both_get_a_directory(
    tmp_path: Path, scheduler: LocalScheduler
) -> None:
    real = RealProject(tmp_path / "p", [f"d{n}" for n in range(8)], scheduler)
    plans = [real.plan(f"n{who}") for who in range(4)]
    got: list[str] = []

    def reserve(who: int) -> None:
        store = StoredReservations(Store(real.root))
        for job in plans[who].jobs:
            if not store.reserve([job]):
                got.extend(job.directories)

    threads = [threading.Thread(target=reserve, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(got) == [f"d{n}" for n in range(8)]


@pytest.mark.parametrize("ids", [{}, {"unknown": 3}])
def test_nothing_to_record_is_no_commit(real: RealProject, ids: dict[str, int]) -> None:
    before = real.state.generation

    StoredReservations(real.store).record(ids)
    StoredReservations(real.store).release([])

    assert real.state.generation == before
