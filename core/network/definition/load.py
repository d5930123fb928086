"""Parse network.toml, with its schedule, into a `Network`, or report all problems at once."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final, NamedTuple

from rowtui.core.base.errors import InvalidFileError, Problem, RowtuiError
from rowtui.core.base.files import read_bounded
from rowtui.core.base.text import visible
from rowtui.core.clusters.config.load_node_types import memory_mb
from rowtui.core.network.definition.load_parts import NetworkParts
from rowtui.core.network.definition.load_tables import (
    FIELDS,
    NAME_HINT,
    NetworkError,
    PublishError,
    name_fault,
    pieces_of,
    place_of,
)
from rowtui.core.network.definition.network_keys import (
    LONGEST_NAME,
    NETWORK_KEYS,
    PILOT_HINT,
)
from rowtui.core.network.definition.spec import (
    EXECUTIONS,
    IDLE_SECONDS,
    Existing,
    Gather,
    Network,
    Pilot,
    Schedule,
    Sink,
)
from rowtui.core.network.definition.structure import check_structure, problem_at, unused
from rowtui.core.network.samples.shape import declared_dimensions, infer
from rowtui.core.workflow.duration import DurationError, parse_duration
from rowtui.core.workflow.find import NETWORK_FILE, has_network
from rowtui.core.workflow.toml_file import TomlFile, TomlTable, did_you_mean

# The `[schedule]` table of network.toml: the order of jobs, and how they run.
#
# Takes the file's top table, gives a `Schedule`; problems are recorded in the file object.


PRIORITIES: Final = ("sample", "sink", "source:+1", "source:-1", "critical-path", "row")
_LEAST_SECONDS: Final = 60  # a shorter pilot is over before a job has begun in it
_AFTER_COLON: Final = re.compile(r"(sink|source):(.*)", re.DOTALL)


def read_schedule(top: TomlTable, sinks: Collection[str]) -> Schedule:
    """Read the schedule; `sinks` are the names of all sinks."""
    table = top.table("schedule")
    if table is None:
        return Schedule()
    priority = table.string("priority")
    if priority is not None and not _is_near_sink(table, priority, sinks):
        _check_word(table, "priority", priority, (*PRIORITIES[:2], "sink:NAME", *PRIORITIES[2:]))
    execution = table.string("execution")
    if execution is not None:
        _check_word(table, "execution", execution, EXECUTIONS)
    gather = _gather(table)
    if execution == "pilot" and "pilot" not in table:
        message = "execution is 'pilot', and the pilot has no size"
        table.problem("execution", message, PILOT_HINT)
    if execution == "sequential" and gather.size == 1 and not table.file.has_errors:
        message = "execution is 'sequential', and each job is a list of its own"
        table.problem("execution", message, "write gather = { size = 50 }, for example", "warning")
    return Schedule(
        "sample" if priority is None else priority,
        "jobs" if execution is None else execution,
        gather,
        _pilot(table),
        table.boolean("ahead") or False,
        place_of(top, "schedule"),
    )


def _is_near_sink(table: TomlTable, priority: str, sinks: Collection[str]) -> bool:
    """Whether it is `sink:NAME` or `source:...`, which are not plug-ins; errors are recorded."""
    match = _AFTER_COLON.fullmatch(priority)
    if match is None or priority in PRIORITIES:
        if priority == "sink" and not sinks:
            message = "the priority 'sink' goes by the way to a sink, and there is no sink"
            table.problem("priority", message, "", "warning")
        return False
    if match[1] == "source":
        message = f"the priority cannot be '{visible(priority)}'"
        hint = "write source:+1 to prefer the most advanced samples, source:-1 for the least"
        table.problem("priority", message, hint)
    elif match[2] not in sinks:
        message = f"the priority '{visible(priority)}' names no sink"
        table.problem("priority", message, did_you_mean(match[2], sinks))
    return True


def _check_word(table: TomlTable, key: str, word: str, known: tuple[str, ...]) -> None:
    if word in known and ":NAME" not in word:
        return
    shown = ", ".join(known)
    if fault := name_fault(word):
        table.problem(key, f"`{key}` '{visible(word)}' {fault}", f"write one of {shown}")
        return
    near = did_you_mean(word, known)
    hint = near or f"a plug-in of this name must be installed; ours are {shown}"
    message = f"`{key}` is '{visible(word)}', which is none of ours"
    table.problem(key, message, hint, "warning")


def _gather(schedule: TomlTable) -> Gather:
    table = schedule.table("gather")
    if table is None:
        return Gather()
    size = table.integer("size")
    seconds = _seconds(table, "walltime", 1, "leave it out for no limit") or 0
    if size is None:  # without a size, a given walltime is the only limit
        size = 0 if "walltime" in table and "size" not in table else 1
    return Gather(size, seconds)


def _pilot(schedule: TomlTable) -> Pilot | None:
    table = schedule.table("pilot")
    if table is None:
        return None
    for key in ("cpus", "walltime"):
        if key not in table:
            table.problem((), f"the pilot has no `{key}`", PILOT_HINT)
    cpus, number = table.integer("cpus"), table.integer("number")
    seconds = _seconds(table, "walltime", _LEAST_SECONDS, "give it a minute or more")
    idle = _seconds(table, "idle", 1, "leave it out for five minutes")
    memory = table.string("memory")
    megabytes = None if memory is None else memory_mb(memory)
    if memory is not None and not megabytes:
        message = f"the memory '{visible(memory)}' is no amount"
        table.problem("memory", message, 'write memory = "64G", or leave it out')
    return Pilot(
        cpus or 1,
        seconds or _LEAST_SECONDS,
        megabytes,
        table.integer("gpus") or 0,
        IDLE_SECONDS if idle is None else idle,
        1 if number is None else number,
    )


def _seconds(table: TomlTable, key: str, least: int, hint: str) -> int | None:
    """Read a time of at least `least` seconds; return None if it is absent or invalid."""
    text = table.string(key)
    if text is None:
        return None
    try:
        seconds = parse_duration(text)
    except DurationError as error:
        table.problem(key, f"the {key} '{visible(text)}' is not usable: {error}", error.hint)
        return None
    if seconds < least:
        message = f"the {key} is {seconds or 0}, which is too short for any job"
        table.problem(key, message, hint)
        return None
    return seconds


def check_fields(table: TomlTable, sink: Sink, dimensions: tuple[str, ...]) -> None:
    """Check that the template's fields are known, and that samples get different paths."""
    try:
        fields = [piece.text for piece in pieces_of(sink.publish) if piece.is_field]
    except PublishError:
        return
    known = (*dimensions, *FIELDS)
    for field in dict.fromkeys(fields):
        if field not in known:
            shown = ", ".join(f"{{{visible(name)}}}" for name in known)
            message = f"`publish` has the unknown field {{{visible(field)}}}"
            hint = did_you_mean(field, known) or f"there are {shown}"
            table.problem("publish", message, hint)
        elif field in dimensions and field in FIELDS:
            message = f"`publish` has {{{field}}}, which could be the dimension of that name or not"
            table.problem("publish", message, "give the dimension another name")
    left = [name for name in dimensions if name not in fields]
    if left and "sample" not in fields:
        shown = visible(" and ".join(left))
        message = f"samples that differ only in {shown} would be published to one path"
        hint = f"add {{sample}} or {{{visible(left[0])}}} to `publish`"
        table.problem("publish", message, hint, "warning")


__all__ = [
    "NETWORK_FILE",
    "LoadedNetwork",
    "NetworkError",
    "has_network",
    "load_network",
    "parse_network",
]

# bytes; large sets of samples belong into a table in a file of its own
LARGEST_FILE: Final = 16 << 20


class LoadedNetwork(NamedTuple):
    """A valid network, and the warnings about it."""

    network: Network
    problems: tuple[Problem, ...]


def load_network(root: Path) -> LoadedNetwork:
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
    return parse_network(data, file, root.resolve().name, root)


def parse_network(data: bytes, file: str, default_name: str, root: Path = Path()) -> LoadedNetwork:
    """Parse the network in `data`; `file` is the name shown in problems.

    `default_name`, converted to a plain word, is its name if the file gives none. `root`: the
    folder of networks that are nodes. Raises: NetworkError with every problem.
    """
    try:
        return _network(TomlFile(data, file, NETWORK_KEYS), default_name, root)
    except NetworkError:
        raise
    except InvalidFileError as error:  # not TOML at all, or an error in a network that is a node
        raise NetworkError(error.problems) from None


def _network(toml: TomlFile, default_name: str, root: Path) -> LoadedNetwork:
    """Build the network that the tables of a file describe.

    Raises: InvalidFileError with every problem.
    """
    top = toml.top
    parts = NetworkParts(toml, root)
    sinks = tuple(sink for _, sink in parts.sinks)
    network = Network(
        _name(top, default_name),
        tuple(parts.sources),
        tuple(parts.nodes),
        sinks,
        read_schedule(top, [sink.name for sink in sinks]),
    )
    toml.problems += check_structure(network, toml.file)
    toml.problems += _outputs_of_sources(network, toml.file)
    dimensions = {
        source.name: None if source.name in parts.unsound else declared_dimensions(source)
        for source in network.sources
    }
    found = infer(network, dimensions, toml.file, parts.unsound)
    toml.problems += found.problems
    for table, sink in parts.sinks:
        if sink.source in found.nodes:
            check_fields(table, sink, found.nodes[sink.source].dimensions)
    if not toml.has_errors:
        toml.problems += unused(network, toml.file)
        if not network.nodes:
            toml.problem((), "there is no [[node]], so there is nothing to run", "", "warning")
    distinct = dict.fromkeys(toml.problems)
    problems = tuple(sorted(distinct, key=lambda it: (it.file, it.line, it.column)))
    if toml.has_errors:
        raise NetworkError(problems)
    return LoadedNetwork(network, problems)


def _name(top: TomlTable, default: str) -> str:
    name = top.string("name")
    if name is None:
        word = re.sub(r"[^\w.-]", "_", default).lstrip(".-")[:LONGEST_NAME]
        return "network" if name_fault(word) else word
    if fault := name_fault(name):
        top.problem("name", f"the name '{visible(name)}' {fault}", NAME_HINT)
    return name


def _outputs_of_sources(network: Network, file: str) -> Iterable[Problem]:
    """Report links that take from a source what it does not have; its directories hold values."""
    made = {it.name for it in network.sources if not isinstance(it.data, Existing)}
    for node in network.nodes:
        for link in node.links:
            source = network.source(link.source)
            fault = hint = ""
            if source is not None and link.output and link.source in made:
                fault = "is a source, whose directories have no files but their values"
                hint = f"take `output` from the node that makes '{visible(link.output)}'"
            elif source is not None and link.expand:
                fault = "is a source, whose lists cannot be expanded"
                hint = "let a node write the list, and expand that"
            elif source and source.default is not None and {*link.collapse} - {*source.default}:
                fault = "may have no samples to collapse"
                hint = "collapse only dimensions that are in its `default`"
            if fault:
                what = f"node '{visible(node.name)}': '{visible(link.source)}'"
                yield problem_at(file, link.place, f"{what} {fault}", hint)
