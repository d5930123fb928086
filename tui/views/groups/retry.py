"""The question how failed jobs are retried: unchanged, or with more resources.

The page shows the failures, the changes that may help, and fields for a change. The page sends
nothing: the answer becomes a plan, which is confirmed like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rowtui.core.base.text import plural
from rowtui.core.project.next_attempt import (
    AmountChange,
)
from rowtui.core.project.views.views import FailedJob
from rowtui.tui.views.dialogs import Dialog, field_keys, show_wrong
from rowtui.tui.views.groups.retry_fields import FIELDS, failed_lines, prefilled, read_change
from rowtui.tui.widgets.cells import as_content, line
from rowtui.tui.widgets.chrome import set_titles
from rowtui.tui.widgets.fields import InputField
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Input, Static


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
