"""A node of the network and a sample of it as lines."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from rowtui.core.base.text import plural, visible
from rowtui.tui.views.network.picture.boxes import IN_ORDER, link_mark
from rowtui.tui.views.network.samples import STATE_MARKS, value_text
from rowtui.tui.widgets.cells import line, wrapped
from rowtui.tui.widgets.short_text import GRAPH_MARKS, limit

if TYPE_CHECKING:
    from rowtui.core.project.views.files import FileContent
    from rowtui.core.runs.views import NetworkView, NodeView, SampleView
    from rowtui.tui.widgets.cells import Line


def node_lines(view: NetworkView, node: NodeView, width: int) -> list[Line]:
    """Return the details of a node: its jobs, dimensions, action, and inputs with their sources."""
    lines: list[Line] = []
    if not node.needed:
        lines.append(line(("no result needs it, so it does not run", "warning")))
    if node.counts:
        lines += wrapped(_states(node), width, 2)
    if node.kind == "source":
        lines.append(_field("samples", f"{node.samples:,}"))
    if node.lists:
        lists = plural(node.lists, "list")
        lines.append(_field("to come", f"samples of {lists} that jobs will make"))
    sizes = " × ".join(map(str, node.dimensions))
    if node.kind != "sink":
        lines += _fields("dimensions", sizes or "none: one sample", width)
    if node.action and node.action != node.name:
        lines.append(_field("action", node.action))
    if node.kind == "node":
        own = "its own" if node.home == node.name else f"those of {node.home}"
        lines.append(_field("in", f"directories: {own}"))
    if node.critical is not None:
        text = f"on the longest way to the end, {limit(round(node.critical))} of it"
        lines += wrapped(line(("◆ ", "warning"), (text, "warning")), width, 2)
    for link in view.links:
        if link.target == node.name and node.kind == "node":
            mark = link_mark(link)
            what = f"{link.source}{': ' + link.output if link.output else ''}"
            called = f"{link.input} " if link.input not in (link.source, "") else ""
            parts = [(f"{called}← ", "dim"), (what, ""), (f"  {mark}" if mark else "", "dim")]
            lines += wrapped(line(*parts), width, 2)
    for other in view.nodes:
        if other.kind == "sink" and other.home == node.name and node.kind != "sink":
            lines.append(line(("→ ", "dim"), f"sink {other.name}"))
    if node.kind == "sink":
        lines.append(line(("← ", "dim"), node.home))
    lines += [
        line(("→ ", "dim"), link.target)
        for link in view.links
        if link.source == node.name and node.kind != "sink"
    ]
    return lines


def _states(node: NodeView) -> Line:
    parts: list[tuple[str, str]] = []
    for state in IN_ORDER:
        mark = GRAPH_MARKS[state]
        if number := node.counts[state]:
            parts.append((f"{mark.glyph} {number:,} {mark.word}  ", mark.style))
    return line(*(parts or [("no jobs yet", "dim")]))


def sample_lines(sample: SampleView, width: int) -> list[Line]:
    """Return one sample: its state, the reason, and its values."""
    mark = STATE_MARKS.get(sample.state)
    lines: list[Line] = [mark.spans] if mark else []
    if sample.reason:
        lines += wrapped(line((sample.reason, "failed" if sample.state == "failed" else "")), width)
    lines += _fields("directory", sample.directory, width)
    for name, value in sample.values.items():
        lines += _fields(name, value_text(value), width)
    return lines


def _field(name: str, text: str) -> Line:
    return line((f"{name:<10} ", "dim"), text)


def _fields(name: str, text: str, width: int) -> list[Line]:
    return wrapped(_field(name, text), width, 11)


def product_lines(product: FileContent) -> list[Line]:
    """Return the beginning of a product: lines, or the columns of a table."""
    rows: Sequence[Sequence[str]] = product.rows or [(text,) for text in product.lines]
    if product.kind == "image":
        rows = [("a picture: Tab to this pane, and Enter",)]
    rows = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, cells)) for cells in zip_longest(*rows, fillvalue="")]
    lines = [
        line("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False)))
        for row in rows
    ]
    return [line((visible(os.path.basename(product.path)), "heading")), *lines]


def jobs_with_states(jobs: Mapping[int, str]) -> str:
    """Return `3 jobs (2 failed, 1 waiting)`."""
    counts: dict[str, int] = {}
    for state in jobs.values():
        counts[state] = counts.get(state, 0) + 1
    inside = ", ".join(f"{number:,} {state}" for state, number in counts.items())
    return f"{plural(len(jobs), 'job')} ({inside})"
