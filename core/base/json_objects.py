"""What the command line prints with `--json`: every object, each field with one name and one unit.

Units, unless a docstring states others: memory in MB (2^20 bytes), durations in seconds
(`..._seconds`), times as ISO 8601 in UTC (`..._at`), costs in hours of one CPU or one GPU. A field
without a value is null; no field is left out unless it is `NotRequired`. `docs/make_schema.py`
writes these types as JSON Schemas (docs/schema/); `core/engine/api/json_views.py` makes the values.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

VERSION = 1


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


class JobJson(JobAmountsJson):
    """One job: what it asks for and, once it was sent, how it stands.

    `id`: as in `JobReferenceJson`. `state`: waiting (for `depends_on`), eligible, reserved, held,
    pending, running, suspended, completing, completed, failed, timeout, out of memory, node failed,
    lost, cancelled, refused, never sent, or unknown. `reason`: why it waits or how it ended.
    `exit_code`: the command's own; null where a signal ended the command, or none is known.
    `signal`: `KILL`, `TERM`, .... `script`: null unless scripts are asked for.
    """

    token: str
    id: str | None
    cluster: str
    partition: str | None
    action: str
    directories: list[str]
    directory_count: int
    name: str
    attempt: int
    state: str
    reason: str | None
    exit_code: int | None
    signal: str | None
    submitted_at: str | None
    started_at: str | None
    ended_at: str | None
    elapsed_seconds: float | None
    log_path: str | None
    nodes: str | None
    user: str | None
    plan: str | None
    script: str | None


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


class JobAnswerJson(TypedDict):
    """What became of `cancel`, `hold` or `release` for one job. `error`: null if it was done."""

    id: str
    cluster: str
    error: str | None


class JobsJson(TypedDict):
    """`show jobs`: newest first. `error`: why states may be out of date."""

    version: int
    error: str | None
    jobs: list[JobJson]


class LogJson(TypedDict):
    """`logs`: the job and the text of its log, or the last lines of it. `path`: of the log."""

    version: int
    job: JobJson
    path: str
    lines: list[str]


class QueueRowJson(JobAmountsJson):
    """One scheduler job. The fields of `JobJson`, null where only the scheduler knows the job.

    `ours`: of this project. `requests`: the jobs in it, of a bundle. `explanation`, `hint`: what
    the state and the reason mean. `needs_person`: it does not start unless a person acts.
    `starts_at`: an estimate of the scheduler.
    """

    token: str | None
    id: str | None
    cluster: str
    partition: str | None
    action: str | None
    directories: list[str]
    directory_count: int
    name: str
    attempt: int | None
    state: str
    reason: str | None
    exit_code: int | None
    signal: str | None
    submitted_at: str | None
    started_at: str | None
    ended_at: str | None
    elapsed_seconds: float | None
    log_path: str | None
    nodes: str | None
    user: str | None
    plan: str | None
    script: str | None
    ours: bool
    requests: list[JobJson]
    explanation: str
    hint: str | None
    needs_person: bool
    starts_at: str | None


class ClusterQueueJson(TypedDict):
    """The jobs of one cluster. `where`: `here` or `me@host`. `connected`: null without a login.

    `login`: why a person must log in. `error`: why the last poll failed; `as_of`: of what is known,
    `age_seconds` old; `next_at`: of the next poll.
    """

    name: str
    where: str
    scheduler: str
    connected: bool | None
    login: str | None
    error: str | None
    as_of: str | None
    age_seconds: float | None
    next_at: str | None
    jobs: list[QueueRowJson]


class QueueJson(TypedDict):
    """`queue`: all clusters."""

    version: int
    clusters: list[ClusterQueueJson]


class ActionStatusJson(TypedDict):
    """Directories of an action by status. `eligible` includes `failed`, `not_reached`, `cancelled`.

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


class ScanJson(TypedDict):
    """`scan`: directories looked at; found complete and lost ones, by action."""

    version: int
    scanned: int
    found: dict[str, int]
    lost: dict[str, int]


# -- mapping ---------------------------------------------------------------------------------------


class OriginJson(TypedDict):
    """Where something is written. `line` and `column` from 1; 0: the whole file."""

    kind: str
    id: str
    rule: str
    file: str
    line: int
    column: int


class ProblemJson(TypedDict):
    """What is wrong with a file, and where; `line` and `column` as in `OriginJson`."""

    file: str
    line: int
    column: int
    severity: str
    message: str
    hint: str | None


class AmountsJson(TypedDict):
    """What a job has or asks for, as far as that is stated."""

    cpus: float | None
    memory_mb: int | None
    gpus: float | None


class PersonJson(TypedDict):
    """The user for whom a job is mapped. `roles`: Unix groups."""

    name: str
    email: str
    roles: list[str]


class AddedTagJson(TypedDict):
    """A tag and how strongly it is meant: require, prefer, accept or reject."""

    tag: str
    strength: str


class WhatIfJson(AmountsJson):
    """Changes to a job that the user asks about; null: unchanged."""

    walltime_seconds: int | None
    drop_tags: list[str]
    add_tags: list[AddedTagJson]


class RequestJson(TypedDict):
    """What the mapper is asked about one job. `declared`: what the action asks for.

    `input_size`: of its declared inputs, GB (2^30 bytes).
    """

    action: str
    user: PersonJson | None
    declared: AmountsJson
    input_size: float
    attempt: int
    cluster: str
    partition: str | None
    walltime_seconds: int | None
    what_if: WhatIfJson | None


class PlacementJson(TypedDict):
    """Where the mapper sends a job and with what, or why nowhere.

    `state`: placed, refused or waiting; `outcome`: the mapper's own word. `destination_id`: the id
    of the destination in the mapping files. `hint`: what the user can do. `cause`: the class of an
    exception in an expression. `params`, `env`, `resubmit`, `handler_tags`: as in the files.
    """

    state: Literal["placed", "refused", "waiting"]
    outcome: str
    reason: str
    destination_id: str | None
    name: str | None
    runner: str | None
    cpus: float | None
    memory_mb: int | None
    gpus: float | None
    env: list[Any]
    params: dict[str, Any]
    resubmit: dict[str, Any]
    handler_tags: list[Any]
    message: str | None
    cause: str | None
    origin: OriginJson | None
    hint: str | None
    notices: list[str]


class MatchedJson(TypedDict):
    """An entity of the mapping files that took part; `pattern` matched `subject`."""

    pattern: str
    subject: str
    origin: OriginJson


class RuleJson(TypedDict):
    """A rule that was evaluated."""

    condition: str
    matched: bool
    effect: str
    origin: OriginJson


class TagJson(TypedDict):
    """A tag of the job."""

    tag: str
    strength: str
    origin: OriginJson


class ReplacedJson(TypedDict):
    """A value that another one won over."""

    written: Any
    origin: OriginJson


class ValueJson(TypedDict):
    """One value of the job. `field` and `value` are as in mapping files: `mem` is in GB."""

    field: str
    value: Any
    written: Any
    origin: OriginJson
    replaced: list[ReplacedJson]


class CheckJson(TypedDict):
    """One constraint of a destination: asked against offered."""

    constraint: str
    asked: str
    offered: str
    passed: bool
    hint: str | None
    origin: OriginJson | None


class PointsJson(TypedDict):
    """What a tag adds to the score of a destination."""

    tag: str
    points: int


class WouldTakeJson(TypedDict):
    """The smallest change with which a destination takes the job."""

    words: str
    would_be_first: bool
    what_if: WhatIfJson


class OfferJson(TypedDict):
    """A destination and how busy it is. `destination_id`: its id in the mapping files."""

    destination_id: str
    cluster: str
    partition: str | None
    origin: OriginJson
    expected_wait_seconds: float | None
    free_cpus: int | None
    pending_jobs: int | None


class CandidateJson(OfferJson):
    """A destination that takes the job. `rank`: null where a rank function left it out."""

    rank: int | None
    score: int
    by_tag: list[PointsJson]
    chosen: bool
    passed_over: str | None
    checks: list[CheckJson]


class RefusalJson(OfferJson):
    """A destination that does not take the job."""

    failed: list[CheckJson]
    checks: list[CheckJson]
    changes: list[WouldTakeJson]


class DecisionJson(PlacementJson):
    """The mapper's answer for one job, with all that led to it.

    `destination`: null without a place. `job`: its amounts before a destination changed them.
    """

    request: RequestJson
    destination: PlaceJson | None
    walltime_seconds: int | None
    matched: list[MatchedJson]
    rules: list[RuleJson]
    job: AmountsJson
    tags: list[TagJson]
    values: list[ValueJson]
    candidates: list[CandidateJson]
    refusals: list[RefusalJson]
    ranked_by: str
    reasons: list[str]


class GroupsDecisionJson(DecisionJson):
    """A decision, and the groups that it holds for: `groups` are ranges of numbers from 1.

    `directory_count` and `first_directory` are of the first of these groups.
    """

    groups: list[list[int]]
    directory_count: int
    first_directory: str


class MappingFileJson(TypedDict):
    """A mapping file, whether its code may run, and why."""

    name: str
    trusted: bool
    because: str


class NotThereJson(TypedDict):
    """`explain` of directories that do not exist yet: by name, what their jobs wait for."""

    version: int
    action: str
    not_there: dict[str, str]


class WorkflowChangeJson(TypedDict):
    """`explain --write` and `--undo`: what changes in workflow.toml. `diff`: lines.

    `written`: only with `--yes`. `fields`: what of the what-if is set. `notes`: what that means.
    """

    version: int
    written: bool
    fields: list[str]
    diff: list[str]
    notes: list[str]


class ExplainedJson(TypedDict):
    """`explain`: where the jobs of an action go, and why.

    `about`: which directories the groups are made of. `group_count`: how many groups there are.
    `why_not`: the destination that was asked about.
    """

    version: int
    action: str
    about: str
    group_count: int
    why_not: str | None
    files: list[MappingFileJson]
    problems: list[ProblemJson]
    decisions: list[GroupsDecisionJson]


# -- packing ---------------------------------------------------------------------------------------


class UtilisationJson(TypedDict):
    """Shares, from 0 to 1, of what is paid for; null: there is none."""

    cpus: float | None
    memory: float | None
    gpus: float | None


class NodeTypeJson(TypedDict):
    """A node type that jobs are packed on. `price_per_hour`: null where none is known.

    `at_most`: how many there are. `used`: how full its nodes are.
    """

    name: str
    cpus: int
    memory_mb: int | None
    gpus: int
    disk_mb: int | None
    price_per_hour: float | None
    at_most: int | None
    boot_seconds: int
    longest_seconds: int | None
    whole_node: bool
    source: str
    used: UtilisationJson


class LaneJobJson(TypedDict):
    """A job in a lane, and for how long it may run."""

    token: str
    action: str
    directories: list[str]
    directory_count: int
    walltime_seconds: int


class LaneJson(TypedDict):
    """Jobs one after another, and what the lane has of the node."""

    cpus: int
    memory_mb: int | None
    gpus: int
    jobs: list[LaneJobJson]


class PackedBundleJson(BundleJson):
    """A bundle with its lanes. `token`: null for a job that is alone on its node."""

    lanes: list[LaneJson]


class LeftAloneJson(TypedDict):
    """Jobs that are not packed, and why."""

    jobs: list[str]
    reason: str


class PackedDestinationJson(PackedSummaryJson):
    """The packing of the jobs of one destination. `gap`: at most so far above the least cost."""

    gap: float | None
    proven: bool
    packing_seconds: float
    used: UtilisationJson
    node_types: list[NodeTypeJson]
    bundles: list[PackedBundleJson]
    alone: list[LeftAloneJson]


class PackerNameJson(TypedDict):
    """A packer that can be chosen."""

    name: str
    summary: str


class PackingJson(TypedDict):
    """`pack`: how jobs would share nodes."""

    version: int
    plan: str
    packers: list[PackerNameJson]
    destinations: list[PackedDestinationJson]
    refused: list[RefusedJson]
    skipped: list[str]


class PackerResultJson(TypedDict):
    """What one packer did. `packer`: the one that the result is from."""

    name: str
    summary: str
    packer: str
    bundle_count: int
    cost: CostJson
    gap: float | None
    longest_seconds: int
    packing_seconds: float


class ComparedDestinationJson(TypedDict):
    """The same jobs packed by every packer. `alone`: jobs that are not packed."""

    destination: PlaceJson
    job_count: int
    unit: str
    cost_alone: CostJson
    lower_bound: float
    packers: list[PackerResultJson]
    alone: int


class PackComparisonJson(TypedDict):
    """`pack --compare`."""

    version: int
    planning_seconds: float
    search_seconds: float
    destinations: list[ComparedDestinationJson]
    skipped: list[str]


class TypeUseJson(TypedDict):
    """Nodes of one type in a simulation: `peak` at a time, `total` in all, for so many `hours`."""

    node_type: str
    peak: int
    total: int
    hours: float
    cost: CostJson


class PolicyResultJson(TypedDict):
    """What a policy comes to. `peak`: nodes at a time. Jobs `lost` by failing nodes."""

    policy: str
    cost: CostJson
    makespan_seconds: float
    mean_wait_seconds: float
    p95_wait_seconds: float
    used: UtilisationJson
    peak: int
    nodes: int
    restarts: int
    lost: int
    refused: int
    not_ended: int
    node_types: list[TypeUseJson]


class SimulatedDestinationJson(TypedDict):
    """One destination: `job_count` jobs of `of`; `left_out`: policies not simulated."""

    destination: PlaceJson
    job_count: int
    of: int
    unit: str
    policies: list[PolicyResultJson]
    left_out: list[str]


class PackSimulationJson(TypedDict):
    """`pack --simulate`: jobs arrive `per_hour` (null or 0: all at once)."""

    version: int
    per_hour: float | None
    failures: float
    spread: float
    seed: int
    destinations: list[SimulatedDestinationJson]


# -- network ---------------------------------------------------------------------------------------


class LimitsJson(TypedDict):
    """What a run may charge without asking again; null: no limit. `price` is in `currency`."""

    cpu_hours: float | None
    gpu_hours: float | None
    price: float | None
    currency: str | None
    jobs_in_queue: int | None
    destinations: list[str] | None
    until: str | None
    failures: int | None
    failures_in_a_row: int | None


class ChargesJson(TypedDict):
    """What the submitted jobs of a run ask for (`charged`; `prices` by currency), and failures."""

    charged: CostJson
    prices: dict[str, float]
    jobs_in_queue: int
    failures: int
    failures_in_a_row: int


class RunJson(ChargesJson):
    """A run of a network. `holder`: the process that drives it. `why`: what it waits for.

    `used`: what jobs that ended really took; null: not known.
    """

    id: str
    status: str
    created_at: str
    holder: str | None
    why: str | None
    limits: LimitsJson
    used: CostJson | None
    priority: str
    execution: str


class DimensionJson(TypedDict):
    """A dimension of a node and its number of values."""

    name: str
    size: int | None


class NetworkNodeJson(TypedDict):
    """A source, node or sink. `states`: jobs by state. `critical_seconds`: on the longest way.

    `home`: the node whose directories it uses; `lists`: jobs that will make more samples.
    """

    name: str
    kind: str
    action: str | None
    home: str | None
    dimensions: list[DimensionJson]
    samples: int
    lists: int
    states: dict[str, int]
    level: int
    needed: bool
    critical_seconds: float | None


class LinkJson(TypedDict):
    """A link into an input of a node."""

    source: str
    target: str
    input: str
    output: str
    collapse: list[str]
    expand: str | None
    require: str | None


class FailedSampleJson(TypedDict):
    """A sample whose job failed, and how many jobs are lost for it."""

    node: str
    directory: str
    failed: FailureJson
    lost: int
    log_path: str | None


class StepJson(TypedDict):
    """A node on the longest way that is left."""

    node: str
    seconds: float
    jobs: int


class EstimateJson(TypedDict):
    """When a run may be done. `basis`: of the run times. `growing`: lists will add jobs."""

    seconds_left: float
    done_at: str
    critical_path: list[StepJson]
    basis: str
    jobs: int
    growing: bool


class RefusedJobsJson(TypedDict):
    """Jobs of a node that no plan would have now."""

    node: str
    jobs: int
    reason: str


class NetworkJson(TypedDict):
    """`network show`. `retired`: directories of samples that no source has.

    `left`: what jobs that were not sent yet will ask for.
    """

    version: int
    name: str
    run: RunJson | None
    changed: bool
    retired: int
    jobs: int
    nodes: list[NetworkNodeJson]
    links: list[LinkJson]
    failures: list[FailedSampleJson]
    estimate: EstimateJson | None
    left: CostJson
    refused: list[RefusedJobsJson]
    problems: list[str]
    notices: list[str]


class SampleJson(TypedDict):
    """One sample of a node, and the state of its job."""

    directory: str
    values: dict[str, Any]
    state: str | None
    reason: str | None
    log_path: str | None


class SamplesJson(TypedDict):
    """`network show NODE`: samples from `offset` on, of `total`."""

    version: int
    node: str
    total: int
    offset: int
    samples: list[SampleJson]


class HolderJson(TypedDict):
    """The process that drives a run."""

    host: str
    pid: int
    since: str


class ListedRunJson(TypedDict):
    """A run as its journal has it. A run that cannot be read has status `bad`, and `why`."""

    id: str
    status: str
    name: NotRequired[str]
    user: NotRequired[str]
    created_at: NotRequired[str]
    at: NotRequired[str]
    holder: NotRequired[HolderJson | None]
    submitted: NotRequired[int]
    failed: NotRequired[int]
    limits: NotRequired[LimitsJson]
    charged: NotRequired[CostJson]
    prices: NotRequired[dict[str, float]]
    jobs_in_queue: NotRequired[int]
    failures: NotRequired[int]
    failures_in_a_row: NotRequired[int]
    why: NotRequired[str]
    hint: NotRequired[str | None]


class RunsJson(TypedDict):
    """`network runs`: newest first."""

    version: int
    runs: list[ListedRunJson]


class EventFailureJson(TypedDict):
    """A sample whose job failed just now."""

    node: str
    directory: str
    failed: FailureJson


class RunEventJson(TypedDict):
    """One line of `network run`. The first, `run`, has the `id`; the others have what applies.

    `jobs`: those that are sent. `states`: jobs of the network by state.
    """

    event: str
    id: NotRequired[str]
    at: NotRequired[str]
    sentence: NotRequired[str]
    success: NotRequired[bool]
    plan: NotRequired[str]
    jobs: NotRequired[list[JobJson]]
    completed: NotRequired[int]
    cancelled: NotRequired[int]
    new: NotRequired[int]
    published: NotRequired[int]
    failed: NotRequired[list[EventFailureJson]]
    states: NotRequired[dict[str, int]]
    charged: NotRequired[CostJson]
    prices: NotRequired[dict[str, float]]
    jobs_in_queue: NotRequired[int]
    failures: NotRequired[int]
    failures_in_a_row: NotRequired[int]


class SimulatedNodeJson(TypedDict):
    """What one job of a node asks for, and how long it runs. `basis`: where that is from."""

    name: str
    jobs: int
    cpus: int
    memory_mb: int | None
    gpus: int
    seconds: float
    basis: str
    measured_jobs: int
    refused: str | None


class SimulatedMachineJson(TypedDict):
    """Machines of one kind. `number`: null for as many as wanted."""

    name: str
    cpus: int
    memory_mb: int | None
    gpus: int
    price_per_hour: float | None
    number: int | None
    boot_seconds: float
    whole: bool


class UnplacedJson(TypedDict):
    """Jobs of a node that fit on no machine."""

    node: str
    jobs: int


class OrderResultJson(TypedDict):
    """What one scheduling plug-in comes to; without an `error` all fields are there.

    `held_up`: jobs that need one that fits on no machine.
    """

    plugin: str
    summary: str
    error: str | None
    makespan_seconds: NotRequired[float]
    cost: NotRequired[CostJson]
    idle_cpu_hours: NotRequired[float]
    utilisation: NotRequired[float]
    jobs: NotRequired[int]
    ended: NotRequired[int]
    reruns: NotRequired[int]
    machines_used: NotRequired[int]
    unplaced: NotRequired[list[UnplacedJson]]
    held_up: NotRequired[int]


class GanttRowJson(TypedDict):
    """A row of a chart. Each cell: the node (null: none), and the share of the time."""

    label: str
    cells: list[list[Any]]


class GanttJson(TypedDict):
    """A chart of one order. `cell_seconds`: of one cell."""

    plugin: str
    by: str
    cell_seconds: float
    rows: list[GanttRowJson]


class NetworkSimulationJson(TypedDict):
    """`network run --simulate`. No order takes less than `least_seconds`."""

    version: int
    network: str
    jobs: int
    completed: int
    assumed_lists: int
    assumed_entries: int
    failures: float
    seed: int
    nodes: list[SimulatedNodeJson]
    machines: list[SimulatedMachineJson]
    notices: list[str]
    critical_path_seconds: float
    least_seconds: float
    plugins: list[OrderResultJson]
    left_out: list[str]
    gantt: GanttJson | None


class NodeHomeJson(TypedDict):
    """Whose directories a node uses, and why."""

    node: str
    home: str
    why: str


class NetworkCheckJson(TypedDict):
    """`network check`. `jobs`: null where they cannot be counted."""

    version: int
    ok: bool
    problems: list[ProblemJson]
    notices: list[str]
    jobs: int | None
    directories: list[NodeHomeJson]


class RetiredJson(TypedDict):
    """`network retire`: directories of samples that no source has; `needed`: by which run.

    `trash`: where those that were `moved` are.
    """

    version: int
    retired: list[str]
    needed: dict[str, str]
    moved: list[str]
    trash: str | None


# -- clusters, copies, findings --------------------------------------------------------------------


class FileFactsJson(TypedDict):
    """A file of a project or a copy. `size`: bytes. `target`: of a link."""

    kind: str
    size: int | None
    modified_at: str | None
    target: str | None


class DifferenceJson(TypedDict):
    """A path that differs between the project and its copy; null: it is not there."""

    kind: str
    path: str
    here: FileFactsJson | None
    there: FileFactsJson | None
    reason: str | None


class ComparisonJson(TypedDict):
    """`mirror`: a copy of the project against the project. `same`: how many paths."""

    cluster: str
    place: str
    same: int
    differences: list[DifferenceJson]
    notices: list[str]


class CopiedJson(TypedDict):
    """`mirror --send`, `--fetch` and `--keep`: what was copied. `size`: bytes."""

    version: int
    cluster: str
    place: str
    files: int
    size: int
    notices: list[str]


class FindingJson(TypedDict):
    """`doctor`: one thing that was looked at."""

    topic: str
    verdict: Literal["ok", "warning", "error"]
    text: str
    hint: str | None


class NodeKindJson(TypedDict):
    """A node type of clusters.toml. `price_per_hour` is in the cluster's currency.

    `at_most`: how many nodes there are. `source`: the file or command that describes the type.
    """

    name: str
    partition: str | None
    cpus: int
    memory_mb: int | None
    gpus: int
    disk_mb: int | None
    price_per_hour: float | None
    at_most: int | None
    boot_seconds: int
    longest_seconds: int | None
    whole_node: bool
    source: str


class FoundNodeTypeJson(NodeKindJson):
    """A kind of node that a cluster has. `nodes` in all, of which `down` and `asleep`.

    `closed`: the word for a partition that takes no jobs now.
    """

    nodes: int
    down: int
    asleep: int
    closed: str


class NodeTypesJson(TypedDict):
    """`doctor --node-types`: node types for clusters.toml. `written`: `file` has them now."""

    version: int
    cluster: str
    node_types: list[FoundNodeTypeJson]
    notices: list[str]
    toml: str
    file: str
    written: bool
    backup: str | None


class IdentifyJson(TypedDict):
    """How a cluster is recognised: a variable of the environment and its value, or always."""

    by_environment: list[str] | None
    always: bool


class PathPrefixJson(TypedDict):
    """A folder here that is another folder on a cluster."""

    local: str
    remote: str


class RemoteJson(TypedDict):
    """How a cluster is reached over SSH."""

    host: str
    user: str
    port: int
    transport: str
    paths: list[PathPrefixJson]
    mirror: str
    config: list[str]


class PartitionJson(TypedDict):
    """A partition and its limits; null: no limit. Names are those of clusters.toml."""

    name: str
    maximum_cpus_per_job: int | None
    require_cpus_multiple_of: int | None
    warn_cpus_not_multiple_of: int | None
    memory_per_cpu: str | None
    memory_per_cpu_mb: int | None
    cpus_per_node: int | None
    minimum_gpus_per_job: int | None
    maximum_gpus_per_job: int | None
    require_gpus_multiple_of: int | None
    warn_gpus_not_multiple_of: int | None
    memory_per_gpu: str | None
    memory_per_gpu_mb: int | None
    gpus_per_node: int | None
    prevent_auto_select: bool
    account_suffix: str | None
    maximum_walltime_seconds: int | None
    parallel_environment: str | None


class PackingDefaultsJson(TypedDict):
    """Whether and how jobs are packed; `partitions`: what holds in some of them instead."""

    enabled: bool
    packer: str
    largest_bundle: int | None
    longest_seconds: int | None
    time_factor: float
    partitions: NotRequired[dict[str, PackingDefaultsJson]]


class BudgetJson(TypedDict):
    """Hours that jobs of one project may ask for; null: no limit."""

    cpu_hours: float | None
    gpu_hours: float | None


class ClusterJson(TypedDict):
    """`show cluster`: one cluster as clusters.toml describes it."""

    name: str
    identify: IdentifyJson
    scheduler: str
    partitions: list[PartitionJson]
    submit_options: list[str]
    slurm_gpus_per_task: str
    source: str
    remote: RemoteJson | None
    poll_seconds: float
    arrays: bool | None
    maximum_array_size: int | None
    memory_resource: str
    gpu_resource: str
    node_types: list[NodeKindJson]
    currency: str | None
    packing: PackingDefaultsJson | None
    asked_partitions: bool
    budget: BudgetJson | None


class LauncherJson(TypedDict):
    """What stands before a command; null: nothing."""

    executable: str | None
    processes: str | None
    threads_per_process: str | None
    gpus_per_process: str | None


COMMANDS: dict[str, tuple[str, Any]] = {
    "status": ("show status", StatusJson),
    "directory-names": ("show directories", DirectoryNamesJson),
    "groups": ("show directories --action", GroupsJson),
    "jobs": ("show jobs", JobsJson),
    "clusters": ("show cluster", list[ClusterJson]),
    "launchers": ("show launchers", dict[str, dict[str, LauncherJson]]),
    "scan": ("scan", ScanJson),
    "plan": ("plan; submit --dry-run", PlanJson),
    "sent": ("submit, retry", SentJson),
    "job-answers": ("cancel, hold, release", list[JobAnswerJson]),
    "log": ("logs", LogJson),
    "explained": ("explain", ExplainedJson),
    "not-there": ("explain, of directories that do not exist yet", NotThereJson),
    "workflow-change": ("explain --write, --undo", WorkflowChangeJson),
    "script-changes": ("plan --diff", ScriptChangesJson),
    "queue": ("queue", QueueJson),
    "packing": ("pack", PackingJson),
    "pack-comparison": ("pack --compare", PackComparisonJson),
    "pack-simulation": ("pack --simulate", PackSimulationJson),
    "network": ("network show", NetworkJson),
    "samples": ("network show NODE", SamplesJson),
    "runs": ("network runs", RunsJson),
    "run-event": ("network run, each line", RunEventJson),
    "network-simulation": ("network run --simulate", NetworkSimulationJson),
    "network-check": ("network check", NetworkCheckJson),
    "retired": ("network retire", RetiredJson),
    "comparisons": ("mirror", list[ComparisonJson]),
    "copied": ("mirror --send, --fetch, --keep", CopiedJson),
    "findings": ("doctor", list[FindingJson]),
    "node-types": ("doctor --node-types", NodeTypesJson),
}
"""What each command prints: name of the schema -> the command, and the type."""

PARTS: dict[str, Any] = {
    "cost": CostJson,
    "failure": FailureJson,
    "job": JobJson,
    "directory": DirectoryJson,
    "group": GroupJson,
    "request": RequestJson,
    "decision": DecisionJson,
    "bundle": BundleJson,
    "refused": RefusedJson,
    "queue-row": QueueRowJson,
    "run": RunJson,
}
"""Objects that stand in several of these: name of the schema -> the type."""
