"""In which order ready work goes: scheduling plug-ins, and the ranks that they give to jobs.

A plug-in looks at the jobs of a graph as columns and gives keys; the ranks follow: lower goes
first, jobs that are equal for the plug-in go by the order of nodes in workflow.toml, then by
sample, then by number. Pure functions: the same jobs get the same ranks. Source: Fastr's
documentation, SchedulingPlugin (by sample ids, by distance to a sink, by distance from a source
with a signed weight); the critical path and Row's order are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from rowtui.core.errors import RowtuiError
from rowtui.core.network.critical_path import remaining_seconds
from rowtui.core.network.job_model import Edges

Key = NDArray[Any]  # one number for each job

_UNREACHED = np.iinfo(np.int32).max  # hops, where no way leads


class SchedulingError(RowtuiError):
    """There is no such scheduling plug-in, or it cannot order these jobs."""


class NodeFacts(NamedTuple):
    """What is known of a node. `from_source`: links from the nearest source; `to_sink`: to each
    sink that it leads to, by name; `seconds`: how long one of its jobs is expected to run;
    `row`: its action's place in workflow.toml.
    """

    name: str
    from_source: int = 0
    to_sink: Mapping[str, int] = {}
    seconds: float = 1.0
    row: int = 0


@dataclass(frozen=True, slots=True)
class Orderable:
    """The jobs of a graph as columns, all by number of the job.

    `node` are positions in `nodes`; `sample` is the place of the job's sample id among all ids of
    all nodes in natural order; `seconds` are expected run times, where known better than for the
    node (else not a number; None: nowhere). `edges`: who needs whom.
    """

    nodes: tuple[NodeFacts, ...]
    node: Key
    sample: Key
    edges: Edges
    seconds: Key | None = None

    def of_nodes(self, facts: list[float]) -> Key:
        """A fact of nodes, for each job."""
        return np.array(facts or [0.0])[self.node] if len(self.node) else np.zeros(0)

    def expected_seconds(self) -> Key:
        """For each job: its own expected run time, or that of its node."""
        of_node = self.of_nodes([node.seconds for node in self.nodes])
        if self.seconds is None:
            return of_node
        return np.where(np.isnan(self.seconds), of_node, self.seconds)


class SchedulingPlugin(Protocol):
    """What says which jobs go first. Third parties: entry points `rowtui.scheduling_plugins`."""

    @property
    def name(self) -> str:
        """As written in network.toml."""

    @property
    def summary(self) -> str:
        """What it does, in a sentence."""

    def keys(self, jobs: Orderable) -> tuple[Key, ...]:
        """Columns by which jobs are ordered, the most important first; lower goes first."""


def ranks(plugin: SchedulingPlugin, jobs: Orderable) -> NDArray[np.int32]:
    """For each job its place in the order: every place from 0 on is given once.

    Raises: SchedulingError (the plug-in failed, or gave keys that are no numbers for these jobs).
    """
    try:
        keys = tuple(np.asarray(key) for key in plugin.keys(jobs))
    except RowtuiError:
        raise
    except Exception as error:  # whatever somebody's plug-in does, it is theirs
        raise SchedulingError(
            f"the scheduling plug-in '{plugin.name}' failed with {type(error).__name__}",
            "choose another under [schedule], or mend it",
        ) from error
    count = len(jobs.node)
    for key in keys:
        if key.shape != (count,) or key.dtype.kind not in "iufb" or _has_nan(key):
            raise SchedulingError(
                f"the scheduling plug-in '{plugin.name}' gave no number for each of {count:,} jobs",
                "choose another under [schedule], or mend it",
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
    """Small whole numbers in 16 bits, which numpy sorts by counting, some ten times as fast."""
    if not key.size or key.dtype == np.int16:
        return key
    least, most = key.min(), key.max()
    if least < -(1 << 15) or most >= 1 << 15 or (key.dtype.kind == "f" and (key % 1).any()):
        return key
    return key.astype(np.int16)


# -- the plug-ins of ours ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BySample:
    """Sample after sample: the first one is brought to its end as far as possible, and others are
    worked on with what capacity is left over.
    """

    name: str = "sample"
    summary: str = "finish the first sample first, then the next"

    def keys(self, jobs: Orderable) -> tuple[Key, ...]:
        """By the sample ids in order."""
        return (jobs.sample,)


@dataclass(frozen=True, slots=True)
class ToSink:
    """Whatever is nearest to a sink goes first, of any sample: results come as soon as possible.

    With the name of a sink, only the way to that one counts; what does not lead to it comes last.
    """

    sink: str = ""
    summary: str = "finish first what is nearest to a result"

    @property
    def name(self) -> str:
        """`sink` or `sink:NAME`."""
        return f"sink:{self.sink}" if self.sink else "sink"

    def keys(self, jobs: Orderable) -> tuple[Key, ...]:
        """By links to the sink. Raises: SchedulingError (no sink of that name)."""
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
    """By the distance from a source, times a weight.

    A positive weight keeps all samples on the same stage: a node begins when those before it are
    done with all samples. A negative one pushes samples forward, each as far as it gets. From 1 on
    only the sign matters; less (0.5) mixes it with the order of samples: the first and the last
    sample are then as far apart as 1 / weight stages.
    """

    weight: float = 1.0
    summary: str = "stage after stage (positive), or every sample as far as it gets (negative)"

    @property
    def name(self) -> str:
        """`source:` with the weight and its sign."""
        return f"source:{self.weight:+g}"

    def keys(self, jobs: Orderable) -> tuple[Key, ...]:
        """By weighted links from the source, and by sample for weights below 1."""
        stage = jobs.of_nodes([float(node.from_source) for node in jobs.nodes]) * self.weight
        if abs(self.weight) >= 1 or not len(jobs.sample):
            return (stage,)
        return (stage + jobs.sample / (int(jobs.sample.max()) + 1),)


@dataclass(frozen=True, slots=True)
class CriticalPath:
    """What has the longest expected way to the end goes first: nothing else can make up for it."""

    name: str = "critical-path"
    summary: str = "begin with what has the longest way to go"

    def keys(self, jobs: Orderable) -> tuple[Key, ...]:
        """By expected seconds from the beginning of the job to the end of what depends on it."""
        return (-remaining_seconds(jobs.edges, jobs.expected_seconds()),)


@dataclass(frozen=True, slots=True)
class RowOrder:
    """As Row goes: action after action, directory after directory."""

    name: str = "row"
    summary: str = "in the order of workflow.toml, then of samples"

    def keys(self, jobs: Orderable) -> tuple[Key, ...]:
        """By the order of actions and samples, which decides anyway."""
        return ()
