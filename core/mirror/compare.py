"""Compare the present state of both sides with the state when both were last equal.

The input is the facts of this machine and of the cluster, the entries of the manifest, and the
results of checksums; the result is a `Transfer`. A file that changed on both sides is never
replaced, and a deletion is never repeated on the other side: both cases are reported. The module is
pure: it reads no files and no clock.

| here, then there, since both were equal | unchanged | changed | deleted |
|---|---|---|---|
| unchanged | nothing | fetch | reported |
| changed | send | conflict, unless equal | send |
| deleted | reported | fetch | removed from the manifest |

Without an entry in the manifest, a file that exists on one side only is copied to the other side,
and a file that exists on both sides is equal, needs a checksum, or is a conflict. "Equal" means the
same size and time, or the same checksum.
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
    """State of both sides when both were last equal. None: this side counts as changed."""

    here: FileFacts | None
    there: FileFacts | None


class Copy(NamedTuple):
    """One file to be copied: its facts, and the facts of the file that it replaces, or None."""

    path: str
    facts: FileFacts
    replaces: FileFacts | None = None


class Conflict(NamedTuple):
    """A difference that the user must decide about. Neither side is changed.

    `here` or `there` is None if the file is missing there and a parent folder of the file is a file
    or link on that side. `reason` describes the conflict.
    """

    path: str
    here: FileFacts | None
    there: FileFacts | None
    reason: str


class Removed(NamedTuple):
    """A file that was on both sides and is deleted from one; the other side has it unchanged."""

    path: str
    gone: Side
    facts: FileFacts  # of the side that has the file


class Transfer(NamedTuple):
    """Result of a comparison; each part is in the order of the paths.

    `unchanged`: number of files that are equal on both sides. `equal`: those files of the unchanged
    ones that are not in the manifest yet. `forgotten`: entries of the manifest whose files are
    deleted from both sides. `notices`: the files that were left out of the comparison, and why.
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
        """Sum of the sizes of the files to be sent, in bytes."""
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
    """Compare all paths of both sides and of the manifest.

    `manifest` contains only paths of the same selection. `same`: results of the checksums, for
    paths that needed one. `above_...`: facts of the folders above the paths, for folders that are
    not in `here` and `there`.
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
            # At most one side has changed.
            if entry.here == mine and entry.there == theirs:
                unchanged += 1
            elif mine.kind != theirs.kind and FOLDER in (mine.kind, theirs.kind):
                conflicts.append(Conflict(path, mine, theirs, _kinds(mine, theirs)))
            elif entry.here == mine:
                fetch.append(Copy(path, theirs, mine))
            else:
                send.append(Copy(path, mine, theirs))
        else:
            # If both files changed since the last copy, only a checksum can show that they are
            # equal.
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
    """Return why a path cannot be made on a side: a parent of it is not a folder there."""
    for parent in parents(path):
        found = other.get(parent)
        if found is not None and found.kind != FOLDER:
            return f"it would lie in {parent}, which is a {_KINDS[found.kind]} on the other side"
    return ""


def _equal(mine: FileFacts, theirs: FileFacts, same: bool | None, *, by_time: bool) -> bool | None:
    """Whether two files are equal; None if only a checksum can decide.

    `by_time`: the same size and time are sufficient.
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
    """Return the transfer with the files that were deleted from one side copied to it again."""
    back = [Copy(item.path, item.facts) for item in transfer.removed if item.gone is gone]
    left = tuple(item for item in transfer.removed if item.gone is not gone)
    key = _by_path
    if gone is Side.THERE:
        send = tuple(sorted((*transfer.send, *back), key=key))
        return transfer._replace(send=send, removed=left)
    return transfer._replace(fetch=tuple(sorted((*transfer.fetch, *back), key=key)), removed=left)


def _by_path(copy: Copy) -> list[str]:
    return copy.path.split("/")
