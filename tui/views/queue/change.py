"""The form and the question before jobs that wait are changed: values now and afterwards."""

from __future__ import annotations

from typing import ClassVar

from rowtui.core.base.text import plural
from rowtui.core.clusters.schedulers.job_terms import (
    TERM_LABELS,
    JobTerms,
    read_terms,
    term_text,
)
from rowtui.core.project.queue.views import PresentTerms
from rowtui.tui.views.dialogs import field_keys
from rowtui.tui.views.forms import FormField, FormScreen
from rowtui.tui.views.questions import Question, word_for
from rowtui.tui.widgets.cells import Line, line
from rowtui.tui.widgets.short_text import limit
from textual.binding import Binding, BindingType

MOST_VALUES = 3
"""The number of different present values that the form names; the others are counted."""

_EXAMPLES = {
    "limit": "as now · 04:00:00 · 4h",
    "partition": "as now · highmem",
    "nice": "as now · 100: later than other jobs",
    "after": "as now · 12, 13_4: after these jobs · none",
}
FIELDS = tuple(FormField(name, TERM_LABELS[name], text) for name, text in _EXAMPLES.items())


def _text(value: int | str | None, name: str) -> str:
    return limit(value) if name == "limit" and isinstance(value, int) else term_text(value, name)


def present_lines(present: PresentTerms) -> list[Line]:
    """Return a title, and a line for each term with its values in the jobs: `4 h or 8 h`."""
    wide = max(map(len, TERM_LABELS.values()))
    lines = [line(("Now", "heading"))]
    for name, label in TERM_LABELS.items():
        texts = [_text(value, name) for value, _ in present.values.get(name, ())]
        shown = texts[:MOST_VALUES]
        if len(texts) > len(shown):
            shown.append(plural(len(texts) - len(shown), "other value"))
        lines.append(line((f"{label:<{wide}}  ", "dim"), " or ".join(shown)))
    if present.problem:
        lines.append(line(("▲ ", "warning"), (present.problem, "warning")))
    return lines


def change_question(present: PresentTerms, change: JobTerms) -> Question:
    """Return the question with each changed term: its values before and after, and its jobs."""
    jobs = plural(present.jobs, "job")
    rows = [
        (TERM_LABELS[name], _text(before, name), _text(after, name), f"{count:,}")
        for name, after in change._asdict().items()
        if after is not None
        for before, count in present.values[name]
    ]
    sums = (jobs, "", "", "")
    return Question(
        f"Change {jobs}?",
        [
            "The scheduler decides about each job: a job that has started, or that may not change "
            "so, stays as it is, and the reason is shown.",
        ],
        word_for(present.jobs),
        [("Changes", "Now", "Afterwards", "Jobs"), *rows, sums],
        to=f"change {'it' if present.jobs == 1 else 'them'}",
        otherwise="changes nothing",
        undo="e changes the jobs again.",
    )


class ChangeScreen(FormScreen[JobTerms]):
    """A dialog that returns the new terms of jobs that wait, or None."""

    NAME = "change"
    ENTER = "show the change"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "no", "close", id="change.nothing", tooltip="change nothing"),
        *field_keys("change"),
    ]

    def __init__(self, present: PresentTerms) -> None:
        left = present.total - present.jobs
        note = f"{left:,} marked cannot be changed" if left else ""
        title = f"Change {plural(present.jobs, 'job')} that wait{'s' if present.jobs == 1 else ''}"
        super().__init__(title, note, present_lines(present), FIELDS, read_terms)
