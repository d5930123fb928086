"""One network run on disk: its network snapshot, its journal, its lock.

The journal is only appended to, with fsync. The process that drives the run holds a lock, which
ends with the process. See docs/formats.md, "Network runs".
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from rowtui.core.base.errors import NotSavedError, RowtuiError
from rowtui.core.base.files import append_lines, read_bounded, replace_file, sync_folder
from rowtui.core.base.lazy import asyncio
from rowtui.core.base.text import visible
from rowtui.core.network.definition.spec import Network, SourceRows
from rowtui.core.runs.limits.limits import RunLimits, Spent
from rowtui.core.runs.lock import Holder, hold, holder_of
from rowtui.core.runs.model import (
    Event,
    Finished,
    JobFailed,
    LimitsConfirmed,
    NotSent,
    Paused,
    PlanSubmitted,
    Resumed,
    RunHeader,
    RunStarted,
    RunStatus,
    Stopped,
    about_bytes,
    event_of,
    json_line,
    line_of,
)
from rowtui.core.runs.snapshot import read_frozen

# The status of a run by its journal, with its confirmed limits and spent amounts.
#
# Takes the events one by one, oldest first, so that a long journal is processed only once.


@dataclass
class RunTotals:
    """The sum of the events so far.

    `why`: the reason of the last pause, or the result. `at`: the time of the last event. `limits`:
    None if the journal has none. `submitted`: submitted jobs; `failed`: failed jobs; `failures`:
    failed jobs since limits were confirmed last; `retries`: submitted attempts after the first
    ones. `money` is by currency.
    """

    status: RunStatus = RunStatus.NEW
    limits: RunLimits | None = None
    why: str = ""
    at: float | None = None
    submitted: int = 0
    failed: int = 0
    failures: int = 0
    retries: int = 0
    cpu_hours: float = 0.0
    gpu_hours: float = 0.0
    money: dict[str, float] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        """Add one event."""
        self.at = event.at
        if isinstance(event, PlanSubmitted | NotSent):
            self._spend(event, 1 if isinstance(event, PlanSubmitted) else -1)
        elif isinstance(event, JobFailed):
            self.failed += 1
            self.failures += 1
        elif isinstance(event, LimitsConfirmed):
            self.limits = event.limits
            self.failures = 0
        elif isinstance(event, RunStarted | Resumed):
            self.status = RunStatus.RUNNING
        elif isinstance(event, Paused):
            self.status, self.why = RunStatus.PAUSED, event.why
        elif isinstance(event, Stopped):
            self.status = RunStatus.STOPPED
        elif isinstance(event, Finished):
            self.status = RunStatus.FINISHED if event.success else RunStatus.FAILED
            self.why = event.why

    def spent(self, jobs_in_queue: int = 0, failures_in_a_row: int = 0) -> Spent:
        """Return what was spent since the run began, and failures since limits were last confirmed.

        The caller provides the number of jobs in the queue and of failures in a row.
        """
        return Spent(
            self.cpu_hours,
            self.gpu_hours,
            dict(self.money),
            jobs_in_queue,
            self.failures,
            failures_in_a_row,
            self.retries,
        )

    def copy(self) -> RunTotals:
        """Return an independent copy."""
        return replace(self, money=dict(self.money))

    def _spend(self, event: PlanSubmitted | NotSent, sign: int) -> None:
        self.submitted += sign * len(event.jobs)
        self.retries += sign * event.retries
        self.cpu_hours += sign * event.cpu_hours
        self.gpu_hours += sign * event.gpu_hours
        if event.money or event.currency:
            known = self.money.get(event.currency, 0.0)
            self.money[event.currency] = known + sign * event.money


TERMINATED = "terminated by a signal"
"""`Stopped.why` of a driver that the machine or the scheduler ended, not the user."""
VERSION = 1
LIMIT = 1 << 32
NETWORK_FILE = "network.json"
RUN_FILE = "run.json"
EVENTS_FILE = "events.jsonl"
MADE_FILE = "made.jsonl"
LOCK_FILE = "lock"


class Run:
    """One run. network.json is read once, when it is first needed."""

    def __init__(self, folder: Path, about: RunHeader) -> None:
        """See `RunStore.load`."""
        self.folder = folder
        self.about = about
        self._reading = threading.Lock()
        self._journal = 0  # the inode of events.jsonl
        self._read = 0  # the number of bytes that `_events` was parsed from
        self._events: list[Event] = []
        self._standing = RunTotals()

    @property
    def id(self) -> str:
        """Return the name of the run, which is also shown to the user."""
        return self.folder.name

    @cached_property
    def _frozen(self) -> tuple[Network, tuple[SourceRows, ...]]:
        with self._explained():
            return read_frozen(read_bounded(self.folder / NETWORK_FILE, LIMIT))

    @property
    def network(self) -> Network:
        """Return the network as it was when the run was made. Raises: RowtuiError."""
        return self._frozen[0]

    @property
    def rows(self) -> tuple[SourceRows, ...]:
        """Return the rows of its sources at that time. Raises: RowtuiError."""
        return self._frozen[1]

    def events(self) -> list[Event]:
        """Return the journal's events, oldest first, without truncated lines.

        Only new lines are read from the disk. Raises: RowtuiError.
        """
        with self._explained(), self._reading:
            unended = self._read_on()
            return [*self._events, unended] if unended else list(self._events)

    @property
    def standing(self) -> RunTotals:
        """Return the status and sums of the run, by its journal. Raises: RowtuiError."""
        with self._explained(), self._reading:
            unended = self._read_on()
            standing = self._standing.copy()
        if unended is not None:
            standing.take(unended)
        return standing

    def _read_on(self) -> Event | None:
        """Parse new lines; return the last event if its line has no newline yet."""
        fd = os.open(self.folder / EVENTS_FILE, os.O_RDONLY | os.O_CLOEXEC)
        try:
            status = os.fstat(fd)
            if status.st_ino != self._journal or status.st_size < self._read:
                self._journal, self._read = status.st_ino, 0
                self._events, self._standing = [], RunTotals()
            data = os.pread(fd, status.st_size - self._read, self._read)
        finally:
            os.close(fd)
        whole, newline, last = data.rpartition(b"\n")
        found = [event_of(line) for line in whole.split(b"\n") if line]
        for event in found:
            if event is not None:
                self._events.append(event)
                self._standing.take(event)
        self._read += len(whole) + len(newline)
        return event_of(last) if last else None

    def stamp(self) -> int:
        """Return the length of the journal in bytes; equal as long as no event was written."""
        try:
            return os.stat(self.folder / EVENTS_FILE).st_size
        except OSError:
            return 0

    @property
    def status(self) -> RunStatus:
        """Return the status of the run, by its journal. Raises: RowtuiError."""
        return self.standing.status

    @property
    def may_go_on(self) -> bool:
        """Whether a driver may go on without the user: the run was interrupted, or its limits were
        confirmed since it paused or was stopped. Raises: RowtuiError.
        """
        last = self._last_decision()
        if isinstance(last, Stopped):
            return last.why == TERMINATED
        if last is None:
            return self.about.limits_at is not None
        return not (isinstance(last, Paused | Finished) or self.status.is_over)

    def _last_decision(self) -> Event | None:
        kinds = (RunStarted, Resumed, LimitsConfirmed, Stopped, Paused, Finished)
        return next((it for it in reversed(self.events()) if isinstance(it, kinds)), None)

    @property
    def interrupted(self) -> bool:
        """Whether its driver ended although the user did not stop it; no process drives it now.

        Raises: RowtuiError.
        """
        stamp = self.stamp()
        if self.holder() is not None:
            return False
        last = self._last_decision()
        ended = isinstance(last, Stopped) and last.why == TERMINATED
        # The answer holds only if no driver began or ended in the meantime.
        same = self.stamp() == stamp and self.holder() is None
        return (ended or self.status is RunStatus.RUNNING) and same

    @property
    def limits(self) -> RunLimits:
        """Return the limits that were confirmed last. Raises: RowtuiError."""
        return self.standing.limits or self.about.limits

    def append(self, *events: Event) -> None:
        """Append events to the journal; they are on disk when this returns.

        Raises: NotSavedError if the journal cannot be written: then the actions must not be carried
        out.
        """
        self._append(EVENTS_FILE, b"".join(map(line_of, events)))

    def confirm(self, limits: RunLimits, at: float, user: str = "") -> None:
        """Record that the user confirmed limits.

        The journal is authoritative; run.json is a copy.
        """
        self.append(LimitsConfirmed(at, limits, user))
        self.about = self.about._replace(limits=limits, limits_at=at)
        with contextlib.suppress(OSError):
            replace_file(self.folder / RUN_FILE, about_bytes(self.about))

    def note_made(self, names: Sequence[str]) -> None:
        """Record directories that are about to be made; only recorded ones are ever moved away.

        Raises: RowtuiError.
        """
        if names:
            self._append(MADE_FILE, json_line({"v": VERSION, "names": list(names)}) + b"\n")

    def made(self) -> frozenset[str]:
        """Return the directories that were recorded. Raises: RowtuiError."""
        with self._explained():
            path = self.folder / MADE_FILE
            data = read_bounded(path, LIMIT) if path.exists() else b""
        names: set[str] = set()
        for line in data.split(b"\n"):
            with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
                # a truncated line: these directories were not made
                names.update(json.loads(line)["names"])
        return frozenset(names)

    @contextlib.contextmanager
    def hold(self, job: str = "") -> Iterator[Holder]:
        """Hold the lock of the run, so that no other process drives the run. `job`: see `Holder`.

        The lock ends with the process, also if the process is killed. Raises: RunHeldError;
        RowtuiError if the lock file cannot be written.
        """
        with contextlib.ExitStack() as stack:
            try:
                me = stack.enter_context(hold(self.folder / LOCK_FILE, self.id, job))
            except OSError as error:
                raise self._unwritable(error) from None
            yield me

    def holder(self) -> Holder | None:
        """Return the process that drives the run now; None if no process does."""
        return holder_of(self.folder / LOCK_FILE)

    def _append(self, name: str, data: bytes) -> None:
        path = self.folder / name
        try:
            fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                size = append_lines(fd, data)
            finally:
                os.close(fd)
            if not size:
                sync_folder(self.folder)
        except OSError as error:
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> NotSavedError:
        return NotSavedError(
            f"cannot write the journal of run {self.id} in {visible(str(self.folder))}: "
            f"{error.strerror or error}",
            "the run waits for a writable journal; free some space or correct the permissions, "
            "then try again",
        )

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RowtuiError(f"run {self.id} cannot be read: {error.strerror or error}") from None
        except RowtuiError as error:
            raise RowtuiError(
                f"run {self.id} cannot be used: {error.message}", error.hint
            ) from None


LONGEST_LOOKS = 30
"""The longest wait between two looks at an unchanged project, in multiples of the shortest."""


@dataclass
class LookPause:
    """The wait of a driver between two looks: `shortest` seconds, doubled again while it is idle.

    A change of the project on disk (`changed`) and an event of the run end it.
    """

    run: Run
    changed: asyncio.Event
    shortest: float
    _next: float = 0.0

    async def wait(self, *, idle: bool, until: float | None = None) -> None:
        """Wait. `idle`: there was nothing to do; `until`: the longest, in monotonic seconds."""
        self._next = min(2 * self._next, LONGEST_LOOKS * self.shortest) if idle else 0.0
        self._next = max(self._next, self.shortest)
        end = time.monotonic() + self._next
        if until is not None:
            end = min(end, time.monotonic() + max(self.shortest, until - time.monotonic()))
        stamp = self.run.stamp()
        while (left := end - time.monotonic()) > 0 and self.run.stamp() == stamp:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.changed.wait(), min(left, self.shortest))
                self._next = 0.0
                return
