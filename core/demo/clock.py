"""A clock that runs faster than real time by an adjustable factor."""

from __future__ import annotations

import time
from collections.abc import Callable

SPEEDS = (1, 10, 60, 300, 1000)
SPEED = 60
"""The initial speed."""


class FastClock:
    """Seconds of the simulation. `steady`: the real clock. Changes of the speed cause no jumps."""

    def __init__(self, speed: int = SPEED, steady: Callable[[], float] = time.monotonic) -> None:
        self.speed = speed
        self._steady = steady
        self._then, self._base = steady(), 0.0

    def __call__(self) -> float:
        """Return the seconds of the simulation since it began."""
        return self._base + (self._steady() - self._then) * self.speed

    def skip(self, seconds: float) -> None:
        """Advance the clock at once."""
        self._base += seconds

    def faster(self) -> None:
        """Set the next higher speed."""
        self._go_at(SPEEDS[min(SPEEDS.index(self.speed) + 1, len(SPEEDS) - 1)])

    def slower(self) -> None:
        """Set the next lower speed."""
        self._go_at(SPEEDS[max(SPEEDS.index(self.speed) - 1, 0)])

    def _go_at(self, speed: int) -> None:
        self._base, self._then = self(), self._steady()
        self.speed = speed
