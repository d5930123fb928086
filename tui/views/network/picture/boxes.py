"""The content of the box of a node of a network, and of a link: names, progress, numbers.

Every state has a glyph, a word and a colour; if there is no room for words, the legend explains the
glyphs.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.text import plural, si
from rowtui.core.network.graph.job_model import LOST_STATES, GraphJobState
from rowtui.tui.widgets.cells import Span, line, percentage, portion, width_of
from rowtui.tui.widgets.short_text import GRAPH_MARKS

if TYPE_CHECKING:
    from rowtui.core.runs.views import LinkView, NetworkView, NodeView
    from rowtui.tui.widgets.cells import Line

NodeKey = tuple[str, str]
"""Kind and name: a sink may have the same name as a node."""

LEAST, MOST = 12, 26
"""Columns inside a box; a longer name is cut."""

IN_ORDER = tuple(GRAPH_MARKS)
"""The order of the states, as in the table of actions."""

URGENT_FIRST = (
    GraphJobState.FAILED,
    *(state for state in IN_ORDER if state is not GraphJobState.FAILED),
)
"""The order of the states where there is no room for all."""


class Arrow(NamedTuple):
    """A link as it is drawn: its ends, and what it does with samples."""

    source: NodeKey
    target: NodeKey
    mark: str = ""


def key_of(node: NodeView) -> NodeKey:
    """Return the key of a box."""
    return ("sink" if node.kind == "sink" else "", node.name)


def arrows(view: NetworkView) -> tuple[Arrow, ...]:
    """Return all links, also those into sinks; equal links appear once."""
    names = {node.name for node in view.nodes if node.kind != "sink"}
    found = [
        Arrow(("", one.source), ("", one.target), link_mark(one))
        for one in view.links
        if one.source in names and one.target in names
    ]
    found += [
        Arrow(("", node.home), key_of(node))
        for node in view.nodes
        if node.kind == "sink" and node.home in names
    ]
    return tuple(dict.fromkeys(found))


def link_mark(link: LinkView) -> str:
    """Return `over replica (4 or more)`, `one per fold`: what a link collapses and expands."""
    least = link.require.removeprefix("at least ") if link.require else ""
    parts = [f"one per {link.expand}"] if link.expand else []
    if link.collapse:
        parts.insert(
            0, "over " + ", ".join(link.collapse) + (f" ({least} or more)" if least else "")
        )
    return ", ".join(parts) or (f"{least} or more" if least else "")


def progress_bar(node: NodeView, width: int) -> Line:
    """Return `████▒▒░░░  45%`: completed, submitted, open, and at the end lost jobs."""
    counts = node.counts
    total = sum(counts) - counts[GraphJobState.SKIPPED]
    done, moving = counts[GraphJobState.COMPLETED], counts[GraphJobState.SUBMITTED]
    lost = sum(counts[state] for state in LOST_STATES)
    percent = percentage(done, total)
    room = width - len(percent)
    if room < 3:
        return (Span(percent[-width:]),)
    full = portion(done, total, room)
    half = portion(done + moving, total, room) - full
    bad = min(portion(lost, total, room), room - full - half)
    return (
        Span("█" * full, "completed"),
        Span("▒" * half, "submitted"),
        Span("░" * (room - full - half - bad), "faint"),
        Span("╳" * bad, "failed"),
        Span(percent),
    )


def counts_line(counts: Sequence[int], width: int, more: bool = False) -> Line:
    """Return the numbers of jobs by state, in words if they fit. `more`: lists will add jobs."""
    tail = [("+?", "waiting")] if more else []
    forms: list[list[tuple[str, str]]] = []
    for order, number, words, gap in (
        (IN_ORDER, str_of, True, "  "),
        (IN_ORDER, str_of, False, " "),
        (IN_ORDER, si, False, " "),
        (URGENT_FIRST, si, False, " "),
    ):
        there = [state for state in order if counts and counts[state]]
        parts: list[tuple[str, str]] = []
        for state in there:
            mark = GRAPH_MARKS[state]
            text = (
                f"{mark.glyph} {number(counts[state])} {mark.word}"
                if words
                else (f"{mark.glyph}{number(counts[state])}")
            )
            parts += [(gap, ""), (text, mark.style)] if parts else [(text, mark.style)]
        forms.append([*parts, *([(gap, "")] if parts and tail else []), *tail])
    for form in forms:
        if width_of(line(*form)) <= width:
            return line(*form)
    return line(*forms[-1])


def str_of(number: float) -> str:
    """Return the number with thousands commas."""
    return f"{number:,.0f}"


def size_text(node: NodeView) -> str:
    """Return `3×2×2`: the sizes of the dimensions."""
    if not node.dimensions:
        return ""
    return "×".join("?" if one.size is None else f"{one.size:,}" for one in node.dimensions)


def box_lines(node: NodeView, made_of: NodeView | None, width: int) -> list[Line]:
    """Return the two lines in a box. `made_of`: for a sink, the node whose results it takes."""
    if not node.needed:
        return [line(("not needed", "dim")), line(("by any result", "dim"))]
    if node.kind == "source":
        samples = plural(node.samples, "sample")
        short = samples if len(samples) <= width else f"{si(node.samples)} samples"
        sizes = size_text(node)
        return [line(short), line((sizes if len(node.dimensions) > 1 else "", "dim"))]
    shown = made_of if node.kind == "sink" and made_of is not None else node
    if not shown.counts:
        return [
            line(("no jobs yet", "dim")),
            line((f"{shown.lists:,} lists to come" * bool(shown.lists), "dim")),
        ]
    second = counts_line(shown.counts, width, bool(shown.lists))
    if node.kind == "sink":
        done, total = shown.counts[GraphJobState.COMPLETED], sum(shown.counts)
        more = "+?" if shown.lists else ""
        second = line((f"{done:,} of {total:,}{more}", "completed" if done == total else ""))
    return [progress_bar(shown, width), second]


def inner_width(names: Sequence[str], marks: Sequence[str], least: int = LEAST) -> int:
    """Return the inner width of a box: it does not depend on numbers, which change."""
    widest = max((width_of(line(text)) for text in (*names, *marks)), default=0)
    return max(least, min(MOST, widest))


def title_of(node: NodeView, *, critical: bool) -> str:
    """Return the name in the frame; a node on the critical path has a diamond."""
    return f"{node.name} ◆" if critical else node.name


Direction = tuple[int, int]


def nearest(
    places: dict[Hashable, tuple[float, float]], here: Hashable, way: Direction
) -> Hashable | None:
    """Return the nearest box in that direction; None if there is none."""
    x, y = places[here]
    best: tuple[float, Hashable] | None = None
    for key, (other_x, other_y) in places.items():
        along = (other_x - x) * way[0] + (other_y - y) * way[1]
        aside = abs((other_y - y) * way[0]) + abs((other_x - x) * way[1])
        if key != here and along > 0 and (best is None or along + 3 * aside < best[0]):
            best = (along + 3 * aside, key)
    return best[1] if best else None
