"""What jobs that are left ask for, one by one and as they are carried out."""

from __future__ import annotations

import pytest
from rowtui.core.network.spec import Gather, Pilot, Schedule
from rowtui.core.runs.left import Asked, as_carried_out

ASKED = Asked(jobs=30, core_hours=40.0, gpu_hours=0.0, cpus=4, gpus=0, hours=20.0)


def test_jobs_of_their_own_ask_for_what_they_ask_for() -> None:
    assert as_carried_out(ASKED, "jobs", Schedule()) == ASKED
    assert as_carried_out(ASKED, "sequential", Schedule(gather=Gather(1))) == ASKED
    assert as_carried_out(Asked(), "pilot", Schedule(pilot=Pilot(2, 60))) == Asked()


def test_lists_hold_as_much_as_their_largest_job_takes_for_all_of_their_time() -> None:
    held = as_carried_out(ASKED, "sequential", Schedule(gather=Gather(50)))

    assert held.core_hours == pytest.approx(4 * (20 + 30 * 62 / 3600))
    assert held.gpu_hours == 0


def test_pilots_are_as_many_as_the_work_fills_and_those_that_end_last() -> None:
    schedule = Schedule(pilot=Pilot(8, 2 * 3600, gpus=1, number=2))

    held = as_carried_out(ASKED, "pilot", schedule)

    assert (held.core_hours, held.gpu_hours) == ((3 + 2) * 16, (3 + 2) * 2)
