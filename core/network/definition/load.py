"""Parse network.toml into a `Network`, or report all problems at once.

`from_tables` applies the same rules to tables that `build` makes in Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from rowtui.core.base.errors import InvalidFileError, Problem, RowtuiError
from rowtui.core.base.files import read_bounded
from rowtui.core.base.text import visible
from rowtui.core.network.definition.allowed import LONGEST_NAME, NAME_HINT, NetworkError, name_fault
from rowtui.core.network.definition.find import NETWORK_FILE, has_network
from rowtui.core.network.definition.load_nodes import read_node
from rowtui.core.network.definition.load_schedule import read_schedule
from rowtui.core.network.definition.load_sinks import check_fields, read_sink
from rowtui.core.network.definition.load_sources import read_source
from rowtui.core.network.definition.load_tables import NetworkFile
from rowtui.core.network.definition.spec import Existing, Link, Network, Node
from rowtui.core.network.definition.structure import check_structure, problem_at, unused
from rowtui.core.network.samples.shape import declared_dimensions, infer
from rowtui.core.workflow.toml_file import TomlFile, TomlTable

__all__ = [
    "NETWORK_FILE",
    "Loaded",
    "NetworkError",
    "from_tables",
    "has_network",
    "load_network",
    "parse_network",
]

# bytes; large sets of samples belong into a table in a file of its own
LARGEST_FILE: Final = 16 << 20


class Loaded(NamedTuple):
    """A valid network, and the warnings about it."""

    network: Network
    problems: tuple[Problem, ...]


def load_network(root: Path) -> Loaded:
    """Read the network of the project at `root`.

    Raises: NetworkError with every problem; RowtuiError if the file cannot be read.
    """
    path = root / NETWORK_FILE
    file = visible(str(path))
    try:
        data = read_bounded(path, LARGEST_FILE)
    except FileNotFoundError:
        hint = "`rowtui network init` writes one to begin with"
        raise RowtuiError(f"there is no {NETWORK_FILE} in {visible(str(root))}", hint) from None
    except OSError as error:
        raise RowtuiError(f"cannot read {file}: {error.strerror}") from None
    return parse_network(data, file, root.resolve().name)


def parse_network(data: bytes, file: str, default_name: str) -> Loaded:
    """Parse the network in `data`; `file` is the name shown in problems.

    `default_name`, converted to a plain word, is its name if the file gives none. Raises:
    NetworkError with every problem.
    """
    try:
        return from_tables(NetworkFile(data, file), default_name)
    except NetworkError:
        raise
    except InvalidFileError as error:  # not TOML at all
        raise NetworkError(error.problems) from None


def from_tables(toml: TomlFile, default_name: str) -> Loaded:
    """Build the network that the tables of a file describe.

    Raises: NetworkError with every problem.
    """
    top = toml.top
    top.only(("name", "source", "node", "sink", "schedule"))
    sources = [read_source(table) for table in top.tables("source") or ()]
    nodes = [read_node(table) for table in top.tables("node") or ()]
    sinks = [(table, read_sink(table)) for table in top.tables("sink") or ()]
    named = [(table, sink) for table, sink in sinks if sink is not None]
    sink_names = [sink.name for _, sink in named]
    network = Network(
        _name(top, default_name),
        tuple(read.source for read in sources if read.source.name),
        tuple(read.node for read in nodes if read.node.name),
        tuple(sink for _, sink in named),
        read_schedule(top, sink_names),
    )
    toml.problems += check_structure(network, toml.file)
    toml.problems += _outputs_of_sources(network, toml.file)
    doubtful = {read.source.name for read in sources if not read.sound}
    dimensions = {
        source.name: None if source.name in doubtful else declared_dimensions(source)
        for source in network.sources
    }
    unsound = {read.node.name for read in nodes if not read.sound}
    found = infer(network, dimensions, toml.file, unsound)
    toml.problems += found.problems
    for table, sink in named:
        if sink.source in found.nodes:
            check_fields(table, sink, found.nodes[sink.source].dimensions)
    if not toml.has_errors:
        toml.problems += unused(network, toml.file)
        if not network.nodes:
            toml.problem((), "there is no [[node]], so there is nothing to run", "", "warning")
    problems = tuple(sorted(dict.fromkeys(toml.problems), key=lambda it: (it.line, it.column)))
    if toml.has_errors:
        raise NetworkError(problems)
    return Loaded(network, problems)


def _name(top: TomlTable, default: str) -> str:
    name = top.string("name")
    if name is None:
        word = re.sub(r"[^\w.-]", "_", default).lstrip(".-")[:LONGEST_NAME]
        return "network" if name_fault(word) else word
    if fault := name_fault(name):
        top.problem("name", f"the name '{visible(name)}' {fault}", NAME_HINT)
    return name


def _outputs_of_sources(network: Network, file: str) -> Iterable[Problem]:
    """Report links to outputs of a source: its directories have no files but their values."""
    made = {it.name for it in network.sources if not isinstance(it.data, Existing)}
    for node, link in _links(network):
        if link.output and link.source in made:
            message = f"'{visible(link.source)}' is a source, whose directories have no files but"
            message = f"node '{visible(node.name)}': {message} their values"
            hint = f"take `output` from the node that makes '{visible(link.output)}'"
            yield problem_at(file, link.place, message, hint)
        elif link.expand and network.source(link.source) is not None:
            message = f"'{visible(link.source)}' is a source, whose lists nobody reads"
            message = f"node '{visible(node.name)}': {message}"
            yield problem_at(
                file, link.place, message, "let a node write the list, and expand that"
            )


def _links(network: Network) -> Iterable[tuple[Node, Link]]:
    for node in network.nodes:
        for it in node.inputs:
            for link in it.links:
                yield node, link
