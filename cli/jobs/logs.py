"""`rowtui logs JOB`: print a job's output: all of it, its end, or as it grows."""

from __future__ import annotations

import argparse
import asyncio
import codecs
import sys
from collections.abc import Sequence

from rowtui.cli.environment import run as run_async
from rowtui.cli.jobs.choice import given_clusters, refuse_several_clusters
from rowtui.cli.jobs.job_text import read_job_name
from rowtui.cli.jobs.json import LogJson, job_document
from rowtui.cli.output.output import Output
from rowtui.cli.project.open import open_project
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.clusters.schedulers.base import JobState, called
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.views.logs import LocalLog, Log, LogPiece, last_lines, news
from rowtui.core.submission.plan.record import JobRecord
from rowtui.core.submission.sending.fence import ended_path

LOOK_SECONDS = 0.3  # seconds between two reads of a log that grows
FAR_LOOK_SECONDS = 2.0  # the same over a connection
LINES_IN_JSON = 1000  # lines of a log's end, unless a number is given
NAMED_TASKS = 5  # most tasks of an array that a message names


def run(args: argparse.Namespace, out: Output) -> int:
    """Print the log. Control characters are made visible, unless `--raw` is given."""
    project = open_project(args, out)
    record = _find(project, args)
    if not record.log_path:
        raise RowtuiError(
            f"{called(record.label)} has no log", "it wrote to the terminal that it was run in"
        )
    log = run_async(project.jobs.log(record))
    if args.path:
        out.names([log.name], for_programs=True)
        return 0
    if args.json:
        _print_json(log, args, project, record, out)
        return 0
    run_async(_print(log, args, project, record))
    return 0


def _print_json(
    log: Log, args: argparse.Namespace, project: OpenProject, record: JobRecord, out: Output
) -> None:
    """Print the job as JSON, with the lines of its log."""
    if args.follow:
        raise RowtuiError("--json prints a log once", "leave --follow out")
    piece = run_async(last_lines(log, args.lines or LINES_IN_JSON))
    text = b"" if piece is None else piece.data
    lines = text.decode("utf-8", "replace").splitlines()
    out.json(LogJson(job_document(record, project.root), log.name, lines))


def _find(project: OpenProject, args: argparse.Namespace) -> JobRecord:
    """Return the newest job with this id, or on this directory (for this action)."""
    clusters = given_clusters(args)
    records = [
        record
        for record in project.jobs.records()
        if args.action is None or record.action == args.action
    ]
    named = read_job_name(args.job)
    found = [it for it in records if named is not None and it.job_id and named.means(it)]
    if clusters and any(it.cluster in clusters for it in found):
        found = [it for it in found if it.cluster in clusters]
    if found:
        refuse_several_clusters(args.job, found)
        if named is not None and not named.of_one:
            _refuse_several(args.job, found)
    else:
        name = args.job.rstrip("/")
        found = [it for it in records if name in it.directories]
        if clusters and any(it.cluster in clusters for it in found):
            found = [it for it in found if it.cluster in clusters]
    if not found:
        raise RowtuiError(
            f"no job '{visible(args.job)}' in this project's records",
            "'rowtui show jobs --long' lists them",
        )
    return max(found, key=lambda record: record.submitted_at)


def _refuse_several(text: str, records: Sequence[JobRecord]) -> None:
    """Refuse several jobs: each array task and bundle request has its own log.

    Raises: RowtuiError.
    """
    newest = max(records, key=lambda record: record.submitted_at)
    those = [it for it in records if it.plan_id == newest.plan_id]
    those.sort(key=lambda it: (it.task or 0, it.member or 0))
    labels = list(dict.fromkeys(it.label for it in those))
    if len(labels) > 1:
        shown = ", ".join(labels[:NAMED_TASKS]) + ", ..." * (len(labels) > NAMED_TASKS)
        if newest.member is not None:
            raise RowtuiError(f"job {text} is a bundle", f"name one of its jobs: {shown}")
        raise RowtuiError(f"job {text} is an array", f"name one of its tasks: {shown}")


async def _print(
    log: Log, args: argparse.Namespace, project: OpenProject, record: JobRecord
) -> None:
    """Print the log or its end, then the text that is added while the job may run."""
    pause = LOOK_SECONDS if isinstance(log, LocalLog) else FAR_LOOK_SECONDS
    screen = _Screen(raw=args.raw)
    last: LogPiece | None = None
    while True:
        ended = not args.follow or not await _may_run(project, record)
        while True:
            piece = await (_first(log, args.lines) if last is None else news(log, last))
            if piece is None:
                break
            screen.write(piece)
            last = piece
            if not piece.data or piece.stop >= piece.size:
                break
        if last is None and not args.follow:
            raise RowtuiError(
                f"{called(record.label)} has written no log yet: {visible(log.name)}",
                "a job that waits in the queue has none",
            )
        if ended:
            return
        sys.stdout.flush()
        await asyncio.sleep(pause)


async def _first(log: Log, lines: int) -> LogPiece | None:
    return await (last_lines(log, lines) if lines else log.after(0))


class _Screen:
    """Standard output. A pipe may lead to a terminal, so control characters are escaped there, too.

    `raw`: write the exact bytes.
    """

    def __init__(self, *, raw: bool) -> None:
        self._raw = raw
        self._file = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def write(self, piece: LogPiece) -> None:
        """Write the next part."""
        if self._raw:
            sys.stdout.buffer.write(piece.data)
            return
        if piece.file != self._file:
            self._decoder.reset()
            self._file = piece.file
        text = self._decoder.decode(piece.data)
        sys.stdout.write("\n".join(map(self._visible, text.split("\n"))))

    def _visible(self, line: str) -> str:
        if sys.stdout.isatty():
            return visible(line.expandtabs())
        return "\t".join(map(visible, line.split("\t")))


async def _may_run(project: OpenProject, record: JobRecord) -> bool:
    """Whether the job may still write; True if the poll fails.

    The cluster is polled at its normal interval, not additionally.
    """
    if await asyncio.to_thread(ended_path(project.root, record.token).exists):
        return False  # its script has recorded its end
    view = await project.jobs.view(among=(record.cluster,), now=False)
    job = next((job for job in view.jobs if job.token == record.token), None)
    if job is None:
        return False
    return job.state.active or (job.state is JobState.UNKNOWN and bool(view.error))
