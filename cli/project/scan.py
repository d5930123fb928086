"""`rowtui scan` and `rowtui clean`: the recorded state of directories.

`scan` checks directories again and removes completions whose products are gone; `clean` deletes
the recorded state.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rowtui.cli.output.output import Output
from rowtui.cli.output.progress import ProgressBar
from rowtui.cli.project.open import given_names, open_project, say_notices
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.project.scan import ScanReport, scan
from rowtui.core.state.records import forget

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.submission.plan.model import JournalEntry


class Cleaned(NamedTuple):
    """`clean`: the kinds of removed records. `kept_jobs`: jobs whose directories stay submitted."""

    removed: list[str]
    kept_jobs: int


def run(args: argparse.Namespace, out: Output) -> int:
    """Scan and report found (with -v) and lost completions."""
    project = open_project(args, out, synchronise=False)
    if args.action is not None and not project.workflow.named(args.action):
        out.warn("No actions scanned.")
        if args.json:
            out.json(ScanReport(0, {}, {}))
        return 0
    progress = ProgressBar(out, "Scanning directories")
    try:
        report = scan(project, given_names(args.directories), args.action, progress)
    finally:
        progress.close()
    if args.json:
        out.json(report)
    for name, number in report.found.items():
        directories = plural(number, "completed directory", "completed directories")
        out.info(f"Found {directories} for action '{visible(name)}'.")
    for name, number in report.lost.items():
        directories = plural(number, "directory has", "directories have")
        out.warn(f"{directories} lost the products of action '{visible(name)}'.")
    if not project.workflow.actions:
        out.warn("No actions scanned.")
    say_notices(project, out)
    return 0


def _close(project: OpenProject, entry: JournalEntry) -> str | None:
    """Keep a job from ever beginning; return "", or who began it, or why that is unknown.

    None if its cluster is not known.
    """
    try:
        if project.connections.known(entry.cluster) is None:
            return None
        access = project.wait(project.connections.access(entry.cluster))
        return project.wait(access.site.abandon(entry.token)) if access else "unreachable"
    except (RowtuiError, OSError) as error:
        return str(error) or "unreachable"


def clean(args: argparse.Namespace, out: Output) -> int:
    """Delete the chosen state, or everything without a choice; refuse while jobs are submitted."""
    everything = not (args.directory or args.submitted or args.completed or args.usage)
    submitted = args.submitted or everything
    completed = args.completed or everything
    project = open_project(args, out)
    count = sum(len(jobs) for jobs in project.state.submitted.values())
    if count and (submitted or completed):
        verb = "is" if count == 1 else "are"
        directories = plural(count, "directory", "directories")
        out.warn(f"There {verb} {directories} with submitted jobs.")
        if submitted:
            out.warn("The submitted record is not recoverable: running jobs may be sent again.")
        if completed:
            out.warn("These jobs may add to the completed record after it is cleaned.")
        if not args.force:
            raise RowtuiError(
                "There are submitted jobs.", "wait for them, or rerun with --force anyway"
            )
    project.close()
    forget(
        project.store,
        directories=args.directory or everything,
        submitted=submitted,
        completed=completed,
    )
    kept = 0
    if submitted:
        from rowtui.core.messages.record import MessageRecord
        from rowtui.core.submission.reconcile.open_jobs import forget_open
        from rowtui.core.submission.sending.fence import remove_traces

        if kept := forget_open(project.root, partial(_close, project)):
            jobs = "1 job has" if kept == 1 else f"{kept:,} jobs have"
            out.warn(f"{jobs} begun, or cannot be reached: their directories stay submitted.")
        remove_traces(project.root)
        MessageRecord(project.root).remove()
    if args.usage:
        project.usage.store.remove()
    if args.json:
        chosen = {
            "directory": args.directory or everything,
            "submitted": submitted,
            "completed": completed,
            "usage": args.usage,
        }
        removed = [name for name, is_chosen in chosen.items() if is_chosen]
        out.json(Cleaned(removed, kept))
    return 0
