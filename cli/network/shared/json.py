"""JSON output of `network`: the views of a network, for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rowtui.core.base.document import utc
from rowtui.core.base.json import VERSION
from rowtui.core.base.text import Cost
from rowtui.core.clusters.schedulers.base import job_label
from rowtui.core.engine.api.json.directories import failed_for
from rowtui.core.engine.api.json.values import cost_of
from rowtui.core.network.graph.job_model import GraphJobState

if TYPE_CHECKING:
    from rowtui.core.base.json.directories import FailureJson
    from rowtui.core.base.json.network import (
        ChargesJson,
        EstimateJson,
        LimitsJson,
        NetworkJson,
        NetworkNodeJson,
        RunJson,
        SampleJson,
        SamplesJson,
    )
    from rowtui.core.runs.limits.limits import RunLimits, Spent
    from rowtui.core.runs.views import (
        Estimate,
        NetworkView,
        NodeView,
        RunView,
        SamplesPage,
        SampleView,
    )
    from rowtui.core.state.model import LastEnd


def network_json(
    view: NetworkView, logs: Mapping[int, str], ends: Mapping[int, LastEnd]
) -> NetworkJson:
    """Return `network show --json`. `logs`, `ends`: paths, and how failed jobs ended, by job."""
    return {
        "version": VERSION,
        "name": view.name,
        "run": None if view.run is None else run_json(view.run),
        "changed": view.changed,
        "retired": view.retired,
        "jobs": view.jobs,
        "nodes": [_node(node) for node in view.nodes],
        "links": [
            {
                "source": it.source,
                "target": it.target,
                "input": it.input,
                "output": it.output,
                "collapse": list(it.collapse),
                "expand": it.expand or None,
                "require": it.require or None,
            }
            for it in view.links
        ],
        "failures": [
            {
                "node": it.node,
                "directory": it.directory,
                "failed": failure_json(it.reason, ends.get(it.job)),
                "lost": it.lost,
                "log_path": logs.get(it.job),
            }
            for it in view.failures
        ],
        "estimate": None if view.estimate is None else _estimate(view.estimate),
        "left": cost_of(view.left),
        "refused": [{"node": it.node, "jobs": it.jobs, "reason": it.reason} for it in view.refused],
        "problems": list(view.problems),
        "notices": list(view.notices),
    }


def failure_json(reason: str, end: LastEnd | None) -> FailureJson:
    """Return why the job of a sample failed. `end`: how its directory's job ended, if known."""
    if end is None:
        return failed_for(reason, None, "")
    return failed_for(reason, job_label(end.job_id, end.token), end.cluster)


def run_json(run: RunView) -> RunJson:
    """Return a run, with its limits and its charges."""
    return {
        "id": run.id,
        "status": run.status.value,
        "created_at": utc(run.created) or "",
        "holder": run.holder or None,
        "why": run.why or None,
        "limits": limits_json(run.limits),
        **charged_json(run.spent),
        "used": None if run.used is None else cost_of(run.used),
        "priority": run.priority,
        "execution": run.execution,
    }


def limits_json(limits: RunLimits) -> LimitsJson:
    """Return the limits of a run's charges."""
    return {
        "cpu_hours": limits.cpu_hours,
        "gpu_hours": limits.gpu_hours,
        "price": limits.money,
        "currency": limits.currency or None,
        "jobs_in_queue": limits.jobs_in_queue,
        "destinations": None if limits.destinations is None else list(limits.destinations),
        "until": utc(limits.until),
        "failures": limits.failures,
        "failures_in_a_row": limits.failures_in_a_row,
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


def _estimate(estimate: Estimate) -> EstimateJson:
    return {
        "seconds_left": estimate.seconds_left,
        "done_at": utc(estimate.done_at) or "",
        "critical_path": [
            {"node": it.node, "seconds": it.seconds, "jobs": it.jobs}
            for it in estimate.critical_path
        ],
        "basis": estimate.basis,
        "jobs": estimate.jobs,
        "growing": estimate.growing,
    }


def _node(node: NodeView) -> NetworkNodeJson:
    return {
        "name": node.name,
        "kind": node.kind,
        "action": node.action or None,
        "home": node.home or None,
        "dimensions": [{"name": it.name, "size": it.size} for it in node.dimensions],
        "samples": node.samples,
        "lists": node.lists,
        "states": states_json(node.counts),
        "level": node.level,
        "needed": node.needed,
        "critical_seconds": node.critical,
    }


def samples_json(page: SamplesPage, logs: Mapping[str, str]) -> SamplesJson:
    """Return `network show NODE --json`. `logs`: by directory."""
    return {
        "version": VERSION,
        "node": page.node,
        "total": page.total,
        "offset": page.offset,
        "samples": [_sample(it, logs) for it in page.samples],
    }


def _sample(sample: SampleView, logs: Mapping[str, str]) -> SampleJson:
    return {
        "directory": sample.directory,
        "values": sample.values,
        "state": sample.state or None,
        "reason": sample.reason or None,
        "log_path": logs.get(sample.directory),
    }
