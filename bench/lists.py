"""Measure long lists: `python -m bench.lists [--directories 1000000] [--memory]`.

Filters, sorts and pages of all directories and groups of an action, as a screen asks for them, cut
by the engine's own pages; each question twice, so that what is kept shows. On the project of
`bench.make_project`; with `--memory` its directories are only in the caches, so that a million need
no files.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rowtui.core.engine.local.cuts import RequestedList
from rowtui.core.engine.local.pages import ListPages
from rowtui.core.groups.model import Status
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.views.views import ListRequest
from rowtui.core.state.merge import build_directories
from rowtui.core.state.model import State, bit_set

from bench.machine import machine
from bench.make_project import completed_actions, directory_name, make_project, value
from bench.measured import Measured, write

ACTION = 3  # sorted by two values, split, at most 100 in a group
EVERYTHING = tuple(Status)
DIRECTORIES = (
    ("as it is", ListRequest()),
    ("status", ListRequest("status=eligible")),
    ("part of a name", ListRequest("beef")),
    ("part of a name, in nearly all", ListRequest("0")),
    ("pattern of a name", ListRequest("name~^00.*f$")),
    ("a stored value", ListRequest("temperature<1.5")),
    ("a stored value, a name, a status", ListRequest("temperature<1.5 ab !status=completed")),
    ("a value that is not stored", ListRequest("seed>10")),
    ("the same value again, another number", ListRequest("seed>11")),
    ("by name, descending", ListRequest("", "name", True)),
    ("by status", ListRequest("", "status")),
    ("by a value", ListRequest("", "/temperature")),
    ("by a value, filtered, descending", ListRequest("status!=completed", "/temperature", True)),
)
GROUPS = (
    ("as they are", ListRequest()),
    ("size", ListRequest("size<100")),
    ("first directory", ListRequest("name~^00")),
    ("text anywhere", ListRequest("2.5")),
    ("a stored value, by first directory", ListRequest("temperature<1.5", "first")),
    ("by size, descending", ListRequest("", "size", True)),
    ("by sort key", ListRequest("", "sort_key", True)),
)


@dataclass
class Read:
    """A reading of a workspace that nobody has on disk."""

    raw: list[bytes | None]
    stamps: list[tuple[int, int]]
    bad: dict[int, str] = field(default_factory=dict)
    vanished: list[int] = field(default_factory=list)
    completed: dict[str, int] = field(default_factory=dict)


def in_memory(root: Path, count: int) -> OpenProject:
    """The project with `count` directories that have no folders."""
    numbers = {directory_name(number).encode(): number for number in range(count)}
    names = sorted(numbers)
    read = Read([value(numbers[name]) for name in names], [(1, 1)] * count)
    project = OpenProject.open(root, cluster="local")
    pointers = ("/temperature", "/pressure", "/kind", "/flag", "/x")
    directories = build_directories(names, read, value_file="value.json", pointers=pointers)
    far = [completed_actions(numbers[name]) for name in names]
    completed = {
        action.name: bit_set(at for at, done in enumerate(far) if done > action.index)
        for action in project.workflow.actions
    }
    project.use(State(1, directories, completed))
    return project


def asked_twice(ask: Any) -> tuple[int, float, float]:
    """Rows; milliseconds for the first page, and for one in the middle."""
    began = time.perf_counter()
    page = ask(0)
    middle = time.perf_counter()
    ask(page.total // 2)
    return page.total, 1000 * (middle - began), 1000 * (time.perf_counter() - middle)


def measure(project: OpenProject, directories: int) -> list[Measured]:
    """A row for each question."""
    pages = ListPages(project)
    action = project.workflow.actions[ACTION]
    found = []
    for kind, cut, questions in (
        ("directories", pages.directories_page, DIRECTORIES),
        ("groups", pages.groups_page, GROUPS),
    ):
        for title, asked in questions:
            which = RequestedList(action, EVERYTHING, asked)
            rows, first, other = asked_twice(lambda at, w=which, c=cut: c(w, at, 100))
            figures = {"rows": float(rows), "first page ms": first, "in the middle ms": other}
            found.append(Measured(f"{kind}: {title}", directories, best=figures))
    return found


def table(found: Sequence[Measured]) -> list[str]:
    """The rows as Markdown."""
    lines = ["| list, question | rows | first page, ms | in the middle, ms |"]
    lines.append("|---|---:|---:|---:|")
    for one in found:
        rows, first, other = one.best.values()
        lines.append(f"| {one.what} | {rows:,.0f} | {first:,.1f} | {other:,.1f} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directories", type=int, default=100_000)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rowtui-lists-") as temporary:
        folder = Path(temporary)
        make_project(folder, 10 if chosen.memory else chosen.directories)
        if chosen.memory:
            project = in_memory(folder / "rowtui", chosen.directories)
        else:
            project = OpenProject.open(folder / "rowtui", cluster="local")
            project.synchronise()
        found = measure(project, chosen.directories)
    where = "only in the caches" if chosen.memory else "in files"
    print(f"## {chosen.directories:,} directories, {where}\n\n{machine()}\n")
    print("\n".join(table(found)))
    if chosen.json:
        write(chosen.json, found)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000
    print(f"\nMost memory of the process, making the project included: {most:,} MB.")


if __name__ == "__main__":
    main()
