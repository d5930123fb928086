"""JSON objects that objects of several nouns contain: costs, places, amounts and failures."""

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


class JobAmountsJson(TypedDict):
    """What a job asks for. `cpus`, `memory_mb`, `gpus`, `processes`: of the whole job.

    `walltime_seconds`: the limit that the scheduler applies. `bundle`: the token of its bundle;
    `depends_on`: tokens. `reasons`: why this destination, and why no other.
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


class FailureJson(TypedDict):
    """How the job of a failed directory ended. `exit_code` is the command's own.

    `job`: the job's id as in `JobReference`.
    """

    exit_code: int | None
    signal: str | None
    reason: str
    job: str | None
    cluster: str
