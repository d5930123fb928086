"""Modules that take long to import; each is loaded when one of its names is first used.

numpy is loaded without the threads that its OpenBLAS starts. The threads would cost as much CPU
time as the rest of the import, and rowtui multiplies no matrices. The variable that prevents them
is removed at once, because jobs that this process starts inherit its environment.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

_THREADS: Final = "OPENBLAS_NUM_THREADS"


class _LazyModule:
    """A module that is imported when one of its names is first used."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(_loaded(self.__name__), name)
        setattr(self, name, value)  # the next use is as fast as that of the module
        return value


@cache
def _loaded(name: str) -> Any:
    if name != "numpy" or name in sys.modules or _THREADS in os.environ:
        return import_module(name)
    os.environ[_THREADS] = "1"
    try:
        return import_module(name)
    finally:
        os.environ.pop(_THREADS, None)


if TYPE_CHECKING:
    import asyncio
    import hashlib
    import hmac
    import subprocess

    import numpy as np
    import orjson
    import platformdirs
    from numpy.typing import NDArray
else:
    asyncio = _LazyModule("asyncio")
    hashlib = _LazyModule("hashlib")
    hmac = _LazyModule("hmac")
    NDArray = None  # for annotations only
    np = _LazyModule("numpy")
    orjson = _LazyModule("orjson")
    platformdirs = _LazyModule("platformdirs")
    subprocess = _LazyModule("subprocess")

__all__ = ["NDArray", "asyncio", "hashlib", "hmac", "np", "orjson", "platformdirs", "subprocess"]
