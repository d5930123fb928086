"""Records from JSON values, by the types of their fields."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pytest
from rowtui.core.base.codec import record


class Colour(enum.Enum):
    RED = "red"


class Place(NamedTuple):
    line: int = 0
    column: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    place: Place
    size: float = 1.0


class Whole(NamedTuple):
    colour: Colour
    parts: tuple[Part, ...] = ()
    names: Sequence[str] = ()
    seen: frozenset[int] = frozenset()
    counts: Mapping[str, float] = {}
    kind: Literal["a", "b"] = "a"
    most: int | None = None
    other: Part | Place | None = None
    anything: Any = None


def test_a_record_is_read_by_the_types_of_its_fields() -> None:
    found = record(
        Whole,
        {
            "colour": "red",
            "parts": [{"name": "x", "place": [1, 2], "size": 3}],
            "names": ["\udcff"],
            "seen": [1, 1],
            "counts": {"n": 1},
            "kind": "b",
            "most": 5,
            "anything": [{}],
        },
    )
    parts = (Part("x", Place(1, 2), 3.0),)
    assert found == Whole(
        Colour.RED, parts, ("\udcff",), frozenset({1}), {"n": 1.0}, "b", 5, None, [{}]
    )
    assert type(found.parts[0].size) is float


def test_missing_fields_have_their_defaults_and_arrays_may_be_shorter() -> None:
    assert record(Whole, {"colour": "red"}) == Whole(Colour.RED)
    assert record(Place, [3]) == Place(3)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"colour": "blue"},
        {"colour": "red", "names": "text"},
        {"colour": "red", "names": [1]},
        {"colour": "red", "seen": [True]},
        {"colour": "red", "counts": []},
        {"colour": "red", "counts": {"n": "1"}},
        {"colour": "red", "kind": "c"},
        {"colour": "red", "most": 1.0},
        {"colour": "red", "most": True},
        {"colour": "red", "other": {"line": 1}},
        {"colour": "red", "parts": [{"name": "x", "place": [1, 2, 3]}]},
        {"colour": "red", "parts": [["x", [1, 2]]]},
        {"colour": "red", "unknown": 1},
        [[]],
        "text",
    ],
)
def test_a_value_of_another_type_is_an_error(fields: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        record(Whole, fields)


def test_unknown_fields_are_ignored_on_request() -> None:
    fields = {"name": "x", "place": {"line": 1, "new": 2}, "new": 3}
    assert record(Part, fields, extra=True) == Part("x", Place(1))
    with pytest.raises(TypeError, match="Part has no new"):
        record(Part, fields)


def test_a_union_of_records_holds_what_the_caller_has_read() -> None:
    assert record(Whole, {"colour": "red", "other": Place(1)}).other == Place(1)
