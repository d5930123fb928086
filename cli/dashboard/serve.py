"""`rowtui serve`: the dashboard in a browser of this machine."""

from __future__ import annotations

import argparse
import asyncio
import shlex
import sys
import webbrowser

from rowtui.cli.environment import cluster_name
from rowtui.cli.output.output import Output
from rowtui.cli.project.open import open_project
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible


def run(args: argparse.Namespace, out: Output) -> int:
    """Serve until Ctrl-C. Each tab of the browser has its own dashboard."""
    try:
        from rowtui.tui.serve.server import DashboardServer
    except ImportError as error:
        raise RowtuiError(
            f"serving a browser needs more than is installed ({error.name} is missing)",
            "pip install 'rowtui[serve]'",
        ) from None
    project = open_project(args, out, synchronise=False)  # problems are reported here, at once
    name = visible(project.root.name)
    project.close()
    server = DashboardServer(_command(args), f"rowtui: {name}")

    def started(address: str) -> None:
        out.print(f"{name} is at {address}")
        out.note(
            "The address works once, in a browser of this machine. "
            "Ctrl-C ends the server; jobs go on."
        )
        sys.stdout.flush()
        if args.open and not webbrowser.open(address):
            out.warn("no browser could be opened")

    asyncio.run(server.run(args.port, started))
    return 0


def _command(args: argparse.Namespace) -> str:
    """Return the command line that starts each tab's dashboard, in this folder."""
    words = [sys.executable, "-m", "rowtui.cli.main"]
    cluster = cluster_name(args)
    if cluster:
        words += ["--cluster", cluster]
    if theme := getattr(args, "theme", None):
        words += ["--theme", theme]
    if getattr(args, "read_only", False):
        words.append("--read-only")
    return shlex.join(words)
