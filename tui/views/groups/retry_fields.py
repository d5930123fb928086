"""The texts of the question how failed jobs are retried: the failures, and the fields for a change.

An empty field leaves the job unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.project.next_attempt import (
    NO_CHANGE,
    Amount,
    AmountChange,
    parse_cpus,
    parse_memory,
    parse_walltime,
    suggested_change,
)
from rowtui.core.project.views.views import FailedJob
from rowtui.tui.widgets.cells import Line, line

MOST_LISTED = 4
"""The number of jobs that are listed; the others are counted."""


class AmountField(NamedTuple):
    """One amount that can be changed. `name` is the name of the attribute of `AmountChange`."""

    name: str
    label: str
    examples: str
    read: Callable[[str], object]


def _name(text: str) -> str:
    return text


FIELDS = (
    AmountField("memory", "Memory", "as before · 2x · 64G", parse_memory),
    AmountField("walltime", "Time", "as before · 1.5x · 04:00:00", parse_walltime),
    AmountField("cpus", "CPUs", "as before · 2x · 8", parse_cpus),
    AmountField("partition", "Partition", "any that takes it · highmem", _name),
    AmountField("cluster", "Cluster", "as before · another one's name", _name),
)


class TypedChange(NamedTuple):
    """The change in the fields, and by field name a sentence about each unreadable text."""

    change: AmountChange
    wrong: Mapping[str, str]


def read_change(texts: Mapping[str, str]) -> TypedChange:
    """Return the change that these texts describe."""
    found: dict[str, Any] = {}
    wrong = {}
    for field in FIELDS:
        text = texts.get(field.name, "").strip()
        if not text:
            continue
        try:
            found[field.name] = field.read(text)
        except RowtuiError as error:
            wrong[field.name] = error.message + (f"; {error.hint}" if error.hint else "")
    return TypedChange(AmountChange(**found), wrong)


def prefilled(jobs: Sequence[FailedJob]) -> dict[str, str]:
    """Return the change that may help all of these jobs, as texts of the fields; else nothing."""
    suggested = {suggested_change(job.cause) for job in jobs}
    change = suggested.pop() if len(suggested) == 1 else NO_CHANGE
    amounts = {"memory": change.memory, "walltime": change.walltime, "cpus": change.cpus}
    return {name: _typed(amount) for name, amount in amounts.items() if amount is not None}


def _typed(amount: Amount) -> str:
    return f"{amount.value:g}" + ("x" if amount.times else "")


def failed_lines(jobs: Sequence[FailedJob]) -> list[Line]:
    """Return the jobs as lines, and the changes that may help some of them if the causes differ."""
    listed = jobs if len(jobs) <= MOST_LISTED else jobs[: MOST_LISTED - 1]
    names = max((len(job.name or "–") for job in listed), default=0)
    actions = max((len(visible(job.action)) for job in listed), default=0)
    lines = [
        line(
            (f"{job.name or '–':>{names}}", "key"),
            f"  {visible(job.action):<{actions}}  ",
            (plural(job.directories, "directory", "directories"), "dim"),
            ("  " + job.cause, "failed"),
        )
        for job in listed
    ]
    if len(jobs) > len(listed):
        more = jobs[len(listed) :]
        directories = plural(sum(job.directories for job in more), "directory", "directories")
        lines.append(line((f"and {plural(len(more), 'more job')} with {directories}", "dim")))
    return lines + _mixed(jobs)


def _mixed(jobs: Sequence[FailedJob]) -> list[Line]:
    causes: dict[str, int] = {}
    for job in jobs:
        causes[job.cause] = causes.get(job.cause, 0) + 1
    helped = [cause for cause in causes if not suggested_change(cause).is_nothing]
    if len(causes) == 1 or not helped:
        return []
    words = [f"{suggested_change(cause)} for {plural(causes[cause], 'job')}" for cause in helped]
    return [line((f"May help: {', '.join(words)}", "dim"))]
