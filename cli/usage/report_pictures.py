"""The pictures of a report as SVG: jobs that ended, the run of each job, running jobs, and use.

Each picture has a text alternative and a bounded number of elements, whatever the number of jobs.
Failed jobs differ from others in their place or have a mark, and actions have a pattern: no meaning
is in a colour only.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from html import escape
from typing import NamedTuple

from rowtui.cli.usage.report_text import when
from rowtui.core.base.text import count, plural, visible
from rowtui.core.clusters.schedulers.base import NO_ID, job_label
from rowtui.core.usage.past_shares import UsedShare
from rowtui.core.usage.report import Density, Interval, JobBar, UsageReport
from rowtui.core.workflow.duration import format_duration as clock

_WIDTH, _LEFT, _RIGHT = 860, 200, 20
_LETTERS = 24  # of a label to the left of an axis
_TIMES = 42  # the height of the labels of an axis of time
_ROWS = 30  # jobs above one axis of time
_BOX, _ROW = 24, 17  # heights of rows
_SPAN = 4.0  # seconds that an axis of time shows at least
_STEPS = tuple(
    [1, 2, 5, 10, 15, 30]
    + [60 * it for it in (1, 2, 5, 10, 15, 30)]
    + [3600 * it for it in (1, 2, 3, 4, 6, 12)]
    + [86_400 * it * 10**power for power in range(5) for it in (1, 2, 5)]
)
PATTERNS = (
    "",
    "M-2 10L10 -2M-2 4L4 -2M4 10L10 4",
    "M4 0V8",
    "M0 4H8",
    "M-2 -2L10 10M4 -2L10 4M-2 4L4 10",
    "M0 4H8M4 0V8",
    "M2 2h2v2h-2z",
    "M0 0L8 8M0 8L8 0",
)
"""What is drawn over the colours of actions, which repeat after these."""


def pictures(found: UsageReport) -> Iterator[str]:
    """Yield the pictures with their headings."""
    yield "<h2>Jobs that ended over time</h2>"
    yield from _ended(found)
    if found.bars:
        yield "<h2>The run of each job</h2>"
        yield from _runs(found)
    if found.density:
        yield "<h2>Running jobs over time</h2>"
        yield from _running(found)
    if found.shares:
        yield "<h2>Requested and used by action</h2>"
        yield from _boxes(found.shares)


def round_ticks(most: float, *, whole: bool = False) -> tuple[float, ...]:
    """Return zero and two to four further round numbers, the last of which is at least `most`."""
    most = max(most, 1.0) if whole else most
    step = 10.0 ** math.floor(math.log10(most / 40)) if most > 0 else 1.0
    sizes = [step * size * 10**power for power in range(3) for size in (1, 2, 2.5, 5)]
    each = next(it for it in sizes if it * 4 >= most and not (whole and it % 1))
    return tuple(each * place for place in range(max(2, math.ceil(most / each - 1e-9)) + 1))


class TimeAxis(NamedTuple):
    """An axis of time from `first` to `last`, in epoch seconds, at least four seconds long."""

    first: float
    last: float

    def x(self, at: float) -> float:
        """Return the place of a time."""
        span = max(self.last - self.first, _SPAN)
        return _LEFT + (at - self.first) / span * (_WIDTH - _LEFT - _RIGHT)

    def ticks(self) -> Iterator[tuple[float, str, str]]:
        """Yield three to nine times at full units, with a label and, if new, the day or year."""
        last = max(self.last, self.first + _SPAN)
        step = next((it for it in _STEPS if (last - self.first) / it <= 8), _STEPS[-1])
        begin = datetime.fromtimestamp(self.first, UTC).astimezone()
        midnight = begin.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
        since = self.first - midnight.astimezone().timestamp()
        form = "%H:%M:%S" if step < 60 else "%H:%M"
        before = ""
        # Clocks change by at most two hours.
        for place in itertools.count(max(0, math.floor((since - 7200) / step))):
            # A local time without its zone: full hours also after a change of the clock.
            local = midnight + timedelta(seconds=step * place)
            at = local.astimezone().timestamp()
            if at > last:
                return
            if at < self.first:
                continue
            label = day = f"{local.day} {local:%b}"
            new = "" if before.endswith(f" {local.year}") else str(local.year)
            if step < 86_400:
                label = local.strftime(form)
                new = "" if before.startswith(f"{day} ") else f"{day} {new}".strip()
            yield at, label, new
            before = f"{day} {local.year}"

    def draw(self, base: float) -> Iterator[str]:
        """Yield the axis."""
        yield f'<path class="axis" d="M{_LEFT} {base:g}H{_WIDTH - _RIGHT}"/>'
        for at, label, date in self.ticks():
            x = self.x(at)
            yield f'<path class="axis" d="M{x:.1f} {base:g}v5"/>'
            yield _text(x, base + 18, label, "middle")
            if date:
                yield _text(x, base + 34, date, "middle", "soft")


def _svg(kind: str, height: float, label: str) -> str:
    return (
        '<div class="wide" tabindex="0">'
        f'<svg class="{kind}" viewBox="0 0 {_WIDTH} {height:g}" role="img" '
        f'aria-label="{escape(label)}">'
    )


def _text(x: float, y: float, text: str, anchor: str = "start", kind: str = "") -> str:
    kind = f' class="{kind}"' if kind else ""
    return f'<text{kind} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _rect(kind: str, x: float, y: float, width: float, height: float) -> str:
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{max(width, 1.5):.1f}" '
        f'height="{height:.1f}"/>'
    )


def _upwards(base: float, height: float, ticks: Sequence[float]) -> Iterator[str]:
    """Yield an axis of numbers and its lines."""
    for number in ticks:
        y = base - number / ticks[-1] * height
        kind = "grid" if number else "axis"
        yield f'<path class="{kind}" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>'
        yield _text(_LEFT - 8, y + 4, f"{number:,g}", "end")


def _short(text: str, most: int = _LETTERS) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _ended(found: UsageReport) -> Iterator[str]:
    """Yield bars: jobs that ended in each interval, those that failed on top."""
    base, room = 196.0, 170.0
    axis = TimeAxis(found.first, found.first + found.seconds_each * len(found.intervals))
    most = max((it.ended_well + it.failed for it in found.intervals), default=0)
    ticks = round_ticks(most, whole=True)
    failed = sum(it.failed for it in found.intervals)
    label = (
        f"Jobs that ended in intervals of {clock(found.seconds_each)}, at most {count(most)} in "
        f"one; {count(failed)} of all failed. The table by day has the numbers."
    )
    yield _svg("ended", base + _TIMES, label)
    yield _text(_LEFT - 8, 12, "jobs", "end", "soft")
    yield from _upwards(base, room, ticks)
    for it in found.intervals:
        x = axis.x(it.start)
        width = (axis.x(it.start + found.seconds_each) - x) * 0.9
        yield from _bar(x, width, base, room / ticks[-1], it)
    yield from axis.draw(base)
    yield "</svg></div>"
    yield (
        f'<p class="note">Jobs that ended in each {clock(found.seconds_each)}. '
        '<b class="well">Below</b>: completed. <b class="failed">On top</b>: failed.</p>'
    )


def _bar(x: float, width: float, base: float, scale: float, it: Interval) -> Iterator[str]:
    well, failed = it.ended_well * scale, it.failed * scale
    if not (well or failed):
        return
    title = f"{when(it.start)}: {count(it.ended_well)} completed, {count(it.failed)} failed"
    yield f"<g><title>{escape(title)}</title>"
    for kind, y, height in (("well", base - well, well), ("failed", base - well - failed, failed)):
        if height:
            yield _rect(kind, x, y, width, height)
    yield "</g>"


def _runs(found: UsageReport) -> Iterator[str]:
    """Yield a row for each job: a thin line while it waited in the queue, a bar while it ran."""
    bars = found.bars
    begin = min(it.job.submitted_at or it.start for it in bars)
    axis = TimeAxis(begin, max(it.end for it in bars))
    actions = list(dict.fromkeys(it.job.kind.action for it in bars))
    if len(bars) < found.ran:
        yield (
            f"<p>Of {plural(found.ran, 'job')}, {count(len(bars))} are drawn: failed jobs first, "
            "then those that took longest.</p>"
        )
    yield from _legend(actions)
    for at in range(0, len(bars), _ROWS):
        part = bars[at : at + _ROWS]
        label = f"The runs of {plural(len(part), 'job')}, from {when(begin)} to {when(axis.last)}."
        base = _ROW * len(part) + 6.0
        yield _svg("runs", base + _TIMES, label)
        for place, it in enumerate(part):
            yield from _run(it, 3.0 + place * _ROW, axis, actions.index(it.job.kind.action))
        yield from axis.draw(base)
        yield "</svg></div>"
    yield (
        '<p class="note">Each row is a job with its id and action. Thin lines: in the queue. Bars: '
        'running; those with a <b class="failed">×</b> did not complete.</p>'
    )


def _legend(actions: Sequence[str]) -> Iterator[str]:
    """Yield the marks of the actions; the first ones define the patterns."""
    yield '<p class="legend">'
    for place, action in enumerate(actions):
        mark = place % len(PATTERNS)
        pattern = (
            f'<defs><pattern id="a{mark}" width="8" height="8" patternUnits="userSpaceOnUse">'
            f'<rect class="c{mark}" width="8" height="8"/>'
            f'<path class="over" d="{PATTERNS[mark]}"/></pattern></defs>'
        )
        yield (
            '<span><svg class="mark" viewBox="0 0 24 12" aria-hidden="true">'
            f'{pattern if place == mark else ""}<rect fill="url(#a{mark})" width="24" '
            f'height="12"/></svg> {escape(visible(action))}</span>'
        )
    yield "</p>"


def _run(it: JobBar, y: float, axis: TimeAxis, action: int) -> Iterator[str]:
    job = it.job
    x, end = axis.x(it.start), axis.x(it.end)
    middle = y + _ROW / 2
    state = visible(job.end.cause) or "completed"
    name = visible(job.kind.action)
    where = visible(job_label(job.job_id, job.token) or NO_ID)
    title = f"{name}, job {where}: {clock(it.end - it.start)}, {state}"
    yield f"<g><title>{escape(title[:300])}</title>"
    if job.submitted_at and it.start > job.submitted_at:
        yield f'<path class="axis" d="M{axis.x(job.submitted_at):.1f} {middle:.1f}H{x:.1f}"/>'
    mark = action % len(PATTERNS)
    rect = _rect("job", x, y + 2.5, end - x, _ROW - 5.0)
    yield f'{rect[:-2]} fill="url(#a{mark})" stroke="var(--a{mark})"/>'
    if not job.end.outcome.good:
        yield _text(max(end, x + 1.5) + 3, middle + 5, "×", kind="failed")
    yield _text(_LEFT - 8, middle + 4.5, _short(f"{where} {name}"), "end")
    yield "</g>"


def _running(found: UsageReport) -> Iterator[str]:
    """Yield a chart for each action: its running jobs over time, up to its own most."""
    band, room = 84.0, 54.0
    base = band * len(found.density)
    names = ", ".join(f"{visible(it.action)} {max(it.running):,.0f}" for it in found.density)
    label = f"Running jobs over time by action. At most, on average of an interval: {names}."
    axis = TimeAxis(found.first, found.first + found.seconds_each * len(found.intervals))
    yield _svg("running", base + _TIMES, label)
    for place, it in enumerate(found.density):
        yield from _band(it, band * (place + 1), room, axis, found.seconds_each)
    yield from axis.draw(base)
    yield "</svg></div>"
    yield (
        '<p class="note">How many jobs of each action ran at a time, on average of each '
        f"{clock(found.seconds_each)}. Each action has its own scale.</p>"
    )


def _band(it: Density, base: float, room: float, axis: TimeAxis, each: float) -> Iterator[str]:
    ticks = round_ticks(max(it.running))
    ticks = (0.0, ticks[-1] / 2, ticks[-1])
    yield _text(_LEFT, base - room - 8, f"{_short(visible(it.action), 60)}, running jobs", "start")
    yield from _upwards(base, room, ticks)
    for place, number in enumerate(it.running):
        tall = number / ticks[-1] * room
        if tall >= 0.1:
            at = axis.first + place * each
            width = (axis.x(at + each) - axis.x(at)) * 0.96
            rect = _rect("run", axis.x(at), base - tall, width, tall)
            yield f"{rect[:-2]}><title>{when(at)}: {number:,.1f} running</title></rect>"


def _boxes(shares: Sequence[UsedShare]) -> Iterator[str]:
    """Yield a box plot for each resource of each action, on a scale up to 100, 150 or 200 %."""
    most = max(it.most for it in shares)
    top = 1.0 if most <= 1.0001 else 1.5 if most <= 1.5 else 2.0
    scale = (_WIDTH - _LEFT - 130) / top
    actions = [
        (action, list(its)) for action, its in itertools.groupby(shares, lambda it: it.action)
    ]
    base = 22.0 + _BOX * (len(shares) + len(actions))
    label = (
        "Box plots of used by requested walltime, memory and CPUs of each action. The table of "
        "used shares has the numbers."
    )
    yield _svg("boxes", base + 24, label)
    limit = _LEFT + scale
    yield _text(limit, 12, "limit", "middle", "soft")
    for place in range(round(top * 4) + 1):
        x = _LEFT + place / 4 * scale
        kind = "limit" if place == 4 else "grid" if place else "axis"
        yield f'<path class="{kind}" d="M{x:.1f} 18V{base + 5:g}"/>'
        yield _text(x, base + 18, f"{place * 25}" + (" %" if place == 4 else ""), "middle")
    yield f'<path class="axis" d="M{_LEFT} {base:g}H{_LEFT + top * scale:g}"/>'
    y = 18.0
    for action, its in actions:
        y += _BOX
        yield _text(0, y - 7, _short(visible(action)), kind="name")
        for one in its:
            yield from _box(one, y, scale, top)
            y += _BOX
    yield "</svg></div>"
    yield (
        '<p class="note">What jobs used, as shares of what they requested. Box: from a quarter to '
        "three quarters of the jobs; its thick line: the median; lines: the least and the most; n: "
        "jobs. The CPUs of a job are its CPU time, of requested CPUs times time.</p>"
    )


def _box(it: UsedShare, y: float, scale: float, top: float) -> Iterator[str]:
    middle = y + _BOX / 2
    least, lower, median, upper, most = (
        _LEFT + min(share, top) * scale
        for share in (it.least, it.lower, it.median, it.upper, it.most)
    )
    yield _text(_LEFT - 8, middle + 4.5, it.resource, "end")
    yield (
        f'<path class="whisker" d="M{least:.1f} {middle - 4:.1f}v8M{least:.1f} {middle:.1f}'
        f'H{lower:.1f}M{upper:.1f} {middle:.1f}H{most:.1f}M{most:.1f} {middle - 4:.1f}v8"/>'
    )
    yield _rect("box", lower, middle - 7, upper - lower, 14)
    yield f'<path class="median" d="M{median:.1f} {middle - 7:.1f}v14"/>'
    figures = f"{it.median:.0%}, n {count(it.jobs)}"
    if it.most > top:
        figures += f", → {it.most:.0%}"
    yield _text(_LEFT + top * scale + 12, middle + 4.5, figures)
