"""A network as screens and JSON show it: values only, of one moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from rowtui.core.text import Cost

if TYPE_CHECKING:
    from rowtui.core.network.model import Dimension
    from rowtui.core.network.spec import JSON
    from rowtui.core.runs.limits import Limits, Spent
    from rowtui.core.runs.model import RunStatus

BasisOfAll = Literal["given", "measured", "walltime limits", "mixed"]


class Step(NamedTuple):
    """One node on the critical path: how long it still takes there, and through how many jobs."""

    node: str
    seconds: float
    jobs: int = 1


class Estimate(NamedTuple):
    """`done_at`: epoch seconds. `critical_path`: the longest way that is left, in order.

    `basis`: of the run times of what is left; of wall time limits it is the latest moment, not the
    likely one. `jobs`: how many are left; `growing`: lists that jobs will make are not in it.
    """

    seconds_left: float
    done_at: float
    critical_path: tuple[Step, ...]
    basis: BasisOfAll
    jobs: int
    growing: bool = False


class NodeView(NamedTuple):
    """A source, a node or a sink. `counts[state]` are jobs (`JobState`); () of a source.

    `level`: how many links it is away from the sources, at most. `lists`: jobs of others that will
    tell how many more samples it has. `needed`: by some sink; else it is not run.
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
    critical: float | None = None  # seconds that it adds to the critical path; None: not on it


class LinkView(NamedTuple):
    """A link into an input. `require`: "" for all members."""

    source: str
    target: str
    input: str
    output: str
    collapse: tuple[str, ...]
    expand: str
    require: str


class FailureView(NamedTuple):
    """A job that failed by itself, and how many jobs are lost for it."""

    node: str
    directory: str
    reason: str
    lost: int
    job: int


class SampleView(NamedTuple):
    """One sample of a node. `state`: a `JobState`'s name in small letters; "" of a source.

    `job`: its number in the job graph; -1 of a source.
    """

    directory: str
    values: dict[str, JSON]
    state: str
    reason: str = ""
    job: int = -1


class SamplesPage(NamedTuple):
    """Some samples of a node, failures first unless asked otherwise.

    `total`: how many there are of those asked for; `of`: without the filter. `found`: where the
    sample that was looked for stands.
    """

    node: str
    total: int
    offset: int
    samples: tuple[SampleView, ...]
    of: int = 0
    found: int | None = None


class WaitStep(NamedTuple):
    """A job on the way to what another one waits for. `open`: jobs that this one waits for."""

    job: int
    node: str
    directory: str
    state: str
    reason: str = ""
    open: int = 0


class Waits(NamedTuple):
    """What a job waits for, or is lost for: a way from it to what has to happen first.

    `needs`: all that it waits for itself, as (node, state, how many). `cut`: the way goes on.
    """

    steps: tuple[WaitStep, ...]
    needs: tuple[tuple[str, str, int], ...] = ()
    cut: bool = False


class StaleResult(NamedTuple):
    """A result made from other members than now: so many are new, so many are gone."""

    node: str
    directory: str
    added: int
    gone: int


class RedoView(NamedTuple):
    """What would run again. `roots`: chosen, or stale; `stale`: the first of the stale ones.

    `nodes`: how many jobs of each, with all that was made from their results.
    """

    roots: int
    jobs: int
    nodes: tuple[tuple[str, int], ...]
    stale: tuple[StaleResult, ...] = ()


class RunView(NamedTuple):
    """A run. `holder`: who drives it now, "" for nobody. `here`: this process does.

    `why`: what it waits for a person to decide. `spent` is what its jobs asked for; `used`: the
    core-hours of those jobs that ended, by their own marks; None if no marks are here.
    """

    id: str
    status: RunStatus
    created: float
    holder: str
    here: bool
    why: str
    limits: Limits
    spent: Spent
    priority: str
    execution: str
    used: float | None = None


class NetworkView(NamedTuple):
    """A network, and its run if there is one. `problems` and `notices` are sentences.

    `retired`: how many directories are of samples that no source has any more. `changed`:
    network.toml or a source's file is not what the run was made from. `left`: what the jobs that
    are not with a scheduler yet will ask for at most, as far as is known. `clusters`: the names of
    those that jobs can be sent to.
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
    clusters: tuple[str, ...] = ()

    @property
    def jobs(self) -> int:
        """How many jobs there are, as far as is known."""
        return sum(sum(node.counts) for node in self.nodes)
