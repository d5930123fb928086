"""What jobs cost: money by the prices of node types, and energy with its emissions. Pure.

The input is `UsageColumns` and the clusters of the jobs; the result is columns, whose sums are part
of `UsageRow`. Amounts in different currencies are never added.

Money charged is the price of a job's share of its node for the time that it took: of CPUs or GPUs,
whichever is more, or whole nodes where jobs get these. Of several node types of the partition, the
cheapest that holds the job counts. Money used is the price of the CPU time alone, for jobs with
GPUs that of the GPU time. Budgets and limits count the most that a job could cost, which is more.

Energy in kWh is time x (CPUs x power of a CPU x share of them that worked + requested memory x
power of memory + GPUs x power of a GPU x share that worked) x PUE, and the emissions are energy x
carbon intensity. A share that was not measured counts as 1. Every attempt is a job of its own, so
that the factor for repeated runs (PSF) is 1. Source: Lannelongue et al. 2021, "Green Algorithms:
Quantifying the Carbon Footprint of Computation", doi:10.1002/advs.202100707.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.base.lazy import np
from rowtui.core.clusters.config.node_types import node_types_for
from rowtui.core.clusters.model import Cluster, NodeType
from rowtui.core.clusters.schedulers.base import is_in_bundle
from rowtui.core.usage.model import UsageKind
from rowtui.core.usage.requested import Requested, of_kind
from rowtui.core.usage.store import UsageColumns

if TYPE_CHECKING:
    from numpy.typing import NDArray


class JobCost(NamedTuple):
    """The cost of one job; None: not known. `carbon_g`: CO2e. `currency`: "" for an unnamed one."""

    charged: float | None
    used: float | None
    currency: str | None
    energy_kwh: float | None
    carbon_g: float | None


class UsageMoney(NamedTuple):
    """Money in one currency, by the prices of node types; amounts of other currencies are apart.

    `charged`: the shares of nodes that `jobs` jobs held, for the time that they took. `used`: the
    CPU or GPU time that worked, of the jobs of which it is known, which were charged `measured`.
    """

    currency: str
    jobs: int
    charged: float
    used: float | None
    measured: float


class JobCosts(NamedTuple):
    """The costs of many jobs: columns of equal length, NaN for what is not known.

    `currency`: index into `currencies`, -1 for jobs without a price.
    """

    charged: NDArray[Any]
    used: NDArray[Any]
    currency: NDArray[Any]
    currencies: tuple[str, ...]
    energy_kwh: NDArray[Any]
    carbon_g: NDArray[Any]

    def of(self, index: int) -> JobCost:
        """Return the cost of one job."""
        found = int(self.currency[index])
        return JobCost(
            _known(self.charged[index]),
            _known(self.used[index]),
            self.currencies[found] if found >= 0 else None,
            _known(self.energy_kwh[index]),
            _known(self.carbon_g[index]),
        )

    def money_of(self, part: NDArray[np.intp]) -> tuple[UsageMoney, ...]:
        """Return what some of the jobs cost, in each currency."""
        found = []
        for index, currency in enumerate(self.currencies):
            its = part[self.currency[part] == index]
            if not len(its):
                continue
            measured = its[~np.isnan(self.used[its])]
            found.append(
                UsageMoney(
                    currency,
                    len(its),
                    math.fsum(self.charged[its]),
                    math.fsum(self.used[measured]) if len(measured) else None,
                    math.fsum(self.charged[measured]),
                )
            )
        return tuple(found)

    def energy_of(self, part: NDArray[np.intp]) -> tuple[int, float | None, float | None]:
        """Return of how many of some jobs the energy is known; their kWh, and grams of CO2e."""
        known = part[~np.isnan(self.energy_kwh[part])]
        if not len(known):
            return 0, None, None
        return len(known), math.fsum(self.energy_kwh[known]), math.fsum(self.carbon_g[known])


def job_costs(columns: UsageColumns, clusters: Mapping[str, Cluster]) -> JobCosts:
    """Return the costs of these jobs. `clusters`: by name; jobs of others have no costs."""
    hours = columns.column("wall").astype(np.float64) / 3600
    bundled = columns.by_line("prefix", lambda line: is_in_bundle(columns.word(line))).astype(bool)

    def rate(field: int, in_bundle: bool) -> NDArray[Any]:
        return of_kind(columns, lambda kind: hourly(kind, clusters, in_bundle=in_bundle)[field])

    cpu, gpu = (columns.column(name).astype(np.float64) / 3600 for name in ("cpu", "gpu"))
    gpus = of_kind(columns, lambda kind: kind.gpus)
    charged = hours * np.where(bundled, rate(0, True), rate(0, False))
    used = np.where(gpus > 0, gpu * rate(2, True), cpu * rate(1, True))
    names = tuple(sorted({it.currency for it in clusters.values()}))

    def currency(kind: UsageKind) -> float:
        cluster = clusters.get(kind.cluster)
        return -1 if cluster is None else names.index(cluster.currency)

    which = of_kind(columns, currency).astype(np.int64)
    which[np.isnan(charged)] = -1
    energy, carbon = _energy(columns, clusters, hours)
    return JobCosts(charged, used, which, names, energy, carbon)


_UNPRICED = (math.nan, math.nan, math.nan)


def hourly(
    kind: UsageKind, clusters: Mapping[str, Cluster], *, in_bundle: bool
) -> tuple[float, float, float]:
    """Return the prices of an hour: of such a job, of one CPU, of one GPU. NaN: not known."""
    cluster = clusters.get(kind.cluster)
    if cluster is None or not cluster.node_types:
        return _UNPRICED
    prices = [
        (not _holds(it, kind), _share(it, kind, in_bundle) * it.price_per_hour, it)
        for it in node_types_for(cluster, kind.partition)
        if it.price_per_hour is not None and (it.gpus or not kind.gpus)
    ]
    if not prices:
        return _UNPRICED
    _, price, chosen = min(prices, key=lambda it: it[:2])
    assert chosen.price_per_hour is not None
    of_gpu = chosen.price_per_hour / chosen.gpus if chosen.gpus else math.nan
    return price, chosen.price_per_hour / chosen.cpus, of_gpu


def _holds(node: NodeType, kind: UsageKind) -> bool:
    """Whether one node of this type is large enough."""
    memory = kind.memory_mb or 0
    fits = node.memory_mb is None or memory <= node.memory_mb
    return fits and kind.cpus <= node.cpus and kind.gpus <= node.gpus


def _share(node: NodeType, kind: UsageKind, in_bundle: bool) -> float:
    """Return how many nodes of this type the job occupies."""
    share = max(kind.cpus / node.cpus, kind.gpus / node.gpus if node.gpus else 0.0)
    return math.ceil(share) if node.whole_node and not in_bundle else share


def _energy(
    columns: UsageColumns, clusters: Mapping[str, Cluster], hours: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return kWh and grams of CO2e."""

    def factor(name: str) -> NDArray[Any]:
        def of(kind: UsageKind) -> float:
            cluster = clusters.get(kind.cluster)
            if cluster is None or cluster.energy is None:
                return math.nan
            return float(getattr(cluster.energy, name))

        return of_kind(columns, of)

    wanted = Requested.of(columns)
    seen = columns.column("memory").astype(np.float64)
    gigabytes = np.where(np.isnan(wanted.memory), seen, wanted.memory) / (1 << 20)
    watts = (
        wanted.cpus * factor("core_watts") * _worked(columns, "cpu", wanted.cpus)
        + gigabytes * factor("memory_watts_per_gb")
        + wanted.gpus * factor("gpu_watts") * _worked(columns, "gpu", wanted.gpus)
    )
    energy = hours * watts * factor("pue") / 1000
    return energy, energy * factor("carbon_g_per_kwh")


def _worked(columns: UsageColumns, name: str, units: NDArray[Any]) -> NDArray[Any]:
    """Return the share of the CPUs or GPUs that worked, 1 where it was not measured."""
    wall, used = (columns.column(it).astype(np.float64) for it in ("wall", name))
    share = np.divide(used, units * wall, out=np.ones(len(wall)), where=units * wall > 0)
    worked: NDArray[Any] = np.clip(np.nan_to_num(share, nan=1.0), 0.0, 1.0)
    return worked


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
