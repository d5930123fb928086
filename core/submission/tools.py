"""What carrying out plans and settling them work with, given in one piece."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rowtui.core.clusters.schedulers.base import Scheduler
from rowtui.core.state.store import Store
from rowtui.core.submission.journal import Journal
from rowtui.core.submission.reservations import Reservations, StoredReservations

# Seconds between two looks for a job whose submission had no clear answer.
LOOKUP_PAUSE = 2.0


@dataclass(frozen=True, slots=True)
class Tools:
    """The outside world of a submission. `root` is the project's folder.

    `stop` is asked between two jobs: when it says yes, no more are sent.
    """

    root: Path
    scheduler: Scheduler
    journal: Journal
    reservations: Reservations
    clock: Callable[[], float] = time.time
    stop: Callable[[], bool] = lambda: False
    lookup_pause: float = LOOKUP_PAUSE


def tools_of(store: Store, scheduler: Scheduler, stop: Callable[[], bool] | None = None) -> Tools:
    """The tools for the project of a store."""
    return Tools(
        root=store.root,
        scheduler=scheduler,
        journal=Journal(store.root),
        reservations=StoredReservations(store),
        stop=stop or (lambda: False),
    )
