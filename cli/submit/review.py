"""Reviews of a plan on request: its checks, and the differences of its scripts.

`--check` prints the checks of the dashboard's view Submit. `plan --diff` compares the job scripts
with the last submitted scripts of the same actions. `plan --pool` shows what a pool would open.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.cli.environment import run as run_async
from rowtui.cli.output.output import Output
from rowtui.cli.project.open import planned
from rowtui.core.base.document import TextOrNull
from rowtui.core.base.text import NEARLY, Cost, amount, count, memory, plural, visible
from rowtui.core.project.planning.pack_terms import UNKNOWN_MEMORY
from rowtui.core.project.planning.pool_packing import PoolPacking, PoolSizes
from rowtui.core.project.review.review import review, scheduler_kinds
from rowtui.core.project.review.script_diff import (
    DifferenceLine,
    ScriptDifference,
    difference,
    folded,
    shape,
)
from rowtui.core.project.review.views import (
    NAMES,
    Budget,
    PlanCheck,
    ScriptBefore,
    ScriptsBefore,
    asked_for,
)
from rowtui.core.runs.limits.limits import MOST_ALLOCATIONS
from rowtui.core.submission.bundles.script import bundle_script
from rowtui.core.submission.plan.arrays import units_of
from rowtui.core.submission.plan.charges import charges_of
from rowtui.core.submission.plan.json import load_plan
from rowtui.core.submission.plan.model import GPU_HOURS, Plan, PlannedJob
from rowtui.core.workflow.duration import format_duration

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.workflow.model import Action


_MARKS = {"ok": "✓", "warning": "▲", "failed": "✗", "not offered": "–"}
_STYLES_CHECKS = {"ok": "green", "warning": "yellow", "failed": "red bold", "not offered": "dim"}


def say_checks(project: OpenProject, plan: Plan, out: Output) -> bool:
    """Print a line for each check and each finding; return whether none failed."""
    checks = run_async(_checks(project, plan))
    good = True
    for check in checks:
        over = [budget for budget in check.budgets if _left(plan, budget) < -NEARLY]
        state = "failed" if over else check.state.value
        good = good and state != "failed"
        text = visible(check.text)
        if state == "not offered":
            text = f"not offered: {text}"
        elif check.findings and state != "ok":
            text = ""
        mark = out.style(_MARKS[state], _STYLES_CHECKS[state])
        out.print(f"{mark} {check.name:<11}{text}".rstrip())
        for finding in check.findings:
            out.print(f"    {visible(finding.text)}" + (f" ({finding.fix})" if finding.fix else ""))
        for budget in check.budgets:
            unit = budget.unit
            left = f"{amount(budget.left)} → {amount(_left(plan, budget))} {unit}"
            out.print(f"    {visible(budget.name)} {visible(budget.where)}: {left}")
    return good


async def _checks(project: OpenProject, plan: Plan) -> list[PlanCheck]:
    found = {check.name: check async for check in review(project, plan)}
    return [found[name] for name in NAMES if name in found]


def _left(plan: Plan, budget: Budget) -> float:
    """Return what the plan leaves of the budget."""
    paid = {plan.jobs[at].token for first, last in budget.jobs for at in range(first, last)}
    charges = (it.cost for it in charges_of(plan) if it.jobs[0].token in paid)
    cost = Cost.total(charges)
    return budget.left - (cost.gpu_hours if budget.unit == GPU_HOURS else cost.cpu_hours)


_SIGNS = {"same": " ", "gone": "-", "new": "+"}
_STYLES = {"gone": "red", "new": "green"}


class ScriptChange(NamedTuple):
    """Jobs whose scripts differ equally from an earlier script.

    `before` None: there is no earlier one.

    `jobs`: number of scheduler jobs; `job`: the first one, or the first of the first bundle.
    """

    job: PlannedJob
    jobs: int
    before: ScriptBefore | None
    found: ScriptDifference | None


class EarlierScriptJson(NamedTuple):
    """A script that was submitted. `job`: what the scheduler called its job."""

    job: TextOrNull
    cluster: str
    partition: TextOrNull


class ScriptLineJson(NamedTuple):
    """A line that only one of two scripts has: `-` the earlier one, `+` the new one."""

    sign: str
    text: str


class ScriptChangeJson(NamedTuple):
    """Scripts that differ alike from an earlier one. The first four fields: of the first of them.

    `jobs`: how many scheduler jobs. `against` and `lines` are null without an earlier script.
    """

    action: str
    cluster: str
    partition: TextOrNull
    token: str
    jobs: int
    against: EarlierScriptJson | None
    lines: Sequence[ScriptLineJson] | None


class ScriptChangesJson(NamedTuple):
    """`plan --diff`. `plan`: its id."""

    plan: str
    changes: Sequence[ScriptChangeJson]


def show_changes(args: argparse.Namespace, project: OpenProject, plan: Plan, out: Output) -> int:
    """Print each difference once, with the number of its jobs. Nothing is submitted."""
    changes = list(_changes(project, plan))
    if args.json:
        out.json(ScriptChangesJson(plan.id, [_document(it) for it in changes]))
        return 0
    for sentence in (*plan.skipped, *plan.warnings):
        out.warn(sentence)
    if not changes:
        out.print("Nothing is eligible" + (" that has a place." if plan.skipped else "."))
    for number, change in enumerate(changes):
        if number:
            out.print()
        _print(change, out)
    return 0


def _changes(project: OpenProject, plan: Plan) -> Iterator[ScriptChange]:
    kinds = scheduler_kinds(project, plan)
    known = ScriptsBefore(project.jobs.journal, partial(load_plan, project.root))
    found: dict[Any, ScriptChange] = {}
    for unit in units_of(plan.jobs):
        for jobs in (unit.jobs,) if unit.bundle is not None else ((job,) for job in unit.jobs):
            kind = kinds[jobs[0].destination.cluster]
            script = jobs[0].script if len(jobs) == 1 else bundle_script(jobs, kind)
            asked = asked_for(jobs, kind, plan.id)
            key = (asked._replace(size=0), shape(script))
            if key in found:
                found[key] = found[key]._replace(jobs=found[key].jobs + 1)
                continue
            before = known.find(asked)
            diff = None if before is None else difference(before.script, script)
            found[key] = ScriptChange(jobs[0], 1, before, diff)
    yield from found.values()


def _print(change: ScriptChange, out: Output) -> None:
    job, before = change.job, change.before
    what = f"{visible(job.action)} on {visible(str(job.destination))}"
    jobs = plural(change.jobs, "job")
    if before is None or change.found is None:
        out.print(f"{out.style(what, 'bold')}, {jobs}: no script of this action was submitted yet.")
        return
    than = f"job {visible(before.job)}" if before.job else "the script before"
    if not change.found.changes:
        out.print(f"{out.style(what, 'bold')}, {jobs}: the script is as in {than}.")
        return
    out.print(f"{out.style(what, 'bold')}, {jobs}, against {than}:")

    for part in folded(change.found.parts):
        text = _line(part)
        out.print(out.style(text, _STYLES[part.kind]) if part.kind in _STYLES else text)


def _line(part: DifferenceLine) -> str:
    if part.kind == "fold":
        return f"  ... {part.text or plural(part.lines, 'unchanged line')}"
    return f"{_SIGNS[part.kind]} {visible(part.text.expandtabs(4))}".rstrip()


def _document(change: ScriptChange) -> ScriptChangeJson:
    job, before, found = change.job, change.before, change.found
    there = job.destination
    against = before and EarlierScriptJson(before.job, before.cluster, before.partition)
    lines = found and [
        ScriptLineJson(_SIGNS[part.kind], part.text)
        for part in found.parts
        if part.kind in ("gone", "new")
    ]
    names = (job.action, there.cluster, there.partition, job.token)
    return ScriptChangeJson(*names, change.jobs, against, lines)


def show_instead(
    args: argparse.Namespace,
    project: OpenProject,
    actions: Sequence[Action],
    among: Sequence[int] | None,
    out: Output,
) -> int:
    """Print what `--diff` or `--pool` shows instead of the plan. Nothing is submitted."""
    if args.pool is not None:
        return _show_pool(args, project, actions, among, out)
    return show_changes(args, project, planned(args, project, actions, among, out), out)


class PoolOpeningJson(NamedTuple):
    """Allocations of the same kind that a pool opens. `jobs`: those that begin in them at once."""

    destination: str
    node_type: TextOrNull
    allocations: int
    cpus: int
    memory_mb: int | None
    gpus: int
    seconds: int
    jobs: int


class PoolJson(NamedTuple):
    """`plan --pool`. `waiting`: jobs that wait for room; `alone`: why jobs are sent alone."""

    opens: Sequence[PoolOpeningJson]
    waiting: int
    alone: Sequence[str]


def _show_pool(
    args: argparse.Namespace,
    project: OpenProject,
    actions: Sequence[Action],
    among: Sequence[int] | None,
    out: Output,
) -> int:
    """Print which allocations a pool of a new run would open first. Nothing is submitted."""
    pool = PoolPacking(project, PoolSizes(args.pool or MOST_ALLOCATIONS))
    plan = planned(args, project, actions, among, out, packing=pool)
    alike: dict[tuple[object, ...], PoolOpeningJson] = {}
    for jobs, kind, seconds in pool.openings:
        there, amounts = str(jobs[0].destination), kind.amounts
        memory_mb = None if amounts.memory_mb >= UNKNOWN_MEMORY else amounts.memory_mb
        size = amounts.cpus, memory_mb, amounts.gpus, seconds
        had = alike.get((there, kind.name, seconds))
        number, before = (0, 0) if had is None else (had.allocations, had.jobs)
        alike[there, kind.name, seconds] = PoolOpeningJson(
            there, kind.name, number + 1, *size, before + len(jobs)
        )
    begun = sum(it.jobs for it in alike.values())
    shown = PoolJson(tuple(alike.values()), len(pool.kept_back) - begun, tuple(pool.alone.values()))
    if args.json:
        out.json(shown)
        return 0
    for sentence in (*plan.skipped, *shown.alone):
        out.warn(sentence)
    out.lines(_pool_lines(shown))
    return 0


def _pool_lines(shown: PoolJson) -> Iterator[str]:
    if not shown.opens:
        yield "A pool would open nothing: no job is eligible that it could run."
    for it in shown.opens:
        parts = [plural(it.cpus, "CPU")]
        parts += [] if it.memory_mb is None else [memory(it.memory_mb)]
        parts += [plural(it.gpus, "GPU")] * bool(it.gpus)
        node = f"{visible(it.node_type)} " * bool(it.node_type)
        yield (
            f"opens {count(it.allocations)} x {node}({', '.join(parts)}) on {it.destination} for "
            f"{format_duration(it.seconds)}: {plural(it.jobs, 'job')} at once"
        )
    if shown.waiting:
        yield f"then {plural(shown.waiting, 'job')} as others end"
