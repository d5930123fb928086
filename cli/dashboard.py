"""`rowtui` alone: the dashboard on the project of this folder, recorded or replayed on request.

The engine's process is started first: it opens the project while this process imports Textual and
the client, inside functions.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import shlex
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rowtui.cli.environment import cluster_name, io_threads
from rowtui.cli.output.output import Output
from rowtui.cli.parser import build_parser
from rowtui.cli.project.open import open_project
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.engine.process.start import EngineOptions, EngineProcess

if TYPE_CHECKING:
    from rowtui.core.engine.api.engine import Engine
    from rowtui.core.engine.process.client import ProcessEngine


def recorded(engine: Engine, args: argparse.Namespace) -> Engine:
    """Return the engine, with a recorder before it if requested. Raises: RowtuiError."""
    given = getattr(args, "record", None)
    if not given:
        return engine
    from rowtui.core.engine.recording.record import RecordingEngine

    path = Path(given).expanduser()
    recorder = RecordingEngine(engine, path, hash_actions=getattr(args, "hash_actions", False))
    args.recorder = recorder
    return cast("Engine", recorder)


def tell_of_recording(args: argparse.Namespace, out: Output) -> None:
    """Report, after the dashboard, where the recording is and whether it is complete."""
    recorder = getattr(args, "recorder", None)
    if recorder is not None:
        if recorder.trouble:
            out.warn(recorder.trouble)
        out.note(f"Recorded to {args.record}; see it with: rowtui --replay {args.record}")


def replay(args: argparse.Namespace, out: Output, settings: dict[str, Any]) -> int:
    """Show a recording. Raises: RowtuiError."""
    from rowtui.core.engine.recording.replay import ReplayEngine
    from rowtui.tui.shell.app import run_dashboard

    engine = ReplayEngine(Path(args.replay).expanduser())
    if engine.notice:
        out.warn(engine.notice)
    settings = {**settings, "read_only": True, "played": engine, "clock": engine.now}
    return run_dashboard(cast("Engine", engine), **settings)


def settings_of(args: argparse.Namespace) -> dict[str, Any] | None:
    """Return the display settings of the dashboard; None if no terminal can show it."""
    from rowtui.tui.shell.terminal import manner, prepare

    how = manner(
        os.environ,
        encoding=sys.stdout.encoding,
        ascii_only=getattr(args, "ascii", False),
        slow=getattr(args, "slow", False),
        mouse=not getattr(args, "no_mouse", False),
    )
    seen = how.browser or (sys.stdin.isatty() and sys.stdout.isatty())
    if how.text_only or not seen:
        return None
    prepare(how)
    return {
        "how": how,
        "read_only": getattr(args, "read_only", False),
        "theme": getattr(args, "theme", None),
    }


def run(args: argparse.Namespace, out: Output) -> int:
    """Open the dashboard; if no terminal can show it, print the status as text."""
    settings = settings_of(args)
    if settings is None:
        return _as_text(out)
    if getattr(args, "replay", None):
        return replay(args, out, settings)
    if os.environ.get("ROWTUI_ENGINE") == "here":  # for debugging
        return _in_this_process(args, out, settings)
    options = EngineOptions(os.getcwd(), cluster_name(args), io_threads(args))
    return show(options, out, args, **settings)


def _as_text(out: Output) -> int:
    from rowtui.cli.show import status as show_status

    wanted = build_parser(["show", "status"]).parse_args(["show", "status"])
    code = show_status.run(wanted, out)
    out.note(
        "The dashboard needs a terminal that can be drawn on. As text: `rowtui show status --watch`"
        " prints changes; `rowtui --help` lists all commands."
    )
    return code


def show(options: EngineOptions, out: Output, args: argparse.Namespace, **settings: Any) -> int:
    """Start an engine, then load and show the dashboard. Raises: RowtuiError, OSError."""
    started = EngineProcess(options)  # it opens the project while Textual is imported
    try:
        from rowtui.tui.shell.app import run_dashboard

        opened = started.opened()
        out.problems(opened.problems)
        for notice in opened.notices:
            out.warn(notice)
        engine = _engine(started)
        if options.demo is not None:
            settings["played"] = engine
        gc.freeze()  # imported objects are never garbage
        code = run_dashboard(recorded(engine, args), **settings)
        tell_of_recording(args, out)
        return code
    finally:
        started.end()


def _engine(started: EngineProcess) -> ProcessEngine:
    if started.options.demo is not None:
        from rowtui.core.demo.process import DemoProcess

        return DemoProcess(started)
    from rowtui.core.engine.process.client import ProcessEngine

    return ProcessEngine(started)


def _in_this_process(args: argparse.Namespace, out: Output, settings: dict[str, Any]) -> int:
    from rowtui.cli.project.open import open_project
    from rowtui.core.engine.local import InProcessEngine
    from rowtui.tui.shell.app import run_dashboard

    project = open_project(args, out, synchronise=False)
    code = run_dashboard(recorded(InProcessEngine(project, messages=True), args), **settings)
    tell_of_recording(args, out)
    return code


# `rowtui serve`: the dashboard in a browser of this machine.


def serve(args: argparse.Namespace, out: Output) -> int:
    """Serve until Ctrl-C. Each tab of the browser has its own dashboard."""
    try:
        from rowtui.tui.serve import DashboardServer
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
