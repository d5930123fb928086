"""Following jobs to their end, with their output and a progress bar; Ctrl-C stops the following.

The output of jobs goes to standard output, where Row's jobs on the cluster `none` write it.
"""

from __future__ import annotations

import asyncio
import codecs
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rowtui.cli.output.output import Output
from rowtui.cli.output.progress import ProgressBar
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import file_size, plural, visible
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.project.views.logs import Log, LogPiece, latest

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.submission.plan.record import JobRecord

LOOK_SECONDS = 0.5  # seconds between polls of this machine's own queue: a poll costs a listing
SHOWN_FAILURES = 10
# Limits for the output of all jobs in one poll, shared by the running jobs.
LOOK_BYTES = 1 << 20
LOOK_LINES = 10_000
LEAST_BYTES = 1 << 14  # minimum for a single job, for any number of jobs
LEAST_LINES = 100
LINE_LENGTH = 2_000  # characters of a line of output; longer lines are cut
_NOT_STARTED = frozenset({JobState.HELD, JobState.PENDING, JobState.CANCELLED})


async def follow(
    project: OpenProject, tokens: Sequence[str], out: Output, *, with_output: bool = False
) -> bool:
    """Wait until these jobs have ended, and report failed ones; return whether all ended well.

    `with_output`: print the output of the jobs. Raises: KeyboardInterrupt, after a message that the
    jobs continue.
    """
    progress = ProgressBar(out, "Jobs")
    output = JobOutput(project, out, several=len(tokens) > 1, clear=progress.clear)
    order = {token: place for place, token in enumerate(tokens)}
    try:
        while True:
            view = await project.jobs.view()
            ours = [job for job in view.jobs if job.token in order]
            ours.sort(key=lambda job: order[job.token])
            active = sum(job.state.active for job in ours)
            if with_output:
                await output.print_new(ours)
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


class JobOutput:
    """Prints the new output of jobs since the last poll, line by line.

    With `several` jobs each line begins with the action and the job's id. The work of one poll is
    bounded: for a job that writes more, the latest lines are printed. `clear` is called before text
    is printed.
    """

    def __init__(
        self, project: OpenProject, out: Output, *, several: bool, clear: Callable[[], None]
    ) -> None:
        self._project = project
        self._out = out
        self._several = several
        self._clear = clear
        self._readers: dict[str, _Reader] = {}  # of jobs that may still write, by token
        self._finished: set[str] = set()

    async def print_new(self, jobs: Sequence[JobRecord]) -> None:
        """Read the log of each running job, and once more after the job has ended."""
        readers = self._readers
        taken = {reader.log.name for reader in readers.values()}
        for job in jobs:
            if job.token not in self._finished and job.token not in readers:
                await self._begin(job, taken)
        due = [(job, readers[job.token]) for job in jobs if job.token in readers]
        most = max(LEAST_BYTES, LOOK_BYTES // max(1, len(due)))
        lines = max(LEAST_LINES, LOOK_LINES // max(1, len(due)))
        for job, reader in due:
            ended = not job.state.active
            try:
                self._print(job, *await reader.read(most, lines, ended=ended))
            except RowtuiError as error:  # such as /dev/null in place of a log
                self._out.info(str(error))
                ended = True
            if ended:
                del readers[job.token]
                self._finished.add(job.token)

    async def _begin(self, job: JobRecord, taken: set[str]) -> None:
        """Begin to read the log of a job that has started.

        Before its start, a log of an earlier job may have the same name. `taken`: the names of the
        logs that are read. Of two jobs that write to one log at the same time, only the first is
        followed.
        """
        if job.state in _NOT_STARTED:
            return
        log = await self._project.jobs.log(job) if job.log_path else None
        if log is None or log.name in taken:
            self._finished.add(job.token)
        else:
            taken.add(log.name)
            self._readers[job.token] = _Reader(log)

    def _print(self, job: JobRecord, lines: list[str], left_out: int) -> None:
        if not (lines or left_out):
            return
        self._clear()
        if left_out:
            self._out.note(
                f"{file_size(left_out)} of the output of job {job.label} ({job.action})"
                f" are left out here: 'rowtui logs {job.label}' prints all."
            )
        prefix = f"{visible(job.action)} {job.label} | " if self._several else ""
        self._out.text("".join(f"{prefix}{line}\n" for line in lines))
        sys.stdout.flush()


class _Reader:
    """The log of one job, read from its beginning to its end as lines."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self._last: LogPiece | None = None
        self._start_over()

    def _start_over(self) -> None:
        # Bytes that are not text are passed on to programs unchanged.
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._rest = ""  # the beginning of an incomplete line

    async def read(self, most: int, lines: int, *, ended: bool) -> tuple[list[str], int]:
        """Return the new lines, and the number of omitted bytes before them.

        Raises: RowtuiError.
        """
        piece = await latest(self.log, self._last, most, lines)
        left_out, text = 0, ""
        if piece is not None:
            at = 0 if self._last is None else self._last.stop
            if self._last is not None and (self._last.file != piece.file or piece.start < at):
                at = 0  # a new log has replaced the old one
                self._start_over()
            left_out = piece.start - at
            if left_out:
                self._start_over()
            self._last = piece
            text = self._decoder.decode(piece.data)
        if ended:
            text += self._decoder.decode(b"", final=True)
        *whole, rest = (self._rest + text).split("\n")
        if ended and rest:
            whole.append(rest)
        self._rest = rest[: LINE_LENGTH + 1]
        return [_cut(line) for line in whole], left_out


def _cut(line: str) -> str:
    return line if len(line) <= LINE_LENGTH else f"{line[:LINE_LENGTH]} ..."


def _say_failures(jobs: Sequence[JobRecord], out: Output) -> bool:
    # Refused and skipped jobs were reported when the plan was sent.
    failed = [job for job in jobs if job.state.bad and job.job_id]
    for job in failed[:SHOWN_FAILURES]:
        why = f"{job.state.value}: {job.why}" if job.why else job.state.value
        out.error(
            f"Job {job.label} ({visible(job.action)}) {why}.\nIts log: {visible(job.log_path)}"
        )
    if len(failed) > SHOWN_FAILURES:
        out.error(f"{plural(len(failed) - SHOWN_FAILURES, 'more job')} failed.")
    return not failed
