"""Clusters, partitions and launchers as Row's clusters.toml and launchers.toml describe them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rowtui.core.workflow.model import Resources


class Identify(NamedTuple):
    """How a cluster is recognised: an environment variable's value, or always (or never)."""

    by_environment: tuple[str, str] | None = None
    always: bool = False


class Partition(NamedTuple):
    """One partition and the limits that decide whether a job may go there. None: no limit."""

    name: str
    maximum_cpus_per_job: int | None = None
    require_cpus_multiple_of: int | None = None
    warn_cpus_not_multiple_of: int | None = None
    memory_per_cpu: str | None = None  # Row 0.3: passed as it is; Row 1.1 uses ..._mb
    memory_per_cpu_mb: int | None = None
    cpus_per_node: int | None = None
    minimum_gpus_per_job: int | None = None
    maximum_gpus_per_job: int | None = None
    require_gpus_multiple_of: int | None = None
    warn_gpus_not_multiple_of: int | None = None
    memory_per_gpu: str | None = None
    memory_per_gpu_mb: int | None = None
    gpus_per_node: int | None = None
    prevent_auto_select: bool = False
    account_suffix: str | None = None
    maximum_walltime_seconds: int | None = None  # known for clusters described from sinfo
    parallel_environment: str | None = None  # Grid Engine: what gives a job several slots


class PathPrefix(NamedTuple):
    """A folder on a file system that this machine and a cluster share, by its name on each."""

    local: str
    remote: str


class Remote(NamedTuple):
    """How a cluster is reached over SSH, and where projects are there.

    `host`: a name, or a Host of ~/.ssh/config; "" and 0 leave user and port to it; `config`: the
    files to read instead of it. `transport`: `asyncssh` or `openssh`. A project below a prefix of
    `paths` is the same folder there; any other has a copy below `mirror`, a path that may begin
    with `~/` or `$VARIABLE/`, to be understood there.
    """

    host: str
    user: str = ""
    port: int = 0
    transport: str = "asyncssh"
    paths: tuple[PathPrefix, ...] = ()
    mirror: str = "~/rowtui"
    config: tuple[str, ...] = ()


class NodeKind(NamedTuple):
    """Machines of one kind: what jobs may use of a whole one, and what it costs.

    `partition`: the one that has them, "" for any of the cluster. `memory_mb` and `disk_mb`: None
    where nobody knows, so that they cannot be counted. `price`: for an hour, in the cluster's
    currency; None where none of its kinds has one. `at_most`: how many there are, None for as many
    as wanted. `boot_seconds`: until one that sleeps takes a job. `longest_seconds`: of a job there;
    None: the partition's limit. `whole_node`: a job takes all of it, whatever it needs. `source`:
    who says all this: a file, `sinfo`, `partition`, `this machine`.
    """

    name: str
    partition: str
    cpus: int
    memory_mb: int | None = None
    gpus: int = 0
    disk_mb: int | None = None
    price: float | None = None
    at_most: int | None = None
    boot_seconds: int = 0
    longest_seconds: int | None = None
    whole_node: bool = False
    source: str = ""


class PackingDefaults(NamedTuple):
    """Whether and how jobs are packed on a cluster unless somebody says otherwise.

    `largest_bundle`: requests in one job at most; `longest_seconds`: how long such a job may be
    at most, besides the partition's limit; `time_factor`: requests are given that many times the
    time they ask for. `partitions`: what holds in some of them, whole, in place of this.
    """

    enabled: bool = True
    packer: str = "best"
    largest_bundle: int | None = None
    longest_seconds: int | None = None
    time_factor: float = 1.0
    partitions: tuple[tuple[str, PackingDefaults], ...] = ()


class BudgetLimit(NamedTuple):
    """Hours that the jobs of one project may ask for on a cluster in all; None: no limit."""

    cpu_hours: float | None = None
    gpu_hours: float | None = None


class Cluster(NamedTuple):
    """One cluster. `source` says where it was described: built-in, a file, sinfo.

    `remote`: how it is reached from elsewhere, None where its commands run on this machine.
    `poll_seconds`: between two looks at its queue. `arrays`: whether jobs of the same shape go
    there as one array (None: nobody said). `maximum_array_size`: tasks in one array job; 0 where
    it takes none, None where that is unknown. `memory_resource` and `gpu_resource`: what the
    administrators of a Grid Engine cluster call the memory of a slot and the GPUs of a job.
    `node_types` are those that a file describes: `node_types_for` knows more. `currency`: what
    their prices are in, "" where nobody said. `packing`: None where nobody said anything of it.
    `asked_partitions`: its description leaves them to be asked for where its commands run.
    `budget`: what one project may spend there; None where nobody said.
    """

    name: str
    identify: Identify
    scheduler: str
    partitions: tuple[Partition, ...] = ()
    submit_options: tuple[str, ...] = ()
    slurm_gpus_per_task: str = "--gpus-per-task="
    source: str = "built-in"
    remote: Remote | None = None
    poll_seconds: float = 60.0
    arrays: bool | None = None
    maximum_array_size: int | None = None
    memory_resource: str = "h_vmem"
    gpu_resource: str = "gpu"
    node_types: tuple[NodeKind, ...] = ()
    currency: str = ""
    packing: PackingDefaults | None = None
    asked_partitions: bool = False
    budget: BudgetLimit | None = None

    @property
    def has_partitions(self) -> bool:
        """Whether a job goes to one of its partitions: Slurm's, or Grid Engine's queues."""
        return self.scheduler in ("slurm", "grid_engine")


class Launcher(NamedTuple):
    """A command prefix, in parts; each part is emitted only if it is set."""

    executable: str | None = None
    processes: str | None = None
    threads_per_process: str | None = None
    gpus_per_process: str | None = None


class Launchers(NamedTuple):
    """Launcher name -> cluster name or "default" -> Launcher."""

    by_name: Mapping[str, Mapping[str, Launcher]]

    def find(self, name: str, cluster: str) -> Launcher | None:
        """The launcher for this cluster, else its default, else None when it is unknown."""
        by_cluster = self.by_name.get(name)
        if by_cluster is None:
            return None
        return by_cluster.get(cluster, by_cluster.get("default"))


class Identified(NamedTuple):
    """Which cluster this is and why; `considered` has a line for each that it is not."""

    cluster: Cluster
    because: str
    considered: tuple[str, ...] = ()


class PartitionRefusal(NamedTuple):
    """Why a job may not go to one partition, and the smallest change that would lift it."""

    partition: str
    constraint: str  # the key in clusters.toml, e.g. maximum_cpus_per_job
    asked: str
    offered: str
    hint: str = ""

    def __str__(self) -> str:
        """One line for a person."""
        text = f"{self.partition}: {self.constraint} is {self.offered}, the job has {self.asked}"
        return text + (f" ({self.hint})" if self.hint else "")


class PartitionChoice(NamedTuple):
    """The partition for a job (None: none fits), the warnings for it, and all refusals."""

    partition: Partition | None
    warnings: tuple[str, ...] = ()
    refusals: tuple[PartitionRefusal, ...] = ()


class JobTotals(NamedTuple):
    """What one job asks for in all, when it runs the action of `resources` on `directories`.

    The totals are the action's own, or others that somebody gave the job instead of them.
    """

    cpus: int
    gpus: int
    walltime_seconds: int
    resources: Resources
    directories: int
    memory_mb: int | None = None  # of the whole job, if known


class PartitionCheck(NamedTuple):
    """One limit of a partition held against one job; a `hint` only where it did not pass."""

    constraint: str  # the key in clusters.toml, e.g. maximum_cpus_per_job
    asked: str
    offered: str
    passed: bool
    hint: str = ""


class PartitionLoad(NamedTuple):
    """How busy one partition is. Free is what a job could get now: no node that takes none.

    Cores are what the scheduler counts as CPUs. Nodes and jobs that belong to several partitions
    are counted in each of them.
    """

    partition: str
    cores: int
    free_cores: int
    gpus: int
    free_gpus: int
    nodes: int
    free_nodes: int  # with nothing on them
    down_nodes: int  # that take no job now: down, draining, reserved, silent
    running: int  # jobs of everybody that have their nodes
    pending: int  # jobs of everybody that wait, for whatever reason; each task of an array counts
    pending_cores: int  # what those ask for
    expected_wait: float | None  # seconds until a small job would probably start; None: unknown


class ClusterLoad(NamedTuple):
    """How busy a cluster was at one time. With `error` set, `partitions` says nothing at all."""

    cluster: str
    at: float  # epoch seconds
    partitions: tuple[PartitionLoad, ...] = ()
    error: str = ""
    notices: tuple[str, ...] = ()  # what could not be read, or is not shown to this user
