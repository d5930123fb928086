"""Slurm's details about one job that does not run, and the jobs of all users.

The result has fields as Slurm prints them, the parts of the priority, an estimate of the start and
the number of jobs ahead. Each command may fail on its own; its part then has the reason. Polls do
not use this module: `squeue` without a user lists the whole cluster. Source: the manual pages of
scontrol, sprio and squeue; measured behaviour of 22.05.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence

from rowtui.core.clusters.command_log import CommandResult
from rowtui.core.clusters.commands import Transport
from rowtui.core.clusters.schedulers.base import Job, JobKey
from rowtui.core.clusters.schedulers.kind import CommandOutput, Everybody, SchedulerDetail
from rowtui.core.clusters.schedulers.slurm.parse import SlurmFormatError
from rowtui.core.clusters.schedulers.slurm.queue import QueueForm

TIMEOUT = 60.0  # seconds; Slurm's own clients try for as long
MOST_BYTES = 4 << 20  # of one answer: some 40,000 jobs of all users
MOST_FIELDS = 500  # of one job
_EPOCHS: Mapping[str, str | None] = {"SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "0"}
_FIELD = re.compile(r"(?:^|(?<=\s))([A-Z][\w/:&.-]*)=")

PRIORITY = (
    ("priority", "Y"),
    ("age", "A"),
    ("fair share", "F"),
    ("job size", "J"),
    ("partition", "P"),
    ("QOS", "Q"),
    ("association", "B"),
    ("site", "S"),
    ("nice", "N"),
)
"""The parts of a priority in sprio, and the letters that select them; the sum is first."""


UNRANKED = "it has no place in the order yet: it is held, or waits for its time or for other jobs"
"""The problem of jobs for which sprio prints nothing."""


async def slurm_detail(transport: Transport, job: JobKey, *, estimate: bool) -> SchedulerDetail:
    """Query scontrol and sprio; with `estimate` also the start and the jobs ahead."""
    name = str(job)
    shown = await _run(transport, "scontrol", "show", "job", name)
    fields = read_fields(_text(shown))
    known = dict(reversed(fields))
    asked = [CommandOutput(f"scontrol show job {name}", fields, _problem(shown, fields))]
    priority: tuple[tuple[str, int], ...] = ()
    if known.get("JobState", "PENDING").startswith("PENDING"):
        form = "|".join(f"%{letter}" for _, letter in PRIORITY)
        whole = str(job.id)  # sprio does not accept single tasks
        told = await _run(transport, "sprio", "-h", "-j", whole, "-o", form)
        priority = read_priority(_text(told))
        problem = _problem(told, priority)
        if not priority and told.exit_status == 0 and not told.stderr.strip():
            problem = UNRANKED
        asked.append(CommandOutput(f"sprio -j {whole}", problem=problem))
    detail = SchedulerDetail(tuple(asked), priority)
    return await _with_estimate(transport, detail, job, known) if estimate else detail


async def _with_estimate(
    transport: Transport, detail: SchedulerDetail, job: JobKey, known: dict[str, str]
) -> SchedulerDetail:
    """Add the start from the controller's last simulation, and the queue before the job.

    A running job has no place in the queue, and a held one (priority 0) has none before its
    release.
    """
    if not known.get("JobState", "PENDING").startswith("PENDING"):
        return detail._replace(problem="it does not wait: there is no start to estimate")
    name = str(job)
    told = await _run(transport, "squeue", "-h", "--start", "-j", name, "-o", "%S|%Y", env=_EPOCHS)
    start, on = read_start(_text(told))
    asked = [
        *detail.asked,
        CommandOutput(f"squeue --start -j {name}", problem=_problem(told, "ok")),
    ]
    ahead = waiting = None
    partition, own = known.get("Partition", ""), known.get("Priority", "")
    if partition and own.isdecimal() and int(own):
        argv = ("squeue", "-h", "-t", "PD", "-p", partition, "-o", "%Q|%A")
        queue = await _run(transport, *argv)
        asked.append(CommandOutput(f"squeue -t PD -p {partition}", problem=_problem(queue, "ok")))
        if queue.exit_status == 0:
            pairs = [line.partition("|")[::2] for line in _text(queue).split()]
            order = [(-int(rank), int(it)) for rank, it in pairs if (rank + it).isdecimal()]
            waiting = len(order)
            # Of equal priorities the lower number is first.
            ahead = sum(1 for it in order if it < (-int(own), job.id))
    return detail._replace(
        asked=tuple(asked), start=start, on=on, ahead=ahead, waiting=waiting, estimated=True
    )


def read_fields(text: str) -> tuple[tuple[str, str], ...]:
    """Return the fields of lines such as `JobId=3 JobName=simple` as names and values."""
    fields = []
    for line in text.splitlines():
        found = list(_FIELD.finditer(line))
        for at, match in enumerate(found):
            end = found[at + 1].start() if at + 1 < len(found) else len(line)
            fields.append((match[1], line[match.end() : end].strip()))
        if not found and line.strip() and fields:  # a value may have several lines
            fields[-1] = (fields[-1][0], f"{fields[-1][1]} {line.strip()}")
    return tuple(fields[:MOST_FIELDS])


def read_priority(text: str) -> tuple[tuple[str, int], ...]:
    """Return the nonzero parts of the priority, the sum first; () if there are none."""
    line = text.strip().splitlines()[:1]
    parts = line[0].split("|") if line else []
    if len(parts) != len(PRIORITY):
        return ()
    found = []
    for (name, _), part in zip(PRIORITY, parts, strict=True):
        try:
            number = round(float(part))
        except ValueError:
            continue
        if number or name == "priority":
            found.append((name, -number if name == "nice" else number))
    return tuple(found)


def read_start(text: str) -> tuple[int | None, str]:
    """Return when and where a job is expected to start."""
    start, _, on = text.strip().partition("\n")[0].partition("|")
    return (int(start) if start.isdecimal() else None), "" if on in ("(null)", "N/A") else on


async def slurm_everybody(transport: Transport, most: int) -> Everybody:
    """Return all users' waiting and running jobs, at most `most` and MOST_BYTES of output."""
    form = QueueForm.new()
    option = form.option.removesuffix("%j") + "%u %j"  # a user's name has no space
    listed = 'squeue "$@" | head -c ' + str(MOST_BYTES)
    words = ["-h", "-t", "R,CG,PD,S", "-o", option]
    result = await transport.run(
        ["sh", "-c", listed, "squeue", *words], timeout=TIMEOUT, env=_EPOCHS
    )
    said = result.stderr.decode(errors="replace").strip().rpartition("\n")[2]
    if result.exit_status != 0 or (said and not result.stdout):
        return Everybody((), said or result.complaint or "squeue failed")
    stdout, cut = result.stdout, len(result.stdout) >= MOST_BYTES
    if cut:  # the last record is incomplete
        stdout = stdout[: max(0, stdout.rfind(f"{form.mark}>".encode()))]
    try:
        jobs = (await asyncio.to_thread(form.read, stdout)).jobs
    except SlurmFormatError as error:
        return Everybody((), f"squeue printed something unexpected: {error}")
    return Everybody(_with_users(jobs[:most]), cut=cut or len(jobs) > most)


def _with_users(jobs: Sequence[Job]) -> tuple[tuple[str, Job], ...]:
    split = ((job, *job.name.partition(" ")) for job in jobs)
    return tuple((user, job._replace(name=name, token="")) for job, user, _, name in split)


async def _run(
    transport: Transport, *argv: str, env: Mapping[str, str | None] | None = None
) -> CommandResult:
    return await transport.run(list(argv), timeout=TIMEOUT, env=env)


def _text(result: CommandResult) -> str:
    return result.stdout[:MOST_BYTES].decode("utf-8", "replace")


def _problem(result: CommandResult, found: object) -> str:
    """Return the reason in one line if a command gave no result, else ""."""
    if found and result.exit_status == 0:
        return ""
    if result.trouble is not None:
        return result.complaint
    said = " ".join(result.stderr.decode(errors="replace").split())
    return said[:300] or result.complaint or "it printed nothing"
