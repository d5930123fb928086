"""`rowtui` alone: the dashboard on the project of this folder.

The engine's process is started first: it opens the project while this process imports Textual,
inside functions. What both need is imported before.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import os
import re
import shlex
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rowtui.cli.environment import cluster_name, environment_word, io_threads
from rowtui.cli.main import main
from rowtui.cli.output.output import Output
from rowtui.cli.parser import PLACES, build_parser
from rowtui.cli.project.open import open_project
from rowtui.core.base.errors import NoProjectError, RowtuiError
from rowtui.core.base.filter import parse_filter
from rowtui.core.base.lazy import platformdirs
from rowtui.core.base.text import similar, visible
from rowtui.core.engine.process.client import ProcessEngine
from rowtui.core.engine.process.serve import main as serve_engine
from rowtui.core.engine.process.start import EngineOptions, EngineProcess
from rowtui.core.home.known import KnownProjects
from rowtui.core.workflow.find import find_project

if TYPE_CHECKING:
    from rowtui.tui.shell.recall import Place


SHOW_CLUSTER = ("queue", "clusters")
"""Views that show the cluster of `--cluster`, which then is not the cluster for new jobs."""


# The place that the command line names


def place_of(args: argparse.Namespace) -> Place | None:
    """Return the place where the dashboard opens; None if the command line names none.

    Raises: RowtuiError for a view, an action, a status, a job or a filter that cannot be used.
    """
    given = {name: getattr(args, f"place_{name}", None) for name in PLACES}
    if not any(given.values()):
        return None
    from rowtui.tui.commands.command import GROUP_STATUSES, TITLES
    from rowtui.tui.shell.recall import LINKED_LISTS, Place, view_named

    if given["view"]:
        view = view_named(given["view"])
        if not view:
            raise RowtuiError(
                f"there is no view '{visible(given['view'])}'" + _meant(given["view"], TITLES),
                f"the views are {', '.join(TITLES)}",
            )
    else:
        view = "queue" if given["job"] else "status"
        if any(given[name] for name in ("directory", "group", "status")):
            view = "groups"
    takes = {
        "action": ("status", "groups", "explain", "pack"),
        "status": ("groups", "explain"),
        "group": ("groups", "explain"),
        "directory": ("groups",),
        "job": ("queue", "log"),
        "filter": tuple(LINKED_LISTS),
    }
    for name, views in takes.items():
        if given[name] and view not in views:
            raise RowtuiError(
                f"--{name} cannot be used with the view {view}",
                f"use it with --view {' or '.join(views)}",
            )
    if given["status"] and given["status"] not in GROUP_STATUSES:
        near = _meant(given["status"], GROUP_STATUSES)
        raise RowtuiError(
            f"there is no status '{visible(given['status'])}'{near}",
            f"the words are {', '.join(GROUP_STATUSES)}",
        )
    _check_names(view, given)
    place = Place(**{**{name: it for name, it in given.items() if it}, "view": view})
    return place._replace(cluster=getattr(args, "cluster", "") if view in SHOW_CLUSTER else "")


def _check_names(view: str, given: dict[str, Any]) -> None:
    """Refuse names and filters before the screen opens. Raises: RowtuiError."""
    from rowtui.core.project.queue.queue_list import read_filter
    from rowtui.core.workflow.load import load_workflow

    if given["job"] and not re.fullmatch(r"\d{1,18}([._]\d{1,9})?", given["job"]):
        raise RowtuiError(
            f"'{visible(given['job'])}' is no job", "write the scheduler's number: 12, 12_3, 12.3"
        )
    if given["filter"]:
        (read_filter if view == "queue" else parse_filter)(given["filter"])
    if given["action"]:
        names = load_workflow(find_project(Path.cwd())).action_names()
        if given["action"] not in names:
            raise RowtuiError(
                f"there is no action '{visible(given['action'])}'" + _meant(given["action"], names)
            )


def _meant(word: str, possible: Iterable[str]) -> str:
    near = similar(word, possible, ratio=0.5)
    return f"; did you mean '{visible(near[0])}'?" if near else ""


def recalled(args: argparse.Namespace, place: Place | None, start: str) -> dict[str, Any]:
    """Return what the dashboard begins with, and its memory, as settings of the dashboard.

    `start`: a folder of the project; "" for a demo, which has no memory.
    """
    from rowtui.tui.shell.recall import Memory, StartState

    memory, recall = None, StartState()
    with contextlib.suppress(RowtuiError):  # The engine reports it.
        if start:
            root = str(find_project(Path(start)))
            memory = Memory(Path(platformdirs.user_state_dir("rowtui")), root)
            recall = memory.load()
            KnownProjects().add(root, time.time())
    if getattr(args, "fresh", False):
        recall = StartState(filters=recall.filters)
    if place is not None:
        recall.open_at(place)
    return {"recall": recall, "memory": memory}


def settings_of(args: argparse.Namespace) -> dict[str, Any] | None:
    """Return the display settings of the dashboard; None if no terminal can show it."""
    from rowtui.tui.shell.terminal import Manner, manner, prepare

    how = (
        Manner(plain=True, remote=True)
        if getattr(args, "plain", False)
        else manner(
            os.environ,
            encoding=sys.stdout.encoding,
            ascii_only=getattr(args, "ascii", False),
            slow=getattr(args, "slow", False),
            mouse=not getattr(args, "no_mouse", False),
        )
    )
    seen = how.browser or how.plain or (sys.stdin.isatty() and sys.stdout.isatty())
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
    place = place_of(args)
    settings = settings_of(args)
    if settings is None:
        return _as_text(out)
    settings["place"] = place
    if os.environ.get("ROWTUI_ENGINE") == "here":  # for debugging
        return _in_this_process(args, out, settings)
    return _one_after_another(args, out, settings)


def _options(args: argparse.Namespace, place: Place | None) -> EngineOptions:
    cluster = environment_word("CLUSTER", None) if _shows_cluster(place) else cluster_name(args)
    return EngineOptions(os.getcwd(), cluster, io_threads(args))


def _one_after_another(args: argparse.Namespace, out: Output, settings: dict[str, Any]) -> int:
    """Show the dashboard, and then those of the projects that the user opens from the home view.

    The home view comes first outside of a project. It also comes after a project that was chosen
    there cannot be opened, with the reason.
    """
    place, notice, chosen = settings.pop("place"), "", [""]
    if place is None and not _in_project():
        chosen = []
    while True:
        if not chosen:
            from rowtui.tui.home.app import run_home

            choice = run_home(settings["how"], settings["theme"], notice)
            notice = ""
            if choice.words:
                begun = main([os.path.expanduser(word) for word in choice.words])
                if begun or choice.words[0] == "demo":
                    return begun
                chosen = [os.getcwd()] if choice.words[0] == "init" else []
                if not (chosen or KnownProjects().load()):
                    notice = "No project was found."
                continue
            if not choice.root:
                return choice.code
            chosen = [choice.root]
        root, chosen = chosen[-1], []
        try:
            if root:
                os.chdir(root)
            mine = {**settings, "place": place, "switch": chosen.append}
            code = show(_options(args, place), out, args, **mine)
        except (RowtuiError, OSError) as error:
            if not root:
                raise
            notice = f"{visible(root)} cannot be opened: {visible(str(error))}"
            continue
        if not chosen:
            return code
        place = None  # the command line names a place of the first project alone


def _in_project() -> bool:
    try:
        find_project(Path.cwd())
    except NoProjectError:
        return False
    except (RowtuiError, OSError):
        pass  # the engine reports it
    return True


def _as_text(out: Output) -> int:
    from rowtui.cli.show import status as show_status

    wanted = build_parser(["show", "status"]).parse_args(["show", "status"])
    code = show_status.run(wanted, out)
    out.note(
        "The dashboard needs a terminal that can be drawn on. As text: `rowtui show status --watch`"
        " prints changes; `rowtui --help` lists all commands."
    )
    return code


def _shows_cluster(place: Place | None) -> bool:
    return place is not None and place.view in SHOW_CLUSTER


def show(options: EngineOptions, out: Output, args: argparse.Namespace, **settings: Any) -> int:
    """Start an engine, then load and show the dashboard. Raises: RowtuiError, OSError."""
    # The engine opens the project while Textual is imported. After the home view it is no fork: the
    # handlers and threads of that view's application belong to this process.
    alone = "textual" not in sys.modules and threading.active_count() == 1
    forked = serve_engine if alone and sys.platform == "linux" else None
    started = EngineProcess(options, forked=forked)
    try:
        run_dashboard = _dashboard()
        from rowtui.tui.views.view_classes import view_class

        real = options.demo is None and "played" not in settings
        settings |= recalled(args, settings.pop("place", None), options.start if real else "")
        view_class(settings["recall"].view)  # loaded while the engine opens the project

        opened = started.opened()
        out.problems(opened.problems)
        for notice in opened.notices:
            out.warn(notice)
        engine = _engine(started)
        if options.demo is not None:
            settings["played"] = engine
        gc.freeze()  # imported objects are never garbage
        return run_dashboard(engine, **settings)
    finally:
        started.end()


def _dashboard() -> Callable[..., int]:
    from rowtui.tui.shell.app import run_dashboard

    return run_dashboard


def _engine(started: EngineProcess) -> ProcessEngine:
    if started.options.demo is not None:
        from rowtui.core.demo.process import DemoProcess

        return DemoProcess(started)
    return ProcessEngine(started)


def _in_this_process(args: argparse.Namespace, out: Output, settings: dict[str, Any]) -> int:
    from rowtui.core.engine.local import InProcessEngine

    run_dashboard = _dashboard()
    project = open_project(args, out, synchronise=False)
    settings |= recalled(args, settings.pop("place", None), str(project.root))
    return run_dashboard(InProcessEngine(project, messages=True), **settings)


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
    if (place := place_of(args)) is not None:
        words += place._replace(cluster="").words
    if getattr(args, "fresh", False):
        words.append("--fresh")
    cluster = cluster_name(args)
    if cluster:
        words += ["--cluster", cluster]
    if theme := getattr(args, "theme", None):
        words += ["--theme", theme]
    if getattr(args, "read_only", False):
        words.append("--read-only")
    return shlex.join(words)
