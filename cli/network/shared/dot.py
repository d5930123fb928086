"""A network in Graphviz format: nodes with their number of completed jobs, links with marks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rowtui.cli.network.shared.text import dimensions_of, link_marks
from rowtui.core.base.text import visible
from rowtui.core.network.graph.job_model import JobState

if TYPE_CHECKING:
    from rowtui.core.runs.views import NetworkView, NodeView

_SHAPES = {"source": "ellipse", "node": "box", "sink": "note"}


def dot_lines(view: NetworkView) -> Iterator[str]:
    """Yield the graph's lines.

    Sinks have separate ids, because a sink may have the name of a node.
    """
    yield f"digraph {quoted(view.name)} {{"
    yield '  rankdir=LR; node [fontname="sans-serif"]; edge [fontname="sans-serif", fontsize=10];'
    for node in view.nodes:
        look = f"shape={_SHAPES[node.kind]}"
        if node.critical is not None:
            look += ", penwidth=2"
        if node.counts and node.counts[JobState.FAILED]:
            look += ", color=red"
        if not node.needed:
            look += ", style=dashed"
        yield f"  {_id(node)} [label={quoted(_label(node))}, {look}];"
    kinds = {node.name: _id(node) for node in view.nodes if node.kind != "sink"}
    for link in view.links:
        said = [link.output, *link_marks(link)] if link.output else [*link_marks(link)]
        label = f" [label={quoted(chr(10).join(said))}]" if said else ""
        yield f"  {kinds[link.source]} -> {kinds[link.target]}{label};"
    for node in view.nodes:
        if node.kind == "sink" and node.home in kinds:
            yield f"  {kinds[node.home]} -> {_id(node)};"
    yield "}"


def quoted(text: str) -> str:
    """Return a string of DOT with newlines preserved and all other characters literal."""
    lines = (visible(line).replace("\\", "\\\\").replace('"', '\\"') for line in text.split("\n"))
    return '"' + "\\n".join(lines) + '"'


def _id(node: NodeView) -> str:
    return quoted(f"sink {node.name}" if node.kind == "sink" else node.name)


def _label(node: NodeView) -> str:
    if node.kind == "sink":
        return node.name
    lines = [node.name, dimensions_of(node)]
    if node.counts and sum(node.counts):
        lines.append(f"{node.counts[JobState.COMPLETED]:,} of {sum(node.counts):,} completed")
        if failed := node.counts[JobState.FAILED]:
            lines.append(f"{failed:,} failed")
    return "\n".join(lines)
