"""Failed work as groups: directories whose last job failed, grouped as they were in that job.

The input is a project and a choice of work; the result is groups with the known facts of the failed
job. Directories that the job did not reach are included; work that the user cancelled must be
chosen explicitly. If all directories of a job still have to be done, they form one group again, in
the same order. The remaining directories of jobs that were partly done, or done by hand, are
grouped by the action's own rule, together with directories that failed in the same way. Directories
that were completed, submitted or tried again since the failure are not included, because only the
last job of a directory counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.groups.choice import duplicates, whole_groups
from rowtui.core.groups.form import cut_groups
from rowtui.core.groups.model import Group, JobRequest, Status
from rowtui.core.mapping.engine.resubmit import JobEnd
from rowtui.core.project.views.views import FailedJob
from rowtui.core.state.model import LastEnd, LastOutcome, bit_set, positions
from rowtui.core.submission.plan.model import PlannedJob
from rowtui.core.submission.plan.outcome import (
    CANCELLED,
    LOST,
    NODE_FAILED,
    NOT_BEGUN,
    OUT_OF_MEMORY,
    PREEMPTED,
    TIME_LIMIT,
)
from rowtui.core.submission.plan.record import JobRecord
from rowtui.core.workflow.model import Action

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject

_LOST_NODE = frozenset({NODE_FAILED, LOST})
_EXPLAINED = _LOST_NODE | {CANCELLED, OUT_OF_MEMORY, PREEMPTED, TIME_LIMIT}


class ChosenFailures(NamedTuple):
    """The chosen work of these actions: directories, or what jobs (tokens) did not complete.

    If both are None, all jobs in which a directory failed are chosen.
    """

    actions: tuple[Action, ...]
    among: Sequence[int] | None = None
    tokens: Collection[str] | None = None


class FailedAttempt(NamedTuple):
    """A failed attempt, the number `attempt` from 1. `record`: its job, None if not on record.

    `before`: the earlier failed attempts at the first directory of the job, the latest first.
    """

    action: str
    cause: str
    attempt: int = 1
    record: JobRecord | None = None
    before: tuple[JobRecord, ...] = ()

    @classmethod
    def of(cls, record: JobRecord, before: tuple[JobRecord, ...] = ()) -> FailedAttempt:
        """Return the failure of a job."""
        cause = record.end.cause if record.end is not None else ""
        return cls(record.action, cause, record.attempt, record, before)

    @property
    def continues(self) -> int:
        """Return how many jobs the failed job continued."""
        planned = self.record.planned if self.record is not None else None
        return planned.continues if planned is not None else 0


class FailedGroup(NamedTuple):
    """Directories to be tried again together. `jobs`: the scheduler ids of the jobs that failed.

    `nodes`: where they ran. `before`: see `FailedAttempt`. `attempt` counts the tries so far, from
    1. `record` is a job that failed; if several jobs failed, all asked for the same amounts. It is
    None if the plan is no longer on record.
    """

    group: Group
    cause: str
    cluster: str
    jobs: tuple[str, ...]
    attempt: int = 1
    record: JobRecord | None = None
    before: tuple[JobRecord, ...] = ()
    nodes: tuple[str, ...] = ()

    @property
    def planned(self) -> PlannedJob | None:
        """Return what was planned for the job that failed."""
        return self.record.planned if self.record is not None else None

    @property
    def failure(self) -> FailedAttempt:
        """Return the failure that decides about a retry."""
        name = self.group.action.name
        return FailedAttempt(name, self.cause, self.attempt, self.record, self.before)

    @property
    def end(self) -> JobEnd:
        """Return how the job ended, for conditions of resubmission rules.

        Times are upper bounds.
        """
        record, seconds = self.record, 0.0
        if record is not None and record.ended_at and record.submitted_at:
            seconds = max(0.0, record.ended_at - record.submitted_at)
        limit = self.planned.walltime_seconds if self.planned is not None else seconds
        return JobEnd(
            walltime_reached=self.cause == TIME_LIMIT,
            memory_limit_reached=self.cause == OUT_OF_MEMORY,
            node_failed=self.cause in _LOST_NODE,
            unknown_error=self.cause not in _EXPLAINED,
            attempt=self.attempt,
            seconds_running=min(seconds, float(limit)),
            seconds_since_queued=seconds,
        )


class FailedWork(NamedTuple):
    """Groups in the order in which their jobs were sent, and sentences about omitted work."""

    groups: tuple[FailedGroup, ...]
    skipped: tuple[str, ...] = ()


def cause_of(ends: Iterable[LastEnd]) -> str:
    """Return why a job did not complete these directories, by the first that failed."""
    first, *others = ends
    return next((end for end in (first, *others) if end.failed), first).reason


def jobs_of_groups(
    project: OpenProject, action: Action, groups: Iterable[Group]
) -> tuple[FailedJob, ...]:
    """Return the jobs in which these groups of an action's failed directories failed.

    Each job has all directories that it did not complete, because all of them are retried.
    """
    ends = project.state.ends.get(action.name, {})
    chosen = (position for group in groups for position in group.indices)
    found: dict[str, list[LastEnd]] = {ends[at].token: [] for at in chosen if at in ends}
    for position in positions(project.status_row(action).ended):
        if position in ends and ends[position].token in found:
            found[ends[position].token].append(ends[position])
    names = {it.token: it.label for it in project.jobs.records() if it.job_id}
    return tuple(
        FailedJob(
            token,
            names.get(token) or str(its[0].job_id or ""),
            action.name,
            cause_of(its),
            len(its),
        )
        for token, its in found.items()
        if its
    )


def with_attempts(project: OpenProject, requests: Sequence[JobRequest]) -> list[JobRequest]:
    """Return the requests.

    A request is a later attempt if a job failed before in one of its directories.
    """
    last = [_tokens_of_failures(project, request.group) for request in requests]
    if not any(last):
        return list(requests)
    attempts = {record.token: record.attempt for record in project.jobs.records()}
    return [
        request._replace(attempt=1 + max(attempts.get(it, 1) for it in its)) if its else request
        for request, its in zip(requests, last, strict=True)
    ]


def _tokens_of_failures(project: OpenProject, group: Group) -> set[str]:
    """Return the jobs that failed last in directories of a group and had begun to run there."""
    ends = project.state.ends.get(group.action.name, {})
    found = (ends[at] for at in group.indices if at in ends) if ends else ()
    failed = (it for it in found if it.failed or it.outcome is LastOutcome.RETRIED)
    return {it.token for it in failed if not it.reason.startswith(NOT_BEGUN)}


def failed_work(project: OpenProject, choice: ChosenFailures) -> FailedWork:
    """Return failed work to try again. Raises: RowtuiError if a directory is in it twice."""
    records = {record.token: record for record in project.jobs.records()}
    found: list[FailedGroup] = []
    skipped: list[str] = []
    seen: set[str] = set()
    for action in choice.actions:
        try:
            groups, left_out = _of_action(_Known(project, records), action, choice, seen)
        except RowtuiError as error:
            skipped.append(str(error))
            continue
        found += groups
        skipped += left_out
    twice = duplicates(each.group for each in found)
    if twice:
        raise RowtuiError(
            "\n".join(each.sentence(project.state.directories) for each in twice[:10]),
            "check that actions of the same name include different directories",
        )
    for token in choice.tokens or ():
        record = records.get(token)
        if record is not None and token not in seen:
            skipped.append(
                f"job {record.key}: nothing of it is to be tried again: none of its directories has"
                " this job as its last, failed one"
            )
    last = [it.record for it in found if it.record is not None]
    before = failed_before(records.values(), last)
    return FailedWork(
        tuple(
            it._replace(before=before.get(it.record.token, ())) if it.record is not None else it
            for it in found
        ),
        tuple(skipped),
    )


def failed_before(
    records: Iterable[JobRecord], failures: Iterable[JobRecord]
) -> dict[str, tuple[JobRecord, ...]]:
    """Return the earlier failed attempts of jobs, by their tokens. `records`: the newest first.

    An attempt belongs to a job if it was at the job's first directory. The latest comes first.
    """
    at = {
        (it.action, it.directories[0]): it for it in failures if it.attempt > 1 and it.directories
    }
    actions = {action for action, _ in at}
    found: dict[str, list[JobRecord]] = {}
    for record in records if at else ():
        if record.action not in actions or record.end is None or not record.end.outcome.failed:
            continue
        for name in record.directories:
            last = at.get((record.action, name))
            chain = found.setdefault(last.token, [last]) if last is not None else []
            if chain and record.attempt < chain[-1].attempt:
                chain.append(record)
    return {token: tuple(chain[1:]) for token, chain in found.items()}


class _Known(NamedTuple):
    project: OpenProject
    records: Mapping[str, JobRecord]

    def planned(self, token: str) -> PlannedJob | None:
        record = self.records.get(token)
        return record.planned if record is not None else None

    def named(self, token: str, failure: LastEnd) -> str:
        record = self.records.get(token)
        key = str(record.key) if record is not None else str(failure.job_id)
        return key if key != "0" else ""


class _Alike(NamedTuple):
    """The properties that left-over directories must share to be tried again in one job."""

    cause: str
    cluster: str
    attempt: int
    asked: tuple[object, ...]  # amounts of one process; the time in the action's own unit


def _of_action(
    known: _Known, action: Action, choice: ChosenFailures, seen: set[str]
) -> tuple[list[FailedGroup], tuple[str, ...]]:
    project = known.project
    row = project.status_row(action, None if choice.tokens else choice.among)
    if row.problem and not row.ended:
        raise RowtuiError(f"action '{visible(action.name)}': {row.problem}")
    everything = choice.among is None and choice.tokens is None
    among, tokens = frozenset(choice.among or ()), choice.tokens or frozenset()
    ends = project.state.ends.get(action.name, {})
    if everything:
        tokens = {ends[at].token for at in positions(row.failed) if at in ends}
    by_token: dict[str, list[int]] = {}
    for at in positions(row.ended):
        end = ends.get(at)
        if end is not None and (at in among or end.token in tokens):
            by_token.setdefault(end.token, []).append(at)
    seen.update(by_token)

    def sent(token: str) -> tuple[float, str]:
        record = known.records.get(token)
        return (record.submitted_at if record is not None else 0.0, token)

    again: list[FailedGroup] = []
    left: dict[_Alike, dict[str, list[int]]] = {}
    for token in sorted(by_token, key=sent):
        those = by_token[token]
        its, job = [ends[at] for at in those], known.planned(token)
        indices = _as_they_were(project, job, those)
        if indices is None:
            left.setdefault(_alike(action, its, job), {})[token] = those
        else:
            again.append(_group(known, Group(action, indices), [token], its))
    for parts in left.values():
        home = {at: token for token, those in parts.items() for at in those}
        order = project.order(action)
        cut = cut_groups(action, project.state.directories, bit_set(home), order)
        for group in cut.page():
            tokens = list(dict.fromkeys(home[at] for at in group.indices))
            again.append(_group(known, group, tokens, [ends[at] for at in group.indices]))
    if not (action.group.submit_whole and again):
        return again, ()
    every = project.cut(action, tuple(Status)).page()
    kept, left_out = whole_groups([it.group for it in again], every, project.state.directories)
    whole = {group.indices for group in kept}
    return [it for it in again if it.group.indices in whole], tuple(
        each.sentence for each in left_out
    )


def _as_they_were(
    project: OpenProject, job: PlannedJob | None, those: Sequence[int]
) -> tuple[int, ...] | None:
    """Return the directories of a job in its order, if all of them still have to be done."""
    if job is None or len(job.directories) != len(those):
        return None
    indices = tuple(map(project.state.directories.position, job.directories))
    todo = set(those)
    return tuple(at for at in indices if at is not None) if set(indices) == todo else None


def _alike(action: Action, ends: Sequence[LastEnd], job: PlannedJob | None) -> _Alike:
    cause, cluster = cause_of(ends), ends[0].cluster
    if job is None:
        return _Alike(cause, cluster, 1, ())
    processes = max(1, job.processes)
    count = len(job.directories) if action.resources.walltime.per_directory else 1
    asked = (
        job.cpus / processes,
        job.gpus / processes,
        None if job.memory_mb is None else job.memory_mb / processes,
        job.walltime_seconds / count,
        job.basis,
    )
    return _Alike(cause, cluster, job.attempt, asked)


def _group(
    known: _Known, group: Group, tokens: Sequence[str], ends: Sequence[LastEnd]
) -> FailedGroup:
    record = known.records.get(tokens[0])
    return FailedGroup(
        group,
        cause=cause_of(ends),
        cluster=ends[0].cluster,
        jobs=tuple(name for name in (known.named(token, ends[0]) for token in tokens) if name),
        attempt=record.attempt if record is not None else 1,
        record=record,
        nodes=tuple(it.end.node for it in map(known.records.get, tokens) if it and it.end),
    )
