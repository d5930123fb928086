"""The journal: the state of each job of each plan, recorded before and after each step.

Each plan has a file `.row/rowtui/journal/<plan id>.jsonl` (moved to `journal/done/` once all its
jobs have ended, so that every start reads only open journals). The file has a JSON object on each
line and is only appended to and fsynced, so that a process may be killed between any two steps. A
line that was cut off by a crash is ignored, and the next entry begins on a new line. The process
that carries out a plan holds a lock on the file; `settle` waits until the lock is free.

Entries: `planned -> sending -> accepted | rejected | unknown`, then `abandoned` or `ended`. Notes
that the user cancels or changes a job stand among them, and belong to no state
(`Journal.cancel_asked`, `Journal.changed`).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from json.encoder import encode_basestring_ascii as _quoted
from pathlib import Path
from typing import Any, NamedTuple

from rowtui.core.base.errors import NotSavedError, RowtuiError
from rowtui.core.base.files import append_lines, read_bounded, sync_folder
from rowtui.core.base.text import visible
from rowtui.core.submission.plan.model import JobStep, JournalEntry
from rowtui.core.submission.plan.outcome import JobResult, read_end

VERSION = 1
LIMIT = 1 << 30
# Details of `accepted` entries, in their order: the id is in the project's records; the job, which
# was held until then, was released; the scheduler durably knows the release, or the job had begun
# and the scheduler no longer lists it.
RECORDED = "recorded"
RELEASED = "released"
SEEN = "seen"
BEGUN = "begun"  # a request of a bundle was seen to have started
GONE = "gone"  # and the machine that missed it, with its uptime at that time
_CANCELS = (JobStep.CANCELLING, JobStep.NOT_CANCELLED)
NOTES = frozenset({*_CANCELS, JobStep.CHANGED})
ENDING = ".jsonl"
DONE = "done"


MOST_KEPT = 20_000
"""Entries that are kept in memory while their journals do not change: a few MB."""


class _KnownEntries(NamedTuple):
    """The entries of a plan, as its journals (see `Journal.stamp_of`) had them."""

    files: tuple[tuple[int, ...], ...]
    entries: tuple[JournalEntry, ...]
    notes: tuple[JournalEntry, ...] = ()


class Journal:
    """The journals of one project."""

    def __init__(self, root: Path) -> None:
        self.folder = root / ".row" / "rowtui" / "journal"
        self._known: dict[str, _KnownEntries] = {}

    def append(self, entries: Iterable[JournalEntry]) -> None:
        """Append entries; they are on the disk when this returns.

        Raises: NotSavedError if they cannot be written: then nothing may be sent.
        """
        by_plan: dict[str, list[JournalEntry]] = {}
        for entry in entries:
            by_plan.setdefault(entry.plan_id, []).append(entry)
        for plan_id, those in by_plan.items():
            try:
                self._append(plan_id, _lines(those))
            except OSError as error:
                raise NotSavedError(
                    f"cannot write the journal in {visible(str(self.folder))}: "
                    f"{error.strerror or error}",
                    "no job is submitted without a journal; free some space or correct "
                    "the permissions, then try again",
                ) from None

    def entries(self, plan_id: str) -> list[JournalEntry]:
        """Return all entries of a plan, oldest first; none if the plan has no journal.

        Raises: RowtuiError if the journal cannot be read.
        """
        return list(self._all(plan_id).entries)

    def cancel_asked(self, plan_id: str) -> frozenset[str]:
        """Return the tokens of the jobs that the user cancelled. Raises: RowtuiError."""
        notes = self._all(plan_id).notes
        steps = {note.token: note.step for note in notes if note.step in _CANCELS}
        return frozenset(token for token, step in steps.items() if step is JobStep.CANCELLING)

    def changed(self, plan_id: str) -> dict[str, tuple[int, str]]:
        """Return the limit in seconds and the partition of changed jobs, by token.

        Raises: RowtuiError.
        """
        notes = (note for note in self._all(plan_id).notes if note.step is JobStep.CHANGED)
        found = {note.token: note.detail.partition(" ") for note in notes}
        return {
            token: (int(limit), partition)
            for token, (limit, _, partition) in found.items()
            if limit.isdecimal()
        }

    def _all(self, plan_id: str) -> _KnownEntries:
        files = self.stamp_of(plan_id)
        known = self._known.get(plan_id)
        if known is not None and known.files == files:
            return known
        read = self._read(plan_id)
        found = [entry for entry in read if entry.step not in NOTES]
        notes = tuple(entry for entry in read if entry.step in NOTES)
        known = _KnownEntries(files, tuple(found), notes)
        if len(read) <= MOST_KEPT:
            kept = sum(len(each.entries) for each in self._known.values())
            while self._known and kept + len(found) > MOST_KEPT:
                kept -= len(self._known.pop(next(iter(self._known))).entries)
            self._known[plan_id] = known
        return known

    def stamp_of(self, plan_id: str) -> tuple[tuple[int, ...], ...]:
        """Return what changes with every entry of a plan: a journal is only appended to."""
        found = []
        for folder in (self.folder / DONE, self.folder):
            with contextlib.suppress(OSError):
                it = os.stat(folder / f"{plan_id}{ENDING}")
                found.append((it.st_dev, it.st_ino, it.st_size, it.st_mtime_ns))
        return tuple(found)

    def _read(self, plan_id: str) -> list[JournalEntry]:
        found: list[JournalEntry] = []
        for folder in (self.folder / DONE, self.folder):
            try:
                data = read_bounded(folder / f"{plan_id}{ENDING}", LIMIT)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                raise _unreadable(plan_id, error) from None
            lines = (_entry(line, plan_id) for line in data.split(b"\n") if line)
            found += [entry for entry in lines if entry is not None]
        return found

    def entries_from(
        self, plan_id: str, start: int, until: Collection[str] = ()
    ) -> tuple[int, list[JournalEntry]]:
        """Return the entries of an open journal after the byte `start`, and the end offset.

        An incomplete last line is left for the next call, and so is what follows an entry of one
        of the tokens `until`. Raises: RowtuiError.
        """
        try:
            with open(self.folder / f"{plan_id}{ENDING}", "rb") as file:
                new = os.fstat(file.fileno()).st_size - start
                file.seek(start)
                data = file.read(max(0, min(new, LIMIT)))  # Python reserves as much as is asked for
        except (FileNotFoundError, NotADirectoryError):
            return start, []
        except OSError as error:
            raise _unreadable(plan_id, error) from None
        found = []
        for line in data.split(b"\n")[:-1]:
            start += len(line) + 1
            entry = _entry(line, plan_id) if line else None
            if entry is not None and entry.step not in NOTES:
                found.append(entry)
                if entry.token in until:
                    break
        return start, found

    def latest(self, plan_id: str) -> dict[str, JournalEntry]:
        """Return the latest entry of each token of a plan."""
        return {entry.token: entry for entry in self.entries(plan_id)}

    def plan_ids(self) -> list[str]:
        """Return all plans that have a journal, sorted."""
        return sorted({*self._in(self.folder), *self._in(self.folder / DONE)})

    def open_plan_ids(self) -> list[str]:
        """Return the plans whose journal was not archived."""
        return sorted(self._in(self.folder))

    def stamp(self) -> tuple[tuple[str, int], ...]:
        """Return the open journals and their lengths; equal as long as no entry was written."""
        found = []
        for plan_id in self.open_plan_ids():
            with contextlib.suppress(FileNotFoundError):
                found.append((plan_id, os.stat(self.folder / f"{plan_id}{ENDING}").st_size))
        return tuple(found)

    def done_plan_ids(self, since: float = 0.0) -> list[str]:
        """Return the plans whose jobs have all ended, the last one after this time."""
        done = set(self._in(self.folder / DONE)) - set(self._in(self.folder))
        return sorted(plan_id for plan_id in done if not since or self._ended(plan_id) >= since)

    def _ended(self, plan_id: str) -> float:
        try:
            return os.stat(self.folder / DONE / f"{plan_id}{ENDING}").st_mtime
        except OSError:
            return 0.0

    @staticmethod
    def _in(folder: Path) -> list[str]:
        try:
            names = os.listdir(folder)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [name.removesuffix(ENDING) for name in names if name.endswith(ENDING)]

    def put_away(self, plan_id: str) -> None:
        """Archive the journal of a plan whose jobs have all ended.

        The caller must hold the journal.
        """
        with contextlib.suppress(OSError):
            (self.folder / DONE).mkdir(exist_ok=True)
            name = f"{plan_id}{ENDING}"
            # the process was killed before it wrote anything
            if not os.stat(self.folder / name).st_size:
                os.unlink(self.folder / name)
            elif not (self.folder / DONE / name).exists():
                os.rename(self.folder / name, self.folder / DONE / name)

    @contextlib.contextmanager
    def hold(self, plan_id: str) -> Iterator[bool]:
        """Hold a plan's journal within this context; yields False if another process holds it.

        The lock is released when its process ends. On a file system without locks this yields True:
        the fence in the job's script still keeps jobs from running twice.
        """
        try:
            fd, held = self._lock(plan_id)
        except OSError:
            yield True
            return
        try:
            yield held
        finally:
            os.close(fd)

    def _lock(self, plan_id: str) -> tuple[int, bool]:
        while True:
            fd = self._open(plan_id)
            try:
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    return fd, False
                if self._is_current(fd, plan_id):
                    return fd, True
            except OSError:
                return fd, True
            os.close(fd)  # the journal was archived between the two calls

    def _is_current(self, fd: int, plan_id: str) -> bool:
        try:
            there = os.stat(self.folder / f"{plan_id}{ENDING}")
        except FileNotFoundError:
            return False
        return os.path.samestat(there, os.fstat(fd))

    def _open(self, plan_id: str) -> int:
        path = self.folder / f"{plan_id}{ENDING}"
        flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC
        try:
            return os.open(path, flags)
        except FileNotFoundError:
            self.folder.mkdir(parents=True, exist_ok=True)
            fd = os.open(path, flags | os.O_CREAT, 0o666)
            sync_folder(self.folder)
            return fd

    def _append(self, plan_id: str, data: bytes) -> None:
        fd = self._open(plan_id)
        try:
            append_lines(fd, data)
        finally:
            os.close(fd)


def _unreadable(plan_id: str, error: OSError) -> RowtuiError:
    return RowtuiError(f"cannot read the journal of plan {plan_id}: {error.strerror or error}")


def _lines(entries: Iterable[JournalEntry]) -> bytes:
    """Return a line of JSON for each entry, joined from parts for speed with thousands.

    ASCII only: lone surrogates (bytes of names that are not UTF-8) survive as escapes.
    """
    lines: list[str] = []
    # of the previous entry; tasks of an array differ only in the other fields
    same: tuple[object, ...] = ()
    start = end = ""
    for entry in entries:
        now = (entry.at, entry.step, entry.job_id, entry.detail, entry.cluster, entry.end)
        if now != same:
            same = now
            start = (
                f'{{"at":{entry.at!r},"detail":{_quoted(entry.detail)}'
                f',"job_id":{entry.job_id},"step":"{entry.step.value}","token":'
            )
            end = f',"v":{VERSION}'
            if entry.cluster:
                end += f',"cluster":{_quoted(entry.cluster)}'
            if entry.end is not None:
                end += f',"end":{json.dumps(entry.end.to_json(), separators=(",", ":"))}'
        task = "" if entry.task is None else f',"task":{entry.task}'
        lines.append(f"{start}{_quoted(entry.token)}{end}{task}}}\n")
    return "".join(lines).encode("ascii")


def _entry(line: bytes, plan_id: str) -> JournalEntry | None:
    try:
        fields = json.loads(line)
    except ValueError:
        return None  # cut off by a crash: the recorded step had not happened yet
    if not isinstance(fields, dict):
        return None
    if fields.get("v") != VERSION:
        raise RowtuiError(
            f"the journal of plan {plan_id} was written by another version of rowtui",
            "use that version until its jobs have ended",
        )
    try:
        return _checked(fields, plan_id)
    except (KeyError, TypeError, ValueError):
        return None


def _checked(fields: Mapping[str, Any], plan_id: str) -> JournalEntry:
    step, detail, end = JobStep(fields["step"]), str(fields["detail"]), fields.get("end")
    return JournalEntry(
        token=str(fields["token"]),
        plan_id=plan_id,
        step=step,
        at=float(fields["at"]),
        job_id=int(fields["job_id"]),
        detail=detail,
        end=read_end(end, *read_end_detail(step, detail)),
        cluster=str(fields.get("cluster", "")),
        task=None if fields.get("task") is None else int(fields["task"]),
    )


def is_later_note(entry: JournalEntry) -> bool:
    """Whether an entry only adds to an acceptance that was recorded before."""
    return entry.step is JobStep.ACCEPTED and entry.detail.partition(" ")[0] in (
        RECORDED,
        RELEASED,
        SEEN,
        BEGUN,
        GONE,
    )


def end_detail(end: JobResult) -> str:
    """Return the detail of an `ended` entry: exit code or `-`, and the reason ("" for success)."""
    return f"{'-' if end.exit_code is None else end.exit_code} {end.sentence}".rstrip()


def read_end_detail(step: JobStep, detail: str) -> tuple[int | None, str]:
    """Return the exit code (None: unknown) and the reason of an entry with an end."""
    if step is not JobStep.ENDED:
        return None, detail
    code, _, reason = detail.partition(" ")
    return (int(code) if code.isdecimal() else None), reason
