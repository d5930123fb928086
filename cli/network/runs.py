"""`rowtui network runs`, `limits` and `stop`: the runs of this project's network.

`runs` lists every run, including unusable ones. `limits` prints the limits of a run and its charges
so far, and sets new limits. `stop` ends the process that drives a run; submitted jobs continue.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, NamedTuple, NotRequired, TypedDict, cast

from rowtui.cli.network.jobs import chosen_run, run_of
from rowtui.cli.network.shared.limits import open_network
from rowtui.cli.network.shared.text import limit_lines, spent_text
from rowtui.cli.output.output import Output, TableCell, TextColumn, table_lines
from rowtui.cli.project.open import ask, is_interactive
from rowtui.cli.submit.limits import with_options
from rowtui.core.base.document import document, utc
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import Cost, CostJson, plural, time_text, visible
from rowtui.core.runs.limits.limits import RunLimits
from rowtui.core.runs.limits.times import cost_text
from rowtui.core.runs.lock import Holder
from rowtui.core.runs.model import Stopped, limits_fields
from rowtui.core.runs.running import OpenRun
from rowtui.core.runs.store import BadRun, Run

if TYPE_CHECKING:
    from rowtui.core.runs.networks import Networks


class ListedRunJson(TypedDict):
    """A run as its journal has it. A run that cannot be read has status `bad`, and `why`."""

    id: str
    status: str
    name: NotRequired[str]
    user: NotRequired[str]
    created_at: NotRequired[str]
    at: NotRequired[str]
    holder: NotRequired[Holder | None]
    submitted: NotRequired[int]
    failed: NotRequired[int]
    limits: NotRequired[RunLimits]
    charged: NotRequired[CostJson]
    prices: NotRequired[dict[str, float]]
    jobs_in_queue: NotRequired[int]
    failures: NotRequired[int]
    failures_in_a_row: NotRequired[int]
    retries: NotRequired[int]
    why: NotRequired[str]
    hint: NotRequired[str | None]


class ListedRuns(NamedTuple):
    """`network runs`: newest first."""

    runs: list[ListedRunJson]


def run(args: argparse.Namespace, out: Output) -> int:
    """Print the runs, newest first."""
    networks = open_network(args, out)
    runs = list(reversed(networks.runs()))
    if args.json:
        out.json(ListedRuns([_listed(networks, it) for it in runs]))
        return 0
    if not runs:
        out.print("No run yet; 'rowtui network run' begins one.")
        return 0

    columns = [
        TextColumn("Run", style="bold"),
        TextColumn("Status"),
        TextColumn("Submitted", right=True),
        TextColumn("Failed", right=True),
        TextColumn("Charged", right=True),
        TextColumn("Begun"),
        TextColumn("By"),
    ]
    styles = {"finished": "green", "failed": "red bold", "paused": "yellow bold"}
    rows: list[list[str | TableCell]] = []
    for it in runs:
        if isinstance(it, BadRun):
            rows.append([it.id, TableCell("bad", "red bold")])
            continue
        standing = it.standing
        holder = it.holder()
        status = standing.status.value
        word = "not driven" if status == "running" and not holder else status
        who = f"{visible(it.about.user)}" + (f", {holder}" if holder else "")
        spent = standing.spent()
        rows.append(
            [
                it.id,
                TableCell(word, styles.get(status, "")),
                f"{standing.submitted:,}",
                f"{standing.failed:,}",
                cost_text(Cost(spent.cpu_hours, spent.gpu_hours)),
                time_text(it.about.created),
                who,
            ]
        )
    out.lines(table_lines(columns, rows, out))
    for it in runs:
        if isinstance(it, BadRun):
            out.warn(f"{it.why}" + (f"\n{it.hint}" if it.hint else ""))
    counts = sum(isinstance(it, BadRun) for it in runs)
    if counts:
        out.note(f"{plural(counts, 'run')} cannot be used; the others can.")
    return 0


def _listed(networks: Networks, run: Run | BadRun) -> ListedRunJson:
    """Return the data of a run without its network; an open run has its numbers of now."""
    if isinstance(run, BadRun):
        return {"id": run.id, "status": "bad", "why": run.why, "hint": run.hint or None}
    standing = run.standing
    holder = run.holder()
    running = None if standing.status.is_over else networks.running(run.id)
    spent = standing.spent() if running is None else running.spent()
    found = {
        "id": run.id,
        "status": standing.status.value,
        "name": run.about.name,
        "user": run.about.user,
        "created_at": utc(run.about.created) or "",
        "at": utc(run.about.created if standing.at is None else standing.at) or "",
        "holder": holder,
        "submitted": standing.submitted,
        "failed": standing.failed,
        "limits": standing.limits or run.about.limits,
        **document(spent),
    }
    return cast("ListedRunJson", found)


def limits(args: argparse.Namespace, out: Output) -> int:
    """Show the limits; with options ask, and confirm new limits, which a driving process adopts."""
    networks = open_network(args, out)

    running = run_of(networks, args.run)
    before = running.run.limits
    limits = with_options(args, networks.project, before)
    changed = limits != before
    if changed and running.status.is_over:
        raise RowtuiError(
            f"run {running.run.id} is over", "'rowtui network run' begins another within limits"
        )
    if not args.json:
        _show(running, limits if changed else None, out)
    if changed and not args.yes:
        if args.json or not is_interactive():
            raise RowtuiError("the limits cannot be confirmed without a terminal", "add --yes")
        if not ask("Proceed?", out):
            out.warn("The limits are as they were.")
            return 1
    if changed:
        networks.begin(limits, name=running.run.id)
    if args.json:
        out.json(_fields(running, changed=changed))
    elif changed:
        out.print(f"The limits of run {running.run.id} are changed.")
    networks.project.close()
    return 0


def _show(running: OpenRun, wanted: RunLimits | None, out: Output) -> None:
    out.print(f"Run {running.run.id} is {running.status.value}.")
    for title, limits in (("Limits", running.run.limits), ("New limits", wanted)):
        if limits is not None:
            out.print(f"{title}:")
            out.lines(f"  {line}" for line in limit_lines(limits))
    out.print(f"Charged: {spent_text(running.spent())}.")


def _fields(running: OpenRun, *, changed: bool) -> dict[str, object]:
    return {
        "version": 1,
        "run": running.run.id,
        "status": running.status.value,
        "limits": limits_fields(running.run.limits),
        **document(running.spent()),
        "changed": changed,
    }


WAIT_SECONDS = 10.0
"""Longest wait, in seconds, for the process that drives the run."""


def stop(args: argparse.Namespace, out: Output) -> int:
    """Write the stop into the run's journal, where the driving process reads it."""
    networks = open_network(args, out)

    run = chosen_run(networks, args.run)
    holder = run.holder()
    if holder is None:
        raise RowtuiError(f"no process drives run {run.id}", "'rowtui network run' continues a run")
    run.append(Stopped(time.time(), "stopped from the command line"))
    deadline = time.monotonic() + WAIT_SECONDS
    while run.holder() == holder and time.monotonic() < deadline:
        time.sleep(0.05)
    ended = run.holder() != holder
    networks.project.close()
    if args.json:
        fields = {"version": 1, "run": run.id, "holder": str(holder), "stopped": ended}
        out.json(fields)
    elif ended:
        out.print(f"Run {run.id} is stopped; submitted jobs continue.")
    if not ended:
        out.warn(f"Run {run.id} stops once {holder} has finished its present submission.")
    if not args.json:
        out.note(f"'rowtui network run --run {run.id}' continues the run.")
    return 0
