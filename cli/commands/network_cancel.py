"""`rowtui network cancel`: give jobs of a run up, with all that needs their results."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rowtui.cli.network_project import open_network
from rowtui.cli.project import ask, is_interactive
from rowtui.core.errors import RowtuiError
from rowtui.core.text import plural, visible

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output import Output

WHY = "given up by hand"


def run(args: argparse.Namespace, out: Output) -> int:
    """Say what depends on them, ask, and write it down."""
    networks = open_network(args, out)
    from rowtui.cli.network_jobs import jobs_named, run_of
    from rowtui.core.network.job_model import JobState
    from rowtui.core.runs.running import Running

    run = run_of(networks, args.run).run
    # Given up in a graph that nobody keeps, to say what would follow.
    trial = Running(networks.project, run, drives=False)
    trial.look()
    jobs = jobs_named(trial, args.node, args.directories)
    for job in jobs:
        if trial.graph.state(job) is JobState.COMPLETE:
            raise RowtuiError(
                f"{visible(trial.growth.directory(job))} is done already",
                "only what is still to do can be given up",
            )
    active = sum(trial.graph.state(job) is JobState.ACTIVE for job in jobs)
    lost = set(trial.graph.cancel(jobs, WHY).cancelled) - set(jobs)
    out.print(f"{plural(len(jobs), 'job')} of node {visible(args.node)} would be given up.")
    if lost:
        nodes = Counter(trial.growth.where(job).node for job in lost)
        names = ", ".join(f"{visible(name)} {many:,}" for name, many in nodes.items())
        out.print(f"{plural(len(lost), 'job')} cannot run without: {names}.")
    if not args.yes:
        if not is_interactive():
            raise RowtuiError("nobody can be asked whether to give them up", "add --yes")
        if not ask("Proceed?", out):
            out.warn("Nothing was given up.")
            return 1
    change = networks.give_up(jobs, WHY, args.run)
    networks.project.close()
    more = len(set(change.cancelled) - set(jobs))
    said = f"Gave {plural(len(jobs), 'job')} up"
    out.print(f"{said}, and {more:,} that need their results." if more else f"{said}.")
    if active:
        out.note("What is with a scheduler goes on; 'rowtui cancel JOB' ends it.")
    return 0
