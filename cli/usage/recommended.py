"""Recommendations as a table and as JSON: what actions should request, and the risk."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rowtui.cli.output.output import Output, Row, TextColumn, table_lines
from rowtui.core.base.text import count, memory, visible
from rowtui.core.project.sizing.job_values import job_values
from rowtui.core.usage.amounts import CPUS, DIRECTORIES, LEAST, MEMORY, rounded
from rowtui.core.usage.recommend import (
    RISK,
    ActionSize,
    Recommended,
    SizeLine,
    not_recommended,
    right_sizes,
)
from rowtui.core.workflow.duration import format_duration

if TYPE_CHECKING:
    from rowtui.core.base.json import usage as to
    from rowtui.core.project.project import Project
    from rowtui.core.usage.store import UsageColumns

LARGEST = "Of the largest: the share of the tenth of the jobs that are largest."
"""What the words in parentheses beside a risk mean."""

_BARS = " ▁▂▃▄▅▆▇█"


def sizes_of(project: Project, columns: UsageColumns, risk: float | None) -> list[ActionSize]:
    """Return the recommendations, explained by values of directories where these are clear."""
    values = job_values(project, columns)
    return list(right_sizes(columns, values, risk=risk or RISK))


def print_recommended(sizes: Sequence[ActionSize], columns: UsageColumns, out: Output) -> None:
    """Print a table of recommendations, and why there is none for other resources."""
    lacking = [f"{visible(action)}: {why}." for action, why in not_recommended(columns)]
    if not sizes:
        needed = f"Recommendations need at least {LEAST} jobs of an action that ended well."
        out.lines(lacking or [needed])
        return
    headings = [TextColumn("Action", style="bold"), TextColumn("What")]
    headings += [TextColumn(name, right=True) for name in ("Requested", "Recommended", "Risk")]
    headings += [TextColumn("Jobs", right=True), TextColumn("Used: least to most")]
    out.lines(table_lines(headings, [_size_cells(size) for size in sizes], out))
    out.print()
    out.print("Risk: the share of jobs that would use more, if they are like these jobs.")
    if any(it.recommended.largest_risk > it.recommended.risk for it in sizes):
        out.print(LARGEST)
    out.lines(lacking)
    out.note("'rowtui usage --recommend --write' writes them to workflow.toml, after a question.")


def risk_text(risk: float, largest: float) -> str:
    """Return `1.0%`, or `1.0% (9.1% of the largest)` if the largest jobs risk more."""
    shown, more = f"{risk:.1%}", f"{largest:.1%}"
    return shown if largest <= risk or more == shown else f"{shown} ({more} of the largest)"


def _size_cells(size: ActionSize) -> Row:
    found, resource = size.recommended, size.resource
    if found.line is None:
        amount = _amount(resource, rounded(resource, found.amount))
    else:
        base = max(0.0, found.amount + found.line.offset)
        name = "directory" if found.line.size == DIRECTORIES else found.line.size
        each = _slope(resource, found.line.slope)
        amount = f"{_amount(resource, rounded(resource, base))} + {each} per {visible(name)}"
    least, *_, most = found.quantiles
    peak = max(found.counts) or 1
    bars = "".join(_BARS[math.ceil(one / peak * 8)] for one in found.counts)
    return [
        size.action,
        resource,
        "–" if size.requested is None else _amount(resource, size.requested),
        amount,
        risk_text(found.risk, found.largest_risk),
        count(found.jobs) + (f" ({count(found.censored)} killed)" if found.censored else ""),
        f"{_amount(resource, least)} {bars} {_amount(resource, most)}",
    ]


def _slope(resource: str, value: float) -> str:
    """Return the amount for each unit of a size, never less; it may be very small."""
    unit = 1024.0 if resource == MEMORY else 60.0
    if value >= unit:
        return _amount(resource, rounded(resource, value))
    value *= 1024 if resource == MEMORY else 1  # bytes
    digits = 10.0 ** (math.floor(math.log10(value)) - 2)
    value = math.ceil(value / digits) * digits
    if resource != MEMORY:
        return f"{value:.3g} s"
    return f"{value / 1024:.3g} KB" if value >= 1024 else f"{value:.3g} B"


def _amount(resource: str, value: float) -> str:
    if resource == MEMORY:
        return memory(value / 1024)
    return f"{value:.0f}" if resource == CPUS else format_duration(value)


def size_json(size: ActionSize) -> to.RecommendedJson:
    """Return a recommendation for `--json`."""
    found = size.recommended
    line = found.line
    by_directory = line is not None and line.size == DIRECTORIES
    return {
        "action": visible(size.action),
        "resource": size.resource,
        "amount": found.for_size(0.0) if by_directory else found.flat,
        "per_directory": line.slope if line is not None and by_directory else None,
        "risk": found.risk,
        "largest_risk": found.largest_risk,
        "jobs": found.jobs,
        "killed": found.censored,
        "requested": size.requested,
        "line": None if line is None else _line_json(found, line),
    }


def _line_json(found: Recommended, line: SizeLine) -> to.SizeLineJson:
    least, median, most = line.residuals
    return {
        "size": visible(line.size),
        "base": found.for_size(0.0),
        "slope": line.slope,
        "r_squared": line.explains,
        "least_residual": least,
        "median_residual": median,
        "most_residual": most,
    }
