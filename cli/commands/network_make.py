"""`rowtui network make`: the directories of all samples, with their values, and nothing else."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from rowtui.cli.network_project import open_network
from rowtui.cli.project import say_notices
from rowtui.core.text import plural, visible

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output import Output

SHOWN = 20


def run(args: argparse.Namespace, out: Output) -> int:
    """Make them; 1 if some cannot be."""
    networks = open_network(args, out)
    from rowtui.cli.progress import Progress
    from rowtui.core.runs.making import make_all, what_to_make

    study = networks.study()
    out.problems(study.problems)
    for notice in study.notices:
        out.warn(notice)
    if args.dry_run:
        found = what_to_make(networks.project, study.flow)
        out.print(f"{plural(len(found.made), 'directory', 'directories')} would be made:")
        out.names(islice(found.made, SHOWN))
        if len(found.made) > SHOWN:
            out.print(f"... and {len(found.made) - SHOWN:,} more")
    else:
        progress = Progress(out, "Making directories")
        total = sum(study.flow.columns(home).count for home in study.flow.homes)
        try:
            found = make_all(networks, study.flow, lambda done: progress(done, total))
        finally:
            progress.close()
        said = plural(len(found.made), "directory", "directories")
        out.print(f"Made {said}; {len(found.kept):,} were there.")
        say_notices(networks.project, out)
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
