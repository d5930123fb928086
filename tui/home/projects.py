"""The projects of the user as rows, and what each of them needs, from its stored summary. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from rowtui.core.base.text import Cost, plural
from rowtui.core.engine.api.snapshot import ActionSummary, ProjectSnapshot
from rowtui.core.home.known import HOURS, HOURS_EACH, KnownProject, ProjectSummary
from rowtui.core.project.views.views import ClusterView, JobsView
from rowtui.tui.views.status.needs import NeedItem, NextStep, distinct, needs
from rowtui.tui.widgets.cells import Bar, Cell, Line, Number, bars, dimmed, line, wrapped
from rowtui.tui.widgets.chart import ChartArea, ChartPart
from rowtui.tui.widgets.chart_axes import COUNTS, AxisTime
from rowtui.tui.widgets.column_charts import columns_chart
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.short_text import age, ago, amount_of_hours

COLUMNS = (
    TableColumn("project", "Project", 12, 14, grow=1),
    TableColumn("needs", "Needs you", 30, 34, grow=3),
    TableColumn("progress", "Progress", 5, 22, short="Done"),
    TableColumn("running", "Running", 3, 7, "right", 2, short="Run"),
    TableColumn("pending", "Pending", 4, 7, "right", 3, short="Pend"),
    TableColumn("cost", "CPU-h left", 10, 10, "right", 5),
    TableColumn("lately", f"Last {HOURS} h", 12, 12, priority=6),
    TableColumn("opened", "Opened", 12, 12, "right", 4),
    TableColumn("failed", "Failed", 12, 12, "right", 7),
    TableColumn("jobs", "Jobs", 6, 6, "right", 8),
    TableColumn("directories", "Dirs", 7, 7, "right", 9),
    TableColumn("read", "Read", 10, 10, "right", 10),
)

SILENT = "its queue did not answer; it may need a login"


def snapshot_of(one: KnownProject) -> ProjectSnapshot | None:
    """Return the state of a project as Status shows it; None if it is not known."""
    summary = one.summary
    if summary is None or not summary.usable:
        return None
    return ProjectSnapshot(
        generation=0, at=one.read, root=one.root, cluster="", cluster_because="", scheduler="",
        directories=summary.directories, bad=(), bad_count=summary.bad,
        actions=tuple(
            ActionSummary(
                it.action_index, it.name, "", it.completed, it.submitted, it.eligible, it.waiting,
                it.failed, Cost(it.cpu_hours, it.gpu_hours), (), (), "", "", it.problem,
                it.not_reached, it.cancelled,
            )
            for it in summary.actions
        ),
        failures=summary.failures,
    )  # fmt: skip


@lru_cache(maxsize=1024)
def needs_of(one: KnownProject) -> tuple[NeedItem, ...]:
    """Return what needs the user in a project, as Status does, the worst first."""
    summary, snapshot = one.summary, snapshot_of(one)
    if summary is None or snapshot is None:
        return ()
    clusters = tuple(ClusterView(name, "", error=SILENT) for name in summary.silent)
    found = distinct(needs(snapshot, jobs=JobsView(0, one.read, (), "", clusters, (), (), 0,
                                                   summary.stuck)))  # fmt: skip
    if summary.paused:
        paused = NeedItem("▲", f"run paused: {summary.paused}", "warning", NextStep.NETWORK)
        found.insert(sum(it.style == "failed" for it in found), paused)
    return tuple(found)


def state_line(one: KnownProject, now: float) -> Line:
    """Return what needs the user most, or why the project cannot be opened."""
    summary = one.summary
    if one.no_answer_since:
        silent = age(max(0.0, now - one.no_answer_since))
        text = "does not answer" + ("" if silent == "now" else f" for {silent}")
        figures = f"; figures of {ago(one.read, now)}" if one.read else ""
        return line((f"▲ {text}", "failed"), (figures, "dim"))
    if summary is None:
        return line(("not read yet", "dim"))
    if summary.gone:
        return line(("▲ folder is gone: Del removes it", "warning"))
    if summary.problem:
        return line((f"✗ {summary.problem}", "failed"))
    found = needs_of(one)
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return (*found[0].spans, *line((more, "dim"))) if found else ()


def cells_of(one: KnownProject, now: float, here: str) -> Mapping[str, Cell]:
    """Return the cells of one row. `here`: the folder of the project that is open, or ""."""
    summary = one.summary
    opened = "now" if one.root == here else ago(one.opened or None, now)
    cells: dict[str, Cell] = {
        "opened": line((opened, "dim")),
        "read": line((ago(one.read or None, now), "dim")),
    }
    if summary is not None and summary.usable:
        cells |= _figures([summary])
    if one.no_answer_since:
        cells = dimmed(cells)
    cells["project"] = line((one.name, "title" if one.root == here else ""))
    cells["needs"] = state_line(one, now)
    return cells


def projects_total(projects: Sequence[KnownProject]) -> dict[str, Cell]:
    """Return the row below the projects: the sums of the columns."""
    cells = _figures([one.summary for one in projects if one.summary and one.summary.usable])
    needing = sum(
        bool(state_line(one, one.read)) for one in projects if one.summary or one.no_answer_since
    )
    cells["project"] = line(plural(len(projects), "project"))
    cells["needs"] = line((f"{needing:,} need you", "warning")) if needing else ()
    return cells


def _figures(summaries: Sequence[ProjectSummary]) -> dict[str, Cell]:
    def total(name: str, style: str = "") -> Cell:
        known = [getattr(it, name) for it in summaries if getattr(it, name) is not None]
        if not known:
            return line(("–", "dim"))
        return Number(sum(known), style) if sum(known) else line(("·", "dim"))

    cpu_hours = sum(it.cpu_hours for it in summaries)
    parts = ("completed", "submitted", "total", "eligible")
    progress = Bar(*(sum(getattr(it, name) for it in summaries) for name in parts))
    return {
        "progress": progress,
        "running": total("running", "submitted"),
        "pending": total("pending"),
        "cost": line(amount_of_hours(cpu_hours)) if cpu_hours else line(("–", "dim")),
        "lately": line((bars(lately(summaries)), "completed")),
        "failed": total("failed", "failed"),
        "jobs": total("jobs"),
        "directories": total("directories"),
    }


def lately(summaries: Sequence[ProjectSummary]) -> list[int]:
    """Return the directories that all these projects completed in each part of the last day."""
    return [sum(each) for each in zip(*(it.lately for it in summaries if it.lately), strict=False)]


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
        known = {
            "progress": 100 * summary.completed // summary.total if summary.total else None,
            "cost": summary.cpu_hours,
            "lately": sum(summary.lately) if summary.lately else None,
        }
        for name in ("failed", "running", "pending", "jobs", "directories"):
            known[name] = getattr(summary, name)
        values |= {name: value for name, value in known.items() if value is not None}
    return values


def about_line(one: KnownProject, now: float) -> Line:
    """Return the line below the list about the project under the cursor."""
    summary = one.summary
    parts: list[str | tuple[str, str]] = [f" {one.root}"]
    if one.read:
        parts.append((f"  as of {ago(one.read, now)}", "dim"))
    if summary is not None and summary.driver:
        parts.append((f"  driven by {summary.driver}", "submitted"))
    if summary is not None and summary.gpu_hours and summary.usable:
        parts.append((f"  {amount_of_hours(summary.gpu_hours)} GPU-hours left at most", "dim"))
    return line(*parts)


def chart_of(projects: Sequence[KnownProject], now: float, area: ChartArea) -> list[Line]:
    """Return the chart of what all projects completed in the last day."""
    sums = lately([one.summary for one in projects if one.summary and one.summary.usable])
    if not sums:
        text = f"No project has records of jobs that ended in the last {HOURS} hours."
        return wrapped(line((text, "dim")), area.width)
    parts = [ChartPart("all projects", sums)]
    day = AxisTime(now - HOURS * 3600, now, now=True)
    return columns_chart(parts, day, f"directories per {HOURS_EACH} hours", area, COUNTS)
