"""Why a command of a demo or a recording cannot be used now; "" if it can."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rowtui.tui.session import Session


def when_played(session: Session) -> str:
    """There is a clock of its own."""
    return "" if session.played else "this is the real world: its clock runs as it does"


def when_demo(session: Session) -> str:
    """There are first steps to show."""
    played = session.played
    return "" if played and played.stranger else "only a demo has first steps"
