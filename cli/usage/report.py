"""`rowtui report`: what the project's jobs did, as one HTML file, as Markdown, or as a trace.

The HTML file needs no network: its style and its picture are in it.
"""

from __future__ import annotations

import argparse
import io
import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from rowtui.cli.environment import run as run_async
from rowtui.cli.jobs.verbs import given_clusters
from rowtui.cli.output.output import Output
from rowtui.cli.project.open import open_project
from rowtui.cli.usage.usage import ROW_HEADINGS, row_texts, write_csv
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import read_bounded, replace_file
from rowtui.core.base.text import Cost, count, full_cost, plural, visible
from rowtui.core.usage.report import Interval, UsageReport, usage_report
from rowtui.core.usage.table import UsageRow, chosen_usage
from rowtui.core.workflow.duration import format_duration

GENERATOR = '<meta name="generator" content="rowtui">'
_STYLE = """\
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem }
h1 { margin-bottom: 0 }
.wide { overflow-x: auto }
table { border-collapse: collapse; margin: .5rem 0 1rem }
th, td { padding: .25rem .75rem; border-bottom: 1px solid #8884; white-space: nowrap }
th, td { text-align: right }
th:first-child, td:first-child { text-align: left; white-space: normal }
svg { width: 100%; height: auto; max-height: 20rem }
.well { fill: #2b7a3d } .failed { fill: #c0392b } text { fill: currentColor; font-size: 12px }
@media print {
  body { margin: 0; max-width: none; font-size: 11px }
  .wide { overflow: visible } h2 { break-after: avoid } tr { break-inside: avoid }
}
"""


def report(args: argparse.Namespace, out: Output) -> int:
    """Write the report, and say where it is."""
    project = open_project(args, out)
    columns = chosen_usage(
        run_async(project.usage.with_unmeasured()),
        actions=[args.action] if args.action else (),
        clusters=given_clusters(args),
        since=args.since or 0.0,
    )
    name = visible(project.root.name)
    if args.trace:
        trace = io.StringIO()
        write_csv(columns, project.usage.costs(columns), trace)
        _write(Path(args.trace), trace.getvalue(), out, own=None)
    if args.markdown:
        out.lines(markdown(name, usage_report(columns)))
        return 0
    if args.trace and args.file is None:
        return 0
    path = Path(args.file or "report.html")
    _write(path, "\n".join(html(name, usage_report(columns))) + "\n", out, own=GENERATOR)
    return 0


def _write(path: Path, text: str, out: Output, *, own: str | None) -> None:
    """Write a file. A file with other contents than `own` is not overwritten."""
    try:
        if own is not None and path.exists() and own.encode() not in read_bounded(path, 1 << 26):
            raise RowtuiError(
                f"{visible(str(path))} is not a report of rowtui", "name another file"
            )
        replace_file(path, text.encode("utf-8", "replace"))
    except OSError as error:
        raise RowtuiError(f"cannot write {visible(str(path))}: {error.strerror}") from None
    out.note(f"Written: {path}")


def _sentences(found: UsageReport) -> list[str]:
    """Return the summary."""
    total = found.total
    if total is None:
        return ["No job has ended yet."]
    failed = total.jobs - total.ended_well
    charged = Cost(total.charged_cpu_hours, total.charged_gpu_hours)
    said = [
        f"{plural(total.jobs, 'job')} ended between {_when(found.first)} and {_when(found.last)}: "
        f"{count(total.ended_well)} well, {count(failed)} not.",
        f"They were charged {full_cost(charged)} (requested CPUs and GPUs times the time taken).",
    ]
    if total.used_cpu_hours is not None and total.cpu_share is not None:
        said.append(
            f"The CPUs worked in {total.cpu_share:.0%} of the measured time: "
            f"{total.used_cpu_hours:,.2f} CPU-hours."
        )
    if found.unmeasured:
        said.append(f"Of {plural(found.unmeasured, 'job')} no time is known.")
    return said


def _when(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).astimezone().strftime("%Y-%m-%d %H:%M")


def _clock(seconds: float) -> str:
    return format_duration(math.ceil(seconds))


def _tables(found: UsageReport) -> Iterator[tuple[str, Sequence[str], list[list[str]]]]:
    """Yield the title, the headings and the rows of each table."""

    def rows(those: Sequence[UsageRow]) -> list[list[str]]:
        return [[visible(row.name), *row_texts(row)] for row in those]

    total = [] if found.total is None else rows([found.total])
    yield "Requested and used", ("Action", *ROW_HEADINGS), rows(found.actions) + total
    yield "Failures by cause", ("Cause", *ROW_HEADINGS), rows(found.reasons)
    yield "Nodes, those with most failures first", ("Node", *ROW_HEADINGS), rows(found.nodes)
    waits = [
        [visible(it.partition), count(it.jobs), _clock(it.median), _clock(it.most)]
        for it in found.waits
    ]
    yield "Time in the queue", ("Partition", "Jobs", "Median", "Longest"), waits


def markdown(name: str, found: UsageReport) -> Iterator[str]:
    """Yield the lines of the report for a mail."""
    yield f"# {name}"
    yield ""
    yield from _sentences(found)
    for title, headings, rows in _tables(found):
        if not rows:
            continue
        yield ""
        yield f"## {title}"
        yield ""
        yield f"| {' | '.join(headings)} |"
        yield "|---" + "|---:" * (len(headings) - 1) + "|"
        for row in rows:
            yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def html(name: str, found: UsageReport) -> Iterator[str]:
    """Yield the lines of the report as one HTML document."""
    yield "<!DOCTYPE html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield GENERATOR
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escape(name)}: report</title>"
    yield f"<style>\n{_STYLE}</style></head><body><main>"
    yield f"<h1>{escape(name)}</h1>"
    for sentence in _sentences(found):
        yield f"<p>{escape(sentence)}</p>"
    if found.total is not None:
        yield "<h2>Jobs that ended over time</h2>"
        yield from _picture(found)
    for title, headings, rows in _tables(found):
        if rows:
            yield f"<h2>{escape(title)}</h2>"
            yield from _table(title, headings, rows)
    yield (
        "<p>CPU-hours: charged. Used: share of them in which CPUs worked. Memory and Time: the "
        "median job, the most of all jobs, and the most requested.</p>"
    )
    yield "</main></body></html>"


def _table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f'<div class="wide" tabindex="0" role="region" aria-label="{escape(title)}"><table>'
    cells = "".join(f'<th scope="col">{escape(one)}</th>' for one in headings)
    yield f"<thead><tr>{cells}</tr></thead><tbody>"
    for first, *rest in rows:
        others = "".join(f"<td>{escape(cell)}</td>" for cell in rest)
        yield f'<tr><th scope="row">{escape(first)}</th>{others}</tr>'
    yield "</tbody></table></div>"


_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 900, 220, 60, 30


def _picture(found: UsageReport) -> Iterator[str]:
    """Yield bars: jobs that ended in each interval, those that failed on top."""
    most = max((it.ended_well + it.failed for it in found.intervals), default=0) or 1
    each = (_WIDTH - _LEFT) / max(len(found.intervals), 1)
    scale = (_HEIGHT - _BOTTOM - 10) / most
    label = (
        f"Jobs that ended in intervals of {_clock(found.seconds_each)}, at most {count(most)}; "
        "the table of actions has the totals"
    )
    yield f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(label)}">'
    base = _HEIGHT - _BOTTOM
    for place, it in enumerate(found.intervals):
        yield from _bar(_LEFT + place * each, each * 0.9, base, scale, it)
    yield f'<path d="M{_LEFT} 10V{base}H{_WIDTH}" fill="none" stroke="currentColor"/>'
    yield f'<text x="{_LEFT - 6}" y="16" text-anchor="end">{count(most)}</text>'
    yield f'<text x="{_LEFT - 6}" y="{base}" text-anchor="end">0 jobs</text>'
    yield f'<text x="{_LEFT}" y="{_HEIGHT - 8}">{_when(found.first)}</text>'
    end = f'<text x="{_WIDTH}" y="{_HEIGHT - 8}" text-anchor="end">{_when(found.last)}</text>'
    yield end + "</svg>"
    yield "<p>Below, green: ended well. On top, red: did not.</p>"


def _bar(x: float, width: float, base: float, scale: float, it: Interval) -> Iterator[str]:
    well, failed = it.ended_well * scale, it.failed * scale
    title = f"{_when(it.start)}: {count(it.ended_well)} ended well, {count(it.failed)} did not"
    if well or failed:
        yield f"<g><title>{escape(title)}</title>"
        for kind, y, height in (
            ("well", base - well, well),
            ("failed", base - well - failed, failed),
        ):
            if height:
                yield (
                    f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
                    f'height="{height:.1f}"/>'
                )
        yield "</g>"
