"""The lines beneath a packing: a bundle, a node type, or jobs not packed.

The input is a row of the packing and the plan's jobs; the output is lines of at most a width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rowtui.core.base.text import memory, plural, priced, visible
from rowtui.core.clusters.model import NodeType
from rowtui.core.packing.model import ResourceAmounts
from rowtui.core.project.planning.pack_views import LaneView
from rowtui.core.submission.plan.model import PlannedJob
from rowtui.tui.views.pack.bundle_cells import amounts_words, an_hour, half_empty, slots
from rowtui.tui.views.pack.bundles import AloneRow, BundleRow, Row, TypeRow, capacity
from rowtui.tui.views.pack.lanes import MOST_SLOTS, SlotChart, first_directory, node_lines
from rowtui.tui.widgets.cells import Line, Span, fit, line, width_of, wrapped
from rowtui.tui.widgets.columns import TableColumn, place
from rowtui.tui.widgets.short_text import amount_of_hours, limit

MOST_JOBS = 400
"""The number of jobs that are listed one by one; one key opens the plan with all of them."""


def row_lines(
    row: Row, jobs: Sequence[PlannedJob], unit: str, width: int, *, axis: str = "time"
) -> list[Line]:
    """Return the details of the row under the cursor; slots over `axis`: time, cores or memory."""
    if isinstance(row, AloneRow):
        return _alone_lines(row, jobs, width)
    if isinstance(row, TypeRow):
        return _type_lines(row, unit, width)
    return _bundle_lines(row, jobs, axis, width)


def row_title(row: Row | None, unit: str) -> str:
    """Return the title of the frame around the details."""
    if row is None:
        return "Node"
    if isinstance(row, AloneRow):
        return "Not packed"
    if isinstance(row, TypeRow):
        return f"Node type {row.node_type.name}"
    bundle = row.bundle
    node = "The node" if row.times == 1 else f"One of {row.times:,} nodes"
    about = [
        amounts_words(capacity(row.node_type)),
        limit(bundle.seconds),
        priced(bundle.cost, unit),
    ]
    return f"{node} with {slots(row)}: {', '.join(about)}"


def _bundle_lines(row: BundleRow, jobs: Sequence[PlannedJob], axis: str, width: int) -> list[Line]:
    bundle = row.bundle
    lines: list[Line] = []
    if half_empty(row):
        text = "the node is less than half full: other jobs could go there as well"
        lines += wrapped(line(("▲ ", "warning"), (text, "warning")), width, 2)
    if axis != "time":
        return [*lines, *node_lines(row, jobs, axis, width)]
    if bundle.jobs == 1:
        lines.append(line(("1 job has the node for itself", "dim")))
    chart = SlotChart(bundle.lanes, bundle.busy_seconds, width)
    lines.append(chart.axis())
    lines += [
        chart.slot(number, lane, jobs) for number, lane in enumerate(bundle.lanes[:MOST_SLOTS], 1)
    ]
    if (more := len(bundle.lanes) - MOST_SLOTS) > 0:
        lines.append(line((f"  and {plural(more, 'more slot')}", "dim")))
    paid = row.node_type.cpus * bundle.busy_seconds / 3600
    idle = paid - sum(lane.amounts.cpus * sum(lane.seconds) for lane in bundle.lanes) / 3600
    if idle > paid / 1000:
        hours = f"{amount_of_hours(idle)} CPU-hours of {amount_of_hours(paid)}"
        lines += wrapped(line((f"··· idle: {hours} are paid for and not used", "dim")), width, 2)
    return [*lines, (), *_job_lines(bundle.lanes, jobs, width)]


def _job_lines(lanes: Sequence[LaneView], jobs: Sequence[PlannedJob], width: int) -> list[Line]:
    """Return when each job runs at the latest, and what it asks for, as rows with headings."""
    rows: list[dict[str, Line]] = []
    for number, lane in enumerate(lanes, 1):
        at = 0
        for position, seconds in zip(lane.jobs, lane.seconds, strict=True):
            job = jobs[position]
            rows.append({
                "slot": line(f"{number:,}"),
                "from": line(limit(at) if at else "0"),
                "to": line(limit(at + seconds)),
                "job": line(f"{job.action} {first_directory(job)}"),
                "directories": line(f"{len(job.directories):,}"),
                "cpus": line(f"{job.cpus:,}"),
                "memory": line(memory(job.memory_mb)) if job.memory_mb else line(("–", "dim")),
                "hours": line(amount_of_hours(job.cpus * seconds / 3600)),
            })  # fmt: skip
            at += seconds
        if len(rows) >= MOST_JOBS:
            break

    def widest(name: str) -> int:
        return max((width_of(row[name]) for row in rows), default=1)

    columns = (
        TableColumn("slot", "Slot", 4, align="right"),
        TableColumn("from", "From", max(4, widest("from")), align="right"),
        TableColumn("to", "To", max(4, widest("to")), align="right"),
        TableColumn("job", "Job", 16, max(16, widest("job"))),
        TableColumn("directories", "Directories", 4, 11, "right", priority=2, short="Dirs"),
        TableColumn("cpus", "CPUs", max(4, widest("cpus")), align="right"),
        TableColumn("memory", "Memory", max(6, widest("memory")), align="right", priority=3),
        TableColumn("hours", "CPU-hours", max(5, widest("hours")), 9, "right", 4, short="CPU-h"),
    )
    placed = place(columns, width)

    def joined(cells: Mapping[str, Line]) -> Line:
        parts = [fit(cells[one.column.id], one.width, one.column.align) for one in placed]
        return tuple(span for part in parts for span in (*part, Span("  ")))[:-1]

    lines = [joined({one.column.id: line((one.title, "heading")) for one in placed})]
    lines += map(joined, rows[:MOST_JOBS])
    if (more := sum(len(lane.jobs) for lane in lanes) - MOST_JOBS) > 0:
        lines.append(line((f"  and {plural(more, 'more job')}", "dim")))
    return lines


def _amounts(job: PlannedJob) -> ResourceAmounts:
    return ResourceAmounts(job.cpus, job.memory_mb or 0, job.gpus)


def _type_lines(row: TypeRow, unit: str, width: int) -> list[Line]:
    it = row.node_type
    lines = []
    if not row.on:
        words = "switched off: jobs are packed without it; "
        lines.append(line(("✗ ", "warning"), words, ("Space", "key"), " uses it again"))
    elif not row.nodes:
        lines.append(line(("○ ", "dim"), "not needed for these jobs"))
    else:
        words = (
            f"{plural(row.nodes, 'node')} for {plural(row.jobs, 'job')}, {priced(row.cost, unit)}"
        )
        lines += wrapped(line(("● ", "completed"), (words, "title")), width, 2)
        used = ", ".join(
            f"{name} {share.percent} used"
            + (f" ({share.held:.0%} held)" if share.held - share.busy > 0.005 else "")
            for name, share in zip(("CPUs", "memory", "GPUs"), row.shares, strict=True)
            if share is not None
        )
        lines += wrapped(line("  ", used), width, 2)
    return lines + [
        part
        for name, text in _facts(it, unit)
        for part in wrapped(line((f"  {name:<12}", "dim"), text), width, 14)
    ]


def _facts(it: NodeType, unit: str) -> list[tuple[str, str]]:
    unknown = "" if it.memory_mb else ", memory unknown"
    disk = f", {memory(it.disk_mb)} of disk" if it.disk_mb else ""
    cost = "no price: counted by CPUs" if it.price_per_hour is None else an_hour(it, unit)
    facts = [("has", amounts_words(capacity(it)) + unknown + disk), ("costs", cost)]
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
