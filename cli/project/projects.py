"""`rowtui projects`: list the projects that the user has opened, forget some, or find others."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.cli.argument_parser import json_option
from rowtui.cli.output.output import Output, Row, TableCell, TextColumn, table_lines
from rowtui.cli.output.progress import Busy, ProgressBar
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import Cost, count, plural, visible
from rowtui.core.home.known import KnownProject, KnownProjects
from rowtui.core.home.reading import find_below, read_projects

if TYPE_CHECKING:
    from rowtui.core.base.document import Moment, TextOrNull

_EXAMPLES = """\
  rowtui projects                    what needs you, in all projects that you have opened
  rowtui projects --cached           at once, as of the last time
  rowtui projects find ~/studies     add the projects in and below this folder
  rowtui projects forget ~/old       remove one from the list; the project stays as it is
  rowtui projects --json"""

_HOW_TO_BEGIN = """\
You have not opened a project yet.
`rowtui init FOLDER` makes a new one; `rowtui` in its folder opens it, and adds it to this list.
`rowtui projects find FOLDER` lists existing projects; `rowtui demo` makes one to try."""


class ProjectCounts(NamedTuple):
    """Pairs of an action and a directory, by status. `failed` are among the eligible ones."""

    total: int
    completed: int
    submitted: int
    eligible: int
    waiting: int
    failed: int


class ShownProject(NamedTuple):
    """A project. `state`: `ok`, `no answer`, `gone`, `broken`, or `unread` if it was never read.

    `problem`: why it is broken. `opened_at`: null if it was found and not opened. `read_at`: when
    the other values were read; they are null before. `no_answer_since`: the first read without an
    answer. `running_jobs`: as of the last polls of the queues; null if a queue was not polled.
    `run_paused`: why a run is paused. `silent_clusters`: clusters with jobs of the project whose
    last poll failed. `needs`: what needs the user, in words.
    """

    path: str
    state: str
    problem: TextOrNull
    opened_at: Moment
    read_at: Moment
    no_answer_since: Moment
    directories: int | None = None
    counts: ProjectCounts | None = None
    jobs: int | None = None
    running_jobs: int | None = None
    remaining_cost: Cost | None = None
    run_paused: TextOrNull = ""
    silent_clusters: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


class ShownProjects(NamedTuple):
    """`projects`, in the order of the last opening."""

    projects: Sequence[ShownProject]


def add_projects(commands: Any, add: Any, about: Mapping[str, str]) -> None:
    """Add the command with its options."""
    projects = add(commands, "projects", "project.projects", about["projects"], _EXAMPLES)
    projects.add_argument(
        "verb",
        nargs="?",
        choices=("list", "find", "forget"),
        default="list",
        metavar="list|find|forget",
        help="list them, add those below folders, or remove some from the list [default: list]",
    )
    projects.add_argument("paths", nargs="*", metavar="PATH", help="folders, for find and forget")
    projects.add_argument(
        "--cached", action="store_true", help="show what was read last, and read nothing"
    )
    json_option(projects)


def run(args: argparse.Namespace, out: Output) -> int:
    """List, find or forget; 1 if a project to forget is not in the list."""
    known = KnownProjects()
    if args.verb != "list" and not args.paths:
        raise RowtuiError(f"{args.verb} needs a folder", f"rowtui projects {args.verb} PATH")
    if args.verb == "list" and args.paths:
        raise RowtuiError("list takes no folder", "`rowtui projects find PATH` looks in a folder")
    if args.verb == "forget":
        return _forget(known, args.paths, out)
    if args.verb == "find":
        _find(known, args.paths, out)
    found = known.load()
    if not args.cached:
        found = _read(known, found, out)
    if known.notice:
        out.warn(known.notice)
    if args.json:
        out.json(ShownProjects([_shown(one) for one in found]))
    elif not found:
        out.print(_HOW_TO_BEGIN)
    else:
        out.lines(_lines(found, out))
    return 0


def _forget(known: KnownProjects, paths: Sequence[str], out: Output) -> int:
    roots = {one.root for one in known.load()}
    code = 0
    for path in paths:
        # The link may be on a file system that hangs, so the name is first compared as it is.
        root = os.path.abspath(os.path.expanduser(path))
        if root not in roots:
            root = os.path.realpath(root)
        try:
            forgotten = known.forget(root)
        except OSError as error:
            raise RowtuiError(
                f"{visible(root)} cannot be forgotten: {error.strerror}",
                f"remove its files from {visible(str(known.folder))}",
            ) from None
        if forgotten:
            out.note(f"{visible(root)} is no longer listed; the project is unchanged.")
        else:
            out.error(f"{visible(root)} is not in the list; `rowtui projects` shows the names")
            code = 1
    return code


def _find(known: KnownProjects, paths: Sequence[str], out: Output) -> None:
    for path in paths:
        with Busy(out, f"Looking for projects below {visible(path)}"):
            roots = find_below(os.path.expanduser(path))
        for root in roots:
            known.add(root, 0.0)
        out.note(f"{plural(len(roots), 'project')} found below {visible(path)}.")


def _read(known: KnownProjects, found: list[KnownProject], out: Output) -> list[KnownProject]:
    progress = ProgressBar(out, "Reading projects")
    new: dict[str, KnownProject] = {}
    try:
        for project in read_projects(known, found):
            new[project.root] = project
            progress(len(new), len(found))
    finally:
        progress.close()
    return [new.get(one.root, one) for one in found]


def _lines(found: Sequence[KnownProject], out: Output) -> list[str]:
    columns = [
        TextColumn("Project", style="bold"),
        TextColumn("Done", right=True, style="green bold"),
        TextColumn("Jobs", right=True),
        TextColumn("Running", right=True, style="yellow bold"),
        TextColumn("Needs you"),
        TextColumn("Remaining cost", right=True, style="italic dim"),
        TextColumn("Opened", style="dim"),
        TextColumn("Path", style="dim"),
    ]
    return table_lines(columns, [_row(one, time.time()) for one in found], out)


def _row(one: KnownProject, now: float) -> Row:
    summary = one.summary
    ends = [_local(one.opened) if one.opened else "never", visible(one.root)]
    needs = TableCell(visible(", ".join(one.needs)), "red bold")
    if one.no_answer_since:
        seconds = round(now - one.no_answer_since)
        needs = TableCell(f"does not answer, since {seconds:,} s", "red bold")
    elif summary is None:
        needs = TableCell("not read yet", "dim")
    elif summary.gone:
        needs = TableCell("gone: the folder has no workflow.toml", "yellow")
    elif summary.problem:
        needs = TableCell(visible(summary.problem), "red bold")
    if summary is None or not summary.usable:
        return [visible(one.name), "", "", "", needs, "", *ends]
    done = f"{100 * summary.completed // summary.total}%" if summary.total else ""
    running = "" if summary.running is None else count(summary.running)
    cost = Cost(summary.cpu_hours, summary.gpu_hours)
    shown = str(cost) if cost else ""
    return [visible(one.name), done, count(summary.jobs), running, needs, shown, *ends]


def _local(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC).astimezone():%Y-%m-%d %H:%M}"


def _shown(one: KnownProject) -> ShownProject:
    summary = one.summary
    problem = "" if summary is None else summary.problem
    times = (one.opened, one.read, one.no_answer_since)
    shown = ShownProject(one.root, one.state, problem, *times)
    if summary is None or not summary.usable:
        return shown
    return shown._replace(
        directories=summary.directories,
        counts=ProjectCounts(
            summary.total,
            summary.completed,
            summary.submitted,
            summary.eligible,
            summary.waiting,
            summary.failed,
        ),
        jobs=summary.jobs,
        running_jobs=summary.running,
        remaining_cost=Cost(summary.cpu_hours, summary.gpu_hours),
        run_paused=summary.paused,
        silent_clusters=summary.silent,
        needs=one.needs,
    )
