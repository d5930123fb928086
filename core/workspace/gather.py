"""What is read of the workspace in one synchronisation, put together for the merge of directories.

Takes readings of different parts (new directories, edited values), gives one list of what is
really different from what is stored, so that a look at everything rewrites nothing needlessly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.state.model import DirectorySet
from rowtui.core.state.stored import Stored
from rowtui.core.workflow.model import Workflow
from rowtui.core.workspace.read import Reading, Stamps

if TYPE_CHECKING:
    from rowtui.core.state.pointed import Pointed


def workflow_pointers(workflow: Workflow) -> tuple[str, ...]:
    """The JSON pointers that including and sorting need, sorted: their columns are stored."""
    found: set[str] = set()
    for action in workflow.actions:
        found.update(action.group.sort_by)
        for selector in action.group.include:
            found.update(condition.pointer for condition in selector.conditions)
    return tuple(sorted(found))


class Wanted(NamedTuple):
    """Something to read: names, and what to look for in them."""

    names: list[bytes]
    value_file: str | None
    actions: tuple[str, ...]
    pointers: tuple[str, ...] = ()


class Gathered:
    """Several readings one behind the other, as the merge of directories wants them."""

    def __init__(self) -> None:
        self.names: list[bytes] = []
        self.raw: list[bytes | None] = []
        self.stamps = Stamps(0)
        self.bad: dict[int, str] = {}
        self.vanished: list[int] = []
        self.completed: dict[str, DirectorySet] = {}
        self.pointed: Mapping[str, Pointed] = {}


def append_changed(found: Gathered, wanted: Wanted, reading: Reading, stored: Stored) -> None:
    """Add to `found` what is new or not as it is stored; the rest needs no rewriting."""
    directories = stored.directories
    names = wanted.names
    if not len(directories) and not found.names:  # all of it is new
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
