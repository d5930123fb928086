"""`rowtui logs JOB`: what a job has written, all of it, its end, or as it grows."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.cli.project import open_project
from rowtui.core.errors import RowtuiError
from rowtui.core.text import visible

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output import Output
    from rowtui.core.project.project import Project
    from rowtui.core.submission.model import JobRecord

PIECE = 1 << 16
LOOK_SECONDS = 0.3  # between two looks at a log that grows


def run(args: argparse.Namespace, out: Output) -> int:
    """Print the log. Control characters are shown, not obeyed, when a terminal reads."""
    project = open_project(args, out)
    record = _find(project, args.job, args.action)
    path = project.jobs.log_path(record)
    if args.path:
        out.names([str(path)])
        return 0
    if not path.exists():
        if not (args.follow and _may_run(project, record)):
            raise RowtuiError(
                f"job {record.job_id} has written no log yet: {visible(str(path))}",
                "a job that waits in the queue has none",
            )
        _wait_for(path, project, record)
    _print(path, args, project, record)
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


def _wait_for(path: Path, project: Project, record: JobRecord) -> None:
    import time

    while not path.exists() and _may_run(project, record):
        time.sleep(LOOK_SECONDS)


def _print(path: Path, args: argparse.Namespace, project: Project, record: JobRecord) -> None:
    import time

    with path.open("rb") as log:
        if args.lines:
            log.seek(_start_of_last_lines(log.fileno(), args.lines))
        while True:
            ended = not args.follow or not _may_run(project, record)
            while piece := log.read(PIECE):
                _write(piece)
            if ended:
                break
            sys.stdout.flush()
            time.sleep(LOOK_SECONDS)


def _write(piece: bytes) -> None:
    if not sys.stdout.isatty():
        sys.stdout.buffer.write(piece)
        return
    text = piece.decode("utf-8", "replace")
    sys.stdout.write("\n".join(visible(line.expandtabs()) for line in text.split("\n")))


def _start_of_last_lines(fd: int, lines: int) -> int:
    """The offset of the last `lines` lines, found from the end."""
    position = os.fstat(fd).st_size
    left = lines  # newlines: the one before them is the last of these to be found
    last = True
    while position > 0:
        size = min(PIECE, position)
        position -= size
        piece = os.pread(fd, size, position)
        if last and piece.endswith(b"\n"):
            left += 1  # the last line's own newline
        last = False
        found = piece.count(b"\n")
        if found >= left:
            at = len(piece)
            for _ in range(left):
                at = piece.rindex(b"\n", 0, at)
            return position + at + 1
        left -= found
    return 0


def _may_run(project: Project, record: JobRecord) -> bool:
    """Whether the job may still write. A failing look is taken for yes."""
    import asyncio

    view = asyncio.run(project.jobs.view())
    job = next((job for job in view.jobs if job.record.token == record.token), None)
    return job is not None and (job.state.active or bool(view.error))
