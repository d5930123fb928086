"""Handing one job, or one array of jobs, to a scheduler until it is certain what became of it.

Takes planned jobs and the access to their cluster; gives the scheduler's answer. An answer that got
lost is replaced by a look for the token; where the scheduler certainly has no such job, and jobs
are submitted held, they are sent again under the same token: should the first one turn up later, it
waits, and is taken away by `settle`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple

from rowtui.core.clusters.schedulers.base import (
    Accepted,
    Job,
    JobKey,
    JobSpec,
    OutcomeUnknown,
    SubmitResult,
    Unreachable,
)
from rowtui.core.submission.arrays import array_script
from rowtui.core.submission.bundles import bundle_spec
from rowtui.core.submission.dependencies import after_of
from rowtui.core.submission.in_queue import find_requests
from rowtui.core.submission.model import InBundle, PlannedJob
from rowtui.core.submission.pilot_model import is_in_pilot
from rowtui.core.submission.site import Access
from rowtui.core.text import visible

# How often, and how many seconds apart, a job is looked for whose submission had no clear answer.
LOOKUPS = 3
LOOKUP_PAUSE = 2.0
LONGEST_PAUSE = 30.0
# How long a cluster that gives no clear answers is asked while somebody waits for the submission.
PATIENCE = 180.0
SENDS = 5  # how often the same job is handed over


@dataclass(frozen=True, slots=True)
class Waiting:
    """How long, and how, to wait for clear answers. `say` takes what a person should know."""

    pause: float = LOOKUP_PAUSE
    patience: float = PATIENCE
    stop: Callable[[], bool] = lambda: False
    say: Callable[[str], None] = lambda _: None


class Unit(NamedTuple):
    """What one call of a scheduler submits: one job, the tasks of one array, or one bundle."""

    jobs: tuple[PlannedJob, ...]

    @property
    def bundle(self) -> InBundle | None:
        """The bundle that it is, if it is one."""
        return self.jobs[0].bundle

    def task(self, job: PlannedJob) -> int | None:
        """The number that the scheduler gives one of its jobs; an array's that goes alone: none."""
        return job.task if len(self.jobs) > 1 else None

    @property
    def cluster(self) -> str:
        """The cluster that they go to."""
        return self.jobs[0].destination.cluster

    @property
    def name(self) -> str:
        """For a person."""
        more = len(self.jobs) - 1
        return self.jobs[0].name + (f" and {more:,} more" if more else "")


def units_of(jobs: Sequence[PlannedJob]) -> list[Unit]:
    """The jobs in their order, with neighbours of the same array or bundle together."""
    units: list[list[PlannedJob]] = []
    for job in jobs:
        if units and sent_with(job) and sent_with(job) == sent_with(units[-1][0]):
            units[-1].append(job)
        else:
            units.append([job])
    return [Unit(tuple(unit)) for unit in units]


def sent_with(job: PlannedJob) -> str:
    """The token of the array or bundle that a job is sent in; "" for one that goes alone."""
    return job.bundle.token if job.bundle is not None else job.array


def batches_of(
    jobs: Sequence[PlannedJob], most: Callable[[Unit], int]
) -> Iterator[list[PlannedJob]]:
    """Jobs that are reserved together; an array is not torn apart."""
    batch: list[PlannedJob] = []
    for unit in units_of(jobs):
        if batch and len(batch) + len(unit.jobs) > most(unit):
            yield batch
            batch = []
        batch += unit.jobs
    if batch:
        yield batch


def chunks_of(
    units: Sequence[Unit], most: Callable[[Unit], int], *, first: bool
) -> list[list[Unit]]:
    """What is sent at the same time: never a job together with one that it depends on.

    `first`: nothing was sent before. Then the first goes alone: what the scheduler has against it,
    it has against the others.
    """
    chunks: list[list[Unit]] = []
    inside: set[str] = set()
    for unit in units:
        alone = first and len(chunks) == 1
        depends = inside & {token for job in unit.jobs for token in job.depends_on}
        if not chunks or alone or depends or len(chunks[-1]) >= most(unit):
            chunks.append([])
            inside = set()
        chunks[-1].append(unit)
        inside |= {job.token for job in unit.jobs}
    return chunks


def log_folders(jobs: Sequence[PlannedJob]) -> list[str]:
    """Slurm fails a job without a word if the folder of its log is missing."""
    # The log of a bundle is where that of its first job is.
    folders = {str(PurePosixPath(job.log_path).parent) for job in jobs if job.log_path}
    return sorted(folder for folder in folders if "%" not in folder and folder != ".")


def spec_of(unit: Unit, access: Access, keys: Mapping[str, JobKey]) -> JobSpec:
    """What the scheduler gets. `keys`: of the jobs that these are to wait for, by token."""
    array = unit.bundle is None and len(unit.jobs) > 1
    after = after_of(unit.jobs, keys, array=array)
    if unit.bundle is not None:
        return bundle_spec(unit.jobs, unit.bundle, access, after)
    first = unit.jobs[0]
    return JobSpec(
        token=first.array if array else first.token,
        name=first.name,
        script=array_script(unit.jobs) if array else first.script,
        workdir=access.site.workdir,
        log_path=first.log_path,
        cpus=first.cpus,
        gpus=first.gpus,
        memory_mb=first.memory_mb,
        walltime_seconds=first.walltime_seconds,
        after=after.jobs,
        after_tasks=after.tasks,
        after_each=after.each,
        held=access.scheduler.holds,
        tasks=tuple(job.task or 0 for job in unit.jobs) if array else (),
    )


async def submit_surely(
    unit: Unit, access: Access, keys: Mapping[str, JobKey], waiting: Waiting
) -> SubmitResult:
    """Submit, and ask until the outcome is certain or patience is at its end.

    What is handed to a pilot is not asked for again: settling closes the fence of what did not
    begin, and then it may be submitted anew.
    """
    if is_in_pilot(unit.jobs[0].token):
        from rowtui.core.submission.pilot_spool import hand_over

        return await hand_over(unit.jobs, access)
    scheduler = access.scheduler
    spec = spec_of(unit, access, keys)
    result = await scheduler.submit(spec)
    deadline = asyncio.get_running_loop().time() + waiting.patience
    pause = waiting.pause
    sends = looks = 1
    while isinstance(result, OutcomeUnknown | Unreachable):
        over = asyncio.get_running_loop().time() + pause > deadline or waiting.stop()
        if isinstance(result, OutcomeUnknown):
            found = await find_requests(scheduler, [job.token for job in unit.jobs])
            jobs = () if found is None else found.get(unit.jobs[0].token, ())
            if jobs:
                return Accepted(chosen(jobs).id)
            if found is not None and scheduler.holds:
                if sends >= SENDS or over:
                    return result
                sends += 1
                result = await scheduler.submit(spec)
                continue
            looks += 1
        if over or (not scheduler.holds and looks > LOOKUPS):
            return result
        waiting.say(
            f"{visible(unit.cluster)} gives no clear answer on {unit.name} "
            f"({visible(result.reason)}); asking again"
        )
        await asyncio.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)
        if isinstance(result, Unreachable):
            result = await scheduler.submit(spec)
    return result


def chosen(found: Sequence[Job], runner: int = 0) -> Job:
    """Of several jobs with one token: the one that has the fence, else one that can still run."""
    return min(found, key=lambda it: (it.id != runner, not it.state.active, it.id))
