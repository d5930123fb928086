"""Data that expressions can read like any other, and not change."""

from __future__ import annotations

import copy
import json
import pickle
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.base.errors import RowtuiError
from rowtui.core.mapping.code.read_only import ReadOnlyError, read_only

_json = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
)


@given(_json)
@settings(max_examples=40, deadline=None)
def test_it_is_the_same_data(value: Any) -> None:
    shown = read_only(value)

    assert shown == value
    assert json.dumps(shown) == json.dumps(value)
    assert repr(shown) == repr(value)
    assert isinstance(shown, type(value))
    assert copy.deepcopy(shown) == value
    assert pickle.loads(pickle.dumps(shown)) == value


@pytest.mark.parametrize(
    "change",
    [
        "v['T'] = 3", "del v['T']", "v.update(T=3)", "v.pop('T')", "v.popitem()", "v.clear()",
        "v.setdefault('new', 3)", "v |= {'T': 3}", "v['xs'].append(4)", "v['xs'][0] = 4",
        "v['xs'] += [4]", "v['xs'].sort()", "v['xs'].extend([4])", "v['xs'].insert(0, 4)",
        "v['xs'].pop()", "v['xs'].remove(1)", "v['xs'].reverse()", "v['xs'].clear()",
        "v['xs'] *= 2", "del v['xs'][0]", "v['deep']['er'][0]['x'] = 4",
    ],
)  # fmt: skip
def test_nothing_in_it_can_be_changed(change: str) -> None:
    data = {"T": 2.5, "xs": [2, 1], "deep": {"er": [{"x": 1}]}}
    before = copy.deepcopy(data)
    shown = read_only(data)

    with pytest.raises(ReadOnlyError, match="can only be read"):
        exec(change, {"v": shown})

    assert shown == before
    assert issubclass(ReadOnlyError, RowtuiError)
    assert issubclass(ReadOnlyError, TypeError)


def test_expressions_of_real_files_work_on_it() -> None:
    values = read_only(({"T": 4, "xs": [1, 2]}, {"T": 2}))

    assert values[0]["T"] > 3
    assert values[1].get("P", 7) == 7
    assert values[0]["xs"] == [1, 2]
    assert isinstance(values[0], dict)
    assert [*values[0]["xs"], 3] == values[0]["xs"] + [3] == [1, 2, 3]
    assert {**values[0], "T": 1} == values[0] | {"T": 1}
    assert sorted(v["T"] for v in values) == [2, 4]


@pytest.mark.parametrize(
    "take", [dict, copy.copy, copy.deepcopy, lambda v: v.copy(), lambda v: v | {}]
)
def test_a_copy_can_be_changed(take: Any) -> None:
    shown = read_only({"a": 1})

    mine = take(shown)
    mine["a"] = 2

    assert (mine, shown) == ({"a": 2}, {"a": 1})


def test_a_deep_copy_can_be_changed_in_all_its_depths() -> None:
    mine = copy.deepcopy(read_only({"a": [{"b": 1}]}))

    mine["a"][0]["b"] = 2

    assert mine == {"a": [{"b": 2}]}


def test_changing_the_data_later_does_not_change_what_was_shown() -> None:
    data = {"a": [1]}
    shown = read_only(data)

    data["a"].append(2)

    assert shown == {"a": [1]}


def test_what_is_read_only_already_is_itself() -> None:
    shown = read_only({"a": {"b": 1}})

    assert read_only(shown) is shown
    assert read_only({"x": shown})["x"] is shown
    assert read_only(MappingProxyType({"a": [1]})) == {"a": [1]}


def test_data_of_any_depth_can_be_shown() -> None:
    value: Any = 1
    for _ in range(50_000):
        value = [value]

    shown = read_only(value)

    for _ in range(50_000):
        shown, value = shown[0], value[0]
    assert shown == 1
