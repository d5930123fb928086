"""Records from values of JSON, by the types of their fields; `document.py` is the other way.

`record` reads NamedTuples and dataclasses from objects, NamedTuples also from arrays, tuples and
frozen sets from arrays, and enums from their values. A value of another type is an error, also a
number with a fraction for an int, and a text for a number. A missing field has its default; a field
that the record does not have is an error, unless `extra` is set. How deep the values are nested is
bounded by the types, and by `json.loads` for fields of any type. Objects are changed in place.
"""

from __future__ import annotations

import collections.abc
import enum
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, TypeVar, Union, cast

_Record = TypeVar("_Record")
_PLAIN = frozenset((str, int, bool, float, type(None)))


def record(kind: type[_Record], value: Any, *, extra: bool = False) -> _Record:
    """Return a record of this type. `extra`: ignore unknown fields, here and inside.

    Raises: TypeError, ValueError.
    """
    read: Callable[[Any], _Record] = _reader(cast("Any", kind), extra)
    return read(value)


@cache
def _reader(hint: Any, extra: bool) -> Callable[[Any], Any]:
    """Return the function that reads a value of this type."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return lambda value: value
    if hint is float:
        return _float
    if hint in _PLAIN:
        return lambda value: _checked(value, hint)
    if origin is Literal:
        return lambda value: _one_of(value, arguments)
    if origin in (types.UnionType, Union):
        return _optional(arguments, extra)
    if origin in (tuple, frozenset, collections.abc.Sequence):
        return _several(frozenset if origin is frozenset else tuple, arguments[0], extra)
    if origin in (dict, collections.abc.Mapping):
        one = _reader(arguments[1], extra)
        return lambda value: {key: one(each) for key, each in _checked(value, dict).items()}
    kind: Any = hint
    return kind if issubclass(kind, enum.Enum) else _fields(kind, extra)


def _checked(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise TypeError(f"{type(value).__name__} in place of {kind.__name__}")
    return value


def _float(value: Any) -> float:
    return value if type(value) is float else float(_checked(value, int))


def _one_of(value: Any, allowed: tuple[Any, ...]) -> Any:
    if value not in allowed:
        raise ValueError(f"{value!r} is none of {allowed}")
    return value


def _optional(arguments: tuple[Any, ...], extra: bool) -> Callable[[Any], Any]:
    kinds = tuple(each for each in arguments if each is not type(None))
    if len(kinds) > 1:  # the caller has read it, or it is no record
        return lambda value: _instance(value, arguments)
    one = _reader(kinds[0], extra)
    return lambda value: None if value is None else one(value)


def _instance(value: Any, kinds: tuple[Any, ...]) -> Any:
    if type(value) not in kinds:
        raise TypeError(f"{type(value).__name__} is none of {kinds}")
    return value


def _several(kind: type, of: Any, extra: bool) -> Callable[[Any], Any]:
    one, as_is = _reader(of, extra), _types_as_is(of)

    def read(value: Any) -> Any:
        if type(value) is not list:
            raise TypeError(f"{type(value).__name__} in place of a list")
        if not as_is.issuperset(map(type, value)):
            value = [one(each) for each in value]
        return kind(value)

    return read


def _types_as_is(hint: Any) -> frozenset[object]:
    """Return the types whose values need no conversion."""
    is_union = typing.get_origin(hint) in (types.UnionType, Union)
    return _PLAIN & frozenset(typing.get_args(hint) if is_union else (hint,))


def _fields(kind: Any, extra: bool) -> Callable[[Any], Any]:
    hints: Mapping[str, Any] = typing.get_type_hints(kind)
    names = tuple(getattr(kind, "_fields", ()) or kind.__dataclass_fields__)
    fields = {name: (_types_as_is(hints[name]), _reader(hints[name], extra)) for name in names}
    is_tuple = issubclass(kind, tuple)

    def read(value: Any) -> Any:
        if is_tuple and type(value) is list:
            value = dict(zip(names, value, strict=len(value) > len(names)))
        if type(value) is not dict:
            raise TypeError(f"{type(value).__name__} in place of {kind.__name__}")
        if not fields.keys() >= value.keys():
            if not extra:
                raise TypeError(f"{kind.__name__} has no {min(value.keys() - fields.keys())}")
            value = {name: value[name] for name in names if name in value}
        for name, part in value.items():
            as_is, one = fields[name]
            if type(part) not in as_is:
                value[name] = one(part)
        return kind(**value)

    return read
