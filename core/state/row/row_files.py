"""Reading of Row's own files, so that Row and rowtui can be used in turn.

The input is the records and the files in `.row/`. The result is records that include Row's changes
(a three-way merge with the last seen content of the files); `export` writes the files. A file from
rowtui has a trailer after Row's value, which Row ignores. The trailer distinguishes rowtui's writes
from Row's, so that two rowtui processes that write at the same time never interpret the other's
older file as a deletion. Source: docs/formats.md.
"""

from __future__ import annotations

import errno
import json
import struct
import time
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from rowtui.core.base.text import visible
from rowtui.core.state.model import Submitted
from rowtui.core.state.row.postcard import (
    TRAILER_MAGIC,
    PostcardError,
    decode_completed,
    decode_submitted,
)
from rowtui.core.state.store.stored import (
    Identity,
    JobKey,
    Stored,
    identity_of,
)

# Row writes its files in place: a file that cannot be parsed is read again until it has not changed
# for this time, or has changed for the longest time.
SETTLED_SECONDS = 0.5
LONGEST_SECONDS = 5.0
PAUSE_SECONDS = 0.05
SET_ASIDE = "{} is renamed and replaced by a new file"
JOBS_UNREAD = (
    "nothing is submitted, since only this file lists the jobs that Row submitted: restore it, or, "
    "if no job of this project is queued, delete it with 'rowtui clean --submitted'"
)
JOBS_GONE = "Row's list of jobs is gone; {:,} {} still queued, as far as is known"
# Only the ends of a larger directories.json are checked, because parsing it would take seconds.
PARSED_BELOW = 8 << 20

TRAILER = struct.Struct("<8s8sQ")
T = TypeVar("T")


class Paths(NamedTuple):
    """Row's three files."""

    completed: Path
    submitted: Path
    directories: Path

    @classmethod
    def of(cls, root: Path) -> Paths:
        """Return the paths in the project at `root`."""
        folder = root / ".row"
        return cls(
            folder / "completed.postcard",
            folder / "submitted.postcard",
            folder / "directories.json",
        )


class DamagedFile(NamedTuple):
    """A file that cannot be parsed, and the version of it that was read."""

    path: Path
    identity: Identity


class Imported(NamedTuple):
    """The records with Row's changes.

    `damaged`: files to set aside before writing; `busy`: a file is being written right now.
    """

    stored: Stored
    notices: tuple[str, ...] = ()
    damaged: tuple[DamagedFile, ...] = ()
    busy: bool = False


def import_row_files(root: Path, stored: Stored, *, again: bool = False) -> Imported:
    """Merge Row's changes since the last time; three stats if there are none.

    `again`: merge even if the files look the same (there are directories that were unknown).
    Completions and jobs of actions that are not in the records are kept aside. The result is
    `stored` itself if nothing is new.
    """
    paths = Paths.of(root)
    notices: list[str] = []
    damaged: list[DamagedFile] = []
    before = stored
    for file, seen in stored.row.aside.items():
        of_jobs = file.startswith(paths.submitted.name)
        stored = _with_late_write(stored, paths.submitted.with_name(file), seen, of_jobs=of_jobs)
    row = stored.row
    read = _Reading(paths.completed, decode_completed, row.completed_identity, stored, again)
    if read.news:
        notices += read.notices
        damaged += read.damaged
        stored = _with_completed(stored, read)
    look = again or row.jobs_unread
    read_jobs = _Reading(paths.submitted, decode_submitted, row.submitted_identity, stored, look)
    if read_jobs.news or row.jobs_unread:
        stored = _with_submitted(stored, read_jobs)
        notices += read_jobs.notices
        jobs = chain.from_iterable(it.values() for it in stored.state.submitted.values())
        if read_jobs.identity is None and (count := len({job for job in jobs if not job.token})):
            words = "job that was in it is" if count == 1 else "jobs that were in it are"
            notices.append(JOBS_GONE.format(count, words))
        if stored.row.jobs_unread:  # it may be the only record of these jobs: leave it
            notices += [JOBS_UNREAD]
        else:
            damaged += read_jobs.damaged
    # or another process is saving now, and its records come first
    if read.is_newer or read_jobs.is_newer:
        stored = stored._replace(reread=True, uncertain=True)
    identity = identity_of(paths.directories)
    if identity != row.directories_identity:
        read_values = _Reading(paths.directories, _check_values, None, stored, again)
        if read_values.damaged:
            notices += read_values.notices
            damaged += read_values.damaged
            identity = None
            stored = stored._replace(row=stored.row._replace(directories=""))
        # The file is gone: the user deleted the values with `row clean`, so they are read again.
        cleaned = identity is None and row.directories_identity is not None
        stored = stored._replace(
            row=stored.row._replace(directories_identity=identity),
            reread=stored.reread or (cleaned and not read_values.damaged),
        )
    notices += [SET_ASIDE.format(visible(str(file.path))) for file in damaged]
    stored = stored if stored != before else before
    return Imported(stored, tuple(notices), tuple(damaged), read.is_busy or read_jobs.is_busy)


class _Reading:
    """One of Row's files: whether it has changed, and its records if it could be read.

    `records` is None if the file must not be used for now; `ours`: rowtui wrote the file.
    """

    def __init__(
        self,
        path: Path,
        decode: Callable[[bytes], dict[str, Any]],
        known: Identity | None,
        stored: Stored,
        again: bool,
    ) -> None:
        self.identity = identity_of(path)
        self.records: dict[str, Any] | None = {}
        self.ours = False
        self.is_newer = False  # rowtui's records were newer when the file was written
        self.is_busy = False  # the file changes all the time
        self.notices: list[str] = []
        self.damaged: list[DamagedFile] = []
        self.news = self.identity != known or (again and self.identity is not None)
        if not self.news or self.identity is None:
            return
        try:
            read = _read_settled(path, decode)
        except FileNotFoundError:
            self.identity = None
            return
        except (PermissionError, BlockingIOError) as error:
            self.is_busy = isinstance(error, BlockingIOError)
            self._leave(f"{visible(str(path))} cannot be read: {error.strerror}")
            return
        except OSError as error:
            read = b"", self.identity, PostcardError(error.strerror or str(error))
        data, self.identity, records = read
        if isinstance(records, PostcardError):
            self.damaged.append(DamagedFile(path, self.identity))
            self._leave(f"{visible(str(path))} is damaged ({records})")
            return
        self.records = records
        if len(data) >= TRAILER.size:
            magic, lineage, generation = TRAILER.unpack_from(data, len(data) - TRAILER.size)
            same = magic == TRAILER_MAGIC and lineage.hex() == stored.lineage
            self.is_newer = same and generation > stored.state.generation
            self.ours = same and not self.is_newer and not stored.reread

    def _leave(self, notice: str) -> None:
        self.records = None
        self.notices.append(notice)


def _read_settled(
    path: Path, decode: Callable[[bytes], dict[str, Any]]
) -> tuple[bytes, Identity, dict[str, Any] | PostcardError]:
    """Return the content of a file that did not change during the read (Row writes in place).

    The records are an error if the file has not changed for `SETTLED_SECONDS` and cannot be parsed.
    Raises: OSError; BlockingIOError if the file still changes after `LONGEST_SECONDS`.
    """
    begun = changed = time.monotonic()
    last = identity_of(path)
    while True:
        before = identity_of(path)
        data = path.read_bytes()
        now = time.monotonic()
        if before is not None and before == identity_of(path) and len(data) == before.size:
            try:
                return data, before, decode(data)
            except PostcardError as error:
                if before == last and now - changed >= SETTLED_SECONDS:
                    return data, before, error
        if before != last:
            last, changed = before, now
        if now - begun >= LONGEST_SECONDS:
            raise BlockingIOError(errno.EAGAIN, "it changes all the time")
        time.sleep(PAUSE_SECONDS)


def _check_values(data: bytes) -> dict[str, Any]:
    """Check that this can be Row's directories.json; return no records. Raises: PostcardError."""
    if len(data) < PARSED_BELOW:
        try:
            values = json.loads(data)
        except (ValueError, RecursionError):
            raise PostcardError("it is not JSON") from None
        whole = isinstance(values, dict) and {"modified_time", "values"} <= values.keys()
    else:
        whole = data.startswith(b"{") and data.rstrip().endswith(b"}}")
    if not whole:
        raise PostcardError("it is not what Row writes")
    return {}


def _with_completed(stored: Stored, read: _Reading) -> Stored:
    """Return records after the three-way merge of completions.

    A completion that the file lacks is only in doubt: the file may have been deleted, or Row may
    have read it before rowtui added to it. The products decide. A file of rowtui's that rowtui did
    not put there is older than the records, or was restored from a backup: it only adds.
    """
    if read.records is None:
        row = stored.row._replace(completed_identity=None) if read.damaged else stored.row
        return stored._replace(row=row)
    before = stored.row
    table = stored.directories.table
    theirs = {action: table.find(names)[0] for action, names in read.records.items()}
    stored = stored._replace(
        row=before._replace(completed_identity=read.identity, completed=theirs)
    )
    if read.ours:
        return stored if read.identity == before.completed_identity else _with_more(stored, theirs)
    completed, doubtful = {}, dict(stored.doubtful)
    for action, ours in stored.state.completed.items():
        base = 0 if stored.reread else before.completed.get(action, 0)
        new = theirs.get(action, 0)
        completed[action] = ours | (new & ~base)
        if gone := ours & base & ~new:
            if stored.products.get(action):
                doubtful[action] = doubtful.get(action, 0) | gone
            else:  # no product can decide
                completed[action] &= ~gone
    aside = dict(stored.aside)
    for action, members in theirs.items():
        if action not in completed and members:
            aside[action] = aside.get(action, 0) | members
    state = stored.state._replace(completed=completed)
    return stored._replace(state=state, aside=aside, doubtful=doubtful)


def _with_more(stored: Stored, theirs: Mapping[str, int]) -> Stored:
    """Return records with more completions, which are in doubt until the products were seen."""
    completed, doubtful = dict(stored.state.completed), dict(stored.doubtful)
    for action, ours in stored.state.completed.items():
        if more := theirs.get(action, 0) & ~ours:
            completed[action] = ours | more
            doubtful[action] = doubtful.get(action, 0) | more
    state = stored.state._replace(completed=completed)
    return stored._replace(state=state, doubtful=doubtful)


def _with_late_write(stored: Stored, path: Path, seen: Identity, *, of_jobs: bool) -> Stored:
    """Return records with what Row wrote to a damaged file after it was set aside.

    `of_jobs`: it was Row's list of jobs, else that of completions.
    """
    now = identity_of(path)
    if now == seen:
        return stored
    table, state = stored.directories.table, stored.state
    try:
        data = b"" if now is None else path.read_bytes()
        if of_jobs:
            submitted = {action: dict(jobs) for action, jobs in state.submitted.items()}
            for action, jobs in (decode_submitted(data) if data else {}).items():
                found = zip(table.positions(list(jobs)), jobs.values(), strict=True)
                new = {at: Submitted(*job) for at, job in found if at is not None}
                submitted[action] = {**new, **submitted.get(action, {})}
            state = state._replace(submitted=without_empty(submitted))
            stored = stored._replace(state=state)
        elif data:
            theirs = decode_completed(data).items()
            stored = _with_more(stored, {it: table.find(names)[0] for it, names in theirs})
    except (PostcardError, OSError):
        return stored  # Row still writes to it
    aside = {file: it for file, it in stored.row.aside.items() if file != path.name}
    return stored._replace(row=stored.row._replace(aside=aside))


def _with_submitted(stored: Stored, read: _Reading) -> Stored:
    """Return records after the three-way merge of jobs. Jobs of actions unknown to Row are kept.

    If the file is damaged, the records keep its last content that was read. Jobs that Row has added
    since are found in the queue. Without the file the records keep its jobs until their schedulers
    no longer have them.
    """
    row = stored.row
    if read.records is None:
        if read.damaged and not (stored.reread or row.jobs_unread):
            row = row._replace(submitted_identity=None, submitted={})
        else:
            row = row._replace(jobs_unread=True)
        return stored._replace(row=row, uncertain=True)
    stored = stored._replace(row=row._replace(jobs_unread=False))
    table = stored.directories.table
    theirs: dict[str, dict[int, JobKey]] = {}
    for action, jobs in read.records.items():
        found = zip(table.positions(list(jobs)), jobs.values(), strict=True)
        theirs[action] = {at: job for at, job in found if at is not None}
    row = stored.row._replace(submitted_identity=read.identity, submitted=theirs)
    if read.ours:
        return stored._replace(row=row)
    state = stored.state
    submitted = {action: dict(jobs) for action, jobs in state.submitted.items()}
    ends = {action: dict(its) for action, its in state.ends.items()}
    for action in {*state.completed, *theirs}:
        base = {} if stored.reread else stored.row.submitted.get(action, {})
        new = theirs.get(action, {})
        ours = submitted.setdefault(action, {})
        for at, job in base.items():
            if at in new or action not in state.completed or _key(ours.get(at)) != job:
                continue
            if read.identity is not None:
                del ours[at]
        for at, (cluster, job_id) in new.items():
            if base.get(at) != (cluster, job_id) and _key(ours.get(at)) != (cluster, job_id):
                ours[at] = Submitted(cluster, job_id)
                ends.get(action, {}).pop(at, None)
    state = state._replace(submitted=without_empty(submitted), ends=without_empty(ends))
    return stored._replace(state=state, row=row)


def _key(job: Submitted | None) -> JobKey | None:
    return None if job is None else (job.cluster, job.job_id)


def without_empty(records: Mapping[str, Mapping[int, T]]) -> dict[str, Mapping[int, T]]:
    """Return only the actions that have entries."""
    return {action: jobs for action, jobs in records.items() if jobs}
