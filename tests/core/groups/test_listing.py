"""Lists on columns agree, row by row, with the plain reading of the filter's language."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.filter import FilterError, RowFilter, parse_filter, row_matches
from rowtui.core.base.values import MISSING, compare, resolve
from rowtui.core.groups import listing
from rowtui.core.groups.listing import (
    Coded,
    Rows,
    Superseded,
    chosen_rows,
    first_of,
    members_of,
    sorted_rows,
)
from rowtui.core.state.model import bit_set

from tests.core.state.building import built

SCALARS = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, 2.5, "x", "Xy", ""])
)
NAMES = st.text(st.sampled_from("abAB1ä"), min_size=1, max_size=4).map(str.encode)
WORLDS = st.dictionaries(NAMES, st.dictionaries(st.sampled_from(["a", "b"]), SCALARS), min_size=1)
WORDS = ["waiting", "failed", "completed"]
TERMS = st.sampled_from(
    [
        "a", "AB", "1", "ä", "!a", "name=ab", "name~^a", "name~b$", "status=failed", "!fail", "~a.",
        "/a=1", "/a!=1", "/a<2", "/a>=0.5", "/a=x", "/a~x", "/b=", "/b=true", "/b!=null", "name!=a",
        "/a=0.5", "status~ed$", "/b<=-1", "name<2", "a1",
    ]
)  # fmt: skip


def rows_of(world: dict[bytes, Any], codes: list[int], **options: Any) -> Rows:
    directories = built(world)
    status = Coded(np.array(codes), WORDS, said=True)
    return Rows(directories, np.arange(len(world), dtype=np.uint32), {"status": status}, **options)


def pointer_is_nowhere(world: dict[bytes, Any], field: str) -> bool:
    if not field.startswith("/"):
        return False
    return all(resolve(value, field) is MISSING for value in world.values())


@given(WORLDS, st.lists(TERMS, max_size=3), st.data())
@pytest.mark.parametrize("few", [0, 2000])
def test_a_filter_on_columns_takes_the_rows_that_it_takes_one_by_one(
    few: int, world: dict[bytes, Any], terms: list[str], data: st.DataObject
) -> None:
    codes = data.draw(st.lists(st.integers(0, 2), min_size=len(world), max_size=len(world)))
    rows = rows_of(world, codes)
    wanted = parse_filter(" ".join(terms))
    expected = []
    for at, name in enumerate(sorted(world)):
        said = {"name": name.decode(), "status": WORDS[codes[at]]}
        values = {pointer: resolve(world[name], pointer) for pointer in ("/a", "/b")}
        if all(
            row_matches(RowFilter((term,)), said | values if term.field else said)
            for term in wanted.terms
        ):
            expected.append(at)
    before, listing.FEW = listing.FEW, few
    try:
        if any(pointer_is_nowhere(world, field) for field in wanted.fields):
            with pytest.raises(FilterError, match="no directory has a value"):
                chosen_rows(rows, wanted)
        else:
            assert chosen_rows(rows, wanted).tolist() == expected
    finally:
        listing.FEW = before


@given(WORLDS, st.booleans(), st.sampled_from(["name", "status", "/a"]), st.data())
def test_an_order_is_stable_and_rows_without_the_value_come_last(
    world: dict[bytes, Any], descending: bool, column: str, data: st.DataObject
) -> None:
    codes = data.draw(st.lists(st.integers(0, 2), min_size=len(world), max_size=len(world)))
    rows = rows_of(world, codes)
    values = [resolve(world[name], "/a") for name in sorted(world)]
    if column == "/a" and all(value is MISSING for value in values):
        return
    chosen = np.arange(len(world), dtype=np.uint32)
    order = sorted_rows(rows, chosen, column, descending).tolist()
    assert sorted(order) == list(range(len(world)))
    if column == "name":
        assert order == sorted(order, reverse=descending)
    elif column == "status":
        words = [WORDS[code] for code in codes]
        assert order == sorted(range(len(world)), key=words.__getitem__, reverse=descending)
    else:
        lacking = [at for at in order if values[at] is MISSING]
        assert lacking == sorted(lacking) == order[len(order) - len(lacking) :]
        sign = -1 if descending else 1
        for one, other in pairwise(order[: len(order) - len(lacking)]):
            ranked = compare(values[one], values[other])
            assert ranked is None or ranked * sign <= 0
            assert ranked != 0 or one < other


def test_a_newer_question_ends_an_older_one_also_while_values_are_read() -> None:
    world = {b"a%d" % at: {"a": at} for at in range(5)}
    for text in ("/zzz=1", "name~a", "a"):
        with pytest.raises(Superseded):
            chosen_rows(rows_of(world, [0] * 5, go_on=lambda: False), parse_filter(text))


def test_a_pointer_that_no_directory_has_and_a_column_that_there_is_not_are_told() -> None:
    rows = rows_of({b"a": {"a": 1}}, [0])
    with pytest.raises(FilterError, match="no directory has a value at '/zzz'"):
        chosen_rows(rows, parse_filter("/zzz=1"))
    with pytest.raises(FilterError, match="cannot be sorted by 'size'"):
        sorted_rows(rows, np.array([0]), "size", False)


@given(st.sets(st.integers(0, 200)))
def test_members_are_the_positions_of_a_set(positions: set[int]) -> None:
    assert members_of(bit_set(positions)).tolist() == sorted(positions)


def test_a_group_is_found_by_its_first_directory() -> None:
    assert first_of(np.array([4, 2, 7, 1]), [0, 2, 4], 7) == 1
    assert first_of(np.array([4, 2, 7, 1]), [0, 2, 4], 2) is None
