"""Extra controls of a dashboard that does not show real clusters: a demo, or a recording.

An engine may be accompanied by a `Played`. Its badge is shown in the header, its clock may run
faster or slower, and it can inject faults. `Engine` does not depend on `Played`.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

FASTER, SLOWER, INJECT = "faster", "slower", "inject"
"""The words of `Played.control`; INJECT takes a fault as its argument."""


class PlayedState(NamedTuple):
    """The header's badge, the faults that can be injected with their effects, and the last result.

    `about`: the view that the demo is about, to which the first steps lead; "" for submitting by
    hand.
    """

    badge: str
    faults: tuple[tuple[str, str], ...] = ()
    said: str = ""
    about: str = ""


class Played(Protocol):
    """A simulated or recorded world with its own clock."""

    @property
    def stranger(self) -> bool:
        """Whether the user may see rowtui for the first time, so that the first steps are shown."""
        ...

    @property
    def state(self) -> PlayedState:
        """Return the last known state without waiting."""
        ...

    async def control(self, word: str, argument: str = "") -> PlayedState:
        """Change the clock, or inject a fault. Raises: RowtuiError."""
        ...
