"""Network runs on disk: frozen copies of a network, each with a journal of its own.

`.row/rowtui/network/<run id>/` has the files of one run (docs/formats.md, "Network runs"). A run
appears as a whole and is never changed by an edit of network.toml. Its journal is only appended
to, and fsynced. Whoever drives a run holds a lock on it, which goes with the process.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import getpass
import json
import os
import shutil
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from rowtui.core.errors import RowtuiError
from rowtui.core.files import (
    read_bounded,
    replace_file,
    sync_folder,
    temporary_sibling,
    write_all,
    write_synced,
)
from rowtui.core.network.spec import Network, SourceRows
from rowtui.core.runs.frozen import frozen_bytes, read_frozen
from rowtui.core.runs.hold import Holder, RunHeldError, hold, holder_of
from rowtui.core.runs.limits import Limits
from rowtui.core.runs.model import (
    About,
    Event,
    LimitsConfirmed,
    RunStatus,
    about_bytes,
    about_of,
    event_of,
    json_line,
    line_of,
    status_of,
)
from rowtui.core.text import visible

__all__ = ["BadRun", "Holder", "Run", "RunHeldError", "RunStore"]

VERSION = 1
LIMIT = 1 << 32
NETWORK_FILE = "network.json"
RUN_FILE = "run.json"
EVENTS_FILE = "events.jsonl"
MADE_FILE = "made.jsonl"
LOCK_FILE = "lock"
IDS_FILE = "ids"

# A run that is being made and has not appeared after this long never will.
_ABANDONED_SECONDS = 3600.0


class BadRun(NamedTuple):
    """A run that cannot be used, and why. The others can."""

    id: str
    why: str
    hint: str = ""


class Run:
    """One run. What is read once: network.json, when it is first asked for."""

    def __init__(self, folder: Path, about: About) -> None:
        """See `RunStore.load`."""
        self.folder = folder
        self.about = about
        self._reading = threading.Lock()
        self._journal = 0  # the inode of events.jsonl
        self._read = 0  # how many bytes of it `_events` is from
        self._events: list[Event] = []

    @property
    def id(self) -> str:
        """Its name, for people too."""
        return self.folder.name

    @cached_property
    def _frozen(self) -> tuple[Network, tuple[SourceRows, ...]]:
        with self._explained():
            return read_frozen(read_bounded(self.folder / NETWORK_FILE, LIMIT))

    @property
    def network(self) -> Network:
        """The network as it was when the run was made. Raises: RowtuiError."""
        return self._frozen[0]

    @property
    def rows(self) -> tuple[SourceRows, ...]:
        """The rows of its sources at that time. Raises: RowtuiError."""
        return self._frozen[1]

    def events(self) -> list[Event]:
        """Its journal, oldest first; without lines that a crash cut off.

        What was read before is not read again. Raises: RowtuiError.
        """
        with self._explained(), self._reading:
            fd = os.open(self.folder / EVENTS_FILE, os.O_RDONLY | os.O_CLOEXEC)
            try:
                status = os.fstat(fd)
                if status.st_ino != self._journal or status.st_size < self._read:
                    self._journal, self._read, self._events = status.st_ino, 0, []
                data = os.pread(fd, status.st_size - self._read, self._read)
            finally:
                os.close(fd)
            whole, newline, last = data.rpartition(b"\n")
            found = [event_of(line) for line in whole.split(b"\n") if line]
            self._events += [event for event in found if event is not None]
            self._read += len(whole) + len(newline)
            unended = event_of(last) if last else None
            return [*self._events, unended] if unended else list(self._events)

    @property
    def status(self) -> RunStatus:
        """Where it stands, by its journal. Raises: RowtuiError."""
        return status_of(self.events())

    @property
    def limits(self) -> Limits:
        """What was confirmed last. Raises: RowtuiError."""
        confirmed = [it.limits for it in self.events() if isinstance(it, LimitsConfirmed)]
        return confirmed[-1] if confirmed else self.about.limits

    def append(self, *events: Event) -> None:
        """Write events down; they are on the disk when this returns.

        Raises: RowtuiError if they cannot be: then what they tell of must not be done.
        """
        self._append(EVENTS_FILE, b"".join(map(line_of, events)))

    def confirm(self, limits: Limits, at: float, user: str = "") -> None:
        """Note that a person allowed this. The journal is what counts; run.json shows it."""
        self.append(LimitsConfirmed(at, limits, user))
        self.about = self.about._replace(limits=limits, limits_at=at)
        with contextlib.suppress(OSError):
            replace_file(self.folder / RUN_FILE, about_bytes(self.about))

    def note_made(self, names: Sequence[str]) -> None:
        """Write down directories that are about to be made: only such are ever put away again.

        Raises: RowtuiError.
        """
        if names:
            self._append(MADE_FILE, json_line({"v": VERSION, "names": list(names)}) + b"\n")

    def made(self) -> frozenset[str]:
        """Directories that were noted. Raises: RowtuiError."""
        with self._explained():
            path = self.folder / MADE_FILE
            data = read_bounded(path, LIMIT) if path.exists() else b""
        names: set[str] = set()
        for line in data.split(b"\n"):
            with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
                names.update(json.loads(line)["names"])  # else it was cut off: nothing was made
        return frozenset(names)

    @contextlib.contextmanager
    def hold(self) -> Iterator[Holder]:
        """Drive the run for as long as this lasts: nobody else does meanwhile.

        The lock goes with the process, also if it is killed.
        Raises: RunHeldError; RowtuiError if the lock's file cannot be written.
        """
        with contextlib.ExitStack() as stack:
            try:
                me = stack.enter_context(hold(self.folder / LOCK_FILE, self.id))
            except OSError as error:
                raise self._unwritable(error) from None
            yield me

    def holder(self) -> Holder | None:
        """Who drives the run now; None: nobody."""
        return holder_of(self.folder / LOCK_FILE)

    def _append(self, name: str, data: bytes) -> None:
        path = self.folder / name
        try:
            fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                size = os.fstat(fd).st_size
                if size and os.pread(fd, 1, size - 1) != b"\n":
                    data = b"\n" + data  # somebody was cut off in the middle of a line
                write_all(fd, data)
                os.fsync(fd)
            finally:
                os.close(fd)
            if not size:
                sync_folder(self.folder)
        except OSError as error:
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> RowtuiError:
        return RowtuiError(
            f"cannot write the journal of run {self.id} in {visible(str(self.folder))}: "
            f"{error.strerror or error}",
            "nothing is done that could not be written down; free some space or mend the "
            "permissions, then try again",
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


class RunStore:
    """The network runs of one project."""

    def __init__(self, root: Path) -> None:
        """`root`: the folder that holds workflow.toml."""
        self.root = root
        self.folder = root / ".row" / "rowtui" / "network"

    def create(
        self,
        network: Network,
        rows: Iterable[SourceRows],
        *,
        limits: Limits | None = None,
        cluster: str = "",
        plug_ins: Mapping[str, str] | None = None,
        user: str = "",
    ) -> Run:
        """A new run of a network as it is now. `limits`: None if nobody confirmed any yet.

        Raises: RowtuiError if it cannot be written; there is no run then.
        """
        now = time.time()
        about = About(
            created=now,
            user=user or getpass.getuser(),
            name=network.name,
            cluster=cluster,
            plug_ins=plug_ins or {},
            limits=limits or Limits(),
            limits_at=None if limits is None else now,
        )
        files = {
            NETWORK_FILE: frozen_bytes(network, rows),
            RUN_FILE: about_bytes(about),
            EVENTS_FILE: b"",
        }
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._sweep(now)
            return Run(self._publish(files, time.strftime("%Y-%m-%d", time.localtime(now))), about)
        except OSError as error:
            raise RowtuiError(
                f"cannot make a run in {visible(str(self.folder))}: {error.strerror or error}",
                "free some space or mend the permissions, then try again",
            ) from None

    def load(self, run_id: str) -> Run:
        """A run by its name. Raises: RowtuiError if there is none, or it cannot be used."""
        folder = self.folder / run_id
        if _number(run_id) is None or not folder.is_dir():
            known = ", ".join(self.ids()[-5:])
            raise RowtuiError(
                f'there is no run "{visible(run_id)}"',
                f"runs are {known}" if known else "begin one with `rowtui network run`",
            )
        try:
            run = Run(folder, about_of(read_bounded(folder / RUN_FILE, LIMIT)))
            for name in (NETWORK_FILE, EVENTS_FILE):
                os.stat(folder / name)
        except FileNotFoundError as error:
            missing = os.path.basename(error.filename or "")
            raise RowtuiError(
                f"run {run_id} cannot be used: its {visible(missing)} is missing",
                "begin a new run, which finds what is done already",
            ) from None
        except OSError as error:
            raise RowtuiError(f"run {run_id} cannot be read: {error.strerror or error}") from None
        except RowtuiError as error:
            raise RowtuiError(f"run {run_id} cannot be used: {error.message}", error.hint) from None
        return run

    def ids(self) -> list[str]:
        """The names of all runs, oldest first, whether they can be used or not."""
        return [run_id for _, run_id in sorted(self._numbered(self._listed()))]

    def runs(self) -> tuple[Run | BadRun, ...]:
        """All runs, oldest first; for those that cannot be used why that is.

        Their journals were read; network.json was not, which may be large.
        """
        found: list[Run | BadRun] = []
        for run_id in self.ids():
            try:
                run = self.load(run_id)
                run.events()
                found.append(run)
            except RowtuiError as error:
                if (self.folder / run_id).is_dir():  # else it was deleted just now
                    found.append(BadRun(run_id, error.message, error.hint))
        return tuple(found)

    def latest(self) -> Run | None:
        """The newest run that can be used."""
        for run_id in reversed(self.ids()):
            with contextlib.suppress(RowtuiError):
                run = self.load(run_id)
                run.events()
                return run
        return None

    def note_made(self, names: Sequence[str]) -> None:
        """As `Run.note_made`, for directories that are made outside of any run."""
        with contextlib.suppress(OSError):  # writing says so
            self.folder.mkdir(parents=True, exist_ok=True)
        Run(self.folder, About(0.0, "")).note_made(names)

    def made(self) -> frozenset[str]:
        """All directories that a run made, or nobody's run, as far as runs can be read."""
        found: set[str] = set()
        for folder in (self.folder, *(self.folder / run_id for run_id in self.ids())):
            with contextlib.suppress(RowtuiError):
                found |= Run(folder, About(0.0, "")).made()
        return frozenset(found)

    def _publish(self, files: Mapping[str, bytes], day: str) -> Path:
        """A folder with these files under the first name of the day that was never used."""
        making = temporary_sibling(self.folder / day)
        making.mkdir()
        try:
            for name, data in files.items():
                write_synced(making / name, data)
            sync_folder(making)
            while True:
                folder = self.folder / self._next_id(day)
                try:
                    os.rename(making, folder)
                except OSError as error:
                    if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                        raise
                    continue  # somebody was faster
                sync_folder(self.folder)
                return folder
        except BaseException:
            shutil.rmtree(making, ignore_errors=True)
            raise

    def _next_id(self, day: str) -> str:
        """A name that no run ever had, also none whose folder was deleted since."""
        path = self.folder / IDS_FILE
        fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            with contextlib.suppress(OSError):  # without locks the rename decides
                fcntl.flock(fd, fcntl.LOCK_EX)
            used = os.pread(fd, 1 << 20, max(0, os.fstat(fd).st_size - (1 << 20)))
            names = [*used.decode("ascii", "replace").split("\n"), *self._listed()]
            numbers = [number for (of, number), _ in self._numbered(names) if of == day]
            run_id = f"{day}-{max(numbers, default=0) + 1}"
            write_all(fd, b"\n%s\n" % run_id.encode())
            os.fsync(fd)
            return run_id
        finally:
            os.close(fd)

    def _listed(self) -> list[str]:
        try:
            return os.listdir(self.folder)
        except (FileNotFoundError, NotADirectoryError):
            return []

    @staticmethod
    def _numbered(names: Iterable[str]) -> Iterator[tuple[tuple[str, int], str]]:
        for name in names:
            number = _number(name)
            if number is not None:
                yield number, name

    def _sweep(self, now: float) -> None:
        """Delete what others left when they were killed while they made a run."""
        for name in self._listed():
            if name.startswith(".") and name.endswith(".tmp"):
                with contextlib.suppress(OSError):
                    if now - os.stat(self.folder / name).st_mtime > _ABANDONED_SECONDS:
                        shutil.rmtree(self.folder / name, ignore_errors=True)


def _number(run_id: str) -> tuple[str, int] | None:
    """What runs are sorted by: `2026-11-21-10` comes after `2026-11-21-9`."""
    day, _, number = run_id.rpartition("-")
    if not (number.isascii() and number.isdigit() and len(number) < 10 and number[0] != "0"):
        return None
    try:
        return (day, int(number)) if date.fromisoformat(day).isoformat() == day else None
    except ValueError:
        return None
