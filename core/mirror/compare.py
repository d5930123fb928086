"""What has to be copied where: both sides of now, held against both sides when last made equal.

Takes facts of this side and of that side, what the manifest says, and what checksums have told;
gives a `Transfer`. Nothing is ever written over what changed on both sides, and a deletion is
never carried over: both are told. Pure: no files, no clock.

| here, then there, since they were equal | unchanged | changed | deleted |
|---|---|---|---|
| unchanged | nothing | fetch | told |
| changed | send | conflict, unless equal | send |
| deleted | told | fetch | forgotten |

Without an entry in the manifest a file that only one side has goes to the other, and two files
are equal, to be checked, or a conflict. "Equal": same size and time, or same checksum.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import NamedTuple

from rowtui.core.mirror.facts import FILE, FOLDER, LINK, FileFacts, parents


class Side(enum.Enum):
    """The project on this machine, or its copy on the cluster."""

    HERE = "here"
    THERE = "there"


class Entry(NamedTuple):
    """What both sides were when they were last equal. None: a change of that side is claimed."""

    here: FileFacts | None
    there: FileFacts | None


class Copy(NamedTuple):
    """One file to be copied: what it is, and what it replaces (None: nothing)."""

    path: str
    facts: FileFacts
    replaces: FileFacts | None = None


class Conflict(NamedTuple):
    """A file that nobody but a person can decide about. Neither side is touched.

    Either side is None where nothing is in the way but a folder above it: `reason` says.
    """

    path: str
    here: FileFacts | None
    there: FileFacts | None
    reason: str


class Removed(NamedTuple):
    """A file that was on both sides and is gone from one; the other still has it as it was."""

    path: str
    gone: Side
    facts: FileFacts  # of the side that still has it


class Transfer(NamedTuple):
    """What a comparison says, each part in the order of the paths.

    `unchanged`: equal on both sides. `equal`: those of them that the manifest does not say yet.
    `forgotten`: entries of the manifest whose files are gone from both sides. `notices`: what
    was left out of the comparison, and why.
    """

    send: tuple[Copy, ...] = ()
    fetch: tuple[Copy, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    removed: tuple[Removed, ...] = ()
    needs_checksum: tuple[str, ...] = ()
    unchanged: int = 0
    equal: tuple[tuple[str, Entry], ...] = ()
    forgotten: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def send_bytes(self) -> int:
        """How much is to be sent."""
        return sum(copy.facts.size for copy in self.send)


def compare(
    here: Mapping[str, FileFacts],
    there: Mapping[str, FileFacts],
    manifest: Mapping[str, Entry],
    *,
    same: Mapping[str, bool] | None = None,
    above_here: Mapping[str, FileFacts] | None = None,
    above_there: Mapping[str, FileFacts] | None = None,
) -> Transfer:
    """Compare all paths of both sides and of the manifest (which is of the same selection).

    `same`: what checksums have told of paths that needed one. `above_...`: what is where the
    folders above the paths belong, as far as it is not in `here` and `there`.
    """
    above_here = {**here, **(above_here or {})}
    above_there = {**there, **(above_there or {})}
    send, fetch, conflicts, removed = [], [], [], []
    needs, equal, forgotten = [], [], []
    unchanged = 0
    for path in sorted({*here, *there, *manifest}, key=lambda path: path.split("/")):
        mine, theirs, entry = here.get(path), there.get(path), manifest.get(path)
        if mine is None and theirs is None:
            forgotten.append(path)
        elif theirs is None:
            assert mine is not None
            if reason := _blocked(path, above_there):
                conflicts.append(Conflict(path, mine, None, reason))
            elif entry is not None and entry.here == mine:
                removed.append(Removed(path, Side.THERE, mine))
            else:
                send.append(Copy(path, mine))
        elif mine is None:
            if reason := _blocked(path, above_here):
                conflicts.append(Conflict(path, None, theirs, reason))
            elif entry is not None and entry.there == theirs:
                removed.append(Removed(path, Side.HERE, theirs))
            else:
                fetch.append(Copy(path, theirs))
        elif entry is not None and (entry.here == mine or entry.there == theirs):
            # One side at most has changed.
            if entry.here == mine and entry.there == theirs:
                unchanged += 1
            elif mine.kind != theirs.kind and FOLDER in (mine.kind, theirs.kind):
                conflicts.append(Conflict(path, mine, theirs, _kinds(mine, theirs)))
            elif entry.here == mine:
                fetch.append(Copy(path, theirs, mine))
            else:
                send.append(Copy(path, mine, theirs))
        else:
            # Two files that both changed since the last copy are the same only if checksums say so.
            verdict = _equal(mine, theirs, (same or {}).get(path), by_time=entry is None)
            if verdict is None:
                needs.append(path)
            elif verdict:
                unchanged += 1
                equal.append((path, Entry(mine, theirs)))
            elif mine.kind != theirs.kind:
                conflicts.append(Conflict(path, mine, theirs, _kinds(mine, theirs)))
            else:
                reason = "changed on both sides" if entry else "different on both sides"
                conflicts.append(Conflict(path, mine, theirs, reason))
    return Transfer(
        tuple(send), tuple(fetch), tuple(conflicts), tuple(removed), tuple(needs), unchanged,
        tuple(equal), tuple(forgotten),
    )  # fmt: skip


def _blocked(path: str, other: Mapping[str, FileFacts]) -> str:
    """Why a path cannot be made on a side: something that is no folder stands in its way."""
    for parent in parents(path):
        found = other.get(parent)
        if found is not None and found.kind != FOLDER:
            return f"it would lie in {parent}, which is a {_KINDS[found.kind]} on the other side"
    return ""


def _equal(mine: FileFacts, theirs: FileFacts, same: bool | None, *, by_time: bool) -> bool | None:
    """Whether two files are the same; None: only a checksum can tell.

    `by_time`: the same size and time are enough.
    """
    if mine.kind != theirs.kind:
        return False
    if mine.kind == FOLDER:
        return True
    if mine.kind == LINK:
        return mine.target == theirs.target
    if mine.size != theirs.size:
        return False
    return True if by_time and mine.mtime_ns == theirs.mtime_ns else same


_KINDS = {FILE: "file", LINK: "symbolic link", FOLDER: "folder"}


def _kinds(mine: FileFacts, theirs: FileFacts) -> str:
    return f"a {_KINDS[mine.kind]} here and a {_KINDS[theirs.kind]} there"


def restored(transfer: Transfer, gone: Side) -> Transfer:
    """The same transfer, with what is gone from one side copied there again."""
    back = [Copy(item.path, item.facts) for item in transfer.removed if item.gone is gone]
    left = tuple(item for item in transfer.removed if item.gone is not gone)
    key = _by_path
    if gone is Side.THERE:
        send = tuple(sorted((*transfer.send, *back), key=key))
        return transfer._replace(send=send, removed=left)
    return transfer._replace(fetch=tuple(sorted((*transfer.fetch, *back), key=key)), removed=left)


def _by_path(copy: Copy) -> list[str]:
    return copy.path.split("/")
