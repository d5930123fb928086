"""`rowtui network retry`: let failed jobs of a run be tried again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.cli.network.shared.project import open_network
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from rowtui.cli.output.output import Output
    from rowtui.core.runs.running import Running


def run(args: argparse.Namespace, out: Output) -> int:
    """Record that the jobs are to be retried; `run` retries them."""
    if args.all == (args.node is not None):
        raise RowtuiError(
            "say which jobs are to be tried again",
            "name a node, with or without directories of it, or give --all",
        )
    networks = open_network(args, out)
    from rowtui.cli.network.shared.jobs import jobs_in, jobs_named, run_of
    from rowtui.cli.network.shared.limits import raise_budget
    from rowtui.core.network.graph.job_model import JobState
    from rowtui.core.runs.model import BY_HAND

    running = run_of(networks, args.run)
    if args.directories:
        jobs = jobs_named(running, args.node, args.directories)
        _refuse_what_did_not_fail(running, jobs)
    else:
        graph = running.graph
        cancelled = jobs_in(running, (JobState.CANCELLED,), args.node)
        jobs = [
            *jobs_in(running, (JobState.FAILED,), args.node),
            *(it for it in cancelled if graph.reason(it) == BY_HAND),
        ]
    if not jobs:
        out.print("No job failed.")
        return 0
    change = networks.retry(jobs, args.run)
    raise_budget(networks, running.run, out)
    networks.project.close()
    back = len(set(change.back) - set(jobs))
    more = f", and {plural(back, 'job')} that wait for them" if back else ""
    out.print(f"{plural(len(jobs), 'job')} will be tried again{more}.")
    out.note("'rowtui network run' goes on with the run.")
    return 0


def _refuse_what_did_not_fail(running: Running, jobs: Sequence[int]) -> None:
    """Refuse jobs that did not fail. Raises: RowtuiError naming the jobs to retry instead."""
    for job in jobs:
        causes = running.graph.root_causes(job)
        if causes != [job]:
            name = visible(running.growth.directory(job))
            state = running.graph.state(job).name.lower()
            first = running.growth.where(causes[0]).node if causes else ""
            raise RowtuiError(
                f"the job of {name} is {state}: it did not fail by itself",
                f"retry what it was lost with, in node {visible(first)}: "
                f"{', '.join(visible(running.growth.directory(it)) for it in causes[:3])}"
                if causes
                else "",
            )
