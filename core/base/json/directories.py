"""JSON objects of directories and groups, and the costs and amounts that other objects contain."""

from __future__ import annotations

from typing import Any, TypedDict

# Costs, places and amounts: JSON objects that objects of several nouns contain.


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


class AmountsJson(TypedDict):
    """What a job has or asks for, as far as that is stated."""

    cpus: float | None
    memory_mb: int | None
    gpus: float | None


class FailureJson(TypedDict):
    """How the job of a failed directory ended. `exit_code` is the command's own.

    `job`: the job's id as in `JobReferenceJson`.
    """

    exit_code: int | None
    signal: str | None
    reason: str
    job: str | None
    cluster: str


class DirectoryJson(TypedDict):
    """A directory and its status for an action.

    `status`: completed, submitted, eligible, waiting; failed, not reached or cancelled for an
    eligible directory whose last job ended so, with the `reason`. `job`: the job with which the
    directory is submitted. `value`: its JSON value.
    """

    name: str
    action: str
    status: str | None
    failed: FailureJson | None
    reason: str | None
    job: JobReferenceJson | None
    value: Any


class GroupJson(TypedDict):
    """Directories that one job processes, in order, and what the action asks for that job.

    `number`: from 1. `status`: that of all its directories, null if they differ. Amounts are those
    of workflow.toml: the mapper may change them. `memory_mb`: null where the action states none.
    """

    action: str
    number: int
    directories: list[DirectoryJson]
    directory_count: int
    status: str | None
    processes: int
    cpus: int
    memory_mb: int | None
    gpus: int
    walltime_seconds: int
    cost: CostJson


class ActionStatusJson(TypedDict):
    """Directories of an action by status. `completed`, `submitted`, `eligible` and `waiting` add up
    to all of them; `failed`, `not_reached` and `cancelled` are parts of `eligible`.

    `problem`: why they cannot be counted.
    """

    name: str
    index: int
    completed: int
    submitted: int
    eligible: int
    waiting: int
    failed: int
    not_reached: int
    cancelled: int
    remaining_cost: CostJson
    problem: str | None


class WaitingJobsJson(TypedDict):
    """How many jobs of a network wait for inputs: most of them have no directory yet."""

    waiting: int


class StatusJson(TypedDict):
    """`show status`. `bad`: directories that are set aside, by name, and why.

    `network`: of a project with network.toml.
    """

    version: int
    project: str
    directories: int
    bad: dict[str, str]
    actions: list[ActionStatusJson]
    network: WaitingJobsJson | None


class DirectoryNamesJson(TypedDict):
    """`show directories` without an action: names. `bad`: as in `StatusJson`."""

    version: int
    directories: list[str]
    bad: dict[str, str]


class GroupsJson(TypedDict):
    """`show directories --action`: the groups of an action, with their directories."""

    version: int
    action: str
    groups: list[GroupJson]


class InitJson(TypedDict):
    """`init`: the folder of the new project."""

    version: int
    root: str


class CleanJson(TypedDict):
    """`clean`: the kinds of removed records. `kept_jobs`: jobs whose directories stay submitted."""

    version: int
    removed: list[str]
    kept_jobs: int


class ScanJson(TypedDict):
    """`scan`: directories looked at; found complete and lost ones, by action."""

    version: int
    scanned: int
    found: dict[str, int]
    lost: dict[str, int]
