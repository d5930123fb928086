"""The load of this machine, from the accounting of the local queue.

The input is the queue's files; the result is a `ClusterLoad` with one nameless partition: the
machine's cores and GPUs, less those given to running jobs. The usage of other programs does not
count, as in the supervisor. The module starts and writes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.model import ClusterLoad, PartitionLoad
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.clusters.schedulers.local.machine import Capacity, boot_id, machine_capacity
from rowtui.core.clusters.schedulers.local.planning import plan_jobs
from rowtui.core.clusters.schedulers.local.queue import LocalQueue
from rowtui.core.clusters.schedulers.local.records import QueuedJob
from rowtui.core.clusters.schedulers.local.scheduler import local_folder


def local_load(
    folder: Path | None = None,
    *,
    cluster: str = "local",
    clock: Callable[[], float] = time.time,
) -> ClusterLoad:
    """Return the load of the queue in `folder`, else of this user's queue. Waits only for the disk.

    An unreadable queue is an `error`; an unreadable single job is a notice.
    """
    queue = LocalQueue(folder if folder is not None else local_folder())
    jobs = _Active()
    try:
        capacity = machine_capacity()
        numbers = [number for number in queue.ids() if not queue.has_ended(number)]
    except OSError as error:
        text = f"the queue in {queue.folder} cannot be read: {error.strerror or error}"
        return ClusterLoad(cluster, clock(), error=visible(text))
    except RowtuiError as error:
        return ClusterLoad(cluster, clock(), error=error.message)
    unread = 0
    for number in numbers:
        try:
            jobs.sort_in(queue, number)
        except (OSError, RowtuiError):
            unread += 1
    notices = (f"{plural(unread, 'job')} of the local queue could not be read",) if unread else ()
    return ClusterLoad(cluster, clock(), (_machine(jobs, capacity),), notices=notices)


class _Active:
    """The jobs without a recorded end."""

    def __init__(self) -> None:
        self.running: list[tuple[QueuedJob, float]] = []  # with the seconds since they started
        self.ready: list[QueuedJob] = []
        self.dependent: list[QueuedJob] = []  # wait until other jobs complete

    def sort_in(self, queue: LocalQueue, number: int) -> None:
        job = queue.read_job(number)
        if job is None:
            return
        claim = queue.read_claim(number)
        if claim is None:
            ends = [queue.read_end(other) for other in job.after]
            ready = all(end is not None and end.state is JobState.COMPLETED for end in ends)
            (self.ready if ready else self.dependent).append(job)
        elif claim.pid and claim.boot == boot_id():
            # Also if its keeper was killed: its processes are being ended and still use the cores.
            self.running.append((job, max(time.monotonic() - claim.since, 0.0)))


def _machine(jobs: _Active, capacity: Capacity) -> PartitionLoad:
    pending = jobs.ready + jobs.dependent
    free_cores = capacity.cores - sum(job.cpus for job, _ in jobs.running)
    gpus = len(capacity.gpus)
    return PartitionLoad(
        partition="",
        cores=capacity.cores,
        free_cores=max(free_cores, 0),
        gpus=gpus,
        free_gpus=max(gpus - sum(job.gpus for job, _ in jobs.running), 0),
        nodes=1,
        free_nodes=0 if jobs.running else 1,
        down_nodes=0,
        running=len(jobs.running),
        pending=len(pending),
        pending_cores=sum(job.cpus for job in pending),
        expected_wait=0.0 if _starts_at_once(jobs.ready, jobs.running, capacity) else None,
    )


def _starts_at_once(
    ready: Sequence[QueuedJob], running: Sequence[tuple[QueuedJob, float]], capacity: Capacity
) -> bool:
    """Whether a job of one core, of any length, would start now behind all waiting jobs.

    If not, its start depends on the real run times of jobs, which are unknown.
    """
    if not ready:
        return sum(job.cpus for job, _ in running) < capacity.cores
    small = ready[-1]._replace(
        id=ready[-1].id + 1, cpus=1, gpus=0, memory_mb=0, walltime_seconds=None
    )
    return small.id in plan_jobs([*ready, small], running, capacity).start
