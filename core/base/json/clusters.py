"""JSON objects of clusters, node types, launchers and findings."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class FindingsJson(TypedDict):
    """`doctor`."""

    version: int
    findings: list[FindingJson]


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


class EnergyJson(TypedDict):
    """`[cluster.energy]`: what the energy of jobs is estimated from."""

    core_watts: float
    memory_watts_per_gb: float
    gpu_watts: float
    pue: float
    carbon_g_per_kwh: float
    source: str


class ClustersJson(TypedDict):
    """`show cluster`."""

    version: int
    clusters: list[ClusterJson]


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
    query_seconds: float
    arrays: bool | None
    maximum_array_size: int | None
    memory_resource: str
    gpu_resource: str
    node_types: list[NodeKindJson]
    currency: str | None
    packing: PackingDefaultsJson | None
    asked_partitions: bool
    budget: BudgetJson | None
    energy: EnergyJson | None


class LaunchersJson(TypedDict):
    """`show launchers`: by the name of the launcher, then of the cluster, or "default"."""

    version: int
    launchers: dict[str, dict[str, LauncherJson]]


class LauncherJson(TypedDict):
    """What stands before a command; null: nothing."""

    executable: str | None
    processes: str | None
    threads_per_process: str | None
    gpus_per_process: str | None
