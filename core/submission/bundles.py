"""Planned jobs put into bundles, and a bundle as what a scheduler gets.

Takes planned jobs and where packing puts them; gives the same jobs, those of a bundle next to each
other, each with its place. Everything of a job but its token and its log stays its own. A bundle
of one is not one: that job goes alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from rowtui.core.clusters.schedulers.base import JobSpec, member_token
from rowtui.core.submission.dependencies import After, with_new_tokens
from rowtui.core.submission.model import InBundle, PlannedJob

if TYPE_CHECKING:
    from rowtui.core.submission.site import Access

LOG_NAME = "rowtui-bundle-%j.out"
# What a bundle is given beyond its longest lane: for its own start and end, and for each start of
# a job (a Slurm step takes 0.1 to 0.5 s).
START_SECONDS = 60
STEP_SECONDS = 2
# Memory (MB) that is not its jobs': that of the script, and of what starts and watches one job (a
# srun takes about 10). Slurm counts it, and kills a bundle that goes beyond what it asked for.
SCRIPT_MB = 32
WATCH_MB = 16


@dataclass(frozen=True, slots=True)
class Layout:
    """One bundle to be made. `lanes`: the positions of jobs, in each lane in their order.

    `seconds` is by position: how long each may take. The rest: see `InBundle`.
    """

    node_type: str
    cpus: int
    memory_mb: int | None
    gpus: int
    whole_node: bool
    lanes: tuple[tuple[int, ...], ...]
    seconds: tuple[tuple[int, ...], ...]

    @property
    def asked_mb(self) -> int | None:
        """The memory that it asks for, with what running its jobs takes."""
        if self.memory_mb is None:
            return None
        return self.memory_mb + SCRIPT_MB + WATCH_MB * len(self.lanes)

    @property
    def longest(self) -> int:
        """How long it may take, in seconds, with what starting its jobs takes."""
        each = (sum(times) + STEP_SECONDS * len(times) for times in self.seconds)
        return START_SECONDS + max(each, default=0)


def with_bundles(jobs: Sequence[PlannedJob], layouts: Sequence[Layout]) -> tuple[PlannedJob, ...]:
    """The jobs, those of each bundle together where the first of them was."""
    at: dict[int, list[PlannedJob]] = {}
    taken: set[int] = set()
    tokens: dict[str, str] = {}
    for layout in layouts:
        positions = sorted(position for lane in layout.lanes for position in lane)
        if len(positions) < 2:
            continue
        members = _members(jobs, layout)
        order = [position for lane in layout.lanes for position in lane]
        tokens |= {jobs[it].token: one.token for it, one in zip(order, members, strict=True)}
        at[positions[0]] = members
        taken.update(positions)
    changed: list[PlannedJob] = []
    for position, job in enumerate(jobs):
        if position in at:
            changed += at[position]
        elif position not in taken:
            changed.append(job)
    return with_new_tokens(changed, tokens)


def _members(jobs: Sequence[PlannedJob], layout: Layout) -> list[PlannedJob]:
    """Lane after lane: within a lane the order is that of their turns."""
    token = f"{jobs[min(position for lane in layout.lanes for position in lane)].token}b"
    asked_mb, longest = layout.asked_mb, layout.longest
    members: list[PlannedJob] = []
    for lane, (positions, times) in enumerate(zip(layout.lanes, layout.seconds, strict=True)):
        for position, seconds in zip(positions, times, strict=True):
            place = InBundle(
                token=token,
                node_type=layout.node_type,
                cpus=layout.cpus,
                memory_mb=asked_mb,
                gpus=layout.gpus,
                seconds=longest,
                whole_node=layout.whole_node,
                lane=lane,
                own_seconds=seconds,
            )
            members.append(as_member(jobs[position], place, len(members)))
    return members


def as_member(job: PlannedJob, place: InBundle, number: int) -> PlannedJob:
    """A job as the request with this number of a bundle."""
    token = member_token(place.token, number)
    old = f"\nrowtui_token={job.token}\n"
    log = job.log_path.replace("%j", f"%j.{number}")
    if log == job.log_path and log:
        log = f"{log}.{number}"
    return replace(
        job,
        token=token,
        script=job.script.replace(old, f"\nrowtui_token={token}\n", 1),
        log_path=log,
        bundle=place,
    )


def bundle_spec(
    jobs: Sequence[PlannedJob], bundle: InBundle, access: Access, after: After
) -> JobSpec:
    """What the scheduler gets for these jobs of a bundle, which need not be all of it."""
    from rowtui.core.submission.bundle_script import bundle_script

    first = jobs[0]
    folder = PurePosixPath(first.log_path).parent
    return JobSpec(
        token=bundle.token,
        name=bundle_name(jobs),
        script=bundle_script(jobs, access.scheduler.kind),
        workdir=access.site.workdir,
        log_path=str(folder / LOG_NAME) if first.log_path else "",
        cpus=bundle.cpus,
        gpus=bundle.gpus,
        memory_mb=bundle.memory_mb,
        walltime_seconds=bundle.seconds,
        after=after.jobs,
        after_tasks=after.tasks,
        held=access.scheduler.holds,
    )


def bundle_name(jobs: Sequence[PlannedJob]) -> str:
    """For a person and for the scheduler: the first job, and how many more."""
    more = len(jobs) - 1
    return f"pack {jobs[0].name}" + (f" and {more:,} more" if more else "")
