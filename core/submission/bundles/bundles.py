"""Assignment of planned jobs to bundles.

The input is planned jobs and their places from packing. The result is the same jobs, with those of
a bundle next to each other, each with its place. A job in a bundle keeps everything of its own
except its token and its log. A bundle with a single job is submitted as an ordinary job.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rowtui.core.clusters.schedulers.base import member_token
from rowtui.core.submission.plan.dependencies import with_new_tokens
from rowtui.core.submission.plan.model import InBundle, PlannedJob

# Seconds that a bundle gets beyond its longest lane: for its own start and end, and for each start
# of a job (a Slurm step takes 0.1 to 0.5 s).
START_SECONDS = 60
STEP_SECONDS = 2
# Memory (MB) beyond that of the jobs: for the script, and for starting and watching one job (srun
# takes about 10 MB). Slurm counts this memory, and kills a bundle that exceeds its request.
SCRIPT_MB = 32
WATCH_MB = 16


@dataclass(frozen=True, slots=True)
class BundleLayout:
    """One bundle to be made. `lanes`: the positions of jobs, in each lane in their order.

    `seconds`: the longest time of each job, by position. Other fields: see `InBundle`.
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
        """Return the memory in MB that the bundle asks for, with the overhead for its jobs."""
        if self.memory_mb is None:
            return None
        return self.memory_mb + SCRIPT_MB + WATCH_MB * len(self.lanes)

    @property
    def longest(self) -> int:
        """Return the longest time of the bundle in seconds, with the start times of its jobs."""
        each = (sum(times) + STEP_SECONDS * len(times) for times in self.seconds)
        return START_SECONDS + max(each, default=0)


def with_bundles(
    jobs: Sequence[PlannedJob], layouts: Sequence[BundleLayout]
) -> tuple[PlannedJob, ...]:
    """Return the jobs; the jobs of a bundle stand together at the place of its first job."""
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


def _members(jobs: Sequence[PlannedJob], layout: BundleLayout) -> list[PlannedJob]:
    """Return the jobs lane by lane; within a lane in the order in which they run."""
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
    """Return a job as the request with this number of a bundle."""
    token = member_token(place.token, number)
    old = f"\nrowtui_token={job.token}\n"
    log = job.log_path.replace("%j", f"%j.{number}")
    if log == job.log_path and log:
        log = f"{log}.{number}"
    return job._replace(
        token=token,
        script=job.script.replace(old, f"\nrowtui_token={token}\n", 1),
        log_path=log,
        bundle=place,
    )
