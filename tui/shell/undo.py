"""What the user did in the dashboard and can undo: marks, filters, trials, plans, held jobs.

Each view adds a step right after a change, with the function that reverts it. The dashboard undoes
the newest step, or all steps down to one that the user chooses.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import NamedTuple

MOST_STEPS = 100
"""The number of steps that are kept."""


class UndoStep(NamedTuple):
    """One change. `take_back` reverts it, or returns a text: why that is impossible now.

    `view` is the view of the change. `asks`: `take_back` opens a question, because it changes
    something outside the dashboard. `of`: changes in a row of the same thing are one step.
    """

    at: float
    view: str
    text: str
    take_back: Callable[[], object]
    of: Hashable = None
    asks: bool = False


class UndoList:
    """The newest steps, the last one first to be undone."""

    def __init__(self) -> None:
        self._steps: deque[UndoStep] = deque(maxlen=MOST_STEPS)
        self._undoing = False

    @property
    def steps(self) -> tuple[UndoStep, ...]:
        """All steps, the newest first."""
        return tuple(reversed(self._steps))

    def add(self, step: UndoStep) -> None:
        """Add a step; what happens while another step is undone is none."""
        if self._undoing:
            return
        if step.of is not None and self._steps and self._steps[-1].of == step.of:
            step = step._replace(take_back=self._steps.pop().take_back)
        self._steps.append(step)

    def take(self) -> UndoStep | None:
        """Remove the newest step and return it; None without any."""
        return self._steps.pop() if self._steps else None

    def undo(self, step: UndoStep) -> str:
        """Undo a step that was taken, while its view is on the screen.

        Return the reason if it can no longer be undone.
        """
        self._undoing = True
        try:
            why = step.take_back()
            return why if isinstance(why, str) else ""
        finally:
            self._undoing = False
