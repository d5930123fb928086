"""`rowtui hold`: keep waiting jobs of this project from starting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.cli.jobs.choice import HOLD
from rowtui.cli.jobs.verbs import act

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output.output import Output


def run(args: argparse.Namespace, out: Output) -> int:
    """Hold the chosen jobs; 1 if one could not be held."""
    return act(args, out, HOLD, lambda jobs, tokens: jobs.hold(tokens))
