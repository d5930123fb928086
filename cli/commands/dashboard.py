"""`rowtui` alone: the dashboard on the project of this folder."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rowtui.cli.project import open_project

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output import Output


def run(args: argparse.Namespace, out: Output) -> int:
    """Open the dashboard; without a terminal say which commands there are."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        sys.stderr.write(
            "error: 'rowtui' requires a subcommand where there is no terminal for the dashboard\n"
            "\nUsage: rowtui [OPTIONS] COMMAND\n\nFor more, try '--help'.\n"
        )
        return 2
    project = open_project(args, out, synchronise=False)
    from rowtui.core.in_process import InProcessEngine
    from rowtui.tui.app import run_dashboard

    engine = InProcessEngine(project)
    return run_dashboard(
        engine,
        read_only=getattr(args, "read_only", False),
        theme=getattr(args, "theme", None),
    )
