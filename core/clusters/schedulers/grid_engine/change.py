"""Grid Engine's terms of waiting jobs: read them with `qstat -j`, change them with qalter.

`qalter -l` replaces all requests of a job, so the requests that stay are given again. The tasks of
an array have the same terms: they are changed together, or not at all. Source: the manual page of
submit, and measured behaviour of 8.1.9.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rowtui.core.clusters.command_log import CommandResult
from rowtui.core.clusters.commands import Transport
from rowtui.core.clusters.schedulers.base import JobAnswer, JobKey
from rowtui.core.clusters.schedulers.grid_engine.parse import (
    QstatFormatError,
    knows_none,
    read_queue,
    seconds_of,
)
from rowtui.core.clusters.schedulers.job_terms import JobTerms

TIMEOUT = 90.0  # a qalter would wait for a frozen qmaster without limit
BATCH = 500  # words on one command line
LEAST_NICE, MOST_NICE = -1024, 1023  # a priority is from -1023 to 1024
NO_JOB = "0"  # as the only job to wait for: it waits for none
ENV = {"TZ": "UTC0", "LC_ALL": "C"}

_FIELDS = ("hard resource_list", "hard_queue_list", "priority", "jid_predecessor_list")
_DONE = re.compile(r"modified |blocking jobs: |exited jobs: |.* sets scheduling priority of job")


class GridEngineWaiting:
    """The waiting jobs of one Grid Engine cluster."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def terms(self, jobs: Sequence[JobKey]) -> Mapping[JobKey, JobTerms] | None:
        """Run `qstat -j`, in batches. See `WaitingTerms`."""
        fields = await self._fields(sorted({key.id for key in jobs}))
        if fields is None:
            return None
        return {key: _terms(fields[key.id]) for key in jobs if key.id in fields}

    async def change(self, jobs: Sequence[JobKey], change: JobTerms) -> tuple[JobAnswer, ...]:
        """Run qalter for each job. After a timeout the request may still be carried out."""
        why = _impossible(change)
        ids = sorted({key.id for key in jobs})
        fields = None if why else await self._fields(ids)
        if fields is None:
            why = why or "the present requests of the job could not be read: qstat failed"
            return tuple(JobAnswer(key, why) for key in jobs)
        parts = await self._parts_of_arrays(frozenset(jobs))
        errors: dict[int, str] = {}
        for number in ids:
            if number not in fields:
                errors[number] = "Grid Engine has no such job any more"
            elif parts is None or number in parts:
                errors[number] = (
                    "Grid Engine changes an array as a whole: choose all of its tasks that wait"
                )
            else:
                argv = ["qalter", *_options(change, fields[number]), str(number)]
                errors[number] = _refusal(await self._run(argv))
        return tuple(JobAnswer(key, errors[key.id]) for key in jobs)

    async def _run(self, argv: Sequence[str]) -> CommandResult:
        return await self._transport.run(argv, timeout=TIMEOUT, env=ENV)

    async def _fields(self, ids: Sequence[int]) -> dict[int, dict[str, str]] | None:
        found: dict[int, dict[str, str]] = {}
        for start in range(0, len(ids), BATCH):
            batch = ",".join(map(str, ids[start : start + BATCH]))
            result = await self._run(["qstat", "-j", batch])
            if result.exit_status != 0 and not knows_none(result):
                return None
            found |= read_job_fields(result.stdout.decode(errors="replace"))
        return found

    async def _parts_of_arrays(self, chosen: frozenset[JobKey]) -> frozenset[int] | None:
        """Return the arrays with a waiting task that is not chosen; None if that is unknown."""
        if all(key.task is None for key in chosen):
            return frozenset()
        result = await self._run(["qstat", "-xml", "-r", "-s", "p"])
        if result.exit_status != 0 or result.truncated:
            return None
        try:
            waiting = read_queue(result.stdout, 0.0).jobs
        except QstatFormatError:
            return None
        left = (job for job in waiting if job.task is not None and job.key not in chosen)
        return frozenset(job.id for job in left)


def read_job_fields(text: str) -> dict[int, dict[str, str]]:
    """Return the fields of `qstat -j` that belong to the terms, by the id of the job."""
    found: dict[int, dict[str, str]] = {}
    fields: dict[str, str] = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name == "job_number" and value.strip().isdecimal():
            fields = found.setdefault(int(value), {})
        elif name in _FIELDS:
            fields[name] = value.strip()
    return found


def _terms(fields: Mapping[str, str]) -> JobTerms:
    asked, queue, priority, after = (fields.get(name, "") for name in _FIELDS)
    limits = [one.partition("=")[2] for one in asked.split(",") if one.startswith("h_rt=")]
    nice = -int(priority) if re.fullmatch("-?[0-9]+", priority) else 0
    waits = ", ".join(re.split(r"[,\s]+", after)) if after else ""
    return JobTerms(seconds_of(limits[0]) if limits else None, queue, nice, waits)


def _impossible(change: JobTerms) -> str:
    if change.nice is not None and not LEAST_NICE <= change.nice <= MOST_NICE:
        return f"Grid Engine takes nice values from {LEAST_NICE} to {MOST_NICE:,}"
    if any("_" in job for job in change.awaited):
        return "in Grid Engine a job waits for whole arrays, not for single tasks"
    return ""


def _options(change: JobTerms, fields: Mapping[str, str]) -> list[str]:
    options = []
    if change.limit is not None:
        asked = [one for one in fields.get("hard resource_list", "").split(",") if one]
        asked = [one for one in asked if not one.startswith("h_rt=")]
        options += ["-l", ",".join([f"h_rt={change.limit}", *asked])]
    if change.partition is not None:
        options += ["-q", change.partition]
    if change.nice is not None:
        options += ["-p", str(-change.nice)]
    if change.after is not None:
        options += ["-hold_jid", ",".join(change.awaited) or NO_JOB]
    return options


def _refusal(result: CommandResult) -> str:
    """Return why qalter did not change the job, in its own words; "" if it did."""
    if result.exit_status == 0:
        return ""
    if result.trouble is not None:
        return f"{result.complaint} (it may still be changed)"
    output = (result.stdout + b"\n" + result.stderr).decode(errors="replace").splitlines()
    words = [re.sub(r"^(denied: |qalter: )", "", line.strip()) for line in output]
    reasons = [line for line in words if line and not _DONE.match(line)]
    return "; ".join(dict.fromkeys(reasons)) or result.complaint
