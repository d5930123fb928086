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
import math
import re
from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.clusters.config.load_node_types import memory_mb
from rowtui.core.clusters.config.node_types import node_of, this_machine
from rowtui.core.clusters.schedulers.kind import kind_of
from rowtui.core.network.simulation.simulate import SimulatedMachines
from rowtui.core.project.sizing.measured import measured_walltimes, one_by_one
from rowtui.core.submission.plan.record import JobRecord
from rowtui.core.submission.sending.fence import seconds_of_job
from rowtui.core.workflow.duration import DurationError, parse_duration
from rowtui.core.workflow.find import has_mapping_files
from rowtui.core.workflow.toml_file import did_you_mean

if TYPE_CHECKING:
    from rowtui.core.clusters.model import Cluster, NodeType
    from rowtui.core.network.definition.spec import Network
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.workflow.model import Action


# The machines that a simulation runs on: a project's configured clusters, or the user's text.
#
# Takes a project, or a text such as `16 CPUs 64 GB x 4`; gives machines in the order of use
# (without GPUs first, then by price per core), the unit of prices, and notices about unknown
# properties. The only information requested from a cluster is its partitions.


UNKNOWN_MB = 1 << 50  # unknown memory of a node: memory is not counted

_CPUS = re.compile(r"([0-9]{1,6}) ?(?:cpus?|cores?)", re.IGNORECASE)
_GPUS = re.compile(r"([0-9]{1,6}) ?gpus?", re.IGNORECASE)
_MEMORY = re.compile(r"[0-9.]{1,12} ?[KMGTP]i?B?", re.IGNORECASE)
_PRICE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?/ ?h", re.IGNORECASE)
_BOOT = re.compile(r"boot ?([0-9]{1,6}) ?s", re.IGNORECASE)
_NUMBER = re.compile(r"(.*?) ?(?:\bx|×|\*) ?([0-9]{1,9}|any)", re.IGNORECASE | re.DOTALL)
_EXAMPLE = 'write for instance "16 CPUs x 4" or "64 CPUs 256 GB 4 GPUs 3.5/h x any, 8 CPUs x 2"'


class Machines(NamedTuple):
    """The machines. `unit`: the unit of prices, "" for none.

    `notices`: sentences on unknown properties.
    """

    machines: tuple[SimulatedMachines, ...]
    unit: str = ""
    notices: tuple[str, ...] = ()

    @property
    def cores(self) -> int | None:
        """Return the number of cores in all; None if there is no limit."""
        total = 0
        for it in self.machines:
            if it.number is None:
                return None
            total += it.number * it.cpus
        return total


def machines_of(project: OpenProject) -> Machines:
    """Return the machines of the cluster that jobs go to.

    With mapping files, the machines of all clusters with node types are returned. Raises:
    RowtuiError if the cluster of this machine cannot be determined.
    """
    clusters = [project.cluster]
    if has_mapping_files(project.root, project.environment):
        for it in project.configured.clusters:
            if it.node_types and it.name != clusters[0].name:
                clusters.append(it)
    notices: list[str] = []
    found: list[tuple[bool, float, SimulatedMachines]] = []
    for cluster in clusters:
        kinds = kinds_of(project, cluster)
        name = visible(cluster.name)
        if not kinds:
            notices.append(
                f"{name} has no node types in clusters.toml "
                f"(`rowtui doctor --node-types {name}` finds them)"
            )
        if any(kind.at_most is None for kind in kinds):
            notices.append(f"the number of nodes of {name} is unknown, and taken as unlimited")
        prefix = f"{cluster.name}/" if len(clusters) > 1 else ""
        for kind in kinds:
            price = float(kind.cpus) if kind.price_per_hour is None else kind.price_per_hour
            found.append((kind.gpus > 0, price / max(1, kind.cpus), _machine(kind, prefix)))
    found.sort(key=lambda it: it[:2])
    machines = tuple(it[2] for it in found)
    units = {
        it.currency for it in clusters if any(k.price_per_hour is not None for k in it.node_types)
    }
    if len(units) > 1:
        notices.append("their prices are in different currencies, so that no cost can be given")
        machines = tuple(it._replace(price_per_hour=None) for it in machines)
    return Machines(machines, units.pop() if len(units) == 1 else "", tuple(notices))


def kinds_of(project: OpenProject, cluster: Cluster) -> tuple[NodeType, ...]:
    """Return the known node types of a cluster."""
    if cluster.node_types:
        return cluster.node_types
    if kind_of(cluster).runs_here:
        return (this_machine(project.environment),)
    nodes = (node_of(it) for it in cluster.partitions if not it.prevent_auto_select)
    return tuple(kind for kind in nodes if kind is not None)


def parse_machines(text: str) -> Machines:
    """Parse the user's text.

    Memory is not counted where the text gives none. Raises: RowtuiError.
    """
    machines = tuple(_parsed(part.strip()) for part in text.split(",") if part.strip())
    if not machines:
        raise RowtuiError("no machine is given", _EXAMPLE)
    return Machines(machines)


def _machine(kind: NodeType, prefix: str) -> SimulatedMachines:
    return SimulatedMachines(
        name=prefix + kind.name,
        cpus=kind.cpus,
        memory_mb=UNKNOWN_MB if kind.memory_mb is None else kind.memory_mb,
        gpus=kind.gpus,
        price_per_hour=kind.price_per_hour,
        number=kind.at_most,
        boot_seconds=float(kind.boot_seconds),
        whole=kind.whole_node,
    )


def _parsed(text: str) -> SimulatedMachines:
    counted = _NUMBER.fullmatch(text)
    rest, number = (text, "1") if counted is None else (counted[1], counted[2].lower())
    found: dict[str, str] = {}
    rest = rest.strip()
    for name, pattern in _PARTS:
        match = pattern.search(rest)
        if match is not None:
            found[name] = match[0] if name == "memory" else match[1]
            rest = f"{rest[: match.start()]} {rest[match.end() :]}"
    memory = memory_mb(found["memory"]) if "memory" in found else UNKNOWN_MB
    cpus = int(found.get("cpus", "0"))
    if rest.strip() or cpus < 1 or memory is None or number == "0":
        raise RowtuiError(f"'{visible(text)}' is no machine", _EXAMPLE)
    return SimulatedMachines(
        name=text if counted is None else counted[1].strip(),
        cpus=cpus,
        memory_mb=memory,
        gpus=int(found.get("gpus", "0")),
        price_per_hour=float(found["price"]) if "price" in found else None,
        number=None if number == "any" else int(number),
        boot_seconds=float(found.get("boot", "0")),
    )


_PARTS: Sequence[tuple[str, re.Pattern[str]]] = (
    ("cpus", _CPUS),
    ("gpus", _GPUS),
    ("price", _PRICE),
    ("boot", _BOOT),
    ("memory", _MEMORY),
)


NEWEST = 200  # jobs of each action that are read
_UNKNOWN_SECONDS = 1.0  # for a node whose action is not in workflow.toml


class RunTimeSource(enum.Enum):
    """The origin of a run time."""

    GIVEN = "given"
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
        """Whether the time is given or measured, and not a limit."""
        return self.basis is not RunTimeSource.LIMIT


def run_times(
    project: OpenProject,
    network: Network,
    given: Mapping[str, float] | None = None,
    measured: Mapping[str, RunTime] | None = None,
) -> dict[str, RunTime]:
    """Return the run time of every node. `given`: seconds by the name of a node or an action.

    `measured`: an earlier result of `measured_times`. Raises: RowtuiError for a name that is
    neither a node nor an action.
    """
    given = given or {}
    _refuse_unknown(network, given)
    known = measured_times(project) if measured is None else measured
    found = {}
    for node in network.nodes:
        answer = given.get(node.name, given.get(node.action))
        if answer is not None:
            found[node.name] = RunTime(answer, RunTimeSource.GIVEN)
        elif node.action in known:
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


def parse_seconds(text: str) -> dict[str, float]:
    """Parse `simulate=120,average=00:05:00` into seconds by name. Raises: RowtuiError."""
    found = {}
    for part in text.split(","):
        if not part.strip():
            continue
        name, equals, value = part.rpartition("=")
        seconds = _seconds(value.strip())
        if not equals or not name.strip() or seconds is None:
            raise RowtuiError(
                f"'{visible(part.strip())}' does not give the run time of a node",
                "write NODE=SECONDS or NODE=HH:MM:SS, several with commas between them",
            )
        found[name.strip()] = seconds
    return found


def _seconds(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        try:
            return float(parse_duration(text))
        except DurationError:
            return None
    return number if math.isfinite(number) and number >= 0 else None


def _refuse_unknown(network: Network, given: Mapping[str, float]) -> None:
    names = list(dict.fromkeys(name for it in network.nodes for name in (it.name, it.action)))
    for name in given:
        if name not in names:
            raise RowtuiError(
                f"there is no node '{visible(name)}' whose run time could be given",
                did_you_mean(name, names) or f"there are: {', '.join(map(visible, names))}",
            )


def _limit(action: Action, directories: int) -> int:
    return action.resources.walltime.total_seconds(directories)


def _from_submission(record: JobRecord) -> float | None:
    if not record.ended_at or not record.submitted_at:
        return None
    return max(0.0, record.ended_at - record.submitted_at)
