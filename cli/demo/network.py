"""`rowtui demo network`: a small study whose samples pass through four actions automatically.

It is the example `study`, on this machine's queue. The dashboard starts the run within limits that
the user confirms; without a terminal the same commands run with text output, to the end.
"""

from __future__ import annotations

import contextlib
import shlex
import sys
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output.output import Output

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
        from rowtui.cli.dashboard.dashboard import settings_of, show
        from rowtui.cli.demo.played import RealDemo
        from rowtui.core.engine.process.options import EngineOptions

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
    from rowtui.cli.main import main

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
