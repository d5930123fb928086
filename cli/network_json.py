"""What `network` prints for programs: the views of a network, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rowtui.core.network.job_model import JobState
from rowtui.core.runs.model import limits_fields

if TYPE_CHECKING:
    from rowtui.core.runs.limits import Spent
    from rowtui.core.runs.views import NetworkView, NodeView, RunView, SamplesPage, SampleView


def network_json(view: NetworkView, logs: Mapping[int, str]) -> dict[str, Any]:
    """`network show --json`: see docs/formats.md."""
    guess = view.estimate
    return {
        "version": 1,
        "name": view.name,
        "run": None if view.run is None else run_json(view.run),
        "changed": view.changed,
        "retired": view.retired,
        "jobs": view.jobs,
        "nodes": [_node(node) for node in view.nodes],
        "links": [link._asdict() for link in view.links],
        "failures": [
            {
                "node": it.node,
                "directory": it.directory,
                "reason": it.reason,
                "lost": it.lost,
                "log": logs.get(it.job),
            }
            for it in view.failures
        ],
        "estimate": None
        if guess is None
        else guess._asdict() | {"critical_path": [step._asdict() for step in guess.critical_path]},
        "problems": list(view.problems),
        "notices": list(view.notices),
    }


def run_json(run: RunView) -> dict[str, Any]:
    """A run, with what it may spend and has spent."""
    return {
        "id": run.id,
        "status": run.status.value,
        "created": run.created,
        "holder": run.holder or None,
        "why": run.why or None,
        "limits": limits_fields(run.limits),
        "spent": spent_json(run.spent),
        "used_core_hours": run.used,
        "priority": run.priority,
        "execution": run.execution,
    }


def spent_json(spent: Spent) -> dict[str, Any]:
    """What a run has spent at most."""
    return spent._asdict() | {"money": dict(spent.money)}


def states_json(counts: tuple[int, ...]) -> dict[str, int]:
    """How many jobs are in which state."""
    return {state.name.lower(): counts[state] for state in JobState} if counts else {}


def _node(node: NodeView) -> dict[str, Any]:
    return {
        "name": node.name,
        "kind": node.kind,
        "action": node.action or None,
        "home": node.home,
        "dimensions": [{"name": it.name, "size": it.size} for it in node.dimensions],
        "samples": node.samples,
        "lists": node.lists,
        "states": states_json(node.counts),
        "level": node.level,
        "needed": node.needed,
        "critical": node.critical,
    }


def samples_json(page: SamplesPage, logs: Mapping[str, str]) -> dict[str, Any]:
    """`network show NODE --json`. `logs`: by directory."""
    return {
        "version": 1,
        "node": page.node,
        "total": page.total,
        "offset": page.offset,
        "samples": [_sample(it, logs) for it in page.samples],
    }


def _sample(sample: SampleView, logs: Mapping[str, str]) -> dict[str, Any]:
    return {
        "directory": sample.directory,
        "values": sample.values,
        "state": sample.state or None,
        "reason": sample.reason or None,
        "log": logs.get(sample.directory),
    }
