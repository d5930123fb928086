"""Why something cannot be done in the queue now, "" if it can."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rowtui.tui.session import Session


def with_row(session: Session) -> str:
    """The cursor is on a job, whosever it is."""
    return "" if session.queue_row else "there is no job under the cursor"


def with_fold(session: Session) -> str:
    """The cursor is on an array or a bundle, or on a job of one that is unfolded."""
    row = session.queue_row
    if row is None:
        return with_row(session)
    return "" if row.key.folded or row.inside else "it is no array or bundle of three jobs or more"


def with_clusters(session: Session) -> str:
    """There are several clusters."""
    many = session.jobs is not None and len(session.jobs.clusters) > 1
    return "" if many else "there is only one cluster"
