"""JSON objects of `usage`."""

from __future__ import annotations

from typing import TypedDict


class UsageMoneyJson(TypedDict):
    """Money in one currency, by the prices of node types; amounts of other currencies are apart.

    `charged`: the shares of nodes that `jobs` jobs held, for the time that they took. `used`: the
    CPU or GPU time that worked, of the jobs of which it is known, which were charged `measured`.
    """

    currency: str
    jobs: int
    charged: float
    used: float | None
    measured: float


class UsageOfJobsJson(TypedDict):
    """Several jobs together. Seconds, CPU-hours and KiB; null: not known of any of them.

    `charged_cpu_hours`: CPUs times wall time; `used_cpu_hours`: CPU time of the jobs of which it is
    known, which were charged `measured_cpu_hours`. `requested_...`: the most that a job requested.
    `..._share`: the mean of used by requested. `energy_kwh` and `carbon_g` (CO2e) are estimated for
    `energy_jobs` jobs.
    """

    name: str
    jobs: int
    failed: int
    cancelled: int
    charged_cpu_hours: float
    charged_gpu_hours: float
    used_cpu_hours: float | None
    measured_cpu_hours: float
    used_gpu_hours: float | None
    measured_gpu_hours: float
    gpu_share: float | None
    cpu_share: float | None
    median_wall_seconds: float | None
    longest_wall_seconds: float | None
    requested_wall_seconds: float | None
    wall_share: float | None
    median_memory_kib: float | None
    most_memory_kib: float | None
    requested_memory_kib: float | None
    memory_share: float | None
    money: list[UsageMoneyJson]
    energy_jobs: int
    energy_kwh: float | None
    carbon_g: float | None


class JobUsageJson(TypedDict):
    """What one job requested and used. `outcome`: as in `JobJson`. `reason`: null if it ended well.

    `..._source`: `job script`, `control group` (includes cached files), `scheduler`, or null.
    `charged_money`, `used_money`: by the prices of node types. `carbon_g`: CO2e.
    """

    id: str | None
    token: str
    action: str
    cluster: str
    partition: str | None
    user: str | None
    node: str | None
    attempt: int
    directory_count: int
    outcome: str
    reason: str | None
    exit_code: int | None
    signal: str | None
    submitted_at: str | None
    started_at: str | None
    ended_at: str | None
    cpus: int
    gpus: int
    requested_memory_kib: float | None
    requested_wall_seconds: int
    wall_seconds: float | None
    wall_source: str | None
    cpu_seconds: float | None
    cpu_source: str | None
    memory_kib: int | None
    memory_source: str | None
    gpu_seconds: float | None
    gpu_memory_kib: int | None
    gpu_source: str | None
    charged_money: float | None
    used_money: float | None
    currency: str | None
    energy_kwh: float | None
    carbon_g: float | None


class JobStepJson(TypedDict):
    """A step of an ended job, from Slurm's accounts: `batch` is the script, numbers are of srun."""

    job: str | None
    token: str
    step: str
    name: str
    tasks: int | None
    wall_seconds: float | None
    cpu_seconds: float | None
    largest_task_memory_kib: int | None


class RunningJobJson(TypedDict):
    """What a running job has used up to now. `near_limits`: `memory`, `time` from 90 % on.

    `memory_kib`: the most that its scheduler saw, or what its processes have at this moment.
    """

    id: str
    token: str
    action: str
    cluster: str
    measured_at: str | None
    wall_seconds: float | None
    requested_wall_seconds: float | None
    cpu_seconds: float | None
    cpus: int
    memory_kib: int | None
    requested_memory_kib: int | None
    near_limits: list[str]
    problem: str | None


class RecommendedJson(TypedDict):
    """What the jobs of an action should request. `risk`: share of jobs that would exceed it;
    `largest_risk`: share of the largest tenth of the jobs.

    `resource`: `memory` (KiB), `walltime` (seconds) or `cpus`. `killed`: jobs that ended at their
    limit. With `per_directory`, a job of n directories needs `amount + n * per_directory`. `line`:
    how the amount grows with a size of the job, if it does; `amount` is for jobs of all sizes if
    the size is a number in the values of directories.
    """

    action: str
    resource: str
    amount: float
    per_directory: float | None
    risk: float
    largest_risk: float
    jobs: int
    killed: int
    requested: float | None
    line: SizeLineJson | None


class SizeLineJson(TypedDict):
    """A job needs `base + size * slope`, in the unit of the resource.

    `size`: `directories`, or a JSON pointer of a number in the values of the job's directory, or
    `sum of` or `largest` and a pointer for jobs of several. `r_squared`: the share of the variance
    that the line predicts of jobs that it was not fitted to. `..._residual`: used, less the line.
    """

    size: str
    base: float
    slope: float
    r_squared: float
    least_residual: float
    median_residual: float
    most_residual: float


class SizedSettingJson(TypedDict):
    """A changed setting of workflow.toml, in MB, seconds or CPUs. `before`: null if not set.

    `jobs` were measured, of which `killed` ended at their limit and `exceeding` would exceed the
    new setting. `risk`: the expected share of future jobs that exceed it; `largest_risk`: of the
    largest tenth of them.
    """

    action: str
    resource: str
    key: str
    before: int | None
    after: int
    jobs: int
    killed: int
    exceeding: int
    risk: float
    largest_risk: float


class KeptSizeJson(TypedDict):
    """Why settings of an action stay as they are."""

    action: str
    because: str


class WrittenSizesJson(TypedDict):
    """`usage --recommend --write`. `written`: whether workflow.toml has the change now."""

    written: bool
    diff: list[str]
    settings: list[SizedSettingJson]
    kept: list[KeptSizeJson]


class ReportJson(TypedDict):
    """`report`: the written files; null for one that was not asked for."""

    version: int
    file: str | None
    trace: str | None


class UsageJson(TypedDict):
    """`usage`. `jobs` (ended), their `steps` and `running`: only of named jobs; `recommended`: only
    with `--recommend`; `write`: only with `--write`. `unmeasured_jobs`: ended jobs without a
    record, which are in no other number.
    """

    version: int
    by: str
    groups: list[UsageOfJobsJson]
    total: UsageOfJobsJson | None
    jobs: list[JobUsageJson]
    running: list[RunningJobJson]
    steps: list[JobStepJson]
    recommended: list[RecommendedJson]
    write: WrittenSizesJson | None
    damaged_records: int
    unmeasured_jobs: int
