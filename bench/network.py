"""Measure the job graph: `python -m bench.network [--jobs 1000000] [--save NAME]`.

Three shapes of about a million jobs: `sweep`, a quarter of them as samples through a chain of four
nodes; `collapse`, a thousand times a thousand, collapsed to a thousand jobs that can do with nine
tenths, and those to one; `lists`, a thousand jobs that each make a list of a thousand while the
graph runs, and one that collects all. For each scheduling plug-in a process of its own builds the
graph, ranks it, and completes it: up to a thousand jobs are active, the next to go are the first
of the ready ones, and which of the active ones ends is drawn by lot.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
from collections.abc import Callable, Sequence
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
from rowtui.core.network.graph.job_graph import JobGraph
from rowtui.core.network.graph.job_model import JobBlock
from rowtui.core.network.graph.scheduling import NodeFacts, Orderable, find_plugin, ranks

from bench.machine import load, machine
from bench.measure import told_by
from bench.measured import Measured, write

Json = dict[str, Any]
Grow = Callable[[int], None]

PLUG_INS = ("sample", "sink", "source:+1", "source:-1", "critical-path", "row")
ACTIVE = 1000  # jobs with a scheduler at the same time
BATCH = 100  # jobs that go to a scheduler at once

GOALS = (("build", "building 1M jobs: s", 1.0), ("per_edge", "a completion: us per edge", 20.0))


def main(words: Sequence[str] | None = None) -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.network", description=__doc__)
    parser.add_argument("--jobs", type=int, default=1_000_000, help="about how many")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--plug-ins", default=",".join(PLUG_INS))
    parser.add_argument("--note", default="", help="a sentence about the circumstances, to be kept")
    parser.add_argument("--save", metavar="NAME", help="also write bench/results/NAME.md")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    if given.here:
        print(json.dumps(measure(given.shapes, given.plug_ins, given.jobs)))
        return
    lines = [f"# {machine()}", "", *([given.note, ""] if given.note else []), *_HEAD]
    print("\n".join(lines))
    rows: list[Json] = []
    for shape in given.shapes.split(","):
        for plug_in in given.plug_ins.split(","):
            rows.append(tell(shape, plug_in, given.jobs))
            lines.append(line(rows[-1]))
            print(lines[-1], flush=True)
            end = ["", *goals(rows), "", f"Load after: {load()}."]
            if given.save:  # after each: the rest takes minutes, and may be given up
                results = Path(__file__).parent / "results" / f"{given.save}.md"
                results.write_text("\n".join([*lines, *end, ""]))
            if given.json:
                write(given.json, [measured(row, given.jobs) for row in rows])
    print("\n".join(end))


def measured(row: Json, jobs: int) -> Measured:
    """As all benches tell it."""
    best = {"us": row["per_edge"], "us each": row["per_job"], "build s": row["build"]}
    best |= {"ranks s": row["ranks"], "taken MB": row["mb"]}
    if row["together"]:
        best["together us"] = row["together"]
    return Measured("completion", jobs, best=best, variant=f"{row['shape']}, {row['plug_in']}")


_HEAD = [
    "User CPU of a process for each row. Build: all blocks, in columns, with what is ready at",
    "once; of `lists`, the thousand that make them. Ranks: the plug-in and `set_priorities`, each",
    "time the graph has doubled. A completion: `ready`, `activate` and `complete`, one job at a",
    "time, with what became ready put in its place; of `lists` also each extension by a thousand",
    "jobs and as many dependencies of the collector. Together: the same graph, 1,000 completions",
    "at a time. Memory: what the graph took, ranked, before the first completion (of `lists`: at",
    "the end).",
    "",
    "| shape | plug-in | jobs | dependencies | build s | ranks s | us per completion | us per edge "
    "| together: us per edge | MB |",
    "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|",
]


def tell(shape: str, plug_in: str, jobs: int) -> Json:
    """What a process of its own tells."""
    words = ["--here", "--shapes", shape, "--plug-ins", plug_in, "--jobs", str(jobs)]
    return {"shape": shape, "plug_in": plug_in, **told_by("bench.network", words)}


def line(row: Json) -> str:
    """A row of the table."""
    cells = [row["shape"], row["plug_in"], f"{row['jobs']:,}", f"{row['edges']:,}"]
    cells += [f"{row['build']:.2f}", f"{row['ranks']:.2f}", f"{row['per_job']:.1f}"]
    cells += [
        f"{row['per_edge']:.1f}",
        f"{row['together']:.1f}" if row["together"] else "",
        f"{row['mb']:.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def goals(rows: Sequence[Json]) -> list[str]:
    """What was to be reached, and the worst that was."""
    lines = ["| goal | reach | worst | where | |", "|---|--:|--:|---|---|"]
    for key, said, reach in GOALS:
        worst = max(rows, key=lambda row: float(row[key]))
        where = f"{worst['shape']}, {worst['plug_in']}"
        missed = "**missed**" if worst[key] > reach else ""
        lines.append(f"| {said} | {reach:g} | {worst[key]:.2f} | {where} | {missed} |")
    return lines


# -- one graph, in this process ------------------------------------------------------------------


def measure(shape: str, plug_in: str, jobs: int) -> Json:
    """Build, rank and complete; figures in seconds and microseconds."""
    before = memory()
    began = user()
    graph, grow = SHAPES[shape](jobs)
    built = user()
    rank(graph, plug_in)
    ranked = user()
    taken = memory() - before
    ranking = complete_by_lot(graph, grow, plug_in)
    ended = user()
    if grow is not None:
        taken = memory() - before
    count, edges = len(graph), len(graph.edges().needs)
    assert graph.is_over
    del graph
    together = 0.0
    if plug_in == PLUG_INS[0]:  # the same for all, but for the time of a measurement
        again, grow = SHAPES[shape](jobs)
        rank(again, plug_in)
        start = user()
        complete_together(again, grow)
        together = user() - start
        assert again.is_over
    spent = ended - ranked - ranking
    return {
        "jobs": count,
        "edges": edges,
        "build": built - began,
        "ranks": ranked - built + ranking,
        "per_job": spent / count * 1e6,
        "per_edge": spent / edges * 1e6,
        "together": together / edges * 1e6,
        "mb": taken,
    }


def user() -> float:
    """User CPU seconds of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def memory() -> float:
    """MB of this process now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def rank(graph: JobGraph, plug_in: str) -> None:
    """As a run does: the plug-in looks at all jobs, and the graph keeps what it says."""
    node = graph.nodes()
    count = len(node)
    facts = tuple(
        NodeFacts(f"n{number}", number + 1, {"end": 4 - number}, 60.0 * (number + 1), number)
        for number in range(4)
    )
    # Samples come in each node from the first to the last.
    sample = np.zeros(count, np.int32)
    for number in range(4):
        mine = np.flatnonzero(node == number)
        sample[mine] = np.arange(len(mine))
    seconds = np.random.default_rng(1).uniform(1, 100, count)
    jobs = Orderable(facts, node, sample, graph.edges(), seconds)
    graph.set_priorities(ranks(find_plugin(plug_in), jobs))


def complete_by_lot(graph: JobGraph, grow: Grow | None, plug_in: str) -> float:
    """Complete everything, one job at a time; gives the seconds of ranking on the way."""
    lot = random.Random(1)
    active: list[int] = []
    ranked, ranking = len(graph), 0.0
    while True:
        if len(active) <= ACTIVE - BATCH:
            active += graph.activate(graph.ready(BATCH))
        if not active:
            return ranking
        place = int(lot.random() * len(active))
        job, active[place] = active[place], active[-1]
        active.pop()
        if grow is not None:
            grow(job)
        graph.complete(job)
        if len(graph) > 2 * ranked:
            start = user()
            rank(graph, plug_in)
            ranked, ranking = len(graph), ranking + user() - start


def complete_together(graph: JobGraph, grow: Grow | None) -> None:
    """Complete everything, a thousand at a time."""
    while batch := graph.activate(graph.ready(ACTIVE)):
        if grow is not None:
            for job in batch:
                grow(job)
        graph.complete(batch)


def sweep(jobs: int) -> tuple[JobGraph, None]:
    """Samples through a chain of four nodes."""
    graph, width = JobGraph(), max(1, jobs // 4)
    each = np.arange(width + 1, dtype=np.int32)
    first = graph.extend(JobBlock(0, width)).jobs[0].start
    for node in range(1, 4):
        first = graph.extend(JobBlock(node, width, each, each[:-1] + first)).jobs[0].start
    return graph, None


def collapse(jobs: int) -> tuple[JobGraph, None]:
    """Two dimensions, one of them collapsed, then the other."""
    graph, side = JobGraph(), isqrt(jobs)
    rows = np.arange(side, dtype=np.int32)
    starts = np.arange(side + 1, dtype=np.int32)
    least = np.full(side, side * 9 // 10)
    members = np.arange(side * side, dtype=np.int32)
    graph.extend(
        JobBlock(0, side * side),
        JobBlock(1, side, starts * side, members, np.repeat(rows, side), rows, least),
        JobBlock(2, 1, [0, side], rows + side * side),
    )
    return graph, None


def lists(jobs: int) -> tuple[JobGraph, Grow]:
    """Jobs that make lists, whose entries become jobs; one job collects them."""
    graph, side = JobGraph(), isqrt(jobs)
    starts, zeros = np.arange(side + 1, dtype=np.int32), np.zeros(side, np.int32)
    makers = np.arange(side, dtype=np.int32)
    graph.extend(
        JobBlock(0, side), JobBlock(2, 1, [0, side], makers, slot_jobs=[0], slot_least=[side])
    )
    collector = side

    def grow(job: int) -> None:
        if job < side:
            made = graph.extend(JobBlock(1, side, starts, zeros + job)).jobs[0]
            graph.add_dependencies(collector, made, [0] * side)

    return graph, grow


SHAPES: dict[str, Callable[[int], tuple[JobGraph, Grow | None]]] = {
    "sweep": sweep,
    "collapse": collapse,
    "lists": lists,
}


if __name__ == "__main__":
    main()
