"""The small form of the Explain view for other resources, tags, user and roles."""

from __future__ import annotations

from rowtui.core.base.text import visible
from rowtui.core.mapping.model.decision import Decision
from rowtui.core.workflow.duration import format_duration
from rowtui.tui.views.explain.explain import walltime_of
from rowtui.tui.views.explain.what_if import FIELDS, amount_text
from rowtui.tui.widgets.fields import Field, Fields
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static

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


class WhatIfForm(Fields):
    """Seven fields on two lines. An empty field shows the job's own value, and changes nothing."""

    NAMES = FIELDS
    PREFIX = "if-"

    def compose(self) -> ComposeResult:
        """Compose the resources of the job in the first line, and its tags, user and roles in the
        second.
        """
        for number, names in enumerate(_ROWS):
            with Horizontal(id=f"what-if-{number}"):
                for name in names:
                    yield Static(LABELS[name], markup=False)
                    yield Field(id=f"{self.PREFIX}{name}", keys=self.KEYS)

    def show_job(self, decision: Decision | None) -> None:
        """Show the job's own values in the empty fields."""
        for name, text in _own(decision).items():
            field = self.field(name)
            theirs = name == "roles" and self.field("user").value.strip()
            shown = "their own; -: none" if theirs else text
            if field.placeholder != shown:
                field.placeholder = shown


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
