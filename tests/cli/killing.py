"""The real command in a process that is killed before its k-th step.

Steps are the calls by which rowtui changes anything: entries of the journal, generations of the
records, plans, Row's files, and what is handed to a scheduler. Between two of them nothing changes,
so that killed after one is killed before the next.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.cli.served import server

# (module, class or "", function)
STEPS = (
    ("rowtui.core.submission.sending.carry_out", "", "save_plan"),
    ("rowtui.core.submission.sending.journal", "Journal", "append"),
    ("rowtui.core.submission.sending.journal", "Journal", "put_away"),
    ("rowtui.core.state.store.store", "Store", "publish"),
    ("rowtui.core.state.row.export", "", "export_row_files"),
    ("rowtui.core.clusters.schedulers.local.scheduler", "LocalScheduler", "submit"),
    ("rowtui.core.clusters.schedulers.slurm.scheduler", "SlurmScheduler", "submit"),
    ("rowtui.core.clusters.schedulers.slurm.scheduler", "SlurmScheduler", "find"),
)


class Run:
    """`rowtui` with these arguments, killed before this step. Step 0 never comes."""

    def __init__(
        self,
        arguments: list[str],
        folder: Path,
        environment: Mapping[str, str],
        step: int,
        out: Path,
    ) -> None:
        self._out = out
        to = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        self._process = server.start(
            arguments,
            cwd=folder,
            env=environment,
            streams=(nothing, to, to),
            first=(__name__, "count_down", step),
        )
        os.close(to)
        os.close(nothing)

    def killed(self) -> bool:
        """Whether it was killed before it came to its end, for which is waited."""
        status = self._process.wait(120)
        if status < 0:
            assert status == -signal.SIGKILL
            return True
        text = self._out.read_text()
        assert status == 0, text
        assert "Traceback" not in text
        return False


def count_down(step: int) -> None:
    """From now on, the moment before the step-th of these calls is this process's last."""
    importlib.import_module(
        "rowtui.cli.jobs.follow"
    ).LOOK_SECONDS = 0.1  # it is not killed meanwhile
    left = step

    def moment() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    for module, owner, name in STEPS:
        holder: Any = importlib.import_module(module)
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
