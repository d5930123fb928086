"""A clock that runs faster than ours, and says how fast."""

from __future__ import annotations

import time
from collections.abc import Callable

SPEEDS = (1, 10, 60, 300, 1000)
SPEED = 60
"""At the start."""


class FastClock:
    """Seconds of the simulation. `steady`: our own clock. It never jumps when the speed changes."""

    def __init__(self, speed: int = SPEED, steady: Callable[[], float] = time.monotonic) -> None:
        self.speed = speed
        self._steady = steady
        self._then, self._base = steady(), 0.0

    def __call__(self) -> float:
        """Seconds of the simulation since it began."""
        return self._base + (self._steady() - self._then) * self.speed

    def skip(self, seconds: float) -> None:
        """Let time go by at once."""
        self._base += seconds

    def faster(self) -> None:
        """The next speed."""
        self._go_at(SPEEDS[min(SPEEDS.index(self.speed) + 1, len(SPEEDS) - 1)])

    def slower(self) -> None:
        """The speed before."""
        self._go_at(SPEEDS[max(SPEEDS.index(self.speed) - 1, 0)])

    def _go_at(self, speed: int) -> None:
        self._base, self._then = self(), self._steady()
        self.speed = speed
