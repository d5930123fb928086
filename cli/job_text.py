"""How jobs look as text, in whatever list they stand: states, times, ids as people type them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rowtui.cli.table import Cell
from rowtui.core.clusters.schedulers.base import JobKey
from rowtui.core.workflow.duration import format_duration

if TYPE_CHECKING:
    from rowtui.core.clusters.schedulers.base import JobState

_KEY = re.compile(r"([0-9]{1,18})(?:_([0-9]{1,18}))?")
_STYLES = {"running": "yellow bold", "completed": "green", "pending": "blue", "held": "blue"}


def state_cell(state: JobState) -> Cell:
    """A state in its colour."""
    return Cell(state.value, "red bold" if state.bad else _STYLES.get(state.value, ""))


def clock(seconds: int | None) -> str:
    """`00:12:05`; "" where it is not known."""
    return "" if seconds is None else format_duration(seconds)


def read_key(text: str) -> JobKey | None:
    """`12` or `12_3` as a job's key; None for anything else."""
    match = _KEY.fullmatch(text)
    if match is None:
        return None
    return JobKey(int(match[1]), None if match[2] is None else int(match[2]))


def names(key: JobKey, wanted: JobKey) -> bool:
    """Whether `wanted` names this job: by its own key, or its whole array by the id alone."""
    return key.id == wanted.id and wanted.task in (None, key.task)
