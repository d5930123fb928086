"""The listing in columns prints what a table made row by row prints."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.cli.main import main
from rowtui.cli.output.output import Output, Row, TableCell, TextColumn, table_lines
from rowtui.cli.show import listing
from rowtui.cli.show.listing import STYLES, DirectoryTable, Element
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.values import compact, resolve
from rowtui.core.groups.form import cut_groups
from rowtui.core.groups.model import ActionStatus
from rowtui.core.state.model import Submitted
from rowtui.core.workflow.model import Action, GroupRule

from tests.cli.in_process import prepared
from tests.core.state.building import built

NAMES = ["a", "b\x1b[31m", "café", "日本語", "x" * 20, "y\n", "zz", "ÿ"]
VALUES = {name.encode(): {"a": value} for name, value in zip(sorted(NAMES), range(8), strict=True)}
DIRECTORIES = built(VALUES)  # type: ignore[arg-type]
COUNT = len(NAMES)

bits = st.integers(0, (1 << COUNT) - 1)


@st.composite
def elements(draw: Any) -> Element:
    completed, submitted, failed = draw(bits), draw(bits), draw(bits)
    submitted &= ~completed
    eligible = draw(bits) & ~completed & ~submitted
    waiting = draw(bits) & ~completed & ~submitted & ~eligible
    rule = GroupRule(maximum_size=draw(st.sampled_from([None, 1, 2, 3])))
    action = Action(0, "x", "true", group=rule)
    row = ActionStatus(action, completed, submitted, eligible, waiting, failed & eligible)
    members = completed | submitted | eligible | waiting
    cut = cut_groups(action, DIRECTORIES, members & draw(bits))
    jobs = {at: Submitted("c", 7 * at) for at in range(COUNT) if submitted >> at & 1}
    return Element(cut, draw(st.integers(0, len(cut))), row, jobs)


def row_by_row(
    shown: list[Element], pointers: list[str], out: Output, *, with_jobs: bool, separate: bool
) -> list[Row]:
    rows: list[Row] = []
    for element in shown:
        for number, group in enumerate(element.cut.page(0, element.shown)):
            for at in group.indices:
                status = element.row.status_of(at)
                assert status is not None
                cells: list[str | TableCell] = [
                    DIRECTORIES.name(at),
                    TableCell(status.value, STYLES[status]),
                ]
                if with_jobs:
                    job = element.submitted.get(at)
                    cells.append(f"{job.cluster}/{job.job_id}" if job and job.job_id else "")
                value = DIRECTORIES.value(at)
                cells += [compact(resolve(value, pointer)) for pointer in pointers]
                rows.append(cells)
            if number < len(element.cut) - 1 and separate:
                rows.append(None)
        rows.append(None)
    return rows[:-1]


@given(
    shown=st.lists(elements(), min_size=1, max_size=3),
    pointers=st.lists(st.sampled_from(["/a", ""]), max_size=2),
    color=st.sampled_from(["never", "always"]),
    piece=st.sampled_from([1, 3, 1 << 16]),
    with_jobs=st.booleans(),
    separate=st.booleans(),
    header=st.booleans(),
)
def test_a_listing_in_columns_is_the_table_of_its_rows(
    shown: list[Element],
    pointers: list[str],
    color: str,
    piece: int,
    with_jobs: bool,
    separate: bool,
    header: bool,
) -> None:
    out = Output(color=color)
    columns = [TextColumn("Directory", style="bold"), TextColumn("Status")]
    columns += [TextColumn("Job ID")] * with_jobs
    columns += [TextColumn(pointer, right=True, right_header=False) for pointer in pointers]
    rows = row_by_row(shown, pointers, out, with_jobs=with_jobs, separate=separate)
    expected = table_lines(columns, rows, out, header=header)

    with (
        mock.patch.object(sys, "stdout", io.StringIO()) as said,
        mock.patch.object(listing, "PIECE", piece),
    ):
        DirectoryTable(DIRECTORIES, shown, pointers, with_jobs=with_jobs, separate=separate).write(
            out, header=header
        )

    assert said.getvalue() == "".join(f"{line}\n" for line in expected)


def test_the_first_directory_that_lacks_a_value_is_named_before_anything_is_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    directories = built({b"p": {"a": 1, "b": 1}, b"q": {"a": 1}, b"r": {}})
    row = ActionStatus(Action(0, "x", "true"), eligible=0b111)
    element = Element(cut_groups(row.action, directories, 0b111), 1, row, {})

    table = DirectoryTable(directories, [element], ["/a", "/b"], with_jobs=True, separate=True)
    with pytest.raises(RowtuiError, match="directory 'q' does not contain the JSON pointer '/b'"):
        table.write(Output(), header=True)

    assert capsys.readouterr().out == ""


def test_no_name_in_a_list_steers_a_terminal_behind_a_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    workflow = '[[action]]\nname = "one"\ncommand = "touch {directory}"\n'
    here = prepared(tmp_path, monkeypatch, capsys, '[workspace]\nvalue_file = "v"\n' + workflow)
    for name in ("a\x1b[2J", "b\nc", "d\u202e"):
        folder = here.folder / "workspace" / name
        folder.mkdir()
        (folder / "v").write_text('{"\\u001b": "\\u001b[2J\\n"}')
    for name in "abc":
        (here.folder / "workspace" / name / "v").write_text('{"\\u001b": 1}')
    escaped = ["a", "a\\x1b[2J", "b", "b\\nc", "c", "d\\u202e"]

    capsys.readouterr()
    assert main(["show", "directories"]) == 0
    assert capsys.readouterr().out.splitlines() == escaped
    assert main(["show", "directories", "-a", "one", "--value", "/\x1b"]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split() == ["Directory", "Status", "Job", "ID", "/\\x1b"]
    assert [row.split()[0] for row in rows] == escaped
    assert len({len(row) for row in rows}) == 1

    # Programs get the very names.
    assert main(["show", "directories", "-a", "one", "--short"]) == 0
    assert capsys.readouterr().out == "a\na\x1b[2J\nb\nb\nc\nc\nd\u202e\n"
    assert "a\x1b[2J" in here.json("show", "directories")["directories"]
