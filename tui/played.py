"""What a dashboard shows and offers when it is not of the real world: a demo, or a recording.

The engine of such a dashboard is also its `Played`: its badge stands in the header, its clock may
run faster or slower, and things can be made to go wrong. `first_step` says to somebody who has
never seen rowtui which key leads on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from rowtui.tui.render.cells import Line, line

if TYPE_CHECKING:
    from rowtui.tui.session import Session


class Played(Protocol):
    """A world with a clock of its own."""

    @property
    def badge(self) -> str:
        """What the header says: `DEMO ×60`."""
        ...

    @property
    def stranger(self) -> bool:
        """Whether somebody may see rowtui for the first time: the first steps are shown."""
        ...

    @property
    def faults(self) -> tuple[tuple[str, str], ...]:
        """What can be made to go wrong, and what that does."""
        ...

    def faster(self) -> str:
        """Let time go by faster; a sentence on it."""
        ...

    def slower(self) -> str:
        """Let time go by slower; a sentence on it."""
        ...

    def inject(self, fault: str) -> str:
        """Make something go wrong; a sentence on it."""
        ...


def first_step(session: Session, view: str, *, marked: bool = False) -> Line:
    """The keys that lead on from here, to a submission and what comes after it.

    `marked`: whether any row of the view is.
    """
    sending = session.sending
    sent = sending is not None and sending.phase in ("done", "stopped", "broken")
    if sending is not None and sending.running:
        steps = [("", "The jobs are being sent: wait, or"), ("x", "stop after this one")]
    elif sent and view in ("submit", "status", "groups"):
        steps = [("6", "watch your jobs in the queue"), ("1", "back to the actions")]
    elif view == "status":
        steps = [("↑ ↓", "choose an action"), ("Enter", "see its eligible groups")]
    elif view == "groups" and not marked:
        steps = [("space", "mark a group: it is one job"), ("x", "why it goes where it goes")]
    elif view == "groups":
        steps = [("s", "submit what is marked; it asks before it sends")]
    elif view == "submit" and (sending is not None or session.planning):
        steps = [("↓", "read the scripts"), ("s", "confirm, with what it asks you to type")]
    elif view == "submit":
        steps = [("2", "choose groups first")]
    elif view == "queue":
        steps = [("l", "the log of a job")]
        if session.played is not None and session.played.faults:  # the clock is not the real one
            steps.append(("> <", "let time go by faster or slower"))
    else:
        steps = [("Esc", "one step back"), ("2", "groups to submit"), ("6", "your jobs")]
    spans: list[str | tuple[str, str]] = [(" Next: ", "title")]
    for key, text in steps:
        spans += [(key, "key"), (f" {text}   " if key else f"{text} ", "")]
    return line(*spans, ("! hide", "dim"))
