"""How busy each partition of a Slurm cluster is: free cores and GPUs, the queue, the likely wait.

Takes one sinfo and one squeue, of everybody's jobs; gives a `ClusterLoad`. Reading is pure, never
raises and skips lines that are not in the form asked for, with a notice; only `slurm_load` runs
commands. What is not known is None, never a guess. Source: sinfo's and squeue's manual pages and
measured answers of Slurm 22.05.

What the figures leave out: a pending job that asked for whole nodes is listed with the cores that
it named, and GPUs asked for by `--gpus` with none; and a job that waits in another partition on
the same nodes is not taken for a competitor.
"""

from __future__ import annotations

import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from rowtui.core.clusters.commands import CommandResult, Transport
from rowtui.core.clusters.model import ClusterLoad, PartitionLoad
from rowtui.core.clusters.schedulers.slurm_describe import gpus_of
from rowtui.core.text import plural, visible

# Size 0 prints a field as long as it is. Nodes that are alike in all of this are one line.
SINFO = (
    "sinfo",
    "-h",
    "-e",
    "--noconvert",
    "-O",
    "PartitionName:0|,Available:0|,StateCompact:0|,Nodes:0|,CPUsState:0|,Gres:0|,GresUsed:0|",
)
# No free text and no id: jobs that are alike are the same line, and are read once.
SQUEUE = ("squeue", "-h", "--noconvert", "-o", "%T|%C|%D|%S|%K|%b|%P|%r")
# Times as epoch seconds; the numbers of an array's waiting tasks whole, not the first 64 letters.
ENVIRONMENT = {"SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "0"}

_NAME_LIMIT = 256  # characters of a partition's name
_SHOWN = 80  # characters of a line that could not be read

# A node in these states takes jobs as soon as it has room. What may follow the word: not awake
# (~ #), reserved by backfill for a job of later (-), to be restarted once it is idle (@).
_IN_SERVICE = re.compile(r"(alloc|comp|idle|mix|plnd)([~#@-]*)")
_CORES = re.compile(r"([0-9]{1,9})/([0-9]{1,9})/[0-9]{1,9}/([0-9]{1,9})")
_NUMBER = re.compile(r"[0-9]{1,9}")
_ENORMOUS = re.compile(r"[0-9]{10}")  # no number of GPUs
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
_HIDING = 4  # a job may hold that many times the CPUs it is listed with: threads of its cores


async def slurm_load(
    transport: Transport,
    *,
    timeout: float,  # noqa: ASYNC109
    cluster: str = "",
    clock: Callable[[], float] = time.time,
) -> ClusterLoad:
    """Ask a cluster how busy it is: sinfo, then squeue, in `timeout` seconds together.

    A command without a clear answer is the `error` of the result, never an idle cluster.
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
    if not result.stdout.strip() and (said := result.stderr.strip()):
        return visible(said.decode(errors="replace").splitlines()[-1])
    return ""


def read_load(sinfo: bytes, squeue: bytes, *, cluster: str, at: float) -> ClusterLoad:
    """The load in the answers to `SINFO` and `SQUEUE`; `at`: epoch seconds. Never raises.

    An answer of which no line can be read is an error. Partitions come in sinfo's order.
    """
    odd_nodes, odd_jobs = _OddLines("sinfo"), _OddLines("squeue")
    rooms = _read_rooms(sinfo, odd_nodes)
    if not rooms:
        return ClusterLoad(cluster, at, error=odd_nodes.notice() or "sinfo named no partition")
    jobs = _read_jobs(squeue, odd_jobs)
    if odd_jobs.lines and not jobs:
        return ClusterLoad(cluster, at, error=odd_jobs.notice())
    notices = [notice for odd in (odd_nodes, odd_jobs) if (notice := odd.notice())]
    # Partitions share nodes, so the busiest says how much is certainly in use.
    in_use = max(room.allocated for room in rooms.values())
    shown = sum(job.cores * number for job, number in jobs if not job.waits)
    hiding = shown * _HIDING < in_use
    if hiding:
        notices.append(
            f"{plural(in_use, 'core')} in use, but squeue shows jobs on {shown:,}: "
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
    """The lines of one command that are not in the form asked for."""

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
    """What the nodes of one partition have, and what of it is free."""

    cores: int = 0
    allocated: int = 0
    free_cores: int = 0
    awake_cores: int = 0  # of the free ones: on nodes that need not be started first
    gpus: int = 0
    free_gpus: int = 0
    node_gpus: int = 0  # the most that are free on one node
    nodes: int = 0
    free_nodes: int = 0
    down_nodes: int = 0
    without_gpus: int = 0  # nodes


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
                # Without a core beside it nobody gets a GPU.
                free_gpus = max(gpus - gpus_of(used), 0) if idle else 0
                room.free_gpus += free_gpus * int(nodes)
                room.node_gpus = max(room.node_gpus, free_gpus)
            case _:
                odd.add(line)
    return rooms


class _Jobs(NamedTuple):
    """What squeue says of jobs that are alike; `cores` are those of one task on all its nodes."""

    partitions: tuple[str, ...]
    waits: bool
    for_room: bool  # it waits for nothing but room
    tasks: int
    cores: int
    node_gpus: int  # on each node
    nodes: int
    start: int | None  # epoch seconds; of a job that waits, as Slurm expects it


def _read_jobs(squeue: bytes, odd: _OddLines) -> list[tuple[_Jobs, int]]:
    """Each kind of job, and how many of it there are."""
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
    """`gres:gpu:a100:2` (until 22.05) and `gres/gpu:2` (later) as sinfo writes them."""
    return re.sub(r"(^|,)gres[:/]", r"\1", text).replace("=", ":")


def _count_tasks(text: str) -> int:
    """How many tasks `0-99:3%2` or `1-2,5,7-9` are; 1 for what is no array (N/A)."""
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
    rivals: int = 0  # that wait for room, and for no more of it than there is
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
    """Seconds until a job of one core (and a GPU where every node has some) would start.

    At once if there is that much on nodes that are awake, and what waits for room needs more
    than there is. Else like its kind: the median of Slurm's own estimates for the jobs with the
    fewest cores that wait for room. Else nobody knows, since how fast cores get free is unknown.
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
