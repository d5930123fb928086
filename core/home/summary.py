"""Read the summaries of projects: the program of a reader, a process that may hang.

A summary is made from the records of the last command on the project, with completions that have
arrived since, and from the stored polls of the queues. The workspace is not read, no cluster is
contacted, and nothing is written.

A reader writes the JSON line `"ready"` to its standard output, and then one for each line of its
standard input: a summary for `["read", folder]`, a list of folders for `["find", folder]`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import np
from rowtui.core.base.text import Cost, visible
from rowtui.core.clusters.polling.cache import PollCache, cache_name, queues_folder
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.clusters.schedulers.reasons import explain
from rowtui.core.groups.model import ActionStatus
from rowtui.core.groups.status import status_counts, status_table
from rowtui.core.home.known import (
    HOURS,
    HOURS_EACH,
    LONGEST_TEXT,
    MOST_ACTIONS,
    MOST_KNOWN,
    MOST_NAMES,
    ActionCounts,
    ProjectSummary,
)
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.queue.needs import STUCK, QueueNeed
from rowtui.core.project.views.needs import causes_of_failures
from rowtui.core.runs.model import RunStatus
from rowtui.core.runs.service import standing_of
from rowtui.core.runs.store import NETWORK_RUNS, PROJECT_RUNS, RunStore
from rowtui.core.state.model import State
from rowtui.core.state.records import with_staged
from rowtui.core.state.row.staging import list_staged, read_staged
from rowtui.core.usage.store import UsageStore
from rowtui.core.usage.table import ended_well
from rowtui.core.workflow.find import WORKFLOW_FILE

DEEPEST = 5
"""Levels of folders below a given folder in which projects are looked for."""

MOST_FOLDERS = 20_000
"""Folders that are listed below one given folder."""


def read_summary(root: str) -> ProjectSummary:
    """Return the summary of the project in this folder; it has a `problem` after any error."""
    try:
        os.stat(os.path.join(root, WORKFLOW_FILE))
    except (FileNotFoundError, NotADirectoryError):
        return ProjectSummary(gone=True)
    except OSError as error:
        return ProjectSummary(problem=f"it cannot be read: {error.strerror}")
    try:
        return _summary(root)
    except RowtuiError as error:
        text = error.message
    except OSError as error:
        text = f"it cannot be read: {error.strerror or error}"
    except Exception as error:  # a project from outside must not stop the list
        text = f"it cannot be read: {type(error).__name__}: {error}"
    text = text.replace(f"{root}/", "")
    return ProjectSummary(problem=(text.splitlines() or ["it cannot be read"])[0][:LONGEST_TEXT])


def _summary(root: str) -> ProjectSummary:
    project = OpenProject.open(Path(root))
    paused, driver = _driving(project)
    stored = project.store.load().stored
    if stored is None:
        return ProjectSummary(running=0, paused=paused, driver=driver)
    waiting = list_staged(project.root)
    if unread := [file for file in waiting if file not in stored.consumed]:
        staged = read_staged(project.root, unread).staged
        stored = with_staged(stored, staged, waiting, int(time.time()))
    state = stored.state
    table = status_table(project.workflow, state)
    problem = next((row.problem for row in table.rows if row.problem), "")
    rows = table.rows
    shown = rows[:MOST_ACTIONS]
    causes = [causes_of_failures(row, state.ends.get(row.action.name, {})) for row in shown]
    counts = {
        name: sum(getattr(row, name).bit_count() for row in rows)
        for name in ("completed", "submitted", "eligible", "waiting", "failed")
    }
    cost = Cost.total(row.remaining_cost for row in rows)
    summary = ProjectSummary(
        problem=problem,
        directories=table.directories,
        bad=len(state.directories.bad),
        total=sum(number for name, number in counts.items() if name != "failed"),
        **counts,
        cpu_hours=cost.cpu_hours,
        gpu_hours=cost.gpu_hours,
        paused=paused,
        driver=driver,
        actions=tuple(map(_counts, shown)),
        failures=tuple(
            it._replace(cause=it.cause[:LONGEST_TEXT]) for it in chain.from_iterable(causes)
        )[:MOST_NAMES],
        lately=_lately(project.root, time.time()),
    )
    return _with_jobs(summary, project, state)


def _counts(row: ActionStatus) -> ActionCounts:
    cost = row.remaining_cost
    return ActionCounts(
        row.action.index,
        row.action.name[:LONGEST_TEXT],
        *status_counts(row),
        cpu_hours=cost.cpu_hours,
        gpu_hours=cost.gpu_hours,
        problem=row.problem[:LONGEST_TEXT],
    )


def _lately(root: Path, now: float) -> tuple[int, ...]:
    """Return the directories that jobs completed in each two hours of the last day."""
    try:
        jobs = UsageStore(root).columns()
    except RowtuiError:
        return ()
    if not len(jobs):
        return ()
    ago = now - jobs.column("ended_at").astype(np.float64)
    recent = ended_well(jobs) & (ago >= 0) & (ago < HOURS * 3600)
    places = (HOURS * 3600 - ago[recent]) // (HOURS_EACH * 3600)
    many = jobs.directories()[recent]
    parts = HOURS // HOURS_EACH
    counted = np.bincount(np.minimum(places, parts - 1).astype(np.int64), many, parts)
    return tuple(int(it) for it in counted)


def _with_jobs(summary: ProjectSummary, project: OpenProject, state: State) -> ProjectSummary:
    """Add the submitted jobs, with their states in the stored polls."""
    actions: dict[str, dict[int | str, str]] = {}  # by cluster and job
    for action, records in state.submitted.items():
        for record in records.values():
            jobs = actions.setdefault(record.cluster, {})
            jobs[record.job_id or record.token] = action
    running: set[tuple[str, int]] = set()
    waiting: set[tuple[str, int]] = set()
    stuck: dict[tuple[str, str, str], set[int]] = {}
    silent: list[str] = []
    all_known = True
    for name, jobs in actions.items():
        cluster = project.configured.named(name)
        known = None
        if cluster is not None:
            known = PollCache(queues_folder(), cache_name(cluster, project.environment)).read()
        if known is None or known.snapshot is None:
            all_known = False
        else:
            for job in known.snapshot.jobs:
                if job.id not in jobs:
                    continue
                if job.state is JobState.RUNNING:
                    running.add((name, job.id))
                elif job.state.waits:
                    waiting.add((name, job.id))
                    if explain(job, 0.0).needs_person:
                        stuck.setdefault((name, jobs[job.id], job.reason), set()).add(job.id)
        if cluster is not None and cluster.remote is not None and known and known.error:
            silent.append(visible(name)[:LONGEST_TEXT])
    return summary._replace(
        jobs=sum(map(len, actions.values())),
        running=len(running) if all_known else None,
        pending=len(waiting - running) if all_known else None,
        stuck=tuple(
            QueueNeed(STUCK, cluster, action, visible(cause)[:LONGEST_TEXT], len(ids), 0.0, ())
            for (cluster, action, cause), ids in sorted(stuck.items())[:MOST_NAMES]
        ),
        silent=tuple(sorted(silent)[:MOST_NAMES]),
    )


def _driving(project: OpenProject) -> tuple[str, str]:
    """Return why the newest run of the network or of the project does not go on, and its driver."""
    for kind in (NETWORK_RUNS, PROJECT_RUNS):
        run = RunStore(project.root, kind).latest()
        if run is None or (run.status is RunStatus.STOPPED and not run.interrupted):
            continue
        if (found := standing_of(run, project)) is not None:
            why = (found.why or "paused by the user") if not found.driver else ""
            return why[:LONGEST_TEXT], found.driver[:LONGEST_TEXT]
    return "", ""


def found_below(folder: str) -> list[str]:
    """Return the folders of projects in and below a folder, at most `MOST_KNOWN`.

    Links, hidden folders and the folders inside projects are not entered.
    """
    return [root for root, _ in zip(_below(folder), range(MOST_KNOWN), strict=False)]


def _below(folder: str) -> Iterator[str]:
    level, listed = [os.path.realpath(folder)], 0
    for _ in range(DEEPEST + 1):
        following: list[str] = []
        for path in level:
            listed += 1
            if listed > MOST_FOLDERS:
                return
            try:
                with os.scandir(path) as entries:
                    inside = sorted(entries, key=lambda entry: entry.name)
                if any(entry.name == WORKFLOW_FILE for entry in inside):
                    yield path
                    continue
                following += [
                    entry.path
                    for entry in inside
                    if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)
                ]
            except OSError:
                continue
        level = following


def main() -> None:
    """Answer each line of standard input, until its end."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # Nothing else may write between the answers.

    def answer(value: object) -> None:
        answers.write(json.dumps(value) + "\n")
        answers.flush()

    answer("ready")
    for text in sys.stdin:
        what, path = json.loads(text)
        answer(found_below(path) if what == "find" else read_summary(path)._asdict())
