"""The home view as cells and lines: one row for each project."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rowtui.core.base.text import Cost
from rowtui.core.home.known import KnownProject
from rowtui.tui.widgets.cells import Cell, FirstThatFits, Line, Number, line, percentage
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.short_text import age, ago, cost_forms

COLUMNS = (
    TableColumn("project", "Project", 9, 24, grow=1),
    TableColumn("done", "Done", 5, align="right", priority=1),
    TableColumn("needs", "Needs you", 12, 24, grow=2),
    TableColumn("running", "Running", 3, 7, "right", 3, short="Run"),
    TableColumn("jobs", "Jobs", 4, 6, "right", 4),
    TableColumn("cost", "Cost left", 10, 12, "right", 6),
    TableColumn("opened", "Opened", 10, 10, "right", 5),
    TableColumn("read", "Read", 10, 10, "right", 7),
    TableColumn("directories", "Dirs", 5, 7, "right", 8),
    TableColumn("failed", "Failed", 4, 6, "right", 9, short="Fail"),
)

HOW_TO_BEGIN = (
    line("You have not opened a project yet."),
    line("`rowtui init FOLDER` makes one, `rowtui` in its folder opens it."),
    line("`rowtui projects find FOLDER` lists old ones; `rowtui demo` makes a demo."),
)


def state_line(one: KnownProject, now: float) -> Line:
    """Return what needs the user, or why the project cannot be opened."""
    if one.no_answer_since:
        silent = age(max(0.0, now - one.no_answer_since))
        text = "does not answer" + ("" if silent == "now" else f" for {silent}")
        return line((f"▲ {text}", "failed"))
    summary = one.summary
    if summary is None:
        return line(("not read yet", "dim"))
    if summary.gone:
        return line(("gone: x forgets it", "warning"))
    if summary.problem:
        return line((f"✗ {summary.problem}", "failed"))
    return line((", ".join(one.needs), "failed" if summary.failed else "warning"))


def cells_of(one: KnownProject, now: float, here: str) -> Mapping[str, Cell]:
    """Return the cells of one row. `here`: the folder of the project that is open, or ""."""
    summary = one.summary
    cells: dict[str, Cell] = {
        "project": line((one.name, "title" if one.root == here else "")),
        "needs": state_line(one, now),
        "opened": line((ago(one.opened or None, now), "dim")),
        "read": line((ago(one.read or None, now), "dim")),
    }
    if summary is None or not summary.usable:
        return cells
    whole = summary.total > 0 and summary.completed == summary.total
    done = percentage(summary.completed, summary.total).strip()
    cells["done"] = line((done, "completed" if whole else ""))
    cells["jobs"] = Number(summary.jobs, "" if summary.jobs else "dim")
    cells["failed"] = Number(summary.failed, "failed" if summary.failed else "dim")
    cells["directories"] = Number(summary.directories, "dim")
    cells["running"] = (
        line(("–", "dim"))
        if summary.running is None
        else Number(summary.running, "submitted" if summary.running else "dim")
    )
    forms = cost_forms(Cost(summary.cpu_hours, summary.gpu_hours))
    cells["cost"] = FirstThatFits(tuple(line((text, "dim")) for text in forms))
    return cells


def values_of(one: KnownProject, now: float) -> Mapping[str, Any]:
    """Return the values by which the list is filtered and sorted. Times are ages in seconds."""
    values: dict[str, Any] = {
        "project": one.name,
        "path": one.root,
        "state": one.state,
        "needs": "".join(span.text for span in state_line(one, now)),
        "opened": round(now - one.opened) if one.opened else "",
        "read": round(now - one.read) if one.read else "",
    }
    summary = one.summary
    if summary is not None and summary.usable:
        values |= {
            "done": 100 * summary.completed // summary.total if summary.total else "",
            "failed": summary.failed,
            "running": "" if summary.running is None else summary.running,
            "jobs": summary.jobs,
            "cost": summary.cpu_hours + summary.gpu_hours,
            "directories": summary.directories,
        }
    return values


def about_line(one: KnownProject, now: float) -> Line:
    """Return the line below the list about the project under the cursor."""
    summary = one.summary
    parts: list[str | tuple[str, str]] = [f" {one.root}"]
    if one.read:
        parts.append((f"  as of {ago(one.read, now)}", "dim"))
    if one.no_answer_since or summary is None:
        return line(*parts)
    if summary.problem:
        parts.append((f"  {summary.problem}", "failed"))
    elif summary.paused:
        parts.append((f"  run paused: {summary.paused}", "warning"))
    return line(*parts)
