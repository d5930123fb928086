"""Query a scheduler's details of a single job, or the jobs of all users, on the user's request.

The query depends on the kind of scheduler. If a scheduler offers no details, the answer has a text
that screens show instead of an empty pane. Polls never use this module.
"""

from __future__ import annotations

from typing import NamedTuple

from rowtui.core.clusters.commands import Transport
from rowtui.core.clusters.schedulers.base import Job, JobKey

TIMEOUT = 60.0  # seconds; Slurm's own clients try for as long
MOST_BYTES = 4 << 20  # of one answer: some 40,000 jobs of all users
MOST_FIELDS = 500  # of one job


class CommandOutput(NamedTuple):
    """One command and its output as names and values; `problem`: why there is no output."""

    command: str
    fields: tuple[tuple[str, str], ...] = ()
    problem: str = ""


class SchedulerDetail(NamedTuple):
    """The details of a job. None: not queried, or unknown.

    `start`: epoch seconds. `ahead`: how many of the `waiting` jobs of its partition have a higher
    priority; an array counts as one. `problem`: the information that the scheduler does not offer.
    """

    asked: tuple[CommandOutput, ...] = ()
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
    """Return all details that a scheduler of this kind offers about a job."""
    if kind == "slurm":
        from rowtui.core.clusters.schedulers.slurm.detail import slurm_detail

        return await slurm_detail(transport, job, estimate=estimate)
    if kind == "grid_engine":
        return await _grid_engine(transport, job, estimate=estimate)
    told = "what is known of its jobs stands here" if kind == "local" else "it tells no more"
    return SchedulerDetail(problem=f"a scheduler of the kind {kind} is not asked: {told}")


async def ask_everybody(kind: str, transport: Transport, most: int) -> Everybody:
    """Return the jobs of all users."""
    if kind == "slurm":
        from rowtui.core.clusters.schedulers.slurm.detail import slurm_everybody

        return await slurm_everybody(transport, most)
    return Everybody(problem="its scheduler does not list other people's jobs")


async def _grid_engine(transport: Transport, job: JobKey, *, estimate: bool) -> SchedulerDetail:
    """Run qstat -j, whose output also has the reason why a job waits (`scheduling info`)."""
    result = await transport.run(["qstat", "-j", str(job.id)], timeout=TIMEOUT)
    text = result.stdout[:MOST_BYTES].decode("utf-8", "replace")
    fields = tuple(field for field in read_lines(text) if field[0] != "env_list")  # may be secret
    said = " ".join(result.stderr.decode(errors="replace").split())[:300]
    problem = "" if fields and result.exit_status == 0 else said or result.complaint
    asked = (CommandOutput(f"qstat -j {job.id}", fields, problem),)
    without = "Grid Engine gives no estimate of the start" if estimate else ""
    return SchedulerDetail(asked, estimated=estimate, problem=without)


def read_lines(text: str) -> tuple[tuple[str, str], ...]:
    """Parse lines such as `job_number:   12`; a line without a name continues the one before."""
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
