"""Reasons that several views share why a command cannot be used now; "" if it can."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session


def may_change(session: Session) -> str:
    """Return why nothing can be changed now, or ""."""
    if session.read_only:
        return "the project was opened read-only"
    if session.sending and session.sending.running:
        return "a plan is being sent"
    if session.planning:
        return "a plan is being prepared"
    return ""


def with_action(session: Session) -> str:
    """Return why there is no action to show, or ""."""
    return "" if session.action else "there is no action yet"
