"""The state of a network run as glyph, word and colour; a module of its own, as networks
are rare.
"""

from __future__ import annotations

from rowtui.core.runs.model import RunStatus
from rowtui.tui.widgets.marks import Mark

RUN_MARKS = {
    RunStatus.NEW: Mark("○", "new", "eligible"),
    RunStatus.RUNNING: Mark("▶", "running", "submitted"),
    RunStatus.PAUSED: Mark("▲", "paused", "warning"),
    RunStatus.FINISHED: Mark("✓", "finished", "completed"),
    RunStatus.FAILED: Mark("✗", "failed", "failed"),
    RunStatus.STOPPED: Mark("○", "stopped", "waiting"),
}
