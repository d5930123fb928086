"""`rowtui network cancel`: cancel jobs of a run, with all jobs that need their results."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rowtui.cli.network.shared.project import open_network
from rowtui.cli.project.open import ask
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output.output import Output

WHY = "cancelled by hand"


def run(args: argparse.Namespace, out: Output) -> int:
    """Print the dependent jobs, ask, and record the cancellation."""
    networks = open_network(args, out)
    from rowtui.cli.network.shared.jobs import jobs_named, run_of
    from rowtui.core.network.graph.job_model import JobState
    from rowtui.core.runs.running import Running

    run = run_of(networks, args.run).run
    # Cancel in a temporary graph, to report the consequences.
    trial = Running(networks.project, run, drives=False)
    trial.look()
    jobs = jobs_named(trial, args.node, args.directories)
    for job in jobs:
        if trial.graph.state(job) is JobState.COMPLETED:
            raise RowtuiError(
                f"{visible(trial.growth.directory(job))} is completed already",
                "only what is still to do can be cancelled",
            )
    active = sum(trial.graph.state(job) is JobState.SUBMITTED for job in jobs)
    lost = set(trial.graph.cancel(jobs, WHY).cancelled) - set(jobs)
    out.print(f"{plural(len(jobs), 'job')} of node {visible(args.node)} would be cancelled.")
    if lost:
        nodes = Counter(trial.growth.where(job).node for job in lost)
        names = ", ".join(f"{visible(name)} {many:,}" for name, many in nodes.items())
        out.print(f"{plural(len(lost), 'job')} cannot run without: {names}.")
    if not (args.yes or ask("Proceed?", out)):
        out.warn("Nothing was cancelled.")
        return 1
    change = networks.give_up(jobs, WHY, args.run)
    networks.project.close()
    more = len(set(change.cancelled) - set(jobs))
    said = f"Cancelled {plural(len(jobs), 'job')}"
    out.print(f"{said}, and {more:,} that need their results." if more else f"{said}.")
    if active:
        out.note("What is with a scheduler goes on; 'rowtui cancel JOB' ends it.")
    return 0
