"""A small second flow of samples, of dicts and loops, to hold the real one against.

A world is made of a program: plain numbers that say which sources there are, and what each node
takes from whom. It is built twice at once: of the real stages, and of dicts. `hidden`: lists of
some jobs are not known yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from hypothesis import strategies as st
from rowtui.core.network.samples.columns import columns
from rowtui.core.network.samples.combine import Combination, cross, join
from rowtui.core.network.samples.domain import Domain
from rowtui.core.network.samples.link import LinkStage, SubInput, SubOutput
from rowtui.core.network.samples.node_run import InputGroup, InputStage, NodeRun
from rowtui.core.network.samples.output import UNKNOWN, Entries, NodeOutput

from tests.core.network.sample_view import Held, Sample, held

Key = tuple[Any, ...]
Jobs = frozenset[tuple[int, Key]]

SIZES = {"A": 1, "B": 2, "C": 3}
FOLDS = (30, 10, 20)  # what lists become in the dimension "m"; in "k" it is their positions
SELECTIONS = (None, (1, None), (0, 2), (-1, None))


class Naive(NamedTuple):
    """One sample: its values (of a node: by input), and the jobs that it comes from."""

    data: Any
    jobs: Jobs


@dataclass
class NaiveTable:
    """Samples by their values. `orders`: the values of each dimension, in order."""

    names: tuple[str, ...]
    orders: tuple[tuple[Any, ...], ...]
    rows: dict[Key, Naive]

    def sorted(self) -> list[Key]:
        return sorted(self.rows, key=self.index)

    def index(self, key: Key) -> tuple[int, ...]:
        return tuple(order.index(value) for order, value in zip(self.orders, key, strict=True))


class LinkPlan(NamedTuple):
    """What one input takes. All are numbers that are taken modulo what there is."""

    upstream: int
    collapse: int
    expand: int
    select: int


class NodePlan(NamedTuple):
    inputs: tuple[LinkPlan, ...]
    crossed: bool


class SourcePlan(NamedTuple):
    names: tuple[str, ...]
    rows: int  # which of the combinations there are, as bits
    turn: int  # in which order this source knows its values


class Program(NamedTuple):
    sources: tuple[SourcePlan, ...]
    nodes: tuple[NodePlan, ...]


links = st.builds(
    LinkPlan, st.integers(0, 5), st.integers(0, 31), st.integers(0, 4), st.integers(0, 6)
)
programs = st.builds(
    Program,
    st.lists(
        st.builds(
            SourcePlan,
            st.lists(st.sampled_from("ABC"), min_size=1, max_size=2, unique=True).map(tuple),
            st.integers(0, 511) | st.just(511),
            st.integers(0, 2),
        ),
        min_size=1,
        max_size=3,
    ).map(tuple),
    st.lists(
        st.builds(NodePlan, st.lists(links, min_size=1, max_size=3).map(tuple), st.booleans()),
        min_size=1,
        max_size=4,
    ).map(tuple),
)


@dataclass
class Place:
    """A source or node: its output, its samples, and the node that made them."""

    output: NodeOutput
    table: NaiveTable
    lists: dict[Key, list[str] | None]
    run: NodeRun | None = None
    unused: list[list[set[Key]]] = field(default_factory=list)


class World:
    """Everything that a program makes."""

    def __init__(self, program: Program, *, hidden: bool) -> None:
        self.hidden = hidden
        self.places: list[Place] = []
        for source in program.sources:
            self._source(source)
        for node in program.nodes:
            self._node(node)

    @property
    def nodes(self) -> list[tuple[NodeRun, NaiveTable]]:
        return [(it.run, it.table) for it in self.places if it.run is not None]

    # Sources and outputs

    def _source(self, plan: SourcePlan) -> None:
        orders = []
        for name in plan.names:
            values = [f"{name}{at}" for at in range(SIZES[name])]
            turn = plan.turn % len(values)
            orders.append((*values[turn:], *values[:turn]))
        every: list[Key] = [()]
        for order in orders:
            every = [(*key, value) for key in every for value in order]
        keys = [key for at, key in enumerate(every) if plan.rows >> at & 1]
        table = NaiveTable(plan.names, tuple(orders), {key: Naive((), frozenset()) for key in keys})
        codes = [[table.index(key)[at] for key in keys] for at in range(len(orders))]
        axes = [Domain(name, order) for name, order in zip(plan.names, orders, strict=True)]
        made, _ = columns(axes, codes, len(keys))
        self._place(Held(made, len(self.places)), table, None)

    def _place(self, output: Held, table: NaiveTable, run: NodeRun | None) -> None:
        """Give each sample a list, and say so to the real output."""
        number = len(self.places)
        lists: dict[Key, list[str] | None] = {}
        cards = np.zeros(output.columns.count, dtype=np.int32)
        codes: list[int] = []
        for row, key in enumerate(table.sorted()):
            luck = crc32(repr((number, key)).encode())
            values = [f"{number}{key}{at}" for at in range(luck % 4)]
            unknown = self.hidden and luck // 4 % 3 == 0
            lists[key] = None if unknown else values
            cards[row] = UNKNOWN if unknown else len(values)
            codes += [] if unknown else [FOLDS.index(value) for value in folds(luck, len(values))]
            if not unknown:
                index = output.columns.index(row)
                jobs = frozenset({(number, row)})
                output[index] = Sample(index, output.columns.id(row), tuple(values), jobs)
        starts = np.concatenate(([0], np.cumsum(np.maximum(cards, 0)))).astype(np.int64)
        entries = Entries(Domain("m", FOLDS), starts, np.array(codes, dtype=np.int32))
        output.cards = cards
        output.lists = {"m": entries}
        self.places.append(Place(output, table, lists, run))

    # Nodes

    def _node(self, plan: NodePlan) -> None:
        number = len(self.places)
        parts = [self._link(link) for link in plan.inputs]
        while sum(len(table.names) for _, table, _ in parts) > 5:
            parts.pop()
        if not parts:
            return
        names = [name for _, table, _ in parts for name in table.names]
        how: Combination = cross if plan.crossed and len(set(names)) == len(names) else join
        inputs = [InputStage(str(at), [SubInput(link)]) for at, (link, _, _) in enumerate(parts)]
        groups = [InputGroup(str(at), [part]) for at, part in enumerate(inputs)]
        if plan.crossed:
            run = NodeRun(number, str(number), groups, how)
        else:
            run = NodeRun(number, str(number), [InputGroup("", inputs, join)], join)
        table = joined([table for _, table, _ in parts])
        self._place(held(run.output()), table, run)

    def _link(self, plan: LinkPlan) -> tuple[LinkStage, NaiveTable, Place]:
        place = self.places[plan.upstream % len(self.places)]
        names = place.table.names
        collapse = [name for at, name in enumerate(names) if plan.collapse >> at & 1]
        expand = {1: "k", 2: "m"}.get(plan.expand, "")
        expand = "" if expand in names else expand
        selection = SELECTIONS[plan.select % len(SELECTIONS)] if plan.select < 4 else None
        source: NodeOutput | SubOutput = place.output
        if selection is not None:
            source = SubOutput(place.output, *selection)
        link = LinkStage(source, collapse, expand, target="")
        return link, self._linked(place, collapse, expand, selection), place

    def _linked(
        self, place: Place, collapse: Sequence[str], expand: str, selection: Any
    ) -> NaiveTable:
        number = self.places.index(place)
        table = place.table
        flat: list[tuple[Key, tuple[str, ...], Jobs]] = []
        longest = 0
        for key in table.sorted():
            values = place.lists[key]
            jobs = frozenset({(number, key)})
            luck = crc32(repr((number, key)).encode())
            if not expand:
                chosen = (values or [])[slice(*selection)] if selection else values or []
                flat.append((key, tuple(chosen), jobs))
            elif values is not None:
                # An entry keeps the place that it has in its list, whatever else is selected.
                places = range(len(values)) if expand == "k" else folds(luck, len(values))
                pairs = list(zip(places, values, strict=True))
                longest = max(longest, len(pairs))
                pairs = pairs[slice(*selection)] if selection else pairs
                flat += [((*key, fold), (value,), jobs) for fold, value in pairs]
        names, orders = table.names, table.orders
        if expand:
            names = (*names, expand)
            orders = (*orders, tuple(range(longest)) if expand == "k" else FOLDS)
        kept = [at for at, name in enumerate(names) if name not in collapse]
        whole = NaiveTable(names, orders, {})
        rows: dict[Key, Naive] = {}
        for key, data, jobs in sorted(flat, key=lambda it: whole.index(it[0])):
            short = tuple(key[at] for at in kept)
            before = rows.get(short, Naive((), frozenset()))
            rows[short] = Naive(before.data + data, before.jobs | jobs)
        return NaiveTable(tuple(names[at] for at in kept), tuple(orders[at] for at in kept), rows)


def folds(luck: int, number: int) -> list[int]:
    """Which folds a list has, in its own order."""
    turn = luck // 16 % 3
    return [*FOLDS[turn:], *FOLDS[:turn]][:number]


def joined(tables: Sequence[NaiveTable]) -> NaiveTable:
    """Every combination of samples that agree wherever they have the same dimension."""
    names: list[str] = []
    orders: list[tuple[Any, ...]] = []
    rows: list[tuple[dict[str, Any], dict[str, Any], Jobs]] = [({}, {}, frozenset())]
    for at, table in enumerate(tables):
        for name, order in zip(table.names, table.orders, strict=True):
            if name not in names:
                names.append(name)
                orders.append(order)
        rows = [
            (had | values, data | {str(at): sample.data}, jobs | sample.jobs)
            for had, data, jobs in rows
            for key, sample in table.rows.items()
            for values in [dict(zip(table.names, key, strict=True))]
            if all(had.get(name, value) == value for name, value in values.items())
        ]
    return NaiveTable(
        tuple(names),
        tuple(orders),
        {tuple(had[name] for name in names): Naive(data, jobs) for had, data, jobs in rows},
    )
