"""`budget` of clusters.toml: nothing goes beyond it without one more yes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Shell
from tests.cli.in_process import Here, prepared
from tests.cli.on_clusters import configure
from tests.cli.terminal import on_a_terminal

WORKFLOW = """\
[[action]]
name = "one"
command = "touch workspace/{directory}/x"
products = ["x"]
group.maximum_size = 1
resources.walltime.per_directory = "00:06:00"
"""
CLUSTERS = """\
[[cluster]]
name = "local"
identify.always = true
scheduler = "local"
partition = []
budget = { cpu_hours = 0.25 }
"""
SAYS = (
    "the budget of local is 0.25 CPU-hours, this project is charged 0, and this plan would bring "
    "it to 0.30"
)


class Local(Here):
    """On this machine's own queue."""

    cluster = "local"


@pytest.fixture
def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Here:
    """Three jobs of 0.1 CPU-hours each, and a budget for two of them."""
    made = prepared(tmp_path, monkeypatch, capsys, WORKFLOW)
    configure(made.home, CLUSTERS)
    return Local(made.folder, made.home, made.capture)


def done(here: Here) -> int:
    return len(list((here.folder / "workspace").glob("*/x")))


@pytest.mark.parametrize(
    "options", [("--yes",), ("--yes", "--json"), ("--yes", "--pack", "--search", "0")]
)
def test_without_a_second_yes_nothing_beyond_a_budget_is_submitted(
    here: Here, options: tuple[str, ...]
) -> None:
    refused = here("submit", *options)

    assert refused.code == 1
    assert "the budget of local is 0.25 CPU-hours" in refused.err
    assert "--over-budget" in refused.err
    assert done(here) == 0


def test_what_was_submitted_counts_and_the_option_is_the_second_yes(here: Here) -> None:
    assert SAYS in here("submit", "--yes").err
    assert here("submit", "--yes", "-n", "2").code == 0
    assert done(here) == 2
    again = here("submit", "--yes").err
    assert "this project is charged 0.20, and this plan would bring it to 0.30" in again

    assert here("submit", "--yes", "--over-budget").code == 0
    assert done(here) == 3


def test_retry_asks_as_well(here: Here) -> None:
    workflow = here.folder / "workflow.toml"
    workflow.write_text(WORKFLOW.replace("touch workspace", "false workspace"))
    assert here("submit", "--yes", "-n", "2").code == 1
    workflow.write_text(WORKFLOW)

    assert "charged 0.20, and this plan would bring it to 0.40" in here("resubmit", "--yes").err
    assert done(here) == 0
    assert here("resubmit", "--yes", "--over-budget").code == 0
    assert done(here) == 2


@pytest.mark.parametrize(("answer", "jobs"), [(b"y\n\n", 0), (b"y\n\xff\n", 0), (b"y\ny\n", 3)])
def test_the_second_question_is_no_unless_it_is_answered_with_yes(
    here: Here, answer: bytes, jobs: int
) -> None:
    shell = Shell(here.folder, here.home)

    _, seen = on_a_terminal(shell, "submit", typed=answer)

    assert SAYS[1:] in " ".join(seen.decode(errors="replace").split())
    assert done(here) == jobs
