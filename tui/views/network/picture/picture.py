"""A network as a picture of characters: boxes with links between them.

Each line is computed when it is drawn. A link that touches the chosen node has the colour of that
node; a link on the critical path is heavy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from rowtui.core.runs.views import NetworkView
from rowtui.tui.views.network.picture.boxes import (
    LEAST,
    Arrow,
    Direction,
    NodeKey,
    arrows,
    box_lines,
    inner_width,
    key_of,
    nearest,
    title_of,
)
from rowtui.tui.views.network.picture.layout import Box, BoxPlace, DrawnLink, PictureLayout, lay_out
from rowtui.tui.widgets.cells import Line, Span, cut, fit, line, width_of

LEFT, RIGHT, UP, DOWN = 1, 2, 4, 8
_LIGHT = dict(
    zip((1, 2, 3, 4, 8, 12, 10, 9, 6, 5, 14, 13, 11, 7, 15), "───│││╭╮╰╯├┤┬┴┼", strict=True)
)
_HEAVY = dict(
    zip((1, 2, 3, 4, 8, 12, 10, 9, 6, 5, 14, 13, 11, 7, 15), "━━━┃┃┃┏┓┗┛┣┫┳┻╋", strict=True)
)
_FRAMES = {"": "╭╮╰╯─│", "chosen": "┏┓┗┛━┃", "critical": "╔╗╚╝═║"}


def critical_links(view: NetworkView) -> frozenset[tuple[str, str]]:
    """Return the links on the longest path, as pairs of names."""
    steps = [step.node for step in view.estimate.critical_path] if view.estimate else []
    return frozenset(pairwise(steps))


@dataclass(eq=False)
class Graph:
    """Boxes by their levels from left to right."""

    view: NetworkView
    layout: PictureLayout
    links: tuple[Arrow, ...]
    marks: Mapping[NodeKey, tuple[str, ...]]
    layout_of: tuple[list[Box], list[DrawnLink]] = field(default_factory=lambda: ([], []))
    critical: frozenset[tuple[str, str]] = field(init=False)
    # Boxes whose changed numbers are highlighted for a moment.
    changed: frozenset[NodeKey] = frozenset()

    def __post_init__(self) -> None:
        self.critical = critical_links(self.view)
        self.nodes = {key_of(node): node for node in self.view.nodes}

    @property
    def places(self) -> Mapping[NodeKey, BoxPlace]:
        """The position of each box."""
        return self.layout.boxes  # type: ignore[return-value]

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines of the canvas."""
        return self.layout.width, self.layout.height

    @cached_property
    def _cells(self) -> dict[int, dict[int, tuple[int, set[int]]]]:
        """By line and column: the directions in which links go from there, and the numbers of the
        links.
        """
        cells: dict[int, dict[int, tuple[int, set[int]]]] = {}

        def add(x: int, y: int, bits: int, number: int) -> None:
            known = cells.setdefault(y, {}).setdefault(x, (0, set()))
            known[1].add(number)
            cells[y][x] = (known[0] | bits, known[1])

        for number, path in enumerate(self.layout.paths):
            for (x, y), (to_x, to_y) in pairwise(path.points):
                if y == to_y:
                    for at in range(x, to_x + 1):
                        add(at, y, (LEFT if at > x else 0) | (RIGHT if at < to_x else 0), number)
                else:
                    low, high = min(y, to_y), max(y, to_y)
                    for at in range(low, high + 1):
                        add(x, at, (UP if at > low else 0) | (DOWN if at < high else 0), number)
            x, y = path.points[0]
            add(x, y, LEFT, number)
        return cells

    @cached_property
    def _ends(self) -> frozenset[tuple[int, int]]:
        return frozenset(path.points[-1] for path in self.layout.paths)

    @cached_property
    def _crossed(self) -> dict[int, list[NodeKey]]:
        """By line: the boxes on it, from the left."""
        found: dict[int, list[NodeKey]] = {}
        for key, place in sorted(self.places.items(), key=lambda one: one[1].x):
            for y in range(place.y, place.y + place.height):
                found.setdefault(y, []).append(key)
        return found

    def row(self, y: int, chosen: NodeKey | None, focus: bool) -> Line:
        """Return one line of the canvas."""
        pieces: list[tuple[int, Line]] = []
        for key in self._crossed.get(y, ()):
            place = self.places[key]
            pieces.append((place.x, self._box_line(key, y - place.y, chosen, focus)))
        pieces += [(x, (span,)) for x, span in self._link_spans(y, chosen)]
        spans: list[Span] = []
        at = 0
        for x, text in sorted(pieces, key=lambda one: one[0]):
            if x > at:
                spans.append(Span(" " * (x - at)))
            spans += text
            at = x + width_of(text)
        return tuple(spans)

    def _link_spans(self, y: int, chosen: NodeKey | None) -> list[tuple[int, Span]]:
        """Return the pieces of links on a line with their columns, joined where they look alike."""
        found: list[tuple[int, Span]] = []
        last = -2
        for x, (bits, numbers) in sorted(self._cells.get(y, {}).items()):
            ends = [self.links[number] for number in numbers]
            heavy = any((one.source[1], one.target[1]) in self.critical and not one.target[0]
                        for one in ends)  # fmt: skip
            touches = any(chosen in (one.source, one.target) for one in ends)
            glyph = "▸" if (x, y) in self._ends else (_HEAVY if heavy else _LIGHT)[bits]
            style = "key" if touches else "warning" if heavy else "dim"
            if found and x == last + 1 and found[-1][1].style == style:
                start, span = found[-1]
                found[-1] = (start, Span(span.text + glyph, style))
            else:
                found.append((x, Span(glyph, style)))
            last = x
        return found

    def _box_line(self, key: NodeKey, at: int, chosen: NodeKey | None, focus: bool) -> Line:
        node, place = self.nodes[key], self.places[key]
        here = key == chosen
        critical = node.critical is not None
        frame = _FRAMES["chosen" if here else "critical" if critical else ""]
        style = ("key" if focus else "heading") if here else "warning" if critical else "dim"
        inner = place.width - 4
        if at == 0:
            title = cut(
                line(
                    ("→ " if node.kind == "sink" else "", "dim"),
                    (title_of(node, critical=critical), "key" if here else "heading"),
                ),
                inner,
            )
            rest = frame[4] * (place.width - 4 - width_of(title))
            return (Span(frame[0] + " ", style), *title, Span(f" {rest}{frame[1]}", style))
        if at == place.height - 1:
            return (Span(frame[2] + frame[4] * (place.width - 2) + frame[3], style),)
        made_of = self.nodes.get(("", node.home)) if node.kind == "sink" else None
        lines = box_lines(node, made_of, inner)
        lines += [line((mark, "dim")) for mark in self.marks[key]]
        text = fit(lines[at - 1] if at <= len(lines) else (), inner)
        if key in self.changed and at == 2:  # The second line has the numbers.
            text = tuple(Span(span.text, "changed") for span in text)
        return (Span(frame[5] + " ", style), *text, Span(" " + frame[5], style))

    def neighbour(self, here: NodeKey, way: Direction) -> NodeKey | None:
        """Return the node at the end of a link in that direction; without one, the nearest box."""
        centres = {
            key: (place.x + place.width / 2, 2.0 * (place.y + place.height / 2))
            for key, place in self.places.items()
        }
        linked = (
            {one.target for one in self.links if one.source == here}
            if way == (1, 0)
            else (
                {one.source for one in self.links if one.target == here}
                if way == (-1, 0)
                else set()
            )
        )
        if linked:
            return min(
                linked,
                key=lambda key: (
                    not self.nodes[key].needed,
                    abs(centres[key][1] - centres[here][1]),
                ),
            )
        return nearest(centres, here, way)  # type: ignore[arg-type, return-value]


def graph(view: NetworkView, least: int = LEAST, known: Graph | None = None) -> Graph:
    """Return the picture of a network. `known`: one whose layout is reused for equal shapes."""
    links = arrows(view)
    nodes = {key_of(node): node for node in view.nodes}
    into: dict[NodeKey, list[Arrow]] = {key: [] for key in nodes}
    for one in links:
        into[one.target].append(one)
    marks = {
        key: tuple(dict.fromkeys(one.mark for one in found if one.mark))
        for key, found in into.items()
    }
    levels = sorted({node.level for node in view.nodes})
    width = {
        level: inner_width(
            [f"{node.name} ◆" for node in view.nodes if node.level == level],
            [mark for key, node in nodes.items() if node.level == level for mark in marks[key]],
            least,
        )
        for level in levels
    }
    boxes = [
        Box(key, node.level, width[node.level] + 4, 4 + len(marks[key]))
        for key, node in nodes.items()
    ]
    wires = []
    for one in links:
        alone = len(into[one.target]) == 1 or not one.mark
        wires.append(
            DrawnLink(one.source, one.target, 1 if alone else 3 + marks[one.target].index(one.mark))
        )
    if known is not None and known.links == links and known.layout_of == (boxes, wires):
        layout = known.layout
    else:
        layout = lay_out(boxes, wires)
    return Graph(view, layout, links, marks, (boxes, wires))
