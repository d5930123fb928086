"""What the sample engine says of its clusters themselves, and of what it ran on them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import cached_property

from rowtui.core.base.errors import Problem, RowtuiError
from rowtui.core.clusters.command_log import RanCommand
from rowtui.core.clusters.config.builtin import CLUSTERS
from rowtui.core.clusters.model import NodeType, PartitionLoad
from rowtui.core.clusters.polling.policy import pace_of
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.clusters.schedulers.kind import FoundKind
from rowtui.core.project.context.clusters import ClusterDetail, ClusterNodes, ClustersView
from rowtui.core.project.views.views import ClusterView

FILE = "/home/someone/.config/rowtui/clusters.toml"
KINDS = {
    "anvil": (
        NodeType(
            "standard", "wholenode", 128, 263_168, at_most=1000, price_per_hour=1.28, source=FILE
        ),
        NodeType("half", "shared", 128, 263_168, at_most=750, price_per_hour=1.28, source=FILE),
        NodeType("a100", "gpu", 128, 526_336, 4, at_most=16, price_per_hour=9.6, source=FILE),
    ),
    "local": (NodeType("this-machine", "", 16, 65_536, 1, at_most=1, source="this machine"),),
}
LOADS = {
    "anvil": (
        PartitionLoad("wholenode", 128_000, 2_560, 0, 0, 1000, 20, 4, 812, 344, 90_112, 7_200.0),
        PartitionLoad("shared", 96_000, 31_404, 0, 0, 750, 112, 9, 5_120, 19, 2_048, 30.0),
        PartitionLoad("gpu", 2_048, 0, 64, 0, 16, 0, 1, 60, 41, 4_096, None),
    ),
}


@dataclass
class Details:
    """What a test may change."""

    problems: tuple[Problem, ...] = ()
    latency: dict[str, float] = field(default_factory=lambda: {"anvil": 0.4})
    failures: dict[str, int] = field(default_factory=dict)
    more: tuple[ClusterDetail, ...] = ()
    gate: asyncio.Event | None = None  # waited for before the clusters are known
    error: Exception | None = None


class SampleClusterDetails:
    """The part of the sample engine that `clusters` and `commands_ran` come from."""

    now: float
    calls: list[str]
    remote: dict[str, ClusterView]

    @cached_property
    def details(self) -> Details:
        return Details()

    @cached_property
    def ran(self) -> list[RanCommand]:
        return []

    def run(
        self, where: str, what: str, status: int | None = 0, said: str = "", seconds: float = 0.2
    ) -> None:
        """The engine ran something."""
        number = len(self.ran) + 1
        self.ran.append(RanCommand(number, self.now, where, what, seconds, status, said))

    async def clusters_commands_ran(self, after: int) -> tuple[RanCommand, ...]:
        await asyncio.sleep(0)
        return tuple(self.ran[after:])

    async def clusters_view(self) -> ClustersView:
        self.calls.append("clusters")
        await asyncio.sleep(0)
        if self.details.gate is not None:
            await self.details.gate.wait()
        if self.details.error is not None:
            raise self.details.error
        views = [ClusterView("local", "local", as_of=self.now), *self.remote.values()]
        known = [self._detail(view) for view in views]
        return ClustersView(self.now, (*known, *self.details.more), self.details.problems, self.now)

    def _detail(self, view: ClusterView) -> ClusterDetail:
        built_in = next((one for one in CLUSTERS if one.name == view.name), None)
        far = view.where != "here"
        latency = self.details.latency.get(view.name, 0.0)
        failures = self.details.failures.get(view.name, 1 if view.error else 0)
        running = sum(1 for job in view.jobs if job.state is JobState.RUNNING)
        kinds = KINDS.get(view.name, ())
        return ClusterDetail(
            name=view.name,
            scheduler=view.scheduler,
            where=view.where,
            chosen="" if far else "no other cluster was recognised",
            places=(f"{FILE}:{3 + 14 * len(view.name)}",) if far else ("built-in",),
            transport="asyncssh" if far else "",
            connected=view.connected,
            login=view.login,
            login_command=f"rowtui connect {view.name}" if far else "",
            error=view.error,
            as_of=view.as_of,
            next_at=view.next_at,
            latency=latency,
            failures=failures,
            interval=60.0 if far else 0.0,
            pace=pace_of(latency, failures, 60.0 if far else 0.0),
            running=running,
            waiting=len(view.jobs) - running,
            partitions=built_in.partitions if built_in else (),
            partitions_note="" if built_in else "it was not asked for its partitions yet",
            kinds=kinds,
            kinds_note="" if kinds else "not configured: r asks the cluster",
            currency="USD" if far else "",
            load=LOADS.get(view.name, ()),
        )

    async def clusters_nodes(self, cluster: str) -> ClusterNodes:
        self.calls.append(f"nodes {cluster}")
        await asyncio.sleep(0)
        if self.remote.get(cluster) and not self.remote[cluster].connected:
            raise RowtuiError(f"{cluster} is not connected", "press L to log in")
        kinds = tuple(
            FoundKind(kind, kind.at_most or 1, 2, 0, "a001") for kind in KINDS.get(cluster, ())
        )
        return ClusterNodes(cluster, self.now, kinds, ("partitions without nodes are left out",))
