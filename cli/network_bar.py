"""How far a run is: a line on stderr, below what is printed. Silent without a terminal."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TYPE_CHECKING

from rowtui.cli.pack_text import cut
from rowtui.core.network.job_model import STATES, JobState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowtui.cli.output import Output

CELLS = 20
_SAID = (
    (JobState.ACTIVE, "sent"),
    (JobState.READY, "ready"),
    (JobState.FAILED, "failed"),
    (JobState.CANCELLED, "cancelled"),
)


class Bar:
    """The line. `draw` again and again; `clear` before anything else is written."""

    def __init__(self, out: Output) -> None:
        self._shows = out.progress
        self._started = time.monotonic()
        self._there = False

    def draw(self, counts: Sequence[Sequence[int]]) -> None:
        """Of these jobs: by node, by state."""
        if not self._shows:
            return
        text = bar_text(counts, time.monotonic() - self._started)
        width = shutil.get_terminal_size().columns
        sys.stdout.flush()
        sys.stderr.write(f"\r\x1b[K{cut(text, width - 1)}")
        sys.stderr.flush()
        self._there = True

    def clear(self) -> None:
        """Take it away."""
        if self._there:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._there = False


def bar_text(counts: Sequence[Sequence[int]], seconds: float) -> str:
    """`Jobs ████░░░░ 12/41, 4 sent, 1 failed (0:12)`."""
    all_of = [sum(each[state] for each in counts) for state in range(STATES)]
    total = sum(all_of)
    done = all_of[JobState.COMPLETE] + all_of[JobState.MISSING]
    share = done / total if total else 0.0
    filled = "█" * int(share * CELLS)
    said = [f"{all_of[state]:,} {word}" for state, word in _SAID if all_of[state]]
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    clock = f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
    more = "".join(f", {each}" for each in said)
    return f"Jobs {filled:░<{CELLS}} {done:,}/{total:,}{more} ({clock})"
