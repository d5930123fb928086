"""The small form of the Explain view in which a person tries other amounts, tags and people."""

from __future__ import annotations

from collections.abc import Mapping

from rowtui.core.mapping.decision import Decision
from rowtui.core.text import visible
from rowtui.core.workflow.duration import format_duration
from rowtui.tui.render.explain import walltime_of
from rowtui.tui.render.what_if import FIELDS, amount_text
from textual.app import ComposeResult
from textual.containers import Container, Horizontal
from textual.message import Message
from textual.widgets import Input, Static

LABELS = {
    "cores": "cores",
    "mem": "mem GB",
    "gpus": "GPUs",
    "walltime": "walltime",
    "tags": "tags",
    "user": "user",
    "roles": "roles",
}
_ROWS = (("cores", "mem", "gpus", "walltime"), ("tags", "user", "roles"))


class WhatIfForm(Container):
    """Seven fields on two lines. An empty one shows the job's own value, and asks nothing."""

    class Changed(Message):
        """A field has another text, typed by a person."""

        def can_replace(self, message: Message) -> bool:
            """Only the last of a burst matters."""
            return isinstance(message, WhatIfForm.Changed)

    class Done(Message):
        """Enter: the person has typed it all."""

    def compose(self) -> ComposeResult:
        """What a job asks for, then who and what it is."""
        for number, names in enumerate(_ROWS):
            with Horizontal(id=f"what-if-{number}"):
                for name in names:
                    yield Static(LABELS[name], markup=False)
                    yield Input(id=f"if-{name}", compact=True)

    def field(self, name: str) -> Input:
        """One field."""
        return self.query_one(f"#if-{name}", Input)

    @property
    def texts(self) -> dict[str, str]:
        """What stands in the fields."""
        return {name: self.field(name).value for name in FIELDS}

    def fill(self, texts: Mapping[str, str]) -> None:
        """Put these texts into the fields; nobody is told."""
        for name in FIELDS:
            text = texts.get(name, "")
            if self.field(name).value != text:
                with self.prevent(Input.Changed):
                    self.field(name).value = text

    def show_job(self, decision: Decision | None) -> None:
        """Let the job's own values shine through the empty fields."""
        for name, text in _own(decision).items():
            field = self.field(name)
            theirs = name == "roles" and self.field("user").value.strip()
            shown = "their own; -: none" if theirs else text
            if field.placeholder != shown:
                field.placeholder = shown

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


def _own(decision: Decision | None) -> dict[str, str]:
    own = dict.fromkeys(FIELDS, "")
    own["tags"] = "+tag  +tag=prefer  -tag"
    if decision is None:
        return own
    job, user = decision.job, decision.request.user
    for name, value in job._asdict().items():
        own[name] = "" if value is None else amount_text(value)
    seconds = walltime_of(decision)
    own["walltime"] = "" if seconds is None else format_duration(seconds)
    if user is not None:
        own["user"] = visible(user.name)
        own["roles"] = ", ".join(map(visible, user.roles))
    return own
