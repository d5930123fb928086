"""A plan in review and submission: its rows, its page of costs and checks, its progress."""

from __future__ import annotations

import enum
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.text import plural, price, priced
from rowtui.core.clusters.schedulers.base import is_in_bundle
from rowtui.core.project.review.views import CheckState
from rowtui.core.submission.plan.model import JobStep, count_jobs
from rowtui.tui.views.submit.copies import Copying, copied_first
from rowtui.tui.views.submit.plan_checks import check_lines, checks_short
from rowtui.tui.views.submit.plan_choice import PlanChoice
from rowtui.tui.widgets.cells import Number, dimmed, line
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.short_text import amount_of_hours, limit

if TYPE_CHECKING:
    from rowtui.core.project.review.views import PlanCheck
    from rowtui.core.submission.plan.model import Packed, Plan, PlannedJob
    from rowtui.core.submission.sending.release_held import SendingProgress
    from rowtui.tui.widgets.cells import Cell, Line


class PlanRequest(NamedTuple):
    """The eligible groups that would be submitted: of one action, or of all (None).

    `groups` are positions from 0, None for all groups; `firsts` are their first directories.
    """

    action: int | None
    groups: tuple[int, ...] | None = None
    firsts: frozenset[str] = frozenset()


class Became(enum.Enum):
    """The state of a job of a plan after an attempt to submit it."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    UNCLEAR = "unclear"
    SKIPPED = "skipped"


class SentOutcome(NamedTuple):
    """The answer for a job; `error` is "" if there was no error."""

    became: Became
    message: str
    error: str = ""


def outcome_of(step: SendingProgress) -> SentOutcome:
    """Return the outcome of a job for one answer of the engine."""
    message, error = step.message, step.error
    if step.became is JobStep.UNKNOWN:
        return SentOutcome(Became.UNCLEAR, message, error)
    if step.became is JobStep.ABANDONED:
        return SentOutcome(Became.SKIPPED, message, error)
    return SentOutcome(Became.REFUSED if error else Became.ACCEPTED, message, error)


@dataclass(slots=True)
class Sending:
    """The progress of a confirmed plan. `outcomes` has the outcome of each token.

    `phase` is "review", "sending", "stopping", "stopped", "done" or "broken".
    """

    plan: Plan
    phase: str = "review"
    # The files that are copied to clusters before the jobs are submitted.
    copying: Copying = field(default_factory=Copying)
    copied: str = ""  # The progress of the copies.
    copies_to: str = ""  # The cluster of the copy that is compared or updated.
    done: int = 0
    outcomes: dict[str, SentOutcome] = field(default_factory=dict)
    error: str = ""
    first_error: str = ""  # The first error that concerns a job.
    under_way: str = ""  # The token that was sent and has no answer yet.
    asked_in: str = "groups"  # The view from which the plan was requested.
    # The groups of the request; None if the plan has no groups, for example for a retry.
    wanted: PlanRequest | None = None
    members: dict[str, tuple[str, ...]] | None = None  # Tokens by token, of bundles and arrays.
    checks: dict[str, PlanCheck] = field(default_factory=dict)
    started: float | None = None  # The time at which sending began.
    counts: Counter[Became] = field(default_factory=Counter)
    then_leave: bool = False  # The dashboard ends as soon as sending has stopped.
    unsent_yes: str = ""  # A word that the user typed before the remaining budgets were known.
    _chosen: PlanChoice | None = None

    @property
    def chosen(self) -> PlanChoice:
        """The jobs of the plan that are on."""
        if self._chosen is None:
            self._chosen = PlanChoice(self.plan)
        return self._chosen

    def send_instead(self, plan: Plan) -> None:
        """Continue with a plan of the remaining jobs."""
        self.plan, self._chosen, self.members = plan, None, None

    @property
    def awaits_budgets(self) -> bool:
        """Whether the remaining budgets are not known yet."""
        budget = self.checks.get("budget")
        return budget is not None and budget.state is CheckState.PENDING

    def take(self, check: PlanCheck) -> None:
        """Store the result of one more check."""
        self.checks[check.name] = check
        if check.budgets:
            budgets = [it for one in self.checks.values() for it in one.budgets]
            self.chosen.use_budgets(budgets)

    def note(self, token: str, outcome: SentOutcome) -> None:
        """Record the outcome of a job, and of the jobs that are sent with it."""
        if outcome.error and token and not self.first_error:
            self.first_error = outcome.error
        alone = outcome.became is Became.SKIPPED or (
            outcome.became is Became.ACCEPTED and not is_in_bundle(token)
        )
        together = (token,) if alone and token else self.sent_with(token)
        for one in together:
            before = self.outcomes.get(one)
            if before is not None and one != token:
                continue  # This job was skipped before the others were sent.
            if before is not None:
                self.counts[before.became] -= 1
            self.outcomes[one] = outcome
            self.counts[outcome.became] += 1

    @property
    def accepted(self) -> int:
        """The number of jobs that a scheduler has."""
        return self.counts[Became.ACCEPTED]

    @property
    def refused(self) -> int:
        """The number of jobs that were answered with an error."""
        return self.counts[Became.REFUSED]

    @property
    def unclear(self) -> int:
        """The number of jobs for which it is unknown whether the scheduler has them."""
        return self.counts[Became.UNCLEAR]

    @property
    def skipped(self) -> int:
        """The number of jobs that were skipped."""
        return self.counts[Became.SKIPPED]

    @property
    def not_sent(self) -> int:
        """The number of jobs without an answer."""
        return len(self.plan.jobs) - len(self.outcomes)

    def sent_with(self, token: str) -> tuple[str, ...]:
        """Return the tokens of all jobs in the same bundle or array; for any other job, its own
        token; for an empty token, nothing.
        """
        if self.members is None:
            self.members = {}
            together: dict[str, list[str]] = {}
            for job in self.plan.jobs:
                if those := job.bundle.token if job.bundle is not None else job.array:
                    together.setdefault(those, []).append(job.token)
            for tokens in together.values():
                self.members.update(dict.fromkeys(tokens, tuple(tokens)))
        return self.members.get(token, (token,) if token else ())

    @property
    def running(self) -> bool:
        """Whether jobs are being sent now."""
        return self.phase in ("sending", "stopping")


LONGEST_ID = 24
"""Columns in which `✓ job 12345678_[0-99]` fits: the outcome of a job is always shown in full."""


def plan_columns(jobs: Sequence[PlannedJob], sent: bool) -> tuple[TableColumn, ...]:
    """Return the columns of the list of planned jobs; `sent` adds the outcome of each."""
    bundled = any(job.bundle is not None for job in jobs)
    names = max((len(job.action) for job in jobs), default=6)
    if bundled:  # Bundles have headings, and their requests are indented.
        names = max(names + 2, len(f"bundle of {len(jobs):,}"))
    columns = [] if sent else [TableColumn("on", "On", 2)]
    columns += [
        TableColumn("number", "#", max(2, len(f"{len(jobs):,}") + 2 * bundled), align="right"),
        TableColumn("action", "Action", min(max(names, 8), 16), min(max(names, 8), 30)),
        TableColumn("size", "Dirs", 4, 6, "right"),
    ]
    if sent:
        columns.append(TableColumn("outcome", "Result", LONGEST_ID, grow=3))
    columns += [
        TableColumn("destination", "To", 8, 18, priority=2, grow=1),
        TableColumn("cpus", "CPUs", 4, 6, "right", 3),
    ]
    if any(job.gpus for job in jobs):
        columns.append(TableColumn("gpus", "GPUs", 4, 6, "right", 4))
    columns += [
        TableColumn("walltime", "Limit", 10 if bundled else 6, 11, "right", 4),
        TableColumn("cost", "CPU-h", 6, 8, "right", 1),
    ]
    if any(job.cost.gpu_hours for job in jobs):
        columns.append(TableColumn("gpu_cost", "GPU-h", 6, 8, "right", 1))
    longest = max((len(reason_again(job)) for job in jobs), default=0)
    if longest:
        after = next(at for at, column in enumerate(columns) if column.id == "cpus")
        least, wide = (min(max(longest, 16), most) for most in (18, 70))
        columns.insert(
            after, TableColumn("again", "Again because", least, wide, priority=1, grow=4)
        )
    else:
        columns.append(
            TableColumn("first", "First directory", 12, 15, priority=6, grow=1, short="First")
        )
    if any(job.warnings for job in jobs):
        columns.append(TableColumn("warnings", "▲", 2, align="right"))
    return tuple(columns)


_WHO = re.compile(r"attempt \d+: (?:job [\d_]+ )?")


def reason_again(job: PlannedJob) -> str:
    """Return `ran out of memory; memory 2 GB -> 4 GB`; "" at the first attempt.

    The checks contain the whole text.
    """
    if job.attempt < 2 or not job.reasons:
        return ""
    return _WHO.sub("", job.reasons[0], count=1)


def plan_cells(number: int, job: PlannedJob, sending: Sending) -> dict[str, Cell]:
    """Return one row of the list of planned jobs. `number` counts from 1."""
    on = sending.chosen.is_on(job.token)
    cells: dict[str, Cell] = {
        "on": line(("☑", "key") if on else ("☐", "dim")),
        "number": line((f"{number:,}", "dim")),
        "action": line(job.action),
        "size": Number(len(job.directories)),
        "outcome": outcome_cell(job, sending),
        "destination": line(str(job.destination)),
        "cpus": Number(job.cpus),
        "gpus": Number(job.gpus),
        "walltime": line(limit(job.walltime_seconds)),
        "cost": line(amount_of_hours(job.cost.cpu_hours)),
        "gpu_cost": line(amount_of_hours(job.cost.gpu_hours)),
        "first": line((job.directories[0] if job.directories else "", "dim")),
        "again": line(reason_again(job)),
        "warnings": line(("▲", "warning") if job.warnings else ""),
    }
    return cells if on else dimmed(cells)


def outcome_cell(job: PlannedJob, sending: Sending) -> Line:
    """Return the outcome of a job; all jobs that are sent together have the same outcome."""
    outcome = sending.outcomes.get(job.token)
    if outcome is not None:
        return _OUTCOMES[outcome.became](outcome)
    if sending.running and job.token in sending.sent_with(sending.under_way):
        return line(("▶ sending", "submitted"))
    if sending.running and sending.copied and sending.copies_to == job.destination.cluster:
        return line(("◐ copying", "submitted"))
    return line(("· not sent", "waiting"))


def not_accepted(job: PlannedJob, sending: Sending) -> Line:
    """Return why a job was refused, skipped or is unclear, without cuts; () for any other job."""
    outcome = sending.outcomes.get(job.token)
    if outcome is None or outcome.became is Became.ACCEPTED:
        return ()
    return outcome_cell(job, sending)


_OUTCOMES: dict[Became, Callable[[SentOutcome], Line]] = {
    Became.ACCEPTED: lambda it: line(("✓ " + it.message, "completed")),
    Became.REFUSED: lambda it: line(("✗ " + it.error, "failed")),
    Became.UNCLEAR: lambda it: line(("▲ unclear: " + it.error, "warning")),
    Became.SKIPPED: lambda it: line(("– " + (it.error or it.message), "warning")),
}


def cost_and_checks(
    sending: Sending,
    job: PlannedJob | None,
    copying: Copying | None = None,
    hints: Sequence[Line] = (),
) -> list[Line]:
    """Return cost, checks, left-out groups, and the reason for the destination."""
    plan, chosen = sending.plan, sending.chosen
    off = len(plan.jobs) - chosen.requests
    cost = (str(chosen.cost), "title")
    lines = [line(cost, f" at most, to {chosen.where}", *_by(plan, chosen.where))]
    if off:
        lines.append(
            line((f"{plural(off, 'job')} {'is' if off == 1 else 'are'} switched off", "dim"))
        )
    lines += packed_lines(plan)
    lines += copied_first(copying) if copying else []
    lines += check_lines(sending.checks, chosen)
    lines += hints
    lines += [line(("▲ ", "warning"), (text, "warning")) for text in plan.warnings]
    lines += left_out(plan)
    if job is not None:
        if "warnings" not in sending.checks:
            which = f"job {chosen.at(job.token) + 1}" if job.bundle is None else "this job"
            lines += [line(("▲ ", "warning"), f"{which}: {text}") for text in job.warnings]
        again, rest = job.reasons[: job.attempt > 1], job.reasons[job.attempt > 1 :]
        lines += [line(("· ", "dim"), text) for text in again]
        lines += [line(("· ", "dim"), (text, "dim")) for text in rest]
    return lines


def packed_lines(plan: Plan) -> list[Line]:
    """Return the effect of packing on the cost, for each destination."""
    several = len({packed.destination for packed in plan.packed}) > 1
    lines = []
    for packed in plan.packed:
        where = f" on {packed.destination}" if several else ""
        lines.append(line(("packed: ", "dim"), *before_and_after(packed), (where, "dim")))
    return lines


def before_and_after(packed: Packed) -> list[str | tuple[str, str]]:
    """Return `41.0 → 12.3 CPU-hours (70 % less)`."""
    parts: list[str | tuple[str, str]] = [
        f"{price(packed.alone)} → ",
        (priced(packed.cost, packed.unit), "title"),
    ]
    if packed.alone > 0 and (less := 1 - packed.cost / packed.alone) >= 0.005:
        parts.append((f" ({100 * less:.0f} % less)", "completed"))
    return parts


def left_out(plan: Plan) -> list[Line]:
    """Return the parts that the plan does not submit, with the reasons."""
    return [
        line(("– ", "dim"), (text if "left out" in text else f"left out: {text}") + _or_here(text))
        for text in plan.skipped
    ]


def _or_here(text: str) -> str:
    """Return a hint at the dashboard's way to trust a file: Status lists it among the needs."""
    return ", or 1, then Enter on it" if "rowtui mapping trust" in text else ""


def _by(plan: Plan, where: str) -> list[tuple[str, str]]:
    known = where == plan.cluster != plan.scheduler
    return [(f" ({plan.scheduler.capitalize()})", "dim")] if known else []


def checks_in_short(sending: Sending) -> Line:
    """Return costs and checks in one line, for low terminals."""
    plan, chosen = sending.plan, sending.chosen
    parts: list[str | tuple[str, str]] = ["up to ", (str(chosen.cost), "title")]
    for packed in plan.packed[:1]:
        parts += [("  packed ", "dim"), *before_and_after(packed)]
    if plan.warnings and "warnings" not in sending.checks:
        parts.append((f"  ▲ {plural(len(plan.warnings), 'warning')}", "warning"))
    if plan.skipped and plan.jobs:
        parts.append(("  – some groups are left out, see @", "dim"))
    return (*line(*parts), *checks_short(sending.checks, chosen))


def chosen_words(sending: Sending) -> str:
    """Return `8 jobs`, `9 jobs in 1 bundle`, for the jobs that are on."""
    return str(sending.chosen.counts)


def all_words(sending: Sending) -> str:
    """Return `8 jobs`, or `7 of 8 jobs` if some are off."""
    chosen = sending.chosen
    off = f"{chosen.requests:,} of " if chosen.off else ""
    return f"{off}{count_jobs(sending.plan.jobs)}"


def may_gain(plan: Plan) -> bool:
    """Whether the plan's jobs could be packed, and are not."""
    return len(plan.jobs) > 1 and not plan.packed
