"""`rowtui network run --simulate`: the result of each scheduling plug-in; no job is run."""

from __future__ import annotations

import argparse
import time

from rowtui.cli.network.shared.simulation_text import (
    SimulationReport,
    print_simulation,
    simulation_json,
)
from rowtui.cli.output.output import Output
from rowtui.cli.output.progress import busy_with
from rowtui.cli.project.open import open_project
from rowtui.core.base.errors import RowtuiError
from rowtui.core.network.graph.dynamic_graph import Growth
from rowtui.core.project.project import Project
from rowtui.core.runs.execution.order import orderable
from rowtui.core.runs.limits.asked import GraphAmounts
from rowtui.core.runs.limits.machines import machines_of, parse_machines
from rowtui.core.runs.limits.run_times import parse_seconds, run_times
from rowtui.core.runs.limits.simulation import (
    assume_entries,
    compare,
    plugin_names,
    take_complete,
    work_of,
)
from rowtui.core.runs.running import OpenRun
from rowtui.core.runs.store import RunStore
from rowtui.core.runs.study import read_study

MOST_SECONDS = 60.0  # no plug-in is started after that


def run(args: argparse.Namespace, out: Output) -> int:
    """Print the comparison.

    Of `args` also `json`, `cluster`, `run` (an id), `priority` are used.
    """
    given = parse_seconds(",".join(args.seconds or ()))
    machines = parse_machines(args.machines) if args.machines else None
    project = open_project(args, out)
    with busy_with(project, out, "Reading the network") as busy:
        growth = _growth(project, getattr(args, "run", None), out)
        network = growth.flow.network
        times = run_times(project, network, given)
        assumed = assume_entries(growth, args.entries)
        done = take_complete(project, growth)
        machines = machines or machines_of(project)
        work = work_of(
            GraphAmounts(project, growth).now(),
            growth,
            times,
            failures=args.failures,
            seed=args.seed,
        )
        deadline = time.monotonic() + MOST_SECONDS

        def go_on(name: str) -> bool:
            busy.title = f"Simulating {name}"
            return time.monotonic() < deadline

        priority = getattr(args, "priority", None) or network.schedule.priority
        names = plugin_names(growth, priority)
        if args.gantt:  # this plug-in must not be the one for which no time remains
            names = [args.gantt, *(name for name in names if name != args.gantt)]
        found = compare(orderable(project, growth), work, machines, names, go_on)
    told = SimulationReport(found, times, network.name, done, assumed, args.entries)
    for notice in machines.notices:
        out.warn(notice)
    chosen = found.outcome(args.gantt) if args.gantt else found.best
    if chosen is not None and chosen.run is None:
        raise RowtuiError(chosen.error)
    if args.json:
        out.print(simulation_json(told, chosen, args.gantt_by))
    else:
        print_simulation(told, chosen, args.gantt_by, out)
    return 0


def _growth(project: Project, run_id: str | None, out: Output) -> Growth:
    """Return the samples of a run, or of the network as it is on disk now."""
    if run_id:
        running = OpenRun(project, RunStore(project.root).load(run_id))
        return running.growth

    study = read_study(project)
    out.problems(study.problems)
    for notice in study.notices:
        out.warn(notice)
    return Growth(study.flow)
