"""The reconciled state of a job, and its entry into the records and the journal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rowtui.core.submission.plan.model import OPEN, JournalEntry, Step
from rowtui.core.submission.sending.journal import Journal
from rowtui.core.submission.sending.reservations import Release, Reservations


@dataclass(frozen=True, slots=True)
class Settled:
    """The known state of one job. `message` is for the user, "" if there is none.

    `release` has the job's action and ends: its directories are no longer submitted. None: they
    still are, under `job_id` if that is not 0. If `is_news`, `apply_settled` journals `step` with
    `detail`; else the journal has this state already.
    """

    token: str
    plan_id: str
    cluster: str
    step: Step
    job_id: int = 0
    task: int | None = None
    message: str = ""
    release: Release | None = None
    detail: str = ""
    is_news: bool = False
    at: float = 0.0
    journal: Journal | None = field(default=None, repr=False, compare=False)


def apply_settled(settled: Sequence[Settled], reservations: Reservations) -> None:
    """Enter the settled states into the project's records, then into the journal.

    The order matters: a process killed in between leaves jobs that are settled once more. In the
    other order their directories would stay reserved. Raises: RowtuiError if either cannot be
    written.
    """
    held = [it for it in settled if it.release is None and it.job_id]
    reservations.record({it.token: it.job_id for it in held})
    reservations.release([it.release for it in settled if it.release is not None])
    by_plan: dict[str, list[Settled]] = {}
    for it in settled:
        if it.is_news:
            by_plan.setdefault(it.plan_id, []).append(it)
    for plan_id, news in by_plan.items():
        journal = news[0].journal
        if journal is not None:
            journal.append(map(_entry, news))
            put_away_if_done(journal, plan_id)


def _entry(it: Settled) -> JournalEntry:
    return JournalEntry(
        it.token, it.plan_id, it.step, it.at, it.job_id, it.detail, it.cluster, it.task
    )


def put_away_if_done(journal: Journal, plan_id: str) -> None:
    """Archive a plan's journal if none of its jobs is open, and no process is carrying it out."""
    with journal.hold(plan_id) as held:
        if held and not any(entry.step in OPEN for entry in journal.latest(plan_id).values()):
            journal.put_away(plan_id)
