"""Real projects and real terminals for the journeys."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.journeys.pane import Pane, end_what_is_left, processes_of

WORKFLOW = """\
[workspace]
value_file = "v.json"

[[action]]
name = "simulate"
command = "echo simulating {directory}; touch {workspace_path}/{directory}/trajectory"
products = ["trajectory"]
[action.group]
sort_by = ["/temperature"]
maximum_size = 2

[[action]]
name = "fit"
command = '''
echo fitting {directory}
if [ "$ACTION_WALLTIME_IN_MINUTES" -lt 2 ]; then echo "no convergence"; exit 3; fi
touch {workspace_path}/{directory}/fit
'''
products = ["fit"]
previous_actions = ["simulate"]
[action.resources]
walltime.per_submission = "00:01:00"
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """All that is written outside of a project, with a queue that ends with the test."""
    home = tmp_path / "home"
    home.mkdir()
    yield home
    end_what_is_left(home)
    assert processes_of(home) == {}


@pytest.fixture
def project(home: Path) -> Path:
    """Six directories, and two actions of which one fails at first."""
    root = home / "study"
    for number in range(6):
        directory = root / "workspace" / f"d{number}"
        directory.mkdir(parents=True)
        (directory / "v.json").write_text(json.dumps({"temperature": 300 + number}))
    (root / "workflow.toml").write_text(WORKFLOW)
    return root


@pytest.fixture
def terminal(home: Path) -> Iterator[Callable[..., Pane]]:
    """Opens terminals, and ends them."""
    panes: list[Pane] = []

    def opened(folder: Path, size: tuple[int, int] = (80, 24), **more: str) -> Pane:
        pane = Pane(folder, home, size, **more)
        panes.append(pane)
        pane.sees("shell>")
        return pane

    yield opened
    for pane in panes:
        pane.close()
