"""The runs of a project, each with its own journal; a network's with a snapshot of the network.

`.row/rowtui/network/<run id>/` has the files of one run (docs/formats.md, "Network runs"). A run
appears only when it is complete, and edits of network.toml never change it. Runs of projects
without a network are in `.row/rowtui/runs/`, and have no snapshot.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import getpass
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

from rowtui.core.base.errors import NotSavedError, RowtuiError
from rowtui.core.base.files import (
    read_bounded,
    sync_folder,
    temporary_sibling,
    write_all,
    write_synced,
)
from rowtui.core.base.text import visible
from rowtui.core.network.definition.spec import Network, SourceRows
from rowtui.core.runs.limits.limits import RunLimits
from rowtui.core.runs.lock import NETWORK_DRIVER, PROJECT_DRIVER, Holder, RunHeldError, hold
from rowtui.core.runs.model import (
    RunHeader,
    about_bytes,
    about_of,
)
from rowtui.core.runs.run import EVENTS_FILE, LIMIT, LOCK_FILE, NETWORK_FILE, RUN_FILE, Run
from rowtui.core.runs.snapshot import frozen_bytes

__all__ = ["BadRun", "Holder", "Run", "RunHeldError", "RunStore"]

IDS_FILE = "ids"

# A run that has been in creation for longer than this is abandoned.
_ABANDONED_SECONDS = 3600.0


class BadRun(NamedTuple):
    """A run that cannot be used, and why. Other runs stay usable."""

    id: str
    why: str
    hint: str = ""


NETWORK_RUNS, PROJECT_RUNS = "network", "runs"


class RunStore:
    """The runs of one project: of its network, or (`PROJECT_RUNS`) of its actions."""

    def __init__(self, root: Path, kind: str = NETWORK_RUNS) -> None:
        """Create a store. `root`: the folder that holds workflow.toml."""
        self.root = root
        self.folder = root / ".row" / "rowtui" / kind
        self._begun_by = "rowtui network run" if kind == NETWORK_RUNS else "rowtui run"
        self._commands = NETWORK_DRIVER if kind == NETWORK_RUNS else PROJECT_DRIVER
        self._fixed_file = NETWORK_FILE if kind == NETWORK_RUNS else RUN_FILE
        # with the stamp of its network.json
        self._last: tuple[Run, tuple[int, int, int]] | None = None

    def create(
        self,
        network: Network | None,
        rows: Iterable[SourceRows] = (),
        *,
        limits: RunLimits | None = None,
        cluster: str = "",
        plug_ins: Mapping[str, str] | None = None,
        user: str = "",
    ) -> Run:
        """Create a run of a network as it is now; without a network, of the project's actions.

        `limits`: None if no limits were confirmed yet.
        Raises: RowtuiError if the run cannot be written; no run exists then.
        """
        now = time.time()
        about = RunHeader(
            created=now,
            user=user or _me(),
            name="" if network is None else network.name,
            cluster=cluster,
            plug_ins=plug_ins or {},
            limits=limits or RunLimits(),
            limits_at=None if limits is None else now,
        )
        files = {RUN_FILE: about_bytes(about), EVENTS_FILE: b""}
        if network is not None:
            files[NETWORK_FILE] = frozen_bytes(network, rows)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._sweep(now)
            return Run(self._publish(files, time.strftime("%Y-%m-%d", time.localtime(now))), about)
        except OSError as error:
            raise RowtuiError(
                f"cannot make a run in {visible(str(self.folder))}: {error.strerror or error}",
                "free some space or correct the permissions, then try again",
            ) from None

    @contextlib.contextmanager
    def hold(self) -> Iterator[Holder]:
        """Hold the lock of the project, so that one process at a time begins and drives runs.

        Raises: RunHeldError; NotSavedError if the lock file cannot be written.
        """
        with contextlib.ExitStack() as stack:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                me = stack.enter_context(hold(self.folder / LOCK_FILE))
            except RunHeldError as error:
                raise RunHeldError("", error.holder, self._commands) from None
            except OSError as error:
                raise NotSavedError(
                    f"cannot write to {visible(str(self.folder))}: {error.strerror or error}",
                    "free some space or correct the permissions, then try again",
                ) from None
            yield me

    def load(self, run_id: str) -> Run:
        """Return a run by its name; the last loaded object is reused, with its parsed journal.

        Raises: RowtuiError if no run has that name, or the run cannot be used.
        """
        folder = self.folder / run_id
        if _number(run_id) is None or not folder.is_dir():
            known = ", ".join(self.ids()[-5:])
            raise RowtuiError(
                f'there is no run "{visible(run_id)}"',
                f"runs are {known}" if known else f"begin one with `{self._begun_by}`",
            )
        try:
            about = about_of(read_bounded(folder / RUN_FILE, LIMIT))
            os.stat(folder / EVENTS_FILE)
            status = os.stat(folder / self._fixed_file)
        except FileNotFoundError as error:
            missing = os.path.basename(error.filename or "")
            raise RowtuiError(
                f"run {run_id} cannot be used: its {visible(missing)} is missing",
                "begin a new run, which keeps completed work",
            ) from None
        except OSError as error:
            raise RowtuiError(f"run {run_id} cannot be read: {error.strerror or error}") from None
        except RowtuiError as error:
            raise RowtuiError(f"run {run_id} cannot be used: {error.message}", error.hint) from None
        stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
        if self._last is not None and self._last[0].id == run_id and self._last[1] == stamp:
            run = self._last[0]
            run.about = about
        else:
            run = Run(folder, about)
            self._last = (run, stamp)
        return run

    def ids(self) -> list[str]:
        """Return the names of all runs, oldest first, including unusable ones."""
        return [run_id for _, run_id in sorted(self._numbered(self._listed()))]

    def runs(self) -> tuple[Run | BadRun, ...]:
        """Return all runs, oldest first, with reasons for the unusable ones.

        The journals were read; network.json was not, because it may be large.
        """
        found: list[Run | BadRun] = []
        for run_id in self.ids():
            try:
                run = self.load(run_id)
                run.events()
                found.append(run)
            except RowtuiError as error:
                if (self.folder / run_id).is_dir():  # otherwise the run was deleted just now
                    found.append(BadRun(run_id, error.message, error.hint))
        return tuple(found)

    def latest(self) -> Run | None:
        """Return the newest usable run; None if there is none."""
        for run_id in reversed(self.ids()):
            with contextlib.suppress(RowtuiError):
                run = self.load(run_id)
                run.events()
                return run
        return None

    def note_made(self, names: Sequence[str]) -> None:
        """Record made directories as `Run.note_made` does, for directories outside of any run."""
        with contextlib.suppress(OSError):  # the following write reports the error
            self.folder.mkdir(parents=True, exist_ok=True)
        Run(self.folder, RunHeader(0.0, "")).note_made(names)

    def made(self) -> frozenset[str]:
        """Return all directories that rowtui made for a network, in a run or outside of one.

        Runs that cannot be read are left out.
        """
        found: set[str] = set()
        for folder in (self.folder, *(self.folder / run_id for run_id in self.ids())):
            with contextlib.suppress(RowtuiError):
                found |= Run(folder, RunHeader(0.0, "")).made()
        return frozenset(found)

    def _publish(self, files: Mapping[str, bytes], day: str) -> Path:
        """Publish a folder with these files under the first name of the day that was never used."""
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
                    continue  # another process took the name first
                sync_folder(self.folder)
                return folder
        except BaseException:
            shutil.rmtree(making, ignore_errors=True)
            raise

    def _next_id(self, day: str) -> str:
        """Return a name that no run ever had, including runs whose folders were deleted."""
        path = self.folder / IDS_FILE
        fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            with contextlib.suppress(OSError):  # without locks, the rename decides
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
        except OSError as error:
            raise RowtuiError(
                f"cannot read the runs in {visible(str(self.folder))}: {error.strerror or error}",
                "repair the folder or its permissions, then try again",
            ) from None

    @staticmethod
    def _numbered(names: Iterable[str]) -> Iterator[tuple[tuple[str, int], str]]:
        for name in names:
            number = _number(name)
            if number is not None:
                yield number, name

    def _sweep(self, now: float) -> None:
        """Delete unfinished runs of processes that were killed."""
        for name in self._listed():
            if name.startswith(".") and name.endswith(".tmp"):
                with contextlib.suppress(OSError):
                    if now - os.stat(self.folder / name).st_mtime > _ABANDONED_SECONDS:
                        shutil.rmtree(self.folder / name, ignore_errors=True)


def _me() -> str:
    """Return the user's name, or the user id if there is no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def _number(run_id: str) -> tuple[str, int] | None:
    """Return the sort key of a run: `2026-11-21-10` comes after `2026-11-21-9`."""
    day, _, number = run_id.rpartition("-")
    if not (number.isascii() and number.isdigit() and len(number) < 10 and number[0] != "0"):
        return None
    try:
        return (day, int(number)) if date.fromisoformat(day).isoformat() == day else None
    except ValueError:
        return None
