"""Costs of jobs and their text, and the resources that a group asks for."""

from __future__ import annotations

import itertools
from fractions import Fraction

from rowtui.core.base.text import Cost
from rowtui.core.groups.form import action_cost, is_linear, job_cost, job_requests
from rowtui.core.groups.model import Group
from rowtui.core.workflow.model import Action, Processes, Resources, Walltime


def resources(
    processes: int = 1,
    per_directory: bool = False,
    seconds: int = 3600,
    time_per_directory: bool = True,
    threads: int | None = None,
    gpus: int | None = None,
) -> Resources:
    return Resources(
        processes=Processes(processes, per_directory),
        walltime=Walltime(seconds, time_per_directory),
        threads_per_process=threads,
        gpus_per_process=gpus,
    )


def test_every_small_combination_costs_processes_times_hours_times_width() -> None:
    for p, p_each, s, s_each, threads, gpus, n in itertools.product(
        [0, 1, 3],
        [False, True],
        [0, 90, 3600],
        [False, True],
        [None, 0, 1, 2],
        [None, 0, 2],
        [1, 4],
    ):
        wanted = resources(p, p_each, s, s_each, threads, gpus)
        hours = Fraction(p * (n if p_each else 1) * s * (n if s_each else 1), 3600)
        cost = job_cost(wanted, n)
        assert cost.gpu_hours == float(hours * (gpus or 0))
        assert cost.cpu_hours == (0.0 if gpus else float(hours * (threads or 1)))
        if is_linear(wanted):
            assert action_cost(wanted, [n, 2 * n]) == action_cost(wanted, [3 * n])


def test_zero_gpus_are_no_gpus() -> None:
    assert job_cost(resources(gpus=0, threads=2), 3) == Cost(cpu_hours=6)


def test_ten_tenths_of_an_hour_are_an_hour_exactly() -> None:
    tenth = resources(seconds=360)
    assert action_cost(tenth, [1] * 25) == Cost(cpu_hours=2.5)
    assert str(action_cost(tenth, [1] * 25)) == "2.5 CPU-hours"


def test_no_groups_cost_nothing_whatever_a_job_costs() -> None:
    flat = resources(time_per_directory=False)
    assert not action_cost(flat, [])
    assert not action_cost(flat, [0])


def test_a_request_has_the_totals_of_its_group() -> None:
    each = Action(0, "a", "c", resources=resources(2, True, 60, True, threads=3))
    once = Action(1, "b", "c", resources=resources(4, False, 90, False, gpus=2))

    first, second = job_requests([Group(each, (5, 3, 9)), Group(once, (1, 2))])

    assert (first.processes, first.cpus, first.gpus, first.walltime_seconds) == (6, 18, 0, 180)
    assert first.cost == Cost(cpu_hours=6 * 3 * 180 / 3600)
    assert first.action is each
    assert (second.processes, second.cpus, second.gpus, second.walltime_seconds) == (4, 4, 8, 90)
    assert second.cost == Cost(gpu_hours=4 * 2 * 90 / 3600)
    assert (second.attempt, second.depends_on) == (1, ())
    assert job_requests([]) == ()
