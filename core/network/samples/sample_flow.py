"""A network with the rows of its sources: the known samples of every node.

This module has no side effects; the content of lists is given. When more becomes known, a new flow
is made with the extended domains of the flow before, so that a sample keeps its codes, its id and
its name. Samples are directories; there is no barrier: the graph grows by samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any, Protocol

from rowtui.core.base.lazy import NDArray, np
from rowtui.core.network.definition.spec import (
    JSON,
    NODE_KEY,
    Existing,
    Input,
    Link,
    Network,
    Node,
    SourceRows,
)
from rowtui.core.network.graph.edges import edges
from rowtui.core.network.samples.columns import Codes, Columns, Rows, columns, product
from rowtui.core.network.samples.combine import find_combination, join
from rowtui.core.network.samples.domain import Domain
from rowtui.core.network.samples.link import LinkStage, SubInput, SubOutput
from rowtui.core.network.samples.model import DimensionError
from rowtui.core.network.samples.names import GREATEST_INTEGER, LEAST_INTEGER, names_of, text_of
from rowtui.core.network.samples.node_run import InputGroup, InputStage, NodeRun
from rowtui.core.network.samples.output import UNKNOWN, Entries, NodeOutput
from rowtui.core.network.samples.shape import NetworkShape

ListKey = tuple[str, str, str]  # a source or node, its output, the dimension that the list becomes


class ListEntry(Protocol):
    """One entry of a list."""

    @property
    def value(self) -> JSON:
        """Return the entry's value of the new dimension."""

    @property
    def more(self) -> Mapping[str, JSON]:
        """Return further keys of the value file."""


# then by the directory that holds the list
Lists = Mapping[ListKey, Mapping[str, Sequence[ListEntry]]]


class Flow:
    """The known samples of a network.

    Sources have the numbers 0.., followed by nodes; sample r of a node is row r of its columns.
    Nodes that no sink needs are left out.
    """

    def __init__(
        self,
        network: Network,
        shape: NetworkShape,
        rows: Mapping[str, SourceRows],
        *,
        lists: Lists | None = None,
        before: Flow | None = None,
    ) -> None:
        """Build the flow. `before`: an earlier flow of the same network and rows, with less known.

        Raises: DimensionError naming the node whose samples cannot be matched.
        """
        self.network = network
        self.shape = shape
        self.lists: Lists = {key: dict(known) for key, known in (lists or {}).items()}
        self.domains: dict[str, Domain] = (
            dict(before.domains) if before is not None else _domains(network, rows)
        )
        self._learn({} if before is None else before.lists)
        names = [*shape.sources, *shape.order]
        self.numbers: Mapping[str, int] = {name: at for at, name in enumerate(names)}
        self.names = tuple(names)
        self.sources: dict[str, SourceTable] = {}
        self.runs: dict[str, NodeRun] = {}
        self._named: dict[str, list[str]] = {}
        for source in network.sources:
            known = None if before is None else before.sources[source.name]
            table = known or SourceTable(rows[source.name], self.domains)
            self.sources[source.name] = table.with_domains(self.domains)
        for name in shape.order:
            if name in shape.needed:
                node = network.node(name)
                assert node is not None
                if before is not None and self._is_as_before(node, before):
                    self.runs[name] = before.runs[name]
                    if name in before._named:
                        self._named[name] = before._named[name]
                    continue
                try:
                    self.runs[name] = self._run(node)
                except DimensionError as error:
                    error.message = f"node '{name}': {error.message}"
                    raise

    def columns(self, name: str) -> Columns:
        """Return the samples of a source or node. Raises: KeyError."""
        source = self.sources.get(name)
        return self.runs[name].columns if source is None else source.columns

    def directories(self, name: str) -> list[str]:
        """Return the directory of each sample of a source or node. Raises: KeyError."""
        if name not in self._named:
            self._named[name] = self._directories(name)
        return self._named[name]

    def values(self, name: str, row: int) -> dict[str, JSON]:
        """Return the dimensions of one sample, with their values."""
        table = self.columns(name)
        return {
            axis.name: axis.values[int(column[row])]
            for axis, column in zip(table.axes, table.codes, strict=True)
        }

    def value(self, home: str, row: int) -> dict[str, JSON]:
        """Return the content of the value file of a source's or node's own directory."""
        found: dict[str, JSON] = {NODE_KEY: home, **self.values(home, row)}
        source = self.sources.get(home)
        if source is not None:
            return {**found, **source.more(row)}
        node = self.network.node(home)
        assert node is not None
        return {**self._more_of_lists(node, row), **node.constants, **found}

    def is_made(self, home: str) -> bool:
        """Whether the network makes the directories of a source or node; else they exist before."""
        source = self.network.source(home)
        return source is None or not isinstance(source.data, Existing)

    @cached_property
    def homes(self) -> tuple[str, ...]:
        """Return the sources and nodes whose own directories some node works in."""
        return tuple(dict.fromkeys(self.shape.home(name) for name in self.runs))

    # Samples of a node

    def _is_as_before(self, node: Node, before: Flow) -> bool:
        """Whether no list affects a node's samples."""
        for it in node.inputs:
            for link in it.links:
                upstream = self.runs.get(link.source)
                if link.expand or (upstream and upstream is not before.runs[link.source]):
                    return False
        axes = before.runs[node.name].columns.axes
        return all(self.domains[axis.name] is axis for axis in axes)

    def _learn(self, before: Lists) -> None:
        """Extend the domains by every value of lists, before any samples are made.

        Lists in `before` that are the same objects are in the domains already.
        """
        for key, known in sorted(self.lists.items()):
            name, had = key[2], before.get(key, {})
            new = sorted(each for each in known if known[each] is not had.get(each))
            values = (_plain(it.value) for directory in new for it in known[directory])
            domain = self.domains.get(name, Domain(name, ()))
            self.domains[name] = domain.extended(values, text_of)

    def _run(self, node: Node) -> NodeRun:
        how = find_combination(node.combine)
        groups = [
            InputGroup(
                those[0].group,
                [
                    InputStage(it.name, [SubInput(self._link(node, it, link)) for link in it.links])
                    for it in those
                ],
                join,
            )
            for those in node.groups
        ]
        return NodeRun(self.numbers[node.name], node.name, groups, how)

    def _link(self, node: Node, it: Input, link: Link) -> LinkStage:
        table = self.columns(link.source)
        number = self.numbers[link.source]
        opens = self.runs[link.source].opens if link.source in self.runs else None
        if link.expand:
            cards, entries = self._entries(link, table)
            lists = {link.expand: entries}
            output = NodeOutput(
                table, number, name=link.output, cards=cards, lists=lists, opens=opens
            )
        else:
            output = NodeOutput(table, number, name=link.output, opens=opens)
        source: NodeOutput | SubOutput = output
        if link.select is not None:
            source = SubOutput(output, link.select.start, link.select.stop)
        try:
            return LinkStage(source, link.collapse, link.expand, target="")
        except DimensionError as error:
            error.message = f"input '{it.name}': {error.message}"
            raise

    def _entries(self, link: Link, table: Columns) -> tuple[Codes, Entries]:
        """Return the known lists of an output, with their values as codes of the domain."""
        known = self.lists.get((link.source, link.output, link.expand), {})
        domain = self.domains.setdefault(link.expand, Domain(link.expand, ()))
        cards = np.full(table.count, UNKNOWN, dtype=np.int32)
        found: list[Sequence[ListEntry]] = []
        if known:
            for row, directory in enumerate(self.directories(link.source)):
                entries = known.get(directory)
                if entries is not None:
                    cards[row] = len(entries)
                    found.append(entries)
        codes = np.fromiter(
            domain.codes(it.value for those in found for it in those),
            dtype=np.int32,
            count=sum(map(len, found)),
        )
        sizes = np.maximum(cards, 0).astype(np.int64)
        starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        return cards, Entries(domain, starts, codes)

    def _more_of_lists(self, node: Node, row: int) -> dict[str, JSON]:
        """Return the further keys of the entries that a sample was expanded from."""
        if not any(link.expand for link in node.links):
            return {}
        more: dict[str, JSON] = {}
        for found in edges(self.runs[node.name], np.array([row], dtype=np.int64)):
            link = found.link
            if not link.expanded or link.collapsed or found.places is None:
                continue
            source = self.names[found.owner]
            lists = self.lists.get((source, found.output.name, link.expanded), {})
            for place, upstream in zip(found.places.tolist(), found.rows.tolist(), strict=True):
                entries = lists.get(self.directories(source)[upstream], ())
                if place < len(entries):
                    more.update(entries[place].more)
        return more

    # Names of directories

    def _directories(self, name: str) -> list[str]:
        home = self.shape.home(name)
        table = self.columns(name)
        if home == name:
            source = self.sources.get(name)
            if source is not None and source.names:
                return [source.names[row] for row in source.rows.tolist()]
            return _names(home, table)
        node = self.network.node(name)
        assert node is not None
        (link,) = node.links  # a node with shared directories has the samples of its one input
        return self.directories(link.source)


class SourceTable:
    """The samples of a source, in the order of their codes.

    `rows[r]` is the place of sample r in the source's own order. Its `values[d]` become codes of
    the dimension's domain in the whole network.
    """

    def __init__(self, rows: SourceRows, domains: Mapping[str, Domain]) -> None:
        axes = [domains[name] for name in rows.dimensions]
        places = [
            np.fromiter(axis.codes(values), dtype=np.int32, count=len(values))
            for axis, values in zip(axes, rows.values, strict=True)
        ]
        if rows.codes is None:
            own = product([Domain("", values) for values in rows.values]).codes
        else:
            own = tuple(np.asarray(column, dtype=np.int32) for column in rows.codes)
        codes = [
            place if np.array_equal(column, np.arange(len(place))) else place[column]
            for place, column in zip(places, own, strict=True)
        ]
        self.columns, moved = columns(axes, codes, rows.count)
        self.rows: Rows = np.arange(rows.count, dtype=np.int64) if moved is None else moved
        self.names = rows.names
        self._more = rows.more
        missing = np.zeros(rows.count, dtype=bool)
        missing[list(rows.missing)] = True
        self._is_missing = missing[self.rows]
        self.missing: Rows = np.flatnonzero(self._is_missing)

    def with_domains(self, domains: Mapping[str, Domain]) -> SourceTable:
        """Return the same samples, with domains that have been extended since."""
        axes = tuple(domains[axis.name] for axis in self.columns.axes)
        if all(new is old for new, old in zip(axes, self.columns.axes, strict=True)):
            return self
        made = copy(self)
        had = self.columns
        made.columns = Columns(axes, had.codes, had.count)
        return made

    def are_missing(self, rows: Rows) -> NDArray[np.bool_]:
        """Return for each of these samples whether its data is known to be absent."""
        found: NDArray[np.bool_] = self._is_missing[rows]
        return found

    def more(self, row: int) -> Mapping[str, Any]:
        """Return further keys of the value file of a sample."""
        return self._more[int(self.rows[row])] if self._more else {}


def _domains(network: Network, rows: Mapping[str, SourceRows]) -> dict[str, Domain]:
    """Return the values of every dimension of a source, in the order of the sources."""
    found: dict[str, Domain] = {}
    for source in network.sources:
        its = rows[source.name]
        for name, values in zip(its.dimensions, its.values, strict=True):
            found[name] = found.get(name, Domain(name, ())).extended(values, text_of)
    return found


def _plain(value: JSON) -> JSON:
    """Return an integral float as an integer, so that the order of lists does not affect labels."""
    if isinstance(value, float) and value.is_integer():
        return int(value) if LEAST_INTEGER <= value <= GREATEST_INTEGER else value
    return value


def _names(home: str, table: Columns) -> list[str]:
    if not table.axes:
        return names_of(home, (), ())[: table.count]
    pairs = zip(table.axes, table.codes, strict=True)
    return names_of(home, table.names, [(axis.values, column) for axis, column in pairs])
