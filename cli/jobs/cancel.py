"""`rowtui cancel`: stop jobs of this project, after asking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.cli.jobs.choice import CANCEL
from rowtui.cli.jobs.verbs import act

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output.output import Output


def run(args: argparse.Namespace, out: Output) -> int:
    """Cancel the chosen jobs; 1 if one could not be cancelled."""
    return act(args, out, CANCEL, lambda jobs, tokens: jobs.cancel(tokens))
