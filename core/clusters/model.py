"""Clusters, partitions and launchers as Row's clusters.toml and launchers.toml describe them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.workflow.model import Action, Resources
from rowtui.core.workflow.toml_file import did_you_mean

if TYPE_CHECKING:
    from rowtui.core.base.document import TextOrNull
    from rowtui.core.workflow.model import Resources


class Identify(NamedTuple):
    """How a cluster is recognised: by an environment variable's value, always, or never."""

    by_environment: tuple[str, str] | None = None
    always: bool = False


class Partition(NamedTuple):
    """One partition, with the limits that decide whether it accepts a job. None: no limit."""

    name: str
    maximum_cpus_per_job: int | None = None
    require_cpus_multiple_of: int | None = None
    warn_cpus_not_multiple_of: int | None = None
    memory_per_cpu: str | None = None  # Row 0.3: passed on unchanged; Row 1.1 uses ..._mb
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
    maximum_walltime_seconds: int | None = None  # set for clusters described from sinfo
    parallel_environment: str | None = None  # Grid Engine: it gives a job several slots
    nodes: int | None = None  # set for clusters described from sinfo


class PathPrefix(NamedTuple):
    """A folder on a file system shared by this machine and a cluster, with its path on each."""

    local: str
    remote: str


class Remote(NamedTuple):
    """How a cluster is reached over SSH, and where projects are on the cluster.

    `host`: a name, or a Host of ~/.ssh/config. An empty `user` and a `port` of 0 leave the choice
    to that file. `config`: the files to read instead of ~/.ssh/config. `transport`: `asyncssh` or
    `openssh`. A project below a prefix of `paths` is the same folder on the cluster; any other
    project has a copy below `mirror`, a path that may begin with `~/` or `$VARIABLE/` and is
    expanded on the cluster.
    """

    host: str
    user: str = ""
    port: int = 0
    transport: str = "asyncssh"
    paths: tuple[PathPrefix, ...] = ()
    mirror: str = "~/rowtui"
    config: tuple[str, ...] = ()


class NodeType(NamedTuple):
    """One node type: the resources of a whole node that jobs may use, and its price.

    `partition`: the partition of the nodes, "" for any of the cluster. `memory_mb` and `disk_mb`:
    None if unknown; they are then not counted. `price_per_hour`: in the cluster's currency; None
    if no node type of the cluster has one. `at_most`: number of nodes; None for no limit.
    `boot_seconds`: until a sleeping node takes a job. `longest_seconds`: longest walltime of a job
    on it; None: the partition's limit. `whole_node`: a job gets a whole node, even if it asks for
    less. `source`: where the values come from: a file, `sinfo`, `partition`, `this machine`.
    """

    name: str
    partition: TextOrNull
    cpus: int
    memory_mb: int | None = None
    gpus: int = 0
    disk_mb: int | None = None
    price_per_hour: float | None = None
    at_most: int | None = None
    boot_seconds: int = 0
    longest_seconds: int | None = None
    whole_node: bool = False
    source: str = ""


class PackingDefaults(NamedTuple):
    """Whether and how jobs are packed on a cluster by default.

    `largest_bundle`: the most requests in one job; `longest_seconds`: the longest walltime of such
    a job, besides the partition's limit; `time_factor`: requests get this multiple of the time that
    they ask for. `partitions`: the settings of some partitions, by name, which replace these
    settings completely.
    """

    enabled: bool = True
    packer: str = "best"
    largest_bundle: int | None = None
    longest_seconds: int | None = None
    time_factor: float = 1.0
    partitions: Mapping[str, PackingDefaults] = {}


class BudgetLimit(NamedTuple):
    """Hours that all jobs of one project may ask for on a cluster; None: no limit."""

    cpu_hours: float | None = None
    gpu_hours: float | None = None


class EnergyFactors(NamedTuple):
    """What the energy of jobs is estimated from, and its emissions.

    `core_watts`: of one CPU that works; `memory_watts_per_gb`: of requested memory; `gpu_watts`: of
    one GPU that works. `pue`: power usage effectiveness, energy of the site by energy of its
    computers. `carbon_g_per_kwh`: CO2e of the electricity. `source`: where the user has the values
    from. The defaults are those of the Green Algorithms calculator for unknown hardware anywhere on
    Earth. Source: Lannelongue et al. 2021, doi:10.1002/advs.202100707, and version 3.0 of the
    calculator's data (github.com/Cambridge-Sustainable-Computing-Lab/Green-Algorithms-data, v3.0:
    CPUs, referenceValues, GPUs, default_PUE, CI_aggregated). The power of memory is the same in
    all versions from 1.0 to the unfinished 3.1 (hardware-impacts, as of April 2026).
    """

    core_watts: float = 12.0
    memory_watts_per_gb: float = 0.3725
    gpu_watts: float = 200.0
    pue: float = 1.56
    carbon_g_per_kwh: float = 475.0
    source: str = ""


class Cluster(NamedTuple):
    """One cluster. `source`: where it is described: built-in, a file, sinfo.

    `remote`: how other machines reach it; None if its commands run on this machine. `poll_seconds`:
    time between two polls of its queue. `query_seconds`: the time limit of one query to its
    scheduler; it is short because the user waits, and the query is repeated soon. `arrays`: whether
    jobs of the same shape are submitted as one array (None: not configured). `maximum_array_size`:
    tasks in one array job; 0 if the cluster accepts no arrays, None if unknown. `memory_resource`
    and `gpu_resource`: the names that the administrators of a Grid Engine cluster gave to the
    memory of a slot and the GPUs of a job.
    `node_types`: only the node types of a file; `node_types_for` also returns others. `currency`:
    of their prices; "" if not configured. `packing`: None if not configured. `asked_partitions`:
    the configuration has no partitions, so they are queried where the cluster's commands run.
    `budget`: the limit for one project; None if not configured. `energy`: None if not configured.
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
    query_seconds: float = 20.0
    arrays: bool | None = None
    maximum_array_size: int | None = None
    memory_resource: str = "h_vmem"
    gpu_resource: str = "gpu"
    node_types: tuple[NodeType, ...] = ()
    currency: TextOrNull = ""
    packing: PackingDefaults | None = None
    asked_partitions: bool = False
    budget: BudgetLimit | None = None
    energy: EnergyFactors | None = None


class Launcher(NamedTuple):
    """A command prefix, in parts; each part is written only if it is set."""

    executable: str | None = None
    processes: str | None = None
    threads_per_process: str | None = None
    gpus_per_process: str | None = None


class Launchers(NamedTuple):
    """`show launchers`: launcher name -> cluster name or "default" -> Launcher."""

    launchers: Mapping[str, Mapping[str, Launcher]]

    def find(self, name: str, cluster: str) -> Launcher | None:
        """Return the launcher for this cluster, else its default; None if the name is unknown."""
        by_cluster = self.launchers.get(name)
        if by_cluster is None:
            return None
        return by_cluster.get(cluster, by_cluster.get("default"))


class Identified(NamedTuple):
    """The identified cluster and the reason; `considered` has a line for each one rejected."""

    cluster: Cluster
    because: str
    considered: tuple[str, ...] = ()


class PartitionRefusal(NamedTuple):
    """Why a partition does not accept a job, and the smallest change that would make it fit."""

    partition: str
    constraint: str  # the key in clusters.toml, e.g. maximum_cpus_per_job
    asked: str
    offered: str
    hint: str = ""

    def __str__(self) -> str:
        """Return one line for the user."""
        text = f"{self.partition}: {self.constraint} is {self.offered}, the job has {self.asked}"
        return text + (f" ({self.hint})" if self.hint else "")


class PartitionChoice(NamedTuple):
    """The partition for a job (None: none fits), the warnings for it, and all refusals."""

    partition: Partition | None
    warnings: tuple[str, ...] = ()
    refusals: tuple[PartitionRefusal, ...] = ()


class JobTotals(NamedTuple):
    """The totals that one job asks for when it runs the action of `resources` on `directories`.

    The totals follow from the action's resources, or were given to the job instead.
    """

    cpus: int
    gpus: int
    walltime_seconds: int
    resources: Resources
    directories: int
    memory_mb: int | None = None  # of the whole job, None if unknown


class PartitionCheck(NamedTuple):
    """One limit of a partition checked against one job; `hint` is empty if the check passed."""

    constraint: str  # the key in clusters.toml, e.g. maximum_cpus_per_job
    asked: str
    offered: str
    passed: bool
    hint: str = ""


class PartitionLoad(NamedTuple):
    """The load of one partition. Free CPUs, GPUs and nodes exclude nodes that accept no job.

    Cores are the units that the scheduler counts as CPUs. Nodes and jobs that belong to several
    partitions are counted in each of them.
    """

    partition: str
    cores: int
    free_cores: int
    gpus: int
    free_gpus: int
    nodes: int
    free_nodes: int  # without any job
    down_nodes: int  # accept no job now: down, draining, reserved, not responding
    running: int  # running jobs of all users
    pending: int  # waiting jobs of all users, for any reason; each task of an array counts
    pending_cores: int  # CPUs that the pending jobs ask for
    expected_wait: float | None  # seconds until a small job would probably start; None: unknown


class ClusterLoad(NamedTuple):
    """The load of a cluster at one time. If `error` is set, `partitions` is meaningless."""

    cluster: str
    at: float  # epoch seconds
    partitions: tuple[PartitionLoad, ...] = ()
    error: str = ""
    notices: tuple[str, ...] = ()  # what could not be read, or is hidden from this user


# Build the prefix of a command from the launchers and resources of its action.


class LauncherError(RowtuiError):
    """The launchers of an action cannot run it. `index` is the launcher's, None for all."""

    def __init__(self, message: str, hint: str = "", index: int | None = None) -> None:
        super().__init__(message, hint)
        self.index = index


def launcher_prefix(
    action: Action, launchers: Launchers, cluster_name: str, directories: int
) -> str:
    """Return the prefix of the command for a job on `directories`, with its trailing space.

    Raises: LauncherError for an unknown launcher, for several processes without a launcher that
    starts processes, and for more than one such launcher.
    """
    title = f"action '{visible(action.name)}'"
    found: list[Launcher] = []
    for index, name in enumerate(action.launchers):
        launcher = launchers.find(name, cluster_name)
        if launcher is None:
            raise LauncherError(
                f"launcher '{visible(name)}' of {title} not found",
                _known(launchers, name),
                index,
            )
        found.append(launcher)
    processes = action.resources.processes.total(directories)
    starters = [
        name
        for name, launcher in zip(action.launchers, found, strict=True)
        if launcher.processes is not None
    ]
    if processes > 1 and not starters:
        raise LauncherError(
            f"no process launcher for {title}, which requests {processes} processes",
            f"give one of {', '.join(map(repr, action.launchers))} `processes` in launchers.toml"
            if action.launchers
            else 'add one: launchers = ["mpi"]',
        )
    if len(starters) > 1:
        shown = " and ".join(f"'{visible(name)}'" for name in starters)
        raise LauncherError(f"more than one process launcher for {title}: {shown}", "keep one")
    return "".join(_one(launcher, action.resources, processes) for launcher in found)


def starts_processes(action: Action, launchers: Launchers, cluster_name: str) -> bool:
    """Whether one of the action's launchers starts processes, possibly as scheduler job steps."""
    found = (launchers.find(name, cluster_name) for name in action.launchers)
    return any(launcher is not None and launcher.processes is not None for launcher in found)


def _one(launcher: Launcher, resources: Resources, processes: int) -> str:
    parts = []
    if launcher.executable is not None:
        parts.append(launcher.executable)
    if launcher.processes is not None:
        parts.append(f"{launcher.processes}{processes}")
    if launcher.threads_per_process is not None and resources.threads_per_process is not None:
        parts.append(f"{launcher.threads_per_process}{resources.threads_per_process}")
    if launcher.gpus_per_process is not None and resources.gpus_per_process is not None:
        parts.append(f"{launcher.gpus_per_process}{resources.gpus_per_process}")
    return " ".join(parts) + " " if parts else ""


def _known(launchers: Launchers, name: str) -> str:
    known = sorted(launchers.launchers)
    shown = ", ".join(f"'{visible(launcher)}'" for launcher in known)
    return did_you_mean(name, known) or f"the known launchers are {shown}"
