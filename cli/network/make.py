"""`rowtui network make`: make the directories of jobs without open inputs, and nothing else."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from rowtui.cli.network.shared.project import open_network
from rowtui.cli.project.open import say_notices
from rowtui.core.base.text import plural, visible

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output.output import Output

SHOWN = 20


def run(args: argparse.Namespace, out: Output) -> int:
    """Make the directories; 1 if some cannot be made."""
    networks = open_network(args, out)
    from rowtui.cli.output.progress import Progress

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
        progress = Progress(out, "Making directories")
        sources = (home for home in study.flow.homes if home in study.flow.sources)
        total = sum(study.flow.columns(home).count for home in sources)
        try:
            found = unstarted.make(lambda done: progress(done, total))
        finally:
            progress.close()
        said = plural(len(found.made), "directory", "directories")
        out.print(f"Made {said}; {len(found.kept):,} were there.")
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
