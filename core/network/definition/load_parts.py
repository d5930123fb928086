"""The sources, nodes and sinks of a network, with those of the networks that are nodes of it.

Takes network.toml; gives the parts of one flat network, so that nothing behind the loader
distinguishes a node of network.toml from one of another file. A node `affine` of the network that
is node `left` is called `left.affine`. The sources of a file are the inputs of the node, its sinks
are the outputs, and a link into the node is one link with those behind it. Source: Fastr's macros.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from rowtui.core.base.text import count, visible
from rowtui.core.network.definition.load_nodes import read_inputs, read_node
from rowtui.core.network.definition.load_sources import NO_DATA, read_source
from rowtui.core.network.definition.load_tables import (
    PublishError,
    checked_name,
    path_fault,
    pieces_of,
    place_of,
)
from rowtui.core.network.definition.network_keys import LINK_KEYS, NETWORK_KEYS, NODE_KEYS
from rowtui.core.network.definition.spec import Input, Link, NetworkPosition, Node, Sink, Source
from rowtui.core.network.definition.structure import problem_at
from rowtui.core.workflow.find import NETWORK_FILE
from rowtui.core.workflow.toml_file import TomlFile, TomlTable, did_you_mean, open_toml

MOST_PARTS: Final = 10_000  # nodes and sources of networks that are nodes
DEEPEST: Final = 16  # networks inside each other
_LARGEST_FILE: Final = 1 << 20  # bytes of a network that is a node
_OF_A_NETWORK: Final = ("name", "network", "from", "inputs", *LINK_KEYS)
_PLAIN: Final = Link("")


class NetworkParts:
    """The parts of a network.toml. `root`: the folder of other files.

    `sinks` are with their tables; `unsound` are names of sources and nodes with errors. Raises:
    InvalidFileError if another file cannot be read at all.
    """

    def __init__(self, toml: TomlFile, root: Path) -> None:
        self.sources: list[Source] = []
        self.nodes: list[Node] = []
        self.sinks: list[tuple[TomlTable, Sink]] = []
        self.unsound: set[str] = set()
        self._toml, self._root = toml, root
        self._files: dict[str, TomlFile] = {}
        self._count = 0
        self._inputs: dict[str, tuple[Link, ...]] = {}  # by source of a network that is a node
        self._outputs: dict[str, dict[str, Sink]] = {}  # by network that is a node, and sink
        self._read(toml, "", (NETWORK_FILE,))
        places = [(it.name, it.place) for it in self.sources]
        for name, place in (*places, *((it.name, it.place) for it in self.nodes)):
            if name in self._outputs:
                self._wrong(place, f"a network is called '{visible(name)}', too")
        self.nodes = [self._resolved(node) for node in self.nodes]
        self.sinks = [
            (table, replace(sink, source=it.source, output=it.output))
            for table, sink in self.sinks
            for it in self._ends(Link(sink.source, sink.output, place=sink.place))
        ]
        for file in self._files.values():
            toml.problems += file.problems

    def _read(self, toml: TomlFile, prefix: str, way: tuple[str, ...]) -> None:
        """Take the parts of a file; `way` are the files that lead to it, which is the last."""
        for table in toml.top.tables("source") or ():
            source, is_sound = read_source(table, is_part=bool(prefix))
            name = prefix + source.name
            if not source.name or name in self._inputs:
                continue
            if source.data is NO_DATA and is_sound:
                message = f"node '{visible(prefix[:-1])}' has no input '{visible(source.name)}'"
                table.problem((), message, "write it in `inputs` of the node, or give it data here")
                is_sound = False
            self.sources.append(replace(source, name=name))
            self.unsound.update(() if is_sound else (name,))
        for table in toml.top.tables("node") or ():
            self._count += bool(prefix)
            if "network" in table:
                self._read_network(table, prefix, way)
                continue
            node, is_sound = read_node(table)
            if node.name:
                inputs = tuple(_prefixed(it, prefix) for it in node.inputs)
                self.nodes.append(replace(node, name=prefix + node.name, inputs=inputs))
                self.unsound.update(() if is_sound else (prefix + node.name,))
        for table in toml.top.tables("sink") or ():
            sink = read_sink(table, is_part=bool(prefix))
            if sink is not None:
                sink = replace(sink, source=prefix + sink.source)
                if prefix:
                    self._outputs[prefix[:-1]][sink.name] = sink
                else:
                    self.sinks.append((table, sink))

    def _read_network(self, table: TomlTable, prefix: str, way: tuple[str, ...]) -> None:
        """Take the parts of a network that is a node."""
        name, path = checked_name(table, "a node"), table.string("network") or ""
        for key in table:
            if key in NODE_KEYS.named and key not in _OF_A_NETWORK:
                table.problem(key, f"`{key}` belongs in {visible(path)}, to one of its nodes")
        toml = self._file(table, path, way)
        known = [str(it.values.get("name")) for it in toml.top.tables("source") or ()]
        inputs = read_inputs(table, name) if "from" in table or "inputs" in table else ()
        for it in inputs:
            self._inputs[f"{prefix}{name}.{it.name}"] = _prefixed(it, prefix).links
            if it.name not in known:
                message = f"{toml.file} has no source '{visible(it.name)}'"
                self._wrong(it.place, message, did_you_mean(it.name, known))
        self._outputs[prefix + name] = {}
        self._read(toml, f"{prefix}{name}.", (*way, os.path.normpath(path)))

    def _file(self, table: TomlTable, path: str, way: tuple[str, ...]) -> TomlFile:
        """Return the file of a network that is a node. Raises: InvalidFileError."""
        key = os.path.normpath(path)
        if fault := path_fault(path, "the project"):
            fault = f"the path '{visible(path)}' {fault}"
        elif key in way:
            shown = " -> ".join((*way[way.index(key) :], key))
            fault = f"a network cannot contain itself: {visible(shown)}"
        elif len(way) > DEEPEST:
            fault = f"more than {DEEPEST} networks are inside each other"
        elif self._count > MOST_PARTS:
            fault = f"networks in other files have more than {count(MOST_PARTS)} nodes together"
        elif key not in self._files:
            toml = open_toml(self._root / key, NETWORK_KEYS, _LARGEST_FILE)
            if toml is None:
                fault = f"there is no file '{visible(path)}' in the project"
            else:
                toml.is_part = True
                self._files[key] = toml
        if fault:
            table.problem("network", fault)
            table.file.raise_if_errors()
        return self._files[key]

    def _wrong(self, place: NetworkPosition, message: str, hint: str = "") -> None:
        self._toml.problems.append(problem_at(self._toml.file, place, message, hint))

    def _resolved(self, node: Node) -> Node:
        """Return a node whose links come from nodes and sources of the flat network."""
        inputs = tuple(
            replace(it, links=tuple(found for link in it.links for found in self._ends(link)))
            for it in node.inputs
        )
        if not all(it.links for it in inputs):
            self.unsound.add(node.name)
        return replace(node, inputs=inputs)

    def _ends(self, link: Link, depth: int = 0) -> Iterator[Link]:
        """Yield the links of the flat network that a link stands for; none if it is wrong."""
        sinks = self._outputs.get(link.source)
        if sinks is not None and depth <= 2 * DEEPEST:
            wanted = link.output or (next(iter(sinks)) if len(sinks) == 1 else "")
            if wanted in sinks:
                its = sinks[wanted]
                made = replace(link, source=its.source, output=its.output)
                yield from self._ends(made, depth + 1)
                return
            hint = did_you_mean(wanted, sinks) or f"there are {', '.join(map(visible, sinks))}"
            message = f"`output` must name a sink of the network '{visible(link.source)}'"
            self._wrong(link.place, f"{message}, not '{visible(wanted)}'", hint)
        elif link.source in self._inputs and depth <= 2 * DEEPEST:
            for outer in self._inputs[link.source]:
                given = _given(outer)
                if both := [it for it in _given(link) if it in given]:
                    message = f"the links into and behind '{visible(link.source)}' both have"
                    hint = "they are one link: take it out of one of them"
                    self._wrong(link.place, f"{message} `{both[0]}`", hint)
                    continue
                yield from self._ends(replace(link, source=outer.source, **given), depth + 1)
        else:
            yield link


def _given(link: Link) -> dict[str, Any]:
    """Return the keys of a link that are not left out."""
    return {it: each for it in LINK_KEYS if (each := getattr(link, it)) != getattr(_PLAIN, it)}


def _prefixed(it: Input, prefix: str) -> Input:
    """Return an input of a network that is a node, as one of the flat network."""
    links = tuple(replace(link, source=prefix + link.source) for link in it.links)
    return replace(it, links=links)


_PUBLISH_HINT: Final = 'write publish = "results/{sample}{ext}", relative to the project'
_OUR_FILES: Final = (".row", "network.toml", "workflow.toml")


def read_sink(table: TomlTable, *, is_part: bool = False) -> Sink | None:
    """Read one sink; return None if a part of it is missing. `is_part`: it publishes nothing."""
    name = checked_name(table, "a sink")
    what = f"sink '{visible(name)}'"
    source = _needed(table, "from", what, 'write from = "...", the name of a node')
    output = _needed(table, "output", what, 'write output = "...", a product of that node')
    publish = table.string("publish") or ""
    if not is_part:
        publish = _needed(table, "publish", what, _PUBLISH_HINT)
    if output and (fault := path_fault(output, "the directory")):
        table.problem("output", f"the output '{visible(output)}' {fault}")
    if publish:
        _check_path(table, publish)
    if not (source and output and (publish or is_part)):
        return None
    return Sink(name, source, output, publish, place_of(table, "from"))


def _needed(table: TomlTable, key: str, what: str, hint: str) -> str:
    text = table.string(key)
    if key not in table:
        table.problem((), f"{what} has no `{key}`", hint)
    elif text == "":
        table.problem(key, f"`{key}` is empty", hint)
    return text or ""


def _check_path(table: TomlTable, publish: str) -> None:
    try:
        pieces = pieces_of(publish)
    except PublishError as error:
        hint = "braces are for fields such as {sample}; write {{ and }} for braces themselves"
        table.problem("publish", f"`publish` cannot be read: {error}", hint)
        return
    # A field stands for at least one character, and never for a slash.
    path = "".join("x" if piece.is_field else piece.text for piece in pieces)
    fault = path_fault(path, "the project")
    first = next((part for part in path.split("/") if part not in {"", "."}), "")
    if not fault and first in _OUR_FILES:
        fault = f"would write into {first}"
    if fault:
        table.problem("publish", f"the path '{visible(publish)}' {fault}", _PUBLISH_HINT)
