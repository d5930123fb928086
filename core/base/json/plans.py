"""JSON objects of plans: what would be submitted, copied and sent, and changes of scripts."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from rowtui.core.base.json.directories import CostJson, PlaceJson
from rowtui.core.base.json.jobs import JobJson


class TransferJson(TypedDict):
    """What is copied to a cluster before jobs are sent. `size`: bytes. `back`: is fetched later."""

    cluster: str
    place: str
    files: int
    size: int
    first: list[str]
    unchanged: int
    conflicts: list[str]
    back: list[str]
    notices: list[str]


class RefusedJson(TypedDict):
    """Directories that a plan leaves out.

    `stage`: group, mapping, machine, partition, script, limit or budget. `jobs`: how many they
    would be.
    """

    stage: str
    action: str
    jobs: int
    directories: list[str]
    directory_count: int
    reason: str
    hint: str | None


class BundleJson(TypedDict):
    """One scheduler job that runs several jobs on one node: what all of it asks for.

    `jobs`: tokens, lane after lane. `walltime_seconds`: with the time to start and end.
    """

    token: str | None
    node_type: str | None
    cpus: int
    memory_mb: int | None
    gpus: int
    walltime_seconds: int
    cost: CostJson
    jobs: list[str]


class PackedSummaryJson(TypedDict):
    """What packing did for the jobs of one destination. `cost_alone`: of the jobs one by one.

    `lower_bound`: no packing costs less; in `unit` (a currency, or CPU-hours).
    """

    destination: PlaceJson
    packer: str
    job_count: int
    bundle_count: int
    cost: CostJson
    cost_alone: CostJson
    lower_bound: float
    unit: str


class PlanJson(TypedDict):
    """What would be submitted: `plan`, and `submit --dry-run`. `skipped`: sentences for people."""

    version: int
    id: str
    created: str
    user: str
    cluster: str
    scheduler: str
    jobs: list[JobJson]
    bundles: list[BundleJson]
    refused: list[RefusedJson]
    skipped: list[str]
    cost: CostJson
    packed: list[PackedSummaryJson]
    warnings: list[str]
    transfers: NotRequired[list[TransferJson]]
    expected: NotRequired[ExpectedCostJson]


class ExpectedCostJson(TypedDict):
    """What `plan` expects the jobs to cost, by the median run times of `jobs` measured jobs."""

    cost: CostJson
    jobs: int


class EarlierScriptJson(TypedDict):
    """A script that was submitted. `job`: what the scheduler called its job."""

    job: str
    cluster: str
    partition: str | None


class ScriptLineJson(TypedDict):
    """A line that only one of two scripts has: `-` the earlier one, `+` the new one."""

    sign: str
    text: str


class ScriptChangeJson(TypedDict):
    """Scripts that differ alike from an earlier one. The first four fields: of the first of them.

    `jobs`: how many scheduler jobs. `against` and `lines` are null without an earlier script.
    """

    action: str
    cluster: str
    partition: str | None
    token: str
    jobs: int
    against: EarlierScriptJson | None
    lines: list[ScriptLineJson] | None


class ScriptChangesJson(TypedDict):
    """`plan --diff`. `plan`: its id."""

    version: int
    plan: str
    changes: list[ScriptChangeJson]


class SentJson(TypedDict):
    """What `submit` and `retry` sent. `plan`: its id, null without a plan.

    `errors`: sentences. Jobs that were not sent have the state `never sent` or `refused`.
    """

    version: int
    plan: str | None
    jobs: list[JobJson]
    refused: list[RefusedJson]
    skipped: list[str]
    errors: list[str]
    transfers: list[TransferJson]
