"""Reasons why a command of a demo or a recording cannot be used now; "" if it can."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session


def when_played(session: Session) -> str:
    """Return why the clock cannot be changed, or "" in a demo or a recording."""
    return "" if session.played else "this is the real world: its clock runs as it does"


def when_real(session: Session) -> str:
    """Return why the command line cannot act on the project of the dashboard, or ""."""
    return "not in a demo or a recording" if session.played else ""


def when_demo(session: Session) -> str:
    """Return why there are no first steps to show, or ""."""
    played = session.played
    return "" if played and played.stranger else "only a demo has first steps"
