"""The slots of a node as drawings over the CPUs or the memory of the node, and over time.

A slot is a share of a node in which jobs run one after another. Over time, each job is a block in
the colour of its action, with its name if there is room. Over the CPUs or the memory of the node,
each slot has a letter, which takes as many columns as the slot has of the node.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase, ascii_uppercase
from typing import NamedTuple

from rich.cells import cell_len
from rowtui.core.base.text import memory, plural, visible
from rowtui.core.project.planning.pack_views import LaneView
from rowtui.core.submission.plan.model import PlannedJob
from rowtui.tui.views.pack.bundle_cells import amounts_words
from rowtui.tui.views.pack.bundles import BundleRow, capacity
from rowtui.tui.widgets.cells import Line, Span, cut, line, wrapped
from rowtui.tui.widgets.short_text import limit

LETTERS = ascii_uppercase + ascii_lowercase
MOST_COLUMNS = 128
"""The number of columns of the bar: more columns add no information."""

COLOURS = ("string", "keyword", "variable", "directive")
"""Styles of actions, by their index: only a visual aid, because the names identify the actions."""


def colour_of(job: PlannedJob) -> str:
    """Return the style of a job's action; `fill-` and the style is its block."""
    return COLOURS[job.action_index % len(COLOURS)]


def first_directory(job: PlannedJob) -> str:
    """Return the first directory of a job, or its name if it has none."""
    return job.directories[0] if job.directories else job.name


def node_lines(row: BundleRow, jobs: Sequence[PlannedJob], axis: str, width: int) -> list[Line]:
    """Return the node as a bar over its `axis`, "cores" or "memory", and what each letter means."""
    at, name = (0, "CPUs") if axis == "cores" else (1, "memory")
    total = capacity(row.node_type)[at]
    if not total:
        return [line((f"the {name} of {row.node_type.name} is unknown", "dim"))]
    lanes = row.bundle.lanes[:MOST_SLOTS]
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
        spans.append(Span(letter(number) * (end - used), f"fill-{colour_of(jobs[lane.jobs[0]])}"))
        used = end
    free = whole - sum(taken)
    spans.append(Span("·" * (room - used), "dim"))
    text = (lambda n: f"{n:,}") if axis == "cores" else memory
    ends = f"0{text(whole):>{max(1, room - 1)}}"
    lines = [line(("  " + ends, "dim")), (Span("  "), *spans), ()]
    sentence = f"a column is {plural(each, 'CPU') if axis == 'cores' else memory(each)}"
    if free:
        sentence += f" · {text(free)} free"
    lines += wrapped(line((f"{name} of {row.node_type.name}: {sentence}", "dim")), width, 2)
    for number, lane in enumerate(lanes):
        names = dict.fromkeys(visible(jobs[one].action) for one in lane.jobs)
        what = f"{plural(len(lane.jobs), 'job')} of {', '.join(names)}"
        about = f"  {amounts_words(lane.amounts)}, {limit(sum(lane.seconds))}"
        style = colour_of(jobs[lane.jobs[0]])
        lines.append(
            line((letter(number), style), f"  slot {number + 1:<4,}", what, (about, "dim"))
        )
    if (more := len(row.bundle.lanes) - MOST_SLOTS) > 0:
        lines.append(line((f"  and {plural(more, 'more slot')}", "dim")))
    return lines


def _each(whole: int, room: int, least: int) -> int:
    """Return the amount for one column: the least amount, doubled until the whole fits."""
    each = least
    while whole > each * room:
        each *= 2
    return each


def letter(number: int) -> str:
    """Return the letter of a slot, from 0; letters repeat if there are more slots than letters."""
    return LETTERS[number % len(LETTERS)]


NAMED_FROM = 10
"""Columns that a job needs for its name; narrower jobs are drawn together as one piece."""

TOGETHER = 20
"""Columns of a piece with several jobs, which shows their number and their action."""

LEAST_NAME = 4
"""Least number of columns of a name; a shorter one is not readable."""

MOST_SLOTS = 256
"""The number of slots that are drawn: more than any current node has CPUs."""


class SlotChart:
    """Slots over time, with the CPUs and the amounts of each slot on the left."""

    def __init__(self, lanes: Sequence[LaneView], seconds: int, width: int) -> None:
        self.seconds = max(1, seconds)
        self._ranges: list[str] = []
        first = 0
        for lane in lanes[:MOST_SLOTS]:
            last = first + lane.amounts.cpus - 1
            self._ranges.append(f"{first:,}–{last:,}" if last > first else f"{first:,}")
            first += lane.amounts.cpus
        self._broad = max([len("CPUs"), *map(len, self._ranges)])
        self._memory = any(lane.amounts.memory_mb for lane in lanes)
        self._gpus = any(lane.amounts.gpus for lane in lanes)
        left = 8 + self._broad
        # The times matter more than the amounts, which are also shown below.
        if width - left - 10 * self._memory - 6 * self._gpus < 24:
            self._memory = self._gpus = False
        self.room = max(8, width - left - 10 * self._memory - 6 * self._gpus - 1)

    def _left(self, slot: str, cpus: str, amount: str, gpus: str) -> str:
        text = f"{slot:>4}  {cpus:<{self._broad}}"
        text += f"{amount:>10}" if self._memory else ""
        return text + (f"{gpus:>6}" if self._gpus else "") + "  "

    def axis(self) -> Line:
        """Return the times above the slots."""
        ticks = 4 if self.room >= 60 else 2 if self.room >= 30 else 1
        text = [" "] * self.room
        free = self.room  # Labels are placed from the right, so that the end is always shown.
        for tick in range(ticks, -1, -1):
            label = limit(self.seconds * tick // ticks) if tick else "0"
            end = min(self.room, round(self.room * tick / ticks) + (len(label) + 1) // 2)
            begin = max(0, end - len(label)) if tick else 0
            if begin + len(label) < free or tick == ticks:
                text[begin : begin + len(label)] = label
                free = begin
        heads = self._left("Slot", "CPUs", "Memory", "GPUs")
        return line((heads, "heading"), ("".join(text)[: self.room], "dim"))

    def slot(self, number: int, lane: LaneView, jobs: Sequence[PlannedJob]) -> Line:
        """Return one slot: its CPUs and amounts, and its jobs from left to right."""
        amounts = lane.amounts
        shown = memory(amounts.memory_mb) if amounts.memory_mb else "–"
        gpus = f"{amounts.gpus or '–'}"
        blocks = _blocks(lane, self.seconds, self.room)
        spans: list[Span] = [Span(self._left(f"{number:,}", self._ranges[number - 1], shown, gpus))]
        for block in blocks:
            spans += _drawn(block, lane, jobs)
        free = self.room - sum(block.width for block in blocks)
        spans.append(Span("·" * free, "dim"))
        return tuple(spans)


class _Block(NamedTuple):
    """Jobs `first` to `last` (exclusive) of a slot, drawn as one piece."""

    first: int
    last: int
    width: int


def _blocks(lane: LaneView, seconds: int, room: int) -> list[_Block]:
    """Return the pieces of a slot: single jobs if their names fit, otherwise several together."""
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
    style = colour_of(job)
    if block.width < 3:
        return [Span("▐▌"[-block.width :], style)]
    room = block.width - 2
    text = f" {visible(job.action)} {visible(first_directory(job))}"
    if (more := len(job.directories) - 1) > 0:
        text += f" and {more:,} more"
    if (many := block.last - block.first) > 1:
        names = {jobs[one].action for one in lane.jobs[block.first : block.last]}
        text = f" {plural(many, 'job')}" + f" of {visible(job.action)}" * (len(names) == 1)
    label = "".join(span.text for span in cut((Span(text),), room)) if room >= LEAST_NAME else ""
    fill = " " * (room - cell_len(label))
    return [Span("▐", style), Span(label + fill, f"fill-{style}"), Span("▌", style)]
