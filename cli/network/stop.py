"""`rowtui network stop`: end the process that drives a run. Submitted jobs continue."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from rowtui.cli.network.shared.project import open_network
from rowtui.core.base.errors import RowtuiError

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output.output import Output

WAIT_SECONDS = 10.0
"""Longest wait, in seconds, for the process that drives the run."""


def run(args: argparse.Namespace, out: Output) -> int:
    """Write the stop into the run's journal, where the driving process reads it."""
    networks = open_network(args, out)
    from rowtui.cli.network.shared.jobs import chosen_run
    from rowtui.core.runs.model import Stopped

    run = chosen_run(networks, args.run)
    holder = run.holder()
    if holder is None:
        raise RowtuiError(
            f"no process drives run {run.id}", "'rowtui network run' goes on with a run"
        )
    run.append(Stopped(time.time(), "stopped from the command line"))
    deadline = time.monotonic() + WAIT_SECONDS
    while run.holder() == holder and time.monotonic() < deadline:
        time.sleep(0.05)
    ended = run.holder() != holder
    networks.project.close()
    if args.json:
        fields = {"version": 1, "run": run.id, "holder": str(holder), "stopped": ended}
        out.print(json.dumps(fields, indent=2))
    elif ended:
        out.print(f"Run {run.id} is stopped; jobs that were sent go on.")
    if not ended:
        out.warn(f"Run {run.id} stops once {holder} has sent what it is sending.")
    if not args.json:
        out.note(f"'rowtui network run --run {run.id}' goes on with the run.")
    return 0
