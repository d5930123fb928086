"""`rowtui network redo`: have completed jobs run again, with all jobs that used their results."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rowtui.cli.network.shared.project import open_network
from rowtui.cli.project.open import ask, say_notices
from rowtui.core.base.text import plural, visible

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output.output import Output


def run(args: argparse.Namespace, out: Output) -> int:
    """Print the jobs to run again, ask, and put their products away; `run` makes them again."""
    networks = open_network(args, out)
    from rowtui.cli.network.shared.jobs import jobs_in, jobs_named, run_of
    from rowtui.cli.network.shared.limits import raise_budget
    from rowtui.core.network.graph.job_model import JobState
    from rowtui.core.runs.redo import with_what_follows

    running = run_of(networks, args.run)
    if args.directories:
        jobs = jobs_named(running, args.node, args.directories)
    elif args.node is not None:
        jobs = jobs_in(running, (JobState.COMPLETED,), args.node)
    else:
        jobs = [it.job for it in networks.stale(args.run)]
    if not jobs:
        out.print(
            "Every result was made from what there is now."
            if args.node is None
            else f"Nothing of node {visible(args.node)} is completed."
        )
        return 0
    every = with_what_follows(running, jobs)
    nodes = Counter(running.growth.where(job).node for job in every)
    names = ", ".join(f"{visible(name)} {many:,}" for name, many in nodes.items())
    out.print(f"{plural(len(every), 'job')} would run again: {names}.")
    out.print("What they made goes to the trash.")
    if not (args.yes or ask("Proceed?", out)):
        out.warn("Nothing was put away.")
        return 1
    done = networks.redo(jobs, args.run)
    raise_budget(networks, running.run, out)
    say_notices(networks.project, out)
    networks.project.close()
    for refused in done.refused:
        out.error(f"{visible(refused.name)} stays: {refused.why}")
    if done.trash:
        out.note(f"'rowtui network restore {done.trash}' brings back what they had made.")
    out.note("'rowtui network run' goes on with the run.")
    return 1 if done.refused else 0
