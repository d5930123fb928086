"""The records of jobs in the local queue, and their file format.

Records are JSON in ASCII, each with a version; an unknown version is an error, never a guess. Names
that are not UTF-8 have lone surrogates (os.fsdecode), which JSON escapes and restores.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import time
from pathlib import Path
from typing import Any, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import read_bounded
from rowtui.core.clusters.schedulers.base import JobSpec, JobState

FORMAT_VERSION = 1
RECORD_LIMIT = 16 << 20  # bytes; scripts and environments are the largest records


class QueuedJob(NamedTuple):
    """A job as submitted. `log_path` is absolute; `limits` are soft resource limits."""

    id: int
    token: str
    name: str
    workdir: str
    log_path: str
    cpus: int
    gpus: int
    memory_mb: int
    walltime_seconds: int | None
    after: tuple[int, ...]
    submitted_at: float
    umask: int
    limits: dict[str, int]
    grace_seconds: float
    kill_seconds: float


class Claim(NamedTuple):
    """The process that runs the job. `pid` 0: no process will run it, as it was cancelled.

    `reason`: why it was cancelled. `since`: CLOCK_MONOTONIC, which is common to all processes of
    one boot and is not changed when the clock is set.
    """

    pid: int
    start: int = 0
    boot: str = ""
    since: float = 0.0
    gpus: tuple[str, ...] = ()
    reason: str = ""


class End(NamedTuple):
    """How a job ended. `at`: epoch seconds. `cpu`: seconds, of a job that was stopped."""

    state: JobState
    at: float
    exit_code: int | None = None
    exit_signal: int | None = None
    elapsed: int | None = None
    reason: str = ""
    cpu: float | None = None


def queued_job(job: JobSpec, number: int, grace_seconds: float, kill_seconds: float) -> QueuedJob:
    """Return the record of a submission, with the settings that the job inherits from this process.

    Raises: ValueError if a path or token contains a NUL character.
    """
    workdir = os.path.abspath(job.workdir)
    log_path = os.path.join(workdir, job.log_path.replace("%j", str(number)))
    if "\0" in workdir + log_path + job.token:
        raise ValueError("a path or token holds a NUL character")
    return QueuedJob(
        id=number,
        token=job.token,
        name=job.name,
        workdir=workdir,
        log_path=log_path,
        cpus=max(job.cpus, 1),
        gpus=max(job.gpus, 0),
        memory_mb=max(job.memory_mb or 0, 0),
        walltime_seconds=job.walltime_seconds,
        after=tuple(job.after),
        submitted_at=time.time(),
        umask=_current_umask(),
        limits=_soft_limits(),
        grace_seconds=grace_seconds,
        kill_seconds=kill_seconds,
    )


def _current_umask() -> int:
    # umask(2) can only be read by setting it, which would affect other threads.
    with contextlib.suppress(OSError), open("/proc/self/status", "rb") as file:
        found = re.search(rb"^Umask:\s*([0-7]+)", file.read(), re.MULTILINE)
        if found:
            return int(found[1], 8)
    return 0o022


def _soft_limits() -> dict[str, int]:
    names = [
        name for name in dir(resource) if name.startswith("RLIMIT_") and name != "RLIMIT_OFILE"
    ]
    limits = {}
    for name in names:
        with contextlib.suppress(OSError, ValueError):
            limits[name] = resource.getrlimit(getattr(resource, name))[0]
    return limits


def spec_record(job: QueuedJob) -> dict[str, Any]:
    """Return the record of a submission."""
    return {"version": FORMAT_VERSION, **job._asdict()}


def parse_job(record: dict[str, Any]) -> QueuedJob:
    """Return the submission in a record. Raises: RowtuiError."""
    fields = {key: value for key, value in record.items() if key not in ("version", "end")}
    try:
        return QueuedJob(**{**fields, "after": tuple(fields["after"])})
    except (TypeError, KeyError) as error:
        raise RowtuiError("a record of the local queue is incomplete") from error


def parse_end(record: dict[str, Any]) -> End:
    """Return the end in a record. Raises: RowtuiError."""
    fields = record["end"]
    try:
        return End(**{**fields, "state": JobState[fields["state"]]})
    except (TypeError, KeyError) as error:
        raise RowtuiError("a record of the local queue is incomplete") from error


def encode_record(record: dict[str, Any]) -> bytes:
    """Return a record as the bytes of its file."""
    # ASCII: lone surrogates, which represent bytes that are not UTF-8, are kept as \udcxx.
    return json.dumps(record, separators=(",", ":")).encode("ascii")


def read_record(path: Path) -> dict[str, Any] | None:
    """Return the record in a file, None without the file. Raises: OSError, RowtuiError."""
    try:
        text = read_bounded(path, RECORD_LIMIT)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        record = json.loads(text)
    except ValueError as error:
        raise RowtuiError(f"{path} is damaged") from error
    if not isinstance(record, dict) or record.get("version") != FORMAT_VERSION:
        raise RowtuiError(f"{path} was written by another version of rowtui")
    return record
