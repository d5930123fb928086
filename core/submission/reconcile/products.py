"""Which directories of jobs that are over are complete, by the records and by their products.

Takes jobs that `settle` found, or that ran inside `submit`; gives what `conclude` needs of each.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from rowtui.core.state.model import State, among
from rowtui.core.state.records import with_news, with_scanned
from rowtui.core.state.store.store import Store
from rowtui.core.state.store.stored import Stored
from rowtui.core.submission.reconcile.conclude import SeenProducts, not_looked
from rowtui.core.submission.reconcile.ending import OverJob
from rowtui.core.workflow.model import Workflow
from rowtui.core.workspace.completion import is_complete


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
