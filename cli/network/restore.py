"""`rowtui network restore`: bring back directories and products that were put away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.cli.network.shared.project import open_network
from rowtui.core.base.text import plural, visible

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output.output import Output


def run(args: argparse.Namespace, out: Output) -> int:
    """List what can be brought back, or bring it back; 1 if something cannot be brought back."""
    networks = open_network(args, out)
    from rowtui.core.runs.directories.trash import restore, trashes

    if args.trash is None:
        names = trashes(networks.project)
        if not names:
            out.print("The trash is empty.")
        out.names(names)
        return 0
    moved = restore(networks.project, args.trash)
    networks.project.synchronise()
    networks.project.close()
    for refused in moved.refused:
        out.error(f"{visible(refused.name)} stays in the trash: {refused.why}")
    out.print(f"Brought back {plural(len(moved.moved), 'directory', 'directories')}.")
    return 1 if moved.refused else 0
