"""The progress of a run: a line on stderr, below the printed text. Silent without a terminal."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TYPE_CHECKING

from rowtui.cli.pack.text import cut
from rowtui.core.network.graph.job_model import STATES, JobState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowtui.cli.output.output import Output

CELLS = 20
_SAID = (
    (JobState.SUBMITTED, "submitted"),
    (JobState.ELIGIBLE, "eligible"),
    (JobState.FAILED, "failed"),
    (JobState.CANCELLED, "cancelled"),
)


class Bar:
    """The progress line. Call `draw` repeatedly, and `clear` before other text is written."""

    def __init__(self, out: Output) -> None:
        self._shows = out.progress
        self._started = time.monotonic()
        self._there = False

    def draw(self, counts: Sequence[Sequence[int]]) -> None:
        """Draw the line for these counts of jobs: by node, by state."""
        if not self._shows:
            return
        text = bar_text(counts, time.monotonic() - self._started)
        width = shutil.get_terminal_size().columns
        sys.stdout.flush()
        sys.stderr.write(f"\r\x1b[K{cut(text, width - 1)}")
        sys.stderr.flush()
        self._there = True

    def clear(self) -> None:
        """Erase the line."""
        if self._there:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._there = False


def bar_text(counts: Sequence[Sequence[int]], seconds: float) -> str:
    """Return `Jobs ████░░░░ 12/41, 4 submitted, 1 failed (0:12)`."""
    all_of = [sum(each[state] for each in counts) for state in range(STATES)]
    total = sum(all_of)
    done = all_of[JobState.COMPLETED] + all_of[JobState.SKIPPED]
    share = done / total if total else 0.0
    filled = "█" * int(share * CELLS)
    said = [f"{all_of[state]:,} {word}" for state, word in _SAID if all_of[state]]
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    clock = f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
    more = "".join(f", {each}" for each in said)
    return f"Jobs {filled:░<{CELLS}} {done:,}/{total:,}{more} ({clock})"
