"""The conclusion how a job ended, drawn once, from what was found and from its products.

Takes an `OverJob`, which `settle` found or which ran inside `submit`, and a look at the completions
and products of its directories (`look_at_ended`). Gives the journal's entry, the release of the
directories, and the record of what the job used. Nothing else calls `outcome_of`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from rowtui.core.base.text import visible
from rowtui.core.clusters.schedulers.measured import Measured, MeasuredBy
from rowtui.core.state.model import State, among
from rowtui.core.state.records import with_news, with_scanned
from rowtui.core.state.store.store import Store
from rowtui.core.state.store.stored import Stored
from rowtui.core.submission.bundles.pilot_model import is_in_pilot, is_pilot
from rowtui.core.submission.plan.model import JobStep
from rowtui.core.submission.plan.outcome import JobOutcome, JobResult
from rowtui.core.submission.plan.record import JobRecord
from rowtui.core.submission.reconcile.ending import (
    Evidence,
    OverJob,
    directory_ends,
    outcome_of,
)
from rowtui.core.submission.reconcile.reconcile_state import ReconciledJob
from rowtui.core.submission.sending.journal import end_detail
from rowtui.core.submission.sending.reservations import ReservationRelease
from rowtui.core.workflow.model import Workflow
from rowtui.core.workspace.completion import is_complete


class SeenProducts(NamedTuple):
    """Which directories of a job (indices) are not complete; `has_products`: of its action."""

    has_products: bool
    incomplete: tuple[int, ...]


LookAtProducts = Callable[[Sequence[OverJob]], Sequence[SeenProducts]]
"""Looks at the records, and at the products of `Evidence.looked_at`, of each job."""


NOT_LOOKED = SeenProducts(has_products=False, incomplete=())


def not_looked(jobs: Sequence[OverJob]) -> list[SeenProducts]:
    """Return that no products can be seen, so that only the jobs' own reports count."""
    return [SeenProducts(False, tuple(range(len(each.job.directories)))) for each in jobs]


class Conclusion(NamedTuple):
    """What is recorded of a job that is over. `finished`: None if it never ran."""

    end: JobResult
    step: JobStep
    detail: str
    release: ReservationRelease
    finished: JobRecord | None


def conclude(over: OverJob, seen: SeenProducts, now: float) -> Conclusion:
    """Return how a job ended. `now`: epoch seconds, for an end that no report dates."""
    job = over.job
    evidence = over.evidence._replace(
        size=len(job.directories), has_products=seen.has_products, incomplete=seen.incomplete
    )
    end = outcome_of(evidence)
    if end.at_directory is not None:
        name = job.directories[end.at_directory]
        end = end._replace(sentence=f"{end.cause} in directory {visible(name)}")
    step = _step(evidence, end.outcome)
    measured = _measured(over)
    if step is JobStep.ENDED:
        marker = evidence.marker
        wall = next((it.wall for it in measured if it.wall is not None), None)
        ended_at = now
        if marker is not None and marker.at:
            # A report has whole seconds: within its second, the fence and the run time are more
            # exact, but may be some milliseconds late.
            exact = over.fence_at + (wall or 0.0)
            ended_at = min(max(exact, marker.at), marker.at + 0.999)
        node = next((it.node for it in measured if it.node), "")
        end = end._replace(ended_at=ended_at, seconds=wall, node=node)
    detail = end_detail(end) if step is JobStep.ENDED else end.sentence
    ends = directory_ends(job, over.key.id, end, evidence)
    finished = None
    if step is JobStep.ENDED:
        finished = JobRecord(
            job.token,
            job.destination.cluster,
            over.key,
            over.user,
            over.plan_id,
            job,
            step,
            over.submitted_at,
            end=end,
            measured=measured,
            size=len(job.directories),
        )
    return Conclusion(end, step, detail, ReservationRelease(job.token, job.action, ends), finished)


def _step(evidence: Evidence, outcome: JobOutcome) -> JobStep:
    if evidence.step is not JobStep.ACCEPTED:
        return evidence.step
    if outcome in (JobOutcome.NOT_REACHED, JobOutcome.NEVER_SENT):
        return JobStep.ABANDONED
    if outcome.by_hand and not evidence.began and (evidence.member or evidence.waited):
        return JobStep.ABANDONED
    return JobStep.ENDED


def _measured(over: OverJob) -> tuple[Measured, ...]:
    """Return what the job used, by its own report and by the scheduler, and at least how long."""
    marker, known, found = over.evidence.marker, over.evidence.known, []
    if marker is not None and marker.measured is not None:
        found.append(marker.measured)
    if known is not None:
        wall = None if over.job.bundle or known.elapsed is None else float(known.elapsed)
        found.append(Measured(MeasuredBy.SCHEDULER, wall, node=known.nodes))
    if marker is not None and over.fence_at and all(it.wall is None for it in found):
        # Of a request that was killed only the two files remain, which it and its bundle made.
        found.append(Measured(MeasuredBy.SCRIPT, max(0.0, marker.at - over.fence_at)))
    return tuple(found)


def concluded(
    settled: Iterable[ReconciledJob], look: LookAtProducts, now: float
) -> tuple[ReconciledJob, ...]:
    """Return what `settle` found, with the conclusion about each job that is over."""
    settled = list(settled)
    over = [it.over for it in settled if it.over is not None]
    seen = iter(look(over)) if over else iter(())
    return tuple(
        it if it.over is None else _with_end(it, it.over, next(seen), now) for it in settled
    )


def _with_end(it: ReconciledJob, over: OverJob, seen: SeenProducts, now: float) -> ReconciledJob:
    found = conclude(over, seen, now)
    sentence, name = visible(found.end.sentence), over.job.name
    message = f"{name}: {sentence}" if sentence else ""
    if found.step is JobStep.REJECTED:
        message = f"{name} was refused: {visible(over.evidence.note)}"
    elif found.end.outcome.by_hand and is_pilot(it.token):
        message = ""  # the outcome of each of its requests is reported separately
    elif found.end.outcome is JobOutcome.NOT_REACHED and is_in_pilot(it.token):
        message = ""  # the run sends it to another allocation
    return replace(
        it,
        step=found.step,
        detail=found.detail,
        end=found.end,
        message=message,
        release=found.release,
        ended=found.finished,
    )


def look_at_ended(store: Store, workflow: Workflow, jobs: Sequence[OverJob]) -> list[SeenProducts]:
    """Return which directories of jobs that are over are complete, by records and by products.

    A product of a job that ended by itself is whole, even if the job could not report it, as after
    a full disk. Such completions are saved. Raises: NotSavedError.
    """
    stored = store.load().stored
    if stored is None:
        return not_looked(jobs)
    stored = with_news(store.root, stored)
    products = workflow.products()
    table, found = stored.directories.table, list[SeenProducts]()
    new: dict[str, list[bytes]] = {}
    names = [[os.fsencode(name) for name in over.job.directories] for over in jobs]
    where = [table.positions(its) for its in names]
    complete = _complete(stored.state, jobs, where)
    for over, its, places in zip(jobs, names, where, strict=True):
        job, evidence = over.job, over.evidence._replace(size=len(its))
        wanted, ends = products.get(job.action, ()), stored.state.ends.get(job.action, {})
        there = [index for index, at in enumerate(places) if at is not None]
        lacking = [index for index in there if places[index] not in complete[job.action]]
        looked_at = set(evidence.looked_at) if wanted else set()
        if not evidence.ended_well:  # where an earlier job was stopped, and this one did not come
            stopped = {at for at, end in ends.items() if end.died}
            first = evidence.at_directory or 0
            looked_at -= {at for at in there if at >= first and places[at] in stopped}
        made = {
            index
            for index in looked_at.intersection(lacking)
            if is_complete(os.path.join(workflow.workspace, job.directories[index]), wanted)
        }
        new.setdefault(job.action, []).extend(its[index] for index in sorted(made))
        incomplete = tuple(index for index in lacking if index not in made)
        found.append(SeenProducts(bool(wanted and there), incomplete))
    if any(new.values()):

        def edit(current: Stored) -> Stored:
            where = current.directories.table
            members = {action: where.find(names)[0] for action, names in new.items()}
            return with_scanned(current, 0, members, replacing=False)

        store.commit(edit)
    return found


def _complete(
    state: State, jobs: Sequence[OverJob], where: Sequence[Sequence[int | None]]
) -> dict[str, frozenset[int]]:
    """Return which of these positions are complete, by action; each set is read once."""
    asked: dict[str, list[int]] = {}
    for over, places in zip(jobs, where, strict=True):
        asked.setdefault(over.job.action, []).extend(at for at in places if at is not None)
    return {action: among(state.completed.get(action, 0), its) for action, its in asked.items()}
