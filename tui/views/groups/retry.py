"""The question how failed jobs are retried: unchanged, or with more resources.

The page shows the failures, the changes that may help, and fields for a change; an empty field
leaves the job unchanged. The page sends nothing: the answer becomes a plan, which is confirmed like
any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from rowtui.core.base.quantities import read_fields
from rowtui.core.base.text import plural, visible
from rowtui.core.project.next_attempt import (
    NO_CHANGE,
    AmountChange,
    parse_cpus,
    parse_memory,
    parse_walltime,
    suggested_change,
)
from rowtui.core.project.views.views import FailedJob
from rowtui.tui.views.dialogs import field_keys
from rowtui.tui.views.forms import FormField, FormScreen
from rowtui.tui.widgets.cells import Line, line
from textual.binding import Binding, BindingType

MOST_LISTED = 4
"""The number of jobs that are listed; the others are counted."""

FIELDS = (
    FormField("memory", "Memory", "as before · 2x · 64G"),
    FormField("walltime", "Time", "as before · 1.5x · 04:00:00"),
    FormField("cpus", "CPUs", "as before · 2x · 8"),
    FormField("partition", "Partition", "any that takes it · highmem"),
    FormField("cluster", "Cluster", "as before · another one's name"),
)
_READERS: Mapping[str, Callable[[str], object]] = {
    "memory": parse_memory,
    "walltime": parse_walltime,
    "cpus": parse_cpus,
    "partition": str,
    "cluster": str,
}
"""How the texts of the fields are read; the names are those of `AmountChange`."""


class TypedChange(NamedTuple):
    """The change in the fields, and by field name a sentence about each unreadable text."""

    change: AmountChange
    wrong: Mapping[str, str]


def read_change(texts: Mapping[str, str]) -> TypedChange:
    """Return the change that these texts describe."""
    found, wrong = read_fields(_READERS, texts)
    return TypedChange(AmountChange(**found), wrong)


def prefilled(jobs: Sequence[FailedJob]) -> dict[str, str]:
    """Return the change that may help all of these jobs, as texts of the fields; else nothing."""
    suggested = {suggested_change(job.cause) for job in jobs}
    change = suggested.pop() if len(suggested) == 1 else NO_CHANGE
    amounts = {"memory": change.memory, "walltime": change.walltime, "cpus": change.cpus}
    return {
        name: f"{amount.value:g}" + ("x" if amount.times else "")
        for name, amount in amounts.items()
        if amount is not None
    }


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


class AgainScreen(FormScreen[AmountChange]):
    """A dialog that returns the requested change, or None. `note` is shown beside the question."""

    NAME = "again"
    ENTER = "show the plan"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "no", "close", id="again.nothing", tooltip="retry nothing"),
        *field_keys("again"),
    ]

    def __init__(
        self, jobs: Sequence[FailedJob], *, several_clusters: bool = False, note: str = ""
    ) -> None:
        texts = prefilled(jobs)
        fields = [
            one._replace(text=texts.get(one.name, ""))
            for one in FIELDS
            if several_clusters or one.name != "cluster"
        ]
        title = f"Retry {plural(len(jobs), 'failed job')}?"
        super().__init__(title, note, failed_lines(jobs), fields, read_change)
