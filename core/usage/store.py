"""Store the usage of ended jobs as records of 56 bytes, in `.row/rowtui/usage/`.

The input is `JobUsage`; the result is columns, or `JobUsage` again. Texts that many jobs share
(names, nodes, causes, requests) stand once in `names-<id>.jsonl`, and records in `jobs-<id>.bin`
refer to their numbers. A line of texts is `<CRC-32> <number> <JSON value>`. Both files only grow. A
writer holds a lock, closes what a killed writer left half written at their ends, and writes the
texts before the records that need them; both are on the disk when `append` returns. The last record
of a job counts, so a job may be recorded again when more is known of it.

A record ends with a check byte, so that damaged records are left out and counted. A damaged text is
unknown wherever it is used, and its number is not given again. `<id>` is random:
if one of the two files is lost, the other one is never read together with new texts or records.
`rowtui clean --usage` removes the usage of all jobs; so does removing the folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import struct
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import write_all
from rowtui.core.base.lazy import np
from rowtui.core.base.text import visible
from rowtui.core.clusters.schedulers.measured import MeasuredBy, Used
from rowtui.core.submission.plan.outcome import JobOutcome, JobResult, read_end
from rowtui.core.usage.model import JobUsage, UsageKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

FIELDS = (
    ("prefix", "I"),  # line of the token without its last number
    ("number", "i"),  # the token's last number; -1 if it ends with none
    ("kind", "I"),  # line of a UsageKind
    ("job_id", "I"),
    ("node", "I"),  # line
    ("end", "I"),  # line of [cause, exit code, outcome, signal]
    ("submitted_at", "I"),
    ("ended_at", "I"),
    ("wall", "f"),
    ("cpu", "f"),
    ("memory", "I"),
    ("gpu", "f"),
    ("gpu_memory", "I"),
    ("directories", "H"),  # the highest bit: the scheduler's accounts are included
    ("sources", "B"),  # two bits each: wall, cpu, memory, gpu
    ("check", "B"),
)
"""The columns of a record in their order, little-endian, with their types as in `struct`."""

_RECORD = struct.Struct("<" + "".join(code for _, code in FIELDS))
SIZE = _RECORD.size
_MOST = (1 << 32) - 1
_COMPLETE = 1 << 15
UNKNOWN = "unknown"
"""The reason of a job whose end cannot be read."""


class UsageStore:
    """The usage records of one project. Safe under several writers, and under SIGKILL."""

    def __init__(self, root: Path) -> None:
        self.folder = root / ".row" / "rowtui" / "usage"
        self._lines: dict[str, int] = {}
        self._next = 0  # the number of the next text
        self._read = 0  # bytes of the texts that are in `_lines`
        self._id = ""

    def append(self, jobs: Iterable[JobUsage]) -> None:
        """Record these jobs; they are on the disk when this returns. Raises: RowtuiError."""
        new = list(jobs)
        if not new:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._locked() as lock:
                self._append(lock, new)
        except OSError as error:
            self._id = ""  # the texts may not be on the disk: they are read again
            raise RowtuiError(
                f"cannot write what jobs used to {visible(str(self.folder))}: "
                f"{error.strerror or error}"
            ) from None

    def remove(self) -> None:
        """Forget what all jobs used. Raises: RowtuiError."""
        if not self.folder.exists():
            return
        try:
            with self._locked() as lock:
                os.ftruncate(lock, 0)  # first: a writer that comes later takes new files
                for path in (*self.folder.glob("jobs-*.bin"), *self.folder.glob("names-*.jsonl")):
                    path.unlink()
        except OSError as error:
            raise RowtuiError(
                f"cannot remove what jobs used in {visible(str(self.folder))}: "
                f"{error.strerror or error}"
            ) from None

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield lock
        finally:
            os.close(lock)

    def _append(self, lock: int, jobs: list[JobUsage]) -> None:
        names, records, new_id = self._paths(lock)
        if new_id != self._id:
            self._id, self._read, self._next, self._lines = new_id, 0, 0, {}
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        with open(os.open(names, flags, 0o666), "r+b", buffering=0) as file:
            self._learn(file.fileno())
            before = len(self._lines)
            data = b"".join(map(self._record, jobs))
            if added := list(self._lines.items())[before:]:
                write_all(file.fileno(), b"".join(_line_of(*each) for each in added))
                os.fsync(file.fileno())
                self._read = os.fstat(file.fileno()).st_size
        fd = os.open(records, flags, 0o666)
        try:
            size = os.fstat(fd).st_size
            if size % SIZE:
                os.ftruncate(fd, size - size % SIZE)
            write_all(fd, data)
            os.fsync(fd)
        finally:
            os.close(fd)

    def _paths(self, lock: int) -> tuple[Path, Path, str]:
        """Return the files in use, from the id in the lock file; new ones if one is missing."""
        found = os.pread(lock, 64, 0).decode(errors="replace").strip()
        names, records = self._files(found)
        if not found.isalnum() or names.exists() != records.exists():
            found = os.urandom(8).hex()
            os.ftruncate(lock, 0)
            os.pwrite(lock, f"{found}\n".encode(), 0)
            os.fsync(lock)
            names, records = self._files(found)
        return names, records, found

    def _files(self, which: str) -> tuple[Path, Path]:
        return self.folder / f"names-{which}.jsonl", self.folder / f"jobs-{which}.bin"

    def _learn(self, fd: int) -> None:
        """Read the texts that another process has added; end half a line at the end."""
        size = os.fstat(fd).st_size
        if size < self._read:
            self._read, self._next, self._lines = 0, 0, {}
        data = os.pread(fd, size - self._read, self._read)
        if data and not data.endswith(b"\n"):
            write_all(fd, b"\n")  # or a damaged line: its number must not be given again
            data += b"\n"
        texts, self._next = _read_lines(data, self._next)
        for number, text in texts.items():
            self._lines.setdefault(text.decode("utf-8", "replace"), number)
        self._read += len(data)

    def _line(self, value: Any) -> int:
        text = json.dumps(value, separators=(",", ":"))
        number = self._lines.setdefault(text, self._next)
        self._next += number == self._next
        return number

    def _record(self, job: JobUsage) -> bytes:
        used, end = job.used, job.end
        prefix, number = _split(job.token)
        sources = used.wall_by | used.cpu_by << 2 | used.memory_by << 4 | used.gpu_by << 6
        data = _RECORD.pack(
            self._line(prefix),
            number,
            self._line(list(job.kind)),
            min(job.job_id, _MOST),
            self._line(used.node),
            self._line([end.cause, end.exit_code, end.outcome.value, end.signal]),
            _whole(job.submitted_at),
            _whole(end.ended_at),
            math.nan if used.wall is None else used.wall,
            math.nan if used.cpu is None else used.cpu,
            _whole(used.memory or 0),
            math.nan if used.gpu is None else used.gpu,
            _whole(used.gpu_memory or 0),
            min(job.directories, _COMPLETE - 1) | (_COMPLETE if job.complete else 0),
            sources,
            0,
        )
        return data[:-1] + bytes([(sum(data) + 1) & 0xFF])

    # Reading

    def stamp(self) -> tuple[tuple[str, int, int], ...]:
        """Return a value that changes with the records."""
        with contextlib.suppress(OSError), os.scandir(self.folder) as entries:
            return tuple(
                sorted((it.name, it.stat().st_size, it.stat().st_mtime_ns) for it in entries)
            )
        return ()

    def columns(self) -> UsageColumns:
        """Return all jobs, each as it was recorded last, oldest first. Raises: RowtuiError."""
        try:
            found = (self.folder / "lock").read_text("utf-8", "replace").strip()
            names, records = self._files(found)
            # The records first: the texts that they need were written before them.
            data = records.read_bytes()
            lines = names.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            data = lines = b""
        except OSError as error:
            raise RowtuiError(
                f"cannot read what jobs used in {visible(str(self.folder))}: "
                f"{error.strerror or error}"
            ) from None
        return UsageColumns(data, lines)


class UsageColumns:
    """The usage of many jobs as columns (numpy arrays of equal length).

    `damaged`: how many records could not be read.
    """

    def __init__(self, data: bytes, lines: bytes) -> None:
        record = np.dtype({"names": [name for name, _ in FIELDS],
                           "formats": [f"<{_FORMATS[code]}" for _, code in FIELDS]})  # fmt: skip
        count = len(data) // SIZE
        rows = np.frombuffer(data, record, count)
        self._texts, self._count = _read_lines(lines)
        self._values: dict[int, Any] = {}
        self._ends: dict[int, JobResult] = {}
        self._columns: dict[str, NDArray[Any]] = {}
        raw = np.frombuffer(data, np.uint8, count * SIZE).reshape(count, SIZE)
        sound = raw[:, :-1].sum(1, dtype=np.uint8) + np.uint8(1) == raw[:, -1]
        for name in ("prefix", "kind", "node", "end"):
            sound &= rows[name] < self._count
        self.damaged = int(count - sound.sum())
        self.rows: NDArray[Any] = rows if not self.damaged else rows[sound]
        self._keep_last()

    def _keep_last(self) -> None:
        """Leave out all but the last record of each job."""
        rows = self.rows
        keys = rows["prefix"].astype(np.int64) << 32 | (rows["number"].astype(np.int64) + 1)
        if len(keys) < 2 or (np.diff(keys) > 0).all():
            return
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        last = np.append(ordered[1:] != ordered[:-1], True)
        if not last.all():
            self.rows = rows[np.sort(order[last])]

    def __len__(self) -> int:
        """Return the number of jobs."""
        return len(self.rows)

    def directories(self) -> NDArray[Any]:
        """Return the number of directories of each job."""
        number: NDArray[Any] = self.rows["directories"] & (_COMPLETE - 1)
        return number

    def incomplete(self) -> NDArray[np.bool_]:
        """Return which jobs lack the values of the scheduler's accounts."""
        lacking: NDArray[np.bool_] = self.rows["directories"] < _COMPLETE
        return lacking & ~self.nameless()

    def nameless(self) -> NDArray[np.bool_]:
        """Return the jobs whose token cannot be read."""
        return self.by_line("prefix", lambda line: self.text(line) is None).astype(bool)

    def chosen(self, mask: NDArray[np.bool_]) -> UsageColumns:
        """Return only the jobs where this is true, in the same order."""
        other = object.__new__(UsageColumns)
        other._texts, other._count = self._texts, self._count
        other._values, other._ends, other.damaged = self._values, self._ends, self.damaged
        other.rows, other._columns = self.rows[mask], {}
        return other

    def column(self, name: str) -> NDArray[Any]:
        """Return one column of the records, by its name in `FIELDS`."""
        if name not in self._columns:
            self._columns[name] = np.ascontiguousarray(self.rows[name])
        return self._columns[name]

    def lines(self, name: str) -> list[int]:
        """Return the lines of the texts that a column refers to, in order."""
        return [int(line) for line in np.flatnonzero(np.bincount(self.column(name)))]

    def by_line(self, name: str, value: Callable[[int], float]) -> NDArray[Any]:
        """Return a number for each job that depends only on the line in this column."""
        values = np.zeros(self._count, np.float64)
        for line in self.lines(name):
            values[line] = value(line)
        found: NDArray[Any] = values[self.column(name)]
        return found

    def text(self, line: int) -> Any:
        """Return the value on a line of the texts; None if it cannot be read."""
        if line not in self._values:
            try:
                self._values[line] = json.loads(self._texts.get(line, b""))
            except ValueError:
                self._values[line] = None
        return self._values[line]

    def kind(self, line: int) -> UsageKind:
        """Return the kind on a line of the texts; an unnamed one if it cannot be read."""
        found = self._values.get(line)
        if not isinstance(found, UsageKind):
            found = self._values[line] = _read_kind(self.text(line))
        return found

    def word(self, line: int) -> str:
        """Return the word on a line of the texts, such as a node; "" if it cannot be read."""
        value = self.text(line)
        return value if isinstance(value, str) else ""

    def end(self, line: int) -> JobResult:
        """Return how jobs ended, from a line of the texts; without times and directories."""
        if line not in self._ends:
            self._ends[line] = _read_end(self.text(line))
        return self._ends[line]

    def clusters(self) -> set[str]:
        """Return the names of the clusters of all jobs."""
        return {self.kind(line).cluster for line in self.lines("kind")} - {""}

    def of_tokens(self, tokens: Iterable[str]) -> NDArray[np.bool_]:
        """Return which jobs have one of these tokens."""
        prefixes = {self.text(line): line for line in self.lines("prefix")}
        mask = np.zeros(len(self), bool)
        for token in tokens:
            prefix, number = _split(token)
            line = prefixes.get(prefix, -1)
            mask |= (self.column("prefix") == line) & (self.column("number") == number)
        return mask

    def tokens(self) -> set[str]:
        """Return the tokens of all jobs."""
        rows = zip(self.column("prefix").tolist(), self.column("number").tolist(), strict=True)
        texts = {line: self.word(line) for line in self.lines("prefix")}
        return {f"{texts[line]}{number if number >= 0 else ''}" for line, number in rows}

    def find(self, token: str) -> JobUsage | None:
        """Return one job by its token; None if it is not there."""
        for row in self.rows[self.of_tokens([token])][-1:].tolist():
            return self._job(row)
        return None

    def jobs(self) -> Iterator[JobUsage]:
        """Yield each job."""
        for row in self.rows.tolist():
            yield self._job(row)

    def _job(self, row: tuple[Any, ...]) -> JobUsage:
        (prefix, number, kind, job_id, node, end, submitted, ended,
         wall, cpu, memory, gpu, gpu_memory, directories, sources, _) = row  # fmt: skip
        used = Used(
            None if math.isnan(wall) else wall,
            None if math.isnan(cpu) else cpu,
            memory or None,
            None if math.isnan(gpu) else gpu,
            gpu_memory or None,
            self.word(node),
            *(MeasuredBy(sources >> shift & 3) for shift in (0, 2, 4, 6)),
        )
        token = f"{self.word(prefix)}{number if number >= 0 else ''}"
        return JobUsage(
            token,
            self.kind(kind),
            job_id,
            directories & ~_COMPLETE,
            self.end(end)._replace(ended_at=ended),
            submitted,
            used,
            bool(directories & _COMPLETE),
        )


def _line_of(text: str, number: int) -> bytes:
    """Return a line of the texts, and an empty one: no damaged byte joins it with the next."""
    data = b"%d %s" % (number, text.encode())
    return b"%08x %s\n\n" % (crc32(data), data)


def _read_lines(data: bytes, start: int = 0) -> tuple[dict[int, bytes], int]:
    """Return the sound texts by number, and a number above those of all lines, sound or not.

    `start`: the number that the first line is expected to have.
    """
    texts: dict[int, bytes] = {}
    end = start
    for line in filter(None, data.split(b"\n")):
        check, _, numbered = line.partition(b" ")
        number, _, text = numbered.partition(b" ")
        if check == b"%08x" % crc32(numbered):
            texts[int(number)] = text
            end = max(end, int(number))
        end += 1
    return texts, end


def _read_end(value: Any) -> JobResult:
    found = None
    match value:
        case [str(cause), int() | None as exit_code, str(outcome), str(signal)]:
            found = read_end({"outcome": outcome, "signal": signal}, exit_code, cause)
    return found or JobResult(JobOutcome.NO_REPORT, UNKNOWN, UNKNOWN)


def _read_kind(value: Any) -> UsageKind:
    match value:
        case [
            str(action), str(cluster), str(partition), str(user),
            int(attempt), int(cpus), int(gpus), int() | None as memory, int(walltime),
        ] if max(attempt, cpus, gpus, memory or 0, walltime) <= _MOST:  # fmt: skip
            return UsageKind(
                action, cluster, partition, user, attempt, cpus, gpus, memory, walltime
            )
    return UsageKind("", "", "", "", 1, 1, 0, None, 0)


_FORMATS = {"I": "u4", "i": "i4", "f": "f4", "H": "u2", "B": "u1"}


def _split(token: str) -> tuple[str, int]:
    """Return a token without its last number, and that number, or -1."""
    prefix = token.rstrip("0123456789")
    digits = token[len(prefix) :]
    if digits and len(digits) < 10 and str(int(digits)) == digits:
        return prefix, int(digits)
    return token, -1


def _whole(value: float) -> int:
    return max(0, min(int(value), _MOST))
