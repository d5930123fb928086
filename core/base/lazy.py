"""Modules that take long to import, and records that take long to define: made when first used.

`define_records_quickly` changes what `class X(NamedTuple)` does in this process, so the program
calls it, and not a library. typing compiles each annotation of each class, and a constructor, also
of records that a command never makes, which takes a fifth of the time of a short command.
Afterwards annotations stay text, and the first record of a class compiles its constructor.

numpy is loaded without the threads that its OpenBLAS starts. The threads would cost as much CPU
time as the rest of the import, and rowtui multiplies no matrices. The variable that prevents them
is removed at once, because jobs that this process starts inherit its environment.
"""

from __future__ import annotations

import os
import re
import sys
import typing
from collections import _tuplegetter  # type: ignore[attr-defined]
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, AnyStr, Final, NamedTuple, cast

_THREADS: Final = "OPENBLAS_NUM_THREADS"


class _Lazy:
    """A module or regular expression that is made when one of its names is first used."""

    def __init__(self, make: Callable[..., Any], *arguments: Any) -> None:
        self._make = make, arguments

    def __getattr__(self, name: str) -> Any:
        make, arguments = self._make
        value = getattr(make(*arguments), name)
        setattr(self, name, value)  # the next use is as fast as that of the module
        return value


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a regular expression that is compiled when it is first used."""
    return cast("re.Pattern[AnyStr]", _Lazy(re.compile, text, flags))


@cache
def _loaded(name: str) -> Any:
    if name != "numpy" or name in sys.modules or _THREADS in os.environ:
        return import_module(name)
    os.environ[_THREADS] = "1"
    try:
        return import_module(name)
    finally:
        os.environ.pop(_THREADS, None)


class _Record(tuple[Any, ...]):
    """What all named tuples have; the constructor is replaced when it is first called."""

    __slots__ = ()

    def __new__(cls: Any, *values: Any, **named: Any) -> Any:
        names = "".join(f"{name}, " for name in cls._fields)
        text = f"lambda _cls, {names}: _new(_cls, ({names}))"
        new: Any = eval(text, {"_new": tuple.__new__, "__builtins__": {}})  # noqa: S307
        new.__name__, new.__qualname__ = "__new__", f"{cls.__name__}.__new__"
        new.__defaults__ = tuple(cls._field_defaults.values())
        cls.__new__ = staticmethod(new)
        return new(cls, *values, **named)

    @classmethod
    def _make(cls, values: Any) -> Any:
        return cls(*values)

    def _replace(self: Any, /, **named: Any) -> Any:
        made = tuple.__new__(type(self), map(named.pop, self._fields, self))
        if named:
            raise ValueError(f"Got unexpected field names: {list(named)!r}")
        return made

    __replace__ = _replace  # for copy.replace of Python 3.13

    def _asdict(self: Any) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
        return f"{type(self).__name__}({values})"


class _RecordType(type):
    """Makes the class of a record from its class statement."""

    def __new__(cls, name: str, bases: tuple[type, ...], content: dict[str, Any]) -> Any:
        quick = "__annotations__" in content  # Python 3.14 has a function unless they are text
        start = _Record if quick else typing._NamedTuple  # type: ignore[attr-defined]
        bases = tuple(start if type(base) is cls else base for base in bases)
        if not quick:
            return typing.NamedTupleMeta(name, bases, content)  # type: ignore[attr-defined]
        fields = tuple(content["__annotations__"])
        content["_field_defaults"] = {each: content[each] for each in fields if each in content}
        content.update((each, _tuplegetter(at, each)) for at, each in enumerate(fields))
        content["_fields"] = content["__match_args__"] = fields
        content["__slots__"] = ()
        return type(name, bases, content)


def define_records_quickly() -> None:
    """Let `class X(NamedTuple)` define a class that completes itself with its first record."""
    base = type.__new__(_RecordType, "NamedTuple", (), {})
    NamedTuple.__mro_entries__ = lambda _bases: (base,)  # type: ignore[attr-defined]


if TYPE_CHECKING:
    import asyncio
    import ctypes
    import hashlib
    import hmac
    import signal
    import subprocess

    import numpy as np
    import orjson
    import platformdirs
    from numpy.typing import NDArray
else:
    asyncio = _Lazy(_loaded, "asyncio")
    ctypes = _Lazy(_loaded, "ctypes")
    hashlib = _Lazy(_loaded, "hashlib")
    hmac = _Lazy(_loaded, "hmac")
    NDArray = None  # for annotations only
    np = _Lazy(_loaded, "numpy")
    orjson = _Lazy(_loaded, "orjson")
    platformdirs = _Lazy(_loaded, "platformdirs")
    signal = _Lazy(_loaded, "signal")
    subprocess = _Lazy(_loaded, "subprocess")

__all__ = [
    "NDArray",
    "asyncio",
    "ctypes",
    "hashlib",
    "hmac",
    "np",
    "orjson",
    "platformdirs",
    "signal",
    "subprocess",
]
