"""What is left of a network may cost what its jobs ask for, in whatever groups they go."""

from __future__ import annotations

from pathlib import Path

from rowtui.core.network.job_model import JobState
from rowtui.core.network.spec import Schedule
from rowtui.core.runs.left import work_left
from rowtui.core.runs.views import NodeView
from rowtui.core.text import Cost
from rowtui.core.workflow.load import parse_workflow

WORKFLOW = b"""
[[action]]
name = "each"
command = "true {directory}"
[action.resources]
processes.per_submission = 2
walltime.per_directory = "00:30:00"
[[action]]
name = "groups"
command = "true {directory}"
[action.group]
maximum_size = 4
[action.resources]
gpus_per_process = 1
walltime.per_submission = "01:00:00"
"""


def node(action: str, **counts: int) -> NodeView:
    numbers = tuple(counts.get(state.name.lower(), 0) for state in JobState)
    return NodeView("n", "node", action, "n", (), sum(numbers), 0, numbers, 1)


def cost(*nodes: NodeView) -> Cost:
    workflow = parse_workflow(WORKFLOW, Path("."), "workflow.toml")
    return work_left(workflow, nodes, "jobs", Schedule()).cost


def test_only_jobs_that_wait_or_are_ready_are_left() -> None:
    assert cost(node("each", waiting=2, ready=1, complete=9, active=9, failed=9)) == Cost(3.0, 0.0)


def test_what_may_go_in_groups_may_go_alone() -> None:
    assert cost(node("groups", waiting=9)) == Cost(0.0, 9.0)


def test_a_new_run_tries_again_what_failed() -> None:
    workflow = parse_workflow(WORKFLOW, Path("."), "workflow.toml")
    left = work_left(workflow, [node("each", failed=2, ready=1)], "jobs", Schedule(), anew=True)
    assert (left.jobs, left.cost) == (3, Cost(3.0, 0.0))


def test_sources_and_actions_that_are_not_there_cost_nothing() -> None:
    source = NodeView("s", "source", "", "s", (), 9, 0, (), 0)
    assert cost(source, node("gone", ready=9)) == Cost()
