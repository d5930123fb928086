"""The question how failed jobs are retried: unchanged, or with more resources.

The page shows the failures, the changes that may help, and fields for a change; an empty field
leaves the job unchanged. The page sends nothing: the answer becomes a plan, which is confirmed like
any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

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
from rowtui.tui.views.dialogs import Dialog, field_keys, show_wrong
from rowtui.tui.widgets.cells import Line, as_content, line
from rowtui.tui.widgets.chrome import set_titles
from rowtui.tui.widgets.fields import InputField
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Input, Static

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


class AgainScreen(Dialog[AmountChange | None]):
    """A dialog that returns the requested change, or None. `note` is shown beside the question."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "no", "do nothing", id="again.nothing", tooltip="retry nothing"),
        *field_keys("again"),
    ]

    def __init__(
        self, jobs: Sequence[FailedJob], *, several_clusters: bool = False, note: str = ""
    ) -> None:
        super().__init__()
        self._jobs = jobs
        self._fields = [one for one in FIELDS if several_clusters or one.name != "cluster"]
        self._note = note

    def compose(self) -> ComposeResult:
        """Compose the failures, a field for each value that can be changed, and the keys."""
        texts = prefilled(self._jobs)
        with VerticalScroll(id="dialog", classes="again", can_focus=False) as dialog:
            set_titles(dialog, f"Retry {plural(len(self._jobs), 'failed job')}?", self._note)
            yield Static(as_content([*failed_lines(self._jobs), ()]), markup=False)
            for field in self._fields:
                with Horizontal(classes="field"):
                    yield Static(field.label, markup=False)
                    yield InputField(
                        texts.get(field.name, ""),
                        id=f"again-{field.name}",
                        placeholder=field.examples,
                        keys=(("Enter", "show the plan"), ("Tab", "next field")),
                        select_on_focus=False,
                    )
                yield Static(id=f"wrong-{field.name}", markup=False, classes="wrong")
            keys = line(
                ("Enter", "key"), " shows the plan   ", ("Tab", "key"), " next   ",
                ("Esc", "key"), " does nothing",
            )  # fmt: skip
            yield Static(as_content([(), keys]), markup=False)

    def _input(self, name: str) -> Input:
        return self.query_one(f"#again-{name}", Input)

    def _check(self, only: str = "") -> dict[str, str]:
        """Show the errors beneath all fields, or beneath this one; return them by field name."""
        texts = {field.name: self._input(field.name).value for field in self._fields}
        wrong = dict(read_change(texts).wrong)
        for field in self._fields:
            if only in ("", field.name):
                show_wrong(self, field.name, wrong.get(field.name, ""))
        return wrong

    def on_input_changed(self, event: Input.Changed) -> None:
        """Check again a field that was wrong; an incomplete text is not reported as wrong."""
        name = (event.input.id or "").removeprefix("again-")
        if self.query_one(f"#wrong-{name}").has_class("-shown"):
            self._check(name)

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        """Check a field that the user has left."""
        if isinstance(event.widget, Input) and self.is_current:
            self._check((event.widget.id or "").removeprefix("again-"))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return the change for a plan, if all fields can be parsed."""
        event.stop()
        wrong = self._check()
        if wrong:
            self._input(next(iter(wrong))).focus()
            return
        texts = {field.name: self._input(field.name).value for field in self._fields}
        self.dismiss(read_change(texts).change)
