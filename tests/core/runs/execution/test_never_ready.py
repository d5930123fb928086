"""`network check` refuses nodes whose jobs workflow.toml would never let run."""

from __future__ import annotations

from pathlib import Path

import pytest
from rowtui.core.base.errors import Problem
from rowtui.core.project.open_project import OpenProject
from rowtui.core.runs.checking import check_network

HEAD = '[workspace]\nvalue_file = "value.json"\n'
SIM = """
[[action]]
name = "sim"
command = "sim {directory}"
products = ["sim"]
"""
NETWORK = """
[[source]]
name = "s"
values = { x = [1, 2] }
[[node]]
name = "sim"
from = "s"
[[node]]
name = "post"
from = "sim"
"""
GATHERED = NETWORK + 'output = "sim"\ncollapse = ["x"]\n'
LISTED = NETWORK + 'output = "sim"\nexpand = "part"\n'
X = '[[action.group.include]]\ncondition = ["/x", ">", 0]\n'


def post(*, command: str = "post {directory}", more: str = "") -> str:
    return (
        f'[[action]]\nname = "post"\ncommand = "{command}"\nproducts = ["post"]\n'
        f'previous_actions = ["sim"]\n{more}'
    )


def own(*, command: str = "post {directory}", more: str = "") -> str:
    return post(command=command, more=more).replace('previous_actions = ["sim"]\n', "")


def kept_to(node: str) -> str:
    return f'[[action.group.include]]\ncondition = ["/node", "==", "{node}"]\n'


def errors(root: Path, workflow: str, network: str) -> list[Problem]:
    (root / "workflow.toml").write_text(HEAD + workflow)
    (root / "network.toml").write_text(network)
    checked = check_network(root, OpenProject.open(root, cluster="local"))
    return [it for it in checked.problems if it.severity == "error"]


@pytest.mark.parametrize(
    ("workflow", "network", "line", "message"),
    [
        (  # shared directories are those of the source
            SIM + post(more=kept_to("post")),
            NETWORK,
            9,
            "its `include` keeps action 'post' out of 2 of the 2 directories of the node, the "
            "first s,x=1: these jobs would never run",
        ),
        (  # only some of them
            SIM + post(more='[[action.group.include]]\ncondition = ["/x", "<", 2]\n'),
            NETWORK,
            9,
            "its `include` keeps action 'post' out of 1 of the 2 directories of the node, the "
            "first s,x=2: these jobs would never run",
        ),
        (  # those that lists will bring
            SIM + own(more=kept_to("posts")),
            LISTED,
            9,
            "its `include` keeps action 'post' out of all directories of the node: these jobs "
            "would never run",
        ),
        (  # a condition that has no answer for directories of another node
            SIM + X + own(more=kept_to("post")),
            GATHERED,
            6,
            "include of action 'sim': the value of directory 'post' has nothing at '/x'",
        ),
        (  # an order by what a gathered sample does not have
            SIM + own(more=kept_to("post") + '[action.group]\nsort_by = ["/x"]\n'),
            GATHERED,
            9,
            "sort_by of action 'post': the value of directory 'post' has nothing at '/x'",
        ),
        (
            SIM + own(command="post {directory} {/x}", more=kept_to("post")),
            GATHERED,
            9,
            "the value of directory post has no /x, which the command of action 'post' needs",
        ),
    ],
)
def test_what_workflow_toml_would_never_let_run_is_an_error(
    tmp_path: Path, workflow: str, network: str, line: int, message: str
) -> None:
    (error,) = errors(tmp_path, workflow, network)
    assert message in error.message
    assert error.line == line


@pytest.mark.parametrize(
    ("workflow", "network"),
    [
        (SIM + post(more=kept_to("s")), NETWORK),
        (SIM + kept_to("s") + own(more=kept_to("post")), GATHERED),
        (SIM + own(more=kept_to("post") + '[action.group]\nsort_by = ["/part"]\n'), LISTED),
    ],
)  # fmt: skip
def test_what_will_run_is_not_refused(tmp_path: Path, workflow: str, network: str) -> None:
    assert errors(tmp_path, workflow, network) == []
