"""Costs, places and amounts: JSON objects that objects of several nouns contain."""

from __future__ import annotations

from typing import TypedDict


class CostJson(TypedDict):
    """What jobs cost at most. `price` is in `currency`; null where no prices are known."""

    cpu_hours: float
    gpu_hours: float
    price: float | None
    currency: str | None


class PlaceJson(TypedDict):
    """A cluster, and a partition of it; null for a scheduler without partitions."""

    cluster: str
    partition: str | None


class JobReferenceJson(TypedDict):
    """A job by name. `id`: `12`, a task `12_3`, a request of a bundle `12.3`; null: no id yet.

    `token`: rowtui's own name of the job; null for a job that Row submitted.
    """

    cluster: str
    id: str | None
    token: str | None


class JobAmountsJson(TypedDict):
    """What a job asks for. `cpus`, `memory_mb`, `gpus`, `processes`: of the whole job.

    `walltime_seconds`: its limit. `bundle`: the token of its bundle; `depends_on`: tokens.
    `reasons`: why this destination, and why no other.
    """

    processes: int | None
    cpus: int | None
    memory_mb: int | None
    gpus: int | None
    walltime_seconds: int | None
    cost: CostJson | None
    bundle: str | None
    depends_on: list[str]
    warnings: list[str]
    reasons: list[str]


class AmountsJson(TypedDict):
    """What a job has or asks for, as far as that is stated."""

    cpus: float | None
    memory_mb: int | None
    gpus: float | None
