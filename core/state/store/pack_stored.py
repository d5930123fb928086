"""The bytes of a generation of the store, as `stored.unpack_stored` reads them.

The input is a `Stored`, the result a `done.<generation>.rtc`. Sets that were packed for the
previous generation are not packed again. Formats: docs/formats.md.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from zlib import crc32

from rowtui.core.state.container import pack
from rowtui.core.state.model import DirectorySet
from rowtui.core.state.store.stored import Stored

T = TypeVar("T")
# By id of the set. The entry keeps the set alive, so that the id is not reused.
_Packed = dict[int, tuple[DirectorySet, bytes]]


class PackedSets:
    """The bytes of sets as they were last packed, with their checksums.

    Most sets are identical objects from one commit to the next. Packing them again would cost more
    than all other work of a commit of a million directories.
    """

    def __init__(self) -> None:
        self._kept: tuple[int, _Packed] = (-1, {})
        self.checksums: dict[bytes, int] = {}

    def of(self, count: int) -> _Packed:
        """Return the packed sets for this number of directories."""
        known, packed = self._kept
        return packed if count == known else {}

    def keep(self, count: int, packed: _Packed, checksums: dict[bytes, int]) -> None:
        """Keep these packed sets, and drop all others."""
        self._kept = count, packed
        self.checksums = checksums


def pack_stored(stored: Stored, generation: int, known: PackedSets | None = None) -> bytes:
    """Return the bytes of a `done.<generation>.rtc`. `known` caches packed sets."""
    state, row, directories = stored.state, stored.row, stored.directories
    known = known or PackedSets()
    sets = _Sets(len(directories), known)
    meta: dict[str, Any] = {
        "kind": "done",
        "generation": generation,
        "lineage": stored.lineage,
        "count": len(directories),
        "dirs": directories.file,
        "values": directories.segments,
        "pointers": directories.pointers,
        "bad": sets.add(directories.bad_set),
        "nameless": sets.add(directories.nameless_set),
        "workspace_mtime_ns": stored.workspace_mtime_ns,
        "racy": stored.racy,
        "value_file": stored.value_file,
        "products": stored.products,
        "completed": sets.add_all(state.completed),
        "aside": sets.add_all(stored.aside),
        "doubtful": sets.add_all(stored.doubtful),
        "consumed": stored.consumed,
        "retired": stored.retired,
        "row": {
            "completed_identity": row.completed_identity,
            "submitted_identity": row.submitted_identity,
            "directories_identity": row.directories_identity,
            "directories": row.directories,
            "submitted_due": row.submitted_due,
            "names_gone": row.names_gone,
            "jobs_unread": row.jobs_unread,
            "aside": row.aside,
            "completed": sets.add_all(row.completed),
        },
        "workflow_identity": stored.workflow_identity,
        "reread": stored.reread,
        "uncertain": stored.uncertain,
    }
    sections: dict[str, bytes] = dict(sets.sections)
    if stored.workflow:
        sections["workflow"] = stored.workflow
    jobs: tuple[tuple[str, Mapping[str, Mapping[int, Any]]], ...] = (
        ("submitted", _as_rows(state.submitted, lambda job: (job.cluster, job.job_id, job.token))),
        (
            "failed",
            _as_rows(state.ends, lambda it: (*it[:4], it.outcome.value)),
        ),
        # Usually Row's file equals what rowtui would write: then no copy is needed.
        ("row_submitted", row.submitted if row.submitted_due else {}),
    )
    for name, records in jobs:
        if records:
            sections[name] = _pack_jobs(records)
    return pack(meta, sections, sets.checksums())


class _Sets:
    """Sets to be written into sections; equal sets share one, and the empty set needs none."""

    def __init__(self, count: int, known: PackedSets) -> None:
        self._count = count
        self._size = (count + 7) >> 3
        self._before = known
        self._known = known.of(count)
        self._used: _Packed = {}
        self._names: dict[bytes, str] = {}
        self.sections: dict[str, bytes] = {}

    def add(self, members: DirectorySet) -> str:
        if not members:
            return ""
        packed = self._used.get(id(members)) or self._known.get(id(members))
        if packed is None:
            packed = members, members.to_bytes(self._size, "little")
        self._used[id(members)] = packed
        data = packed[1]  # hashed once, because bytes objects cache their hash
        name = self._names.get(data)
        if name is None:
            name = self._names[data] = f"set{len(self.sections)}"
            self.sections[name] = data
        return name

    def add_all(self, records: Mapping[str, DirectorySet]) -> dict[str, str]:
        return {action: self.add(members) for action, members in records.items()}

    def checksums(self) -> dict[str, int]:
        """Return the checksum of each section, and keep the used sets for the next commit."""
        before = self._before.checksums
        found = {data: before.get(data) or crc32(data) for data in self.sections.values()}
        self._before.keep(self._count, self._used, found)
        return {name: found[data] for name, data in self.sections.items()}


def _as_rows(
    records: Mapping[str, Mapping[int, T]], row: Callable[[T], tuple[Any, ...]]
) -> dict[str, dict[int, tuple[Any, ...]]]:
    rows: dict[T, tuple[Any, ...]] = {}
    return {
        action: {at: rows.get(job) or rows.setdefault(job, row(job)) for at, job in jobs.items()}
        for action, jobs in records.items()
    }


def _pack_jobs(records: Mapping[str, Mapping[int, tuple[Any, ...]]]) -> bytes:
    """Return a JSON line of [action, [[job, count], ...]], then all their positions as u32."""
    table: list[tuple[str, list[tuple[tuple[Any, ...], int]]]] = []
    found = array("I")
    for action, jobs in records.items():
        by_job: dict[tuple[Any, ...], list[int]] = {}
        for position, job in jobs.items():
            by_job.setdefault(job, []).append(position)
        table.append((action, [(job, len(members)) for job, members in by_job.items()]))
        for members in by_job.values():
            found.extend(members)
    return json.dumps(table, separators=(",", ":")).encode() + b"\n" + found.tobytes()
