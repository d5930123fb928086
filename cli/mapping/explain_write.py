"""`rowtui explain --write` and `--undo`: write a what-if to workflow.toml, and revert the change.

The changed lines are printed first; without confirmation no file is written.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from rowtui.cli.loop import run as run_async
from rowtui.cli.output.output import Output
from rowtui.cli.project.open import ask, chosen_positions, is_interactive
from rowtui.core.base.errors import RowtuiError
from rowtui.core.groups.model import Status
from rowtui.core.mapping.model.request import WhatIf
from rowtui.core.project.project import Project
from rowtui.core.project.views.views import EditAsked, WhatIfAsked
from rowtui.core.project.workflow_edit import edit_back, edit_for_what_if, last_written

if TYPE_CHECKING:
    from rowtui.core.engine.api.engine import Edit, EditAsked


def change_workflow(
    args: argparse.Namespace, project: Project, what_if: WhatIf | None, out: Output
) -> int:
    """Show the change, ask, and write it; 1 if it was not written."""
    if not (args.write or args.undo):
        raise RowtuiError("--yes belongs to --write and --undo", "add one of them, or leave it out")

    change: Callable[[EditAsked], Edit]
    if args.undo:
        token = last_written(project)
        if not token:
            raise RowtuiError("nothing was written to workflow.toml by rowtui")
        asked, change = EditAsked(undo=token), partial(edit_back, project)
    else:
        asked, change = _what_if_asked(args, project, what_if, out)
    edit = change(asked)
    if edit.refused:
        why = f"{edit.refused}; nothing was written"
        raise RowtuiError(why, "" if args.undo else "'rowtui explain ACTION' explains the job")
    written = _confirmed(args, edit, out)
    if written:
        edit = change(asked._replace(confirmed=edit.token))
    if args.json:
        fields = {
            "version": 1,
            "written": edit.written,
            "fields": list(edit.fields),
            "diff": list(edit.diff),
            "notes": list(edit.notes),
        }
        out.json(fields)
        return 0
    if not written:
        out.warn("Nothing was written.")
        return 1
    if args.undo:
        out.print("workflow.toml is as it was before the last write.")
    else:
        out.print("Written to workflow.toml.")
        out.note(f"'rowtui explain {args.action} --undo' takes it back.")
    return 0


def _what_if_asked(
    args: argparse.Namespace, project: Project, what_if: WhatIf | None, out: Output
) -> tuple[EditAsked, Callable[[EditAsked], Edit]]:
    """Return the what-if about the first group of `explain`. Raises: RowtuiError."""
    if what_if is None:
        raise RowtuiError("what is to be written?", "add --cpus, --mem, --gpus or --time")
    among = chosen_positions(project, args.directories, out)
    every = tuple(Status)
    for statuses in (every,) if among is not None else ((Status.ELIGIBLE,), every):
        for action in project.workflow.named(args.action):
            groups = project.cut(action, statuses, among)
            if len(groups):
                run_async(project.mapping.ask_loads())
                asked = WhatIfAsked(what_if, args.user, args.roles)
                change = partial(edit_for_what_if, project, action, groups)
                return EditAsked(action.index, statuses, 0, asked), change
    raise RowtuiError(f"action '{args.action}' has no directories")


def _confirmed(args: argparse.Namespace, edit: Edit, out: Output) -> bool:
    """Whether the user confirms the change. With --json only --yes confirms."""
    if args.json:
        return bool(args.yes)
    out.lines(edit.diff)
    out.lines(edit.notes)
    if args.yes:
        return True
    if not is_interactive():
        raise RowtuiError("nobody can be asked whether to change workflow.toml", "add --yes")
    return ask("Write to workflow.toml?", out)
