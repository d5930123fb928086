"""A packing as text: cost and savings, used shares of nodes, the bundles, and jobs sent alone.

Equal bundles share one line. Shares are filled bars with their number beside them; on a narrow
terminal the bars become shorter, and the last column is cut.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from rowtui.cli.output.output import Output, TableCell, TextColumn, display_width, table_lines
from rowtui.core.base.text import count, is_utf8, memory, plural, price, visible
from rowtui.core.packing.model import has_solver
from rowtui.core.project.planning.pack_views import price_of
from rowtui.core.workflow.duration import format_duration

if TYPE_CHECKING:
    from rowtui.core.project.planning.pack_views import BundleView, NodeUse, PackedDestination
    from rowtui.core.submission.plan.model import Packed, PlannedJob

BARS = (10, 5, 0)  # cells; the widest that fits is used
SHOWN_BUNDLES = 40
SHOWN_NAMES = 3

Cells = list[str | TableCell]
_Value = Callable[["BundleView"], str]


def _memory(megabytes: int) -> str:
    return memory(megabytes) if megabytes else "-"


def head(packed: Packed) -> str:
    """Return `alpha/batch: 40 jobs on 3 nodes`."""
    where = visible(str(packed.destination))
    if not packed.jobs:
        return f"{where}: nothing can be packed"
    return f"{where}: {plural(packed.jobs, 'job')} on {plural(packed.bundles, 'node')}"


def print_packing(
    destination: PackedDestination, jobs: Sequence[PlannedJob], out: Output, width: int | None
) -> None:
    """Print one destination. `width`: of the terminal, None without one."""
    packed = destination.packed
    out.print(out.style(head(packed), "bold"))
    if packed.jobs:
        good = packed.quality(proven=destination.proven)
        out.print(f"Cost: {packed.saving};")
        out.print(f"      {good}, by {visible(packed.packer)}.")
        if not destination.proven and _priced(destination) and not has_solver():
            out.print("      Nothing was proven without HiGHS; rowtui[exact] gives a closer bound.")
        out.print()
        out.lines(_types(destination, out, width))
        out.lines(_too_many(destination))
        out.print()
        out.lines(_bundles(destination, jobs, out, width))
    for left in destination.left_alone:
        names = ", ".join(visible(jobs[at].name) for at in left.jobs[:SHOWN_NAMES])
        more = f" and {len(left.jobs) - SHOWN_NAMES:,} more" * (len(left.jobs) > SHOWN_NAMES)
        out.print(f"Alone: {names}{more}: {visible(left.reason)}")


def _priced(destination: PackedDestination) -> bool:
    return any(kind.price_per_hour is not None for kind in destination.node_types)


def terminal_width() -> int | None:
    """Return the terminal's width; None if the text does not go to a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _types(destination: PackedDestination, out: Output, width: int | None) -> list[str]:
    lines: list[str] = []
    for cells in BARS:
        lines = _types_with(destination, out, cells)
        if width is None or all(_width(line) <= width for line in lines):
            break
    return lines


def _types_with(destination: PackedDestination, out: Output, cells: int) -> list[str]:
    """Return the table of node types, with bars of this many cells."""
    shares: list[tuple[str, Callable[[NodeUse], float | None]]] = [
        ("CPUs", lambda used: used.cpus),
        ("Memory", lambda used: used.memory),
        ("GPUs", lambda used: used.gpus),
    ]
    everywhere = destination.used_of()
    shares = [(name, share) for name, share in shares if share(everywhere)]
    priced = _priced(destination)
    unit = visible(destination.packed.unit)
    columns = [
        TextColumn("Node type", style="bold"),
        TextColumn("Nodes", right=True),
        TextColumn("Jobs", right=True),
        *(TextColumn(name, right=not cells) for name, _ in shares),
        *[TextColumn("Price/h", right=True)] * priced,
        TextColumn(f"Cost ({unit})" if unit else "Cost", right=True, style="italic dim"),
    ]
    bundles, jobs = Counter[int](), Counter[int]()
    paid: dict[int, float] = {}
    for bundle in destination.bundles:
        bundles[bundle.node_type] += 1
        jobs[bundle.node_type] += bundle.jobs
        paid[bundle.node_type] = paid.get(bundle.node_type, 0.0) + bundle.cost
    rows: list[Cells] = []
    for at, kind in enumerate(destination.node_types):
        if not bundles[at]:
            continue
        used = destination.used_of(at)
        row: Cells = [
            kind.name,
            count(bundles[at]) + ("!" if _more_than_there_are(destination, at, bundles) else ""),
            count(jobs[at]),
            *(bar(share(used), cells) for _, share in shares),
        ]
        if priced:
            row.append(f"{price_of(kind):g}")
        rows.append([*row, price(paid[at])])
    return table_lines(columns, rows, out)


def _too_many(destination: PackedDestination) -> Iterator[str]:
    bundles = Counter(bundle.node_type for bundle in destination.bundles)
    for at, kind in enumerate(destination.node_types):
        if _more_than_there_are(destination, at, bundles):
            there_are = "is 1" if kind.at_most == 1 else f"are {count(kind.at_most or 0)}"
            yield f"! There {there_are} of {visible(kind.name)}: the other bundles wait for it."


def _more_than_there_are(destination: PackedDestination, at: int, bundles: Counter[int]) -> bool:
    at_most = destination.node_types[at].at_most
    return at_most is not None and bundles[at] > at_most


def bar(share: float | None, cells: int = BARS[0]) -> TableCell:
    """Return a share as a bar and a number; "-" if the nodes have no such capacity."""
    if share is None:
        return TableCell("-", "dim")
    full, empty = ("█", "░") if draws() else ("#", ".")
    filled = min(cells, round(share * cells))
    drawn = f"{full * filled}{empty * (cells - filled)} " if cells else ""
    return TableCell(f"{drawn}{round(100 * share):3d}%")


def draws() -> bool:
    """Whether the output may contain drawing characters."""
    return is_utf8(sys.stdout.encoding or "")


def _bundles(
    destination: PackedDestination, jobs: Sequence[PlannedJob], out: Output, width: int | None
) -> Iterator[str]:
    alike: dict[tuple[object, ...], list[BundleView]] = {}
    for bundle in destination.bundles:
        alike.setdefault(_looks(bundle), []).append(bundle)
    # The most expensive first, so that the groups that are not shown matter least.
    groups = sorted(alike.values(), key=lambda group: -group[0].cost * len(group))
    kinds = destination.node_types
    values: list[tuple[TextColumn, _Value, bool]] = [
        (TextColumn("Node type", style="bold"), lambda it: kinds[it.node_type].name, True),
        (TextColumn("Jobs", right=True), lambda it: count(it.jobs), True),
        (TextColumn("Slots", right=True), lambda it: count(len(it.lanes)), True),
        (TextColumn("CPUs", right=True), lambda it: count(it.used.cpus), True),
        (
            TextColumn("Memory", right=True),
            lambda it: _memory(it.used.memory_mb),
            _any(groups, 1),
        ),
        (TextColumn("GPUs", right=True), lambda it: count(it.used.gpus), _any(groups, 2)),
        (TextColumn("Time", right=True), lambda it: format_duration(it.seconds), True),
        (TextColumn("Cost", right=True, style="italic dim"), lambda it: price(it.cost), True),
        (TextColumn("First job"), lambda it: visible(jobs[it.lanes[0].jobs[0]].name), True),
    ]
    shown = [(column, value) for column, value, wanted in values if wanted]
    times = "×" if draws() else "x"
    rows: list[Cells] = [
        [f"{times}{count(len(group))}", *(value(group[0]) for _, value in shown)]
        for group in groups[:SHOWN_BUNDLES]
    ]
    columns = [TextColumn("Bundles", right=True), *(column for column, _ in shown)]
    yield from table_lines(columns, cut_last(columns, rows, width), out)
    if len(groups) > SHOWN_BUNDLES:
        rest = groups[SHOWN_BUNDLES:]
        bundles = plural(sum(map(len, rest)), "bundle")
        yield f"... and {bundles} of {plural(len(rest), 'more kind')}; all of them with --json"


def cut_last(columns: Sequence[TextColumn], rows: list[Cells], width: int | None) -> list[Cells]:
    """Return the rows with their last cells cut to the remaining width of the terminal."""
    if width is None or not rows:
        return rows
    before = sum(
        max(display_width(column.header), *(_width_of(row[at]) for row in rows)) + 1
        for at, column in enumerate(columns[:-1])
    )
    left = max(display_width(columns[-1].header), width - before)
    for row in rows:
        text = row[-1].text if isinstance(row[-1], TableCell) else row[-1]
        row[-1] = cut(visible(text), left)
    return rows


def cut(text: str, width: int) -> str:
    """Return the text; if it is too wide, its beginning and `…`."""
    if display_width(text) <= width:
        return text
    end = "…" if draws() else "."
    while text and display_width(text) >= width:
        text = text[:-1]
    return text + end


def _any(groups: Sequence[Sequence[BundleView]], resource: int) -> bool:
    return any(group[0].used[resource] for group in groups)


def _width(line: str) -> int:
    """Return the width of a painted line."""
    if "\x1b" in line:
        line = re.sub(r"\x1b\[[0-9;]*m", "", line)
    return display_width(line)


def _width_of(cell: str | TableCell) -> int:
    return display_width(visible(cell.text if isinstance(cell, TableCell) else cell))


def _looks(bundle: BundleView) -> tuple[object, ...]:
    return (bundle.node_type, bundle.used, bundle.seconds, bundle.jobs, len(bundle.lanes))
