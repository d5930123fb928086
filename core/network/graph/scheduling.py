"""The order of ready jobs: scheduling plug-ins, and the ranks that they give to jobs.

A plug-in takes the jobs of a graph as columns and returns keys; ranks follow from the keys: lower
ranks first. Jobs with equal keys are ordered by their node's place in workflow.toml, then by
sample, then by number. The functions are pure: the same jobs get the same ranks. Source: Fastr's
documentation, SchedulingPlugin (by sample ids, by distance to a sink, by distance from a source
with a signed weight). The critical path and Row's order are additions of rowtui.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.plug_ins import PlugIns, has_texts
from rowtui.core.network.graph.job_model import DependencyColumns

# Compute the remaining time from each job to the end of all jobs that depend on it.


_FEW = 64  # jobs at a time: below this, plain Python is faster than numpy


def remaining_seconds(edges: DependencyColumns, seconds: NDArray[Any]) -> NDArray[np.float64]:
    """Return for each job its own seconds plus those of the longest path through its dependents."""
    if not len(edges.needs):
        return np.array(seconds, np.float64)
    sweep = _Sweep(edges, seconds)
    front = np.flatnonzero(sweep.left == 0)
    while len(front):
        front = sweep.many(front) if len(front) >= _FEW else sweep.few(front.tolist())
    return sweep.remaining


class _Sweep:
    """A sweep from the last jobs back: a job is done when all jobs that need it are done.

    Many jobs at a time are processed with numpy, few (long chains) one after another.
    """

    def __init__(self, edges: DependencyColumns, seconds: NDArray[Any]) -> None:
        count = len(seconds)
        self.remaining = np.array(seconds, np.float64)
        # number of dependents that are not done yet
        self.left = np.bincount(edges.needs, minlength=count)
        self._longest = np.zeros(count)  # seconds of the longest path through done dependents
        # The dependencies of each job are `needs[starts[job]:starts[job + 1]]`.
        self._needs = edges.needs[np.argsort(edges.jobs, kind="stable")].astype(np.int64)
        self._starts = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(edges.jobs, minlength=count), out=self._starts[1:])

    def many(self, front: NDArray[np.int64]) -> NDArray[np.int64]:
        """Process these done jobs with numpy; return the jobs that become done."""
        lengths = self._starts[front + 1] - self._starts[front]
        base = self._starts[front] - np.cumsum(lengths) + lengths
        needed = self._needs[np.repeat(base, lengths) + np.arange(int(lengths.sum()))]
        np.maximum.at(self._longest, needed, np.repeat(self.remaining[front], lengths))
        np.subtract.at(self.left, needed, 1)
        done = np.unique(needed[self.left[needed] == 0])
        self.remaining[done] += self._longest[done]
        return done

    def few(self, front: list[int]) -> NDArray[np.int64]:
        """Process these jobs one by one while they are few; return the jobs that come next."""
        # Memory views yield Python numbers, several times as fast as an array's items.
        needs, left = self._needs.data, self.left.data
        starts = self._starts.data
        longest, remaining = self._longest.data, self.remaining.data
        while front and len(front) < _FEW:
            following: list[int] = []
            for job in front:
                mine = remaining[job]
                for needed in needs[starts[job] : starts[job + 1]]:
                    longest[needed] = max(longest[needed], mine)
                    left[needed] -= 1
                    if not left[needed]:
                        remaining[needed] += longest[needed]
                        following.append(needed)
            front = following
        return np.array(front, np.int64)


Key = NDArray[Any]  # one number for each job

_UNREACHED = np.iinfo(np.int32).max  # number of links where no path exists


class SchedulingError(RowtuiError):
    """The scheduling plug-in does not exist, or cannot order these jobs."""


class NodeFacts(NamedTuple):
    """The facts about a node.

    `from_source`: links from the nearest source; `to_sink`: links to each reachable sink, by name;
    `seconds`: the expected run time of one of its jobs; `row`: its action's place in workflow.toml.
    """

    name: str
    from_source: int = 0
    to_sink: Mapping[str, int] = {}
    seconds: float = 1.0
    row: int = 0


@dataclass(frozen=True, slots=True)
class Orderable:
    """The jobs of a graph as columns by number of the job.

    `node` are positions in `nodes`; `sample` is the place of the job's sample id among all ids of
    all nodes in natural order; `seconds` are expected run times where they are known better than
    for the node (otherwise NaN; None: for no job). `edges`: the dependencies.
    """

    nodes: tuple[NodeFacts, ...]
    node: Key
    sample: Key
    edges: DependencyColumns
    seconds: Key | None = None

    def of_nodes(self, facts: list[float]) -> Key:
        """Return a fact about nodes, for each job."""
        return np.array(facts or [0.0])[self.node] if len(self.node) else np.zeros(0)

    def expected_seconds(self) -> Key:
        """Return for each job its own expected run time, or that of its node."""
        of_node = self.of_nodes([node.seconds for node in self.nodes])
        if self.seconds is None:
            return of_node
        return np.where(np.isnan(self.seconds), of_node, self.seconds)


class SchedulingPlugin(Protocol):
    """A plug-in that orders jobs. Third parties use entry points `rowtui.scheduling_plugins`."""

    @property
    def name(self) -> str:
        """Return the name as written in network.toml."""

    @property
    def summary(self) -> str:
        """Return a sentence that describes the plug-in."""

    def keys(self, jobs: Orderable) -> tuple[Key, ...]:
        """Return columns that jobs are ordered by, the most important first; lower values first."""


def ranks(plugin: SchedulingPlugin, jobs: Orderable) -> NDArray[np.int32]:
    """Return for each job its place in the order: every place from 0 on is given once.

    Raises: SchedulingError (the plug-in failed, or its keys are not numbers for these jobs).
    """
    try:
        keys = tuple(np.asarray(key) for key in plugin.keys(jobs))
    except RowtuiError:
        raise
    except Exception as error:  # any failure of a third-party plug-in
        raise SchedulingError(
            f"the scheduling plug-in '{plugin.name}' failed with {type(error).__name__}",
            "choose another under [schedule], or correct it",
        ) from error
    count = len(jobs.node)
    for key in keys:
        if key.shape != (count,) or key.dtype.kind not in "iufb" or _has_nan(key):
            raise SchedulingError(
                f"the scheduling plug-in '{plugin.name}' gave no number for each of {count:,} jobs",
                "choose another under [schedule], or correct it",
            )
    row = jobs.of_nodes([node.row for node in jobs.nodes])
    # The last key of lexsort is the most important; it is stable, so numbers decide in the end.
    order = np.lexsort(tuple(map(_narrow, (jobs.sample, jobs.node, row, *keys[::-1]))))
    places = np.empty(count, np.int32)
    places[order] = np.arange(count, dtype=np.int32)
    return places


def _has_nan(key: Key) -> bool:
    return key.dtype.kind == "f" and bool(np.isnan(key).any())


def _narrow(key: Key) -> Key:
    """Return small integers in 16 bits, which numpy sorts by counting, about ten times as fast."""
    if not key.size or key.dtype == np.int16:
        return key
    least, most = key.min(), key.max()
    if least < -(1 << 15) or most >= 1 << 15 or (key.dtype.kind == "f" and (key % 1).any()):
        return key
    return key.astype(np.int16)


# -- the built-in plug-ins -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BySample:
    """Sample after sample: the first sample is finished as early as possible.

    Other samples use the remaining capacity.
    """

    name: str = "sample"
    summary: str = "finish the first sample first, then the next"

    def keys(self, jobs: Orderable) -> tuple[Key, ...]:
        """Order by the sample ids."""
        return (jobs.sample,)


@dataclass(frozen=True, slots=True)
class ToSink:
    """Jobs nearest to a sink are first, of any sample, so that results come as early as possible.

    With the name of a sink, only the path to that sink counts; jobs that do not lead to it are
    last.
    """

    sink: str = ""
    summary: str = "finish first the jobs that are nearest to a result"

    @property
    def name(self) -> str:
        """Return `sink` or `sink:NAME`."""
        return f"sink:{self.sink}" if self.sink else "sink"

    def keys(self, jobs: Orderable) -> tuple[Key, ...]:
        """Order by links to the sink. Raises: SchedulingError (no sink of that name)."""
        sinks = sorted({sink for node in jobs.nodes for sink in node.to_sink})
        if self.sink and self.sink not in sinks:
            raise SchedulingError(
                f"no node leads to a sink '{self.sink}', which [schedule] puts first",
                f"there are: {', '.join(sinks)}" if sinks else "the network has no sinks",
            )
        wanted = [self.sink] if self.sink else sinks
        hops = [
            min((node.to_sink.get(sink, _UNREACHED) for sink in wanted), default=_UNREACHED)
            for node in jobs.nodes
        ]
        return (jobs.of_nodes([float(number) for number in hops]),)


@dataclass(frozen=True, slots=True)
class FromSource:
    """Order by the distance from a source, times a weight.

    A positive weight keeps all samples on the same stage: a node begins when the nodes before it
    are done with all samples. A negative weight pushes each sample forward as far as possible. From
    1 on only the sign matters; a smaller weight (0.5) mixes the distance with the order of samples:
    the first and the last sample are then as far apart as 1 / weight stages.
    """

    weight: float = 1.0
    summary: str = "stage after stage (positive), or every sample as far as it gets (negative)"

    @property
    def name(self) -> str:
        """Return `source:` with the weight and its sign."""
        return f"source:{self.weight:+g}"

    def keys(self, jobs: Orderable) -> tuple[Key, ...]:
        """Order by weighted links from the source, and by sample for weights below 1."""
        stage = jobs.of_nodes([float(node.from_source) for node in jobs.nodes]) * self.weight
        if abs(self.weight) >= 1 or not len(jobs.sample):
            return (stage,)
        return (stage + jobs.sample / (int(jobs.sample.max()) + 1),)


@dataclass(frozen=True, slots=True)
class CriticalPath:
    """Jobs with the longest expected path to the end are first: this path bounds the run."""

    name: str = "critical-path"
    summary: str = "begin with the jobs that have the longest remaining chain"

    def keys(self, jobs: Orderable) -> tuple[Key, ...]:
        """Order by expected seconds from the start of the job to the end of all its dependents."""
        return (-remaining_seconds(jobs.edges, jobs.expected_seconds()),)


@dataclass(frozen=True, slots=True)
class RowOrder:
    """Row's order: action after action, directory after directory."""

    name: str = "row"
    summary: str = "in the order of workflow.toml, then of samples"

    def keys(self, jobs: Orderable) -> tuple[Key, ...]:
        """Return no keys: the order of actions and samples is the final key of all plug-ins."""
        return ()


# Scheduling plug-ins by name: the built-in ones, and those of installed packages.
#
# The engine reads no entry points itself; the project uses this module. A third-party plug-in
# cannot replace a built-in one.


PLUG_INS = PlugIns(
    "rowtui.scheduling_plugins",
    "scheduling plug-in",
    lambda made: has_texts(made, "keys"),
    SchedulingError,
)

_PLAIN: dict[str, type[BySample | ToSink | CriticalPath | RowOrder]] = {
    "sample": BySample,
    "sink": ToSink,
    "critical-path": CriticalPath,
    "row": RowOrder,
}
OURS = (*_PLAIN, "sink:NAME", "source:+1", "source:-1")  # as shown to the user


def find_plugin(name: str) -> SchedulingPlugin:
    """Return the plug-in of this name. Raises: SchedulingError if it is missing or not usable."""
    ours = _ours(name)
    if ours is not None:
        return ours
    plugin: SchedulingPlugin = PLUG_INS.find(name, OURS)
    return plugin


def _ours(name: str) -> SchedulingPlugin | None:
    kind, colon, rest = name.partition(":")
    if not colon:
        return _PLAIN[name]() if name in _PLAIN else None
    if kind == "sink" and rest:
        return ToSink(rest)
    if kind != "source":
        return None
    try:
        weight = float(rest)
    except ValueError:
        weight = math.nan
    if not math.isfinite(weight):
        raise SchedulingError(
            f"'{name}' has no weight after 'source:'",
            "source:+1 goes stage after stage, source:-1 pushes every sample forward",
        )
    return FromSource(weight)
