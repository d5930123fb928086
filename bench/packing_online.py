"""The online engine, fed with a stream of jobs that come, run and end; policies, simulated."""

from __future__ import annotations

import resource
from heapq import heappop, heappush
from typing import Any

from rowtui.core.packing.model import ResourceAmounts
from rowtui.core.packing.online.engine import Online
from rowtui.core.packing.online.model import (
    Allocate,
    Event,
    InstanceReady,
    JobEnds,
    JobsArrive,
    Order,
    Policy,
    ReleaseInstance,
    Start,
)
from rowtui.core.packing.seed import SeedJob

from bench.packing_cases import GB, Stream, cloud, problem, requests, run_times, stream
from bench.packing_yardstick import assignment_bound
from tests.core.packing.arriving_jobs import Arrival, simulate, usual_policies

Json = dict[str, Any]
Step = tuple[float, Event]


def user_seconds() -> float:
    """CPU time of this process so far, without what the system does for it."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def online(asked: Json) -> Json:
    """Microseconds for an event, once as many jobs run as are asked for; instances boot at once.

    What happens is found out in a first turn, in which every action is checked, and then told to
    another engine.
    """
    jobs = stream(asked["distribution"], asked["running"], asked["jobs"])
    steps, filled, wrong, most = _play(jobs, asked["jobs"] // 2)
    engine = Online(cloud())
    for at, event in steps[:filled]:
        engine.step(at, event)
    began = user_seconds()
    for at, event in steps[filled:]:
        engine.step(at, event)
    user = user_seconds() - began
    arrived = asked["jobs"] - asked["jobs"] // 2
    return {
        "user": user,
        "events": len(steps) - filled,
        "microseconds": 1e6 * user / (len(steps) - filled),
        "for_a_job": 1e6 * user / arrived,
        "instances": sum(isinstance(event, InstanceReady) for _, event in steps),
        "most_running": most,
        "wrong": wrong[:3],
    }


def _play(jobs: Stream, first: int) -> tuple[list[Step], int, list[str], int]:
    """All events, how many until so many jobs have come, what is wrong, how many jobs ran at most.

    A job ends when it has run for its time; whatever an instance holds must have room there.
    """
    kinds = {kind.name: kind.amounts for kind in cloud()}
    sizes = set(kinds.values())
    engine = Online(cloud())
    steps: list[Step] = []
    wrong: list[str] = []
    ends: list[tuple[float, int]] = []
    room: dict[int, ResourceAmounts] = {}
    home: dict[int, int] = {}
    most = filled = 0

    def tell(at: float, event: Event) -> None:
        steps.append((at, event))
        for action in engine.step(at, event):
            if isinstance(action, Allocate):
                room[action.instance] = kinds[action.node_type]
                tell(at, InstanceReady(action.instance))
            elif isinstance(action, Start):
                number = int(action.job)
                job = jobs.arrivals[number]
                home[number] = action.instance
                amounts = jobs.demands[job.demand].amounts
                if not amounts.fits(room[action.instance]):
                    wrong.append(f"job {number} is too much for instance {action.instance}")
                room[action.instance] = room[action.instance].plus(amounts, -1)
                heappush(ends, (at + job.seconds, number))
            elif isinstance(action, ReleaseInstance):
                if room.pop(action.instance) not in sizes:
                    wrong.append(f"instance {action.instance} is released and not empty")
            else:
                wrong.append(str(action))

    def end_until(now: float) -> None:
        while ends and ends[0][0] <= now:
            at, number = heappop(ends)
            instance = home.pop(number)
            amounts = jobs.demands[jobs.arrivals[number].demand].amounts
            room[instance] = room[instance].plus(amounts)
            tell(at, JobEnds(str(number)))

    for number, job in enumerate(jobs.arrivals):
        if number == first:
            filled = len(steps)
        end_until(job.at)
        tell(job.at, JobsArrive((SeedJob(str(number), jobs.demands[job.demand].amounts),)))
        most = max(most, len(home))
    if len(ends) != len(home):
        wrong.append("some jobs never started")
    return steps, filled, wrong, most


def simulated(asked: Json) -> Json:
    """What policies cost that know no run times: all jobs come at once, instances boot at once."""
    number, distribution = asked["size"], asked["distribution"]
    columns = (column.tolist() for column in requests(distribution, number))
    jobs = [
        Arrival(0.0, ResourceAmounts(cpus, gb * GB, gpus), seconds)
        for cpus, gb, gpus, seconds in zip(*columns, run_times(number).tolist(), strict=True)
    ]
    policies = usual_policies(cloud(), asked["pilots"])
    few = asked["pilots"]
    policies[f"{few:,} pilots, first come"] = Policy(order=Order.ARRIVAL, most_instances=few)
    told: Json = {"policies": {}, "wrong": []}
    for name, policy in policies.items():
        began = user_seconds()
        result = simulate(cloud(), jobs, policy)
        told["policies"][name] = {
            "user": user_seconds() - began,
            "cost": result.cost,
            "makespan": result.makespan,
            "instances": result.instances,
            "peak": result.peak,
        }
        if result.ended != number:
            told["wrong"].append(f"{name}: {number - result.ended} jobs did not end")
    told["bound"] = assignment_bound(problem(distribution, number, timed=True)) or 0.0
    return told
