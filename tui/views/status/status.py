"""A project's status as lines: the table of actions, and the chosen action."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rowtui.core.base.text import Cost, count, in_words, plural
from rowtui.tui.widgets.cells import Bar, FirstThatFits, Number, line, wrapped
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.short_text import JOB_MARKS, amount_of_hours, moment

if TYPE_CHECKING:
    from rowtui.core.engine.api.snapshot import ActionSummary, ProjectSnapshot
    from rowtui.core.project.views.views import JobsView
    from rowtui.core.usage.table import UsageRow
    from rowtui.tui.widgets.cells import Cell, Line
    from rowtui.tui.widgets.columns import PlacedColumn


COUNTS = ("completed", "submitted", "eligible", "waiting")
"""The counts that add up to the total."""

ENDED = {"failed": "✗", "not_reached": "◌", "cancelled": "⊘"}
"""The marks of the ends of the last job of eligible directories, which are parts of that count."""


def action_columns(actions: Sequence[ActionSummary]) -> tuple[TableColumn, ...]:
    """Return the columns of the status table; each is as wide as its widest value needs."""

    def widest(name: str) -> int:
        return max(len(count(sum(getattr(one, name) for one in actions))), 1)

    def counting(name: str, short: str, priority: int = 0) -> TableColumn:
        title, width = name.capitalize(), widest(name)
        if name in ENDED:
            title, width = f"{short} {name.replace('_', ' ')}", width + 1
        least = min(max(len(short), width), 7)
        ideal = max(width, len(title))
        return TableColumn(
            name, title, least, ideal, "right", priority, short=short, family="counts"
        )

    def is_any(name: str) -> bool:
        return any(getattr(action, name) for action in actions)

    longest = max((len(one.name) for one in actions), default=6)
    longest = max(longest, len(all_actions(actions)))
    hours = max(len(amount_of_hours(_cost(actions).cpu_hours)), 5)
    gpus = max(len(amount_of_hours(_cost(actions).gpu_hours)), 5)
    return (
        TableColumn("action", "Action", min(12, max(6, longest)), min(40, max(6, longest))),
        counting("completed", "Done"),
        counting("submitted", "Subm", 1),
        counting("eligible", "Elig"),
        counting("failed", "✗"),
        *((counting("not_reached", "◌", 5),) if is_any("not_reached") else ()),
        *((counting("cancelled", "⊘", 5),) if is_any("cancelled") else ()),
        counting("waiting", "Wait", 2),
        counting("total", "Total", 4),
        TableColumn("cost", "CPU-h left", hours, 10, "right", 5, short="CPU-h"),
        *((TableColumn("gpus", "GPU-h left", gpus, 10, "right", 5, short="GPU-h"),)
          if _cost(actions).gpu_hours else ()),
        TableColumn("progress", "Progress", 8, 14, priority=3, grow=1),
    )  # fmt: skip


def action_cells(action: ActionSummary) -> dict[str, Cell]:
    """Return one row of the status table."""
    name = line((action.name, "warning" if action.problem else ""))
    if action.problem:
        name = line(("▲ ", "warning"), (action.name, "warning"))
    return {"action": name, **_cells([action])}


def counts_explained(placed: Iterable[PlacedColumn]) -> str:
    """Return what the columns of counts add up to, by their titles; "" if one is not shown."""
    titles = {one.column.id: one.title for one in placed}
    *parts, total = (titles.get(name, "") for name in (*COUNTS, "total"))
    whole = f"{' + '.join(parts)} = {total}; ✗ = failed among the eligible"
    return whole if all((*parts, total)) else ""


def total_cells(actions: Sequence[ActionSummary]) -> dict[str, Cell]:
    """Return the row below the actions: the sums of the columns."""
    name = FirstThatFits((line(all_actions(actions)), line("all")))
    return {"action": name, **_cells(actions)}


def all_actions(actions: Sequence[ActionSummary]) -> str:
    """Return the name of the row of sums."""
    return f"all {plural(len(actions), 'action')}"


def _cells(actions: Sequence[ActionSummary]) -> dict[str, Cell]:
    def total(name: str) -> int:
        return sum(getattr(action, name) for action in actions)

    cells: dict[str, Cell] = {
        name: Number(total(name), name) if total(name) else line(("·", "dim")) for name in COUNTS
    }
    for name, mark in ENDED.items():
        style = "failed" if name == "failed" else "warning"
        cells[name] = Number(total(name), style, mark=mark) if total(name) else ()
    cost = _cost(actions)
    cells["total"] = Number(total("total"))
    cells["cost"], cells["gpus"] = _amount(cost.cpu_hours), _amount(cost.gpu_hours)
    done, moving, ready = (total(name) for name in COUNTS[:3])
    cells["progress"] = Bar(done, moving, total("total"), ready)
    return cells


def _cost(actions: Sequence[ActionSummary]) -> Cost:
    return Cost.total(action.remaining_cost for action in actions)


def _amount(hours: float) -> Line:
    return line(amount_of_hours(hours)) if hours else line(("–", "dim"))


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


def action_detail(
    action: ActionSummary, width: int, used: UsageRow | None = None, pace: Line = ()
) -> list[Line]:
    """Return an action's state and what its jobs ask for and used; the most useful lines first.

    `pace`: how fast it progresses; empty for unknown.
    """
    lines = []
    if action.problem:
        lines.append(line(("▲ ", "warning"), (action.problem, "warning")))
    lines += wrapped(_standing(action), width)
    left = f"{action.remaining_cost} at most" if action.remaining_cost else "nothing"
    fields: list[tuple[str, Line]] = [
        ("left", line(left)),
        ("pace", pace),
        ("each job", line(f"{action.resources}, {action.grouping}")),
        ("used", line(used_words(used))),
        ("command", line(first_line(action.command))),
        ("product", line(", ".join(action.products) or "none: the action never completes")),
        ("after", line(", ".join(action.previous_actions))),
    ]
    for name, text in fields:
        if any(span.text for span in text):
            start = line((f"{name:<9} ", "dim"))
            lines += wrapped((*start, *text), width, 10)
    return lines


def used_words(used: UsageRow | None) -> str:
    """Return `CPUs 91%, memory 61%, time 12% of what 5 jobs asked for`; "" for unknown."""
    if used is None:
        return ""
    shares = (("CPUs", used.cpu_share), ("memory", used.memory_share), ("time", used.wall_share))
    known = ", ".join(f"{name} {share:.0%}" for name, share in shares if share is not None)
    return f"{known} of what {plural(used.jobs, 'job')} asked for" if known else ""


def first_line(text: str) -> str:
    """Return the first line of a command; `…` marks further lines."""
    lines = text.strip().splitlines()
    return (lines[0] + (" …" if len(lines) > 1 else "")) if lines else ""


def _standing(action: ActionSummary) -> Line:
    if not action.total:
        return line(("no directory belongs to this action", "dim"))
    parts = [(f"✓ {action.completed:,} completed", "completed")]
    if action.submitted:
        parts.append((f"▶ {action.submitted:,} submitted", "submitted"))
    if action.eligible:
        parts.append((f"○ {action.eligible:,} eligible", "eligible"))
    # These directories are eligible, and are not added to the four counts.
    for name, mark in ENDED.items():
        if number := getattr(action, name):
            style = "failed" if name == "failed" else "warning"
            parts.append((f"{mark} {number:,} of them {name.replace('_', ' ')}", style))
    if action.waiting:
        parts.append((f"· {action.waiting:,} waiting", "waiting"))
    return line(*(it for part in parts for it in (part, "   ")))[:-1]


def job_counts(view: JobsView | None) -> str:
    """Return `4 running · 2 pending`, of the jobs that have not ended."""
    if view is None:
        return ""
    counts = {state.value: number for state, number in view.states.items()}
    return " · ".join(
        f"{counts[state.value]:,} {mark.word}"
        for state, mark in JOB_MARKS.items()
        if state.active and state.value in counts
    )


def pace_of(view: JobsView | None, action: ActionSummary, now: float) -> Line:
    """Return how many directories complete in an hour, and when the rest ends.

    `now`: epoch seconds.
    """
    left = action.submitted + action.eligible + action.waiting
    pace = next((one for one in view.paces if one.action == action.name), None) if view else None
    if view is None or not left:
        return ()
    if pace is None or not any(pace.hours):
        return line(("no directory completed in the last 24 hours", "dim"))
    ahead = pace.hours_left(left)
    if ahead is None:
        return line((f"no directory completed in the last {pace.quiet_hours} hours", "warning"))
    done, within = pace.lately
    rate = done / within
    speed = f"{rate:,.0f} an hour" if rate >= 1 else f"{rate * 24:.1f} a day"
    return line(
        speed, (f", in the last {in_words(within)}", "dim"),
        f"; the other {count(left)} end {moment(now + ahead * 3600, now)}",
    )  # fmt: skip
