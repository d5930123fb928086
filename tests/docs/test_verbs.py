"""A verb of the dashboard is one of the command line, by the same name, or there is a reason."""

from __future__ import annotations

import importlib.util
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType

import pytest
from rowtui.tui.commands.registry import BY_ID, COMMANDS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def verbs() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_verbs", DOCS / "make_verbs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_of_verbs_is_what_both_registries_have(verbs: ModuleType) -> None:
    written = (DOCS / "verbs.md").read_text(encoding="utf-8")
    assert written == verbs.page(), "run: python docs/make_verbs.py"


def test_every_command_of_the_dashboard_has_a_twin_or_a_reason(verbs: ModuleType) -> None:
    without = {one.id for one in COMMANDS if not one.twin}
    assert {name for name in without if not verbs.reason_of(name)} == set()
    for patterns in verbs.SCREEN_ONLY:
        for pattern in patterns.split():
            assert any(fnmatchcase(name, pattern) for name in without), pattern
    assert [name for name in without if BY_ID[name].asks] == ["submit.export"]


def test_every_twin_can_be_typed(verbs: ModuleType) -> None:
    leaves = verbs.leaves()
    for one in COMMANDS:
        if one.twin:
            name, _, option = one.twin.partition(" --")
            assert verbs.command_of(one.twin), one.id
            assert not option or f"--{option}" in leaves[name]._option_string_actions, one.id


def test_every_command_of_the_command_line_is_a_twin_or_has_a_reason(verbs: ModuleType) -> None:
    covered = verbs.covered()
    assert covered.isdisjoint(verbs.COMMAND_LINE_ONLY)
    assert covered | set(verbs.COMMAND_LINE_ONLY) == set(verbs.leaves())


def test_twins_have_the_same_name(verbs: ModuleType) -> None:
    others = {one.id for one in COMMANDS if one.twin and not verbs.has_same_name(one)}
    assert others == set(verbs.OTHER_NAMES)
