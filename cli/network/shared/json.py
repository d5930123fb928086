"""JSON output of `network`: the views of a network, for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.cli.jobs.json import JobJson
from rowtui.core.base.document import Flat, KnownMoment, OrAbsent, TextOrNull
from rowtui.core.base.text import Cost
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.network.samples.model import Dimension
from rowtui.core.runs.limits.limits import RunLimits, Spent
from rowtui.core.runs.model import RunStatus
from rowtui.core.runs.views import Estimate, LinkView, RefusedJobs
from rowtui.core.submission.plan.outcome import FailureJson, failure_json

if TYPE_CHECKING:
    from rowtui.core.runs.views import NetworkView, NodeView, SamplesPage
    from rowtui.core.state.model import LastEnd


class RunJson(NamedTuple):
    """A run of a network. `holder`: the process that drives it. `why`: what it waits for.

    `used`: what jobs that ended really took; null: not known.
    """

    id: str
    status: RunStatus
    created_at: KnownMoment
    holder: TextOrNull
    why: TextOrNull
    limits: RunLimits
    charges: Flat[Spent]
    used: Cost | None
    priority: str
    execution: str


class NetworkNodeJson(NamedTuple):
    """A source, node or sink. `states`: samples by state; `blocked` are those that cannot run for
    one that failed or was cancelled. `critical_seconds`: on the longest way.

    `home`: the node whose directories it uses; `lists`: jobs that will make more samples;
    `output`: the product that a sink takes.
    """

    name: str
    kind: str
    action: TextOrNull
    home: TextOrNull
    dimensions: Sequence[Dimension]
    samples: int
    lists: int
    states: dict[str, int]
    level: int
    needed: bool
    critical_seconds: float | None
    output: str


class EventFailureJson(NamedTuple):
    """A sample whose job failed just now."""

    node: str
    directory: str
    failed: FailureJson


class RunEventJson(NamedTuple):
    """One line of `network run`. The first, `run`, has the `id`; the others have what applies.

    `jobs`: those that are sent. `blocked`: samples that cannot run for those in `failed`. `states`:
    samples of the network by state.
    """

    event: str
    id: OrAbsent[str] = None
    at: OrAbsent[str] = None
    sentence: OrAbsent[str] = None
    success: OrAbsent[bool] = None
    plan: OrAbsent[str] = None
    jobs: OrAbsent[Sequence[JobJson]] = None
    completed: OrAbsent[int] = None
    blocked: OrAbsent[int] = None
    new: OrAbsent[int] = None
    published: OrAbsent[int] = None
    failed: OrAbsent[Sequence[EventFailureJson]] = None
    states: OrAbsent[dict[str, int]] = None
    charges: Flat[Spent | None] = None


class FailedSample(NamedTuple):
    """A sample whose job failed, and how many samples are blocked for it."""

    node: str
    directory: str
    failed: FailureJson
    lost: int
    log_path: str | None


class NetworkDocument(NamedTuple):
    """`network show`. `retired`: directories of samples that no source has.

    `left`: what jobs that were not sent yet will ask for.
    """

    name: str
    run: RunJson | None
    changed: bool
    retired: int
    jobs: int
    nodes: Sequence[NetworkNodeJson]
    links: Sequence[LinkView]
    failures: Sequence[FailedSample]
    estimate: Estimate | None
    left: Cost
    refused: Sequence[RefusedJobs]
    problems: Sequence[str]
    notices: Sequence[str]


class ListedSample(NamedTuple):
    """One sample of a node, and the state of its job."""

    directory: str
    values: dict[str, Any]
    state: TextOrNull
    reason: TextOrNull
    log_path: str | None


class ListedSamples(NamedTuple):
    """`network show NODE`: samples from `offset` on, of `total`."""

    node: str
    total: int
    offset: int
    samples: Sequence[ListedSample]


def network_document(
    view: NetworkView, logs: Mapping[int, str], ends: Mapping[int, LastEnd]
) -> NetworkDocument:
    """Return `network show --json`. `logs`, `ends`: paths, and how failed jobs ended, by job."""
    return NetworkDocument(
        view.name,
        None
        if (run := view.run) is None
        else RunJson(
            run.id,
            run.status,
            run.created,
            run.holder,
            run.why,
            run.limits,
            run.spent,
            run.used,
            run.priority,
            run.execution,
        ),
        view.changed,
        view.retired,
        view.jobs,
        [_node(node) for node in view.nodes],
        view.links,
        [
            FailedSample(
                it.node,
                it.directory,
                failure_json(it.reason, ends.get(it.job)),
                it.lost,
                logs.get(it.job),
            )
            for it in view.failures
        ],
        view.estimate,
        view.left,
        view.refused,
        view.problems,
        view.notices,
    )


def states_json(counts: tuple[int, ...]) -> dict[str, int]:
    """Return the number of jobs in each state."""
    return {state.name.lower(): counts[state] for state in GraphJobState} if counts else {}


def _node(node: NodeView) -> NetworkNodeJson:
    return NetworkNodeJson(*node[:7], states_json(node.counts), *node[8:])


def samples_document(page: SamplesPage, logs: Mapping[str, str]) -> ListedSamples:
    """Return `network show NODE --json`. `logs`: by directory."""
    samples = [
        ListedSample(it.directory, it.values, it.state, it.reason, logs.get(it.directory))
        for it in page.samples
    ]
    return ListedSamples(page.node, page.total, page.offset, samples)
