"""The files of a directory, whose names and contents anybody may have written."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.errors import RowtuiError
from rowtui.core.project.views import files
from rowtui.core.project.views.files import (
    hex_lines,
    json_lines,
    list_files,
    path_below,
    read_file,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


@given(VALUES, st.sampled_from([None, 0, 3]), st.booleans())
def test_laid_out_json_is_the_same_value_in_lines(
    value: object, indent: int | None, plain: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=plain)
    lines = list(json_lines(text))
    assert repr(json.loads("\n".join(lines))) == repr(json.loads(text))
    assert lines == list(json_lines("\n".join(lines)))
    assert all(it and it == it.rstrip(" ") for it in lines)


def test_numbers_stay_as_they_are_written_and_short_parts_on_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"e":1e400,"n":NaN,"many":[1.50,2.0],"e":{"x":{}},"l":[]}')
    read = read_file(tmp_path / "a.json")
    assert read.kind == "json"
    assert read.lines == (
        "{", '  "e": 1e400,', '  "n": NaN,', '  "many": [1.50, 2.0],', '  "e": {"x": {}},',
        '  "l": []', "}",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "why"),
    [('{"a": }', "line 1 column 7"), ("[" * 200_000, "nested too deeply"), ("", "line 1 column 1")],
)
def test_what_is_no_json_is_a_text_with_the_reason(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "a.json").write_text(text)
    read = read_file(tmp_path / "a.json")
    assert read.kind == "text"
    assert "not valid JSON" in read.note
    assert why in read.note


def test_json_beyond_the_bounds_is_cut_or_a_text(tmp_path: Path) -> None:
    deep = 450  # levels, with something to indent in each
    (tmp_path / "deep.json").write_text('{"a": [1,\n' * deep + "1" + "]}" * deep)
    read = read_file(tmp_path / "deep.json")
    assert read.kind == "json"
    assert max(map(len, read.lines)) < 200
    (tmp_path / "long.json").write_text(json.dumps(list(range(100_000))))
    read = read_file(tmp_path / "long.json")
    assert len(read.lines) == files.MOST_LINES
    assert read.note == "the first 20,000 lines"
    (tmp_path / "wide.json").write_text(json.dumps(["x" * 500_000]))
    assert max(map(len, read_file(tmp_path / "wide.json").lines)) < 2100
    (tmp_path / "big.json").write_text(json.dumps(["x" * files.MOST_JSON]))
    read = read_file(tmp_path / "big.json")
    assert (read.kind, read.note) == ("text", "larger than 1.0 MB, so it is shown as a text")


CELLS = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), max_size=20)


@given(
    rows=st.lists(st.lists(CELLS, min_size=2, max_size=5), min_size=1, max_size=8),
    kind=st.sampled_from([(".csv", ","), (".tsv", "\t")]),
)
def test_a_table_has_the_cells_that_were_written(
    rows: list[list[str]], kind: tuple[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = [["a", "b"], *rows]
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=kind[1]).writerows(rows)
    path = tmp_path_factory.getbasetemp() / f"table{kind[0]}"
    path.write_text(out.getvalue(), newline="", encoding="utf-8")
    read = read_file(path)
    width = max(map(len, rows))
    assert read.kind == "table"
    assert [list(row) for row in read.rows] == [row + [""] * (width - len(row)) for row in rows]
    assert not read.note


@given(
    data=st.binary(max_size=5000),
    suffix=st.sampled_from([".csv", ".tsv", ".json", ".dat", ".txt", ""]),
)
def test_any_bytes_are_read_as_something_bounded(
    data: bytes, suffix: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"any{suffix}"
    path.write_bytes(data)
    for as_text in (False, True):
        read = read_file(path, as_text=as_text)
        assert read.size == len(data)
        assert read.kind == "text" or not as_text
        assert len(read.lines) <= files.MOST_LINES
        assert all(len(row) == len(read.rows[0]) <= files.MOST_COLUMNS for row in read.rows)


def test_a_table_is_cut_and_another_separator_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x;y\n" + "1,5;2\n" * 3000)
    read = read_file(tmp_path / "a.csv")
    assert read.rows[:2] == (("x", "y"), ("1,5", "2"))
    assert (len(read.rows), read.note) == (1001, "the first 1,000 rows")
    (tmp_path / "b.csv").write_text(",".join("x" * 500) + "\n" + "y" * 2_000_000)
    read = read_file(tmp_path / "b.csv")
    assert read.note == "the first 0 rows, 64 columns at most"
    (tmp_path / "c.csv").write_text('a,b\n"' + "y" * 200_000)
    assert read_file(tmp_path / "c.csv").note.startswith("not a valid table")


def test_other_bytes_are_shown_in_hexadecimal_form(tmp_path: Path) -> None:
    (tmp_path / "a.gsd").write_bytes(b"GSD\x00\x1b[2J" + bytes(range(200)))
    read = read_file(tmp_path / "a.gsd")
    assert (read.kind, read.note) == ("bytes", "no text: the first 208 bytes of it")
    assert read.lines[0].startswith("000000  47 53 44 00 1b 5b 32 4a  00 01 02")
    assert "GSD··[2J" in read.lines[0]
    assert read_file(tmp_path / "a.gsd", as_text=True).kind == "text"
    (tmp_path / "holes.log").write_bytes(b"\0" * 100)
    assert read_file(tmp_path / "holes.log").kind == "text"
    assert list(hex_lines(b"ab")) == [f"{'000000  61 62':<58}ab"]


def test_nothing_but_files_is_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name, why in (("pipe.csv", "not a file"), ("loop", "cannot be read"), ("no", "cannot")):
        with pytest.raises(RowtuiError, match=why):
            read_file(tmp_path / name)
    for name in ("/etc/passwd", "d/../../x", "", "d\0", ".."):
        with pytest.raises(RowtuiError, match="not in the workspace"):
            path_below(tmp_path, name)


def test_a_folder_lists_its_products_first_and_not_more_than_a_thousand_others(
    tmp_path: Path,
) -> None:
    with pytest.raises(RowtuiError, match="cannot be listed"):
        list_files(tmp_path / "none")
    for number in range(1005):
        (tmp_path / f"f{number:04}").touch()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/z.csv").write_text("a\n")
    (tmp_path / "gone").symlink_to("nowhere")
    found = list_files(tmp_path, ["out/z.csv", "f0007", "never.gsd"])
    assert [row.name for row in found.rows[:2]] == ["out/z.csv", "f0007"]
    assert [row.product for row in found.rows[:3]] == [True, True, False]
    assert (len(found.rows), found.more) == (1002, True)
    (tmp_path / "small").mkdir()
    (tmp_path / "small/b").symlink_to("nowhere")
    (tmp_path / "small/a").mkdir()
    found = list_files(tmp_path / "small")
    assert [(row.name, row.folder) for row in found.rows] == [("a", True), ("b", False)]
    assert not found.more
