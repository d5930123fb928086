"""What the dashboard draws, as facts: the engine's answers, and functions of the views."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from rowtui.core.base.text import Cost
from rowtui.core.groups.model import Status
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.project.planning.pack_views import PackChoice
from rowtui.core.project.queue.views import QueueRequest
from rowtui.core.submission.plan.record import JobRecord
from rowtui.tui.views.status.status import action_cells
from rowtui.tui.widgets.cells import Number

from tests.seams.facts import (
    COUNTS,
    PROJECT,
    Fact,
    Subject,
    bundle_facts,
    cost,
    counts_of,
    job_facts,
    node_counts,
    refused_facts,
    request_facts,
    sample_facts,
)

if TYPE_CHECKING:
    from rowtui.core.engine.api.groups import DirectoryRow
    from rowtui.core.engine.api.snapshot import ProjectSnapshot
    from rowtui.core.engine.engine import Engine
    from rowtui.core.submission.plan.model import Plan

PAGE = 1_000  # rows of a page
EXPLAINED = 3  # groups of an action that are explained: each is a decision of its own


async def collect_views(engine: Engine, *, packs: bool = True) -> list[Fact]:
    """The facts of all views, at one generation of the engine. `packs`: ask for a packing too."""
    snapshot = await engine.refresh()
    facts = [*status(snapshot)]
    for action in snapshot.actions:
        facts += [fact async for fact in directories(engine, action.index, action.name)]
        facts += [fact async for fact in groups(engine, action.index, action.name)]
    plan = await engine.plans.make(None, None, None)
    facts += plan_facts(plan, "view 5")
    if packs:
        packed = await engine.plans.pack(None, None, None, PackChoice(budget=0.0))
        facts += pack_facts(packed.plan, "view 4")
    facts += [fact async for fact in jobs(engine)]
    facts += [fact async for fact in network(engine)]
    return facts


def status(snapshot: ProjectSnapshot) -> Iterator[Fact]:
    """View 1, and its table as it is drawn."""
    yield Fact(PROJECT, "count.directories", snapshot.directories, "view 1")
    for action in snapshot.actions:
        subject = ("action", action.name)
        cells = action_cells(action)
        for name in COUNTS:
            yield Fact(subject, f"count.{name}", getattr(action, name), "view 1")
            cell = cells[name]
            shown = cell.value if isinstance(cell, Number) else 0
            yield Fact(subject, f"count.{name}", shown, "view 1, table")
        yield from _cost(subject, action.remaining_cost, "view 1")
        causes = [it for it in snapshot.failures if it.action_index == action.index]
        yield Fact(subject, "count.failed", sum(it.directories for it in causes), "Needs you")


async def directories(engine: Engine, index: int, action: str) -> AsyncIterator[Fact]:
    """The list of an action's directories."""
    source = "view 2, directories"
    statuses: Counter[str] = Counter()
    async for row in _rows(engine, index):
        statuses[row.status.value] += 1
        subject = ("directory", action, row.name)
        yield Fact(subject, "status", row.status.value, source)
        yield Fact(subject, "job", row.job.partition(".")[0].partition("_")[0] or None, source)
    for fact in counts_of(("action", action), statuses, source):
        yield fact


async def _rows(engine: Engine, index: int) -> AsyncIterator[DirectoryRow]:
    start, total = 0, 1
    while start < total:
        page = await engine.groups.directories(index, tuple(Status), start, PAGE)
        total = page.total
        for row in page.rows:
            yield row
        start += len(page.rows) or total


async def groups(engine: Engine, index: int, action: str) -> AsyncIterator[Fact]:
    """View 2: the groups that are eligible, and view 3: where the job of each would go."""
    page = await engine.groups.page(index, (Status.ELIGIBLE,), 0, PAGE)
    yield Fact(("action", action), "count.eligible", page.directories, "view 2")
    for group in page.groups:
        subject = ("request", action, group.first)
        yield Fact(subject, "whole", group.whole, "view 2")
        if group.whole:
            yield Fact(subject, "refused", bool(group.problem), "view 2")
        yield Fact(subject, "count.directories", group.size, "view 2")
        if not group.problem:
            for name in ("processes", "cpus", "gpus", "walltime_seconds"):
                yield Fact(subject, name, getattr(group, name), "view 2")
            for fact in _cost(subject, group.cost, "view 2"):
                yield fact
        if group.number > EXPLAINED:
            continue
        told = await engine.mapping.explain(index, (Status.ELIGIBLE,), group.number - 1)
        if told.decision is not None:
            chosen = told.decision.chosen
            yield Fact(subject, "refused", not chosen.chosen, "view 3")
            if chosen.chosen:
                yield Fact(subject, "cluster", chosen.runner, "view 3")
                yield Fact(subject, "cpus", chosen.amounts.cores, "view 3")


def plan_facts(plan: Plan, source: str) -> Iterator[Fact]:
    """A plan: view 5; view 4 shows one in bundles."""
    yield Fact(PROJECT, "planned.jobs", len(plan.jobs), source)
    if source == "view 5":
        yield from _cost((*PROJECT, "plan"), plan.cost, source)
    for job in plan.jobs:
        data = {
            "cluster": job.destination.cluster,
            "partition": job.destination.partition,
            "attempt": job.attempt,
            "cpus": job.cpus,
            "memory_mb": job.memory_mb,
            "gpus": job.gpus,
            "walltime_seconds": job.walltime_seconds,
            "processes": job.processes,
            "cost": job.cost._asdict(),
        }
        yield from request_facts(job.action, job.directories, data, source)
        subject = ("request", job.action, job.directories[0])
        yield Fact(subject, "count.directories", len(job.directories), source)
        if source == "view 5":
            yield Fact(subject, "whole", True, source)
    for refused in plan.refused:
        names = tuple(chain.from_iterable(refused.jobs))
        yield from refused_facts(refused.stage.value, refused.action, names, source)


def pack_facts(plan: Plan, source: str) -> Iterator[Fact]:
    """View 4: a plan, and its bundles."""
    yield from plan_facts(plan, source)
    bundles: dict[str, list[tuple[str, ...]]] = {}
    found = {}
    for job in plan.jobs:
        if job.bundle is not None:
            bundles.setdefault(job.bundle.token, []).append(job.directories)
            found[job.bundle.token] = job.bundle
    for token, members in bundles.items():
        it = found[token]
        data = {
            "node_type": it.node_type,
            "cpus": it.cpus,
            "memory_mb": it.memory_mb,
            "gpus": it.gpus,
            "walltime_seconds": it.seconds,
        }
        yield from bundle_facts(members, data, source)


async def jobs(engine: Engine) -> AsyncIterator[Fact]:
    """The jobs of view 1, and view 6 with all arrays and bundles unfolded."""
    view = await engine.jobs.view(now=True)
    for state, number in view.states.items():
        yield Fact(PROJECT, f"jobs.{state.value}", number, "view 1, jobs")
    for job in view.jobs:
        for fact in _job(job, "view 1, jobs"):
            yield fact
    page = await engine.queue.page(QueueRequest(folding=False), 0, PAGE)
    total: Counter[str] = Counter()
    for row in page.rows:
        if row.record is None or row.key.folded:
            continue
        total[row.state.value] += 1
        subject = ("job", row.record.token)
        yield Fact(subject, "state", row.state.value, "view 6")
        yield Fact(subject, "id", None if row.label in ("", "–") else row.label, "view 6")
        yield Fact(subject, "cluster", row.cluster, "view 6")
    for name, number in total.items():
        yield Fact(PROJECT, f"jobs.{name}", number, "view 6")


def _job(record: JobRecord, source: str) -> Iterator[Fact]:
    data = {
        "token": record.token,
        "id": record.label if record.job_id else None,
        "cluster": record.cluster,
        "partition": record.partition,
        "action": record.action,
        "state": record.state.value,
        "reason": record.reason,
        "attempt": record.attempt,
        "directories": record.directories if len(record.directories) == record.size else None,
    }
    yield from job_facts(data, source)


async def network(engine: Engine) -> AsyncIterator[Fact]:
    """View 8 and its lists of samples."""
    view = await engine.network.view()
    if view is None:
        return
    for node in view.nodes:
        if node.kind != "node":
            continue
        states = {state.name.lower(): node.counts[state] for state in GraphJobState}
        reasons = [it.reason for it in view.failures if it.node == node.name]
        for fact in node_counts(node.action, states, reasons, "view 8"):
            yield fact
        page = await engine.network.samples(node.name, (), 0, PAGE)
        for sample in page.samples:
            for fact in sample_facts(node.action, sample._asdict(), "view 8, samples"):
                yield fact
    if view.run is not None:
        yield Fact((*PROJECT, "run"), "status", view.run.status.value, "view 8")
        spent = view.run.spent
        hours = {"cpu_hours": spent.cpu_hours, "gpu_hours": spent.gpu_hours}
        for fact in cost((*PROJECT, "run"), hours, "view 8"):
            yield fact


def _cost(subject: Subject, value: Cost, source: str) -> Iterator[Fact]:
    yield from cost(subject, value._asdict(), source)
