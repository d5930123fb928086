"""The builtins and modules that expressions can use besides the objects of their job.

The builtins are Python's, except for functions that need a terminal, and imports of TPV's and
Galaxy's modules return classes of rowtui. This is not a sandbox but makes files work; whether their
code may run at all is checked before (`trust`).
"""

from __future__ import annotations
import __future__

import ast
import builtins
import functools
import logging
import random
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import CodeType, ModuleType
from typing import Any, NoReturn, TypeVar, cast

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.mapping.code.model import FLOW_EXCEPTIONS, IncompatibleTagsException
from rowtui.core.mapping.engine.helper_functions import HELPERS, Helpers
from rowtui.core.mapping.galaxy.objects import GalaxyObject
from rowtui.core.mapping.model import entities, tags

log = logging.getLogger("rowtui.mapping")
# Without any handler, Python would write warnings on the screen.
log.addHandler(logging.NullHandler())

_NEED_A_TERMINAL = ("input", "breakpoint", "exit", "quit", "help")


@lru_cache(1)
def expression_builtins() -> dict[str, Any]:
    """Return Python's builtins for expressions: one dict, shared by all namespaces.

    Imports of `tpv.core...` and `galaxy.jobs.mapper` return rowtui's classes of the same names;
    `print` writes to the log, because the dashboard uses the screen.
    """
    names = dict(vars(builtins))
    for name in _NEED_A_TERMINAL:
        names[name] = _without_terminal(name)
    names["print"] = _print
    names["__import__"] = _import
    return names


def _without_terminal(name: str) -> Callable[..., NoReturn]:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise RowtuiError(f"{name}() does not work in an expression: there is no terminal")

    return refuse


def _print(*values: object, sep: str | None = " ", **_: object) -> None:
    log.info("%s", visible((sep if sep is not None else " ").join(map(str, values))))


def _import(
    name: str,
    globals: Mapping[str, object] | None = None,  # noqa: A002
    locals: Mapping[str, object] | None = None,  # noqa: A002
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> Any:
    root = name.partition(".")[0]
    if level or root not in {"tpv", "galaxy"}:
        return __import__(name, globals, locals, fromlist or (), level)
    modules = _modules()
    if name not in modules:
        raise ModuleNotFoundError(
            f"{visible(name)} is part of Galaxy or TPV; rowtui has no such thing", name=name
        )
    return modules[name] if fromlist else modules[root]


@lru_cache(1)
def _modules() -> dict[str, ModuleType]:
    helpers = Helpers(as_tpv=True, random=random.Random())
    flow = {kind.__name__: kind for kind in (*FLOW_EXCEPTIONS, IncompatibleTagsException)}
    kinds = ("Destination", "Entity", "Role", "Rule", "Tool", "User")
    contents: dict[str, Mapping[str, Any]] = {
        "tpv": {},
        "tpv.core": {},
        "tpv.core.entities": {
            **flow,
            **{name: getattr(entities, name) for name in kinds},
            "EntityWithRules": entities.Entity,
            **{name: getattr(tags, name) for name in ("SchedulingTags", "Tag", "TagType")},
        },
        "tpv.core.helpers": {name: getattr(helpers, name) for name in HELPERS},
        "galaxy": {},
        "galaxy.jobs": {},
        "galaxy.jobs.mapper": flow,
    }
    modules: dict[str, ModuleType] = {}
    for name, content in contents.items():
        module = modules[name] = ModuleType(name, "Part of rowtui, for mapping files.")
        vars(module).update(content)
        package, _, last = name.rpartition(".")
        if package:
            setattr(modules[package], last, module)
    return modules


def has_in_module(module: str, name: str) -> bool:
    """Whether code can import a name from a module of TPV or Galaxy, "" for the module itself."""
    found = _modules().get(module)
    return found is not None and (not name or name == "*" or hasattr(found, name))


def tpv_names() -> dict[str, Any]:
    """Return the names that TPV's expressions see by accident, those of TPV's own module."""
    return dict(_tpv_names())


@lru_cache(1)
def _tpv_names() -> dict[str, Any]:
    class InvalidParentException(Exception):
        """An entity inherits from a missing entity."""

    ours = {
        name: type(name, (_Internal,), {"_called": name})
        for name in ("GlobalConfig", "TPVCodeEvaluator", "TPVConfig", "TPVConfigLoader")
    }
    return {
        **ours,
        "Any": Any,
        "Callable": Callable,
        "CodeType": CodeType,
        "Entity": entities.Entity,
        "EntityType": TypeVar("EntityType", bound=entities.Entity),
        "InvalidParentException": InvalidParentException,
        "TypeVar": TypeVar,
        "annotations": __future__.annotations,
        "ast": ast,
        "cast": cast,
        "functools": functools,
        "log": log,
        "logging": logging,
        "util": _Util(),
    }


class _Internal(GalaxyObject):
    """A class inside TPV that code can name, but not use."""


class _Util(GalaxyObject):
    """TPV's module of internal functions."""

    __slots__ = ()
    _called = "util"
