"""`rowtui demo`: small real studies on this machine's queue, or a large synthetic project.

With a terminal the dashboard opens on the demo while it runs. Without one, or with --headless, the
demo runs to its end with text output, and the result is checked.

The small demo is a study of percolation, made from the files beside this module. The network demo
is the example `study`, whose samples pass through four actions; the dashboard starts its run within
limits that the user confirms. The large demo has 100,000 directories on four simulated clusters.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from rowtui.cli.dashboard import settings_of, show
from rowtui.cli.jobs.follow import follow
from rowtui.cli.output.output import Output
from rowtui.cli.parser import LEAST, MOST, SCENARIOS
from rowtui.cli.show.status import status_lines
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural
from rowtui.core.engine.process.start import Demo, EngineOptions
from rowtui.core.groups.status import status_counts
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning.plan_submission import plan_submission
from rowtui.core.project.views.views import PlayedState
from rowtui.core.submission.plan.model import Plan

CLUSTER = "local"
SMALL_DIRECTORIES = 240


def run(args: argparse.Namespace, out: Output) -> int:
    """Make the project, run it, and show or check it."""
    if args.list:
        for name, about in SCENARIOS.items():
            out.print(f"{name:<8}{about}")
        return 0
    if args.scenario not in SCENARIOS:
        raise RowtuiError(
            f"there is no demo called '{args.scenario}'", "there are: " + ", ".join(SCENARIOS)
        )
    if args.scenario == "large":
        return run_large(args, out)
    if args.scenario == "network":
        return run_network(args, out, CLUSTER)
    root = _folder(args)
    made = make_project(root, args.directories or SMALL_DIRECTORIES)
    if not args.headless and (settings := settings_of(args)) is not None:
        return _with_dashboard(root, args, settings, out)
    out.print("Site percolation: fill a lattice at random, site by site. At which share does a")
    out.print("path first lead from top to bottom? 1/2 on the triangular lattice, exactly;")
    out.print("0.592746 on the square one. Let us measure it.")
    out.print()
    out.print(f"The project is in {root}, with {plural(made, 'directory', 'directories')}.")
    return _run_small(root, out)


def _folder(args: argparse.Namespace) -> Path:
    """Return the folder of `--keep`, else a new one."""
    if args.keep:
        return Path(args.keep).expanduser()
    return Path(tempfile.mkdtemp(prefix="rowtui-demo-"))


def _make_folder(root: Path) -> None:
    """Make the project's folder. Raises: RowtuiError if it exists already and is not empty."""
    if root.exists() and any(root.iterdir()):
        raise RowtuiError(f"{root} is not empty", "name a folder that does not exist yet")
    root.mkdir(parents=True, exist_ok=True)


def _python() -> str:
    """Return this Python for a command in workflow.toml."""
    return shlex.quote(sys.executable).replace("\\", "\\\\").replace('"', '\\"')


# The small demo


LATTICES = ("square", "triangular")
SIZES = (8, 12, 16, 24, 32)
# Sites in all lattices of one directory: about a tenth of a second of work.
SITES_PER_DIRECTORY = 40_000
SEED = 20_261_121
# A result this many standard errors away from the known value is wrong (1 in 16,000 by chance; the
# seeds are fixed, so that this never happens by chance).
SIGMAS = 4.0


_TO_TRY = {
    "rowtui demo": "a real study that ends in a minute",
    "rowtui demo network": "a study that runs by itself, up to its plot",
    "rowtui demo large": "100,000 directories on four clusters",
    "rowtui init": "write a workflow.toml for your own directories",
}


def _others(command: str) -> tuple[str, ...]:
    """Return what a user can try after the demo that this command shows."""
    return tuple(f"{name}: {about}" for name, about in _TO_TRY.items() if name != command)


class Threshold(NamedTuple):
    """One result of the study, with the known value."""

    lattice: str
    threshold: float
    error: float
    known: float
    lattices: int

    @property
    def right(self) -> bool:
        """Whether the known value is within the error."""
        return abs(self.threshold - self.known) < SIGMAS * self.error


def make_project(root: Path, directories: int) -> int:
    """Make the project with about that many directories; return their actual number.

    Raises: RowtuiError if `root` exists already.
    """
    _make_folder(root)
    source = files("rowtui.cli.demo")
    for name in ("percolation.py", "average.sh"):
        with source.joinpath(name).open("rb") as read, (root / name).open("wb") as write:
            shutil.copyfileobj(read, write)
    text = source.joinpath("workflow.toml").read_text()
    (root / "workflow.toml").write_text(text.replace("PYTHON", _python()))
    replicas = max(2, directories // (len(LATTICES) * len(SIZES)))
    made = 0
    for lattice in LATTICES:
        for size in SIZES:
            for replica in range(replicas):
                folder = root / "workspace" / f"{lattice}-{size:02}-{replica:02}"
                folder.mkdir(parents=True)
                value = {
                    "lattice": lattice,
                    "size": size,
                    "replica": replica,
                    "lattices": SITES_PER_DIRECTORY // size**2,
                    "seed": SEED + made,
                }
                (folder / "value.json").write_text(json.dumps(value) + "\n")
                made += 1
    return made


def read_thresholds(root: Path) -> list[Threshold]:
    """Return the study's results, without lattices that are not finished."""
    found = []
    for lattice in LATTICES:
        folders = sorted((root / "workspace").glob(f"{lattice}-*"))
        path = folders[0] / "threshold.json" if folders else None
        if path is not None and path.exists():
            found.append(Threshold(**json.loads(path.read_text())))
    return found


def _run_small(root: Path, out: Output) -> int:
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
    out.lines(_result_lines(thresholds))
    out.print()
    out.print(f"Done in {time.monotonic() - started:.0f} s. Now try: cd {root} && rowtui")
    return 0 if all(result.right for result in thresholds) else 1


def _result_lines(thresholds: list[Threshold]) -> list[str]:
    return [
        f"{'✓' if result.right else '✗'} {result.lattice:<10} "
        f"{result.threshold:.4f} ± {result.error:.4f}   known {result.known:.6g}   "
        f"from {result.lattices:,} lattices"
        for result in thresholds
    ]


def _open(root: Path) -> OpenProject:
    project = OpenProject.open(root, cluster=CLUSTER)
    project.synchronise()
    return project


def _show_status(project: OpenProject, out: Output) -> None:
    rows = [(row, status_counts(row)) for row in project.status_table().rows]
    out.print()
    out.print("$ rowtui show status")
    out.lines(status_lines(rows, out, header=True))
    out.print()
    sys.stdout.flush()


async def _submit_and_follow(project: OpenProject, plan: object, out: Output) -> bool:
    assert isinstance(plan, Plan)
    async for step in project.jobs.submit(plan):
        if step.error:
            raise RowtuiError(step.error)
    return await follow(project, [job.token for job in plan.jobs], out)


def _with_dashboard(
    root: Path, args: argparse.Namespace, settings: dict[str, Any], out: Output
) -> int:
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
    played = RealDemo(lambda: _result_lines(read_thresholds(root)), "rowtui demo")
    code = show(EngineOptions(str(root), CLUSTER), out, args, played=played, **settings)
    if child.poll() is None:
        out.note("The study goes on in the background.")
    _say_end(root, played, out)
    return code


def _say_end(root: Path, played: RealDemo, out: Output) -> None:
    """Print the results of a demo that the user left, and what to try next."""
    out.lines(played.results())
    program = "rowtui" if shutil.which("rowtui") else f"{sys.executable} -m rowtui"
    out.note(f"The project is in {root}; to continue: cd {root} && {program}")
    _say_next(played.state.try_next, out)


def _say_next(texts: Sequence[str], out: Output) -> None:
    out.note("Try next:")
    for text in texts:
        out.note(f"  {text}")


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


# The large demo


MANY = 100_000


def run_large(args: argparse.Namespace, out: Output) -> int:
    """Make the project, and open the dashboard. Raises: RowtuiError."""
    many = args.directories or MANY
    if not LEAST <= many <= MOST:
        raise RowtuiError(f"the large demo has {LEAST:,} to {MOST:,} directories")
    settings = settings_of(args)
    if settings is None and not args.headless:
        raise RowtuiError("the large demo needs a terminal", "or try: rowtui demo large --headless")
    root = Path(args.keep or Path(tempfile.mkdtemp(prefix="rowtui-demo-"), "boiling"))
    root = root.expanduser().absolute()
    # The cache of polled queues is shared by all of a user's dashboards, but these queues are not
    # real.
    os.environ["XDG_CACHE_HOME"] = str(root / ".cache")
    out.note(f"Making {plural(many, 'directory', 'directories')} and four clusters …")
    try:
        if settings is None or args.headless:
            return _make(root, many, args.seed, out)

        demo = Demo("large", many, args.seed)
        code = show(EngineOptions(str(root), demo=demo), out, args, **settings)
        _say_next(_others("rowtui demo large"), out)
        return code
    finally:
        if not args.keep:
            shutil.rmtree(root.parent, ignore_errors=True)


def _make(root: Path, many: int, seed: int, out: Output) -> int:
    from rowtui.core.demo.engine import made_demo

    started = time.monotonic()
    made_demo(root, many, seed)
    out.print(f"Made in {time.monotonic() - started:.1f} s in {root}.")
    return 0


# The network demo


class RealDemo:
    """A real project on this machine's queue. `about`: as in `PlayedState`."""

    def __init__(self, results: Callable[[], Sequence[str]], command: str, about: str = "") -> None:
        """`results`: as in `Played`; `command`: the one that shows this demo."""
        self.state = PlayedState("DEMO", about=about, try_next=_others(command))
        self._results = results

    def results(self) -> Sequence[str]:
        """Return the results of the study as lines, once it is complete."""
        return self._results()

    async def control(self, word: str, argument: str = "") -> PlayedState:
        """Change nothing: the clock is the real one, and faults are not injected."""
        text = "This demo is real: its clock cannot be changed. Try: rowtui demo large"
        return self.state._replace(said=text)


_FILES = {  # source file beside this module -> name in the project
    "study.workflow.toml": "workflow.toml",
    "study.network.toml": "network.toml",
    "study.py": "study.py",
}
_COMMANDS = ("network check", "network run --yes", "network show", "show status")


def run_network(args: argparse.Namespace, out: Output, cluster: str) -> int:
    """Make the project, and open the dashboard on it or run it to its end. Raises: RowtuiError."""
    root = _folder(args)
    make_study(root)
    if not args.headless and (settings := settings_of(args)) is not None:
        options = EngineOptions(str(root), cluster)
        played = RealDemo(partial(_slopes, root), "rowtui demo network", "network")
        code = show(options, out, args, played=played, **settings)
        _say_end(root, played, out)
        return code
    out.print(
        "Three parameters and replicas are simulated, averaged, fitted and drawn in one plot:"
    )
    out.print("24 + 12 + 4 + 1 jobs, each begun as soon as its inputs exist.")
    return _run_as_text(root, cluster, out)


def _slopes(root: Path) -> list[str]:
    """Return the plot of the study as lines of text, once it is there."""
    path = root / "results/slopes.txt"
    return path.read_text(errors="replace").splitlines() if path.is_file() else []


def make_study(root: Path) -> None:
    """Make the project of the study. Raises: RowtuiError if `root` exists already."""
    _make_folder(root)
    (root / "workspace").mkdir()
    source = files("rowtui.cli.demo")
    for here, name in _FILES.items():
        text = source.joinpath(here).read_text()
        if name == "workflow.toml":
            text = text.replace('"python3 ', f'"{_python()} ')
        (root / name).write_text(text)


def _run_as_text(root: Path, cluster: str, out: Output) -> int:
    """Run the commands that a user would type, and print their output."""
    from rowtui.cli.main import main  # which is also run as a program

    with contextlib.chdir(root):
        for command in _COMMANDS:
            out.print(f"\n$ rowtui {command}")
            sys.stdout.flush()
            if main([*command.split(), "--cluster", cluster]):
                raise RowtuiError("the demo failed", f"look at the logs in {root}")
    plot = root / "results/slopes.svg"
    if not plot.exists():
        raise RowtuiError("the study did not come to its end", f"look at the logs in {root}")
    out.print(f"\nEnergy over temperature:\n{plot.with_suffix('.txt').read_text()}")
    out.print(f"✓ {plot}\nNow try: cd {root} && rowtui, and 8")
    return 0
