"""How jobs look as text, in whatever list they stand: states, times, ids as people type them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from rowtui.cli.table import Cell
from rowtui.core.workflow.duration import format_duration

if TYPE_CHECKING:
    from rowtui.core.clusters.schedulers.base import JobState
    from rowtui.core.submission.model import JobRecord

_KEY = re.compile(r"([0-9]{1,18})(?:_([0-9]{1,18})|\.([0-9]{1,9}))?")
_STYLES = {"running": "yellow bold", "completed": "green", "pending": "blue", "held": "blue"}


def state_cell(state: JobState) -> Cell:
    """A state in its colour."""
    return Cell(state.value, "red bold" if state.bad else _STYLES.get(state.value, ""))


def clock(seconds: int | None) -> str:
    """`00:12:05`; "" where it is not known."""
    return "" if seconds is None else format_duration(seconds)


class JobName(NamedTuple):
    """What somebody typed: `12`, a task of an array `12_3`, or a request of a bundle `12.3`."""

    id: int
    task: int | None = None
    member: int | None = None

    @property
    def of_one(self) -> bool:
        """Whether it says which of an array or a bundle."""
        return self.task is not None or self.member is not None

    def means(self, record: JobRecord) -> bool:
        """Whether this job is meant; a bare id means a whole array or bundle."""
        return (
            record.job_id == self.id
            and self.task in (None, record.task)
            and self.member in (None, record.member)
        )


def read_job_name(text: str) -> JobName | None:
    """What a text names, None if that is no job."""
    match = _KEY.fullmatch(text)
    if match is None:
        return None
    task, member = (None if it is None else int(it) for it in match.groups()[1:])
    return JobName(int(match[1]), task, member)
