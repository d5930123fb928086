"""Probe a cluster over its connection: its programs, its response time and its clock.

Each query is sent even if others fail. The first query makes the connection, so the user may be
asked for a password then.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.command_log import CommandResult
from rowtui.core.clusters.commands import Transport
from rowtui.core.clusters.model import Cluster
from rowtui.core.clusters.schedulers.kind import kind_of

LOGIN_SECONDS = 900.0  # the user may have to fetch the telephone that shows the code
_SECONDS = 30.0  # for each of the later queries


class Visit(NamedTuple):
    """The result of a probe. If `error` is set, the cluster was not reached and nothing is known.

    `described`: the scheduler's description of the cluster; `silence`: why there is none. `rsync`:
    the first line of its version, "" if it is missing; `answer`: seconds for a command on the open
    connection; `ahead`: seconds by which the cluster's clock is ahead of this machine's, None if
    unknown.
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
    """Probe a cluster."""
    first = await transport.run(["true"], timeout=LOGIN_SECONDS)
    if first.trouble is not None:
        return Visit(error=first.complaint)
    before = clock()
    started = time.monotonic()
    found = await transport.run(["date", "+%s.%N"], timeout=_SECONDS)
    answer = time.monotonic() - started
    ahead = _difference(found, before, clock())
    rsync = await transport.run(["rsync", "--version"], timeout=_SECONDS)
    described, silence, version = None, "", ""
    kind = kind_of(cluster)
    if kind.describes:
        version = _line(await transport.run(kind.version_command, timeout=_SECONDS))
        try:
            described = await kind.describe(transport)
        except RowtuiError as error:
            silence = error.message
        else:
            silence = "" if described is not None else f"there is no {kind.title} on its login node"
    return Visit("", described, silence, version, _line(rsync), answer, ahead)


def _difference(told: CommandResult, before: float, after: float) -> float | None:
    """Return the seconds by which a clock read in between is ahead; 0 if it may be equal.

    A `date` that does not support %N prints the text, or nothing: the clock then has whole seconds.
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
    """Return the first line of a command's output, with single spaces; "" if the command failed."""
    if result.exit_status != 0:
        return ""
    first = result.stdout.decode(errors="replace").strip().partition("\n")[0]
    return " ".join(first.split())
