"""A process that drives a run and is killed with SIGKILL at a chosen moment.

The moment is the n-th call of a function, before it or after it, or the n-th change to a file.
"""

from __future__ import annotations

import functools
import importlib
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

CHANGES = {"os.link", "os.mkdir", "os.remove", "os.rename", "os.symlink", "os.posix_spawn"}
WRITING = os.O_WRONLY | os.O_RDWR


class Moment(NamedTuple):
    """The `number`-th call of `module:name` or `module:Class.name`, before it or `after` it.

    `of`: only calls with an argument of this class count.
    """

    where: str
    number: int = 1
    after: bool = False
    of: str = ""


def begin(work: Callable[[], None], moment: Moment | tuple[Path, int]) -> int:
    """Start a process that works until the moment; (folder, n) is the n-th change below it."""
    child = os.fork()
    if child:
        return child
    status = 70
    try:
        if isinstance(moment, Moment):
            _patch(moment)
        else:
            sys.addaudithook(_counting(*moment))
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def was_killed(child: int) -> bool:
    """Whether it was killed before it came to its end, for which is waited."""
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0
    return False


def _patch(moment: Moment) -> None:
    module, _, path = moment.where.partition(":")
    holder: Any = importlib.import_module(module)
    *outer, name = path.split(".")
    for part in outer:
        holder = getattr(holder, part)
    original = getattr(holder, name)
    left = moment.number

    @functools.wraps(original)
    def wrapped(*arguments: Any, **options: Any) -> Any:
        nonlocal left
        if not moment.of or any(type(it).__name__ == moment.of for it in arguments):
            left -= 1
        if left == 0 and not moment.after:
            os.kill(os.getpid(), signal.SIGKILL)
        result = original(*arguments, **options)
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(holder, name, wrapped)


def _counting(where: Path, number: int) -> Callable[[str, tuple[Any, ...]], None]:
    own, below, left = os.getpid(), os.fsencode(where), number

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if os.getpid() != own:
            return  # what it started goes on, as it would
        if event == "open":
            path, _, flags = arguments
            counts = isinstance(flags, int) and bool(flags & WRITING)
            counts = counts and isinstance(path, (str, bytes, os.PathLike))
            counts = counts and os.fsencode(path).startswith(below)
        else:
            counts = event in CHANGES
        if counts:
            left -= 1
            if left == 0:
                os.kill(own, signal.SIGKILL)

    return hook
