"""The readings of one synchronisation, combined for the merge of directories.

The input is readings of different parts (new directories, edited values). The result is one list of
the data that really differs from the stored data, so that a full check rewrites only changed data.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.state.directories import Stamp, StoredDirectories
from rowtui.core.state.model import DirectorySet
from rowtui.core.state.names import to_positions
from rowtui.core.state.records import Before
from rowtui.core.state.store.stored import Stored
from rowtui.core.workflow.model import Workflow
from rowtui.core.workspace.list import NO_STAMP, DirectoryListing, Stamps
from rowtui.core.workspace.read import WorkspaceReading

if TYPE_CHECKING:
    from rowtui.core.state.pointer_values import Pointed


def workflow_pointers(workflow: Workflow) -> tuple[str, ...]:
    """Return the sorted JSON pointers of include and sort rules; their columns are stored."""
    found: set[str] = set()
    for action in workflow.actions:
        found.update(action.group.sort_by)
        for selector in action.group.include:
            found.update(condition.pointer for condition in selector.conditions)
    return tuple(sorted(found))


class ReadRequest(NamedTuple):
    """A request to read: names, and what to search in them."""

    names: list[bytes]
    value_file: str | None
    actions: tuple[str, ...]
    pointers: tuple[str, ...] = ()


class Gathered:
    """Several concatenated readings, as the merge of directories needs them."""

    def __init__(self) -> None:
        self.names: list[bytes] = []
        self.raw: list[bytes | None] = []
        self.stamps = Stamps(0)
        self.bad: dict[int, str] = {}
        self.vanished: list[int] = []
        self.completed: dict[str, DirectorySet] = {}
        self.pointed: Mapping[str, Pointed] = {}


def append_changed(
    found: Gathered, wanted: ReadRequest, reading: WorkspaceReading, stored: Stored
) -> None:
    """Add to `found` the data that is new or differs from the stored data."""
    directories = stored.directories
    names = wanted.names
    if not len(directories) and not found.names:  # all data is new
        found.names, found.raw, found.stamps = names, reading.raw, reading.stamps
        found.bad, found.vanished = reading.bad, reading.vanished
        found.pointed = reading.pointed
        return
    found.pointed = {}
    where = directories.table.positions(names)
    comparable = stored.value_file == wanted.value_file
    bad = dict(directories.bad)
    vanished = set(reading.vanished)
    for at, (name, old) in enumerate(zip(names, where, strict=True)):
        reason = reading.bad.get(at)
        if (
            old is not None
            and at not in vanished
            and comparable
            and directories.stamp(old) == reading.stamps[at]
            and bad.get(old) == reason
            and directories.raw_value(old) == reading.raw[at]
        ):
            continue
        if at in vanished:
            found.vanished.append(len(found.names))
        if reason is not None:
            found.bad[len(found.names)] = reason
        found.names.append(name)
        found.raw.append(reading.raw[at])
        found.stamps.append(reading.stamps[at])


class Stamped(NamedTuple):
    """Directories, and the stamps of their value files as they are now (None: not looked at).

    `where`: the positions of the names in `directories`, if these are known.
    """

    names: Sequence[bytes]
    stamps: Sequence[Stamp | None] | None
    directories: StoredDirectories | None
    where: Sequence[int | None]


def edited(
    directories: StoredDirectories,
    asked: Stamped,
    stat: Callable[[Sequence[bytes]], Sequence[Stamp | None]],
    gone: Collection[bytes],
) -> list[bytes]:
    """Return the known names, except `gone` ones, whose value file has changed since it was read.

    Without stamps, `stat` is called for the needed names.
    """
    names, stamps, known, where = asked
    if known is not directories:
        where = directories.table.positions(names)
    if stamps is None:
        if gone or None in where:
            pairs = zip(where, names, strict=True)
            kept = [at is not None and name not in gone for at, name in pairs]
            names, where = list(compress(names, kept)), list(compress(where, kept))
        stamps = stat(names) if names else []
    if (
        isinstance(stamps, Stamps)
        and where == range(len(directories))
        and memoryview(stamps.times) == directories.stamp_times
        and memoryview(stamps.sizes) == directories.stamp_sizes
    ):
        return []
    times, sizes = directories.stamp_times.tolist(), directories.stamp_sizes.tolist()
    return [
        name
        for name, stamp, at in zip(names, stamps, where, strict=True)
        if at is not None and (times[at], sizes[at]) != (stamp or NO_STAMP) and name not in gone
    ]


def compare(
    stored: Stored, listing: DirectoryListing, all_: object
) -> tuple[list[bytes], list[bytes], list[bytes]]:
    """Return names that are new, that vanished, and (if `all_` is true) that still exist."""
    known, there = stored.directories.table.all(), listing.names
    added: list[bytes] = []
    vanished: list[bytes] = []
    at = 0
    for start in range(0, len(known), _COMPARED):  # most parts are equal
        part = known[start : start + _COMPARED]
        end = bisect_right(there, part[-1], at)
        if there[at:end] != part:
            added += sorted(set(there[at:end]).difference(part))
            vanished += set(part).difference(there[at:end])
        at = end
    added += there[at:]
    if not all_ or len(added) == len(there):
        return added, vanished, []
    new = frozenset(added)
    return added, vanished, [name for name in there if name not in new] if new else there


_COMPARED = 1 << 7  # names


def found_where(
    stored: Stored,
    first: Stored | None,
    names: Sequence[bytes],
    found: WorkspaceReading,
    where: Sequence[int | None] | None = None,
) -> tuple[DirectorySet, dict[str, DirectorySet]]:
    """Return the positions that were checked, and where each action was found complete.

    `first`: the records when `names` were read, if products that were not found count as gone
    (completions by jobs since then are newer than the check); without `first`, the checked
    positions are not needed. `where`: the positions of the names, if they are known.
    """
    if where is None:
        where = stored.directories.table.positions(names)
    sets = {action: to_positions(members, where) for action, members in found.completed.items()}
    if first is None:
        return 0, sets
    usable = [None if at in found.bad else to for at, to in enumerate(where)]
    scanned = to_positions((1 << len(names)) - 1, usable)
    known = Before(first.directories.table.positions(names), first.state.completed)
    for action, members in sets.items():
        lacking = stored.state.completed.get(action, 0) & scanned & ~members
        if lacking:
            sets[action] |= lacking & ~to_positions(known.complete(action), where)
    return scanned, sets
