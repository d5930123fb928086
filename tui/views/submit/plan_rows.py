"""The list of planned jobs: one row for each, or for each bundle with its requests beneath it.

The input is a plan; the output is rows, their cells, and the text that a bundle shows in place of a
script.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, overload

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import Cost, plural, visible
from rowtui.core.packing.model import ResourceAmounts
from rowtui.core.submission.bundles.script import bundle_script
from rowtui.core.submission.plan.model import InBundle, Plan, PlannedJob
from rowtui.core.submission.scripts.parts import split_script
from rowtui.tui.views.pack.bundle_cells import amounts_words
from rowtui.tui.views.submit.plan import (
    Sending,
    all_words,
    chosen_words,
    outcome_cell,
    plan_cells,
    reason_again,
)
from rowtui.tui.widgets.cells import Cell, FirstThatFits, Number, dimmed, line, plain
from rowtui.tui.widgets.short_text import amount_of_hours, limit


class PlanRow(NamedTuple):
    """A scheduler job of a plan, or a request of a bundle. `number` is that of the scheduler job,
    from 1.

    `jobs` has the one planned job, or all jobs of the `bundle` whose heading the row is.
    """

    number: int
    jobs: tuple[PlannedJob, ...]
    bundle: InBundle | None = None

    @property
    def key(self) -> str:
        """The identity of the row, independent of its position."""
        return self.bundle.token if self.bundle else self.jobs[0].token

    @property
    def job(self) -> PlannedJob | None:
        """The planned job; None for the heading of a bundle."""
        return None if self.bundle else self.jobs[0]


class SingleRows(Sequence[PlanRow]):
    """The rows of a plan without bundles; each row is created on access."""

    def __init__(self, jobs: Sequence[PlannedJob]) -> None:
        self._jobs = jobs

    def __len__(self) -> int:
        return len(self._jobs)

    @overload
    def __getitem__(self, at: int) -> PlanRow: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[PlanRow]: ...
    def __getitem__(self, at: int | slice) -> PlanRow | Sequence[PlanRow]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        job = self._jobs[at]  # The IndexError at the end stops a loop over the rows.
        return PlanRow(at % len(self._jobs) + 1, (job,))


def plan_rows(plan: Plan) -> Sequence[PlanRow]:
    """Return the rows of a plan in its order. The rows of a bundle are consecutive."""
    if all(job.bundle is None for job in plan.jobs):
        return SingleRows(plan.jobs)
    rows: list[PlanRow] = []
    number = 0
    at = 0
    while at < len(plan.jobs):
        job = plan.jobs[at]
        number += 1
        end = at + 1
        if job.bundle is not None:
            while end < len(plan.jobs) and _same(plan.jobs[end].bundle, job.bundle):
                end += 1
            rows.append(PlanRow(number, plan.jobs[at:end], job.bundle))
        rows += [PlanRow(number, (one,)) for one in plan.jobs[at:end]]
        at = end
    return rows


def _same(one: InBundle | None, other: InBundle) -> bool:
    return one is not None and one.token == other.token


def member_of(job: PlannedJob) -> str:
    """Return the number of a request in its bundle."""
    return job.token.rpartition("~")[2]


def row_cells(row: PlanRow, sending: Sending) -> dict[str, Cell]:
    """Return one row of the list."""
    if row.bundle is not None:
        return _bundle_cells(row, row.bundle, sending)
    job = row.jobs[0]
    cells = plan_cells(row.number, job, sending)
    if job.bundle is not None:
        style = "" if sending.chosen.is_on(job.token) else "dim"
        cells["number"] = line((f"{row.number:,}.{member_of(job)}", "dim"))
        cells["action"] = line((f"  {job.action}", style))
    return cells


def _bundle_cells(row: PlanRow, bundle: InBundle, sending: Sending) -> dict[str, Cell]:
    jobs = row.jobs
    cost = Cost()
    for job in jobs:
        cost = cost.plus(job.cost)
    many = f"bundle of {len(jobs):,}"
    on = sum(sending.chosen.is_on(job.token) for job in jobs)
    cells: dict[str, Cell] = {
        "on": line(("☑", "key") if on == len(jobs) else ("◪", "key") if on else ("☐", "dim")),
        "number": line((f"{row.number:,}", "dim")),
        "action": line((many, "title")),
        "size": Number(sum(len(job.directories) for job in jobs), "title"),
        "outcome": outcome_cell(jobs[0], sending),
        "destination": FirstThatFits(
            (
                line(f"{jobs[0].destination} ", (bundle.node_type, "dim")),
                line(str(jobs[0].destination)),
            )
        ),
        "cpus": Number(bundle.cpus, "title"),
        "gpus": Number(bundle.gpus, "title"),
        "walltime": line((limit(bundle.seconds), "title")),
        "cost": line((amount_of_hours(cost.cpu_hours), "title")),
        "gpu_cost": line((amount_of_hours(cost.gpu_hours), "title")),
        "first": line((f"on {bundle.node_type}", "dim")),
        "again": line(""),
        "warnings": line(""),
    }
    return cells if on else dimmed(cells)


def plan_total(sending: Sending) -> dict[str, Cell]:
    """Return the row of sums, over the jobs that are on."""
    chosen, plan = sending.chosen, sending.plan
    on = sending.phase == "review"
    words = (
        f"{chosen.requests:,} of {len(plan.jobs):,}" if chosen.off else f"all {chosen.requests:,}"
    )
    cells: dict[str, Cell] = {
        "action": line(f"{words} on" if on else words),
        "size": Number(chosen.directories),
        "cost": line(amount_of_hours(chosen.cost.cpu_hours)),
        "gpu_cost": line(amount_of_hours(chosen.cost.gpu_hours)),
    }
    if not any(job.bundle for job in plan.jobs):  # The slots of a bundle are used in turn.
        cells["cpus"] = Number(sum(job.cpus for job in plan.jobs if chosen.is_on(job.token)))
    return cells


def row_values(row: PlanRow, sending: Sending) -> dict[str, Any]:
    """Return the row for a filter and a file. Cost is the sum of CPU-hours and GPU-hours; walltime
    is in seconds.

    `directories` is not a column, but lets a filter find the job of a directory by its name.
    """
    jobs, bundle = row.jobs, row.bundle
    job = jobs[0]
    asks = bundle or job
    on = sum(map(sending.chosen.is_on, (one.token for one in jobs)))
    return {
        "on": "on" if on == len(jobs) else "some on" if on else "off",
        "number": row.number,
        "action": job.action if bundle is None else f"bundle of {len(jobs):,}",
        "size": sum(len(one.directories) for one in jobs),
        "outcome": _outcome_words(job, sending),
        "destination": str(job.destination),
        "cpus": asks.cpus,
        "gpus": asks.gpus,
        "walltime": job.walltime_seconds if bundle is None else bundle.seconds,
        "cost": sum(one.cost.cpu_hours + one.cost.gpu_hours for one in jobs),
        "first": job.directories[0] if bundle is None and job.directories else "",
        "directories": " ".join(job.directories) if bundle is None else "",
        "again": reason_again(job) if bundle is None else "",
        "warnings": "; ".join(job.warnings) if bundle is None else "",
    }


def _outcome_words(job: PlannedJob, sending: Sending) -> str:
    """Return the outcome of a job, beginning with a word: `accepted job 4717`, `waiting`."""
    outcome = sending.outcomes.get(job.token)
    if outcome is None:
        words = plain(outcome_cell(job, sending))
        return "" if sending.phase == "review" else words[2:]
    found = outcome.error or outcome.message
    return f"{outcome.became.value} {found}"


def shown_words(sending: Sending, tally: str) -> str:
    """Return how many jobs of a plan are submitted if rows are hidden. `tally`: `3 of 10,000`."""
    if sending.phase != "review":
        return f"{tally} shown · {all_words(sending)}"
    many = sending.chosen.requests
    if not many:
        return f"{tally} shown · no job is ticked"
    are = "is" if many == 1 else "are"
    return f"{tally} shown · all that {are} ticked {are} sent: {chosen_words(sending)}"


def bundle_text(row: PlanRow, scheduler: str) -> tuple[str, ...]:
    """Return a bundle as comments: the requests of each lane with their times; then its real
    script.

    `scheduler` (slurm, local, bash) is the scheduler for which the script is written.
    """
    return (*_who_runs(row), "", *_script(row.jobs, scheduler))


def _script(jobs: Sequence[PlannedJob], scheduler: str) -> list[str]:
    # The script was written by another version.
    if any(split_script(job.script) is None for job in jobs):
        return []
    try:
        return bundle_script(jobs, scheduler).splitlines()
    except RowtuiError as error:
        return [f"# {error}"]


def _who_runs(row: PlanRow) -> list[str]:
    bundle = row.bundle
    assert bundle is not None
    asks = ResourceAmounts(bundle.cpus, bundle.memory_mb or 0, bundle.gpus)
    lanes = len({job.bundle.lane for job in row.jobs if job.bundle})
    whole = ", the whole node" if bundle.whole_node else ""
    lines = [
        f"# One scheduler job on a node of {visible(bundle.node_type)}:",
        f"# {amounts_words(asks)}{whole}, {limit(bundle.seconds)} at most.",
        f"# {plural(len(row.jobs), 'request')} in {plural(lanes, 'slot')}: slots side by side, "
        "in each one after another.",
        "# What each of them would run alone stands at its row below.",
        "",
    ]
    passed: dict[int, int] = {}
    for number, job in enumerate(row.jobs):
        assert job.bundle is not None
        at = passed.get(job.bundle.lane, 0)
        passed[job.bundle.lane] = at + job.bundle.own_seconds
        when = f"from {limit(at)} on" if at else "at once"
        own = ResourceAmounts(job.cpus, job.memory_mb or 0, job.gpus)
        lines.append(
            f"# .{number:<4} slot {job.bundle.lane + 1:<3} {when:<17} "
            f"{visible(job.name)}: {amounts_words(own)}, {limit(job.bundle.own_seconds)}"
        )
    return lines


def row_heading(row: PlanRow, rows: Sequence[PlanRow]) -> str:
    """Return the title of the frame around the script."""
    if row.bundle is not None:
        return f"Bundle {row.number:,} · {plural(len(row.jobs), 'request')}"
    job = row.jobs[0]
    if job.bundle is not None:
        return f"Script of request {member_of(job)} of bundle {row.number:,} · {job.name}"
    last = rows[-1].number
    of = f" {row.number:,} of {last:,}" if last > 1 else ""
    return f"Script{of} · {job.name}"
