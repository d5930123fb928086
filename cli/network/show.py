"""`rowtui network show`: the network and its run, or the samples of one of its nodes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rowtui.cli.network.shared.project import logs_of, open_network
from rowtui.core.base.errors import RowtuiError

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output.output import Output
    from rowtui.core.runs.networks import Networks
    from rowtui.core.runs.views import NetworkView
    from rowtui.core.state.model import LastEnd


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
        from rowtui.cli.network.shared.json import network_json

        found = network_json(view, _logs(networks, view), _ends(networks, view))
        out.print(json.dumps(found, indent=2))
        return 0
    if args.dot:
        from rowtui.cli.network.shared.dot import dot_lines

        out.lines(dot_lines(view))
        return 0
    from rowtui.cli.network.shared.text import print_network
    from rowtui.cli.pack.text import terminal_width

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
    from rowtui.core.network.graph.job_model import JobState

    states = [JobState[state.upper()] for state in args.states]
    page = networks.samples(args.node, states, limit=args.limit, name=args.run, frozen=not args.now)
    running = None if args.now else networks.running(args.run)
    network = networks.study().network if running is None else running.run.network
    node = network.node(args.node)
    action = "" if node is None else node.action
    failed = [(action, it.directory) for it in page.samples if it.state == "failed"]
    logs = {directory: log for (_, directory), log in logs_of(networks, failed).items()}
    if args.json:
        from rowtui.cli.network.shared.json import samples_json

        out.print(json.dumps(samples_json(page, logs), indent=2))
        return 0
    from rowtui.cli.network.shared.text import sample_lines

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
