"""`rowtui network cancel`, `redo` and `retry`: jobs of a run, named by node and directories.

`cancel` also cancels the jobs that need the results of the cancelled jobs. `redo` lets completed
jobs run again, with all jobs that used their results. `retry` lets failed jobs run again.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence

from rowtui.cli.network.shared.limits import open_network, raise_budget
from rowtui.cli.output.output import Output
from rowtui.cli.project.open import ask, say_notices
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.runs.model import BY_HAND
from rowtui.core.runs.networks import Networks
from rowtui.core.runs.redo import with_what_follows
from rowtui.core.runs.running import OpenRun
from rowtui.core.runs.store import Run
from rowtui.core.workflow.toml_file import did_you_mean


def run_of(networks: Networks, name: str | None) -> OpenRun:
    """Return the current state of the run. Raises: RowtuiError if there is none."""
    running = networks.running(name)
    if running is None:
        raise RowtuiError("there is no run of this network", "'rowtui network run' begins one")
    return running


def chosen_run(networks: Networks, name: str | None) -> Run:
    """Return the run of this name, or the newest. Raises: RowtuiError if there is none."""
    run = networks.run(name)
    if run is None:
        raise RowtuiError("there is no run of this network", "'rowtui network run' begins one")
    return run


def jobs_named(running: OpenRun, node: str, directories: Sequence[str]) -> list[int]:
    """Return the jobs of a node in these directories. Raises: RowtuiError for unknown names."""
    refuse_unless_node(running, node)
    found = []
    for name in directories:
        job = running.growth.job_in(node, name.rstrip("/") or name)
        if job is None:
            raise RowtuiError(
                f"node '{visible(node)}' has no sample in directory '{visible(name)}'",
                f"'rowtui network show {visible(node)}' lists its samples",
            )
        found.append(job)
    return list(dict.fromkeys(found))


def refuse_unless_node(running: OpenRun, node: str) -> None:
    """Refuse a name that is no node with jobs in the run. Raises: RowtuiError."""
    runs = running.growth.flow.runs
    if node not in runs:
        near = did_you_mean(node, tuple(runs))
        known = ", ".join(map(visible, runs))
        raise RowtuiError(f"run {running.run.id} has no node '{visible(node)}'", near or known)


def jobs_in(running: OpenRun, states: Sequence[GraphJobState], node: str | None) -> list[int]:
    """Return all jobs in these states, or those of one node."""
    every = running.graph.snapshot().states
    wanted = {int(state) for state in states}
    if node is not None:
        refuse_unless_node(running, node)
        return [job for job in running.growth.jobs(node).tolist() if every[job] in wanted]
    return [job for job, state in enumerate(every) if state in wanted]


WHY = "cancelled by hand"


def run(args: argparse.Namespace, out: Output) -> int:
    """Print the dependent jobs, ask, and record the cancellation."""
    networks = open_network(args, out)

    run = run_of(networks, args.run).run
    # Cancel in a temporary graph, to report the consequences.
    trial = OpenRun(networks.project, run, drives=False)
    trial.look()
    jobs = jobs_named(trial, args.node, args.directories)
    for job in jobs:
        if trial.graph.state(job) is GraphJobState.COMPLETED:
            raise RowtuiError(
                f"{visible(trial.growth.directory(job))} is completed already",
                "only jobs that have not run can be cancelled",
            )
    active = sum(trial.graph.state(job) is GraphJobState.SUBMITTED for job in jobs)
    lost = set(trial.graph.cancel(jobs, WHY).cancelled) - set(jobs)
    out.print(f"{plural(len(jobs), 'sample')} of node {visible(args.node)} would be cancelled.")
    if lost:
        nodes = Counter(trial.growth.where(job).node for job in lost)
        names = ", ".join(f"{visible(name)} {many:,}" for name, many in nodes.items())
        out.print(f"{plural(len(lost), 'sample')} cannot run without: {names}.")
    if not (args.yes or ask("Proceed?", out)):
        out.warn("Nothing was cancelled.")
        return 1
    change = networks.give_up(jobs, WHY, args.run)
    networks.project.close()
    more = len(set(change.cancelled) - set(jobs))
    text = f"Cancelled {plural(len(jobs), 'sample')}"
    out.print(f"{text}, and {more:,} that depend on their results." if more else f"{text}.")
    if active:
        out.note("Jobs that a scheduler already has continue; 'rowtui cancel JOB' ends one.")
    return 0


def redo(args: argparse.Namespace, out: Output) -> int:
    """Print the jobs to run again, ask, and put their products away; `run` makes them again."""
    networks = open_network(args, out)

    running = run_of(networks, args.run)
    if args.directories:
        jobs = jobs_named(running, args.node, args.directories)
    elif args.node is not None:
        jobs = jobs_in(running, (GraphJobState.COMPLETED,), args.node)
    else:
        jobs = [it.job for it in networks.stale(args.run)]
    if not jobs:
        out.print(
            "Every result was made from the present samples."
            if args.node is None
            else f"Nothing of node {visible(args.node)} is completed."
        )
        return 0
    every = with_what_follows(running, jobs)
    nodes = Counter(running.growth.where(job).node for job in every)
    names = ", ".join(f"{visible(name)} {many:,}" for name, many in nodes.items())
    out.print(f"{plural(len(every), 'sample')} would run again: {names}.")
    out.print("Their results go to the trash.")
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
        out.note(f"'rowtui network restore {done.trash}' brings back their results.")
    out.note("'rowtui network run' continues the run.")
    return 1 if done.refused else 0


def retry(args: argparse.Namespace, out: Output) -> int:
    """Record that the jobs are to be retried; `run` retries them."""
    if args.all == (args.node is not None):
        raise RowtuiError(
            "no jobs are named for the retry",
            "name a node, with or without directories of it, or give --all",
        )
    networks = open_network(args, out)

    running = run_of(networks, args.run)
    if args.directories:
        jobs = jobs_named(running, args.node, args.directories)
        _refuse_what_did_not_fail(running, jobs)
    else:
        graph = running.graph
        cancelled = jobs_in(running, (GraphJobState.CANCELLED,), args.node)
        jobs = [
            *jobs_in(running, (GraphJobState.FAILED,), args.node),
            *(it for it in cancelled if graph.reason(it) == BY_HAND),
        ]
    if not jobs:
        out.print("No sample failed.")
        return 0
    change = networks.retry(jobs, args.run)
    raise_budget(networks, running.run, out)
    networks.project.close()
    back = len(set(change.back) - set(jobs))
    more = f", and {plural(back, 'sample')} that wait for them" if back else ""
    out.print(f"{plural(len(jobs), 'sample')} will be tried again{more}.")
    out.note("'rowtui network run' continues the run.")
    return 0


def _refuse_what_did_not_fail(running: OpenRun, jobs: Sequence[int]) -> None:
    """Refuse jobs that did not fail. Raises: RowtuiError naming the jobs to retry instead."""
    for job in jobs:
        causes = running.graph.root_causes(job)
        if causes != [job]:
            name = visible(running.growth.directory(job))
            state = running.graph.state(job).name.lower()
            first = running.growth.where(causes[0]).node if causes else ""
            raise RowtuiError(
                f"the job of {name} is {state}: it did not fail by itself",
                f"retry the failed jobs that it depends on, in node {visible(first)}: "
                f"{', '.join(visible(running.growth.directory(it)) for it in causes[:3])}"
                if causes
                else "",
            )
