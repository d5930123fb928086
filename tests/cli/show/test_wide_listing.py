"""Rows that numpy lays out are the rows that are laid out without it."""

from __future__ import annotations

import io
import sys
from typing import Any
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st
from rowtui.cli.output.output import Output
from rowtui.cli.show import listing, wide_listing
from rowtui.cli.show.listing import DirectoryTable, Element
from rowtui.core.groups.form import cut_groups
from rowtui.core.groups.model import ActionStatus, Status
from rowtui.core.groups.status import only_status, with_status
from rowtui.core.state.model import Directories, Submitted
from rowtui.core.workflow.model import Action, GroupRule

from tests.core.state.building import built

COUNT = 9
VALUES = {
    f"d{number:02d}".encode(): {
        "a": number / 4 + 0.1,
        "b": number * 100,
        "z": -0.0 if number % 2 else 0.0,
        "c": None if number else "",
    }
    for number in range(COUNT)
}
POINTERS = ["/a", "/b", "/c", "/z"]
ONE_LENGTH = built(VALUES, pointers=POINTERS)
LENGTHS = built(
    {name + b"x" * (name[-1] % 5): it for name, it in VALUES.items()}, pointers=POINTERS
)

bits = st.integers(0, (1 << COUNT) - 1)


@st.composite
def elements(draw: Any, directories: Directories) -> Element:
    completed, submitted, failed = draw(bits), draw(bits), draw(bits)
    submitted &= ~completed
    eligible = draw(bits) & ~completed & ~submitted
    waiting = draw(bits) & ~completed & ~submitted & ~eligible
    rule = GroupRule(maximum_size=draw(st.sampled_from([None, 1, 2, 3])))
    action = Action(0, "x", "true", group=rule)
    row = ActionStatus(action, completed, submitted, eligible, waiting, failed & eligible)
    statuses = draw(st.lists(st.sampled_from(Status), min_size=1, unique=True))
    cut = cut_groups(action, directories, with_status(row, statuses))
    jobs = {at: Submitted("c", 7 * 10**at) for at in range(COUNT) if submitted >> at & 1}
    return Element(cut, draw(st.integers(0, len(cut))), row, jobs, only_status(row, statuses))


@given(
    given=st.sampled_from([ONE_LENGTH, LENGTHS]).flatmap(
        lambda it: st.tuples(st.just(it), st.lists(elements(it), min_size=1, max_size=3))
    ),
    pointers=st.lists(st.sampled_from(["/a", "/b", "/c", "/z"]), max_size=2),
    piece=st.sampled_from([1, 3, 1 << 16]),
    with_jobs=st.booleans(),
    separate=st.booleans(),
)
def test_many_rows_are_printed_as_few_are(
    given: tuple[Directories, list[Element]],
    pointers: list[str],
    piece: int,
    with_jobs: bool,
    separate: bool,
) -> None:
    directories, shown = given
    printed = {}

    for wide_from in (0, 1 << 40):
        with (
            mock.patch.object(sys, "stdout", io.StringIO()) as said,
            mock.patch.object(listing, "PIECE", piece),
            mock.patch.object(wide_listing, "PIECE", piece),
            mock.patch.object(listing, "WIDE_FROM", wide_from),
            mock.patch.object(wide_listing, "wide_rows", wraps=wide_listing.wide_rows) as taken,
        ):
            DirectoryTable(
                directories, shown, pointers, with_jobs=with_jobs, separate=separate
            ).write(Output(color="never"), header=True)
        assert taken.called is (wide_from == 0)
        printed[wide_from] = said.getvalue()

    assert printed[0] == printed[1 << 40]


def rows_of(directories: Directories, pointers: list[str]) -> Any:
    every = (1 << len(directories)) - 1
    row = ActionStatus(Action(0, "x", "true"), eligible=every)
    element = Element(cut_groups(row.action, directories, every), 1, row, {}, Status.ELIGIBLE)
    columns = [listing.TextColumn(header) for header in ("Directory", "Status", *pointers)]
    texts = [listing.PointerTexts(directories, pointer) for pointer in pointers]
    return wide_listing.wide_rows(directories, [element], texts, columns, with_jobs=False)


def test_plain_names_and_values_are_taken_and_strange_ones_are_left_alone() -> None:
    assert rows_of(ONE_LENGTH, ["/a", "/b"]) is not None
    assert rows_of(built({b"a\n": {}, b"b ": {}}), []) is None
    assert rows_of(built({b"a": {}, b"bb": {}}), []) is not None
    assert rows_of(built({b"a": {}, b"b" * 200: {}}), []) is None
    assert rows_of(built({b"a": {"v": 1}, b"b": {}}, pointers=["/v"]), ["/v"]) is None
    assert rows_of(built({b"a": {"v": "é"}, b"b": {"v": ""}}, pointers=["/v"]), ["/v"]) is None
