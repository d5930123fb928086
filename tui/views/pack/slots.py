"""The lines beneath a packing: a bundle, a node type, or jobs not packed.

The input is a row of the packing and the plan's jobs; the output is lines of at most a width.
"""

from __future__ import annotations

from collections.abc import Sequence

from rowtui.core.base.text import plural, visible
from rowtui.core.packing.model import ResourceAmounts
from rowtui.core.project.planning.pack_views import LaneView, NodeTypeView
from rowtui.core.submission.plan.model import PlannedJob
from rowtui.tui.views.pack.bundle_cells import amounts_words, costs, half_empty, memory_text, price
from rowtui.tui.views.pack.bundles import AloneRow, BundleRow, Row, TypeRow
from rowtui.tui.views.pack.lanes import MOST_LANES, LaneChart, node_lines
from rowtui.tui.widgets.cells import Line, fit, line, wrapped
from rowtui.tui.widgets.short_text import duration, limit

MOST_JOBS = 400
"""The number of jobs that are listed one by one; one key opens the plan with all of them."""


def row_lines(
    row: Row, jobs: Sequence[PlannedJob], unit: str, width: int, *, axis: str = "time"
) -> list[Line]:
    """Return the details of the row under the cursor; lanes over `axis`: time, cores or memory."""
    if isinstance(row, AloneRow):
        return _alone_lines(row, jobs, width)
    if isinstance(row, TypeRow):
        return _type_lines(row, unit, width)
    return _bundle_lines(row, jobs, unit, axis, width)


def row_title(row: Row | None) -> str:
    """Return the title of the frame around the details."""
    if row is None:
        return "Bundle"
    if isinstance(row, AloneRow):
        return "Not packed"
    if isinstance(row, TypeRow):
        return f"Node type {row.node_type.name}"
    name = row.node_type.name
    return f"Bundle on {name}" if row.times == 1 else f"One of {row.times:,} bundles on {name}"


def _bundle_lines(
    row: BundleRow, jobs: Sequence[PlannedJob], unit: str, axis: str, width: int
) -> list[Line]:
    bundle = row.bundle
    lanes = plural(len(bundle.lanes), "lane")
    parts = [
        "one job, alone" if bundle.jobs == 1 else f"{plural(bundle.jobs, 'job')} in {lanes}",
        amounts_words(bundle.used),
        limit(bundle.seconds),
        costs(bundle.cost, unit),
    ]
    lines = wrapped(line((" · ".join(parts), "title")), width, 2)
    empty: list[Line] = []
    if half_empty(row):
        text = "the node is less than half full: others could go there as well"
        empty = [*wrapped(line(("▲ ", "warning"), (text, "warning")), width, 2), ()]
    if axis != "time":
        return [*lines, *node_lines(row, jobs, axis, width), (), *empty]
    chart = LaneChart(bundle.lanes, bundle.busy_seconds, width)
    lines.append(chart.axis())
    lines += [
        chart.lane(number, lane, jobs) for number, lane in enumerate(bundle.lanes[:MOST_LANES], 1)
    ]
    if (more := len(bundle.lanes) - MOST_LANES) > 0:
        lines.append(line((f"  and {plural(more, 'more lane')}", "dim")))
    lines += [(), *empty]
    lines.append(line(("Who runs when, at the latest", "heading")))
    return lines + _who_runs_when(bundle.lanes, jobs, width)


def _who_runs_when(lanes: Sequence[LaneView], jobs: Sequence[PlannedJob], width: int) -> list[Line]:
    lines: list[Line] = []
    left = sum(len(lane.jobs) for lane in lanes)
    name_room = max(12, width - 30)
    for number, lane in enumerate(lanes, 1):
        at = 0
        for position, seconds in zip(lane.jobs, lane.seconds, strict=True):
            if len(lines) == MOST_JOBS:
                lines.append(line((f"  and {plural(left, 'more job')}", "dim")))
                return lines
            job = jobs[position]
            times = f"{duration(at):>8} – {duration(at + seconds):<8}"
            dirs = plural(len(job.directories), "directory", "directories")
            about = f"{dirs}, {amounts_words(_amounts(job))}"
            named = fit(line((job.name, "")), min(name_room, 34))
            lines.append(
                (
                    *line((f"lane {number:<4,} ", "dim"), times, "  "),
                    *named,
                    *line((f"  {about}", "dim")),
                )
            )
            at += seconds
            left -= 1
    return lines


def _amounts(job: PlannedJob) -> ResourceAmounts:
    return ResourceAmounts(job.cpus, job.memory_mb or 0, job.gpus)


def _type_lines(row: TypeRow, unit: str, width: int) -> list[Line]:
    it = row.node_type
    lines = []
    if not row.on:
        text = line(("– off: ", "warning"), "jobs are packed without it; ", ("space", "key"),
                    " turns it on")  # fmt: skip
        lines.append(text)
    elif not row.nodes:
        lines.append(line(("○ ", "dim"), "the packing has no use for it"))
    else:
        words = (
            f"{plural(row.nodes, 'node')} for {plural(row.jobs, 'job')}, {costs(row.cost, unit)}"
        )
        lines += wrapped(line(("● ", "completed"), (words, "title")), width, 2)
        used = ", ".join(
            f"{name} {share.percent} used"
            + (f" ({share.held:.0%} held)" if share.held - share.busy > 0.005 else "")
            for name, share in zip(("cores", "memory", "GPUs"), row.shares, strict=True)
            if share is not None
        )
        lines += wrapped(line("  ", used), width, 2)
    return lines + [
        part
        for name, text in _facts(it, unit)
        for part in wrapped(line((f"  {name:<12}", "dim"), text), width, 14)
    ]


def _facts(it: NodeTypeView, unit: str) -> list[tuple[str, str]]:
    memory = "" if it.amounts.memory_mb else ", memory unknown"
    disk = f", {memory_text(it.amounts.disk_mb)} of disk" if it.amounts.disk_mb else ""
    cost = f"{price(it.price)} {visible(unit)} an hour".replace("  ", " ")
    if not it.priced:
        cost = "no price: counted by cores"
    facts = [("has", amounts_words(it.amounts) + memory + disk), ("costs", cost)]
    facts.append(("at most", "as many as wanted" if it.at_most is None else f"{it.at_most:,}"))
    if it.longest_seconds is not None:
        facts.append(("longest", limit(it.longest_seconds)))
    if it.boot_seconds:
        facts.append(("boots in", f"{limit(it.boot_seconds)}, which is paid for"))
    if it.whole_node:
        facts.append(("whole", "a job gets the whole node"))
    if it.source:
        facts.append(("source", visible(it.source)))
    return facts


def _alone_lines(row: AloneRow, jobs: Sequence[PlannedJob], width: int) -> list[Line]:
    many = plural(len(row.left.jobs), "job")
    lines = wrapped(line(("▲ ", "warning"), (f"{many} not packed: ", "warning"), row.left.reason),
                    width, 2)  # fmt: skip
    lines.append(line(("  they are sent as scheduler jobs of their own", "dim")))
    lines.append(())
    for position in row.left.jobs[:MOST_JOBS]:
        job = jobs[position]
        about = f"{amounts_words(_amounts(job))}, {limit(job.walltime_seconds)}"
        lines.append(line("  ", job.name, (f"  {about}", "dim")))
    if (more := len(row.left.jobs) - MOST_JOBS) > 0:
        lines.append(line((f"  and {plural(more, 'more job')}", "dim")))
    return lines
