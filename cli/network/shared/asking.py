"""Questions to the user at the terminal while a run is driven.

The input is a plan and the limits that do not allow it; the result is the answer for the autopilot.
The event loop continues during the question, and Ctrl-C ends the question.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from rowtui.cli.clusters.secrets import readable
from rowtui.cli.network.shared.text import say
from rowtui.cli.output.output import Output
from rowtui.cli.submit.sending import say_packing
from rowtui.core.base.text import Cost, plural, visible
from rowtui.core.project.planning.pack_terms import prices_of
from rowtui.core.runs.execution.messages import PlanAnswer
from rowtui.core.runs.limits.limits import Breach, LimitKind, RunLimits
from rowtui.core.runs.limits.texts import cost_text, describe
from rowtui.core.submission.plan.charges import charges_of
from rowtui.core.submission.plan.model import Plan

if TYPE_CHECKING:
    from rowtui.core.runs.networks import Networks

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
            said = await typed("Proceed? [Y/n]: ")
            return PlanAnswer(send=said is not None and said.lower() in ("", "y", "yes"))
        for breach in breaches:
            say(self.out, f"Beyond the limits: {breach.sentence}.")
        limits = self._wider(plan, breaches)
        allowed = ", ".join(describe(limits)) or "no limit"
        say(self.out, f"  a  allow it from now on: {allowed}", "     ")
        self.out.print("  o  send these jobs once, and ask again for the next")
        self.out.print("  p  pause; jobs that were sent go on")
        while True:
            said = await typed("Which? [a/o/P]: ")
            word = "p" if said is None else said.lower() or "p"
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
        if limits.money is not None:
            asked = sum(unit.money.amount for unit in units if unit.money is not None)
            money = spent.money.get(limits.currency, 0.0) + asked
            limits = limits._replace(money=max(limits.money, money))
        return limits


def _widened(limits: RunLimits, kind: LimitKind, plan: Plan) -> RunLimits:
    """Return the limits without the exceeded limit; the caller handles budgets."""
    if kind is LimitKind.DESTINATION:
        known = limits.destinations or ()
        more = (str(job.destination) for job in plan.jobs)
        return limits._replace(destinations=tuple(dict.fromkeys((*known, *more))))
    if kind is LimitKind.UNPRICED:
        return limits._replace(money=None, currency="")
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
