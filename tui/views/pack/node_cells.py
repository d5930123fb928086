"""The lanes of a bundle over the cores or the memory of its node: the use of each, and the rest.

The input is a row of the packing; the output is lines of at most a width. A lane has a letter; each
letter takes as many columns as the lane has of the node.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase, ascii_uppercase

from rowtui.core.base.text import plural, visible
from rowtui.core.submission.plan.model import PlannedJob
from rowtui.tui.views.pack.bundles import BundleRow
from rowtui.tui.views.pack.slots import COLOURS, amounts_words, memory_text
from rowtui.tui.widgets.cells import Line, Span, line, wrapped
from rowtui.tui.widgets.numbers import duration

LETTERS = ascii_uppercase + ascii_lowercase
MOST_LANES = 256
MOST_COLUMNS = 128
"""The number of columns of the bar: more columns add no information."""


def node_lines(row: BundleRow, jobs: Sequence[PlannedJob], axis: str, width: int) -> list[Line]:
    """Return the node as a bar over its `axis`, "cores" or "memory"; then the meaning of each
    letter.
    """
    at = 0 if axis == "cores" else 1
    total = row.node_type.amounts[at]
    if not total:
        return [line((f"nobody says how much {axis} {row.node_type.name} has", "dim"))]
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
