"""A packing as text: what it costs and saves, how full nodes are, the bundles, who is alone.

Bundles that are alike are one line. Shares are filled bars with their number beside them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rowtui.cli.table import Cell, Column, table_lines
from rowtui.core.text import count, plural, visible
from rowtui.core.workflow.duration import format_duration

if TYPE_CHECKING:
    from rowtui.cli.output import Output
    from rowtui.core.project.pack_views import BundleView, PackedDestination
    from rowtui.core.submission.model import Packed, PlannedJob

BAR = 10  # cells
SHOWN_BUNDLES = 40
SHOWN_NAMES = 3


def amount(cost: float, unit: str) -> str:
    """A cost with its unit: `12.30 EUR`, `410 core-hours`."""
    digits = 2 if cost < 1000 else 0
    return f"{cost:,.{digits}f}{' ' + visible(unit) if unit else ''}"


def saving(packed: Packed) -> str:
    """What packing changes of the cost."""
    text = f"{amount(packed.cost, packed.unit)}, alone {amount(packed.alone, packed.unit)}"
    if packed.alone > 0 and packed.cost < packed.alone:
        text += f" ({round(100 * (1 - packed.cost / packed.alone))} % less)"
    return text


def quality(destination: PackedDestination) -> str:
    """How good a packing is, as far as that is known."""
    gap = destination.gap
    if destination.proven or gap == 0:
        return "the best possible, proven"
    if gap is None or destination.packed.bound <= 0:
        return "how much better it could be is not known"
    return f"within {100 * gap:.1f} % of the best possible"


def head(packed: Packed) -> str:
    """`alpha/batch: 40 jobs on 3 nodes`."""
    jobs, nodes = plural(packed.jobs, "job"), plural(packed.bundles, "node")
    return f"{visible(str(packed.destination))}: {jobs} on {nodes}"


def print_packing(destination: PackedDestination, jobs: Sequence[PlannedJob], out: Output) -> None:
    """One destination."""
    packed = destination.packed
    out.print(out.style(head(packed), "bold"))
    if packed.jobs:
        out.print(f"Cost: {saving(packed)}; {quality(destination)} (by {visible(packed.packer)}).")
        out.print()
        out.lines(_types(destination, out))
        out.print()
        out.lines(_bundles(destination, jobs, out))
    for left in destination.left_alone:
        names = ", ".join(visible(jobs[at].name) for at in left.jobs[:SHOWN_NAMES])
        more = f" and {len(left.jobs) - SHOWN_NAMES:,} more" * (len(left.jobs) > SHOWN_NAMES)
        out.print(f"Alone: {names}{more}: {left.reason}")


def _types(destination: PackedDestination, out: Output) -> Iterator[str]:
    columns = [
        Column("Node type", style="bold"),
        Column("Nodes", right=True),
        Column("Jobs", right=True),
        Column("Cores"),
        Column("Memory"),
        Column("GPUs"),
        Column("Price/h", right=True),
        Column("Cost", right=True, style="italic dim"),
    ]
    rows: list[list[str | Cell]] = []
    for number, kind in enumerate(destination.node_types):
        there = [it for it in destination.bundles if it.node_type == number]
        used = destination.used_of(number)
        rows.append(
            [
                kind.name,
                count(len(there)) + ("!" if kind.at_most and len(there) > kind.at_most else ""),
                count(sum(it.jobs for it in there)),
                bar(used.cpus, out),
                bar(used.memory, out),
                bar(used.gpus, out),
                f"{kind.price:g}",
                f"{sum(it.cost for it in there):,.2f}",
            ]
        )
        if not there:
            rows.pop()
    yield from table_lines(columns, rows, out)
    for number, kind in enumerate(destination.node_types):
        there_are = sum(it.node_type == number for it in destination.bundles)
        if kind.at_most is not None and there_are > kind.at_most:
            yield (
                f"! There are {count(kind.at_most)} of {visible(kind.name)}: "
                "the other bundles wait for one."
            )


def bar(share: float | None, out: Output) -> Cell:
    """A share as a bar and a number; "-" where there is none of that."""
    if share is None:
        return Cell("-", "dim")
    full, empty = ("█", "░") if _draws() else ("#", ".")
    filled = min(BAR, round(share * BAR))
    del out
    return Cell(f"{full * filled}{empty * (BAR - filled)} {round(100 * share):3d}%")


def memory(megabytes: int) -> str:
    """An amount of memory; "-" for none."""
    if not megabytes:
        return "-"
    return f"{megabytes:,} MB" if megabytes < 1024 else f"{megabytes / 1024:,.1f} GB"


def _draws() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def _bundles(
    destination: PackedDestination, jobs: Sequence[PlannedJob], out: Output
) -> Iterator[str]:
    columns = [
        Column("Bundles", right=True),
        Column("Node type", style="bold"),
        Column("Jobs", right=True),
        Column("Lanes", right=True),
        Column("Cores", right=True),
        Column("Memory", right=True),
        Column("GPUs", right=True),
        Column("Time", right=True),
        Column("Cost", right=True, style="italic dim"),
        Column("From"),
    ]
    alike: dict[tuple[object, ...], list[BundleView]] = {}
    for bundle in destination.bundles:
        alike.setdefault(_looks(bundle), []).append(bundle)
    groups = list(alike.values())
    rows: list[list[str | Cell]] = []
    for group in groups[:SHOWN_BUNDLES]:
        first = group[0]
        rows.append(
            [
                f"×{count(len(group))}" if _draws() else f"x{count(len(group))}",
                destination.node_types[first.node_type].name,
                count(first.jobs),
                count(len(first.lanes)),
                count(first.used.cpus),
                memory(first.used.memory_mb),
                count(first.used.gpus),
                format_duration(first.seconds),
                f"{first.cost:,.2f}",
                visible(jobs[first.lanes[0].jobs[0]].name),
            ]
        )
    yield from table_lines(columns, rows, out)
    if len(groups) > SHOWN_BUNDLES:
        yield f"... and {plural(len(groups) - SHOWN_BUNDLES, 'more kind')} of bundles"


def _looks(bundle: BundleView) -> tuple[object, ...]:
    return (bundle.node_type, bundle.used, bundle.seconds, bundle.jobs, len(bundle.lanes))
