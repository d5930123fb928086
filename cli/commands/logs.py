"""`rowtui logs JOB`: what a job has written, all of it, its end, or as it grows."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rowtui.cli.loop import run as run_async
from rowtui.cli.project import open_project
from rowtui.core.errors import RowtuiError
from rowtui.core.project.logs import LocalLog
from rowtui.core.text import visible

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output import Output
    from rowtui.core.project.logs import Log, Piece
    from rowtui.core.project.project import Project
    from rowtui.core.submission.model import JobRecord

LOOK_SECONDS = 0.3  # between two looks at a log that grows
FAR_LOOK_SECONDS = 2.0  # the same over a connection
END_BYTES = 8 << 20  # of a log, in which its last lines are looked for


def run(args: argparse.Namespace, out: Output) -> int:
    """Print the log. Control characters are shown, not obeyed, when a terminal reads."""
    project = open_project(args, out)
    record = _find(project, args.job, args.action)
    log = run_async(project.jobs.log(record))
    if args.path:
        out.names([log.name])
        return 0
    run_async(_print(log, args, project, record))
    return 0


def _find(project: Project, job: str, action: str | None) -> JobRecord:
    """The newest job with this id, or on this directory (for this action)."""
    records = project.jobs.records()
    if job.isdecimal():
        found = [record for record in records if record.job_id == int(job)]
    else:
        name = job.rstrip("/")
        found = [record for record in records if name in record.directories]
    if action is not None:
        found = [record for record in found if record.action == action]
    if not found:
        raise RowtuiError(
            f"no job '{visible(job)}' in this project's records",
            "'rowtui show jobs --long' lists them",
        )
    return max(found, key=lambda record: record.submitted_at)


async def _print(log: Log, args: argparse.Namespace, project: Project, record: JobRecord) -> None:
    """All of it or its end, then what is added while the job may run."""
    import asyncio

    pause = LOOK_SECONDS if isinstance(log, LocalLog) else FAR_LOOK_SECONDS
    at, file = 0, ""
    while True:
        ended = not args.follow or not await _may_run(project, record)
        piece = await _first(log, args.lines) if not file else await log.after(at)
        if piece is None and not args.follow:
            raise RowtuiError(
                f"job {record.key} has written no log yet: {visible(log.name)}",
                "a job that waits in the queue has none",
            )
        if piece is not None and file and (piece.file != file or piece.size < at):
            piece = await log.after(0)  # a new log in its place
        if piece is not None:
            _write(piece.data)
            at, file = piece.start + len(piece.data), piece.file
            if at < piece.size and piece.data:
                continue
        if ended:
            return
        sys.stdout.flush()
        await asyncio.sleep(pause)


async def _first(log: Log, lines: int | None) -> Piece | None:
    if not lines:
        return await log.after(0)
    piece = await log.end(END_BYTES)
    if piece is None:
        return None
    skipped = _start_of_last_lines(piece.data, lines)
    return piece._replace(data=piece.data[skipped:], start=piece.start + skipped)


def _write(piece: bytes) -> None:
    if not sys.stdout.isatty():
        sys.stdout.buffer.write(piece)
        return
    text = piece.decode("utf-8", "replace")
    sys.stdout.write("\n".join(visible(line.expandtabs()) for line in text.split("\n")))


def _start_of_last_lines(data: bytes, lines: int) -> int:
    """The offset of the last `lines` lines."""
    at = len(data) - data.endswith(b"\n")  # the last line's own newline
    for _ in range(lines):
        at = data.rfind(b"\n", 0, at)
        if at < 0:
            return 0
    return at + 1


async def _may_run(project: Project, record: JobRecord) -> bool:
    """Whether the job may still write. A failing look is taken for yes."""
    view = await project.jobs.view()
    job = next((job for job in view.jobs if job.record.token == record.token), None)
    return job is not None and (job.state.active or bool(view.error))
