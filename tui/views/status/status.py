"""A project's status as lines: the table of actions, and the chosen action."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rowtui.core.base.text import plural
from rowtui.tui.widgets.cells import Bar, FirstThatFits, Number, bars, line
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.short_text import JOB_MARKS, cost_forms, in_words

if TYPE_CHECKING:
    from rowtui.core.engine.api.engine import ActionSummary, ProjectSnapshot
    from rowtui.core.project.views.views import JobsView
    from rowtui.core.usage.table import UsageRow
    from rowtui.tui.widgets.cells import Cell, Line


COUNTS = ("completed", "submitted", "eligible", "waiting")
ENDED = ("failed", "not_reached", "cancelled")
"""The ends of the last job of eligible directories: parts of that count, in parentheses."""


def action_columns(
    actions: Sequence[ActionSummary], used: Mapping[str, UsageRow]
) -> tuple[TableColumn, ...]:
    """Return the columns of the status table; the first is as wide as the longest name needs.

    `used`: what the jobs of an action used, where that is known.
    """
    longest = max((len(action.name) for action in actions), default=6)
    widest = {
        name: max((len(f"{getattr(action, name):,}") for action in actions), default=1)
        for name in (*COUNTS, *ENDED)
    }

    def counting(name: str, short: str, priority: int) -> TableColumn:
        title, width = name.capitalize(), widest[name]
        if name in ENDED:
            title, width = f"({name.replace('_', ' ')})", width + 2
        least, ideal = min(max(len(short), width), 6), max(width, len(title))
        return TableColumn(
            name, title, least, ideal, "right", priority, short=short, family="counts"
        )

    measured = any(row.cpu_share is not None for row in used.values())

    def is_any(name: str) -> bool:
        return any(getattr(action, name) for action in actions)

    return (
        TableColumn("action", "Action", min(12, max(6, longest)), min(40, max(6, longest))),
        counting("completed", "Done", 0),
        counting("submitted", "Subm", 0),
        counting("eligible", "Elig", 0),
        counting("failed", "(fail)", 1),
        *((counting("not_reached", "(notr)", 4),) if is_any("not_reached") else ()),
        *((counting("cancelled", "(canc)", 4),) if is_any("cancelled") else ()),
        counting("waiting", "Wait", 1),
        *((TableColumn("used", "CPU used", 5, 8, "right", 5, short="CPU %"),) if measured else ()),
        TableColumn("cost", "Remaining", 10, 12, "right", 3, short="Left"),
        TableColumn("progress", "Progress", 10, 14, priority=2, grow=1),
    )


def action_cells(action: ActionSummary, used: UsageRow | None = None) -> dict[str, Cell]:
    """Return one row of the status table."""
    name = line((action.name, "warning" if action.problem else ""))
    if action.problem:
        name = line(("▲ ", "warning"), (action.name, "warning"))
    cells: dict[str, Cell] = {"action": name}
    for count in (*COUNTS, *ENDED):
        value = getattr(action, count)
        style = count if count in COUNTS or count == "failed" else "warning"
        cells[count] = Number(value, style if value else "faint", part=count in ENDED)
    share = None if used is None else used.cpu_share
    cells["used"] = line(("–", "faint") if share is None else f"{share:.0%}")
    cells["cost"] = FirstThatFits(tuple(line(form) for form in cost_forms(action.remaining_cost)))
    cells["progress"] = Bar(action.completed, action.submitted, action.total)
    return cells


def changed_counts(old: ProjectSnapshot | None, new: ProjectSnapshot) -> frozenset[tuple[int, str]]:
    """Return the cells of the status table whose number has changed: (action index, column)."""
    if old is None:
        return frozenset()
    before = {(action.index, action.name): action for action in old.actions}
    found = set()
    for action in new.actions:
        was = before.get((action.index, action.name))
        if was is not None:
            found |= {
                (action.index, count)
                for count in (*COUNTS, *ENDED)
                if getattr(was, count) != getattr(action, count)
            }
    return frozenset(found)


def action_detail(action: ActionSummary, used: UsageRow | None = None) -> list[Line]:
    """Return an action's settings in workflow.toml, and its state; the most useful lines first."""
    lines = []
    if action.problem:
        lines.append(line(("▲ ", "warning"), (action.problem, "warning")))
    lines.append(_field("status", *_standing(action)))
    lines.append(_field("command", first_line(action.command)))
    lines.append(_field("groups", action.grouping or "all directories in one group"))
    lines.append(_field("resources", action.resources or "1 process"))
    lines.append(
        _field("remaining", str(action.remaining_cost) if action.remaining_cost else "nothing")
    )
    if (words := used_words(used)) and used is not None:
        basis = f"  of what {plural(used.jobs, 'job')} requested"
        lines.append(_field("used", words, (basis, "dim")))
    lines.append(_field("products", ", ".join(action.products) or "none: it never completes"))
    lines.append(_field("after", ", ".join(action.previous_actions) or "nothing"))
    return lines


def used_words(used: UsageRow | None) -> str:
    """Return `CPU 42%, memory 61%, time 12%`: means of what was used; "" if nothing is known."""
    if used is None:
        return ""
    shares = (("CPU", used.cpu_share), ("memory", used.memory_share), ("time", used.wall_share))
    return ", ".join(f"{name} {share:.0%}" for name, share in shares if share is not None)


def first_line(text: str) -> str:
    """Return the first line of a command; `…` marks further lines."""
    lines = text.strip().splitlines()
    return (lines[0] + (" …" if len(lines) > 1 else "")) if lines else ""


def _standing(action: ActionSummary) -> list[tuple[str, str]]:
    if not action.total:
        return [("includes no directory", "dim")]
    parts = [(f"✓ {action.completed:,} completed", "completed")]
    if action.submitted:
        parts.append((f"▶ {action.submitted:,} submitted", "submitted"))
    if action.eligible:
        parts.append((f"○ {action.eligible:,} eligible", "eligible"))
    if ended := [
        f"{mark} {number:,} {word}"
        for mark, number, word in (
            ("✗", action.failed, "failed"),
            ("◌", action.not_reached, "not reached"),
            ("⊘", action.cancelled, "cancelled"),
        )
        if number
    ]:  # These directories are eligible, and are not added to the four counts.
        parts.append((f"({', '.join(ended)})", "failed" if action.failed else "warning"))
    if action.waiting:
        parts.append((f"· {action.waiting:,} waiting", "waiting"))
    spaced: list[tuple[str, str]] = []
    for part in parts:
        gap = " " if part[0].startswith("(") else "  "
        spaced += [(gap, ""), part] if spaced else [part]
    return spaced


def _field(name: str, *parts: str | tuple[str, str]) -> Line:
    return line((f"{name:<10} ", "dim"), *parts)


def job_counts(view: JobsView | None) -> list[Line]:
    """Return the number of jobs in each state, one line each; the active states first."""
    if view is None:
        return [line(("not asked yet", "dim"))]
    if not view.jobs:
        return [line(("no jobs yet", "dim"))]
    counts = {state.value: number for state, number in view.states.items()}
    widest = max(len(f"{number:,}") for number in counts.values())
    return [
        line((f"{mark.glyph} {counts[state.value]:>{widest},} {mark.word}", mark.style))
        for state, mark in JOB_MARKS.items()
        if state.value in counts
    ]


def pace_lines(view: JobsView | None, action: ActionSummary | None) -> list[Line]:
    """Return completed directories in each hour of the last day, and when the rest may end."""
    if view is None or action is None:
        return []
    pace = next((one for one in view.paces if one.action == action.name), None)
    if pace is None or not any(pace.hours):
        return [line(("no job of it ended well within a day", "dim"))]
    most = max(pace.hours)
    lines = [
        line((bars(pace.hours), "completed"), ("  24 h", "dim")),
        line(("best hour  ", "dim"), f"{most:,}", ("   this hour  ", "dim"), f"{pace.hours[-1]:,}"),
    ]
    left = action.submitted + action.eligible + action.waiting
    hours = pace.hours_left(left)
    if not left:
        lines.append(line(("all of it is completed", "dim")))
    elif hours is None:
        lines.append(line(("nothing completed for some hours", "warning")))
    else:
        done, within = pace.lately
        basis = f" after {done:,} in {in_words(within)}"
        lines.append(line(("the rest  ", "dim"), f"in {in_words(hours)}", (basis, "dim")))
    return lines
