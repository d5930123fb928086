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
same size and time, or the same checksum. An unchanged file whose known checksums differ is sent.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rowtui.core.base.text import visible
from rowtui.core.mirror.listing import FileListing
from rowtui.core.mirror.model import FILE, FOLDER, LINK, FileFacts, MirrorSelection, parents

# Compare a plan with the present state before a transfer, and with the result after it.
#
# The input is the plan and the present facts; the result is the files that may still be copied,
# notices about the others, and the destinations that have the intended content. The module is pure.


def merged(
    listings: Sequence[FileListing], selection: MirrorSelection
) -> tuple[dict[str, FileFacts], tuple[str, ...]]:
    """Combine several listings into one, with all notices.

    A file is left out if a parent of it is listed as something other than a folder: a cluster that
    lists such a file would make rowtui write through a link that the same cluster sends. Folders
    above the selection may be links.
    """
    files: dict[str, FileFacts] = {}
    notices = list(selection.notices)
    for listing in listings:
        files |= listing.files
        notices += listing.notices
    others = {path for path, facts in files.items() if facts.kind != FOLDER} - selection.above
    if others:
        files = {path: it for path, it in files.items() if others.isdisjoint(parents(path))}
    return files, tuple(notices)


def folders_above(paths: Iterable[str]) -> set[str]:
    """Return all folders above the paths."""
    return {parent for path in paths for parent in parents(path)}


def as_planned(
    copies: Sequence[Copy], now: Mapping[str, FileFacts], where: str
) -> tuple[list[Copy], list[Copy], list[str]]:
    """Return the files still to be copied, the files that have arrived, and notices on the others.

    A plan may be carried out again after an interruption; some files have then already arrived.
    """
    same, already, changed = [], [], []
    for copy in copies:
        found = now.get(copy.path)
        if found == copy.replaces:
            same.append(copy)
        elif found is not None and _is_it(found, copy.facts):
            already.append(copy)
        else:
            changed.append(f"{visible(copy.path)} was left alone: it changed on {where} meanwhile")
    return same, already, changed


def _is_it(found: FileFacts, facts: FileFacts) -> bool:
    """Whether a file is the one to be copied; some sides have times in whole seconds only."""
    if found.kind != facts.kind or found.kind != FILE:
        return found == facts
    times = (facts.mtime_ns, _second(facts) * 10**9)
    return found.size == facts.size and found.mtime_ns in times


def arrived(copy: Copy, found: FileFacts | None) -> bool:
    """Whether the file at a destination is the copied file, or a later state of it."""
    if found is None or found.kind != copy.facts.kind:
        return False
    if found.kind == LINK:
        return found.target == copy.facts.target
    if found.kind == FOLDER or found != copy.replaces:
        return True
    # The file seems unchanged; on a side with times in whole seconds it may have been replaced.
    return found.size == copy.facts.size and _second(found) == _second(copy.facts)


def as_fetched(planned: FileFacts, here: FileFacts) -> FileFacts:
    """Return the facts of the other side's file at the time when it was read.

    If the file changed since the plan, as a growing log does, the facts are those of the version
    that has arrived.
    """
    if here.kind != FILE or (here.size == planned.size and _second(here) == _second(planned)):
        return planned
    return planned._replace(size=here.size, mtime_ns=here.mtime_ns)


def _second(facts: FileFacts) -> int:
    return facts.mtime_ns // 10**9


class Side(enum.Enum):
    """The project on this machine, or its copy on the cluster."""

    HERE = "here"
    THERE = "there"


class ManifestEntry(NamedTuple):
    """State of both sides when both were last equal. None: this side counts as changed."""

    here: FileFacts | None
    there: FileFacts | None


class Copy(NamedTuple):
    """One file to be copied: its facts, and the facts of the file that it replaces, or None."""

    path: str
    facts: FileFacts
    replaces: FileFacts | None = None


class MirrorConflict(NamedTuple):
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
    conflicts: tuple[MirrorConflict, ...] = ()
    removed: tuple[Removed, ...] = ()
    needs_checksum: tuple[str, ...] = ()
    unchanged: int = 0
    equal: tuple[tuple[str, ManifestEntry], ...] = ()
    forgotten: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def send_bytes(self) -> int:
        """Sum of the sizes of the files to be sent, in bytes."""
        return sum(copy.facts.size for copy in self.send)


def compare(
    here: Mapping[str, FileFacts],
    there: Mapping[str, FileFacts],
    manifest: Mapping[str, ManifestEntry],
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
                conflicts.append(MirrorConflict(path, mine, None, reason))
            elif entry is not None and entry.here == mine:
                removed.append(Removed(path, Side.THERE, mine))
            else:
                send.append(Copy(path, mine))
        elif mine is None:
            if reason := _blocked(path, above_here):
                conflicts.append(MirrorConflict(path, None, theirs, reason))
            elif entry is not None and entry.there == theirs:
                removed.append(Removed(path, Side.HERE, theirs))
            else:
                fetch.append(Copy(path, theirs))
        elif entry is not None and (entry.here == mine or entry.there == theirs):
            # At most one side has changed.
            if entry.here == mine and entry.there == theirs:
                if (same or {}).get(path, True):
                    unchanged += 1
                else:  # its content differs all the same
                    send.append(Copy(path, mine, theirs))
            elif mine.kind != theirs.kind and FOLDER in (mine.kind, theirs.kind):
                conflicts.append(MirrorConflict(path, mine, theirs, _kinds(mine, theirs)))
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
                equal.append((path, ManifestEntry(mine, theirs)))
            elif mine.kind != theirs.kind:
                conflicts.append(MirrorConflict(path, mine, theirs, _kinds(mine, theirs)))
            else:
                reason = "changed on both sides" if entry else "different on both sides"
                conflicts.append(MirrorConflict(path, mine, theirs, reason))
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
    return True if same is None and by_time and mine.mtime_ns == theirs.mtime_ns else same


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
