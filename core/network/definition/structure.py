"""The structure of a network: upstream nodes, order, and needed nodes.

Takes a `Network` from any origin; gives `Problem`s: repeated names, links without a source, cycles.
This module does not handle dimensions (see `shape`).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from typing import Final

from rowtui.core.base.errors import Problem
from rowtui.core.base.text import visible
from rowtui.core.network.definition.spec import (
    EXECUTIONS,
    Network,
    NetworkPosition,
    Node,
    Sink,
    Source,
)
from rowtui.core.network.samples.names import case_collisions
from rowtui.core.workflow.toml_file import did_you_mean

_MOST_GUESSES: Final = 20  # each compares a name with all others
_LONGEST_CIRCLE: Final = 20  # nodes that are named


def upstream(node: Node) -> tuple[str, ...]:
    """Return the sources and nodes that a node has links from, each once, in order."""
    return tuple(dict.fromkeys(link.source for link in node.links))


def order_of(network: Network) -> tuple[str, ...]:
    """Return the nodes, each after the nodes that it needs, otherwise as in the file.

    Nodes on a cycle, and nodes that need one of them, are left out.
    """
    return tuple(_sorted(_before(network)))


def needed_by_sinks(network: Network) -> frozenset[str]:
    """Return the sources and nodes that some sink needs; all of them if there are no sinks."""
    if not network.sinks:
        return frozenset(_names(network))
    above = {node.name: upstream(node) for node in network.nodes}
    needed: set[str] = set()
    todo = [sink.source for sink in network.sinks]
    while todo:
        name = todo.pop()
        if name not in needed:
            needed.add(name)
            todo.extend(above.get(name, ()))
    return frozenset(needed.intersection(_names(network)))


def _names(network: Network) -> list[str]:
    return [source.name for source in network.sources] + [node.name for node in network.nodes]


def check_structure(network: Network, file: str) -> list[Problem]:
    """Return all problems of names and links."""
    return [*_twice(network, file), *_dangling(network, file), *_cycles(network, file)]


def problem_at(
    file: str, place: NetworkPosition, message: str, hint: str = "", severity: str = "error"
) -> Problem:
    """Return a problem at a place."""
    return Problem(place.file or file, place.line, place.column, message, hint, severity)


def _twice(network: Network, file: str) -> Iterable[Problem]:
    upstreams: list[Source | Node | Sink] = [*network.sources, *network.nodes]
    for things in (upstreams, network.sinks):
        first: dict[str, Source | Node | Sink] = {}
        for thing in things:
            other = first.setdefault(thing.name, thing)
            if other is not thing and thing.name:
                message = f"{_a(other)} is called '{visible(thing.name)}', too"
                hint = f"see line {other.place.line}" if other.place.line else ""
                yield problem_at(file, thing.place, message, hint)
        for one, two in case_collisions([name for name in first if name]):
            message = f"'{visible(one)}' and '{visible(two)}' differ only in letter case"
            hint = "some file systems take them for the same name"
            yield problem_at(file, first[two].place, message, hint, "warning")


def _a(thing: Source | Node | Sink) -> str:
    if isinstance(thing, Source):
        return "a source"
    return "a node" if isinstance(thing, Node) else "a sink"


def _dangling(network: Network, file: str) -> Iterable[Problem]:
    nodes = {node.name for node in network.nodes}
    known = dict.fromkeys(_names(network))
    text = 0
    for node in network.nodes:
        for it in node.inputs:
            for link in it.links:
                if link.source not in known:
                    message = f"there is no source or node '{visible(link.source)}'"
                    hint = ""
                    if text < _MOST_GUESSES:
                        hint = _near(link.source, (name for name in known if name != node.name))
                    text += 1
                    yield problem_at(file, link.place, f"{_of(node)}: {message}", hint)
    for sink in network.sinks:
        if sink.source in nodes:
            continue
        if sink.source in known:
            message = f"'{visible(sink.source)}' is a source, and sinks take products of nodes"
            hint = ""
        else:
            message = f"there is no node '{visible(sink.source)}'"
            hint = _near(sink.source, nodes)
        yield problem_at(file, sink.place, f"sink '{visible(sink.name)}': {message}", hint)


def _near(name: str, known: Iterable[str]) -> str:
    names = sorted(known)
    if near := did_you_mean(name, names):
        return near
    return f"there are {', '.join(map(visible, names[:10]))}" if names else ""


def _of(node: Node) -> str:
    return f"node '{visible(node.name)}'"


def _before(network: Network) -> dict[str, tuple[str, ...]]:
    """Return for each node the nodes it needs.

    A repeated name means the source, or its first node.
    """
    before: dict[str, tuple[str, ...]] = {}
    nodes = {node.name for node in network.nodes} - {source.name for source in network.sources}
    for node in network.nodes:
        before.setdefault(node.name, tuple(name for name in upstream(node) if name in nodes))
    return before


def _sorted(before: Mapping[str, Iterable[str]]) -> list[str]:
    """Sort topologically; among nodes that could be next, the first of `before` is next."""
    place = {name: at for at, name in enumerate(before)}
    names = list(before)
    after: dict[str, list[str]] = {name: [] for name in before}
    waits = {}
    for name, earlier in before.items():
        known = [each for each in earlier if each in place]
        waits[name] = len(known)
        for each in known:
            after[each].append(name)
    ready = [place[name] for name, number in waits.items() if number == 0]
    heapq.heapify(ready)
    done = []
    while ready:
        name = names[heapq.heappop(ready)]
        done.append(name)
        for each in after[name]:
            waits[each] -= 1
            if waits[each] == 0:
                heapq.heappush(ready, place[each])
    return done


def _cycles(network: Network, file: str) -> Iterable[Problem]:
    """Yield each cycle once; cycles that share a node may be reported as one."""
    before = _before(network)
    for node in network.nodes:
        own = next((link for link in node.links if link.source == node.name), None)
        if own is not None and node.name in before:
            yield problem_at(file, own.place, f"{_of(node)} has a link to itself")
    before = {
        name: tuple(each for each in earlier if each != name) for name, earlier in before.items()
    }
    while stuck := before.keys() - set(_sorted(before)):
        before = {name: before[name] for name in before if name in stuck}
        circle = _circle(before)
        names = [*map(visible, circle), visible(circle[0])]
        if len(circle) > _LONGEST_CIRCLE:
            names[_LONGEST_CIRCLE - 1 : -2] = ["..."]
        shown = " -> ".join(names)
        last = (node for node in network.nodes if node.name == circle[0])  # or several: an error
        links = (link for node in last for link in node.links)
        place = next(link.place for link in links if link.source == circle[-1])
        hint = "take one of these links out"
        yield problem_at(file, place, f"the nodes wait for each other: {shown}", hint)
        before = {name: before[name] for name in before if name not in circle}


def _circle(before: Mapping[str, Iterable[str]]) -> list[str]:
    """Return one cycle, in the direction of the data. Every name needs one that is in `before`."""
    way = [next(iter(before))]
    seen = {way[0]: 0}
    while True:
        name = next(each for each in before[way[-1]] if each in before)
        if name in seen:
            circle = way[seen[name] :][::-1]
            places = {each: at for at, each in enumerate(before)}
            first = min(range(len(circle)), key=lambda at: places[circle[at]])
            return circle[first:] + circle[:first]
        seen[name] = len(way)
        way.append(name)


def unused(network: Network, file: str) -> Iterable[Problem]:
    """Yield a warning for each node that no sink needs, each source that no node uses, and each
    `scratch` without lists.
    """
    needed = needed_by_sinks(network)
    if network.sinks:
        for node in network.nodes:
            if node.name not in needed:
                message = f"no sink needs {_of(node)}, so it is not run"
                hint = "give it a sink, or take all sinks out to run every node"
                yield problem_at(file, node.place, message, hint, "warning")
    used = {name for node in network.nodes for name in upstream(node)}
    for source in network.sources:
        if source.name not in used:
            message = f"no node takes anything from source '{visible(source.name)}'"
            yield problem_at(file, source.place, message, "", "warning")
    if network.schedule.execution in {*EXECUTIONS} - {"sequential"}:
        for node in network.nodes:
            if node.scratch:
                message = f"`scratch` of {_of(node)} has no effect: its jobs are in no list"
                hint = 'write execution = "sequential" and gather = { size = 50 } in [schedule]'
                yield problem_at(file, node.place, message, hint, "warning")
