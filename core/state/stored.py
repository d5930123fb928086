"""Everything that one generation of the store holds, and its bytes.

A `Stored` is the project's `State` with the bookkeeping that tells later what changed behind our
back: the workspace's modification time, what the records were made with, and what Row's own files
held when we last read or wrote them. Takes and gives `.rtc` bytes. Formats: docs/formats.md.
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
from rowtui.core.state.model import DirectorySet, LastEnd, Outcome, State, Submitted, positions

JobKey = tuple[str, int]  # (cluster, job id)
T = TypeVar("T")


class Identity(NamedTuple):
    """What tells one version of a file from another without reading it."""

    mtime_ns: int
    size: int
    inode: int


def identity_of(path: Path | str) -> Identity | None:
    """The identity of a file, None if there is none."""
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return Identity(status.st_mtime_ns, status.st_size, status.st_ino)


class RowFiles(NamedTuple):
    """Row's own files as we last read or wrote them: the base of a three-way merge.

    `completed` and `submitted` are what they held; `submitted_due` says that the latter is behind
    the records (found out when they are saved); `directories` names the cache file that
    directories.json was last written from. `names_gone`: they name directories that vanished
    since, whose old records Row would believe if they were made anew. `jobs_unread`: its
    submitted.postcard could not be read when these records began, so that its jobs are not known.
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


class Stored(NamedTuple):
    """A `State` and its bookkeeping. Its directories are always `StoredDirectories`.

    `products`, `value_file`: what the records were made with. `aside`: completed records of
    actions that are no longer in workflow.toml. `consumed`: staged files whose completions are in
    `state`, and `retired`: cache files that no longer are needed, each with the (generation, epoch
    seconds) since when. `reread`: everything must be read again. `lineage` is drawn when a store
    begins, so that its generations are not taken for those of another one. `uncertain`: records
    were lost, so that the queue must be searched for jobs of this project before anything is sent.
    """

    state: State
    lineage: str
    workspace_mtime_ns: int = -1
    racy: bool = False
    value_file: str | None = None
    products: Mapping[str, tuple[str, ...]] = {}
    aside: Mapping[str, DirectorySet] = {}
    consumed: Mapping[str, tuple[int, int]] = {}
    retired: Mapping[str, tuple[int, int]] = {}
    row: RowFiles = RowFiles()
    workflow: bytes = b""
    workflow_identity: Identity | None = None
    reread: bool = False
    uncertain: bool = False

    @property
    def directories(self) -> StoredDirectories:
        """The state's directories."""
        directories = self.state.directories
        assert isinstance(directories, StoredDirectories)
        return directories


def exported_jobs(stored: Stored) -> dict[str, dict[int, JobKey]]:
    """What submitted.postcard should hold: jobs with an id, of actions of the workflow."""
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
    """`stored` with `row.submitted_due` as it is. Cheap if no job changed since `before`."""
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
    """`stored` with the directories of `known`, if they are the same.

    Those are open already, and what somebody worked out for them holds. Opens nothing.
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
    """Jobs that are only worked out when somebody looks: most commands don't."""

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
    """The `Stored` in a container that lies in `folder`.

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
        raise CorruptCacheError(f"the cache file {container.path} is not what its name says")
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
            names_gone=row.get("names_gone", False),
            jobs_unread=row.get("jobs_unread", False),
        ),
        workflow=bytes(container.section("workflow")) if "workflow" in container else b"",
        workflow_identity=_identity(meta["workflow_identity"]),
        reread=meta["reread"],
        uncertain=meta.get("uncertain", False),
    )


def _last_end(it: Sequence[Any]) -> LastEnd:
    """From a row of the section `failed`; older versions did not write the outcome."""
    cluster, job_id, token, reason = it[:4]
    if len(it) > 4:
        outcome = Outcome(it[4])
    elif reason.startswith("not reached: "):
        outcome = Outcome.NOT_REACHED
    else:
        outcome = Outcome.CANCELLED if reason == "cancelled" else Outcome.FAILED
    return LastEnd(cluster, job_id, token, reason, outcome)


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
