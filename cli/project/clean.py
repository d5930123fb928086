"""`rowtui clean`: remove cached state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.cli.project.open import open_project
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output.output import Output


def run(args: argparse.Namespace, out: Output) -> int:
    """Delete the chosen state, or everything without a choice; refuse while jobs are submitted."""
    from rowtui.core.state.forget import forget
    from rowtui.core.submission.reconcile.artifact_cleanup import remove_traces
    from rowtui.core.submission.reconcile.open_jobs import forget_open

    everything = not (args.directory or args.submitted or args.completed)
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
    if submitted:
        forget_open(project.root)
        remove_traces(project.root)
    return 0
