"""Have a process that sends jobs be killed at a chosen moment."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable

from rowtui.core.submission.plan.model import JobStep, JournalEntry
from rowtui.core.submission.sending.journal import Journal


def kill_after(number: int) -> None:
    """Have this process end by SIGKILL once so many jobs are noted as accepted; 0: never."""
    if not number:
        return
    original = Journal.append
    left = number

    def append(self: Journal, entries: Iterable[JournalEntry]) -> None:
        nonlocal left
        noted = list(entries)
        original(self, noted)
        left -= sum(it.step is JobStep.ACCEPTED and not it.detail for it in noted)
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    Journal.append = append  # type: ignore[method-assign]
