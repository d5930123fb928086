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
from pathlib import Path

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import Cost, visible
from rowtui.core.clusters.polling.cache import PollCache, cache_name, queues_folder
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.clusters.schedulers.reasons import explain
from rowtui.core.groups.status import status_table
from rowtui.core.home.known import LONGEST_TEXT, MOST_KNOWN, MOST_NAMES, ProjectSummary
from rowtui.core.project.open_project import OpenProject
from rowtui.core.runs.model import RunStatus
from rowtui.core.runs.store import NETWORK_RUNS, PROJECT_RUNS, RunStore
from rowtui.core.state.model import State
from rowtui.core.state.records import with_staged
from rowtui.core.state.row.staging import list_staged, read_staged
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
    paused = _paused(Path(root))
    stored = project.store.load().stored
    if stored is None:
        return ProjectSummary(running=0, paused=paused)
    waiting = list_staged(project.root)
    if unread := [file for file in waiting if file not in stored.consumed]:
        staged = read_staged(project.root, unread).staged
        stored = with_staged(stored, staged, waiting, int(time.time()))
    state = stored.state
    table = status_table(project.workflow, state)
    problem = next((row.problem for row in table.rows if row.problem), "")
    jobs, running, stuck, silent = _jobs(project, state)
    rows = table.rows
    counts = {
        name: sum(getattr(row, name).bit_count() for row in rows)
        for name in ("completed", "submitted", "eligible", "waiting", "failed")
    }
    cost = Cost.total(row.remaining_cost for row in rows)
    return ProjectSummary(
        problem=problem,
        directories=table.directories,
        total=sum(number for name, number in counts.items() if name != "failed"),
        **counts,
        jobs=jobs,
        running=running,
        stuck=stuck,
        cpu_hours=cost.cpu_hours,
        gpu_hours=cost.gpu_hours,
        paused=paused,
        silent=silent,
    )


def _jobs(project: OpenProject, state: State) -> tuple[int, int | None, int, tuple[str, ...]]:
    """Return how many jobs are submitted, run, and are unable to start; clusters without an answer.

    The numbers are those of the stored polls.
    """
    jobs: dict[str, set[int | str]] = {}
    for records in state.submitted.values():
        for record in records.values():
            jobs.setdefault(record.cluster, set()).add(record.job_id or record.token)
    running: int | None = 0
    stuck = 0
    silent: list[str] = []
    for name, ids in jobs.items():
        cluster = project.configured.named(name)
        known = None
        if cluster is not None:
            known = PollCache(queues_folder(), cache_name(cluster, project.environment)).read()
        if known is None or known.snapshot is None:
            running = None
        elif running is not None:
            now = {it.id for it in known.snapshot.jobs if it.state is JobState.RUNNING}
            running += len(now & ids)
        if known is not None and known.snapshot is not None:
            waiting = (it for it in known.snapshot.jobs if it.state.waits and it.id in ids)
            stuck += sum(explain(it, 0.0).needs_person for it in waiting)
        if cluster is not None and cluster.remote is not None and known and known.error:
            silent.append(visible(name)[:LONGEST_TEXT])
    return sum(map(len, jobs.values())), running, stuck, tuple(sorted(silent)[:MOST_NAMES])


def _paused(root: Path) -> str:
    """Return why the newest run of the network or of the project is paused; "" if it is not."""
    for kind in (NETWORK_RUNS, PROJECT_RUNS):
        run = RunStore(root, kind).latest()
        if run is not None and run.standing.status is RunStatus.PAUSED:
            return (run.standing.why or "paused by the user")[:LONGEST_TEXT]
    return ""


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
