"""The clusters as lines: the connection to each one, its jobs, and the age of this information."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.clusters.schedulers.base import JobState
from rowtui.tui.widgets.cells import Span, cut, fit, line, width_of
from rowtui.tui.widgets.short_text import (
    APART,
    CONNECTED,
    CONNECTING,
    HERE,
    NEEDS_LOGIN,
    SILENT,
    SLOW,
    UNREACHABLE,
    WELL,
    age,
    ago,
)

if TYPE_CHECKING:
    from rowtui.core.project.views.views import ClusterView
    from rowtui.tui.widgets.cells import Line
    from rowtui.tui.widgets.short_text import Mark


MOST_LINES = 4
"""The number of clusters with a line of their own; the others are counted."""

GAP = Span("  ")


class Counts(NamedTuple):
    """The numbers of the user's running and waiting jobs on a cluster."""

    running: int
    waiting: int


def counted(states: Iterable[tuple[JobState, int]]) -> Counts:
    """Return the numbers of running and waiting jobs, from counts by state."""
    running = waiting = 0
    for state, number in states:
        if state is JobState.RUNNING or state is JobState.COMPLETING:
            running += number
        elif state.active:
            waiting += number
    return Counts(running, waiting)


def cluster_mark(cluster: ClusterView, connecting: Collection[str] = ()) -> Mark:
    """Return the mark for the connection to a cluster."""
    if cluster.name in connecting:
        return CONNECTING
    if cluster.login:
        return NEEDS_LOGIN
    if cluster.connected is False:
        return UNREACHABLE if cluster.error else APART
    if cluster.error:
        return SILENT
    if cluster.slow:
        return SLOW
    return HERE if cluster.connected is None else CONNECTED


def cluster_lines(
    clusters: Sequence[ClusterView],
    now: float,
    width: int,
    connecting: Collection[str] = (),
) -> list[Line]:
    """Return one line for each cluster, and one line for the clusters that do not fit.

    If not all fit, clusters that need the user come before clusters without a problem.
    """
    marks = {cluster.name: cluster_mark(cluster, connecting) for cluster in clusters}
    counts = {cluster.name: counted(cluster.counts) for cluster in clusters}
    shown = list(clusters)
    if len(clusters) > MOST_LINES:
        well = [one for one in clusters if marks[one.name] in WELL]
        ill = [one for one in clusters if one not in well]
        chosen = [*ill, *well][:MOST_LINES]
        shown = [one for one in clusters if one in chosen]
    names = min(20, max((width_of(line(one.name)) for one in shown), default=0))
    states = max((width_of(marks[one.name].spans) for one in shown), default=0)
    lines = []
    for one in shown:
        start = (*fit(line((one.name, "title")), names), GAP)
        start += (*fit(marks[one.name].spans, states), GAP)
        room = width - width_of(start)
        lines.append((*start, *_rest(one, marks[one.name], _numbers(one, counts), now, room)))
    if len(clusters) > len(shown):
        rest = [one for one in clusters if one not in shown]
        fine = all(marks[one.name] in WELL for one in rest)
        text = f"+{len(rest)} more" + (", all well" if fine else "")
        lines.append(line((text, "dim")))
    return [cut(one, width) for one in lines]


def _numbers(cluster: ClusterView, counts: Mapping[str, Counts]) -> Line:
    """Return `12 running  3 pending`, aligned with the numbers of the other clusters."""
    widest = max((len(f"{one.running:,}") for one in counts.values()), default=1)
    wider = max((len(f"{one.waiting:,}") for one in counts.values()), default=1)
    its = counts.get(cluster.name, Counts(0, 0))
    return line(
        (f"{its.running:>{widest},} running", "submitted" if its.running else "dim"),
        (f"  {its.waiting:>{wider},} pending", "" if its.waiting else "dim"),
    )


def _rest(cluster: ClusterView, mark: Mark, numbers: Line, now: float, room: int) -> Line:
    """Return the text after name and state."""
    if mark is CONNECTING:
        return line((cluster.where, "dim"))
    if mark is NEEDS_LOGIN:
        return line(("press ", "dim"), ("L", "key"), f": {cluster.login}")
    if mark in (SILENT, UNREACHABLE):
        old = "" if cluster.as_of is None else f"last answer {ago(cluster.as_of, now)}"
        again = cluster.next_at - now
        again_text = f", again in {_long(again)}" if again >= 1 else ""
        when = f"{old}{again_text}".removeprefix(", ")
        return line((f"{when}: " if when else "", "dim"), cluster.error)
    if mark is APART:
        return line(("press ", "dim"), ("L", "key"), (" to connect", "dim"))
    if cluster.as_of is None:
        return line(("not asked yet", "dim"))
    where = "" if cluster.where == "here" else cluster.where
    scheduler = "" if cluster.scheduler == cluster.name else cluster.scheduler
    forms = [
        (*numbers, *line((f"   {text}", "dim")))
        for text in (
            f"{_freshness(cluster, now):<26}  {scheduler:<12}{where}".rstrip(),
            _freshness(cluster, now),
            ago(cluster.as_of, now),
        )
    ]
    return next((form for form in forms if width_of(form) <= room), numbers)


def _freshness(cluster: ClusterView, now: float) -> str:
    """Return `15 s ago, next in 45 s`."""
    assert cluster.as_of is not None
    found = ago(cluster.as_of, now)
    if not cluster.next_at:
        return found
    left = cluster.next_at - now
    return f"{found}, next in {_long(left)}" if left >= 1 else f"{found}, next now"


def _long(seconds: float) -> str:
    """Return a past or future duration; coarse, and never zero."""
    return age(max(5.0, seconds))
