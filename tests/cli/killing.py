"""The real command in a process that is killed before its k-th step.

Steps are the calls by which rowtui changes anything: entries of the journal, generations of the
records, plans, Row's files, and what is handed to a scheduler. Between two of them nothing changes,
so that killed after one is killed before the next.
"""

from __future__ import annotations

import functools
import inspect
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

# (module, class or "", function)
STEPS = (
    ("rowtui.core.submission.carry_out", "", "save_plan"),
    ("rowtui.core.submission.journal", "Journal", "append"),
    ("rowtui.core.submission.journal", "Journal", "put_away"),
    ("rowtui.core.state.store", "Store", "publish"),
    ("rowtui.core.state.export", "", "export_row_files"),
    ("rowtui.core.clusters.schedulers.local", "LocalScheduler", "submit"),
    ("rowtui.core.clusters.schedulers.slurm", "SlurmScheduler", "submit"),
    ("rowtui.core.clusters.schedulers.slurm", "SlurmScheduler", "find"),
)
# What every submission needs: imported once, before the processes are forked.
NEEDED = (
    "rowtui.cli.commands.submit",
    "rowtui.cli.follow",
    "rowtui.core.clusters.load",
    "rowtui.core.clusters.schedulers.slurm_describe",
    "rowtui.core.project.project",
    "rowtui.core.project.planning",
    "rowtui.core.workspace.sync",
)


def killed(
    arguments: list[str], folder: Path, environment: Mapping[str, str], step: int, out: Path
) -> bool:
    """Run `rowtui` with these arguments; whether it was killed before it came to its end.

    Step 0 never comes. The process is a child of this one, so that nothing is imported again.
    """
    import rowtui.cli.main

    _import_all()
    child = os.fork()
    if child == 0:
        try:
            to = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            for stream in (1, 2):
                os.dup2(to, stream)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            sys.stdin, sys.stdout, sys.stderr = (
                open(stream, mode, closefd=False)  # noqa: SIM115
                for stream, mode in ((0, "r"), (1, "w"), (2, "w"))
            )
            os.environ.clear()
            os.environ.update(environment)
            os.chdir(folder)
            _count_down(step)
            code = rowtui.cli.main.main(arguments)
            sys.stdout.flush()
            os._exit(code)
        except BaseException as error:
            os.write(2, f"Traceback: {error!r}\n".encode())
            os._exit(70)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    text = out.read_text()
    assert os.WEXITSTATUS(status) == 0, text
    assert "Traceback" not in text
    return False


def _import_all() -> None:
    import importlib

    for module in (*NEEDED, *(module for module, _, _ in STEPS)):
        importlib.import_module(module)


def _count_down(step: int) -> None:
    """From now on, the moment before the step-th of these calls is this process's last."""
    left = step

    def moment() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    for module, owner, name in STEPS:
        holder: Any = sys.modules[module]
        if owner:
            holder = getattr(holder, owner)
        original = getattr(holder, name)
        wrapped = _around(original, moment)
        setattr(holder, name, wrapped)
        if not owner:  # whoever imported the function by its name has to get the new one too
            for other in list(sys.modules.values()):
                if getattr(other, name, None) is original:
                    setattr(other, name, wrapped)


def _around(function: Callable[..., Any], moment: Callable[[], None]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def later(*arguments: Any, **options: Any) -> Any:
            moment()
            return await function(*arguments, **options)

        return later

    @functools.wraps(function)
    def now(*arguments: Any, **options: Any) -> Any:
        moment()
        return function(*arguments, **options)

    return now
