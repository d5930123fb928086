"""What a scheduler says of a single job on demand, and of everybody's: which can be asked how.

Takes the kind of scheduler and a transport. A scheduler that offers none of it says so in words: a
screen shows that instead of an empty pane. Never part of a poll.
"""

from __future__ import annotations

from typing import NamedTuple

from rowtui.core.clusters.commands import Transport
from rowtui.core.clusters.schedulers.base import Job, JobKey

TIMEOUT = 60.0  # seconds; Slurm's clients themselves try for as long
MOST_BYTES = 4 << 20  # of one answer: some 40,000 jobs of everybody
MOST_FIELDS = 500  # of one job


class Asked(NamedTuple):
    """One command and what it told, name and value; `problem`: why it told nothing."""

    command: str
    fields: tuple[tuple[str, str], ...] = ()
    problem: str = ""


class SchedulerDetail(NamedTuple):
    """What was found out about a job. None: not asked, or not known.

    `start`: epoch seconds. `ahead`: of the `waiting` jobs of its partition, those of higher
    priority; an array counts as one. `problem`: what the scheduler does not offer.
    """

    asked: tuple[Asked, ...] = ()
    priority: tuple[tuple[str, int], ...] = ()
    start: int | None = None
    on: str = ""
    ahead: int | None = None
    waiting: int | None = None
    estimated: bool = False
    problem: str = ""


class Everybody(NamedTuple):
    """Jobs with their users; `cut`: there are more; `problem`: why there is no answer."""

    jobs: tuple[tuple[str, Job], ...] = ()
    problem: str = ""
    cut: bool = False


async def ask_detail(
    kind: str, transport: Transport, job: JobKey, *, estimate: bool
) -> SchedulerDetail:
    """Everything that a scheduler of this kind tells of a job."""
    if kind == "slurm":
        from rowtui.core.clusters.schedulers.slurm_detail import slurm_detail

        return await slurm_detail(transport, job, estimate=estimate)
    if kind == "grid_engine":
        return await _grid_engine(transport, job, estimate=estimate)
    told = "what is known of its jobs stands here" if kind == "local" else "it tells no more"
    return SchedulerDetail(problem=f"a scheduler of the kind {kind} is not asked: {told}")


async def ask_everybody(kind: str, transport: Transport, most: int) -> Everybody:
    """The jobs of all users."""
    if kind == "slurm":
        from rowtui.core.clusters.schedulers.slurm_detail import slurm_everybody

        return await slurm_everybody(transport, most)
    return Everybody(problem="its scheduler does not list other people's jobs")


async def _grid_engine(transport: Transport, job: JobKey, *, estimate: bool) -> SchedulerDetail:
    """Qstat -j, which also says why a job was not started (`scheduling info`)."""
    result = await transport.run(["qstat", "-j", str(job.id)], timeout=TIMEOUT)
    text = result.stdout[:MOST_BYTES].decode("utf-8", "replace")
    fields = tuple(field for field in read_lines(text) if field[0] != "env_list")  # may be secret
    said = " ".join(result.stderr.decode(errors="replace").split())[:300]
    problem = "" if fields and result.exit_status == 0 else said or result.complaint
    asked = (Asked(f"qstat -j {job.id}", fields, problem),)
    without = "Grid Engine gives no estimate of the start" if estimate else ""
    return SchedulerDetail(asked, estimated=estimate, problem=without)


def read_lines(text: str) -> tuple[tuple[str, str], ...]:
    """`job_number:   12` line by line; a line without a name goes on with the one before."""
    fields: list[tuple[str, str]] = []
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if not line.strip() or set(line.strip()) == {"="}:
            continue
        if line[0].isspace() or not colon:
            fields.append(("", line.strip()))
        else:
            fields.append((" ".join(name.split()), value.strip()))
        if len(fields) == MOST_FIELDS:
            break
    return tuple(fields)
