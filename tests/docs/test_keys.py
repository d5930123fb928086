from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def make_keys() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_keys", DOCS / "make_keys.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_of_keys_is_what_the_dashboard_has(make_keys: ModuleType) -> None:
    written = (DOCS / "keys.md").read_text(encoding="utf-8")
    assert written == make_keys.page(), "run: python docs/make_keys.py"


def test_every_command_that_works_is_in_it_once(make_keys: ModuleType) -> None:
    from rowtui.tui.commands.registry import COMMANDS

    rows = [
        line.replace("\\|", "").split("|")
        for line in make_keys.page().splitlines()
        if line.startswith("| ")
    ]
    listed = [row[3].strip() for row in rows if len(row) == 5 and row[3] != " id "]
    assert sorted(listed) == sorted(command.id for command in COMMANDS)


def test_every_command_that_is_typed_is_in_it_once(make_keys: ModuleType) -> None:
    from rowtui.tui.line.commands import LINE_COMMANDS

    page = make_keys.page()
    for one in LINE_COMMANDS:
        assert page.count(f"| `:{one.usage}`") == 1


KEYS_OF_CONNECT = {
    "L": "app.connect",
    "s": "status.submit",
    "6": "go.queue",
    "c": "queue.cancel",
    "Enter": "queue.open",
}


def test_the_keys_of_the_page_on_clusters_do_what_it_says() -> None:
    from rowtui.tui.commands.registry import BY_ID

    page = (DOCS / "connect.md").read_text(encoding="utf-8")
    section = page.split("\n## 7. ")[1].split("\n## ")[0]
    named = set(re.findall(r"`([A-Za-z0-9]|Enter|Esc)`", section)) - {"Esc"}
    assert named == set(KEYS_OF_CONNECT)
    for key, command in KEYS_OF_CONNECT.items():
        assert key.replace("Enter", "enter") in BY_ID[command].keys.split(",")
