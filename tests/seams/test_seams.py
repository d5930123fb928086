"""Commands and views agree in a selection of combinations, and in the first steps of the demos.

`python -m tests.seams` runs all combinations, and `--demos` the whole demos.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

from tests.rig.login import LoginNode
from tests.seams.checker import in_brief
from tests.seams.combinations import Combination, everything, pairs, selection
from tests.seams.demos import DEMOS
from tests.seams.running import run

SELECTION = selection()
HERE = [it for it in SELECTION if it.place == "local"]
ON_CLUSTERS = [it for it in SELECTION if it.place != "local"]


LIKE_ANY = ("nothing is sent", "the first action ended")
"""Moments that do not depend on what happens: those of `success` stand for all."""


def contradictions(which: Combination, folder: Path, login: LoginNode | None) -> list[str]:
    """A line for each, with its moment."""
    return [
        f"{moment.name}: {line}"
        for moment in run(which, folder, login, wanted(which))
        for line in in_brief(moment.contradictions)
    ]


def wanted(which: Combination) -> Callable[[str], bool]:
    return lambda name: which.event == "success" or name not in LIKE_ANY


@pytest.mark.parametrize("which", HERE, ids=str)
def test_commands_and_views_agree_on_this_machine(which: Combination, tmp_path: Path) -> None:
    assert contradictions(which, tmp_path / "here", None) == []


@pytest.mark.parametrize("which", ON_CLUSTERS, ids=str)
def test_commands_and_views_agree_on_a_cluster(
    which: Combination, tmp_path: Path, login: LoginNode
) -> None:
    assert contradictions(which, tmp_path / "here", login) == []


@pytest.mark.parametrize("name", DEMOS)
def test_commands_and_views_agree_at_the_first_steps_of_a_demo(name: str, tmp_path: Path) -> None:
    moments = islice(DEMOS[name](tmp_path / "here"), 2)
    found = [f"{it.name}: {line}" for it in moments for line in in_brief(it.contradictions)]
    assert found == []


def test_the_selection_has_each_pair_of_values() -> None:
    wanted = {pair for row in everything() for pair in pairs(row)}
    assert {pair for row in SELECTION for pair in pairs(row)} == wanted
    assert len(SELECTION) < len(everything()) / 5
