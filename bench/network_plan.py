"""Measure planning: `python -m bench.network_plan [--samples N] [--fastr PYTHON] [--save NAME]`.

Shapes of about a million samples: `collapse`, a thousand times a thousand, collapsed to a thousand
and those to one; `chain`, a quarter of them through four nodes; `lists`, a thousand lists of a
thousand entries that become samples; `join`, two tables of a million rows in one node, where their
values are the same. For each a process of its own makes the flow, the names of all directories, and
the job graph. Beside it Fastr makes the jobs of networks of the same shapes, of a size that it can
do, in its own environment, without executing any.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from math import isqrt
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from rowtui.core.network.definition.spec import (
    JSON,
    Input,
    Link,
    Network,
    Node,
    Source,
    SourceRows,
    Values,
)
from rowtui.core.network.graph.dynamic_graph import Growth
from rowtui.core.network.samples.sample_flow import Flow
from rowtui.core.network.samples.shape import shape

from bench.machine import load, machine
from bench.measure import told_by
from bench.measured import Measured, write
from bench.network import user

Json = dict[str, Any]

GOALS = (("flow", "plan without names: s", 1.0), ("named", "plan with names: s", 4.0))
FASTR_JOBS = 1000

_HEAD = [
    "User CPU of a process for each row, the least of three. Flow: all samples, in columns,",
    "from the rows of the sources (of `lists`, the second flow, in which lists are known). Names:",
    "the directories of all sources and nodes, in addition. Graph: jobs, and what each needs, in",
    "addition. Peak: of the process, with Python and numpy. Fastr: it makes its jobs of the same",
    "shape, in the same minute, executing none, its log switched off; CPU, too.",
    "",
    "| shape | samples of nodes | flow s | names s | both s | graph s | peak MB "
    "| Fastr's jobs | Fastr: ms per job | ours: us per job, all | times |",
    "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
]


class Case(NamedTuple):
    """A network, the rows of its sources, and a list for each directory of a node, if any."""

    network: Network
    rows: dict[str, SourceRows]
    entries: int = 0


class Entry(NamedTuple):
    """One entry of a list."""

    value: JSON
    more: Mapping[str, JSON] = MappingProxyType({})


def main(words: Sequence[str] | None = None) -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.network_plan", description=__doc__)
    parser.add_argument("--samples", type=int, default=1_000_000, help="about how many")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--fastr", metavar="PYTHON", help="one that has Fastr")
    parser.add_argument("--note", default="", help="a sentence about the circumstances, to be kept")
    parser.add_argument("--save", metavar="NAME", help="also write bench/results/NAME.md")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    if given.here:
        print(json.dumps(measure(given.shapes, given.samples)))
        return
    lines = [f"# {machine()}", "", *([given.note, ""] if given.note else []), *_HEAD]
    print("\n".join(lines))
    rows: list[Json] = []
    for name in given.shapes.split(","):
        rows.append(tell(name, given.samples))
        if given.fastr:
            try:
                rows[-1] |= fastr(given.fastr, name)
            except (OSError, SystemExit) as error:
                print(f"Fastr is not measured: {error}", file=sys.stderr)
        if given.json:
            write(given.json, [one for row in rows for one in measured(row, given.samples)])
        lines.append(line(rows[-1]))
        print(lines[-1], flush=True)
    lines += ["", *goals(rows), "", f"Load after: {load()}."]
    print("\n".join(lines[-len(GOALS) - 5 :]))
    if given.save:
        results = Path(__file__).parent / "results" / f"{given.save}.md"
        results.write_text("\n".join([*lines, ""]))


def measured(row: Json, samples: int) -> list[Measured]:
    """As all benches tell it: ours, and Fastr's, which makes fewer."""
    best = {f"{name} s": row[name] for name in ("flow", "named", "graph")}
    found = [Measured("plan", samples, best={**best, "peak MB": row["peak"]},
                      variant=row["shape"], runs=3)]  # fmt: skip
    if "jobs" in row:
        each = {"ms each": 1e3 * row["seconds"] / row["jobs"]}
        found.append(Measured("plan", row["jobs"], "fastr", each, variant=row["shape"]))
    return found


def tell(name: str, samples: int) -> Json:
    """What a process of its own tells: the least of three."""
    words = ["--here", "--shapes", name, "--samples", str(samples)]
    every = [told_by("bench.network_plan", words) for _ in range(3)]
    keys = ("flow", "names", "graph", "peak")
    best = {key: min(each[key] for each in every) for key in keys}
    return {
        **best,
        "shape": name,
        "count": every[0]["count"],
        "named": best["flow"] + best["names"],
    }


def line(row: Json) -> str:
    """A row of the table."""
    each = (row["named"] + row["graph"]) / row["count"] * 1e6
    cells = [row["shape"], f"{row['count']:,}"]
    cells += [f"{row[key]:.2f}" for key in ("flow", "names", "named", "graph")]
    cells.append(f"{row['peak']:.0f}")
    if "jobs" in row:
        theirs = row["seconds"] / row["jobs"] * 1e3
        cells += [f"{row['jobs']:,}", f"{theirs:.2f}", f"{each:.2f}", f"{theirs / each * 1e3:,.0f}"]
    else:
        cells += ["", "", f"{each:.2f}", ""]
    return f"| {' | '.join(cells)} |"


def goals(rows: Sequence[Json]) -> list[str]:
    """What was to be reached, and the worst that was."""
    lines = ["| goal | reach | worst | where | |", "|---|--:|--:|---|---|"]
    for key, said, reach in GOALS:
        worst = max(rows, key=lambda row: float(row[key]))
        missed = "**missed**" if worst[key] > reach else ""
        lines.append(f"| {said} | {reach:g} | {worst[key]:.2f} | {worst['shape']} | {missed} |")
    return lines


# -- one network, in this process ----------------------------------------------------------------


def measure(name: str, samples: int) -> Json:
    """Flow, names, graph; in seconds and MB."""
    case = SHAPES[name](samples)
    dimensions = {each: rows.dimensions for each, rows in case.rows.items()}
    form = shape(case.network, dimensions)
    before = None
    lists: dict[Any, Any] = {}
    if case.entries:
        before = Flow(case.network, form, case.rows)
        every = {
            directory: [Entry(at) for at in range(case.entries)]
            for directory in before.directories("make")
        }
        lists = {("make", "list.json", "entry"): every}
    began = user()
    flow = Flow(case.network, form, case.rows, lists=lists, before=before)
    planned = user()
    named = [len(flow.directories(each)) for each in (*flow.sources, *flow.runs)]
    with_names = user()
    growth = Growth(flow)
    ended = user()
    count = sum(run.columns.count for run in flow.runs.values())
    assert len(growth.graph) == count
    assert sum(named) >= count
    return {
        "count": count,
        "flow": planned - began,
        "names": with_names - planned,
        "graph": ended - with_names,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _source(name: str, dimensions: dict[str, int]) -> tuple[Source, SourceRows]:
    values = tuple(tuple(range(size)) for size in dimensions.values())
    data = Values({each: {"range": size} for each, size in dimensions.items()})
    return Source(name, data), SourceRows(name, tuple(dimensions), values)


def _node(name: str, *links: Link) -> Node:
    return Node(name, name, tuple(Input(link.source, (link,)) for link in links))


def collapse(samples: int) -> Case:
    """Two dimensions, one of them collapsed, then the other."""
    side = isqrt(samples)
    source, rows = _source("state", {"temperature": side, "replica": side})
    nodes = (
        _node("simulate", Link("state")),
        _node("average", Link("simulate", collapse=("replica",))),
        _node("fit", Link("average", collapse=("temperature",))),
    )
    return Case(Network("study", (source,), nodes), {"state": rows})


def chain(samples: int) -> Case:
    """Samples through four nodes."""
    source, rows = _source("state", {"sample": samples // 4})
    names = ("state", "one", "two", "three", "four")
    nodes = tuple(_node(name, Link(names[at])) for at, name in enumerate(names[1:]))
    return Case(Network("study", (source,), nodes), {"state": rows})


def lists(samples: int) -> Case:
    """Lists whose entries become samples, and one node that collects all."""
    side = isqrt(samples)
    source, rows = _source("state", {"sample": side})
    nodes = (
        _node("make", Link("state")),
        _node("each", Link("make", output="list.json", expand="entry")),
        _node("all", Link("each", collapse=("sample", "entry"))),
    )
    return Case(Network("study", (source,), nodes), {"state": rows}, entries=side)


def join(samples: int) -> Case:
    """Two tables of as many rows, in other orders, with the same values."""
    side = isqrt(samples)
    sources, rows = [], {}
    for seed, name in enumerate(("left", "right")):
        order = np.random.default_rng(seed).permutation(side * side).astype(np.int32)
        source, its = _source(name, {"a": side, "b": side})
        codes: Any = (order // np.int32(side), order % np.int32(side))
        rows[name] = SourceRows(name, its.dimensions, its.values, codes)
        sources.append(source)
    nodes = (_node("both", Link("left"), Link("right")),)
    return Case(Network("study", tuple(sources), nodes), rows)


SHAPES: dict[str, Callable[[int], Case]] = {
    "collapse": collapse,
    "chain": chain,
    "lists": lists,
    "join": join,
}


# -- Fastr, in its own process -------------------------------------------------------------------


def fastr(python: str, name: str) -> Json:
    """How many jobs Fastr made of the shape, and in how many seconds."""
    from tests.differential_network.partner import Fastr

    with Fastr(python) as partner:
        told = partner.plan({**_FASTR[name](), "time": True})
    if told["error"]:
        sys.exit(f"Fastr, {name}: {told['error']}")
    return {"jobs": told["count"], "seconds": told["seconds"]}


def _described(sources: dict[str, list[Any]], *nodes: tuple[str, int, list[Json]]) -> Json:
    made: Json = {name: {"kind": "SourceNode"} for name in sources}
    links = []
    for name, inputs, its in nodes:
        made[name] = {"kind": "Node", "tool": f"One{inputs}:1.0", "input_groups": {}}
        for at, link in enumerate(its):
            group = link.pop("group", "default")
            made[name]["input_groups"][f"in{at}"] = group
            output = "output" if link["src"] in sources else "result"
            source = f"{link['src']}/outputs/{output}"
            target = f"{name}/inputs/in{at}/0"
            links.append({"collapse": [], "expand": False, **link, "src": source, "dst": target})
    made["sink"] = {"kind": "SinkNode"}
    end = {"src": f"{nodes[-1][0]}/outputs/result", "dst": "sink/inputs/input/0"}
    links.append({"collapse": [], "expand": False, **end})
    return {"nodes": made, "links": links, "source_data": sources}


def _pairs(name: str, number: int, card: int = 1) -> list[Any]:
    values: Any = 1 if card == 1 else [*range(card)]
    return [[f"{name}{at}", values] for at in range(number)]


def _fastr_collapse() -> Json:
    side = isqrt(FASTR_JOBS)
    sources = {"A": _pairs("a", side), "B": _pairs("b", side)}
    crossed = [{"src": "A"}, {"src": "B", "group": "other"}]
    return _described(
        sources,
        ("p", 2, crossed),
        ("q", 1, [{"src": "p", "collapse": ["B"]}]),
        ("r", 1, [{"src": "q", "collapse": ["A"]}]),
    )


def _fastr_chain() -> Json:
    names = ("A", "p", "q", "r", "s")
    nodes = [(name, 1, [{"src": names[at]}]) for at, name in enumerate(names[1:])]
    return _described({"A": _pairs("a", FASTR_JOBS // 5)}, *nodes)


def _fastr_lists() -> Json:
    side = isqrt(FASTR_JOBS)
    return _described(
        {"A": _pairs("a", side, side)},
        ("p", 1, [{"src": "A", "expand": True}]),
        ("q", 1, [{"src": "p", "collapse": ["A", "A__output"]}]),
    )


def _fastr_join() -> Json:
    number = FASTR_JOBS // 4
    return _described(
        {"A": _pairs("a", number)},
        ("p", 1, [{"src": "A"}]),
        ("q", 1, [{"src": "A"}]),
        ("r", 2, [{"src": "p"}, {"src": "q"}]),
    )


_FASTR: dict[str, Callable[[], Json]] = {
    "collapse": _fastr_collapse,
    "chain": _fastr_chain,
    "lists": _fastr_lists,
    "join": _fastr_join,
}


if __name__ == "__main__":
    main()
