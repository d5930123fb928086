"""One row of the queue for a screen, from a job of the list or from a folded array or bundle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.clusters.schedulers.slurm.parse import write_tasks
from rowtui.core.project.queue.entries import Fold, Listed, QueueEntry
from rowtui.core.project.queue.table import states_of
from rowtui.core.project.queue.views import QueueRow
from rowtui.core.project.views.views import ClusterView, JobView
from rowtui.core.submission.plan.model import NO_ID
from rowtui.core.submission.sending.fence import without_directory

SHOWN_DIRECTORIES = 4
"""Number of a job's directories that a row contains."""

WIDEST_TASKS = 40
"""Most characters of the numbers of an array's tasks."""


def row_of(one: Listed, *, inside: bool, cluster: Mapping[str, ClusterView]) -> QueueRow:
    """Return the row. `cluster`: the known clusters, by name."""
    if isinstance(one, Fold):
        if one.row is None:
            one.row = _folded(one, one.entries[0])
        there = cluster.get(one.key.cluster)
        silent = _silent(there, (state for state, _ in one.row.counts))
        return one.row._replace(as_of=there.as_of if there else None, silent=silent)
    where = cluster.get(one.cluster)
    seen = one.seen
    return QueueRow(
        one.key, one.cluster, one.label, one.state, one.name, ((one.state, 1),),
        size=one.size, first=one.first, partition=one.partition, nodes=one.nodes,
        elapsed=seen.elapsed, limit=seen.limit, reason=one.reason,
        start_estimate=seen.start_estimate, as_of=where.as_of if where else None,
        silent=_silent(where, (one.state,)), user=one.user, view=_brief(one.view), inside=inside,
    )  # fmt: skip


def _silent(where: ClusterView | None, states: Iterable[JobState]) -> bool:
    """Whether the cluster does not answer and the state of some job may have changed."""
    return bool(where and where.error) and any(
        state.may_change or state is JobState.LOST for state in states
    )


def _folded(fold: Fold, first: QueueEntry) -> QueueRow:
    entries = fold.entries
    shown = states_of(entries)
    state = shown[0][0]
    alike = [one for one in entries if one.state is state]
    its = alike[0]
    label, tasks = _label(entries, first)
    nodes = {one.nodes for one in alike if one.nodes}
    starts = [one.seen.start_estimate for one in entries if one.seen.start_estimate is not None]
    partitions = {one.partition for one in entries}
    elapsed = None
    if its.seen.elapsed is not None:
        elapsed = max(one.seen.elapsed or 0 for one in alike)
    reason = without_directory(its.reason) if len(alike) > 1 else its.reason
    return QueueRow(
        fold.key, first.cluster, label, state, _names(entries), shown, tasks,
        size=sum(one.size for one in entries), first=first.first,
        partition=first.partition if len(partitions) == 1 else "",
        nodes=min(nodes) if len(nodes) == 1 else "",
        elapsed=elapsed, limit=its.seen.limit, reason=reason,
        start_estimate=min(starts, default=None),
        user=first.user, view=_brief(its.view),
    )  # fmt: skip


def _label(entries: Sequence[QueueEntry], first: QueueEntry) -> tuple[str, str]:
    """Return `4711` and `[0-63,70]`; for a bundle, `4711` and the number of jobs."""
    number = str(first.id) if first.id else NO_ID
    if first.view is not None and first.view.record.member is not None:
        return number, f"×{len(entries)}"
    tasks = write_tasks(one.number for one in entries)
    if len(tasks) > WIDEST_TASKS:
        tasks = tasks[: WIDEST_TASKS - 1].rpartition(",")[0] + ",…"
    return number, f"[{tasks}]"


def _names(entries: Sequence[QueueEntry]) -> str:
    names = dict.fromkeys(one.name for one in entries)
    shown = list(names)[:3]
    return ", ".join(shown) + (", …" if len(names) > len(shown) else "")


def _brief(view: JobView | None) -> JobView | None:
    """Return a job with the first of its directories."""
    if view is None or len(view.record.directories) <= SHOWN_DIRECTORIES:
        return view
    names = view.record.directories[:SHOWN_DIRECTORIES]
    return view._replace(record=replace(view.record, directories=names), directories=view.size)
