from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.values import MISSING, resolve
from rowtui.core.state.container import CorruptCacheError
from rowtui.core.state.directories import StoredDirectories
from rowtui.core.state.merge import (
    MOST_SEGMENTS,
    build_directories,
    empty_directories,
    merge_directories,
)
from rowtui.core.state.store.store import Store

from tests.core.state.building import POINTERS, Read, built, reading

scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, "x", "ä"])
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=4,
)
bad = st.sampled_from([ValueError("it is empty"), ValueError("no value file")])
name = st.binary(min_size=1, max_size=3).filter(lambda text: b"\0" not in text)
worlds = st.dictionaries(name, json_values | bad, max_size=12)


def assert_is(directories: StoredDirectories, values: dict[bytes, Any]) -> None:
    """Everything that the directories say, against the plain truth."""
    names = sorted(values)
    assert directories.table.all() == names
    wrong = {at: str(values[n]) for at, n in enumerate(names) if isinstance(values[n], Exception)}
    assert dict(directories.bad) == wrong
    for at, one in enumerate(names):
        assert directories.value(at) == (None if at in wrong else values[one])
        assert directories.position(directories.name(at)) == at
    for pointer in (*POINTERS, "/c"):
        column = directories.column(pointer)
        assert len(column.codes) == len(names)
        for at, one in enumerate(names):
            expected = MISSING if at in wrong else resolve(values[one], pointer)
            code = column.codes[at]
            if expected is MISSING:
                assert code == column.missing
            else:
                assert column.distinct[code] == expected
        assert {*column.codes} | {column.missing} >= set(range(len(column.distinct)))


@given(worlds)
def test_what_was_read_is_what_is_told(values: dict[bytes, Any]) -> None:
    assert_is(built(values), values)


@given(st.lists(worlds, min_size=2, max_size=4), st.data())
def test_any_number_of_merges_tells_the_same_as_one_reading(
    steps: list[dict[bytes, Any]], data: st.DataObject
) -> None:
    directories = empty_directories()
    values: dict[bytes, Any] = {}
    for generation, after in enumerate(steps, 1):
        again = [n for n in after if n in values and data.draw(st.booleans())]
        expected = {n: v if n in again or n not in values else values[n] for n, v in after.items()}
        names = [n for n in after if n not in values] + again
        directories, *_ = merge_directories(
            directories,
            values.keys() - after.keys(),
            names,
            reading(expected, names),
            value_file="v.json",
            pointers=POINTERS,
            generation=generation,
        )
        values = expected
        assert_is(directories, values)
        fresh = built(values)
        for pointer in POINTERS:
            ours, anew = directories.column(pointer), fresh.column(pointer)
            assert (list(ours.codes), ours.mixed) == (list(anew.codes), anew.mixed)


def test_a_directory_that_vanished_while_it_was_read_is_not_there() -> None:
    values = {b"a": 1, b"b": 2, b"c": 3}
    old = built({b"a": 0, b"b": 0})
    names = [b"c", b"b"]
    read = replace(reading(values, names), vanished=[1])
    new, mapping, _ = merge_directories(old, [], names, read, value_file="v.json")
    assert [new.name(at) for at in range(len(new))] == ["a", "c"]
    assert [mapping.position(0), mapping.position(1)] == [0, None]


def test_names_that_are_not_utf8_are_told_apart() -> None:
    directories = built({b"a": 1, b"\xff": 2, "ü".encode(): 3})
    assert directories.names() == ["a", "ü", "\udcff"]
    assert directories.position("\udcff") == 2
    assert directories.position("\ud800") is None
    assert directories.nameless_set == 0b100


def test_without_a_value_file_every_value_is_null() -> None:
    read = Read([None, None], [(0, 0), (0, 0)])
    directories = build_directories([b"b", b"a"], read, value_file=None, pointers=("",))
    assert [directories.value(0), directories.value(1)] == [None, None]
    assert directories.column("").distinct == [None]
    assert directories.column("/x").missing == 0


def test_a_million_equal_reasons_are_one_text() -> None:
    values = {b"%d" % at: ValueError("no value file") for at in range(3000)}
    directories = built(values)
    assert len(directories.bad) == 3000
    assert len(directories.container.section("reasons")) < 7000


def saved(store: Store, directories: StoredDirectories) -> StoredDirectories:
    stored = store.commit(
        lambda before: before._replace(state=before.state._replace(directories=directories))
    )
    return stored.directories


def test_large_values_are_appended_and_compacted_in_time(tmp_path: Path) -> None:
    store = Store(tmp_path)
    text = "x" * 3000
    values: dict[bytes, Any] = {b"%04d" % at: [at, text] for at in range(500)}
    directories = saved(store, built(values))
    counts = []
    for step in range(2 * MOST_SEGMENTS):
        fresh = {b"n%04d" % step: step}
        directories, *_ = merge_directories(
            directories,
            [],
            list(fresh),
            reading(fresh, list(fresh)),
            value_file="v.json",
            generation=step + 2,
        )
        values |= fresh
        directories = saved(store, directories)
        counts.append(len(directories.segments))
        assert directories.value(len(directories) - 1) == step
    assert max(counts) <= MOST_SEGMENTS
    assert 1 in counts[1:]
    dead = sorted(values)[:300]
    directories, *_ = merge_directories(
        directories, dead, [], Read([], []), value_file="v.json", generation=99
    )
    assert len(directories.segments) == 1
    assert list(map(json.loads, filter(None, directories.raw_values()))) == [
        values[n] for n in sorted(values)[300:]
    ]


@pytest.mark.parametrize("victim", ["dirs", "values"])
@pytest.mark.parametrize("how", ["missing", "short"])
def test_a_damaged_file_is_named_when_it_is_needed(tmp_path: Path, victim: str, how: str) -> None:
    saved(Store(tmp_path), built({b"a": {"a": 1}}))
    stored = Store(tmp_path).load().stored
    assert stored is not None
    (path,) = (tmp_path / ".row" / "rowtui").glob(f"{victim}.*")
    if how == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(CorruptCacheError, match="damaged"):
        stored.directories.value(0)
    with pytest.raises(CorruptCacheError):
        stored.directories.verify()
