"""`rowtui network show`: the network and its run, or the samples of one of its nodes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rowtui.cli.network_project import logs_of, open_network
from rowtui.core.errors import RowtuiError
from rowtui.core.text import visible

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output import Output
    from rowtui.core.network.job_model import JobState
    from rowtui.core.network.spec import Network
    from rowtui.core.runs.networks import Networks
    from rowtui.core.runs.views import NetworkView, SamplesPage


def run(args: argparse.Namespace, out: Output) -> int:
    """Print it. Nothing is made or sent."""
    if args.states and args.node is None:
        raise RowtuiError("--state chooses samples of a node", "name the node as well")
    if args.dot and args.node is not None:
        raise RowtuiError("--dot draws the whole network", "leave the node out")
    networks = open_network(args, out)
    if args.node is not None:
        return _samples(args, networks, out)
    view = networks.view(args.run, frozen=not args.now)
    if args.json:
        from rowtui.cli.network_json import network_json

        out.print(json.dumps(network_json(view, _logs(networks, view)), indent=2))
        return 0
    if args.dot:
        from rowtui.cli.network_dot import dot_lines

        out.lines(dot_lines(view))
        return 0
    from rowtui.cli.network_text import print_network
    from rowtui.cli.pack_text import terminal_width

    for problem in (*view.problems, *view.notices):
        out.warn(problem)
    print_network(view, _logs(networks, view), out, terminal_width())
    return 0


def _logs(networks: Networks, view: NetworkView) -> dict[int, str]:
    """The logs of failed jobs."""
    actions = {node.name: node.action for node in view.nodes if node.kind == "node"}
    keys = {it.job: (actions[it.node], it.directory) for it in view.failures}
    found = logs_of(networks, keys.values())
    return {job: found[key] for job, key in keys.items() if key in found}


def _samples(args: argparse.Namespace, networks: Networks, out: Output) -> int:
    from rowtui.core.network.job_model import JobState

    states = [JobState[state.upper()] for state in args.states]
    if args.now:
        page, network = _page_now(args, networks, states)
    else:
        page = networks.samples(args.node, states, limit=args.limit, name=args.run)
        running = networks.running(args.run)
        network = networks.study().network if running is None else running.run.network
    node = network.node(args.node)
    action = "" if node is None else node.action
    failed = [(action, it.directory) for it in page.samples if it.state == "failed"]
    logs = {directory: log for (_, directory), log in logs_of(networks, failed).items()}
    if args.json:
        from rowtui.cli.network_json import samples_json

        out.print(json.dumps(samples_json(page, logs), indent=2))
        return 0
    from rowtui.cli.network_text import sample_lines

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


def _page_now(
    args: argparse.Namespace, networks: Networks, states: list[JobState]
) -> tuple[SamplesPage, Network]:
    """Samples as network.toml says them now, in no run."""
    from rowtui.core.network.growth import Growth
    from rowtui.core.runs.show import samples_page
    from rowtui.core.runs.simulation import take_complete

    study = networks.study()
    growth = Growth(study.flow)
    if args.node not in growth.flow.numbers:
        raise RowtuiError(f"the network has no source or node '{visible(args.node)}'")
    take_complete(networks.project, growth)
    return samples_page(growth, args.node, states, 0, args.limit), study.network
