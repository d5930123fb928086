"""What `--json` prints, made from records: a record with the fields of a document is the document.

A NamedTuple or dataclass becomes an object with its fields in order, an enum its value, and any
sequence or set an array. Field types state the conversions: `Moment`, `KnownMoment`, `TextOrNull`,
`Flat`, `OrAbsent` and `Plain`. A record with other units than documents returns one with theirs by
`as_document`. `docs/make_schema.py` writes the types as JSON Schemas (docs/schema/).

Each field has one name and one unit. Units, unless a docstring states others: memory in MB (2^20
bytes), durations in seconds (`..._seconds`), times as ISO 8601 in UTC (`..._at`), costs in hours of
one CPU or one GPU. A field without a value is null.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, TypeVar

Moment = Annotated[float, "moment"]
"""Epoch seconds, 0 for no time. In documents: ISO 8601 in UTC, null for no time."""

KnownMoment = Annotated[float, "known moment"]
"""Epoch seconds, never 0. In documents: ISO 8601 in UTC."""

TextOrNull = Annotated[str, "text or null"]
"""A text. In documents: null if it is empty."""

_Record = TypeVar("_Record")
Flat = Annotated[_Record, "flat"]
"""A record in a record, or None. In documents: its fields are fields of the outer one."""

OrAbsent = Annotated[_Record | None, "or absent"]
"""A value. In documents: no field if it is None."""

Plain = Annotated[Any, "plain"]
"""Any value. In documents: as `plain` returns it."""

_JSON = frozenset((str, int, float, bool, type(None)))

VERSION = 1
"""Of the form of all documents."""

DEEPEST = 50
"""Most nested values, as in YAML files, whose own limit is `yaml_text.DEEPEST`."""


def utc(at: float | None) -> str | None:
    """`2026-11-22T18:00:00.123Z` for epoch seconds; None where they are 0 or no time."""
    from datetime import UTC, datetime

    if not at:
        return None
    try:
        text = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        return None
    return text.replace("+00:00", "Z")


def document(value: Any) -> Any:
    """Return a value in the form of JSON. Raises: TypeError for a value without such a form."""
    kind: Any = type(value)
    if kind in _JSON:  # the frequent types first: documents may have a million values
        return value
    if kind is list:
        return [document(each) for each in value]
    if kind is dict:
        return {str(key): document(each) for key, each in value.items()}
    if isinstance(value, enum.Enum):
        return value.value
    if hasattr(kind, "as_document"):
        return document(value.as_document())
    if fields := _fields(kind):
        found: dict[str, Any] = {}
        for name, convert in fields:
            part = getattr(value, name)
            if convert is None:
                found |= {} if part is None else document(part)
            elif convert is document and type(part) in _JSON:
                found[name] = part
            elif convert is not _unless_absent or part is not None:
                found[name] = convert(part)
        return found
    if isinstance(value, Mapping):
        return document(dict(value))
    if isinstance(value, tuple | list | frozenset):
        return [document(each) for each in value]
    if isinstance(value, int | float | str):
        return value
    raise TypeError(f"{kind.__name__} is no value of a document")


def plain(value: Any, depth: int = 0) -> Any:
    """Return a value as JSON; what JSON does not have, and NaN and infinity, become text."""
    if value is None or isinstance(value, bool | int) or type(value) is str:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth >= DEEPEST:
        return "..."
    if isinstance(value, Mapping):
        return {str(key): plain(each, depth + 1) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each, depth + 1) for each in value]
    try:
        return str(value)
    except Exception as error:  # an object of a class that an expression defines
        return f"<{type(value).__name__}: {type(error).__name__}>"


@cache
def _fields(kind: type) -> tuple[tuple[str, Callable[[Any], Any] | None], ...]:
    """Return the fields of a record and their conversions, None for `Flat`; none of other types."""
    names = tuple(getattr(kind, "_fields", getattr(kind, "__dataclass_fields__", ())))
    hints: dict[str, Any] = kind.__annotations__ if names else {}
    written = (getattr(hints[name], "__forward_arg__", hints[name]) for name in names)
    return tuple(zip(names, map(_conversion, map(str, written)), strict=True))


def _unless_absent(value: Any) -> Any:
    return document(value)


def _conversion(hint: str) -> Callable[[Any], Any] | None:
    if hint.startswith("Flat["):
        return None
    if "Moment" in hint:
        return utc
    if "TextOrNull" in hint:
        return lambda text: text or None
    if hint.startswith("OrAbsent["):
        return _unless_absent
    return plain if hint == "Plain" else document
