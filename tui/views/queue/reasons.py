"""Reasons why a command of the queue cannot be used now, "" if it can."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session


def with_row(session: Session) -> str:
    """Return why the cursor is not on a job, or ""; the job may belong to any user."""
    return "" if session.queue_row else "there is no job under the cursor"


def with_fold(session: Session) -> str:
    """Return why the cursor is not on an array or a bundle (or on a job of an unfolded
    one), or "".
    """
    row = session.queue_row
    if row is None:
        return with_row(session)
    return "" if row.key.folded or row.inside else "it is no array or bundle of three jobs or more"


def with_clusters(session: Session) -> str:
    """Return why there is no other cluster to choose, or ""."""
    many = session.jobs is not None and len(session.jobs.clusters) > 1
    return "" if many else "there is only one cluster"
