"""The classes of an engine's answers, found by walking the type hints of `Engine`.

Gives a table from a name to a class. A recording can contain only values of these classes, so that
a file from another user can never create an object of another kind.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import sys
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

ROOM = "rowtui.core."


class Known(NamedTuple):
    """One class: its hints by field, and the fields without a default. An enum has no fields."""

    name: str
    cls: type
    hints: Mapping[str, Any]
    required: frozenset[str]


class Table(NamedTuple):
    """All classes, by name and by class; the methods with the hints of their parameters."""

    by_name: Mapping[str, Known]
    by_class: Mapping[type, Known]
    methods: Mapping[str, Mapping[str, Any]]


class UnknownTypeError(TypeError):
    """A type hint that a recording cannot represent."""


_PLAIN = (str, int, float, bool, bytes, type(None))


@cache
def table() -> Table:
    """Return the classes of `Engine`. Raises: UnknownTypeError for one that cannot be recorded."""
    from rowtui.core.engine.api.engine import Engine

    by_name: dict[str, Known] = {}
    by_class: dict[type, Known] = {}
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

    for name, method in vars(Engine).items():
        if name.startswith("_") or not inspect.isfunction(method):
            continue
        methods[name] = _resolved(method)
        for parameter, hint in methods[name].items():
            enter(hint, f"{name}.{parameter}")
    return Table(by_name, by_class, methods)


def _is_value(cls: type) -> bool:
    return dataclasses.is_dataclass(cls) or issubclass(cls, enum.Enum) or hasattr(cls, "_fields")


def _known(cls: type) -> Known:
    name = f"{cls.__module__}.{cls.__qualname__}".removeprefix(ROOM)
    if issubclass(cls, enum.Enum):
        return Known(name, cls, {}, frozenset())
    hints = _resolved(cls)
    if dataclasses.is_dataclass(cls):
        fields = dataclasses.fields(cls)
        names = [one.name for one in fields if one.init]
        nothing = dataclasses.MISSING
        required = {f.name for f in fields if f.default is nothing and f.default_factory is nothing}
    else:
        names = list(getattr(cls, "_fields"))  # noqa: B009 - a NamedTuple's, unknown to mypy
        required = set(names) - set(getattr(cls, "_field_defaults", {}))
    return Known(name, cls, {one: hints[one] for one in names}, frozenset(required & set(names)))


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
