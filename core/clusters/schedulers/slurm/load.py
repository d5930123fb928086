"""The load of each partition of a Slurm cluster: free cores and GPUs, the queue, the likely wait.

The input is one sinfo and one squeue of all users' jobs; the result is a `ClusterLoad`. Parsing is
pure, never raises, and skips lines of another form, with a notice; only `slurm_load` runs commands.
An unknown value is None, never a guess. Source: the manual pages of sinfo and squeue, and measured
answers of Slurm 22.05.

The figures have limits: a pending job that asked for whole nodes counts with the cores that it
named, and GPUs asked for by `--gpus` do not count; a job that waits in another partition on the
same nodes does not count as a competitor.
"""

from __future__ import annotations

import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.command_log import CommandResult
from rowtui.core.clusters.commands import Transport
from rowtui.core.clusters.model import ClusterLoad, PartitionLoad
from rowtui.core.clusters.schedulers.slurm.describe import gpus_of

# Size 0 prints a field in full length. Nodes that are equal in all these fields share one line.
SINFO = (
    "sinfo",
    "-h",
    "-e",
    "--noconvert",
    "-O",
    "PartitionName:0|,Available:0|,StateCompact:0|,Nodes:0|,CPUsState:0|,Gres:0|,GresUsed:0|",
)
# No free text and no id: equal jobs have the same line, which is parsed once.
SQUEUE = ("squeue", "-h", "--noconvert", "-o", "%T|%C|%D|%S|%K|%b|%P|%r")
# Times as epoch seconds; the numbers of an array's waiting tasks in full, not the first 64
# characters.
ENVIRONMENT = {"SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "0"}

_NAME_LIMIT = 256  # characters of a partition's name
_SHOWN = 80  # characters of a line that could not be parsed

# A node in these states accepts jobs as soon as it has free resources. The suffix means: asleep (~
# #), reserved by backfill for a later job (-), to be restarted once it is idle (@).
_IN_SERVICE = re.compile(r"(alloc|comp|idle|mix|plnd)([~#@-]*)")
_CORES = re.compile(r"([0-9]{1,9})/([0-9]{1,9})/[0-9]{1,9}/([0-9]{1,9})")
_NUMBER = re.compile(r"[0-9]{1,9}")
_ENORMOUS = re.compile(r"[0-9]{10}")  # not a number of GPUs
_TIME = re.compile(r"[0-9]{1,12}")
_TASKS = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9})(?::([0-9]{1,9}))?)?")
_WAITING = frozenset(
    {"PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"}
)
# Reasons of jobs that would not start on an idle cluster either.
_NOT_FOR_ROOM = (
    "AccountNotAllowed",
    "Assoc",
    "BadConstraints",
    "BeginTime",
    "DeadLine",
    "Dependency",
    "Invalid",
    "JobArrayTaskLimit",
    "JobHeld",
    "JobHoldMaxRequeue",
    "Licenses",
    "MaxMemPerLimit",
    "Partition",
    "QOS",
    "ReqNodeNotAvail",
    "Reservation",
    "job requeued in held state",
    "launch failed requeued held",
)
_HIDING = 4  # a job may hold this multiple of its listed CPUs: the threads of its cores


async def slurm_load(
    transport: Transport,
    *,
    timeout: float,  # noqa: ASYNC109
    cluster: str = "",
    clock: Callable[[], float] = time.time,
) -> ClusterLoad:
    """Query the load of a cluster: sinfo, then squeue, in `timeout` seconds together.

    If a command has no clear answer, the result has an `error`; it is never an idle cluster.
    """
    nodes = await transport.run(SINFO, timeout=timeout, env=ENVIRONMENT)
    if error := _no_answer(nodes):
        return ClusterLoad(cluster, clock(), error=error)
    left = max(timeout - nodes.seconds, 0.1)
    jobs = await transport.run(SQUEUE, timeout=left, env=ENVIRONMENT)
    if error := _no_answer(jobs):
        return ClusterLoad(cluster, clock(), error=error)
    return read_load(nodes.stdout, jobs.stdout, cluster=cluster, at=clock())


def _no_answer(result: CommandResult) -> str:
    name = result.argv[0] if result.argv else "the command"
    if result.exit_status != 0:
        return visible(result.complaint) or f"{name} failed"
    if result.truncated:
        return f"{name} printed more than can be read"
    if not result.stdout.strip() and (text := result.stderr.strip()):
        return visible(text.decode(errors="replace").splitlines()[-1])
    return ""


def read_load(sinfo: bytes, squeue: bytes, *, cluster: str, at: float) -> ClusterLoad:
    """Parse the answers to `SINFO` and `SQUEUE`; `at`: epoch seconds. Never raises.

    An answer without any readable line is an error. Partitions are in sinfo's order.
    """
    odd_nodes, odd_jobs = _OddLines("sinfo"), _OddLines("squeue")
    rooms = _read_rooms(sinfo, odd_nodes)
    if not rooms:
        return ClusterLoad(cluster, at, error=odd_nodes.notice() or "sinfo named no partition")
    jobs = _read_jobs(squeue, odd_jobs)
    if odd_jobs.lines and not jobs:
        return ClusterLoad(cluster, at, error=odd_jobs.notice())
    notices = [notice for odd in (odd_nodes, odd_jobs) if (notice := odd.notice())]
    # Partitions share nodes, so the maximum is a lower bound of the cores in use.
    in_use = max(room.allocated for room in rooms.values())
    shown = sum(job.cores * number for job, number in jobs if not job.waits)
    hiding = shown * _HIDING < in_use
    if hiding:
        notices.append(
            f"{plural(in_use, 'CPU')} in use, but squeue shows jobs on {shown:,}: "
            "other people's jobs seem to be hidden"
        )
    queues: dict[str, list[tuple[_Jobs, int]]] = {name: [] for name in rooms}
    for job, number in jobs:
        for name in dict.fromkeys(job.partitions):
            if name in queues:
                queues[name].append((job, number))
    loads = (_load(name, rooms[name], queues[name], at, hiding) for name in rooms)
    return ClusterLoad(cluster, at, tuple(loads), notices=tuple(notices))


@dataclass(slots=True)
class _OddLines:
    """The lines of one command that have another form."""

    command: str
    lines: int = 0
    first: str = ""

    def add(self, line: str, times: int = 1) -> None:
        self.lines += times
        self.first = self.first or line[:_SHOWN]

    def notice(self) -> str:
        if not self.lines:
            return ""
        lines = plural(self.lines, "line")
        return f"{self.command}: {lines} could not be read, the first: {visible(self.first)}"


@dataclass(slots=True)
class _Room:
    """The resources of the nodes of one partition, and the free part of them."""

    cores: int = 0
    allocated: int = 0
    free_cores: int = 0
    awake_cores: int = 0  # free cores on nodes that need not be started first
    gpus: int = 0
    free_gpus: int = 0
    node_gpus: int = 0  # the largest number of free GPUs on one node
    nodes: int = 0
    free_nodes: int = 0
    down_nodes: int = 0
    without_gpus: int = 0  # number of nodes


def _read_rooms(sinfo: bytes, odd: _OddLines) -> dict[str, _Room]:
    rooms: dict[str, _Room] = {}
    for line in sinfo.decode("utf-8", "surrogateescape").split("\n"):
        if not line.strip():
            continue
        match [part.strip() for part in line.split("|")]:
            case [name, available, state, nodes, cpus, gres, used, ""] if (
                0 < len(name) <= _NAME_LIMIT
                and _NUMBER.fullmatch(nodes)
                and (cores := _CORES.fullmatch(cpus))
                and not _ENORMOUS.search(f"{gres} {used}")
            ):
                allocated, idle, total = map(int, cores.groups())
                room = rooms.setdefault(name, _Room())
                gpus = gpus_of(gres)
                in_service = _IN_SERVICE.fullmatch(state) if available == "up" else None
                room.cores += total
                room.allocated += allocated
                room.nodes += int(nodes)
                room.gpus += gpus * int(nodes)
                room.without_gpus += 0 if gpus else int(nodes)
                if in_service is None:
                    room.down_nodes += int(nodes)
                    continue
                room.free_cores += idle
                room.awake_cores += 0 if set(in_service[2]) & set("~#") else idle
                room.free_nodes += int(nodes) if in_service[1] in ("idle", "plnd") else 0
                # A GPU can be used only if a core is free on the same node.
                free_gpus = max(gpus - gpus_of(used), 0) if idle else 0
                room.free_gpus += free_gpus * int(nodes)
                room.node_gpus = max(room.node_gpus, free_gpus)
            case _:
                odd.add(line)
    return rooms


class _Jobs(NamedTuple):
    """Equal lines of squeue; `cores` are those of one task on all its nodes."""

    partitions: tuple[str, ...]
    waits: bool
    for_room: bool  # the job waits only for resources
    tasks: int
    cores: int
    node_gpus: int  # on each node
    nodes: int
    start: int | None  # epoch seconds; for a waiting job Slurm's estimate


def _read_jobs(squeue: bytes, odd: _OddLines) -> list[tuple[_Jobs, int]]:
    """Return each kind of job with its number of lines."""
    jobs = []
    lines = Counter(squeue.decode("utf-8", "surrogateescape").split("\n"))
    for line, times in lines.items():
        if not line.strip():
            continue
        match line.split("|", 7):
            case [state, cores, nodes, start, tasks, gres, partitions, reason] if (
                _NUMBER.fullmatch(cores)
                and (least_nodes := _NUMBER.match(nodes))
                and not _ENORMOUS.search(gres)
            ):
                waits = state in _WAITING
                job = _Jobs(
                    tuple(partitions.split(",")),
                    waits,
                    state == "PENDING" and not reason.startswith(_NOT_FOR_ROOM),
                    _count_tasks(tasks) if waits else 1,
                    int(cores),
                    gpus_of(_without_gres(gres)),
                    int(least_nodes[0]),
                    int(start) if _TIME.fullmatch(start) else None,
                )
                jobs.append((job, times))
            case _:
                odd.add(line, times)
    return jobs


def _without_gres(text: str) -> str:
    """Convert `gres:gpu:a100:2` (until 22.05) and `gres/gpu:2` (later) to the form of sinfo."""
    return re.sub(r"(^|,)gres[:/]", r"\1", text).replace("=", ":")


def _count_tasks(text: str) -> int:
    """Count the tasks of `0-99:3%2` or `1-2,5,7-9`; 1 for a job that is no array (N/A)."""
    total = 0
    for item in text.partition("%")[0].split(","):
        if match := _TASKS.fullmatch(item):
            first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
            total += max((last - first) // max(step, 1) + 1, 1)
    return max(total, 1)


def _load(
    name: str, room: _Room, queue: Iterable[tuple[_Jobs, int]], at: float, hiding: bool
) -> PartitionLoad:
    waiting = _Waiting()
    running = 0
    for job, times in queue:
        if job.waits:
            waiting.add(job, times, room)
        else:
            running += times
    return PartitionLoad(
        partition=name,
        cores=room.cores,
        free_cores=room.free_cores,
        gpus=room.gpus,
        free_gpus=room.free_gpus,
        nodes=room.nodes,
        free_nodes=room.free_nodes,
        down_nodes=room.down_nodes,
        running=running,
        pending=waiting.jobs,
        pending_cores=waiting.cores,
        expected_wait=None if hiding else _expected_wait(room, waiting, at),
    )


@dataclass(slots=True)
class _Waiting:
    """The jobs that wait for one partition."""

    jobs: int = 0
    cores: int = 0
    rivals: int = 0  # jobs that wait for resources and need no more than are free
    starts: list[tuple[int, int]] = field(default_factory=list)  # cores, expected start

    def add(self, job: _Jobs, times: int, room: _Room) -> None:
        self.jobs += job.tasks * times
        self.cores += job.cores * job.tasks * times
        if not job.for_room:
            return
        if (
            job.cores <= room.free_cores
            and job.node_gpus <= room.node_gpus
            and job.node_gpus * job.nodes <= room.free_gpus
        ):
            self.rivals += times
        if job.start is not None:
            self.starts += [(job.cores, job.start)] * times


def _expected_wait(room: _Room, waiting: _Waiting, at: float) -> float | None:
    """Estimate the seconds until a job of one core (and a GPU if every node has some) would start.

    The wait is 0 if these resources are free on nodes that are awake, and every job that waits for
    resources needs more than are free. Otherwise it is the median of Slurm's own estimates for the
    waiting jobs with the fewest cores. Without estimates it is None, because the rate at which
    cores become free is unknown.
    """
    if room.nodes == room.down_nodes:
        return None
    needs_gpu = room.without_gpus == 0
    if room.awake_cores and (room.free_gpus or not needs_gpu) and not waiting.rivals:
        return 0.0
    if not waiting.starts:
        return None
    fewest = min(cores for cores, _ in waiting.starts)
    starts = [start for cores, start in waiting.starts if cores == fewest]
    return max(float(statistics.median(starts)) - at, 0.0)
