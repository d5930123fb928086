"""The question for the limits of a network run. The default is no: only the exact word is a yes."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import ClassVar

from rowtui.core.engine.api.engine import RunLimits
from rowtui.tui.views.dialog import Dialog, field_keys, show_wrong
from rowtui.tui.views.network.run_limits import FIELDS, TypedLimits, read_limits
from rowtui.tui.widgets.cells import Line, line
from rowtui.tui.widgets.chrome import set_titles
from rowtui.tui.widgets.fields import InputField
from rowtui.tui.widgets.palette import as_content
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Input, Static


class RunLimitsScreen(Dialog[RunLimits | None]):
    """A dialog that returns the confirmed limits, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "no", "start nothing", id="run-limits.no", tooltip="start nothing"),
        *field_keys("run-limits"),
    ]

    def __init__(
        self,
        question: str,
        lines: Sequence[Line],
        texts: Mapping[str, str],
        clock: Callable[[], float] = time.time,
        clusters: Collection[str] = (),
    ) -> None:
        super().__init__()
        self._question = question
        self._lines = lines
        self._texts = texts
        self._clock = clock
        self._clusters = clusters

    def compose(self) -> ComposeResult:
        """Compose the description, a field for each limit, and the field for the answer."""
        with VerticalScroll(id="dialog", classes="again", can_focus=False) as dialog:
            set_titles(dialog, self._question)
            yield Static(as_content([*self._lines, ()]), markup=False)
            for field in FIELDS:
                with Horizontal(classes="field"):
                    yield Static(field.label, markup=False)
                    yield InputField(
                        self._texts.get(field.name, ""),
                        id=f"allow-{field.name}",
                        keys=(("Enter", "next field"), ("↑ ↓", "fields")),
                        placeholder=field.example,
                        select_on_focus=False,
                    )
                yield Static(id=f"wrong-{field.name}", markup=False, classes="wrong")
            yes = line(
                "Type ", ("yes", "key"), " and press ", ("Enter", "key"), ".  ",
                ("Esc", "key"), " does nothing.",
            )  # fmt: skip
            yield Static(as_content([yes]), markup=False)
            with Horizontal(classes="field"):
                yield Static("answer", markup=False)
                yield InputField(
                    id="allow-answer",
                    keys=(("Enter", "answer yes"), ("↑ ↓", "fields")),
                    placeholder="no",
                )

    def on_mount(self) -> None:
        """Focus the answer, because the fields already have suggested numbers."""
        answer = self.query_one("#allow-answer", Input)
        answer.focus()
        self.call_after_refresh(answer.scroll_visible, animate=False)

    @property
    def _typed(self) -> dict[str, str]:
        return {one.name: self.query_one(f"#allow-{one.name}", Input).value for one in FIELDS}

    def _read(self) -> TypedLimits:
        return read_limits(self._typed, self._clock(), self._clusters)

    def _check(self) -> dict[str, str]:
        """Show the errors beneath the fields; return the errors by field name."""
        wrong = dict(self._read().wrong)
        for field in FIELDS:
            show_wrong(self, field.name, wrong.get(field.name, ""))
        return wrong

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go from a field to the next one; from the answer, start only for the exact word."""
        event.stop()
        wrong = self._check()
        if event.input.id != "allow-answer":
            if (event.input.id or "").removeprefix("allow-") not in wrong:
                self.focus_next()
            return
        if event.value.strip().lower() not in ("yes", "y"):
            self.dismiss(None)
        elif wrong:
            self.query_one(f"#allow-{next(iter(wrong))}", Input).focus()
        else:
            self.dismiss(self._read().limits)
