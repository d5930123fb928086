"""`rowtui show jobs`: this project's jobs; with --long their states, times and reasons.

The format follows Row 1.1 (ID, Action, Directories; --short prints ids for scancel).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from rowtui.cli.environment import run as run_async
from rowtui.cli.jobs.job_text import clock, state_cell
from rowtui.cli.output.output import Output, Row, TextColumn, table_lines
from rowtui.cli.output.watch import reported_jobs, watch
from rowtui.cli.project.open import given_names, is_typed, open_project, say_notices
from rowtui.core.base.text import count, plural
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.queue.needs import unable_to_start
from rowtui.core.submission.plan.record import JobRecord
from rowtui.core.workflow.find import matches

_NAMED = 10  # jobs of one reason that are named below the table


def run(args: argparse.Namespace, out: Output) -> int:
    """Print the table, ids, or JSON."""
    if getattr(args, "watch", None) is not None:
        args.every = not args.json  # the end of a job is a change of its state
        return watch(args, out, run, reported_jobs)
    project = open_project(args, out, ask_queue=not (args.long or args.json))
    names = given_names(args.directories)
    if args.long or args.json:
        return _print_long(args, project, names, out)
    # None: the cluster does not answer, and all recorded jobs are shown
    here = project.jobs.queues.here() if any(project.state.submitted.values()) else None
    rows = _submitted(args, project, names, here.name if here is not None else "")
    if not rows:
        out.print("No matches.")
        if elsewhere := len({row[0] for row in _submitted(args, project, names, "")}):
            jobs = plural(elsewhere, "job is", "jobs are")
            out.note(f"{jobs} on other clusters: 'rowtui show jobs --long' lists them.")
    elif args.short:
        out.lines(str(job_id) for job_id, _, _ in rows)
    else:
        columns = [
            TextColumn("ID", right=True, right_header=False, style="bold"),
            TextColumn("Action"),
            TextColumn("Directories", right=True, right_header=False),
        ]
        cells = [[str(job_id), action, count(number)] for job_id, action, number in rows]
        out.lines(table_lines(columns, cells, out, header=not args.no_header))
    return 0


def _submitted(
    args: argparse.Namespace, project: OpenProject, names: list[str] | None, cluster: str
) -> list[tuple[int, str, int]]:
    """Return (id, action, directories) of the jobs of a cluster ("": of all), by id."""
    if not any(project.state.submitted.values()):
        return []
    wanted = None
    if names is not None:
        wanted = {project.state.directories.position(name) for name in names}
    totals: dict[tuple[int, str], int] = {}
    for action, jobs in project.state.submitted.items():
        if not matches(args.action, action):
            continue
        for position, job in jobs.items():
            if (cluster and job.cluster != cluster) or not job.job_id:
                continue
            if wanted is None or position in wanted:
                key = (job.job_id, action)
                totals[key] = totals.get(key, 0) + 1
    return sorted((job_id, action, number) for (job_id, action), number in totals.items())


def _print_long(
    args: argparse.Namespace, project: OpenProject, names: list[str] | None, out: Output
) -> int:
    view = run_async(project.jobs.view(now=is_typed(args)))
    say_notices(project, out)
    if view.error:
        out.warn(f"States may be out of date: {view.error}")
    wanted = None if names is None else set(names)
    every = args.long or getattr(args, "every", False)
    here = None if every else project.jobs.queues.here()
    jobs = [
        job
        for job in view.jobs
        if matches(args.action, job.action)
        and (wanted is None or wanted.intersection(job.directories))
        and (every or job.state.may_change)
        and (here is None or job.cluster == here.name)
    ]

    if args.json:
        from rowtui.cli.jobs.json import JobsJson, job_document

        out.json(JobsJson(view.error, [job_document(job, project.root) for job in jobs]))
    elif not jobs:
        out.print("No matches.")
    elif args.short:
        out.lines(job.label for job in jobs if job.job_id)
    else:
        out.lines(_table(jobs, out, header=not args.no_header))
        for note in notes(jobs):
            out.note(note)
    return 0


def notes(jobs: Sequence[JobRecord]) -> list[str]:
    """Return why jobs do not start until the user acts, and what to do; one line per reason."""
    found: dict[str, list[str]] = {}
    for job in jobs:
        answer = unable_to_start(job)
        if answer is not None:
            found.setdefault(f"{answer.sentence} {answer.hint}".rstrip(), []).append(job.label)
    return [f"{_some(labels)}: {text}" for text, labels in found.items()]


def _some(labels: Sequence[str]) -> str:
    named = ", ".join(labels[:_NAMED])
    more = f" and {count(len(labels) - _NAMED)} more" if len(labels) > _NAMED else ""
    return f"{'Job' if len(labels) == 1 else 'Jobs'} {named}{more}"


def _table(jobs: list[JobRecord], out: Output, *, header: bool) -> list[str]:
    columns = [
        TextColumn("ID", right=True),
        TextColumn("Cluster"),
        TextColumn("State"),
        TextColumn("Action", style="bold"),
        TextColumn("Directories", right=True),
        TextColumn("Elapsed", right=True),
        TextColumn("Limit", right=True),
        TextColumn("Reason"),
    ]
    rows: list[Row] = [
        [
            job.label,
            f"{job.cluster}/{job.partition}" if job.partition else job.cluster,
            state_cell(job.state),
            job.action,
            count(job.size),
            clock(job.seconds),
            clock(job.limit if job.planned is None else job.planned.own_seconds),
            job.why,
        ]
        for job in jobs
    ]
    return table_lines(columns, rows, out, header=header)
