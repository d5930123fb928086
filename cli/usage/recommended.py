"""What actions should request, and the risk: as a table, and as a change of workflow.toml."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rowtui.cli.output.output import Output, Row, TextColumn, table_lines
from rowtui.cli.project.open import ask, is_interactive
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import count, memory, visible
from rowtui.core.project.sizing.job_values import job_values
from rowtui.core.usage.amounts import CPUS, DIRECTORIES, LEAST, MEMORY, WALLTIME, rounded
from rowtui.core.usage.recommend import RISK, ActionSize, not_recommended, right_sizes
from rowtui.core.usage.right_size import RESOURCES, SizedSetting, WrittenSizes, words_of
from rowtui.core.workflow.duration import format_duration

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.project.sizing.write_sizes import SizesEdit
    from rowtui.core.usage.store import UsageColumns

LARGEST = "Of the largest: the share of the tenth of the jobs that are largest."
"""What the words in parentheses beside a risk mean."""

_BARS = " ▁▂▃▄▅▆▇█"


def sizes_of(project: OpenProject, columns: UsageColumns, risk: float | None) -> list[ActionSize]:
    """Return the recommendations, explained by values of directories where these are clear."""
    values = job_values(project, columns)
    return list(right_sizes(columns, values, risk=risk or RISK))


def print_recommended(sizes: Sequence[ActionSize], columns: UsageColumns, out: Output) -> None:
    """Print a table of recommendations, and why there is none for other resources."""
    lacking = [f"{visible(action)}: {why}." for action, why in not_recommended(columns)]
    if not sizes:
        needed = f"Recommendations need at least {LEAST} completed jobs of an action."
        out.lines(lacking or [needed])
        return
    headings = [TextColumn("Action", style="bold"), TextColumn("What")]
    headings += [TextColumn(name, right=True) for name in ("Requested", "Recommended", "Risk")]
    headings += [TextColumn("Jobs", right=True), TextColumn("Used: least to most")]
    out.lines(table_lines(headings, [_size_cells(size) for size in sizes], out))
    out.print()
    out.print("Risk: the share of jobs that would use more, if they are like these jobs.")
    if any(it.found.largest_risk > it.found.risk for it in sizes):
        out.print(LARGEST)
    out.lines(lacking)
    out.note("'rowtui usage --recommend --write' writes them to workflow.toml, after a question.")


def risk_text(risk: float, largest: float) -> str:
    """Return `1.0%`, or `1.0% (9.1% of the largest)` if the largest jobs risk more."""
    shown, more = f"{risk:.1%}", f"{largest:.1%}"
    return shown if largest <= risk or more == shown else f"{shown} ({more} of the largest)"


def _size_cells(size: ActionSize) -> Row:
    resource, found = size.resource, size.found
    if (line := found.line) is None:
        amount = _amount(resource, rounded(resource, found.amount))
    else:
        name = "directory" if line.size == DIRECTORIES else line.size
        base = _amount(resource, rounded(resource, max(0.0, line.base)))
        amount = f"{base} + {_slope(resource, line.slope)} per {visible(name)}"
    least, *_, most = found.quantiles
    peak = max(found.counts) or 1
    bars = "".join(_BARS[math.ceil(one / peak * 8)] for one in found.counts)
    return [
        size.action,
        resource,
        "–" if size.requested is None else _amount(resource, size.requested),
        amount,
        risk_text(found.risk, found.largest_risk),
        count(found.jobs) + (f" ({count(found.killed)} killed)" if found.killed else ""),
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


def write_recommended(
    args: argparse.Namespace, project: OpenProject, columns: UsageColumns, out: Output
) -> tuple[int, WrittenSizes]:
    """Show the change, ask, and write it; 1 if it was not written."""
    from rowtui.core.project.sizing.write_sizes import edit_for_sizes  # loads the mapper

    only = args.resource or RESOURCES
    risk = args.risk or RISK
    found = edit_for_sizes(project, columns, only=only, risk=risk)
    edit = found.edit
    if edit.refused:
        raise RowtuiError(f"{edit.refused}; nothing was written")
    if not args.json:
        _print_change(found, out)
    if edit.diff and _confirmed(args, out):
        found = edit_for_sizes(project, columns, only=only, risk=risk, confirmed=edit.token)
    written = found.edit.written
    if not args.json and edit.diff:
        if written:
            name = found.changed[0].action
            out.print("Written to workflow.toml.")
            out.note(f"'rowtui explain {visible(name)} --undo' takes it back.")
        else:
            out.warn("Nothing was written.")
    code = 1 if edit.diff and not written and not args.json else 0
    return code, WrittenSizes(written, found.edit.diff, found.changed, found.kept)


def _print_change(found: SizesEdit, out: Output) -> None:
    if not found.changed:
        out.print("No setting of workflow.toml has to change.")
    else:
        headings = [TextColumn("Action", style="bold"), TextColumn("Setting")]
        headings += [TextColumn(name, right=True) for name in ("Now", "New", "Based on")]
        headings += [TextColumn("Exceeded by", right=True), TextColumn("Risk", right=True)]
        out.lines(table_lines(headings, [_setting_cells(each) for each in found.changed], out))
        out.print()
        out.lines(found.edit.diff)
        out.print()
        out.print("Risk: the share of jobs that would exceed it, if they are like these jobs.")
        if any(it.largest_risk > it.risk for it in found.changed):
            out.print(LARGEST)
    for setting in found.changed:
        for sentence in words_of(setting):
            out.print(f"{visible(setting.action)}: {sentence}.")
    for action, sentence in found.kept:
        out.print(f"{visible(action)}: {visible(sentence)}.")


def _setting_cells(setting: SizedSetting) -> list[str]:
    return [
        setting.action,
        setting.key,
        "–" if setting.before is None else _setting_amount(setting.resource, setting.before),
        _setting_amount(setting.resource, setting.after),
        f"{count(setting.jobs)} jobs",
        f"{count(setting.exceeding)} of them",
        risk_text(setting.risk, setting.largest_risk),
    ]


def _setting_amount(resource: str, value: int) -> str:
    return format_duration(value) if resource == WALLTIME else count(value)


def _confirmed(args: argparse.Namespace, out: Output) -> bool:
    """Whether the user confirms the change. With --json only --yes confirms."""
    if args.yes or args.json:
        return bool(args.yes)
    if not is_interactive():
        raise RowtuiError("--write cannot ask for confirmation without a terminal", "add --yes")
    return ask("Write to workflow.toml?", out)
