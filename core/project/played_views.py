"""What a dashboard shows and offers when it is not of the real world: a demo, or a recording.

Beside an engine there may be a `Played`: its badge stands in the header, its clock may run faster
or slower, and things can be made to go wrong. `Engine` knows nothing of it.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

FASTER, SLOWER, INJECT = "faster", "slower", "inject"
"""The words of `Played.control`; INJECT has a fault as its argument."""


class PlayedState(NamedTuple):
    """What the header says, what can be made to go wrong and what that does, what was done.

    `about`: the view that it is about, where the first steps lead; "" for submitting by hand.
    """

    badge: str
    faults: tuple[tuple[str, str], ...] = ()
    said: str = ""
    about: str = ""


class Played(Protocol):
    """A world with a clock of its own."""

    @property
    def stranger(self) -> bool:
        """Whether somebody may see rowtui for the first time: the first steps are shown."""
        ...

    @property
    def state(self) -> PlayedState:
        """As it was last known; never waits."""
        ...

    async def control(self, word: str, argument: str = "") -> PlayedState:
        """Change the clock, or make something go wrong. Raises: RowtuiError."""
        ...
