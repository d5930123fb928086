"""The lines beneath a packing: the lanes of a bundle, a node type, or jobs not packed.

The input is a row of the packing and the plan's jobs; the output is lines of at most a width. Over
time, jobs in a lane run one after another from left to right, each between brackets, with its name
if there is room. Over the cores or the memory of the node, each lane has a letter, which takes as
many columns as the lane has of the node.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase, ascii_uppercase
from typing import NamedTuple

from rich.cells import cell_len
from rowtui.core.base.text import plural, visible
from rowtui.core.packing.model import ResourceAmounts
from rowtui.core.project.planning.pack_views import LaneView, NodeTypeView
from rowtui.core.submission.plan.model import PlannedJob
from rowtui.tui.views.pack.bundles import (
    AloneRow,
    BundleRow,
    Row,
    TypeRow,
    costs,
    half_empty,
    price,
)
from rowtui.tui.widgets.cells import Line, Span, cut, fit, line, wrapped
from rowtui.tui.widgets.short_text import duration

# Lanes over cores and memory


LETTERS = ascii_uppercase + ascii_lowercase
MOST_COLUMNS = 128
"""The number of columns of the bar: more columns add no information."""


def node_lines(row: BundleRow, jobs: Sequence[PlannedJob], axis: str, width: int) -> list[Line]:
    """Return the node as a bar over its `axis`, "cores" or "memory", and what each letter means."""
    at = 0 if axis == "cores" else 1
    total = row.node_type.amounts[at]
    if not total:
        return [line((f"the {axis} of {row.node_type.name} is unknown", "dim"))]
    lanes = row.bundle.lanes[:MOST_LANES]
    taken = [lane.amounts[at] for lane in lanes]
    whole = max(total, sum(taken))
    room = max(8, min(width - 2, MOST_COLUMNS))
    each = _each(whole, room, 1 if axis == "cores" else 1024)
    room = -(-whole // each)
    spans: list[Span] = []
    passed = used = 0
    for number, (lane, amount) in enumerate(zip(lanes, taken, strict=True)):
        passed += amount
        end = min(room, round(passed / each))
        job = jobs[lane.jobs[0]]
        style = COLOURS[job.action_index % len(COLOURS)]
        spans.append(Span(letter(number) * (end - used), style))
        used = end
    free = whole - sum(taken)
    spans.append(Span("·" * (room - used), "faint"))
    text = (lambda n: f"{n:,}") if axis == "cores" else memory_text
    ends = f"0{text(whole):>{max(1, room - 1)}}"
    lines = [line(("  " + ends, "dim")), (Span("  "), *spans), ()]
    told = f"a column is {plural(each, 'core') if axis == 'cores' else memory_text(each)}"
    if free:
        told += f" · {text(free)} free"
    lines += wrapped(line((f"{axis} of {row.node_type.name}: {told}", "dim")), width, 2)
    for number, lane in enumerate(lanes):
        names = dict.fromkeys(visible(jobs[one].action) for one in lane.jobs)
        what = f"{plural(len(lane.jobs), 'job')} of {', '.join(names)}"
        about = f"  {amounts_words(lane.amounts)}, {duration(sum(lane.seconds))}"
        style = COLOURS[jobs[lane.jobs[0]].action_index % len(COLOURS)]
        lines.append(
            line((letter(number), style), f"  lane {number + 1:<4,}", what, (about, "dim"))
        )
    if (more := len(row.bundle.lanes) - MOST_LANES) > 0:
        lines.append(line((f"  and {plural(more, 'more lane')}", "dim")))
    return lines


def _each(whole: int, room: int, least: int) -> int:
    """Return the amount for one column: the least amount, doubled until the whole fits."""
    each = least
    while whole > each * room:
        each *= 2
    return each


def letter(number: int) -> str:
    """Return the letter of a lane, from 0; letters repeat if there are more lanes than letters."""
    return LETTERS[number % len(LETTERS)]


COLOURS = ("submitted", "string", "keyword", "variable", "directive")
"""Styles of actions, by their index: only a visual aid, because the names identify the actions."""

NAMED_FROM = 10
"""Columns that a job needs for its name; narrower jobs are drawn together as one piece."""

TOGETHER = 20
"""Columns of a piece with several jobs, which shows their number and their action."""

LEAST_NAME = 4
"""Least number of columns of a name; a shorter one is not readable."""

MOST_LANES = 256
"""The number of lanes that are drawn: more than any current node has cores."""

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


def amounts_words(amounts: ResourceAmounts) -> str:
    """Return `16 cores, 32 GB, 2 GPUs`; amounts that are zero, or unknown, are left out."""
    words = [plural(amounts.cpus, "core")]
    if amounts.memory_mb:
        words.append(memory_text(amounts.memory_mb))
    if amounts.gpus:
        words.append(plural(amounts.gpus, "GPU"))
    return ", ".join(words)


def memory_text(megabytes: int) -> str:
    """Return `512 MB`, `32 GB`, `1.5 TB`."""
    size, units = float(megabytes), ["MB", "GB", "TB", "PB"]
    while size >= 1024 and len(units) > 1:
        size, units = size / 1024, units[1:]
    return (
        f"{size:.0f} {units[0]}" if size >= 100 or size == int(size) else f"{size:.1f} {units[0]}"
    )


# A bundle


def _bundle_lines(
    row: BundleRow, jobs: Sequence[PlannedJob], unit: str, axis: str, width: int
) -> list[Line]:
    bundle = row.bundle
    lanes = plural(len(bundle.lanes), "lane")
    parts = [
        "one job, alone" if bundle.jobs == 1 else f"{plural(bundle.jobs, 'job')} in {lanes}",
        amounts_words(bundle.used),
        duration(bundle.seconds),
        costs(bundle.cost, unit),
    ]
    lines = wrapped(line((" · ".join(parts), "title")), width, 2)
    empty: list[Line] = []
    if half_empty(row):
        text = "the node is less than half full: others could go there as well"
        empty = [*wrapped(line(("▲ ", "warning"), (text, "warning")), width, 2), ()]
    if axis != "time":
        return [*lines, *node_lines(row, jobs, axis, width), (), *empty]
    chart = _Chart(bundle.lanes, bundle.busy_seconds, width)
    lines.append(chart.axis())
    lines += [
        chart.lane(number, lane, jobs) for number, lane in enumerate(bundle.lanes[:MOST_LANES], 1)
    ]
    if (more := len(bundle.lanes) - MOST_LANES) > 0:
        lines.append(line((f"  and {plural(more, 'more lane')}", "dim")))
    lines += [(), *empty]
    lines.append(line(("Who runs when, at the latest", "heading")))
    return lines + _who_runs_when(bundle.lanes, jobs, width)


class _Chart:
    """Lanes over time, with the amounts of each lane on the left."""

    def __init__(self, lanes: Sequence[LaneView], seconds: int, width: int) -> None:
        self.seconds = max(1, seconds)
        self.memory = any(lane.amounts.memory_mb for lane in lanes)
        self.gpus = any(lane.amounts.gpus for lane in lanes)
        self.digits = max(len(f"{len(lanes):,}"), len("lane"))
        self.left = self.digits + 7 + 9 * self.memory + 6 * self.gpus
        # The times matter more than the amounts, which are also shown below.
        if width - self.left < 24:
            self.memory = self.gpus = False
            self.left = self.digits + 7
        self.room = max(8, width - self.left - 1)

    def axis(self) -> Line:
        """Return the times above the lanes."""
        heads = f"{'lane':>{self.digits}}  cores"
        heads += f"{'memory':>9}" if self.memory else ""
        heads += f"{'GPUs':>6}" if self.gpus else ""
        ticks = 4 if self.room >= 60 else 2 if self.room >= 30 else 1
        text = [" "] * self.room
        free = self.room  # Labels are placed from the right, so that the end is always shown.
        for tick in range(ticks, -1, -1):
            label = duration(self.seconds * tick // ticks) if tick else "0"
            end = min(self.room, round(self.room * tick / ticks) + (len(label) + 1) // 2)
            begin = max(0, end - len(label)) if tick else 0
            if begin + len(label) < free or tick == ticks:
                text[begin : begin + len(label)] = label
                free = begin
        return line((heads + " ", "heading"), ("".join(text)[: self.room], "dim"))

    def lane(self, number: int, lane: LaneView, jobs: Sequence[PlannedJob]) -> Line:
        """Return one lane: its amounts, and its jobs from left to right."""
        amounts = f"{number:>{self.digits},}  {lane.amounts.cpus:>5,}"
        if self.memory:
            memory = memory_text(lane.amounts.memory_mb) if lane.amounts.memory_mb else "–"
            amounts += f"{memory:>9}"
        if self.gpus:
            amounts += f"{lane.amounts.gpus or '–':>6}"
        blocks = _blocks(lane, self.seconds, self.room)
        spans: list[Span] = [Span(amounts + " ", "")]
        for block in blocks:
            spans += _drawn(block, lane, jobs)
        free = self.room - sum(block.width for block in blocks)
        spans.append(Span("·" * free, "faint"))
        return tuple(spans)


class _Block(NamedTuple):
    """Jobs `first` to `last` (exclusive) of a lane, drawn as one piece."""

    first: int
    last: int
    width: int


def _blocks(lane: LaneView, seconds: int, room: int) -> list[_Block]:
    """Return the pieces of a lane: single jobs if their names fit, otherwise several together."""
    total = sum(lane.seconds)
    wide = room * total / seconds
    together = 1
    if lane.jobs and wide / len(lane.jobs) < NAMED_FROM:
        pieces = max(1, int(wide // TOGETHER))
        together = -(-len(lane.jobs) // pieces)
    blocks = []
    at, passed = 0, 0
    for first in range(0, len(lane.jobs), together):
        last = min(first + together, len(lane.jobs))
        passed += sum(lane.seconds[first:last])
        end = min(room, max(at + 1, round(room * passed / seconds)))
        if end > at:
            blocks.append(_Block(first, last, end - at))
            at = end
    return blocks


def _drawn(block: _Block, lane: LaneView, jobs: Sequence[PlannedJob]) -> list[Span]:
    job = jobs[lane.jobs[block.first]]
    many = block.last - block.first
    style = COLOURS[job.action_index % len(COLOURS)]
    if block.width < 3:
        return [Span("[]"[: block.width] if block.width == 2 else "▌", style)]
    room = block.width - 2
    text = visible(job.name) if many == 1 else f"{plural(many, 'job')} {visible(job.action)}"
    label = "".join(span.text for span in cut((Span(text),), room)) if room >= LEAST_NAME else ""
    fill = Span("─" * (room - _columns(label)), style)
    return [Span("[", style), Span(label, ""), fill, Span("]", style)]


def _columns(text: str) -> int:
    return cell_len(text)


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


# A node type, and jobs that are not packed


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
        facts.append(("longest", duration(it.longest_seconds)))
    if it.boot_seconds:
        facts.append(("boots in", f"{duration(it.boot_seconds)}, which is paid for"))
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
        about = f"{amounts_words(_amounts(job))}, {duration(job.walltime_seconds)}"
        lines.append(line("  ", job.name, (f"  {about}", "dim")))
    if (more := len(row.left.jobs) - MOST_JOBS) > 0:
        lines.append(line((f"  and {plural(more, 'more job')}", "dim")))
    return lines
