"""`rowtui usage --recommend --write`: recommended resources, written to workflow.toml."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rowtui.cli.output.output import Output, TextColumn, table_lines
from rowtui.cli.project.open import ask, is_interactive
from rowtui.cli.usage.recommended import LARGEST, risk_text
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import count, visible
from rowtui.core.project.sizing.write_sizes import SizesEdit, edit_for_sizes
from rowtui.core.usage.amounts import WALLTIME
from rowtui.core.usage.recommend import RISK
from rowtui.core.usage.right_size import RESOURCES, SizedSetting, words_of
from rowtui.core.workflow.duration import format_duration

if TYPE_CHECKING:
    from rowtui.core.base.json import usage as to
    from rowtui.core.project.project import Project
    from rowtui.core.usage.store import UsageColumns


def write_recommended(
    args: argparse.Namespace, project: Project, columns: UsageColumns, out: Output
) -> tuple[int, to.WrittenSizesJson]:
    """Show the change, ask, and write it; 1 if it was not written."""
    only = args.resource or RESOURCES
    risk = args.risk or RISK
    found = edit_for_sizes(project, columns, only=only, risk=risk)
    edit = found.edit
    if edit.refused:
        raise RowtuiError(f"{edit.refused}; nothing was written")
    if not args.json:
        _print(found, out)
    if edit.diff and _confirmed(args, out):
        found = edit_for_sizes(project, columns, only=only, risk=risk, confirmed=edit.token)
    written = found.edit.written
    if not args.json and edit.diff:
        if written:
            name = found.changed[0][0]
            out.print("Written to workflow.toml.")
            out.note(f"'rowtui explain {visible(name)} --undo' takes it back.")
        else:
            out.warn("Nothing was written.")
    code = 1 if edit.diff and not written and not args.json else 0
    return code, _json(found)


def _print(found: SizesEdit, out: Output) -> None:
    if not found.changed:
        out.print("No setting of workflow.toml has to change.")
    else:
        headings = [TextColumn("Action", style="bold"), TextColumn("Setting")]
        headings += [TextColumn(name, right=True) for name in ("Now", "New", "Based on")]
        headings += [TextColumn("Exceeded by", right=True), TextColumn("Risk", right=True)]
        out.lines(table_lines(headings, [_cells(*each) for each in found.changed], out))
        out.print()
        out.lines(found.edit.diff)
        out.print()
        out.print("Risk: the share of jobs that would exceed it, if they are like these jobs.")
        if any(it.largest_risk > it.risk for _, it in found.changed):
            out.print(LARGEST)
    for action, setting in found.changed:
        for sentence in words_of(setting):
            out.print(f"{visible(action)}: {sentence}.")
    for action, sentence in found.kept:
        out.print(f"{visible(action)}: {visible(sentence)}.")


def _cells(action: str, setting: SizedSetting) -> list[str]:
    return [
        action,
        setting.key,
        "–" if setting.before is None else _amount(setting.resource, setting.before),
        _amount(setting.resource, setting.after),
        f"{count(setting.jobs)} jobs",
        f"{count(setting.exceeding)} of them",
        risk_text(setting.risk, setting.largest_risk),
    ]


def _amount(resource: str, value: int) -> str:
    return format_duration(value) if resource == WALLTIME else count(value)


def _confirmed(args: argparse.Namespace, out: Output) -> bool:
    """Whether the user confirms the change. With --json only --yes confirms."""
    if args.yes or args.json:
        return bool(args.yes)
    if not is_interactive():
        raise RowtuiError("--write cannot ask for confirmation without a terminal", "add --yes")
    return ask("Write to workflow.toml?", out)


def _json(found: SizesEdit) -> to.WrittenSizesJson:
    return {
        "written": found.edit.written,
        "diff": list(found.edit.diff),
        "settings": [
            {"action": visible(action), **setting._asdict()}  # type: ignore[typeddict-item]
            for action, setting in found.changed
        ],
        "kept": [
            {"action": visible(action), "because": visible(sentence)}
            for action, sentence in found.kept
        ],
    }
