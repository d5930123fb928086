"""What packers are measured on: requests of three distributions, catalogues of node types.

`actions` is a workflow: 40 requirements (some the same) with very unequal counts. `hpcmix` is a
busy cluster: mostly powers of two of cores, log-normal memory per core, 8 % with GPUs. `uniform`
is hostile: every amount is as likely as any other, 20 % with GPUs. A request has 1 to 64 cpus,
1 to 256 GB in whole GB and at most 8 GPUs, and fits on some type of every catalogue here. The same
arguments give the same cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rowtui.core.packing.heuristics.bins import Bin, Item, Vectors
from rowtui.core.packing.model import Demand, InstanceType, PackingProblem, ResourceAmounts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Column = NDArray[np.int64]

DISTRIBUTIONS = ("actions", "hpcmix", "uniform")
GB = 1024  # MB
MOST_CPUS, MOST_GB, MOST_GPUS = 64, 256, 8


class Requests(NamedTuple):
    """One row for each request."""

    cpus: Column
    gb: Column
    gpus: Column


# -- requests ------------------------------------------------------------------------------------


def requests(distribution: str, number: int, seed: int = 1) -> Requests:
    """So many requests of one of the distributions, in the order of their arrival."""
    rng = np.random.default_rng([seed, DISTRIBUTIONS.index(distribution)])
    if distribution == "actions":
        return _actions(rng, number)
    if distribution == "hpcmix":
        return _hpcmix(rng, number)
    return _uniform(rng, number)


def _actions(rng: np.random.Generator, number: int) -> Requests:
    kinds = _hpcmix(np.random.default_rng(_WORKFLOW), 40)
    weights = 1 / np.arange(1, 41)
    chosen = rng.choice(40, size=number, p=weights / weights.sum())
    return Requests(*(column[chosen] for column in kinds))


_WORKFLOW = 1  # such that 35 of the 40 requirements differ


def _hpcmix(rng: np.random.Generator, number: int) -> Requests:
    cpus = 2 ** rng.choice(7, size=number, p=(0.26, 0.16, 0.18, 0.16, 0.12, 0.07, 0.05))
    odd = rng.random(number) < 0.10
    cpus = np.where(odd, rng.integers(1, MOST_CPUS + 1, number), cpus)
    each = rng.lognormal(np.log(3.0), 0.7, number)
    gb = np.clip(np.ceil(cpus * each), 1, MOST_GB).astype(np.int64)
    some = rng.choice((1, 2, 4, 8), size=number, p=(0.6, 0.2, 0.15, 0.05))
    gpus = np.where(rng.random(number) < 0.08, some, 0)
    return Requests(cpus, gb, gpus)


def _uniform(rng: np.random.Generator, number: int) -> Requests:
    cpus = rng.integers(1, MOST_CPUS + 1, number)
    gb = rng.integers(1, MOST_GB + 1, number)
    some = rng.integers(1, MOST_GPUS + 1, number)
    return Requests(cpus, gb, np.where(rng.random(number) < 0.2, some, 0))


def run_times(number: int, seed: int = 1, median: float = 3600, sigma: float = 1.0) -> Column:
    """Seconds for each request: log-normal, in whole minutes, one minute at least."""
    rng = np.random.default_rng([seed, 60])
    minutes = np.ceil(rng.lognormal(np.log(median / 60), sigma, number))
    return minutes.astype(np.int64) * 60


# -- classes -------------------------------------------------------------------------------------


def classes(asked: Requests, seconds: Column | None = None) -> tuple[list[Demand], list[int]]:
    """The different requests, each once, and how many of each there are."""
    key = (asked.cpus << 20) | (asked.gb << 8) | asked.gpus
    if seconds is not None:
        key = (key << 31) | seconds
    _, first, counts = np.unique(key, return_index=True, return_counts=True)
    columns = [column[first].tolist() for column in asked]
    times = [0] * len(first) if seconds is None else seconds[first].tolist()
    demands = [
        Demand(ResourceAmounts(cpus, gb * GB, gpus), time)
        for cpus, gb, gpus, time in zip(*columns, times, strict=True)
    ]
    return demands, counts.tolist()


def problem(
    distribution: str,
    number: int,
    *,
    seed: int = 1,
    timed: bool = False,
    node_types: tuple[InstanceType, ...] = (),
) -> PackingProblem:
    """So many requests in classes, on the 32 node types if no others are given."""
    asked = requests(distribution, number, seed)
    demands, counts = classes(asked, run_times(number, seed) if timed else None)
    return PackingProblem(node_types or cloud(), tuple(demands), tuple(counts))


def vectors(
    distribution: str, number: int, *, seed: int = 1, node_types: tuple[InstanceType, ...] = ()
) -> Vectors:
    """The same without time, as vectors of (cpus, MB of memory, gpus)."""
    demands, counts = classes(requests(distribution, number, seed))
    bins = tuple(Bin(tuple(kind.amounts[:3]), kind.price) for kind in node_types or cloud())
    items = (
        Item(tuple(demand.amounts[:3]), count)
        for demand, count in zip(demands, counts, strict=True)
    )
    return Vectors(bins, tuple(items))


# -- node types ----------------------------------------------------------------------------------

# Name, GB for each cpu, price of a cpu for an hour: about what clouds ask for on demand.
_FAMILIES = (("compute", 2, 0.0425), ("general", 4, 0.048), ("memory", 8, 0.063))
_SIZES = (2, 4, 8, 16, 32, 48, 64, 96)
_GPU_TYPES = (
    # name, cpus, GB, gpus, price
    ("gpu-4", 4, 16, 1, 0.526),
    ("gpu-8", 8, 32, 1, 0.752),
    ("gpu-16", 16, 64, 1, 1.204),
    ("gpu-48", 48, 192, 4, 3.912),
    ("gpu-64", 64, 256, 1, 4.352),
    ("gpu-96", 96, 384, 8, 7.824),
    ("gpu-memory-96", 96, 1152, 8, 32.77),
)


def cloud() -> tuple[InstanceType, ...]:
    """32 node types: three families of 2 to 96 cpus, a general one of 128, seven with GPUs."""
    plain = [
        _node_type(f"{family}-{cpus}", cpus, cpus * each, 0, round(cpus * price, 4))
        for family, each, price in _FAMILIES
        for cpus in _SIZES
    ]
    plain.append(_node_type("general-128", 128, 512, 0, 6.144))
    return (*plain, *(_node_type(*kind) for kind in _GPU_TYPES))


def many_node_types(number: int, seed: int = 1) -> tuple[InstanceType, ...]:
    """The 32, and families of other generations and places at other prices, up to so many.

    Most of them are bettered by some other type, as it is in real catalogues.
    """
    rng = np.random.default_rng([seed, number])
    made = list(cloud())
    names = {kind.name for kind in made}
    while len(made) < number:
        cpus = int(rng.choice((2, 4, 8, 16, 32, 36, 48, 64, 72, 96)))
        gb = max(1, int(cpus * rng.choice((1.9, 2, 3.75, 4, 7.6, 8))))
        gpus = int(rng.choice((1, 4, 8))) if rng.random() < 0.1 else 0
        factor = rng.choice((0.95, 1, 1, 1.1, 1.25, 1.5)) * rng.uniform(0.98, 1.02)
        price = round(float((cpus * 0.034 + gb * 0.0037 + gpus * 0.4) * factor), 4)
        name = f"type-{len(made)}-{cpus}-{gb}-{gpus}"
        if name not in names:
            names.add(name)
            made.append(_node_type(name, cpus, gb, gpus, price))
    return tuple(made[:number])


def _node_type(name: str, cpus: int, gb: int, gpus: int, price: float) -> InstanceType:
    return InstanceType(name, ResourceAmounts(cpus, gb * GB, gpus), price)
