"""`rowtui release`: let held jobs of this project start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.cli.jobs.choice import RELEASE
from rowtui.cli.jobs.verbs import act

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output.output import Output


def run(args: argparse.Namespace, out: Output) -> int:
    """Release the chosen jobs; 1 if one could not be released."""
    return act(args, out, RELEASE, lambda jobs, tokens: jobs.release(tokens))
