"""The small form of the Pack view for the limits of bundles."""

from __future__ import annotations

from rowtui.tui.views.pack.limits import FIELDS
from rowtui.tui.widgets.fields import Field, Fields
from textual.app import ComposeResult
from textual.widgets import Static

LABELS = {"largest": "jobs in a bundle", "longest": "longest bundle", "factor": "time factor"}
_EXAMPLES = {"largest": "like 16", "longest": "like 12:00:00", "factor": "like 1.5"}


class LimitsForm(Fields):
    """Three fields on a line. An empty field means the configured value."""

    DEFAULT_CSS = "LimitsForm { layout: horizontal; }"
    NAMES = FIELDS
    PREFIX = "limit-"

    def compose(self) -> ComposeResult:
        """Compose each field with its name."""
        for name in FIELDS:
            yield Static(LABELS[name], markup=False)
            yield Field(id=f"{self.PREFIX}{name}", keys=self.KEYS, placeholder=_EXAMPLES[name])
