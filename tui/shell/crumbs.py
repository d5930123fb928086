"""The subject of a view for the line at the top: an action, a group, a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.core.base.text import plural
from rowtui.core.submission.plan.model import called

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session


def crumbs_of(view: str, session: Session) -> tuple[str, ...]:
    """Return the subject, the widest term first; () if a view shows the whole project."""
    action = session.action.name if session.action else ""
    if view == "explain" and action:
        return (action, f"group {session.group + 1:,}")
    if view in ("groups", "pack") and action:
        return (action,)
    if view == "submit" and session.sending is not None:
        return ("plan", plural(len(session.sending.plan.jobs), "job"))
    if view == "log" and session.job is not None:
        return (session.job.record.action, called(session.job.record.label))
    return ()
