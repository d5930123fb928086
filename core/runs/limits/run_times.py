"""How long one directory of each node takes, and the machines that a simulation runs on.

Takes a project and a network; gives a `RunTime` for each node. The measured time is the median over
the newest successful jobs of each action. If the usage of at least 5 of them is on record, their
times are those that the jobs measured themselves. Otherwise a job is measured from the creation of
its fence until its end mark, both by the clock of the file system. Where those files are elsewhere
(a copy of the project on a cluster) or were removed (`rowtui clean`), the journal is used: from
submission until the end was noticed, which includes the time in the queue. The time of a job that
processed several directories one after another is divided by their number.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.clusters.config.node_types import node_of, this_machine
from rowtui.core.clusters.schedulers.kind import kind_of
from rowtui.core.project.sizing.measured import measured_walltimes, one_by_one
from rowtui.core.submission.plan.record import JobRecord
from rowtui.core.submission.sending.fence import seconds_of_job
from rowtui.core.workflow.find import has_mapping_files

if TYPE_CHECKING:
    from rowtui.core.clusters.model import Cluster, NodeType
    from rowtui.core.network.definition.spec import Network
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.workflow.model import Action


UNKNOWN_MB = 1 << 50  # unknown memory of a node: memory is not counted


class SimulatedMachines(NamedTuple):
    """Machines of one kind.

    `number`: how many there are, None for no limit. `boot_seconds`: from opening a machine until
    its first job begins. `whole`: each job has a whole machine, independent of its needs.
    """

    cpus: int
    memory_mb: int = UNKNOWN_MB
    gpus: int = 0
    number: int | None = 1
    boot_seconds: float = 0.0
    whole: bool = False


def machines_of(project: OpenProject) -> tuple[SimulatedMachines, ...]:
    """Return the machines of the cluster that jobs go to, in the order in which they are used.

    Those without GPUs come first, then those with the lowest price of a core. With mapping files,
    the machines of all clusters with node types are returned. Raises: RowtuiError if the cluster of
    this machine cannot be determined.
    """
    clusters = [project.cluster]
    if has_mapping_files(project.root, project.environment):
        for it in project.configured.clusters:
            if it.node_types and it.name != clusters[0].name:
                clusters.append(it)
    kinds = [kind for cluster in clusters for kind in kinds_of(project, cluster)]
    kinds.sort(key=_in_use)
    return tuple(
        SimulatedMachines(
            cpus=kind.cpus,
            memory_mb=UNKNOWN_MB if kind.memory_mb is None else kind.memory_mb,
            gpus=kind.gpus,
            number=kind.at_most,
            boot_seconds=float(kind.boot_seconds),
            whole=kind.whole_node,
        )
        for kind in kinds
    )


def _in_use(kind: NodeType) -> tuple[bool, float]:
    price = float(kind.cpus) if kind.price_per_hour is None else kind.price_per_hour
    return kind.gpus > 0, price / max(1, kind.cpus)


def kinds_of(project: OpenProject, cluster: Cluster) -> tuple[NodeType, ...]:
    """Return the known node types of a cluster."""
    if cluster.node_types:
        return cluster.node_types
    if kind_of(cluster).runs_here:
        return (this_machine(project.environment),)
    nodes = (node_of(it) for it in cluster.partitions if not it.prevent_auto_select)
    return tuple(kind for kind in nodes if kind is not None)


NEWEST = 200  # jobs of each action that are read
_UNKNOWN_SECONDS = 1.0  # for a node whose action is not in workflow.toml


class RunTimeSource(enum.Enum):
    """The origin of a run time."""

    MEASURED = "measured"
    QUEUED = "measured, with the time in the queue"
    LIMIT = "walltime limit"  # an upper bound


class RunTime(NamedTuple):
    """How long one directory takes. `jobs`: how many were measured."""

    seconds: float
    basis: RunTimeSource
    jobs: int = 0

    @property
    def measured(self) -> bool:
        """Whether the time is measured, and not a limit."""
        return self.basis is not RunTimeSource.LIMIT


def run_times(
    project: OpenProject,
    network: Network,
    measured: Mapping[str, RunTime] | None = None,
) -> dict[str, RunTime]:
    """Return the run time of every node. `measured`: an earlier result of `measured_times`."""
    known = measured_times(project) if measured is None else measured
    found = {}
    for node in network.nodes:
        if node.action in known:
            found[node.name] = known[node.action]
        else:
            actions = project.workflow.named(node.action)
            limit = float(_limit(actions[0], 1)) if actions else _UNKNOWN_SECONDS
            found[node.name] = RunTime(limit, RunTimeSource.LIMIT)
    return found


def measured_times(project: OpenProject) -> dict[str, RunTime]:
    """Return the run times of successful jobs by action. Blocks on the disk."""
    ran: dict[str, list[float]] = {}
    queued: dict[str, list[float]] = {}
    looked: dict[str, int] = {}
    known = measured_walltimes(project)
    for record in project.jobs.records():  # newest first
        if not (record.ended_well and record.directories):
            continue
        actions = project.workflow.named(record.action)
        if not actions or record.action in known or looked.get(record.action, 0) >= NEWEST:
            continue
        looked[record.action] = looked.get(record.action, 0) + 1
        number = one_by_one(actions[0], len(record.directories))
        seconds = seconds_of_job(project.root, record.token)
        if seconds is not None:
            ran.setdefault(record.action, []).append(seconds / number)
        elif (waited := _from_submission(record)) is not None:
            most = min(waited, _limit(actions[0], len(record.directories)))
            queued.setdefault(record.action, []).append(most / number)
    found = {
        action: RunTime(median(every), RunTimeSource.QUEUED, len(every))
        for action, every in queued.items()
    }
    for action, every in ran.items():
        found[action] = RunTime(median(every), RunTimeSource.MEASURED, len(every))
    for action, time in known.items():
        found[action] = RunTime(time.seconds, RunTimeSource.MEASURED, time.jobs)
    return found


def _limit(action: Action, directories: int) -> int:
    return action.resources.walltime.total_seconds(directories)


def _from_submission(record: JobRecord) -> float | None:
    if not record.ended_at or not record.submitted_at:
        return None
    return max(0.0, record.ended_at - record.submitted_at)
