"""A list that a job made: every rule of its entries, and every way to be wrong."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.runs.directories import dynamic_lists as lists
from rowtui.core.runs.directories.dynamic_lists import ListError, ListProduct, read_list
from rowtui.core.runs.model import MadeEntry


def read(tmp_path: Path, content: object, taken: tuple[str, ...] = ()) -> ListProduct:
    (tmp_path / "x").mkdir(exist_ok=True)
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    (tmp_path / "x" / "children.json").write_bytes(data)
    return read_list(tmp_path, "x", "children.json", "fold", taken)


def test_a_scalar_is_the_value_and_an_object_has_it_with_further_keys(tmp_path: Path) -> None:
    content = ["a", 2, 3.5, True, False, None, {"fold": "b", "k": [1]}]

    found = read(tmp_path, content)

    assert found.entries == (
        MadeEntry("a", {}, 0),
        MadeEntry(2, {}, 1),
        MadeEntry(3.5, {}, 2),
        MadeEntry(True, {}, 3),
        MadeEntry(False, {}, 4),
        MadeEntry(None, {}, 5),
        MadeEntry("b", {"k": [1]}, 6),
    )
    assert found.digest == hashlib.sha256(json.dumps(content).encode()).hexdigest()


def test_an_empty_list_makes_no_samples(tmp_path: Path) -> None:
    assert read(tmp_path, []).entries == ()


def test_what_is_not_equal_as_json_is_not_the_same(tmp_path: Path) -> None:
    entries = read(tmp_path, [1, True, "1", "true", 0, False, None, "null"]).entries

    assert [entry.position for entry in entries] == list(range(8))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ([1, 2, 1.0], "entries 0 and 2 are both 1.0"),
        (["a", {"fold": "a"}], 'entries 0 and 1 are both "a"'),
        ([1, {}], 'entry 1 is an object without the key "fold"'),
        ([{"fold": 1}, {"k": 2}], 'entry 1 is an object without the key "fold"'),
        ([None, None], "entries 0 and 1 are both null"),
        ({}, "it is an object, not a list"),
        ("text", "it is a text, not a list"),
        ([1, [2]], "entry 1 is a list"),
        ([{"fold": {}}], '"fold" of entry 0 is an object'),
        ([{"fold": 1, "node": "x"}], 'entry 0 has the key "node"'),
        ([{"fold": 1, "t": 1}], 'entry 0 has the key "t"'),
        (b"", "line 1, column 1: it is empty"),
        (b"[1,\n 2,\n}", "line 3, column 1: it is not JSON"),
        (b'["a",\n"\xff"]', "line 2, column 2: byte 0xff is not UTF-8"),
        (b"[NaN]", "NaN is not JSON"),
        (b"[-Infinity]", "-Infinity is not JSON"),
        (b"[1e999]", "1e999 is too large a number"),
        (b"[1, 18446744073709551616]", "entry 1: 18446744073709551616 cannot be the value of a"),
        (b'["\\ud800"]', r"entry 0: '\ud800' cannot be the value of a dimension"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b"[" + b"1" * 10_000 + b"]", "not JSON that can be used"),
    ],
)
def test_a_wrong_list_says_where_and_what(tmp_path: Path, content: object, why: str) -> None:
    with pytest.raises(ListError) as raised:
        read(tmp_path, content, ("t",))

    problem = raised.value.problem
    assert not raised.value.missing
    assert problem.message.startswith('"children.json" of sample x: ')
    assert why in problem.message
    assert problem.file == str(tmp_path / "x" / "children.json")
    assert problem.hint


def test_the_place_of_a_syntax_error_is_a_number_too(tmp_path: Path) -> None:
    with pytest.raises(ListError) as raised:
        read(tmp_path, b"[1,\n 2 3]")

    assert (raised.value.problem.line, raised.value.problem.column) == (2, 4)


def test_a_list_that_never_came_is_told_apart(tmp_path: Path) -> None:
    for directory in ("nowhere", "x"):
        (tmp_path / "x").mkdir(exist_ok=True)
        with pytest.raises(ListError, match="the list is missing") as raised:
            read_list(tmp_path, directory, "children.json", "fold")
        assert raised.value.missing


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    os.mkfifo(tmp_path / "x" / "pipe")
    (tmp_path / "x" / "folder").mkdir()

    for name in ("pipe", "folder"):
        with pytest.raises(ListError, match="not a regular file"):
            read_list(tmp_path, "x", name, "fold")


def test_lists_are_bounded(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with open(tmp_path / "x" / "large.json", "wb") as file:
        file.truncate(lists.LIMIT + 1)
    with pytest.raises(ListError, match=r"at most 67\.1 MB"):
        read_list(tmp_path, "x", "large.json", "fold")
    with pytest.raises(ListError, match="1,000,001 entries, more than 1,000,000"):
        read(tmp_path, b"[" + b"1," * lists.LONGEST + b"1]")


def test_names_from_outside_steer_no_terminal(tmp_path: Path) -> None:
    (tmp_path / "a\x1b[2J").mkdir()
    (tmp_path / "a\x1b[2J" / "l.json").write_text('["\x7f\x1b"')

    with pytest.raises(ListError) as raised:
        read_list(tmp_path, "a\x1b[2J", "l.json", "fold")

    assert raised.value.message.isprintable()


scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from((0.5, 1.0, "1", "a"))


@given(st.lists(scalars))
def test_a_list_is_taken_exactly_if_its_values_differ(
    tmp_path_factory: pytest.TempPathFactory, values: list[object]
) -> None:
    distinct = {(isinstance(value, bool), value) for value in values}
    folder = tmp_path_factory.getbasetemp()
    if len(distinct) == len(values):
        assert [entry.value for entry in read(folder, values).entries] == values
    else:
        with pytest.raises(ListError, match="are both"):
            read(folder, values)
