"""The last day of an action as a row of bars, and the estimated end of the remaining
directories.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.tui.widgets.cells import line

if TYPE_CHECKING:
    from rowtui.core.engine.api.engine import ActionSummary, JobsView
    from rowtui.tui.widgets.cells import Line

HEIGHTS = "▁▂▃▄▅▆▇█"


def pace_lines(view: JobsView | None, action: ActionSummary | None) -> list[Line]:
    """Return completed directories in each hour of the last day, and the estimated end of
    the rest.
    """
    if view is None or action is None:
        return []
    pace = next((one for one in view.paces if one.action == action.name), None)
    if pace is None or not any(pace.hours):
        return [line(("no job of it ended well within a day", "dim"))]
    most = max(pace.hours)
    bars = "".join(
        HEIGHTS[0] if not count else HEIGHTS[max(1, round(count / most * 7))]
        for count in pace.hours
    )
    lines = [
        line((bars, "completed"), ("  24 h", "dim")),
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


def in_words(hours: float) -> str:
    """Return `40 min`, `12 h 30 min`, `2 d 7 h`."""
    minutes = max(1, round(hours * 60))
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes // 60} h" + (f" {minutes % 60} min" if minutes % 60 else "")
    days, rest = divmod(round(hours), 24)
    return f"{days:,} d" + (f" {rest} h" if rest else "")
