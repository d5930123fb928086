"""The views of a network for screens and JSON: plain values of one moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from rowtui.core.base.document import KnownMoment, TextOrNull
from rowtui.core.base.text import Cost, plural, visible
from rowtui.core.network.graph.job_model import GraphJobState

if TYPE_CHECKING:
    from rowtui.core.network.definition.spec import JSON
    from rowtui.core.network.samples.model import Dimension
    from rowtui.core.runs.limits.limits import RunLimits, Spent
    from rowtui.core.runs.model import RunStatus

BasisOfAll = Literal["measured", "walltime limits", "mixed"]


class PathStep(NamedTuple):
    """A node on the critical path: the remaining seconds there, and the number of jobs."""

    node: str
    seconds: float
    jobs: int = 1


class Estimate(NamedTuple):
    """An estimate of the rest of a run.

    `critical_path`: the longest remaining path, in order. `basis`: the
    origin of the run times; with walltime limits the estimate is the latest time, not the likely
    one. `jobs`: how many are left; `growing`: jobs that future lists will add are not included.
    """

    seconds_left: float
    done_at: KnownMoment
    critical_path: tuple[PathStep, ...]
    basis: BasisOfAll
    jobs: int
    growing: bool = False


class NodeView(NamedTuple):
    """A source, a node or a sink.

    `counts[state]` are numbers of jobs (`GraphJobState`); () for a source. `level`: the longest
    distance in links from the sources. `lists`: other jobs whose lists will determine further
    samples. `needed`: whether a sink needs the node; otherwise it does not run.
    """

    name: str
    kind: str  # "source", "node" or "sink"
    action: str
    home: str
    dimensions: tuple[Dimension, ...]
    samples: int
    lists: int
    counts: tuple[int, ...]
    level: int
    needed: bool = True
    critical: float | None = None  # seconds on the critical path; None: not on it
    output: str = ""  # the product that a sink takes


class LinkView(NamedTuple):
    """A link into an input of a node. `require`: null for all members."""

    source: str
    target: str
    input: str
    output: str
    collapse: tuple[str, ...]
    expand: TextOrNull
    require: TextOrNull


class FailureView(NamedTuple):
    """A job that failed itself, and how many jobs are lost because of it."""

    node: str
    directory: str
    reason: str
    lost: int
    job: int


class SampleView(NamedTuple):
    """One sample of a node. `state`: a `GraphJobState`'s name in lower case; "" for a source.

    `job`: its number in the job graph; -1 for a source.
    """

    directory: str
    values: dict[str, JSON]
    state: str
    reason: str = ""
    job: int = -1


class SamplesPage(NamedTuple):
    """Some samples of a node, failures first by default.

    `total`: the number of selected samples; `of`: the number without the filter. `found`: the place
    of the sample that was searched for.
    """

    node: str
    total: int
    offset: int
    samples: tuple[SampleView, ...]
    of: int = 0
    found: int | None = None


class WaitStep(NamedTuple):
    """A job on the path to the cause of a wait.

    `open`: the number of jobs that this one waits for.
    """

    job: int
    node: str
    directory: str
    state: str
    reason: str = ""
    open: int = 0


class WaitPath(NamedTuple):
    """What a job waits for, or why it is lost: a path from the job to its cause.

    `needs`: all direct dependencies that are open, as (node, state, number). `cut`: the path is
    longer.
    """

    steps: tuple[WaitStep, ...]
    needs: tuple[tuple[str, str, int], ...] = ()
    cut: bool = False


class StaleResult(NamedTuple):
    """A result made from other members than now, with the numbers of new and missing members."""

    node: str
    directory: str
    added: int
    gone: int


class RedoView(NamedTuple):
    """The jobs that would run again. `roots`: how many are chosen or stale.

    `stale`: the first of the stale results. `nodes`: the number of jobs of each node, including all
    jobs that used their results.
    """

    roots: int
    jobs: int
    nodes: tuple[tuple[str, int], ...]
    stale: tuple[StaleResult, ...] = ()


class RefusedJobs(NamedTuple):
    """Jobs of a node that no plan would include now, and why."""

    node: str
    jobs: int
    reason: str

    def __str__(self) -> str:
        """Return a text such as `simulate: 24 samples are refused: nowhere to go`."""
        samples = plural(self.jobs, "sample is", "samples are")
        return f"{visible(self.node)}: {samples} refused: {self.reason}"


class RunView(NamedTuple):
    """A run. `holder`: the process that drives it now, "" for none.

    `here`: whether this process drives the run. `why`: the decision that the run waits for.
    `spent`: what its jobs are charged; `used`: the hours of the ended jobs, by their own marks;
    None if no marks are on this machine.
    """

    id: str
    status: RunStatus
    created: float
    holder: str
    here: bool
    why: str
    limits: RunLimits
    spent: Spent
    priority: str
    execution: str
    used: Cost | None = None


class NetworkView(NamedTuple):
    """A network, and its run if there is one. `problems` and `notices` are sentences.

    `retired`: how many directories belong to samples that no source has any more. `changed`:
    network.toml or a source's file differs from the one that the run was made from. `left`: the
    upper bound of what the unsubmitted jobs will ask for, as far as it is known; `refused`: the
    unsubmitted jobs that no plan would include now, and why. `clusters`: the names of the clusters
    that jobs can be submitted to.
    """

    generation: int
    at: float
    name: str
    nodes: tuple[NodeView, ...]
    links: tuple[LinkView, ...]
    failures: tuple[FailureView, ...]
    run: RunView | None
    problems: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    retired: int = 0
    changed: bool = False
    estimate: Estimate | None = None
    left: Cost = Cost()
    refused: tuple[RefusedJobs, ...] = ()
    clusters: tuple[str, ...] = ()

    @property
    def waiting(self) -> int:
        """Return how many jobs wait for inputs; most of them have no directory yet."""
        return sum(node.counts[GraphJobState.WAITING] for node in self.nodes if node.counts)

    @property
    def jobs(self) -> int:
        """Return how many jobs are known."""
        return sum(sum(node.counts) for node in self.nodes)
