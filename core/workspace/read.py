"""Reading of the directories of a workspace: their JSON values and their product files.

The input is the workspace, names and what to search for; the result is columns aligned to the
names. A directory that cannot be used is set aside with a reason for the user and does not stop the
others. A directory that was deleted during the reading is reported separately.
"""

from __future__ import annotations

import os
import time
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import orjson
from rowtui.core.base.text import visible
from rowtui.core.workspace.list import (
    NO_STAMP,
    RACY_NS,
    Stamp,
    Stamps,
    list_workspace,
    open_workspace,
    workspace_mtime_ns,
)
from rowtui.core.workspace.native import Wanted, read_natively
from rowtui.core.workspace.reader import Reader, is_gone
from rowtui.core.workspace.workers import PROCESSES_PAY_FROM, Workers, in_chunks

if TYPE_CHECKING:
    from rowtui.core.state.pointer_values import Pointed

Progress = Callable[[int, int], None]  # (done, total)

# A value file has a few hundred bytes; one of this size is a mistake and would fill the memory.
VALUE_LIMIT = 64 << 20


class WorkspaceReading(NamedTuple):
    """The result of a reading, as columns aligned to the requested names.

    `raw`: compact JSON bytes; None without a value file, and for bad and vanished directories.
    `stamps`: (mtime_ns, size) of the value file before it was read; `NO_STAMP` without a file.
    `bad`: position -> why the directory is set aside. `vanished`: positions of directories that no
    longer exist. `completed`: action -> bit set over positions, an entry for every action.
    `pointed`: the values of each requested JSON pointer.
    """

    raw: list[bytes | None]
    stamps: Stamps
    bad: dict[int, str]
    vanished: list[int]
    completed: dict[str, int]
    pointed: Mapping[str, Pointed] = {}

    def moved(self, to: Sequence[int]) -> Self:
        """Return the same reading with the directory at each index at `to[index]`."""
        back = sorted(range(len(to)), key=to.__getitem__)
        stamps = Stamps(0)
        stamps.times = array("q", map(self.stamps.times.__getitem__, back))
        stamps.sizes = array("q", map(self.stamps.sizes.__getitem__, back))
        for column in self.pointed.values():
            column.codes = array("I", map(column.codes.__getitem__, back))
        return self._replace(
            raw=list(map(self.raw.__getitem__, back)),
            stamps=stamps,
            bad={to[at]: reason for at, reason in self.bad.items()},
            vanished=sorted(to[at] for at in self.vanished),
            completed={name: _chosen(of, back) for name, of in self.completed.items()},
        )


def _chosen(members: int, order: Sequence[int]) -> int:
    """Return the set of the indices into `order` that are at members."""
    digits = f"{members:0{len(order)}b}"[::-1]
    return int("".join(map(digits.__getitem__, reversed(order))) or "0", 2)


def read_directories(
    workspace: Path,
    names: Sequence[bytes],
    *,
    value_file: str | None,
    products: Mapping[str, tuple[str, ...]],
    inodes: Sequence[int] = (),
    pointers: Sequence[str] = (),
    stamped: bool = False,
    workers: Workers | None = None,
    progress: Progress | None = None,
    value_limit: int = VALUE_LIMIT,
) -> WorkspaceReading:
    """Read the value and search the products of each directory.

    `products` maps actions to product paths relative to a directory; `pointers` are resolved in
    each value. `inodes` of the names, if they are known, are the order of reading: this halves the
    time of a first reading from a cold disk. `stamped`: only the stamps of the value files are
    needed, no values. `progress` is called in this thread. `value_limit` is in bytes; a larger
    value file makes its directory bad. Each value file is opened once, and each directory listed
    once if products are searched. Raises: RowtuiError if the workspace cannot be read, or a worker
    process was ended.
    """
    total = len(names)
    stamps = Stamps(total)
    pointed: dict[str, Pointed] = {}
    if pointers and value_file is not None:
        from rowtui.core.state.pointer_values import Pointed

        pointed = {pointer: Pointed(total) for pointer in pointers}
    reading = WorkspaceReading([None] * total, stamps, {}, [], {}, pointed)
    sets = {action: bytearray((total + 7) >> 3) for action in products}
    if value_file is not None:
        _refuse_unusable(value_file)
    wanted = {action: tuple(paths) for action, paths in products.items()}
    place = os.path.join(os.getcwdb(), os.fsencode(workspace))
    began = workspace_mtime_ns(workspace)
    recent = time.time_ns() - began < RACY_NS
    arguments = (place, value_file, wanted, value_limit, (tuple(pointers), stamped, os.getpid()))
    done = 0
    chosen = workers or Workers.for_count(total)

    def read(some: Sequence[bytes]) -> Iterator[tuple[int, Any]]:
        if value_file is not None and not stamped:
            orjson.loads(b"0")  # loaded before any fork: once instead of once in every process
        return in_chunks(Reader, arguments, some, chosen)

    def tell(count: int) -> None:
        if progress:
            progress(count, total)

    search = Wanted(place, inodes, value_file, stamped, value_limit, wanted, tuple(pointers))
    natively = read_natively(search, names, chosen.processes * chosen.threads, tell, read)
    order: Sequence[int] = range(total)
    if inodes and not natively:
        order = sorted(order, key=inodes.__getitem__)
        names = [names[at] for at in order]
    for start, found in [(0, natively)] if natively else read(names):
        raw, times, sizes, bad, vanished, completed, columns = found
        count = len(times) >> 3
        if raw:
            reading.raw[start : start + count] = raw
        stamps.times[start : start + count] = array("q", times)
        stamps.sizes[start : start + count] = array("q", sizes)
        if bad:
            reading.bad.update((start + position, reason) for position, reason in bad.items())
        reading.vanished.extend(start + position for position in vanished)
        for action, members in completed.items():
            if members:
                cells = members.to_bytes((count + 7) >> 3, "little")
                sets[action][start >> 3 : (start >> 3) + len(cells)] = cells
        for column, chunk in zip(pointed.values(), columns, strict=True):
            column.put(start, chunk)
        done += count
        if progress:
            progress(done, total)
    looked_only = stamped and not products
    if not looked_only and (recent or workspace_mtime_ns(workspace) != began):
        _forget_strangers(workspace, names, reading, sets)
    reading.vanished.sort()
    for action, whole in sets.items():
        reading.completed[action] = int.from_bytes(whole, "little")
    return reading if natively or not inodes else reading.moved(order)


def _forget_strangers(
    workspace: Path,
    names: Sequence[bytes],
    reading: WorkspaceReading,
    sets: Mapping[str, bytearray],
) -> None:
    """Mark names as vanished that no longer are directories: a symlink may have taken their place.

    This is only called if the workspace changed during the reading, or just before.
    """
    gone = set(reading.vanished)
    if len(names) < PROCESSES_PAY_FROM:
        root = open_workspace(workspace)
        try:
            strangers = [at for at, name in enumerate(names) if is_gone(root, name)]
        finally:
            os.close(root)
    else:
        there = set(list_workspace(workspace).names)
        strangers = [at for at, name in enumerate(names) if name not in there]
    for at in strangers:
        if at not in gone:
            reading.vanished.append(at)
            reading.bad.pop(at, None)
            reading.raw[at] = None
            reading.stamps.times[at], reading.stamps.sizes[at] = NO_STAMP
            for cells in sets.values():
                cells[at >> 3] &= ~(1 << (at & 7))


def stat_values(
    workspace: Path,
    names: Sequence[bytes],
    value_file: str,
    *,
    workers: Workers | None = None,
    progress: Progress | None = None,
) -> list[Stamp | None]:
    """Return (mtime_ns, size) of each value file as it is now, None where there is none.

    A stamp that differs from the one in `WorkspaceReading.stamps` means that the file was edited.
    Raises: RowtuiError like `read_directories`.
    """
    found = read_directories(
        workspace,
        names,
        value_file=value_file,
        products={},
        stamped=True,
        workers=workers,
        progress=progress,
    )
    return [None if stamp == NO_STAMP else stamp for stamp in found.stamps]


def _refuse_unusable(value_file: str) -> None:
    if not value_file or "\0" in value_file:
        raise RowtuiError(
            f"value_file = {visible(value_file)!r} cannot be the name of a file",
            "mend `value_file` in the [workspace] table of workflow.toml",
        )
