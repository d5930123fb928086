"""The lanes of a bundle as drawings over the cores or the memory of a node, and over time.

Over time, jobs in a lane run one after another from left to right, each between brackets, with its
name if there is room. Over the cores or the memory of the node, each lane has a letter, which takes
as many columns as the lane has of the node.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase, ascii_uppercase
from typing import NamedTuple

from rich.cells import cell_len
from rowtui.core.base.text import plural, visible
from rowtui.core.project.planning.pack_views import LaneView
from rowtui.core.submission.plan.model import PlannedJob
from rowtui.tui.views.pack.bundle_cells import amounts_words, memory_text
from rowtui.tui.views.pack.bundles import BundleRow
from rowtui.tui.widgets.cells import Line, Span, cut, line, wrapped
from rowtui.tui.widgets.short_text import limit

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
    sentence = f"a column is {plural(each, 'core') if axis == 'cores' else memory_text(each)}"
    if free:
        sentence += f" · {text(free)} free"
    lines += wrapped(line((f"{axis} of {row.node_type.name}: {sentence}", "dim")), width, 2)
    for number, lane in enumerate(lanes):
        names = dict.fromkeys(visible(jobs[one].action) for one in lane.jobs)
        what = f"{plural(len(lane.jobs), 'job')} of {', '.join(names)}"
        about = f"  {amounts_words(lane.amounts)}, {limit(sum(lane.seconds))}"
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


class LaneChart:
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
            label = limit(self.seconds * tick // ticks) if tick else "0"
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
