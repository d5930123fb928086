"""The dimensions of every node's samples, and the source or node whose directories they use.

Takes a network and the dimensions of its sources; gives a `NetworkShape` without reading values, or
all mismatches with the dimensions of both sides. Errors that depend on values (sizes of a `zip`,
expanded lists) are found later. Samples match by name, never by position or size, and all errors of
shape are found at planning time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from rowtui.core.base.errors import Problem
from rowtui.core.base.text import visible
from rowtui.core.network.definition.load_tables import NetworkError, dimension_fault, listed
from rowtui.core.network.definition.spec import (
    Existing,
    FileSource,
    Input,
    Link,
    Network,
    NetworkPosition,
    Node,
    Source,
    Values,
)
from rowtui.core.network.definition.structure import (
    check_structure,
    needed_by_sinks,
    order_of,
    problem_at,
)
from rowtui.core.network.samples.names import case_collisions
from rowtui.core.workflow.toml_file import did_you_mean

Dimensions = tuple[str, ...]

COMBINATIONS = ("join", "cross", "zip")  # the built-in ones; any other word is a plug-in


@dataclass(frozen=True, slots=True)
class NodeShape:
    """One node: its `dimensions` in order, those of each input after its links, and its `home`.

    `home` is the source or node that owns the directories: `name` itself, or another one if they
    are shared.
    """

    name: str
    dimensions: Dimensions
    inputs: Mapping[str, Dimensions]
    home: str


@dataclass(frozen=True, slots=True)
class NetworkShape:
    """The shape of a whole network. `order`: the nodes, each after the nodes that it needs.

    `needed`: the sources and nodes that some sink needs; all of them in a network without sinks.
    """

    sources: Mapping[str, Dimensions]
    nodes: Mapping[str, NodeShape]
    order: tuple[str, ...]
    needed: frozenset[str]

    def dimensions(self, name: str) -> Dimensions:
        """Return the dimensions of a source or a node. Raises: KeyError."""
        node = self.nodes.get(name)
        return self.sources[name] if node is None else node.dimensions

    def home(self, name: str) -> str:
        """Return the source or node whose directories a source or a node uses. Raises: KeyError."""
        if name in self.sources:
            return name
        return self.nodes[name].home


def shape(
    network: Network,
    source_dimensions: Mapping[str, Dimensions],
    file: str = "network.toml",
) -> NetworkShape:
    """Return the shape of a network with these source dimensions; `file` is shown in problems.

    Raises: NetworkError with all mismatches; KeyError for a source without entry.
    """
    sources = {source.name: tuple(source_dimensions[source.name]) for source in network.sources}
    found = infer(network, sources, file)
    problems = [*check_structure(network, file), *found.problems]
    if any(problem.severity == "error" for problem in problems):
        raise NetworkError(tuple(sorted(problems, key=lambda it: (it.line, it.column))))
    return NetworkShape(sources, found.nodes, order_of(network), needed_by_sinks(network))


class Home(NamedTuple):
    """The source or node whose own directories a node uses, and why, in words."""

    name: str
    why: str


def homes_of(network: Network) -> Mapping[str, Home]:
    """Return the home of every source and node, except nodes whose only link has no source.

    A node shares directories only where each of its samples is one sample of its one input, because
    no other directory has all inputs of a job.
    """
    found = {source.name: Home(source.name, "it is a source") for source in network.sources}
    nodes = {node.name: node for node in reversed(network.nodes)}
    for name in order_of(network):
        node = nodes[name]
        if why := _why_own(node):
            found[name] = Home(name, why)
        elif (up := node.links[0].source) in found:
            why = f"its one input, '{visible(up)}', has the same samples"
            found[name] = Home(found[up].name, why)
    return found


def _why_own(node: Node) -> str:
    """Return why a node has directories of its own; "" if it shares."""
    if node.directories == "own":
        return 'it has directories = "own"'
    if node.constants:
        return "it has constants"
    if len(node.inputs) != 1:
        return f"it has {len(node.inputs)} inputs"
    if len(node.links) != 1:
        return f"its input has {len(node.links)} links"
    (link,) = node.links
    if link.collapse:
        return f"its link collapses {visible(', '.join(link.collapse))}"
    if link.expand:
        return f"its link expands to {visible(link.expand)}"
    if node.combine not in COMBINATIONS:
        return f"the combination '{visible(node.combine)}' of a plug-in makes its samples"
    return ""


def declared_dimensions(source: Source) -> Dimensions | None:
    """Return the dimensions declared for a source; None means its file's first column."""
    data = source.data
    if isinstance(data, Values):
        return tuple(data.dimensions)
    if isinstance(data, FileSource):
        return (data.dimension,)
    if isinstance(data, Existing):
        return data.dimensions or (source.name,)
    return data.dimensions or None


@dataclass(frozen=True, slots=True)
class Inferred:
    """The known part of a network that may have problems, or sources of unknown dimensions.

    Nodes whose dimensions are unknown are not in `nodes`.
    """

    nodes: Mapping[str, NodeShape]
    problems: tuple[Problem, ...]


def infer(
    network: Network,
    source_dimensions: Mapping[str, Dimensions | None],
    file: str,
    doubtful: Collection[str] = (),
) -> Inferred:
    """Infer shapes as far as possible; nodes in `doubtful`, and sources with None, are unknown."""
    inference = _Inference(file, homes_of(network))
    for source in network.sources:
        inference.source(source, source_dimensions.get(source.name))
    nodes = {node.name: node for node in reversed(network.nodes)}
    for name in order_of(network):
        if name not in doubtful:
            inference.node(nodes[name])
    return Inferred(inference.nodes, tuple(inference.problems))


class _Inference:
    def __init__(self, file: str, homes: Mapping[str, Home]) -> None:
        self.file = file
        self.homes = homes
        self.known: dict[str, Dimensions] = {}
        self.nodes: dict[str, NodeShape] = {}
        self.problems: list[Problem] = []

    def wrong(self, place: NetworkPosition, message: str, hint: str = "") -> None:
        self.problems.append(problem_at(self.file, place, message, hint))

    def source(self, source: Source, dimensions: Dimensions | None) -> None:
        if dimensions is None:
            return
        what = f"source '{visible(source.name)}'"
        usable = [self.usable(source.place, what, name) for name in dimensions]
        if all(usable) and self.distinct(source.place, what, dimensions):
            self.known[source.name] = dimensions

    def usable(self, place: NetworkPosition, what: str, name: str) -> bool:
        fault = dimension_fault(name)
        if fault:
            self.wrong(place, f"{what}: the dimension '{visible(name)}' {fault}")
        return not fault

    def distinct(self, place: NetworkPosition, what: str, dimensions: Dimensions) -> bool:
        """Whether all names differ, also when case is ignored; report the others."""
        alike = case_collisions(dimensions)
        for one, two in alike:
            if one == two:
                self.wrong(place, f"{what} has the dimension '{visible(one)}' twice")
            else:
                both = f"'{visible(one)}' and '{visible(two)}'"
                message = f"{what} has the dimensions {both}, which differ only in letter case"
                self.wrong(place, message, "call them the same, or give one another name")
        return not alike

    def node(self, node: Node) -> None:
        """Infer a node's dimensions, or report what is wrong with them."""
        inputs = {it.name: self.input(node, it) for it in node.inputs}
        known = {name: dims for name, dims in inputs.items() if dims is not None}
        dimensions = self.combined(node, known) if len(known) == len(inputs) else None
        if dimensions is None:
            return
        what = f"node '{visible(node.name)}'"
        if not self.distinct(node.place, what, dimensions):
            return
        self.constants(node, dimensions)
        self.known[node.name] = dimensions
        self.nodes[node.name] = NodeShape(node.name, dimensions, known, self.homes[node.name].name)

    def constants(self, node: Node, dimensions: Dimensions) -> None:
        for key in node.constants:
            if key in dimensions:
                message = f"node '{visible(node.name)}': the constant '{visible(key)}' is"
                shown = visible(listed(dimensions))
                self.wrong(node.place, f"{message} also a dimension of its samples ({shown})")

    def input(self, node: Node, it: Input) -> Dimensions | None:
        """Return the dimensions of an input: its links must have the same ones."""
        links = [(link, self.link(node, it, link)) for link in it.links]
        if any(dims is None for _, dims in links):
            return None
        first: tuple[Link, Dimensions] | None = None
        for link, dims in links:
            if not dims:
                continue  # one sample: it is repeated
            if first is None:
                first = (link, dims)
            elif set(first[1]) != set(dims):
                message = f"{_at(node, it)}: its links have different dimensions: "
                one = f"from '{visible(first[0].source)}' {visible(listed(first[1]))}"
                two = f"from '{visible(link.source)}' {visible(listed(dims))}"
                hint = "links of one input follow one another in each sample; use two inputs"
                self.wrong(link.place, f"{message}{one}, {two}", hint)
                return None
        return first[1] if first else ()

    def link(self, node: Node, it: Input, link: Link) -> Dimensions | None:
        """Return the dimensions after a link: without the collapsed, with the expanded one last."""
        before = self.known.get(link.source)
        if before is None:
            return None
        shown = f"those of '{visible(link.source)}' are {visible(listed(before))}"
        fine = True
        for name in link.collapse:
            if name not in before:
                fine = False
                message = f"{_at(node, it)}: there is no dimension '{visible(name)}' to collapse"
                self.wrong(link.place, f"{message}; {shown}", did_you_mean(name, before))
        after = tuple(name for name in before if name not in link.collapse)
        if link.expand:
            fine = self.usable(link.place, _at(node, it), link.expand) and fine
            if link.expand in after:
                fine = False
                message = f"{_at(node, it)}: it expands to '{visible(link.expand)}', which is"
                hint = "call the new dimension something else"
                self.wrong(link.place, f"{message} a dimension already; {shown}", hint)
            after = (*after, link.expand)
        return after if fine else None

    def combined(self, node: Node, inputs: Mapping[str, Dimensions]) -> Dimensions | None:
        """Return the dimensions of joined inputs, with groups combined by the node's `combine`."""
        groups = [[it.name for it in those] for those in node.groups]
        joined = [_joined(inputs[name] for name in names) for names in groups]
        if node.combine == "zip":  # by position: the first group with dimensions names the samples
            return next((dims for dims in joined if dims), ())
        if node.combine == "cross" and not self.apart(node, groups, joined):
            return None
        return _joined(joined)

    def apart(self, node: Node, groups: list[list[str]], joined: list[Dimensions]) -> bool:
        """Whether no dimension is in two groups; report the others."""
        fine = True
        owner: dict[str, int] = {}
        for at, dims in enumerate(joined):
            shared = [name for name in dims if owner.setdefault(name, at) != at]
            if shared:
                fine = False
                other = owner[shared[0]]
                sides = ", ".join(
                    f"{_inputs(groups[side])} {visible(listed(joined[side]))}"
                    for side in (other, at)
                )
                message = f"node '{visible(node.name)}': groups that are crossed have the dimension"
                hint = 'combine = "join" takes those with the same value together'
                self.wrong(node.place, f"{message} '{visible(shared[0])}' both: {sides}", hint)
        return fine


def _joined(several: Iterable[Dimensions]) -> Dimensions:
    """Return the dimensions of the first, then the new ones of the others."""
    return tuple(dict.fromkeys(name for dims in several for name in dims))


def _at(node: Node, it: Input) -> str:
    return f"node '{visible(node.name)}', input '{visible(it.name)}'"


def _inputs(names: list[str]) -> str:
    shown = ", ".join(f"'{visible(name)}'" for name in names)
    return f"input {shown}" if len(names) == 1 else f"inputs {shown}"
