"""A job in words: its state in a colour, its times, and the ids that a user types."""

from __future__ import annotations

from typing import NamedTuple

from rowtui.cli.output.output import TableCell
from rowtui.core.base.lazy import pattern
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.submission.plan.record import JobRecord
from rowtui.core.workflow.duration import format_duration

_KEY = pattern(r"([0-9]{1,18})(?:_([0-9]{1,18})|\.([0-9]{1,9}))?")
_STYLES = {"running": "yellow bold", "completed": "green", "pending": "blue", "held": "blue"}


def state_cell(state: JobState) -> TableCell:
    """Return a state in its colour."""
    return TableCell(state.value, "red bold" if state.bad else _STYLES.get(state.value, ""))


def clock(seconds: float | None) -> str:
    """Return `00:12:05`, rounded up; "" if unknown."""
    return "" if seconds is None else format_duration(seconds)


class JobName(NamedTuple):
    """A typed job id: `12`, a task of an array `12_3`, or a request of a bundle `12.3`."""

    id: int
    task: int | None = None
    member: int | None = None

    @property
    def of_one(self) -> bool:
        """Whether the id names one job within an array or a bundle."""
        return self.task is not None or self.member is not None

    def means(self, record: JobRecord) -> bool:
        """Whether this job is named; a bare id names a whole array or bundle."""
        return (
            record.job_id == self.id
            and self.task in (None, record.task)
            and self.member in (None, record.member)
        )


def read_job_name(text: str) -> JobName | None:
    """Parse a job id; None if the text is no job id."""
    match = _KEY.fullmatch(text)
    if match is None:
        return None
    task, member = (None if it is None else int(it) for it in match.groups()[1:])
    return JobName(int(match[1]), task, member)
