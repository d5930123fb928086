"""Convert values of an engine to JSON and back, by the types of their fields, without pickle.

Plain values and tuples are themselves (a tuple is a JSON array); any other value is an object with
its class under "!". `mask` may replace each text or number; it gets the field of the value.
"""

from __future__ import annotations

import ast
import base64
import collections.abc
import dataclasses
import enum
import inspect
import json
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Any, NamedTuple

from rowtui.core.base.text import visible
from rowtui.core.engine.api.engine import engine_methods

# The classes of an engine's answers, found by walking the type hints of `Engine`.
#
# Gives a table from a name to a class. JSON can become only values of these classes, so
# that a file from another user can never create an object of another kind.


ROOM = "rowtui.core."


class RecordedClass(NamedTuple):
    """One class: its hints by field, and the fields without a default. An enum has no fields."""

    name: str
    cls: type
    hints: Mapping[str, Any]
    required: frozenset[str]


class ClassTable(NamedTuple):
    """All classes, by name and by class; the methods with the hints of their parameters."""

    by_name: Mapping[str, RecordedClass]
    by_class: Mapping[type, RecordedClass]
    methods: Mapping[str, Mapping[str, Any]]


class UnknownTypeError(TypeError):
    """A type hint that this form of JSON cannot represent."""


_PLAIN = (str, int, float, bool, bytes, type(None))


@cache
def table() -> ClassTable:
    """Return the classes of `Engine`. Raises: UnknownTypeError for one that cannot be recorded."""
    by_name: dict[str, RecordedClass] = {}
    by_class: dict[type, RecordedClass] = {}
    methods: dict[str, Mapping[str, Any]] = {}

    def enter(hint: Any, where: str) -> None:
        if hint is Any or hint is object or hint is Ellipsis or hint in _PLAIN:
            return
        if typing.get_origin(hint) is typing.Literal:
            return
        if typing.get_origin(hint) is not None:
            for part in typing.get_args(hint):
                enter(part, where)
            return
        if not isinstance(hint, type) or not _is_value(hint):
            raise UnknownTypeError(f"{where}: {hint!r} cannot be recorded")
        if hint in by_class:
            return
        known = _known(hint)
        by_class[hint] = by_name[known.name] = known
        for name, inner in known.hints.items():
            enter(inner, f"{known.name}.{name}")

    for name, method in engine_methods().items():
        methods[name] = _resolved(method)
        for parameter, hint in methods[name].items():
            enter(hint, f"{name}.{parameter}")
    return ClassTable(by_name, by_class, methods)


def _is_value(cls: type) -> bool:
    return dataclasses.is_dataclass(cls) or issubclass(cls, enum.Enum) or hasattr(cls, "_fields")


def _known(cls: type) -> RecordedClass:
    name = f"{cls.__module__}.{cls.__qualname__}".removeprefix(ROOM)
    if issubclass(cls, enum.Enum):
        return RecordedClass(name, cls, {}, frozenset())
    hints = _resolved(cls)
    if dataclasses.is_dataclass(cls):
        fields = dataclasses.fields(cls)
        names = [one.name for one in fields if one.init]
        nothing = dataclasses.MISSING
        required = {f.name for f in fields if f.default is nothing and f.default_factory is nothing}
    else:
        names = list(getattr(cls, "_fields"))  # noqa: B009 - a NamedTuple's, unknown to mypy
        required = set(names) - set(getattr(cls, "_field_defaults", {}))
    return RecordedClass(
        name, cls, {one: hints[one] for one in names}, frozenset(required & set(names))
    )


def _resolved(what: type | Callable[..., Any]) -> dict[str, Any]:
    """Return the hints of a class or function, including types imported only for type checkers."""
    try:
        return typing.get_type_hints(what)
    except NameError:
        return typing.get_type_hints(what, localns=_for_checkers(what.__module__))


@cache
def _for_checkers(module: str) -> dict[str, Any]:
    """Return the names that a module imports or defines under `if TYPE_CHECKING`."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    found: dict[str, Any] = {}
    for block in tree.body:
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test):
            code = compile(ast.Module(block.body, []), module, "exec")
            exec(code, vars(sys.modules[module]).copy(), found)  # noqa: S102 (our own text)
    return found


DEEPEST = 60
"""The limit of nested values; values of the engine are never deeper."""


class TextField(NamedTuple):
    """The place of a text: the class (or method) and its field."""

    owner: str = ""
    name: str = ""


Masked = Callable[[Any, TextField], Any]
"""A function that replaces a text or number."""


class NotAValueError(ValueError):
    """An invalid part of the JSON; the text describes the error."""


NOWHERE = TextField()


def as_it_is(value: Any, _: TextField) -> Any:
    """Return the value unchanged."""
    return value


def encode(value: Any, mask: Masked = as_it_is, field: TextField = NOWHERE) -> Any:
    """Return a value in the form of JSON.

    A value without such a form becomes the name of its class.
    """
    if value is None or isinstance(value, bool):
        return value
    known = table().by_class.get(type(value))
    if known is not None and isinstance(value, enum.Enum):
        return {"!": known.name, "v": value.name}
    if known is not None:
        fields = {}
        for name, hint in known.hints.items():
            ours = typing.get_origin(hint) is typing.Literal  # words of rowtui itself
            told = as_it_is if ours else mask
            fields[name] = encode(getattr(value, name), told, TextField(known.name, name))
        return {"!": known.name, "v": fields}
    if isinstance(value, int | float | str):
        return mask(value, field)
    if isinstance(value, bytes):
        text = mask(value.decode(errors="surrogateescape"), field)
        return {"!": "bytes", "v": base64.b64encode(_as_bytes(text)).decode()}
    if isinstance(value, Mapping):
        pairs = [[encode(k, mask, field), encode(v, mask, field)] for k, v in value.items()]
        return {"!": "dict", "v": pairs}
    if isinstance(value, AbstractSet):
        return {"!": "set", "v": _in_order([encode(it, mask, field) for it in value])}
    if isinstance(value, list):
        return {"!": "list", "v": [encode(it, mask, field) for it in value]}
    if isinstance(value, Sequence):
        return [encode(it, mask, field) for it in value]
    return mask(f"<{type(value).__name__}>", field)


def _as_bytes(text: Any) -> bytes:
    return str(text).encode(errors="surrogateescape")


def _in_order(items: list[Any]) -> list[Any]:
    return sorted(items, key=lambda it: json.dumps(it, sort_keys=True))


def decode(data: Any, hint: Any = Any) -> Any:
    """Return the value of that type. Raises: NotAValueError."""
    value = _decoded(data, 0)
    if not fits(value, hint):
        raise NotAValueError(f"there is a {type(value).__name__} where it does not belong")
    return value


def _decoded(data: Any, depth: int) -> Any:
    if depth > DEEPEST:
        raise NotAValueError("there are values within values without end")
    if data is None or isinstance(data, bool | int | float | str):
        return data
    if isinstance(data, list):
        return tuple(_decoded(one, depth + 1) for one in data)
    if not (isinstance(data, dict) and data.keys() == {"!", "v"} and isinstance(data["!"], str)):
        raise NotAValueError("there is an object without a class")
    name, inner = data["!"], data["v"]
    known = table().by_name.get(name)
    if known is not None:
        return _instance(known, inner, depth)
    try:
        if name == "bytes":
            return base64.b64decode(inner, validate=True)
        if name == "dict":
            return {_decoded(k, depth + 1): _decoded(v, depth + 1) for k, v in inner}
        if name == "set":
            return frozenset(_decoded(one, depth + 1) for one in inner)
        if name == "list":
            return [_decoded(one, depth + 1) for one in inner]
    except NotAValueError:
        raise
    except (TypeError, ValueError) as error:
        raise NotAValueError(f"a {name} is damaged: {error}") from None
    raise NotAValueError(f"the class {visible(name[:80])} is not known here")


def _instance(known: RecordedClass, inner: Any, depth: int) -> Any:
    short = known.name.rpartition(".")[2]
    if issubclass(known.cls, enum.Enum):
        if not isinstance(inner, str) or inner not in known.cls.__members__:
            raise NotAValueError(f"there is no {short} {visible(str(inner)[:80])!r}")
        return known.cls[inner]
    if not isinstance(inner, dict):
        raise NotAValueError(f"a {short} has no fields")
    fields = {}
    for name, hint in known.hints.items():  # fields that newer versions added are ignored
        if name not in inner:
            if name in known.required:
                raise NotAValueError(f"a {short} has no {name}")
            continue
        fields[name] = _decoded(inner[name], depth + 1)
        if not fits(fields[name], hint):
            given = type(fields[name]).__name__
            raise NotAValueError(f"the {name} of a {short} is a {given}")
    try:
        return known.cls(**fields)
    except (TypeError, ValueError, AttributeError) as error:
        raise NotAValueError(f"a {short} cannot be: {error}") from None


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of that type. Instances were checked when they were made."""
    if hint is Any or hint is object:
        return True
    if hint is None or hint is type(None):
        return value is None
    origin, arguments = _parts(hint)
    if origin is None:
        if hint is float:
            return isinstance(value, int | float) and not isinstance(value, bool)
        if hint is int:
            return isinstance(value, int) and not isinstance(value, bool)
        return isinstance(value, hint)
    if origin is typing.Literal:
        return value in arguments
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, one) for one in arguments)
    if origin in (dict, collections.abc.Mapping):
        return isinstance(value, dict) and all(
            fits(k, arguments[0]) and fits(v, arguments[1]) for k, v in value.items()
        )
    if origin in (frozenset, set, collections.abc.Set, collections.abc.Collection):
        return isinstance(value, frozenset | tuple) and all(fits(v, arguments[0]) for v in value)
    if origin is tuple and not (len(arguments) == 2 and arguments[1] is Ellipsis):
        return (
            isinstance(value, tuple)
            and len(value) == len(arguments)
            and all(map(fits, value, arguments))
        )
    if origin in (tuple, list, collections.abc.Sequence, collections.abc.AsyncIterator):
        return isinstance(value, tuple | list) and all(fits(one, arguments[0]) for one in value)
    return False


@cache
def _parts(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    return typing.get_origin(hint), typing.get_args(hint)
