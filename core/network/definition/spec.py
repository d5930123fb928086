"""The content of a network.toml as values: sources, nodes with their inputs, sinks, and the
schedule.

The loader makes these values from the file, `Build` makes them from Python, and a network run keeps
a snapshot of them. They contain no samples, which come with the sources' rows. Source: Fastr's
vocabulary (networks, nodes, links, sources, constants, sinks; collapse and expand).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

JSON = Any  # null, bool, int, float, str, list or dict: the content of a value file

IDLE_SECONDS = 300  # default time after which a pilot without work ends
EXECUTIONS = ("jobs", "sequential", "pool", "pilot")
NODE_KEY = "node"  # the key of a value file that names the home of a directory's sample


class NetworkPosition(NamedTuple):
    """A place in a file, from 1; 0 for parts made in Python.

    `file`: "" for network.toml. Places do not matter when two networks are compared.
    """

    line: int = 0
    column: int = 0
    file: str = ""


class CardinalitySlice(NamedTuple):
    """The values of each sample that a link takes: positions in its cardinality, as in a slice.

    `stop` None: to the end. One value: `Selection(i, i + 1)`; the last: `Selection(-1, None)`.
    """

    start: int = 0
    stop: int | None = None


class Require(NamedTuple):
    """How many members of a collapsed sample must exist: all, a number, or a share of them.

    At most one of `number` and `share` is set; with neither, all must exist.
    """

    number: int | None = None
    share: float | None = None

    def least(self, members: int) -> int:
        """Return how many of `members` must exist; at most all of them."""
        if self.number is not None:
            return min(self.number, members)
        if self.share is not None:
            # 0.8 of 5 are 4: a rounding error of the product must not require one more.
            return min(members, math.ceil(self.share * members - 1e-9))
        return members


ALL = Require()


@dataclass(frozen=True, slots=True)
class Link:
    """One link: samples of a source or node on their way into an input.

    `output` is a product of the upstream node's action (a path in its directories), "" for the
    directory as a whole. `collapse` names dimensions that become cardinality; `expand` names the
    dimension that the cardinality becomes ("": none): the output is then a JSON list.
    """

    source: str
    output: str = ""
    select: CardinalitySlice | None = None
    collapse: tuple[str, ...] = ()
    expand: str = ""
    require: Require = ALL
    place: NetworkPosition = field(default=NetworkPosition(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Input:
    """One input of a node: the links into it, one after another in the cardinality.

    Inputs of the same `group` are matched by their dimensions' names and values; groups (see
    `Node.groups`) are combined by the node's `combine`.
    """

    name: str
    links: tuple[Link, ...]
    group: str = ""
    place: NetworkPosition = field(default=NetworkPosition(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Values:
    """A source's values as written: a specification for each dimension. Crossed, except `zipped`.

    Each is a list of values, or a table with exactly one of `range`, `linspace`, `logspace` (see
    `sources.expand_values`). `zipped` are sets of dimensions that vary together.
    """

    dimensions: Mapping[str, JSON]
    zipped: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class TableSource:
    """A source with rows in a file: CSV with a header, or a JSON list of objects.

    `path` is relative to the project. `dimensions`: the columns of dimensions; () for the first
    column.
    """

    path: str
    kind: Literal["csv", "json"]
    dimensions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileSource:
    """A source with a sample for each file that matches a pattern, in order of their paths.

    `pattern` is relative to the project, as in `pathlib` (`**` allowed). The one dimension is
    `dimension`; its values are the files' paths.
    """

    pattern: str
    dimension: str


@dataclass(frozen=True, slots=True)
class Existing:
    """A source whose samples are existing directories of the workspace.

    `dimensions` name keys (JSON pointers without the leading slash) of their value files; () for
    the directory's name itself, under the source's name. `include` are glob patterns of names.
    """

    dimensions: tuple[str, ...] = ()
    include: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """A source: the origin of samples.

    `default`: the values of its one sample where the data has none; {} for an absent sample, which
    other inputs of a job do not need; None for no samples.
    """

    name: str
    data: Values | TableSource | FileSource | Existing
    place: NetworkPosition = field(default=NetworkPosition(), compare=False, repr=False)
    default: Mapping[str, JSON] | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """A node: an action of workflow.toml on every combination of its inputs' samples.

    `combine`: `join` (dimensions of the same name must have the same value; others are crossed),
    `cross` (every group with every other; no dimension may be in two), `zip` (by position, same
    sizes), or the name of a plug-in. `constants` are keys of its directories' value files.
    `directories`: with `auto`, the node shares the directories of its one input where samples map
    one to one; with `own` it has its own directories. `scratch`: products that are needed only by
    jobs of the same list stay on the machine of the list.
    """

    name: str
    action: str
    inputs: tuple[Input, ...]
    combine: str = "join"
    constants: Mapping[str, JSON] = field(default_factory=lambda: MappingProxyType({}))
    directories: Literal["auto", "own"] = "auto"
    place: NetworkPosition = field(default=NetworkPosition(), compare=False, repr=False)
    scratch: bool = False

    @property
    def links(self) -> tuple[Link, ...]:
        """Return all links into its inputs, in order."""
        return tuple(link for it in self.inputs for link in it.links)

    @property
    def groups(self) -> tuple[tuple[Input, ...], ...]:
        """Return the inputs by group, in order.

        Inputs without a group are together where they are joined, and separate where they are
        crossed or zipped.
        """
        found: dict[object, list[Input]] = {}
        for number, it in enumerate(self.inputs):
            alone = not it.group and self.combine != "join"
            found.setdefault(number if alone else it.group, []).append(it)
        return tuple(map(tuple, found.values()))


@dataclass(frozen=True, slots=True)
class Sink:
    """A sink: a product of every sample of a node, copied out to a path relative to the project.

    `publish` is a template: `{dimension}` for each dimension of the node, `{sample}` (the
    directory's name), `{node}`, `{network}`, `{file}` (the product's own name), `{ext}` (with dot).
    """

    name: str
    source: str
    output: str
    publish: str
    place: NetworkPosition = field(default=NetworkPosition(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Gather:
    """How many jobs may run one after another in one scheduler job. 0: no limit; `size` 1: one."""

    size: int = 1
    walltime_seconds: int = 0


@dataclass(frozen=True, slots=True)
class Pilot:
    """The allocation of a pilot on one node, and the maximum number of pilots per destination.

    `memory_mb` None: not stated. A pilot ends after `idle_seconds` without a running or new job.
    """

    cpus: int
    walltime_seconds: int
    memory_mb: int | None = None
    gpus: int = 0
    idle_seconds: int = IDLE_SECONDS
    number: int = 1


@dataclass(frozen=True, slots=True)
class Schedule:
    """The order of ready jobs, and how they run.

    `priority`: `sample`, `sink`, `sink:NAME`, `source:+1`, `source:-1`, `critical-path`, `row`, or
    a plug-in. `execution`: one of `EXECUTIONS`, or a plug-in. `ahead`: whole chains are queued
    before their inputs exist.
    """

    priority: str = "sample"
    execution: str = "jobs"
    gather: Gather = Gather()
    pilot: Pilot | None = None
    ahead: bool = False
    place: NetworkPosition = field(default=NetworkPosition(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Network:
    """A network as written. Names are unique among sources and nodes, and among sinks."""

    name: str
    sources: tuple[Source, ...] = ()
    nodes: tuple[Node, ...] = ()
    sinks: tuple[Sink, ...] = ()
    schedule: Schedule = Schedule()

    def node(self, name: str) -> Node | None:
        """Return the node of this name; None if there is none."""
        return next((it for it in self.nodes if it.name == name), None)

    def source(self, name: str) -> Source | None:
        """Return the source of this name; None if there is none."""
        return next((it for it in self.sources if it.name == name), None)


@dataclass(frozen=True, slots=True)
class SourceRows:
    """The samples of one source as columns, because there may be a million of them.

    `dimensions` are their names, and `values[d]` the distinct values of dimension d, in the
    source's order. `codes` None: every combination, the last dimension fastest; otherwise
    `codes[d][i]` is the position in `values[d]` of sample i (no two samples are equal in all
    dimensions).

    `more[i]` are further keys of the value file of sample i (() without any). `names[i]`: its
    directory, where it exists already (`Existing`), otherwise ().

    `missing`: samples whose data is known to be absent: their jobs are skipped, and the run still
    succeeds (Fastr's MISSING). `digest` is that of the source files, "" without any.
    """

    source: str
    dimensions: tuple[str, ...]
    values: tuple[tuple[JSON, ...], ...]
    codes: tuple[Sequence[int], ...] | None = None
    more: Sequence[Mapping[str, JSON]] = ()
    names: Sequence[str] = ()
    missing: frozenset[int] = frozenset()
    digest: str = ""

    @property
    def count(self) -> int:
        """Return how many samples there are."""
        if self.codes is not None:
            return len(self.codes[0]) if self.codes else 0
        return math.prod(len(values) for values in self.values)
