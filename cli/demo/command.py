"""`rowtui demo`: small real studies on this machine's queue, or a large synthetic project.

With a terminal the dashboard opens on the demo while it runs. Without one, or with --headless, the
demo runs to its end with text output, and the result is checked.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rowtui.cli.dashboard.dashboard import replay, settings_of, show
from rowtui.cli.dashboard.parser import SCENARIOS
from rowtui.cli.demo.demos import (
    RealDemo,
    Threshold,
    make_project,
    read_thresholds,
    run_large,
    run_network,
)
from rowtui.cli.jobs.follow import follow
from rowtui.cli.output.output import Output
from rowtui.cli.show.status import status_lines
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural
from rowtui.core.engine.process.options import EngineOptions
from rowtui.core.groups.status import status_counts
from rowtui.core.project.planning.plan import plan_submission
from rowtui.core.project.project import Project
from rowtui.core.project.statuses import project_status
from rowtui.core.submission.plan.model import Plan

CLUSTER = "local"
SMALL_DIRECTORIES = 240


def run(args: argparse.Namespace, out: Output) -> int:
    """Make the project, run it, and show or check it."""
    if args.list:
        for name, about in SCENARIOS.items():
            out.print(f"{name:<8}{about}")
        return 0
    if args.replay:
        return _replay(args, out)
    if args.scenario not in SCENARIOS:
        raise RowtuiError(
            f"there is no demo called '{args.scenario}'", "there are: " + ", ".join(SCENARIOS)
        )
    if args.scenario == "large":
        return run_large(args, out)
    if args.scenario == "network":
        return run_network(args, out, CLUSTER)
    given = getattr(args, "keep", None)
    root = Path(given).expanduser() if given else Path(tempfile.mkdtemp(prefix="rowtui-demo-"))
    made = make_project(root, args.directories or SMALL_DIRECTORIES)
    if not args.headless and sys.stdin.isatty() and sys.stdout.isatty():
        return _with_dashboard(root, args, out)
    out.print("Site percolation: fill a lattice at random, site by site. At which share does a")
    out.print("path first lead from top to bottom? 1/2 on the triangular lattice, exactly;")
    out.print("0.592746 on the square one. Let us measure it.")
    out.print()
    out.print(f"The project is in {root}, with {plural(made, 'directory', 'directories')}.")
    return _tell(root, out)


def _tell(root: Path, out: Output) -> int:
    """Run everything that is eligible until nothing is, with messages; check the result."""
    started = time.monotonic()
    project = _open(root)
    while True:
        _show_status(project, out)
        plan = plan_submission(project, project.workflow.actions)
        if not plan.jobs:
            break
        out.print(f"$ rowtui submit    # {plural(len(plan.jobs), 'job')}, at most {plan.cost}")
        if not asyncio.run(_submit_and_follow(project, plan, out)):
            raise RowtuiError("a job of the demo failed", f"look at the logs in {root}")
        project.synchronise()
    project.close()
    thresholds = read_thresholds(root)
    if len(thresholds) != 2:
        raise RowtuiError("the study did not come to its end", f"look at the logs in {root}")
    _show_results(thresholds, out)
    out.print()
    out.print(f"Done in {time.monotonic() - started:.0f} s. Now try: cd {root} && rowtui")
    return 0 if all(result.right for result in thresholds) else 1


def _show_results(thresholds: list[Threshold], out: Output) -> None:
    for result in thresholds:
        verdict = "✓" if result.right else "✗"
        out.print(
            f"{verdict} {result.lattice:<10} {result.threshold:.4f} ± {result.error:.4f}"
            f"   known {result.known:.6g}   from {result.lattices:,} lattices"
        )


def _open(root: Path) -> Project:
    project = Project.open(root, cluster=CLUSTER)
    project.synchronise()
    return project


def _show_status(project: Project, out: Output) -> None:
    rows = [(row, status_counts(row)) for row in project_status(project).rows]
    out.print()
    out.print("$ rowtui show status")
    out.lines(status_lines(rows, out, header=True))
    out.print()
    sys.stdout.flush()


async def _submit_and_follow(project: Project, plan: object, out: Output) -> bool:
    assert isinstance(plan, Plan)
    async for step in project.jobs.submit(plan):
        if step.error:
            raise RowtuiError(step.error)
    return await follow(project, [job.token for job in plan.jobs], out)


def _replay(args: argparse.Namespace, out: Output) -> int:
    settings = settings_of(args)
    if settings is None:
        raise RowtuiError("a recording can only be shown in a terminal")
    return replay(args, out, settings)


def _with_dashboard(root: Path, args: argparse.Namespace, out: Output) -> int:
    """Let another process run the first action, while the dashboard shows the run live."""
    driver = "import sys; from rowtui.cli.demo.command import drive; sys.exit(drive(sys.argv[1]))"
    with (root / "demo.log").open("wb") as log:
        child = subprocess.Popen(
            [sys.executable, "-c", driver, str(root)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    settings = settings_of(args) or {}
    code = show(EngineOptions(str(root), CLUSTER), out, args, played=RealDemo(), **settings)
    if child.poll() is None:
        out.note("The study goes on in the background.")
    else:
        _show_results(read_thresholds(root), out)
    out.note(f"The project is in {root}; go on with: cd {root} && rowtui")
    return code


def drive(root: str) -> int:
    """Run the first action of the project, for the dashboard of another process.

    The user submits the following actions.
    """
    out = Output(color="never", progress=False)
    project = _open(Path(root))
    plan = plan_submission(project, project.workflow.actions[:1])
    done = asyncio.run(_submit_and_follow(project, plan, out))
    project.close()
    return 0 if done else 1
