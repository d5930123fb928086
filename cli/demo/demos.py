"""The three demos: the projects that they make, and their dashboards.

The small demo is a study of percolation, made from the files beside this module. The network demo
is the example `study`, whose samples pass through four actions; the dashboard starts its run within
limits that the user confirms, and without a terminal the same commands run with text output, to the
end. Both run on this machine's queue. The large demo has 100,000 directories on four simulated
clusters.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import shutil
import sys
import tempfile
import time
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from rowtui.cli.dashboard.dashboard import settings_of, show
from rowtui.cli.dashboard.parser import LEAST, MOST
from rowtui.cli.output.output import Output
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural
from rowtui.core.engine.process.options import Demo, EngineOptions
from rowtui.core.project.views.views import PlayedState

# The small demo


LATTICES = ("square", "triangular")
SIZES = (8, 12, 16, 24, 32)
# Sites in all lattices of one directory: about a tenth of a second of work.
SITES_PER_DIRECTORY = 40_000
SEED = 20_261_121
# A result this many standard errors away from the known value is wrong (1 in 16,000 by chance; the
# seeds are fixed, so that this never happens by chance).
SIGMAS = 4.0


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
    if root.exists() and any(root.iterdir()):
        raise RowtuiError(f"{root} is not empty", "name a folder that does not exist yet")
    root.mkdir(parents=True, exist_ok=True)
    source = files("rowtui.cli.demo")
    for name in ("percolation.py", "average.sh"):
        with source.joinpath(name).open("rb") as read, (root / name).open("wb") as write:
            shutil.copyfileobj(read, write)
    text = source.joinpath("workflow.toml").read_text()
    python = shlex.quote(sys.executable).replace("\\", "\\\\").replace('"', '\\"')
    (root / "workflow.toml").write_text(text.replace("PYTHON", python))
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
        return show(EngineOptions(str(root), demo=demo), out, args, **settings)
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

    stranger = True

    def __init__(self, about: str = "") -> None:
        self.state = PlayedState("DEMO", about=about)

    async def control(self, word: str, argument: str = "") -> PlayedState:
        """Change nothing: the clock is the real one, and faults are not injected."""
        said = "This demo is real: its clock cannot be changed. Try: rowtui demo large"
        return self.state._replace(said=said)


_FILES = {  # source file beside this module -> name in the project
    "study.workflow.toml": "workflow.toml",
    "study.network.toml": "network.toml",
    "study.py": "study.py",
}
_COMMANDS = ("network check", "network run --yes", "network show", "show status")


def run_network(args: argparse.Namespace, out: Output, cluster: str) -> int:
    """Make the project, and open the dashboard on it or run it to its end. Raises: RowtuiError."""
    given = getattr(args, "keep", None)
    root = Path(given).expanduser() if given else Path(tempfile.mkdtemp(prefix="rowtui-demo-"))
    make_study(root)
    if not args.headless and sys.stdin.isatty() and sys.stdout.isatty():
        settings = settings_of(args) or {}
        options = EngineOptions(str(root), cluster)
        code = show(options, out, args, played=RealDemo("network"), **settings)
        out.note(f"The project is in {root}; go on with: cd {root} && rowtui")
        return code
    out.print(
        "Three parameters and replicas are simulated, averaged, fitted and drawn in one plot:"
    )
    out.print("24 + 12 + 4 + 1 jobs, each begun as soon as what it needs is there.")
    return _tell(root, cluster, out)


def make_study(root: Path) -> None:
    """Make the project of the study. Raises: RowtuiError if `root` exists already."""
    if root.exists() and any(root.iterdir()):
        raise RowtuiError(f"{root} is not empty", "name a folder that does not exist yet")
    (root / "workspace").mkdir(parents=True, exist_ok=True)
    python = shlex.quote(sys.executable).replace("\\", "\\\\").replace('"', '\\"')
    source = files("rowtui.cli.demo")
    for here, name in _FILES.items():
        text = source.joinpath(here).read_text()
        if name == "workflow.toml":
            text = text.replace('"python3 ', f'"{python} ')
        (root / name).write_text(text)


def _tell(root: Path, cluster: str, out: Output) -> int:
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
    out.print(f"\n✓ {plot}\nNow try: cd {root} && rowtui, and 8")
    return 0
