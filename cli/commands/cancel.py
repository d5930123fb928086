"""`rowtui cancel`: stop jobs of this project, after asking."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from rowtui.cli.loop import run as run_async
from rowtui.cli.project import open_project, say_notices
from rowtui.core.errors import RowtuiError
from rowtui.core.text import plural, visible

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output import Output
    from rowtui.core.engine import JobView


def run(args: argparse.Namespace, out: Output) -> int:
    """Cancel the chosen jobs; 1 if one could not be cancelled."""
    if not (args.jobs or args.action or args.all):
        raise RowtuiError("which jobs?", "give job ids, -a PATTERN, or --all")
    project = open_project(args, out, ask_queue=False)
    view = run_async(project.jobs.view())
    say_notices(project, out)
    if view.error:
        out.warn(f"The queue could not be asked: {view.error}")
    jobs = _chosen(args, [job for job in view.jobs if _may_be_there(job)], out)
    if not jobs:
        out.warn("No job to cancel.")
        if args.json:
            out.print("[]")
        return 1 if args.jobs else 0
    if not args.yes and not _confirmed(jobs, out):
        out.warn("Nothing was cancelled.")
        return 0
    results = run_async(project.jobs.cancel([job.record.token for job in jobs]))
    project.close()
    if args.json:
        out.print(json.dumps([{"id": str(r.job), "error": r.error} for r in results], indent=2))
    for result in results:
        if result.error:
            out.error(f"Job {result.job}: {result.error}")
        elif not args.json:
            out.print(f"Cancelled job {result.job}.")
    return 1 if any(result.error for result in results) else 0


def _may_be_there(job: JobView) -> bool:
    """Active, or on record as such where the scheduler did not answer."""
    return job.state.active or (job.state.value == "unknown" and job.record.job_id != 0)


def _chosen(args: argparse.Namespace, jobs: list[JobView], out: Output) -> list[JobView]:
    from rowtui.core.grouping.select import matches

    if args.all:
        return jobs
    chosen = {
        job.record.token: job
        for job in jobs
        if args.action and matches(args.action, job.record.action)
    }
    for text in args.jobs:
        found = [job for job in jobs if text.isdecimal() and job.record.job_id == int(text)]
        if not found:
            out.warn(f"'{visible(text)}' is no active job of this project.")
        chosen.update((job.record.token, job) for job in found)
    return list(chosen.values())


def _confirmed(jobs: list[JobView], out: Output) -> bool:
    """No is the default; without a terminal there is nobody to ask."""
    if not sys.stdin.isatty():
        raise RowtuiError("nobody can be asked here", "add --yes to cancel without a question")
    for job in jobs[:10]:
        record = job.record
        what = f"{record.job_id} {visible(record.action)} ({job.state.value})"
        out.print(f"  {what} on {plural(len(record.directories), 'directory', 'directories')}")
    if len(jobs) > 10:
        out.print(f"  and {len(jobs) - 10:,} more")
    sys.stdout.write(f"Cancel {plural(len(jobs), 'job')}? [y/N]: ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
