"""A look at a cluster over its connection: what is there, how quickly it answers, its clock.

Takes a cluster and a transport; gives what was found. Each question is asked whether or not the
others were answered; the first makes the connection, so that a person may be asked then.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from rowtui.core.clusters.commands import CommandResult, Transport
from rowtui.core.clusters.model import Cluster
from rowtui.core.errors import RowtuiError

LOGIN_SECONDS = 900.0  # a person may look for the telephone that shows the code
_SECONDS = 30.0  # for each of the later questions


class Visit(NamedTuple):
    """What was found. With `error` set the cluster cannot be reached, and nothing is known.

    `described`: what Slurm says of itself, or why it says nothing (`silence`); `rsync`: its first
    line, "" where there is none; `answer`: seconds for a command on the open connection; `ahead`:
    seconds by which its clock is ahead of ours, None if that is unknown.
    """

    error: str = ""
    described: Cluster | None = None
    silence: str = ""
    version: str = ""
    rsync: str = ""
    answer: float = 0.0
    ahead: float | None = None


async def visit(
    cluster: Cluster, transport: Transport, *, clock: Callable[[], float] = time.time
) -> Visit:
    """Look at a cluster."""
    first = await transport.run(["true"], timeout=LOGIN_SECONDS)
    if first.trouble is not None:
        return Visit(error=first.complaint)
    before = clock()
    started = time.monotonic()
    told = await transport.run(["date", "+%s.%N"], timeout=_SECONDS)
    answer = time.monotonic() - started
    ahead = _difference(told, before, clock())
    rsync = await transport.run(["rsync", "--version"], timeout=_SECONDS)
    described, silence, version = None, "", ""
    if cluster.scheduler == "slurm":
        from rowtui.core.clusters.schedulers.slurm_describe import describe_over

        version = _line(await transport.run(["sbatch", "--version"], timeout=_SECONDS))
        try:
            described = await describe_over(transport)
        except RowtuiError as error:
            silence = error.message
        else:
            silence = "" if described is not None else "there is no Slurm on its login node"
    return Visit("", described, silence, version, _line(rsync), answer, ahead)


def _difference(told: CommandResult, before: float, after: float) -> float | None:
    """How far a clock that was read in between is ahead; 0 if it need not be.

    A `date` that does not know %N prints it, or nothing: that clock was read to the second.
    """
    whole, _, fraction = _line(told).partition(".")
    try:
        there = float(f"{whole}.{fraction if fraction.isdecimal() else ''}")
    except ValueError:
        return None
    latest = there if fraction.isdecimal() else there + 1.0
    if there > after:
        return there - after
    return min(latest - before, 0.0)


def _line(result: CommandResult) -> str:
    """The first line of what a command said, without gaps; "" if it failed."""
    if result.exit_status != 0:
        return ""
    first = result.stdout.decode(errors="replace").strip().partition("\n")[0]
    return " ".join(first.split())
