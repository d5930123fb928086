"""Following jobs to their end, with a progress bar; Ctrl-C lets go of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rowtui.cli.progress import Progress
from rowtui.core.text import plural, visible

if TYPE_CHECKING:
    from rowtui.cli.output import Output
    from rowtui.core.engine import JobView
    from rowtui.core.project.project import Project

LOOK_SECONDS = 0.5  # our own queue, on this machine: a look costs a listing
SHOWN_FAILURES = 10


async def follow(project: Project, tokens: Sequence[str], out: Output) -> bool:
    """Wait until these jobs have ended, and say which failed. Whether all ended well.

    Raises: KeyboardInterrupt, after saying that the jobs go on.
    """
    progress = Progress(out, "Jobs")
    wanted = set(tokens)
    try:
        while True:
            view = await project.jobs.view()
            ours = [job for job in view.jobs if job.record.token in wanted]
            active = sum(job.state.active for job in ours)
            progress(len(ours) - active, max(len(ours), 1))
            if not active:
                break
            await asyncio.sleep(LOOK_SECONDS)
    except (KeyboardInterrupt, asyncio.CancelledError):
        progress.close()
        out.note("The jobs go on; see 'rowtui show jobs' and 'rowtui logs'.")
        raise KeyboardInterrupt from None
    progress.close()
    return _say_failures(ours, out)


def _say_failures(jobs: Sequence[JobView], out: Output) -> bool:
    # What was refused or skipped was said when it was sent.
    failed = [job for job in jobs if job.state.bad and job.record.job_id]
    for job in failed[:SHOWN_FAILURES]:
        record = job.record
        reason = record.end_reason or job.state.value
        out.error(
            f"Job {record.label} ({visible(record.action)}) failed: {reason}.\n"
            f"Its log: {visible(record.log_path)}"
        )
    if len(failed) > SHOWN_FAILURES:
        out.error(f"{plural(len(failed) - SHOWN_FAILURES, 'more job')} failed.")
    return not failed
