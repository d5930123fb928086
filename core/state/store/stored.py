"""All data of one generation of the store, and its bytes.

A `Stored` is the project's `State` with the data that later reveals external changes: the
workspace's modification time, the inputs from which the records were made, and the content of Row's
own files when rowtui last read or wrote them. The module converts to and from `.rtc` bytes.
Formats: docs/formats.md.
"""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from rowtui.core.state.container import Container, CorruptCacheError
from rowtui.core.state.directories import StoredDirectories, as_segments
from rowtui.core.state.merge import empty_directories
from rowtui.core.state.model import DirectorySet, LastEnd, LastOutcome, State, Submitted, positions

JobKey = tuple[str, int]  # (cluster, job id)
T = TypeVar("T")


class Identity(NamedTuple):
    """Data that identifies a version of a file without reading it."""

    mtime_ns: int
    size: int
    inode: int


def identity_of(path: Path | str) -> Identity | None:
    """Return the identity of a file, None if there is none."""
    try:
        return identity_by(os.stat(path))
    except (FileNotFoundError, NotADirectoryError):
        return None


def identity_by(status: os.stat_result) -> Identity:
    """Return the identity of the file that has this status."""
    return Identity(status.st_mtime_ns, status.st_size, status.st_ino)


class RowFiles(NamedTuple):
    """Row's own files as rowtui last read or wrote them: the base of a three-way merge.

    `completed` and `submitted` are their content. `submitted_due`: the latter is older than the
    records (determined when they are saved). `directories` names the cache file from which
    directories.json was last written. `names_gone`: the files name directories that vanished since;
    if such a directory is created again, Row would use its old records. `jobs_unread`:
    submitted.postcard could not be read when these records began, so that its jobs are unknown.
    `aside`: damaged files that were set aside, as they were then; Row may still have written to
    them.
    """

    completed_identity: Identity | None = None
    submitted_identity: Identity | None = None
    directories_identity: Identity | None = None
    completed: Mapping[str, DirectorySet] = {}
    submitted: Mapping[str, Mapping[int, JobKey]] = {}
    submitted_due: bool = False
    directories: str = ""
    names_gone: bool = False
    jobs_unread: bool = False
    aside: dict[str, Identity] = {}


class Stored(NamedTuple):
    """A `State` and its bookkeeping. Its directories are always `StoredDirectories`.

    `products`, `value_file`: the settings with which the records were made. `aside`: completed
    records of actions that are no longer in workflow.toml. `doubtful`: completions for which Row's
    files are weak evidence; the next synchronisation looks for the products. `consumed`: staged
    files whose completions are in `state`, and `retired`: cache files that are no longer needed,
    each with the (generation, epoch seconds) since when. `reread`: everything must be read again.
    `lineage` is a random value from the beginning of a store, which distinguishes its generations
    from those of another store. `uncertain`: records were lost, so that the queue must be searched
    for jobs of this project before a job is sent.
    """

    state: State
    lineage: str
    workspace_mtime_ns: int = -1
    racy: bool = False
    value_file: str | None = None
    products: Mapping[str, tuple[str, ...]] = {}
    aside: Mapping[str, DirectorySet] = {}
    doubtful: Mapping[str, DirectorySet] = {}
    consumed: Mapping[str, tuple[int, int]] = {}
    retired: Mapping[str, tuple[int, int]] = {}
    row: RowFiles = RowFiles()
    workflow: bytes = b""
    workflow_identity: Identity | None = None
    reread: bool = False
    uncertain: bool = False

    @property
    def directories(self) -> StoredDirectories:
        """Return the state's directories."""
        directories = self.state.directories
        assert isinstance(directories, StoredDirectories)
        return directories


def exported_jobs(stored: Stored) -> dict[str, dict[int, JobKey]]:
    """Return the content for submitted.postcard: jobs with an id, of actions of the workflow."""
    return _exported_jobs(stored.state, stored.directories.nameless_set)


def _exported_jobs(state: State, nameless: DirectorySet) -> dict[str, dict[int, JobKey]]:
    jobs: dict[str, dict[int, JobKey]] = {}
    keys: dict[Submitted, JobKey] = {}
    hidden = frozenset(positions(nameless))
    for action, records in state.submitted.items():
        if action not in state.completed:
            continue
        found = {
            at: keys.get(job) or keys.setdefault(job, (job.cluster, job.job_id))
            for at, job in records.items()
            if job.job_id
        }
        jobs[action] = (
            {at: job for at, job in found.items() if at not in hidden} if hidden else found
        )
    return {action: found for action, found in jobs.items() if found}


def with_submitted_due(stored: Stored, before: Stored | None) -> Stored:
    """Return `stored` with `row.submitted_due` updated; cheap if no job changed since `before`."""
    state, row = stored.state, stored.row
    if (
        before
        and state.submitted is before.state.submitted
        and row.submitted is before.row.submitted
        and state.completed.keys() == before.state.completed.keys()
    ):
        return stored
    held = {action: jobs for action, jobs in row.submitted.items() if jobs}
    is_due = exported_jobs(stored) != held
    if is_due == row.submitted_due:
        return stored
    return stored._replace(row=row._replace(submitted_due=is_due))


def with_known_directories(stored: Stored, known: Stored | None) -> Stored:
    """Return `stored` with the directories of `known`, if they are the same.

    The directories of `known` are open already, and have cached values. No file is opened.
    """
    if known is None:
        return stored
    new, old = stored.directories, known.directories
    if (
        old.packed
        or (old.file, old.folder, old.pointers) != (new.file, new.folder, new.pointers)
        or (old.bad_set, old.nameless_set, len(old)) != (new.bad_set, new.nameless_set, len(new))
        or old.segments != new.segments
    ):
        return stored
    return stored._replace(state=stored.state._replace(directories=old))


class _Later(Mapping[str, Mapping[int, JobKey]]):
    """Jobs that are decoded on first access, because most commands do not need them."""

    def __init__(self, make: Callable[[], dict[str, dict[int, JobKey]]]) -> None:
        self._make = make
        self._made: dict[str, dict[int, JobKey]] | None = None

    def _jobs(self) -> dict[str, dict[int, JobKey]]:
        if self._made is None:
            self._made = self._make()
        return self._made

    def __getitem__(self, action: str) -> Mapping[int, JobKey]:
        return self._jobs()[action]

    def __iter__(self) -> Iterator[str]:
        return iter(self._jobs())

    def __len__(self) -> int:
        return len(self._jobs())


def unpack_stored(container: Container, folder: Path, generation: int) -> Stored:
    """Return the `Stored` in a container that lies in `folder`.

    Raises: CorruptCacheError.
    """
    try:
        return _unpack(container, folder, generation)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise CorruptCacheError(
            f"the cache file {container.path} is damaged: {type(error).__name__} {error}"
        ) from None


def _unpack(container: Container, folder: Path, generation: int) -> Stored:
    meta = container.meta
    if meta["kind"] != "done" or meta["generation"] != generation:
        raise CorruptCacheError(f"the cache file {container.path} does not match its name")
    sets = _SetReader(container)
    row = meta["row"]
    directories = (
        StoredDirectories(
            meta["dirs"],
            meta["count"],
            sets.get(meta["bad"]),
            meta["pointers"],
            folder=folder,
            nameless_set=sets.get(meta["nameless"]),
            segments=as_segments(meta["values"]),
        )
        if meta["dirs"]
        else empty_directories()
    )
    state = State(
        generation,
        directories,
        sets.get_all(meta["completed"]),
        _unpack_jobs(container, "submitted", lambda job: Submitted(job[0], job[1], job[2])),
        _unpack_jobs(container, "failed", _last_end),
    )
    return Stored(
        state=state,
        lineage=meta["lineage"],
        workspace_mtime_ns=meta["workspace_mtime_ns"],
        racy=meta["racy"],
        value_file=meta["value_file"],
        products={action: tuple(paths) for action, paths in meta["products"].items()},
        aside=sets.get_all(meta["aside"]),
        doubtful=sets.get_all(meta["doubtful"]),
        consumed={file: (since[0], since[1]) for file, since in meta["consumed"].items()},
        retired={file: (since[0], since[1]) for file, since in meta["retired"].items()},
        row=RowFiles(
            completed_identity=_identity(row["completed_identity"]),
            submitted_identity=_identity(row["submitted_identity"]),
            directories_identity=_identity(row["directories_identity"]),
            completed=sets.get_all(row["completed"]),
            submitted=_Later(
                lambda: (
                    _unpack_jobs(container, "row_submitted", lambda job: (job[0], job[1]))
                    if row["submitted_due"]
                    else _exported_jobs(state, directories.nameless_set)
                )
            ),
            submitted_due=row["submitted_due"],
            directories=row["directories"],
            names_gone=row["names_gone"],
            jobs_unread=row["jobs_unread"],
            aside={file: Identity(*it) for file, it in row["aside"].items()},
        ),
        workflow=bytes(container.section("workflow")) if "workflow" in container else b"",
        workflow_identity=_identity(meta["workflow_identity"]),
        reread=meta["reread"],
        uncertain=meta["uncertain"],
    )


def _last_end(it: Sequence[Any]) -> LastEnd:
    """Return the end from a row of the section `failed`."""
    cluster, job_id, token, reason, outcome = it
    return LastEnd(cluster, job_id, token, reason, LastOutcome(outcome))


def _identity(stored: list[int] | None) -> Identity | None:
    return None if stored is None else Identity(*stored)


class _SetReader:
    def __init__(self, container: Container) -> None:
        self._container = container
        self._known: dict[str, DirectorySet] = {"": 0}

    def get(self, name: str) -> DirectorySet:
        members = self._known.get(name)
        if members is None:
            members = int.from_bytes(self._container.section(name), "little")
            self._known[name] = members
        return members

    def get_all(self, names: Mapping[str, str]) -> dict[str, DirectorySet]:
        return {action: self.get(name) for action, name in names.items()}


def _unpack_jobs(
    container: Container, name: str, make: Callable[[list[Any]], T]
) -> dict[str, dict[int, T]]:
    if name not in container:
        return {}
    data = bytes(container.section(name))
    end = data.index(b"\n")
    found = array("I")
    found.frombytes(data[end + 1 :])
    records: dict[str, dict[int, T]] = {}
    at = 0
    for action, jobs in json.loads(data[:end]):
        members: dict[int, T] = {}
        for job, count in jobs:
            members.update(dict.fromkeys(found[at : at + count], make(job)))
            at += count
        records[action] = members
    return records
