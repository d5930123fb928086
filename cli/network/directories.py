"""`rowtui network make`, `retire` and `restore`: the directories of a network's samples.

`make` makes the directories of jobs without open inputs, and nothing else. `retire` lists the
directories whose samples are no longer in any source; a user who types their number has them moved
to the trash, from where `restore` brings them back.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from rowtui.cli.network.shared.limits import open_network
from rowtui.cli.output.output import Output
from rowtui.cli.output.progress import ProgressBar
from rowtui.cli.project.open import ADD_YES, answer_to, say_notices
from rowtui.core.base.document import TextOrNull
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.runs.directories.trash import delete_retired, trashes
from rowtui.core.runs.directories.trash import restore as restore_trash
from rowtui.core.runs.networks import unneeded_directories

SHOWN = 20


class RetiredJson(NamedTuple):
    """`network retire`: directories of samples that no source has; `needed`: by which run.

    `trash`: where those that were `moved` are.
    """

    retired: Sequence[str]
    needed: Mapping[str, str]
    moved: Sequence[str] = ()
    trash: TextOrNull = ""


def run(args: argparse.Namespace, out: Output) -> int:
    """Make the directories; 1 if some cannot be made."""
    networks = open_network(args, out)

    unstarted = networks.unstarted()
    study = unstarted.study
    out.problems(study.problems)
    for notice in study.notices:
        out.warn(notice)
    if args.dry_run:
        found = unstarted.what_to_make()
        out.print(f"{plural(len(found.made), 'directory', 'directories')} would be made:")
        out.names(islice(found.made, SHOWN))
        if len(found.made) > SHOWN:
            out.print(f"... and {len(found.made) - SHOWN:,} more")
    else:
        progress = ProgressBar(out, "Making directories")
        sources = (home for home in study.flow.homes if home in study.flow.sources)
        total = sum(study.flow.columns(home).count for home in sources)
        try:
            found = unstarted.make(lambda done: progress(done, total))
        finally:
            progress.close()
        text = plural(len(found.made), "directory", "directories")
        out.print(f"Made {text}; {len(found.kept):,} were there.")
        say_notices(networks.project, out)
    if waiting := unstarted.waiting:
        jobs = plural(waiting, "job waits", "jobs wait")
        out.print(f"{jobs} for inputs: directories are made when the inputs are complete.")
    for conflict in found.conflicts[:SHOWN]:
        out.error(f"{visible(conflict.name)}: {conflict.why}")
    if len(found.conflicts) > SHOWN:
        out.error(f"{len(found.conflicts) - SHOWN:,} more cannot be made.")
    retired = networks.retired()
    if retired:
        count = plural(len(retired), "directory is", "directories are")
        out.print(f"{count} of samples that no source has any more: see 'rowtui network retire'.")
    networks.project.close()
    return 1 if found.conflicts else 0


def restore(args: argparse.Namespace, out: Output) -> int:
    """List what can be brought back, or bring it back; 1 if something cannot be brought back."""
    networks = open_network(args, out)
    if args.trash is None:
        names = trashes(networks.project)
        if not names:
            out.print("The trash is empty.")
        out.names(names)
        return 0
    moved = restore_trash(networks.project, args.trash)
    networks.project.synchronise()
    networks.project.close()
    for refused in moved.refused:
        out.error(f"{visible(refused.name)} stays in the trash: {refused.why}")
    out.print(f"Brought back {plural(len(moved.moved), 'directory', 'directories')}.")
    return 1 if moved.refused else 0


def retire(args: argparse.Namespace, out: Output) -> int:
    """List them, or put them away; 1 if some could not be put away."""
    if args.yes and not args.delete:
        raise RowtuiError("--yes belongs to --delete", "add --delete, or leave it out")
    networks = open_network(args, out)

    names, needed = unneeded_directories(networks)
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
        if moved is None:
            out.json(RetiredJson(names, needed))
        else:
            kept = [it.name for it in moved.refused]
            out.json(RetiredJson(kept, needed, moved.moved, moved.trash))
        return 1 if moved is not None and moved.refused else 0
    if moved is None:
        _list(names, out)
        for run_id in sorted(set(needed.values())):
            many = sum(it == run_id for it in needed.values())
            text = plural(many, "more is", "more are")
            out.print(f"{text} in no source, but run {run_id} is not over and needs them.")
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
