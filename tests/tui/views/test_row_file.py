"""Lists as files, and the columns that a person chose: hostile names and broken files included."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from rowtui.tui.shell.column_choice import FieldChoice, KeptFields
from rowtui.tui.views.export import RowFile
from rowtui.tui.widgets.columns import TableColumn

HOSTILE = ['=cmd|" /C calc"!A0', "+1", "-1", "@x", "\t=1", 'a"b,c\nd', "\udcff", "ä\x1b[31m", ""]
COLUMNS = [("name", "Name"), ("size", "=Size")]


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_hostile_names_are_one_cell_each_and_no_formula(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"rows.{kind}"
    file = RowFile(path, COLUMNS)
    file.add([{"name": name, "size": -at} for at, name in enumerate(HOSTILE)])
    assert not path.exists()
    file.done()
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    if kind == "json":
        assert [row["name"] for row in json.loads(path.read_text())] == HOSTILE
        return
    with path.open(newline="") as opened:
        [head, *rows] = list(csv.reader(opened))
    assert head == ["Name", "'=Size"]
    names = [row[0] for row in rows]
    assert [name[:1] == "'" for name in names] == [True] * 5 + [False] * 4
    assert [name.lstrip("'") for name in names[:6]] == HOSTILE[:6]
    assert names[6] == "\\udcff"
    assert [row[1] for row in rows] == [str(-at) for at in range(len(HOSTILE))]


def test_a_file_that_is_given_up_leaves_nothing_and_the_old_one_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("old")
    file = RowFile(path, COLUMNS)
    file.add([{"name": "a"}])
    file.give_up()
    assert [one.name for one in tmp_path.iterdir()] == ["rows.csv"]
    assert path.read_text() == "old"


ABC = tuple(TableColumn(name, name.upper(), 3) for name in "abc")


def test_chosen_columns_are_kept_for_each_list(tmp_path: Path) -> None:
    told: list[str] = []
    kept = KeptFields(tmp_path / "new", told.append)
    assert kept.of("groups").shown(ABC) == ABC
    kept.choose("groups", FieldChoice(("c", "a", "b"), frozenset({"a"})))
    again = KeptFields(tmp_path / "new", told.append)
    assert [one.id for one in again.of("groups").shown(ABC)] == ["c", "b"]
    assert again.of("other") == FieldChoice()
    new = (*ABC, TableColumn("new", "New", 3))
    assert [one.id for one in again.of("groups").shown(new)] == ["c", "new", "b"]
    assert [one.id for one in FieldChoice(("a",), frozenset("abc")).shown(ABC)] == ["a"]
    assert told == []


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"version": 2}', '{"version": 1, "lists": {"a": 3}}', "[" * 100_000]
)
def test_a_broken_file_is_left_alone_and_told_once(tmp_path: Path, text: str) -> None:
    path = tmp_path / "lists.json"
    path.write_text(text)
    told: list[str] = []
    kept = KeptFields(tmp_path, told.append)
    assert kept.of("groups") == FieldChoice()
    kept.choose("groups", FieldChoice(("a",)))
    assert kept.of("groups").order == ("a",)
    assert len(told) == 1
    assert "is not used" in told[0]
    assert path.read_text() == text
