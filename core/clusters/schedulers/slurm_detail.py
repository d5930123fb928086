"""What Slurm says of one job when a person asks why it does not run, and of other people's jobs.

Takes a transport; gives fields as Slurm writes them, the parts of the priority, an estimate of the
start and how many jobs go first. Each command may fail by itself: then its part says why. Never
asked by the poll: `squeue` without a user lists a whole cluster. Source: the manual pages of
scontrol, sprio and squeue; measured behaviour of 22.05.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rowtui.core.clusters.commands import CommandResult, Transport
from rowtui.core.clusters.schedulers.base import Job, JobKey
from rowtui.core.clusters.schedulers.detail import (
    MOST_BYTES,
    MOST_FIELDS,
    TIMEOUT,
    Asked,
    Everybody,
    SchedulerDetail,
)
from rowtui.core.clusters.schedulers.slurm_parse import UnreadableError
from rowtui.core.clusters.schedulers.slurm_queue import QueueForm

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
"""What sprio adds up, and the letters by which it is asked; the sum first."""


UNRANKED = "it has no place in the order yet: it is held, or waits for its time or for other jobs"
"""Of such jobs sprio says nothing at all."""


async def slurm_detail(transport: Transport, job: JobKey, *, estimate: bool) -> SchedulerDetail:
    """Ask scontrol and sprio; with `estimate` also for the start and for who goes first."""
    name = str(job)
    shown = await _run(transport, "scontrol", "show", "job", name)
    fields = read_fields(_text(shown))
    known = dict(reversed(fields))
    asked = [Asked(f"scontrol show job {name}", fields, _problem(shown, fields))]
    priority: tuple[tuple[str, int], ...] = ()
    if known.get("JobState", "PENDING").startswith("PENDING"):
        form = "|".join(f"%{letter}" for _, letter in PRIORITY)
        whole = str(job.id)  # it knows no single tasks
        told = await _run(transport, "sprio", "-h", "-j", whole, "-o", form)
        priority = read_priority(_text(told))
        problem = _problem(told, priority)
        if not priority and told.exit_status == 0 and not told.stderr.strip():
            problem = UNRANKED
        asked.append(Asked(f"sprio -j {whole}", problem=problem))
    detail = SchedulerDetail(tuple(asked), priority)
    return await _with_estimate(transport, detail, name, known) if estimate else detail


async def _with_estimate(
    transport: Transport, detail: SchedulerDetail, name: str, known: dict[str, str]
) -> SchedulerDetail:
    """The start as the last simulation of the controller had it, and the queue before the job.

    A job that runs has no place in the queue, and a held one (priority 0) none before its release.
    """
    if not known.get("JobState", "PENDING").startswith("PENDING"):
        return detail._replace(problem="it does not wait: there is no start to estimate")
    told = await _run(transport, "squeue", "-h", "--start", "-j", name, "-o", "%S|%Y", env=_EPOCHS)
    start, on = read_start(_text(told))
    asked = [*detail.asked, Asked(f"squeue --start -j {name}", problem=_problem(told, "ok"))]
    ahead = waiting = None
    partition, own = known.get("Partition", ""), known.get("Priority", "")
    if partition and own.isdecimal() and int(own):
        argv = ("squeue", "-h", "-t", "PD", "-p", partition, "-o", "%Q")
        queue = await _run(transport, *argv)
        asked.append(Asked(f"squeue -t PD -p {partition}", problem=_problem(queue, "ok")))
        if queue.exit_status == 0:
            numbers = [int(it) for it in _text(queue).split() if it.isdecimal()]
            waiting, ahead = len(numbers), sum(1 for it in numbers if it > int(own))
    return detail._replace(
        asked=tuple(asked), start=start, on=on, ahead=ahead, waiting=waiting, estimated=True
    )


def read_fields(text: str) -> tuple[tuple[str, str], ...]:
    """`JobId=3 JobName=simple` and so on, line by line, as name and value."""
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
    """The parts of the priority that count; () if it was not told. The sum stands first."""
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
    """When and where a job is expected to start."""
    start, _, on = text.strip().partition("\n")[0].partition("|")
    return (int(start) if start.isdecimal() else None), "" if on in ("(null)", "N/A") else on


async def slurm_everybody(transport: Transport, most: int) -> Everybody:
    """All users' jobs that wait or run, at most `most` and MOST_BYTES of answer."""
    form = QueueForm.new()
    option = form.option.removesuffix("%j") + "%u %j"  # a user's name has no blank
    listed = 'squeue "$@" | head -c ' + str(MOST_BYTES)
    words = ["-h", "-t", "R,CG,PD,S", "-o", option]
    result = await transport.run(
        ["sh", "-c", listed, "squeue", *words], timeout=TIMEOUT, env=_EPOCHS
    )
    said = result.stderr.decode(errors="replace").strip().rpartition("\n")[2]
    if result.exit_status != 0 or (said and not result.stdout):
        return Everybody((), said or result.complaint or "squeue failed")
    stdout, cut = result.stdout, len(result.stdout) >= MOST_BYTES
    if cut:  # the last one is not whole
        stdout = stdout[: max(0, stdout.rfind(f"{form.mark}>".encode()))]
    import asyncio

    try:
        jobs = (await asyncio.to_thread(form.read, stdout)).jobs
    except UnreadableError as error:
        return Everybody((), f"squeue printed something unexpected: {error}")
    return Everybody(_with_users(jobs[:most]), cut=cut or len(jobs) > most)


def _with_users(jobs: Sequence[Job]) -> tuple[tuple[str, Job], ...]:
    from dataclasses import replace

    split = ((job, *job.name.partition(" ")) for job in jobs)
    return tuple((user, replace(job, name=name, token="")) for job, user, _, name in split)


async def _run(
    transport: Transport, *argv: str, env: Mapping[str, str | None] | None = None
) -> CommandResult:
    return await transport.run(list(argv), timeout=TIMEOUT, env=env)


def _text(result: CommandResult) -> str:
    return result.stdout[:MOST_BYTES].decode("utf-8", "replace")


def _problem(result: CommandResult, found: object) -> str:
    """Why there is nothing, in one line."""
    if found and result.exit_status == 0:
        return ""
    if result.trouble is not None:
        return result.complaint
    said = " ".join(result.stderr.decode(errors="replace").split())
    return said[:300] or result.complaint or "it said nothing"
