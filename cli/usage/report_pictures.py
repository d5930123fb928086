"""The pictures of a report as SVG: jobs that ended, the run of each job, and running jobs.

Each picture has a text alternative and a bounded number of elements, whatever the number of jobs.
Failed jobs differ from others in their place or have a mark, and not only a colour.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from rowtui.cli.usage.report_text import when
from rowtui.core.base.text import count, plural, visible
from rowtui.core.clusters.schedulers.base import NO_ID, job_label
from rowtui.core.usage.report import Density, Interval, JobBar, UsageReport
from rowtui.core.workflow.duration import format_duration as clock

_WIDTH, _LEFT = 900, 130
_NAMED = 40  # with more jobs than these, rows are thin and have no labels


def pictures(found: UsageReport) -> Iterator[str]:
    """Yield the pictures with their headings."""
    yield "<h2>Jobs that ended over time</h2>"
    yield from _ended(found)
    if found.bars:
        yield "<h2>The run of each job</h2>"
        yield from _runs(found)
    elif found.density:
        yield "<h2>Running jobs over time</h2>"
        yield from _running(found)


def _svg(kind: str, height: float, label: str) -> str:
    return (
        '<div class="wide" tabindex="0">'
        f'<svg class="{kind}" viewBox="0 0 {_WIDTH} {height:g}" role="img" '
        f'aria-label="{escape(label)}">'
    )


def _axis(height: float, first: float, last: float, base: float) -> Iterator[str]:
    """Yield the line of time below a picture, with its ends and its middle."""
    yield f'<path class="axis" d="M{_LEFT} {base:g}H{_WIDTH}"/>'
    places = ((_LEFT, "start", first), (_WIDTH, "end", last))
    for x, anchor, at in places:
        yield f'<text x="{x}" y="{height - 6:g}" text-anchor="{anchor}">{when(at)}</text>'


def _ended(found: UsageReport) -> Iterator[str]:
    """Yield bars: jobs that ended in each interval, those that failed on top."""
    height, base = 200, 172
    most = max((it.ended_well + it.failed for it in found.intervals), default=0) or 1
    each = (_WIDTH - _LEFT) / max(len(found.intervals), 1)
    scale = (base - 10) / most
    failed = sum(it.failed for it in found.intervals)
    label = (
        f"Jobs that ended in intervals of {clock(found.seconds_each)}, at most {count(most)} in "
        f"one; {count(failed)} of all did not end well. The table by day has the numbers."
    )
    yield _svg("ended", height, label)
    for place, it in enumerate(found.intervals):
        yield from _bar(_LEFT + place * each, each * 0.9, base, scale, it)
    yield f'<text x="{_LEFT - 8}" y="18" text-anchor="end">{plural(most, "job")}</text>'
    yield f'<text x="{_LEFT - 8}" y="{base}" text-anchor="end">0</text>'
    yield from _axis(height, found.first, found.last, base)
    yield "</svg></div>"
    yield (
        '<p class="note">Jobs that ended in each '
        f'{clock(found.seconds_each)}. <b class="well">Below</b>: ended well. '
        '<b class="failed">On top</b>: did not.</p>'
    )


def _bar(x: float, width: float, base: float, scale: float, it: Interval) -> Iterator[str]:
    well, failed = it.ended_well * scale, it.failed * scale
    if not (well or failed):
        return
    title = f"{when(it.start)}: {count(it.ended_well)} ended well, {count(it.failed)} did not"
    yield f"<g><title>{escape(title)}</title>"
    for kind, y, height in (("well", base - well, well), ("failed", base - well - failed, failed)):
        if height:
            yield _rect(kind, x, y, width, height)
    yield "</g>"


def _rect(kind: str, x: float, y: float, width: float, height: float) -> str:
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.8):.1f}" '
        f'height="{height:.1f}"/>'
    )


def _runs(found: UsageReport) -> Iterator[str]:
    """Yield a row for each job: a thin line while it waited in the queue, a bar while it ran."""
    bars = found.bars
    row = 18.0 if len(bars) <= _NAMED else 5.0
    base = row * len(bars) + 6
    begin = min(it.job.submitted_at or it.start for it in bars)
    scale = (_WIDTH - _LEFT - 12) / max(found.last - begin, 1.0)
    longest = max(bars, key=lambda it: it.end - it.start)
    failed = sum(it.job.end.outcome.failed for it in bars)
    label = (
        f"The runs of {plural(len(bars), 'job')} from {when(begin)} to {when(found.last)}; the "
        f"longest took {clock(longest.end - longest.start)}; {count(failed)} did not end well."
    )
    yield _svg("runs", base + 28, label)
    for place, it in enumerate(bars):
        yield from _run(it, 3 + place * row, row, begin, scale)
    yield from _axis(base + 28, begin, found.last, base)
    yield "</svg></div>"
    yield (
        '<p class="note">Thin lines: waited in the queue. Bars: ran; those with a '
        '<b class="failed">cross</b> did not end well.</p>'
    )


def _run(it: JobBar, y: float, row: float, begin: float, scale: float) -> Iterator[str]:
    job = it.job
    x, end = (_LEFT + (at - begin) * scale for at in (it.start, it.end))
    middle = y + row / 2
    state = visible(job.end.cause) or "completed"
    name = visible(job.kind.action)
    where = visible(job_label(job.job_id, job.token) or NO_ID)
    title = f"{name}, job {where}: {clock(it.end - it.start)}, {state}"
    yield f"<g><title>{escape(title[:300])}</title>"
    if job.submitted_at and it.start > job.submitted_at:
        sent = _LEFT + (job.submitted_at - begin) * scale
        yield f'<path class="axis" d="M{sent:.1f} {middle:.1f}H{x:.1f}"/>'
    kind = "well" if job.end.outcome.good else "failed"
    yield _rect(kind, x, y + row * 0.15, end - x, row * 0.7)
    if not job.end.outcome.good:
        yield f'<text class="failed" x="{end + 2:.1f}" y="{middle + 4:.1f}">×</text>'
    if row > 10:
        label = f"{where} {name}"
        shown = label if len(label) <= 19 else label[:18] + "…"
        yield f'<text x="{_LEFT - 8}" y="{middle + 4:.1f}" text-anchor="end">{escape(shown)}</text>'
    yield "</g>"


def _running(found: UsageReport) -> Iterator[str]:
    """Yield a band for each action: its running jobs over time, up to its own most."""
    band = 34.0
    base = band * len(found.density) + 4
    names = ", ".join(f"{visible(it.action)} {max(it.running):,.0f}" for it in found.density)
    label = f"Running jobs over time by action. At most, on average of an interval: {names}."
    yield _svg("running", base + 28, label)
    for place, it in enumerate(found.density):
        yield from _band(it, place * band + 4, band - 6, found)
    yield from _axis(base + 28, found.first, found.last, base)
    yield "</svg></div>"
    yield (
        '<p class="note">Each band shows how many jobs of an action ran at a time, up to the '
        "number at its left.</p>"
    )


def _band(it: Density, y: float, height: float, found: UsageReport) -> Iterator[str]:
    most = max(it.running) or 1.0
    each = (_WIDTH - _LEFT) / len(it.running)
    name = visible(it.action)
    shown = name if len(name) <= 18 else name[:17] + "…"
    for line, text in ((12, shown), (25, f"{most:,.3g}" if most < 10 else f"{most:,.0f}")):
        yield f'<text x="{_LEFT - 8}" y="{y + line:g}" text-anchor="end">{escape(text)}</text>'
    for place, number in enumerate(it.running):
        tall = number / most * height
        if tall >= 0.1:
            at = when(found.first + place * found.seconds_each)
            rect = _rect("run", _LEFT + place * each, y + height - tall, each * 0.96, tall)
            title = f"{at}: {number:,.1f} running"
            yield f"{rect[:-2]}><title>{title}</title></rect>"
