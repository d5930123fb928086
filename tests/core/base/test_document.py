"""Records as documents: what `--json` prints."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass
from typing import NamedTuple

import pytest
from rowtui.core.base.document import Flat, Moment, TextOrNull, document


class Colour(enum.Enum):
    RED = "red"


class Part(NamedTuple):
    name: TextOrNull
    begun_at: Moment = 0.0
    end: Moment | None = None


class Outer(NamedTuple):
    part: Flat[Part]
    size: int


@dataclass(frozen=True, slots=True)
class Whole:
    colour: Colour
    parts: tuple[Part, ...]
    counts: dict[str, int]
    text: str = ""


def test_a_record_is_an_object_with_its_fields_in_order() -> None:
    whole = Whole(Colour.RED, (Part("a", 1.5), Part("", 0.0, 2.0)), {"x": 1})
    assert json.dumps(document(whole)) == json.dumps(
        {
            "colour": "red",
            "parts": [
                {"name": "a", "begun_at": "1970-01-01T00:00:01.500Z", "end": None},
                {"name": None, "begun_at": None, "end": "1970-01-01T00:00:02.000Z"},
            ],
            "counts": {"x": 1},
            "text": "",
        }
    )


def test_fields_of_a_flat_record_are_fields_of_the_outer_one() -> None:
    assert document(Outer(Part("a", 1.5), 2)) == {
        "name": "a", "begun_at": "1970-01-01T00:00:01.500Z", "end": None, "size": 2,
    }  # fmt: skip


def test_names_that_are_not_utf_8_stay_as_they_are() -> None:
    assert json.loads(json.dumps(document(Part("\udcff")))) == {
        "name": "\udcff", "begun_at": None, "end": None,
    }  # fmt: skip


def test_a_value_without_a_form_in_json_is_refused() -> None:
    with pytest.raises(TypeError, match="object is no value of a document"):
        document([object()])
