"""JSON output of `network`: the views of a network, for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from rowtui.core.base.document import TextOrNull, utc
from rowtui.core.base.json.directories import CostJson, FailureJson
from rowtui.core.base.json.network import ChargesJson
from rowtui.core.base.text import Cost
from rowtui.core.clusters.schedulers.base import job_label
from rowtui.core.engine.api.json.directories import failed_for
from rowtui.core.engine.api.json.values import cost_of
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.network.samples.model import Dimension
from rowtui.core.runs.limits.limits import RunLimits
from rowtui.core.runs.views import Estimate, LinkView, RefusedJobs

if TYPE_CHECKING:
    from rowtui.core.runs.limits.limits import Spent
    from rowtui.core.runs.views import NetworkView, NodeView, RunView, SamplesPage
    from rowtui.core.state.model import LastEnd


class RunJson(ChargesJson):
    """A run of a network. `holder`: the process that drives it. `why`: what it waits for.

    `used`: what jobs that ended really took; null: not known.
    """

    id: str
    status: str
    created_at: str
    holder: str | None
    why: str | None
    limits: RunLimits
    used: CostJson | None
    priority: str
    execution: str


class NetworkNodeJson(TypedDict):
    """A source, node or sink. `states`: samples by state; `blocked` are those that cannot run for
    one that failed or was cancelled. `critical_seconds`: on the longest way.

    `home`: the node whose directories it uses; `lists`: jobs that will make more samples.
    """

    name: str
    kind: str
    action: str | None
    home: str | None
    dimensions: Sequence[Dimension]
    samples: int
    lists: int
    states: dict[str, int]
    level: int
    needed: bool
    critical_seconds: float | None


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
    left: CostJson
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
        None if view.run is None else _run(view.run),
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
        cost_of(view.left),
        view.refused,
        view.problems,
        view.notices,
    )


def failure_json(reason: str, end: LastEnd | None) -> FailureJson:
    """Return why the job of a sample failed. `end`: how its directory's job ended, if known."""
    if end is None:
        return failed_for(reason, None, "")
    return failed_for(reason, job_label(end.job_id, end.token), end.cluster)


def _run(run: RunView) -> RunJson:
    return {
        "id": run.id,
        "status": run.status.value,
        "created_at": utc(run.created) or "",
        "holder": run.holder or None,
        "why": run.why or None,
        "limits": run.limits,
        **charged_json(run.spent),
        "used": None if run.used is None else cost_of(run.used),
        "priority": run.priority,
        "execution": run.execution,
    }


def charged_json(spent: Spent) -> ChargesJson:
    """Return what a run's submitted jobs ask for; a price in one currency is in the cost too."""
    ((currency, price),) = spent.money.items() if len(spent.money) == 1 else (("", None),)
    return {
        "charged": cost_of(Cost(spent.cpu_hours, spent.gpu_hours), price, currency),
        "prices": dict(spent.money),
        "jobs_in_queue": spent.jobs_in_queue,
        "failures": spent.failures,
        "failures_in_a_row": spent.failures_in_a_row,
    }


def states_json(counts: tuple[int, ...]) -> dict[str, int]:
    """Return the number of jobs in each state."""
    return {state.name.lower(): counts[state] for state in GraphJobState} if counts else {}


def _node(node: NodeView) -> NetworkNodeJson:
    return {
        "name": node.name,
        "kind": node.kind,
        "action": node.action or None,
        "home": node.home or None,
        "dimensions": node.dimensions,
        "samples": node.samples,
        "lists": node.lists,
        "states": states_json(node.counts),
        "level": node.level,
        "needed": node.needed,
        "critical_seconds": node.critical,
    }


def samples_document(page: SamplesPage, logs: Mapping[str, str]) -> ListedSamples:
    """Return `network show NODE --json`. `logs`: by directory."""
    samples = [
        ListedSample(it.directory, it.values, it.state, it.reason, logs.get(it.directory))
        for it in page.samples
    ]
    return ListedSamples(page.node, page.total, page.offset, samples)
