"""The small form of the Pack view in which a person limits bundles."""

from __future__ import annotations

from collections.abc import Mapping

from rowtui.tui.render.pack_limits import FIELDS
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static

LABELS = {"largest": "jobs in a bundle", "longest": "longest bundle", "factor": "time factor"}
_EXAMPLES = {"largest": "like 16", "longest": "like 12:00:00", "factor": "like 1.5"}


class LimitsForm(Horizontal):
    """Three fields on a line. An empty one leaves it as configured."""

    class Changed(Message):
        """A field has another text, typed by a person."""

        def can_replace(self, message: Message) -> bool:
            """Only the last of a burst matters."""
            return isinstance(message, LimitsForm.Changed)

    class Done(Message):
        """Enter: the person has typed it all."""

    def compose(self) -> ComposeResult:
        """Each limit with its name."""
        for name in FIELDS:
            yield Static(LABELS[name], markup=False)
            yield Input(id=f"limit-{name}", placeholder=_EXAMPLES[name], compact=True)

    def field(self, name: str) -> Input:
        """One field."""
        return self.query_one(f"#limit-{name}", Input)

    @property
    def texts(self) -> dict[str, str]:
        """What stands in the fields."""
        return {name: self.field(name).value for name in FIELDS}

    def fill(self, texts: Mapping[str, str]) -> None:
        """Put these texts into the fields; nobody is told."""
        for name in FIELDS:
            with self.prevent(Input.Changed):
                self.field(name).value = texts.get(name, "")

    def enter(self) -> None:
        """Begin with the first field."""
        self.field(FIELDS[0]).focus()

    @property
    def inside(self) -> bool:
        """Whether the person is typing here."""
        return any(self.field(name).has_focus for name in FIELDS)

    def next_field(self) -> None:
        """From one field to the next, round and round."""
        at = next((n for n, name in enumerate(FIELDS) if self.field(name).has_focus), -1)
        self.field(FIELDS[(at + 1) % len(FIELDS)]).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Tell that something was typed."""
        event.stop()
        self.post_message(self.Changed())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Tell that all was typed."""
        event.stop()
        self.post_message(self.Done())
