"""`rowtui network show`: the network and its run, or the samples of one of its nodes.

With `--dot` the network is printed in Graphviz format: nodes with their number of completed jobs,
and links with marks.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from rowtui.cli.network.shared.json import network_document, samples_document
from rowtui.cli.network.shared.limits import logs_of, open_network
from rowtui.cli.network.shared.text import dimensions_of, link_marks, print_network, sample_lines
from rowtui.cli.output.output import Output
from rowtui.cli.pack.text import terminal_width
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.runs.networks import Networks
from rowtui.core.runs.views import NetworkView, NodeView
from rowtui.core.state.model import LastEnd

_SHAPES = {"source": "ellipse", "node": "box", "sink": "note"}


def dot_lines(view: NetworkView) -> Iterator[str]:
    """Yield the graph's lines; sinks have their own ids, as one may have the name of a node."""
    yield f"digraph {quoted(view.name)} {{"
    yield '  rankdir=LR; node [fontname="sans-serif"]; edge [fontname="sans-serif", fontsize=10];'
    for node in view.nodes:
        look = f"shape={_SHAPES[node.kind]}"
        if node.critical is not None:
            look += ", penwidth=2"
        if node.counts and node.counts[GraphJobState.FAILED]:
            look += ", color=red"
        if not node.needed:
            look += ", style=dashed"
        yield f"  {_id(node)} [label={quoted(_label(node))}, {look}];"
    kinds = {node.name: _id(node) for node in view.nodes if node.kind != "sink"}
    for link in view.links:
        found = [link.output, *link_marks(link)] if link.output else [*link_marks(link)]
        label = f" [label={quoted(chr(10).join(found))}]" if found else ""
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
        lines.append(f"{node.counts[GraphJobState.COMPLETED]:,} of {sum(node.counts):,} completed")
        if failed := node.counts[GraphJobState.FAILED]:
            lines.append(f"{failed:,} failed")
    return "\n".join(lines)


def run(args: argparse.Namespace, out: Output) -> int:
    """Print the network or the samples. Nothing is made or sent."""
    if args.states and args.node is None:
        raise RowtuiError("--state chooses samples of a node", "name the node as well")
    if args.dot and args.node is not None:
        raise RowtuiError("--dot draws the whole network", "leave the node out")
    networks = open_network(args, out)
    if args.node is not None:
        return _samples(args, networks, out)
    view = networks.view(args.run, frozen=not args.now)
    if args.json:
        found = network_document(view, _logs(networks, view), _ends(networks, view))
        out.json(found)
        return 0
    if args.dot:
        out.lines(dot_lines(view))
        return 0

    for problem in (*view.problems, *view.notices):
        out.warn(problem)
    print_network(view, _logs(networks, view), out, terminal_width())
    return 0


def _logs(networks: Networks, view: NetworkView) -> dict[int, str]:
    """Return the logs of failed jobs."""
    actions = {node.name: node.action for node in view.nodes if node.kind == "node"}
    keys = {it.job: (actions[it.node], it.directory) for it in view.failures}
    found = logs_of(networks, keys.values())
    return {job: found[key] for job, key in keys.items() if key in found}


def _ends(networks: Networks, view: NetworkView) -> dict[int, LastEnd]:
    """Return how the jobs of failed directories ended."""
    actions = {node.name: node.action for node in view.nodes if node.kind == "node"}
    state = networks.project.state
    found = {}
    for it in view.failures:
        position = state.directories.position(it.directory)
        end = state.ends.get(actions[it.node], {}).get(-1 if position is None else position)
        if end is not None:
            found[it.job] = end
    return found


def _samples(args: argparse.Namespace, networks: Networks, out: Output) -> int:
    states = [GraphJobState[state.upper()] for state in args.states]
    page = networks.samples(args.node, states, limit=args.limit, name=args.run, frozen=not args.now)
    running = None if args.now else networks.running(args.run)
    network = networks.study().network if running is None else running.run.network
    node = network.node(args.node)
    action = "" if node is None else node.action
    failed = [(action, it.directory) for it in page.samples if it.state == "failed"]
    logs = {directory: log for (_, directory), log in logs_of(networks, failed).items()}
    if args.json:
        out.json(samples_document(page, logs))
        return 0

    rows = [(it.directory, it.state, it.values, it.reason) for it in page.samples]
    if rows:
        out.lines(sample_lines(rows, out))
    else:
        out.print("There are no such samples." if states else "There are no samples yet.")
    if page.total > len(page.samples):
        out.note(f"{page.total - len(page.samples):,} more with -n {page.total}.")
    for directory, log in logs.items():
        out.note(f"log of {directory}: {log}")
    return 0
