"""`rowtui network retire`: directories whose samples are no longer in any source.

They are only listed until the user, who has seen their number, types that number. Then they are
moved to the trash, from where `restore` brings them back.
"""

from __future__ import annotations

import json
import sys
from itertools import islice
from typing import TYPE_CHECKING

from rowtui.cli.network.shared.project import open_network
from rowtui.cli.project.open import ADD_YES, answer_to
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.json_objects import VERSION
from rowtui.core.base.text import plural, visible

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from rowtui.cli.output.output import Output
    from rowtui.core.base import json_objects as to

SHOWN = 20


def run(args: argparse.Namespace, out: Output) -> int:
    """List them, or put them away; 1 if some could not be put away."""
    if args.yes and not args.delete:
        raise RowtuiError("--yes belongs to --delete", "add --delete, or leave it out")
    networks = open_network(args, out)
    from rowtui.core.runs.directories.materialise import nobodys
    from rowtui.core.runs.directories.trash import delete_retired

    names, needed = nobodys(networks)
    moved = None
    if args.delete and names:
        if not args.json:
            _list(names, out)
        if not (args.yes or _confirmed(len(names), args)):
            out.warn("Nothing was moved.")
            return 1
        made = networks.store.made()
        moved = delete_retired(networks.project, names, made, confirmed=True)
        networks.project.synchronise()
    networks.project.close()
    if args.json:
        fields: to.Retired = {
            "version": VERSION,
            "retired": names if moved is None else [it.name for it in moved.refused],
            "needed": dict(needed),
            "moved": [] if moved is None else list(moved.moved),
            "trash": None if moved is None or not moved.trash else moved.trash,
        }
        out.print(json.dumps(fields, indent=2))
        return 1 if moved is not None and moved.refused else 0
    if moved is None:
        _list(names, out)
        for run_id in sorted(set(needed.values())):
            many = sum(it == run_id for it in needed.values())
            said = plural(many, "more is", "more are")
            out.print(f"{said} in no source, but run {run_id} is not over and needs them.")
        if names:
            out.note("'rowtui network retire --delete' moves them to the trash.")
        return 0
    for refused in moved.refused:
        out.error(f"{visible(refused.name)} stays: {refused.why}")
    if moved.trash:
        count = plural(len(moved.moved), "directory", "directories")
        out.print(f"Moved {count} to the trash.")
        out.note(f"'rowtui network restore {moved.trash}' brings them back.")
    return 1 if moved.refused else 0


def _list(names: Sequence[str], out: Output) -> None:
    if not names:
        out.print("Every directory that the network made is of a sample that there is.")
        return
    if not sys.stdout.isatty():
        out.names(names)
        return
    count = plural(len(names), "directory is", "directories are")
    out.print(f"{count} of samples that no source has any more:")
    out.lines(f"  {visible(name)}" for name in islice(names, SHOWN))
    if len(names) > SHOWN:
        out.print(f"  ... and {len(names) - SHOWN:,} more, all of them with --json")


def _confirmed(count: int, args: argparse.Namespace) -> bool:
    if args.json:
        raise RowtuiError("with --json no question is asked", ADD_YES)
    return answer_to(f"Type {count} to move them to the trash: ").replace(",", "") == str(count)
