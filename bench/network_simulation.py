"""Measure simulated networks: `python -m bench.network_simulation [--jobs N,N] [--save NAME]`.

Four cases: `collapse`, jobs of 50 to 150 s by lot, of which each ten are averaged, and all of them
fitted; `cloud`, the same with as many machines as wanted; `chain`, samples through ten nodes which
all need something else, on machines of three kinds; `failing`, the first with a fifth of all
attempts lost. Each is ranked, simulated and drawn in a process of its own, by two plug-ins.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rowtui.core.network.graph.job_model import DependencyColumns
from rowtui.core.network.graph.scheduling import (
    NodeFacts,
    Orderable,
    find_plugin,
    ranks,
    remaining_seconds,
)
from rowtui.core.network.simulation.gantt import gantt
from rowtui.core.network.simulation.simulate import (
    SimulatedMachines,
    SimulatedNeeds,
    SimulatedWork,
    simulate,
)

from bench.__main__ import machine
from bench.machine import load
from bench.measure import told_by
from bench.network import memory, user

Json = dict[str, Any]

PLUG_INS = ("sample", "critical-path")
GOAL = 60.0  # seconds, for a million jobs: "tens of seconds at most"

_HEAD = [
    "User CPU of a process for each row. Least: the longest way through the graph, or the work",
    "divided by all cores. Chart: 20 rows of 100 cells. Memory: what all of it took.",
    "",
    "| case | plug-in | jobs | dependencies | ranks s | simulation s | us per job | chart s | MB "
    "| machines | all done h | least h | used |",
    "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
]


class Case(NamedTuple):
    """What is simulated, on what."""

    work: SimulatedWork
    machines: Sequence[SimulatedMachines]


def collapse(jobs: int, failures: float = 0.0) -> Case:
    """Many, a tenth as many, and one."""
    first = jobs * 10 // 11
    second = -(-first // 10)
    total = first + second + 1
    every = np.arange(first)
    needs = np.concatenate([every, first + np.arange(second)])
    users = np.concatenate([first + every // 10, np.full(second, total - 1)])
    node = np.repeat(np.arange(3, dtype=np.int32), (first, second, 1))
    seconds = np.where(node == 0, np.random.default_rng(1).uniform(50, 150, total), 30.0)
    kinds = (
        SimulatedNeeds("simulate", 4, 8_000),
        SimulatedNeeds("average", 1, 2_000),
        SimulatedNeeds("fit", 16, 30_000),
    )
    work = SimulatedWork(kinds, node, DependencyColumns(needs, users), seconds, failures=failures)
    return Case(work, [SimulatedMachines("node", 64, 256_000, number=max(1, jobs // 5_000))])


def cloud(jobs: int) -> Case:
    """As many machines as wanted, which boot."""
    machines = [
        SimulatedMachines("vm", 16, 64_000, price_per_hour=0.8, number=None, boot_seconds=60)
    ]
    return Case(collapse(jobs).work, machines)


def failing(jobs: int) -> Case:
    """A fifth of all attempts is lost."""
    return collapse(jobs, failures=0.2)


def chain(jobs: int) -> Case:
    """Samples through ten nodes of ten kinds, on three kinds of machines."""
    samples = max(1, jobs // 10)
    total = samples * 10
    node = np.repeat(np.arange(10, dtype=np.int32), samples)
    later = np.arange(samples, total)
    kinds = tuple(
        SimulatedNeeds(f"n{at}", 1 + at % 4, 1_000 * (at + 1), int(at == 9), 20.0 + 10 * at)
        for at in range(10)
    )
    work = SimulatedWork(kinds, node, DependencyColumns(later - samples, later))
    number = max(1, jobs // 30_000)
    machines = [
        SimulatedMachines("small", 16, 32_000, number=number * 2),
        SimulatedMachines("large", 64, 256_000, number=number),
        SimulatedMachines("gpu", 32, 128_000, 4, number=number),
    ]
    return Case(work, machines)


CASES: dict[str, Callable[[int], Case]] = {
    "collapse": collapse,
    "cloud": cloud,
    "chain": chain,
    "failing": failing,
}


def main(words: Sequence[str] | None = None) -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.network_simulation", description=__doc__)
    parser.add_argument("--jobs", default="20000,100000,1000000", help="about how many")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--plug-ins", default=",".join(PLUG_INS))
    parser.add_argument("--note", default="", help="a sentence about the circumstances, to be kept")
    parser.add_argument("--save", metavar="NAME", help="also write bench/results/NAME.md")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    if given.here:
        print(json.dumps(measure(given.cases, given.plug_ins, int(given.jobs))))
        return
    lines = [f"# {machine()}", "", *([given.note, ""] if given.note else []), *_HEAD]
    print("\n".join(lines))
    longest = 0.0
    for jobs in given.jobs.split(","):
        for case in given.cases.split(","):
            for plug_in in given.plug_ins.split(","):
                row = tell(case, plug_in, jobs)
                longest = max(longest, row["simulation"])
                lines.append(line(row))
                print(lines[-1], flush=True)
    missed = "" if longest <= GOAL else " **missed**"
    lines += ["", f"Longest simulation: {longest:.1f} s of at most {GOAL:g} s.{missed}"]
    lines += ["", f"Load after: {load()}.", ""]
    print("\n".join(lines[-4:]))
    if given.save:
        results = Path(__file__).parent / "results" / f"{given.save}.md"
        results.write_text("\n".join(lines))


def tell(case: str, plug_in: str, jobs: str) -> Json:
    """What a process of its own tells."""
    words = ["--here", "--cases", case, "--plug-ins", plug_in, "--jobs", jobs]
    return {"case": case, "plug_in": plug_in, **told_by("bench.network_simulation", words)}


def line(row: Json) -> str:
    """A row of the table."""
    cells = [row["case"], row["plug_in"], f"{row['jobs']:,}", f"{row['edges']:,}"]
    cells += [f"{row['ranks']:.2f}", f"{row['simulation']:.2f}", f"{row['per_job']:.1f}"]
    cells += [f"{row['chart']:.2f}", f"{row['mb']:.0f}", f"{row['machines']:,}"]
    cells += [f"{row['makespan'] / 3600:.2f}", f"{row['least'] / 3600:.2f}"]
    cells.append(f"{100 * row['used']:.0f} %")
    return f"| {' | '.join(cells)} |"


def measure(name: str, plug_in: str, jobs: int) -> Json:
    """One case in this process; times in seconds."""
    before = memory()
    case = CASES[name](jobs)
    work = case.work
    began = user()
    order = ranks(find_plugin(plug_in), orderable(work))
    ranked = user()
    run = simulate(work, case.machines, order)
    ended = user()
    gantt(work, case.machines, run, width=100)
    drawn = user()
    if run.ended != run.jobs:
        sys.exit(f"{name}: only {run.ended:,} of {run.jobs:,} jobs ended")
    seconds = work.each_seconds() * work.attempts()
    cores = sum(it.cpus * (it.number or len(work.node)) for it in case.machines)
    cpus = work.of_nodes([it.cpus for it in work.nodes])
    path = float(remaining_seconds(work.edges, seconds).max())
    return {
        "jobs": run.jobs,
        "edges": len(work.edges.needs),
        "ranks": ranked - began,
        "simulation": ended - ranked,
        "per_job": 1e6 * (ended - ranked) / run.jobs,
        "chart": drawn - ended,
        "mb": memory() - before,
        "machines": len(run.opened),
        "makespan": run.makespan,
        "least": max(path, float((cpus * seconds).sum()) / cores),
        "used": run.utilisation,
    }


def orderable(work: SimulatedWork) -> Orderable:
    """Jobs as plug-ins see them: each is its own sample among those of its node."""
    nodes = tuple(
        NodeFacts(it.name, at + 1, {}, it.seconds, at) for at, it in enumerate(work.nodes)
    )
    starts = np.searchsorted(work.node, work.node)
    return Orderable(nodes, work.node, np.arange(len(work.node)) - starts, work.edges, work.seconds)


if __name__ == "__main__":
    main()
