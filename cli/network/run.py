"""`rowtui network run`: print the work, ask once, and drive the run to its end."""

from __future__ import annotations

import argparse
import json
import os
import sys
from asyncio import CancelledError
from collections.abc import Iterator
from typing import NamedTuple

from rowtui.cli.environment import cluster_name
from rowtui.cli.environment import run as run_async
from rowtui.cli.network.shared.driving import Driving
from rowtui.cli.network.shared.limits import open_network
from rowtui.cli.network.shared.text import count_jobs, limit_lines, retry_lines, say
from rowtui.cli.output.output import Output
from rowtui.cli.project.open import ask, is_interactive, send_messages
from rowtui.cli.submit.limits import chosen_limits
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import amount, plural, visible
from rowtui.core.network.definition.network_keys import PILOT_HINT
from rowtui.core.network.graph.scheduling import find_plugin
from rowtui.core.project.retry_policy import NO_RETRIES, RetryPolicy, load_policy
from rowtui.core.runs.directories.readiness import unprepared, values_of
from rowtui.core.runs.execution.driver import DriverMessage, MessageKind
from rowtui.core.runs.execution.plug_ins import find_execution
from rowtui.core.runs.limits.limits import RunLimits
from rowtui.core.runs.limits.spending import RemainingCost
from rowtui.core.runs.limits.times import cost_text
from rowtui.core.runs.lock import RunHeldError
from rowtui.core.runs.networks import Networks
from rowtui.core.runs.snapshot import source_directories
from rowtui.core.runs.store import Run
from rowtui.core.runs.views import NetworkView
from rowtui.core.submission.plan.model import CPU_HOURS, GPU_HOURS

INTERRUPTED = 130


def run(args: argparse.Namespace, out: Output) -> int:
    """Drive the run; 0 only if all jobs are done and none failed."""
    if args.step and (args.json or not is_interactive()):
        raise RowtuiError(
            "--step asks before each plan, which needs a terminal",
            "run it on a terminal without --json, or take --yes in its place",
        )
    networks = open_network(args, out)
    had = _run_to_go_on_with(args, networks)
    _check_plug_ins(args, had)
    if had is not None:
        _refuse_if_held(had)
        _use_its_cluster(args, networks, had)

    policy = NO_RETRIES if args.no_retry else load_policy(networks.project.root)
    view = networks.view(None if had is None else had.id, frozen=had is not None)
    network = networks.study().network if had is None else had.network
    chosen = args.execution if had is None else had.about.plug_ins.get("execution")
    execution = chosen or network.schedule.execution
    if execution == "pilot" and network.schedule.pilot is None:
        raise RowtuiError("the pilot has no size", PILOT_HINT)
    work = networks.left(
        None if had is None else had.id,
        frozen=had is not None,
        anew=had is None,
        execution=execution,
    )
    before = had.limits if had is not None and had.about.limits_at is not None else None
    limits = chosen_limits(args, networks.project, before, work)
    for problem in (*view.problems, *view.notices):
        out.warn(problem)
    if not args.json:
        _say_what(networks, had, _Ahead(view, work), limits, out)
        out.print("Failures that are retried, within these limits:")
        out.lines(f"  {line}" for line in retry_lines(policy))
    if not (args.yes or args.step or ask("Proceed?", out, as_json=args.json)):
        out.warn("Nothing was begun.")
        return 1
    if args.step and not _allows_directories(networks, had, out):
        out.warn("Nothing was begun.")
        return 1
    plug_ins = {"priority": args.priority, "execution": args.execution}
    with networks.store.hold():
        ours = networks.begin(
            limits,
            anew=had is None,
            name=None if had is None else had.id,
            plug_ins={name: value for name, value in plug_ins.items() if value is not None},
        )
        return _drive(args, networks, ours, policy, out)


def _run_to_go_on_with(args: argparse.Namespace, networks: Networks) -> Run | None:
    """Return the named run, or the newest if it has open work; None for a new run."""
    if args.new:
        return None
    if args.run is not None:
        return networks.run(args.run)
    newest = networks.run()
    if newest is None or newest.status.is_over:
        return None
    return newest


def _refuse_if_held(run: Run) -> None:
    """Refuse a run that another process holds. Raises: RunHeldError."""
    holder = run.holder()
    if holder is not None:
        raise RunHeldError(run.id, holder)


def _use_its_cluster(args: argparse.Namespace, networks: Networks, run: Run) -> None:
    """Continue a run on the cluster where it began, unless another cluster is named."""
    if run.about.cluster and cluster_name(args) is None:
        networks.project.cluster_name = run.about.cluster


def _check_plug_ins(args: argparse.Namespace, had: Run | None) -> None:
    """Check the scheduling plug-ins. Raises: RowtuiError."""
    if had is not None and (args.priority or args.execution):
        raise RowtuiError(
            f"--priority and --execution are chosen when a run begins, and {had.id} has begun",
            "add --new to begin another run",
        )
    if args.priority:
        find_plugin(args.priority)
    if args.execution:
        find_execution(args.execution)


class _Ahead(NamedTuple):
    """The current state of a run, and its open work."""

    view: NetworkView
    work: RemainingCost


def _say_what(
    networks: Networks, had: Run | None, ahead: _Ahead, limits: RunLimits, out: Output
) -> None:
    """Print the plan of work: the run, its jobs, directories, cost and limits."""
    view, work = ahead

    name = f"network {out.style(visible(view.name), 'bold')}"
    if had is None:
        out.print(f"A new run of {name}: {count_jobs(view)}.")
    else:
        out.print(f"Run {had.id} of {name} goes on: {count_jobs(view)}.")
    if view.changed and had is not None:
        out.print("network.toml or a source has changed since it began; --new takes that in.")
    missing = missing_directories(networks, had)
    if missing:
        out.print(f"{plural(missing, 'directory', 'directories')} will be made in the workspace.")
    cost = cost_text(work.cost)
    more = "; lists that jobs make will add more" if work.grows else ""
    samples, cost = plural(work.jobs, "sample"), out.style(cost, "cyan bold")
    text = f"{samples} to send, which may cost up to {cost}"
    nothing = "Nothing can be sent" if work.refused else "Nothing is left to send"
    say(out, f"{text}{more}." if work.jobs else f"{nothing}{more}.")
    for refused in work.refused:
        out.warn(str(refused))
    out.print("Limits, beyond which it stops and asks:")
    for line in limit_lines(limits):
        out.print(f"  {line}")
    if not limits.over_budget:
        for text in _budgets(networks):
            out.print(f"  {text}")
    if work.grows and limits.cpu_hours is None:
        say(out, "  no limit on CPU-hours, as lists add jobs; --max-cpu-hours sets one", "    ")
    sys.stdout.flush()


def _budgets(networks: Networks) -> Iterator[str]:
    """Yield a line for each budget that jobs of the project are charged against."""
    for name, balance in networks.project.balances_on(networks.clusters).items():
        for unit, whole, charged in (
            (CPU_HOURS, balance.cpu_hours, balance.charged.cpu_hours),
            (GPU_HOURS, balance.gpu_hours, balance.charged.gpu_hours),
        ):
            if whole is not None:
                budget = f"the budget of {visible(name)}: {amount(whole)} {unit}"
                yield f"{budget}, of which {amount(charged)} are charged"


def missing_directories(networks: Networks, run: Run | None) -> int:
    """Return how many directories have to be made before the first plan."""
    running = None if run is None else networks.running(run.id)
    if running is None:
        unstarted = networks.unstarted()
        unstarted.look()
        growth, facts = unstarted.growth, unstarted.facts
    else:
        growth, facts = running.growth, running.facts
    try:
        there = set(os.listdir(networks.project.workflow.workspace))
    except OSError:
        there = set()
    ready = values_of(growth, unprepared(growth, facts))
    return sum(name not in there for name, _ in (*source_directories(growth.flow), *ready))


def _allows_directories(networks: Networks, run: Run | None, out: Output) -> bool:
    """Ask before directories are made: a plan, which `--step` asks about, needs them."""
    missing = missing_directories(networks, run)
    what = plural(missing, "directory", "directories")
    return not missing or ask(f"Make {what} now, as plans need them?", out)


def _drive(
    args: argparse.Namespace, networks: Networks, ours: Run, policy: RetryPolicy, out: Output
) -> int:
    send_messages(networks.project, out)
    driving = Driving(networks, ours, out, policy, by_step=args.step, as_json=args.json)
    if args.json:
        out.print(json.dumps({"event": "run", "id": ours.id}))
    else:
        out.print(f"Run {ours.id}:")
    sys.stdout.flush()
    last = None
    try:
        last = run_async(driving.drive())
    except (KeyboardInterrupt, CancelledError):
        driving.interrupted = True
    finally:
        networks.project.close()
    if driving.interrupted and not (last is not None and last.kind is MessageKind.OVER):
        out.note("The run has stopped: submitted jobs continue, and no further jobs are submitted.")
        out.note(f"'rowtui network run --run {ours.id}' continues the run.")
        return INTERRUPTED
    if last is not None and last.kind is MessageKind.OVER:
        return _over(args, last, out)
    if last is not None and last.kind is MessageKind.PAUSED and not args.json:
        out.error(f"Paused: {last.sentence}.")
        out.note(f"Submitted jobs continue. To continue: rowtui network run --run {ours.id}")
        out.note("--max-cpu-hours, --max-failures and others give it new limits.")
    return 1


def _over(args: argparse.Namespace, last: DriverMessage, out: Output) -> int:
    if not args.json:
        if last.success:
            out.print(out.style("Done: all jobs of the network are completed.", "green"))
        else:
            sentence = last.sentence[0].upper() + last.sentence[1:]
            out.error(
                f"{sentence}.\n'rowtui network show' lists them; once they are mended, "
                "'rowtui network retry --all' and 'rowtui network run' try them again."
            )
    return 0 if last.success else 1
