"""A network in memory, for the sample project: a study whose run one can start, stop and mend.

Twelve states, of which one replica's job fails. `SampleNetwork` is a part of `SampleEngine`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import Cost
from rowtui.core.network.definition.spec import JSON
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.network.samples.model import Dimension
from rowtui.core.project.views.views import AS_IS, ListRequest
from rowtui.core.runs.limits.limits import RunLimits, Spent
from rowtui.core.runs.model import RunStatus
from rowtui.core.runs.views import (
    Estimate,
    FailureView,
    LinkView,
    NetworkView,
    NodeView,
    PathStep,
    RedoView,
    RunView,
    SamplesPage,
    SampleView,
    StaleResult,
    WaitPath,
    WaitStep,
)
from rowtui.core.submission.plan.model import Plan

from tests.tui.sample import SampleEngine
from tests.tui.sample_lists import arranged

T, P, R = Dimension("temperature", 6), Dimension("pressure", 2), Dimension("replica", 5)
FOLD = Dimension("fold", None)
W, RD, A, C, F, X = (
    GraphJobState.WAITING, GraphJobState.ELIGIBLE, GraphJobState.SUBMITTED, GraphJobState.COMPLETED,
    GraphJobState.FAILED, GraphJobState.BLOCKED,
)  # fmt: skip


def counts(**numbers: int) -> tuple[int, ...]:
    """How many jobs are in each state; 0 of those not named."""
    return tuple(numbers.get(state.name.lower(), 0) for state in GraphJobState)


NODES = (
    NodeView("state", "source", "", "state", (T, P, R), 60, 0, (), 0),
    NodeView("model", "source", "", "model", (), 1, 0, (), 0),
    NodeView(
        "simulate", "node", "sample", "state", (T, P, R), 60, 0,
        counts(completed=31, submitted=8, eligible=20, failed=1), 1, critical=1500.0,
    ),
    NodeView(
        "average", "node", "average", "average", (T, P), 12, 0,
        counts(completed=4, eligible=1, waiting=6, blocked=1), 2, critical=40.0,
    ),
    NodeView(
        "folds", "node", "folds", "average", (T, P), 12, 8,
        counts(completed=3, submitted=1, waiting=7, blocked=1), 3,
    ),
    NodeView(
        "train", "node", "analyze", "train", (T, P, FOLD), 15, 8,
        counts(completed=9, submitted=2, eligible=3, failed=1), 4,
    ),
    NodeView(
        "fit", "node", "fit", "fit", (P,), 2, 0, counts(waiting=1, blocked=1), 3, critical=90.0
    ),
    NodeView("check", "node", "check", "state", (T, P, R), 60, 0, (), 2, needed=False),
    NodeView("plot", "node", "plot", "plot", (), 1, 0, counts(blocked=1), 5, critical=5.0),
    NodeView("plot", "sink", "", "plot", (), 1, 0, (), 6),
    NodeView("scores", "sink", "", "train", (), 15, 0, (), 5),
)  # fmt: skip
LINKS = (
    LinkView("state", "simulate", "state", "", (), "", ""),
    LinkView("model", "simulate", "model", "", (), "", ""),
    LinkView("simulate", "average", "simulate", "energy.json", ("replica",), "", "at least 4"),
    LinkView("average", "folds", "average", "", (), "", ""),
    LinkView("folds", "train", "folds", "folds.json", (), "fold", ""),
    LinkView("model", "train", "model", "", (), "", ""),
    LinkView("average", "fit", "means", "mean.json", ("temperature",), "", ""),
    LinkView("simulate", "check", "simulate", "", (), "", ""),
    LinkView("fit", "plot", "fit", "slope.json", ("pressure",), "", ""),
    LinkView("train", "plot", "train", "score.json", ("temperature", "pressure", "fold"), "",
             "at least 80%"),
)  # fmt: skip
FAILURES = (
    FailureView("simulate", "state,temperature=1.4,pressure=0.5,replica=3",
                "exit code 137: out of memory", 4, 17),
    FailureView("train", "train,temperature=1.0,pressure=1.0,fold=2", "exit code 1", 1, 101),
)  # fmt: skip
CHAIN = (
    (
        NODES[0],
        NODES[2]._replace(counts=counts(completed=38, submitted=10, eligible=12)),
        NODES[3]._replace(counts=counts(completed=6, submitted=1, waiting=5)),
        NODES[6]._replace(counts=counts(waiting=2)),
        NODES[8]._replace(counts=counts(waiting=1), level=4),
        NODES[9]._replace(level=5),
    ),
    (LINKS[0], LINKS[2]._replace(require=""), LINKS[6], LINKS[8]),
)
"""Nodes and links of a study without branches, on its way."""

LIMITS = RunLimits(cpu_hours=120.0, jobs_in_queue=10, destinations=("local",), failures_in_a_row=3)


@dataclass
class SampleNetwork:
    """What the engine of a project with this network says; `now` is its owner's clock."""

    now: float
    status: RunStatus | None = RunStatus.PAUSED
    why: str = "12 more jobs would bring it to 132 CPU-hours, of 120 confirmed"
    here: bool = False
    holder: str = ""
    limits: RunLimits = LIMITS
    nodes: tuple[NodeView, ...] = NODES
    links: tuple[LinkView, ...] = LINKS
    failures: tuple[FailureView, ...] = FAILURES
    changed: bool = False
    problems: tuple[str, ...] = ()
    generation: int = 1
    error: Exception | None = None
    refuses: str = ""  # why nothing can be done
    gate: Callable[[], Awaitable[None]] | None = None
    plan: Plan | None = None
    blocked: tuple[str, ...] = ()
    calls: list[str] = field(default_factory=list)
    name: str = "study"
    stale: bool = True

    def view(self, *, frozen: bool) -> NetworkView:
        """The network as a screen sees it."""
        if self.error is not None:
            raise self.error
        run = None
        if self.status is not None and frozen:
            why = self.why if self.status is RunStatus.PAUSED else ""
            spent = Spent(96.4, 0.0, {}, 8 if self.here else 0, 2, 1)
            run = RunView(
                "2026-11-21T0412", self.status, self.now - 3000, self.holder, self.here, why,
                self.limits, spent, "critical-path", "jobs",
            )  # fmt: skip
        steps = (
            PathStep("simulate", 1500.0),
            PathStep("average", 40.0),
            PathStep("fit", 90.0),
            PathStep("plot", 5.0),
        )
        guess = Estimate(1635.0, self.now + 1635, steps, "measured", 31, growing=True)
        return NetworkView(
            self.generation, self.now, self.name, self.nodes, self.links, self.failures, run,
            self.problems, changed=self.changed, estimate=guess if run else None,
            left=Cost(35.6, 0.0), clusters=("local", "slow"),
        )  # fmt: skip

    def samples(
        self,
        node: str,
        states: Sequence[GraphJobState],
        start: int,
        length: int,
        asked: ListRequest = AS_IS,
        find: str = "",
    ) -> SamplesPage:
        """Samples whose states are as the node's counts say, failures first."""
        one = next(one for one in self.nodes if one.name == node and one.kind != "sink")
        order = (F, A, RD, X, W, GraphJobState.SKIPPED, C)
        every = [
            state.name.lower()
            for state in (order if one.counts else ())
            for _ in range(one.counts[state])
            if not states or state in states
        ] or ([""] * one.samples if not one.counts else [])
        if asked == AS_IS:
            shown = range(len(every))[start : start + length]
            found = [self._sample(one, at, every[at]) for at in shown]
            at = next((at for at in range(len(every)) if find and find == self._key(one, at)), None)
            return SamplesPage(node, len(every), start, tuple(found), len(every), at)
        names = {dimension.name: f"={dimension.name}" for dimension in one.dimensions}
        own = {"state": "state", "why": "why", "directory": "directory"}
        fields = (names | own, (*names.values(), *own))
        samples = [self._sample(one, at, state) for at, state in enumerate(every)]
        fit = arranged(samples, sample_row, lambda _: None, asked, fields)
        keys = [str(it.job) if it.job >= 0 else it.directory for it in fit]
        place = keys.index(find) if find in keys else None
        page = tuple(fit[start : start + length])
        return SamplesPage(node, len(fit), start, page, len(every), place)

    def _key(self, node: NodeView, at: int) -> str:
        return str(1000 + at) if node.counts else ""

    def _sample(self, one: NodeView, at: int, state: str) -> SampleView:
        values, rest = dict[str, JSON](), at
        for dimension in reversed(one.dimensions):
            rest, place = divmod(rest, dimension.size or 2)
            small = dimension.name in ("replica", "fold")
            values[dimension.name] = place if small else round(1.0 + 0.2 * place, 1)
        values = {dimension.name: values[dimension.name] for dimension in one.dimensions}
        parts = ",".join(f"{name}={value}" for name, value in values.items())
        reason, job = "", 1000 + at if one.counts else -1
        for failure in self.failures:
            if failure.node == one.name and state == "failed" and at == 0:
                reason, job = failure.reason, failure.job
        if state == "blocked":
            reason = "what it needs failed"
        directory = f"{one.home},{parts}" if parts else one.home
        return SampleView(directory, values, state, reason, job)

    def waits(self, job: int) -> WaitPath:
        """Of every job the same: it waits for one that waits for one that runs."""
        here = WaitStep(job, "average", "average,temperature=1.0,pressure=1.0", "waiting", "", 5)
        next_ = WaitStep(
            1001, "simulate", "state,temperature=1.0,pressure=1.0,replica=1", "submitted"
        )
        return WaitPath((here, next_), (("simulate", "submitted", 2), ("simulate", "eligible", 3)))

    def redo_view(self, jobs: Sequence[int]) -> RedoView:
        """Two stale results, and what was made from them."""
        if jobs:
            return RedoView(len(jobs), 3 * len(jobs), (("simulate", len(jobs)), ("fit", 2)))
        stale = tuple(
            StaleResult("average", f"average,temperature=1.0,pressure={p}", 1, 2) for p in (1, 2)
        )
        return RedoView(2, 5, (("average", 2), ("train", 3)), stale if self.stale else ())

    async def redo(self, jobs: Sequence[int], expected: int) -> tuple[int, tuple[str, ...]]:
        """They run again."""
        await self.act(f"redo {sorted(jobs)} {expected}")
        return expected, ("'rowtui network restore 3' brings back what they had made",)

    async def act(self, call: str) -> None:
        """Note what was asked for; refuse, or wait, if a test wants that."""
        self.calls.append(call)
        await asyncio.sleep(0)
        if self.gate is not None:
            await self.gate()
        if self.refuses:
            raise RowtuiError(self.refuses, "try again later")
        self.generation += 1

    async def start(self, limits: RunLimits, *, anew: bool) -> None:
        """It runs."""
        await self.act("start anew" if anew else "start")
        self.limits, self.status, self.here, self.holder = limits, RunStatus.RUNNING, True, "here"

    async def stop(self) -> None:
        """It has stopped."""
        await self.act("stop")
        self.status, self.here, self.holder = RunStatus.STOPPED, False, ""

    async def retry(self, jobs: Sequence[int]) -> None:
        """The jobs are ready again."""
        await self.act(f"retry {sorted(jobs)}")
        self.failures = tuple(one for one in self.failures if one.job not in jobs)
        names = {one.node for one in self.failures}
        self.nodes = tuple(
            node._replace(counts=_moved(node.counts, F, RD))
            if node.counts and node.name not in names
            else node
            for node in self.nodes
        )

    async def cancel(self, jobs: Sequence[int]) -> None:
        """The jobs are cancelled."""
        await self.act(f"cancel {sorted(jobs)}")


def sample_row(sample: SampleView) -> dict[str, Any]:
    """What a filter sees of a sample."""
    row = {"state": sample.state, "why": sample.reason, "directory": sample.directory}
    return row | {f"={name}": value for name, value in sample.values.items()}


def _moved(numbers: tuple[int, ...], old: GraphJobState, new: GraphJobState) -> tuple[int, ...]:
    changed = list(numbers)
    changed[new] += changed[old]
    changed[old] = 0
    return tuple(changed)


def big(samples: int = 1_000_000) -> tuple[NodeView, ...]:
    """The same network with that many samples of its first node."""
    many = counts(completed=samples // 2, submitted=1000, waiting=samples - samples // 2 - 1000)
    return tuple(
        replace_node(node, samples, many) if node.name == "simulate" else node for node in NODES
    )


def replace_node(node: NodeView, samples: int, numbers: tuple[int, ...]) -> NodeView:
    """The node with other numbers."""
    return node._replace(samples=samples, counts=numbers)


def with_network(engine: SampleEngine | None = None, **options: Any) -> SampleEngine:
    """The sample project with this network."""
    engine = engine or SampleEngine()
    engine.graph = SampleNetwork(engine.now, **options)
    return engine
