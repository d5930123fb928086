"""Shared steps of network commands: opening the network, its logs, the limits of a run, questions.

The limits come from the command's arguments, else from the estimated need of the known jobs; the
result is `RunLimits` for the user to confirm.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.cli.clusters.secrets import readable
from rowtui.cli.network.shared.text import say
from rowtui.cli.output.output import Output
from rowtui.cli.project.open import open_project
from rowtui.cli.submit.sending import say_packing
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import Cost, amount, plural, visible
from rowtui.core.project.planning.pack_terms import prices_of
from rowtui.core.runs.execution.permission import PlanAnswer
from rowtui.core.runs.limits.limits import (
    TRIES,
    Breach,
    LimitKind,
    RunLimits,
)
from rowtui.core.runs.limits.times import cost_text, describe
from rowtui.core.runs.networks import Networks
from rowtui.core.runs.store import Run, RunStore
from rowtui.core.submission.plan.charges import charges_of
from rowtui.core.submission.plan.model import CPU_HOURS, GPU_HOURS, Plan
from rowtui.core.workflow.find import NETWORK_FILE, find_project, has_network

if TYPE_CHECKING:
    from rowtui.core.runs.networks import Networks


def open_network(args: argparse.Namespace, out: Output) -> Networks:
    """Return the network of this folder's project. Raises: RowtuiError without network or run."""
    root = find_project(Path.cwd())
    if not has_network(root) and not RunStore(root).ids():
        raise RowtuiError(
            f"there is no {NETWORK_FILE} in {visible(str(root))}",
            "'rowtui network init' writes one to begin with",
        )
    project = open_project(args, out, errors=False)

    return Networks(project)


def logs_of(networks: Networks, jobs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return the log of the newest job of each action in a directory."""
    wanted = set(jobs)
    if not wanted:
        return {}
    found: dict[tuple[str, str], str] = {}
    records = sorted(networks.project.jobs.records(), key=lambda it: it.submitted_at)
    for record in records:
        for directory in record.directories:
            key = (record.action, directory)
            if key in wanted and record.log_path:
                found[key] = record.log_path
    return found


def raise_budget(networks: Networks, run: Run, out: Output) -> None:
    """Raise the limit of a run by the cost of jobs that run again, if too little remains."""
    limits = run.limits
    running = networks.running(run.id)
    if running is None:
        return
    work, spent = networks.left(run.id).cost, running.spent()
    wider = limits
    for field, unit in (("cpu_hours", CPU_HOURS), ("gpu_hours", GPU_HOURS)):
        limit, charged, asked = (getattr(it, field) for it in (limits, spent, work))
        if limit is not None and charged + asked > limit:
            most = charged + TRIES * asked
            wider = wider._replace(**{field: most})
            out.print(f"The limit of the run grows for that to {amount(most)} {unit}.")
    if wider != limits:
        run.confirm(wider, time.time())


# Questions to the user at the terminal while a run is driven.
#
# The input is a plan and the limits that do not allow it; the result is the answer for the
# autopilot. The event loop continues during the question, and Ctrl-C ends the question.


_LINE = 1 << 12  # a terminal gives no longer lines


class TerminalUser:
    """Asks the user on the terminal. `aside` clears other text that is drawn on the terminal."""

    def __init__(self, out: Output, networks: Networks, aside: Callable[[], None]) -> None:
        self.out = out
        self.networks = networks
        self.aside = aside
        self.asking = False

    async def ask(self, plan: Plan, breaches: tuple[Breach, ...]) -> PlanAnswer:
        """See `autopilot.Ask`."""
        self.aside()
        self.asking = True
        try:
            return await self._answer(plan, breaches)
        finally:
            self.asking = False

    async def _answer(self, plan: Plan, breaches: tuple[Breach, ...]) -> PlanAnswer:
        self._show(plan)
        if not breaches:
            found = await typed("Proceed? [Y/n]: ")
            return PlanAnswer(send=found is not None and found.lower() in ("", "y", "yes"))
        for breach in breaches:
            say(self.out, f"Beyond the limits: {breach.sentence}.")
        limits = self._wider(plan, breaches)
        allowed = ", ".join(describe(limits)) or "no limit"
        say(self.out, f"  a  allow it from now on: {allowed}", "     ")
        self.out.print("  o  send these jobs once, and ask again for the next")
        self.out.print("  p  pause; submitted jobs continue")
        while True:
            found = await typed("Which? [a/o/P]: ")
            word = "p" if found is None else found.lower() or "p"
            if word in ("a", "allow"):
                return PlanAnswer(limits=limits)
            if word in ("o", "once"):
                return PlanAnswer(send=True)
            if word in ("p", "pause", "n", "no", "q"):
                return PlanAnswer()

    def _show(self, plan: Plan) -> None:
        out = self.out
        by_action = Counter(job.action for job in plan.jobs)
        names = ", ".join(f"{visible(name)} {many:,}" for name, many in by_action.items())
        where = ", ".join(sorted({visible(str(job.destination)) for job in plan.jobs}))
        for sentence in (*plan.skipped, *plan.warnings):
            out.warn(sentence)
        cost = cost_text(Cost.total(charge.cost for charge in charges_of(plan)))
        say(
            out,
            f"Submitting {plural(len(plan.jobs), 'job')} ({names}) to {where}, that may cost up to "
            f"{cost}.",
        )
        say_packing(plan, out)

    def _wider(self, plan: Plan, breaches: tuple[Breach, ...]) -> RunLimits:
        """Return limits that allow this plan, and the known work after it."""
        assert self.networks.driving is not None
        running = self.networks.driving.running
        limits, spent = running.run.limits, running.spent()
        for breach in breaches:
            limits = _widened(limits, breach.kind, plan)
        units = list(charges_of(plan, prices_of(running.project, plan)))
        work = self.networks.left().cost
        if limits.cpu_hours is not None:
            asked = max(work.cpu_hours, sum(unit.cost.cpu_hours for unit in units))
            limits = limits._replace(cpu_hours=max(limits.cpu_hours, spent.cpu_hours + asked))
        if limits.gpu_hours is not None:
            asked = max(work.gpu_hours, sum(unit.cost.gpu_hours for unit in units))
            limits = limits._replace(gpu_hours=max(limits.gpu_hours, spent.gpu_hours + asked))
        if limits.price is not None:
            asked = sum(unit.money.amount for unit in units if unit.money is not None)
            money = spent.money.get(limits.currency, 0.0) + asked
            limits = limits._replace(price=max(limits.price, money))
        return limits


def _widened(limits: RunLimits, kind: LimitKind, plan: Plan) -> RunLimits:
    """Return the limits without the exceeded limit; the caller handles budgets."""
    if kind is LimitKind.DESTINATION:
        known = limits.destinations or ()
        more = (str(job.destination) for job in plan.jobs)
        return limits._replace(destinations=tuple(dict.fromkeys((*known, *more))))
    if kind is LimitKind.UNPRICED:
        return limits._replace(price=None, currency="")
    if kind is LimitKind.BUDGET:
        return limits._replace(over_budget=True)
    if kind is LimitKind.UNTIL and limits.until is not None and limits.until <= time.time():
        return limits._replace(until=None)
    # Limits of failures count from zero again once they are confirmed.
    return limits


async def typed(question: str) -> str | None:
    """Return the typed line; None if there was no answer (Ctrl-D)."""
    sys.stdout.write(question)
    sys.stdout.flush()
    fd = sys.stdin.fileno()
    await readable(fd)
    with contextlib.suppress(OSError):
        line = os.read(fd, _LINE)
        if line:
            return line.decode("utf-8", "replace").strip()
    sys.stdout.write("\n")
    return None
