"""What sacct knows of the resources that ended jobs used, and sstat of running jobs.

A job has a record of its own and one for each step: `12.batch` (its script), `12.extern`, and
`12.0`, ... (what srun started). CPU time is in the record of the job, memory only in those of the
steps. The memory of a job is the largest sum of the peaks of steps that ran at the same time: the
accounts have when each step ran, in whole seconds. Source: sacct's manual, and the measured
behaviour of 22.05 (a step that begins after another has ended begins in the same second at the
earliest).
"""

from __future__ import annotations

import itertools
import math
import re
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from rowtui.core.clusters.commands import Transport
from rowtui.core.clusters.schedulers.base import JobKey, JobState, array_of
from rowtui.core.clusters.schedulers.measured import Measured, MeasuredBy, MeasuredStep
from rowtui.core.clusters.schedulers.slurm.parse import (
    SlurmFormatError,
    job_state,
    records_of,
    seconds_of,
    submitted_token,
)

_FIELDS = (
    "JobName",
    "SubmitLine",
    "Comment",
    "State",
    "Start",
    "ElapsedRaw",
    "TotalCPU",
    "MaxRSS",
    "NTasks",
    "TRESUsageInTot",
    "NodeList",
    "JobID",
)


_NOW = ("JobID", "NTasks", "AveCPU", "MaxRSS", "TRESUsageInTot")


class UsageForm(NamedTuple):
    """One sacct output format: free text first, the job's id last, a random separator."""

    mark: str

    @classmethod
    def new(cls) -> UsageForm:
        """Return a form with a new random separator."""
        return cls(f"|{secrets.token_hex(8)}|")

    @property
    def options(self) -> tuple[str, ...]:
        """The options of sacct: jobs with their steps, no header."""
        return ("-n", "-P", f"--delimiter={self.mark}", f"--format={','.join(_FIELDS)}")

    def read(self, stdout: bytes, wanted: Mapping[JobKey, str]) -> dict[JobKey, Measured]:
        """Return what these jobs used, if they ended. `wanted`: with their tokens in the queue.

        A job with another token has the id of a wanted one by chance. Raises: SlurmFormatError.
        """
        text = stdout.decode("utf-8", "replace")
        found: dict[JobKey, Measured] = {}
        steps: dict[JobKey, list[Mapping[str, str]]] = {}
        for values in records_of(text, self.mark, len(_FIELDS)):
            record = dict(zip(_FIELDS, values, strict=True))
            key, step = _key(record["JobID"])
            if key is None or key not in wanted:
                continue
            if not step:
                found.pop(key, None)
                token = submitted_token(record["Comment"], record["SubmitLine"])
                ours = token in ("", array_of(wanted[key], key.task))
                if ours and _has_ended(record["State"]):
                    found[key], steps[key] = _of_job(record), []
            elif key in found:
                found[key] = _with_step(found[key], record)
                steps[key].append(record)
        return {key: _with_memory(job, steps[key]) for key, job in found.items()}


MOST_STEPS = 1_000  # of one job
MOST_ASKED = 500  # ids on one command line
NOW_OPTIONS = ("-a", "-n", "-P", f"--format={','.join(_NOW)}")
"""The options of sstat: all steps of the jobs, no header. No field contains free text."""


async def ask_usage_now(
    transport: Transport, jobs: Collection[JobKey], seconds: float
) -> dict[JobKey, Measured] | None:
    """Return what running jobs have used; None if Slurm did not answer within `seconds`.

    sstat has its own id for each task of an array, which squeue prints.
    """
    keys = {key.id: key for key in jobs if key.task is None}
    if arrays := sorted({key.id for key in jobs if key.task is not None}):
        ids = ",".join(map(str, arrays[:MOST_ASKED]))
        command = ["squeue", "-h", "-r", "-t", "R", "-j", ids, "-o", "%F|%K|%A"]
        shown = await transport.run(command, timeout=seconds, env={"SLURM_BITSTR_LEN": "0"})
        if shown.exit_status is None or shown.truncated:
            return None
        tasks = read_task_ids(shown.stdout)
        keys |= {number: key for number, key in tasks.items() if key in jobs}
    found: dict[JobKey, Measured] = {}
    numbers = sorted(keys)
    for start in range(0, len(numbers), MOST_ASKED):
        batch = ",".join(map(str, numbers[start : start + MOST_ASKED]))
        result = await transport.run(["sstat", *NOW_OPTIONS, "-j", batch], timeout=seconds)
        # sstat may end with 1 if one of the jobs has just ended.
        if result.exit_status is None or result.truncated:
            return None
        try:
            found |= read_usage_now(result.stdout, keys)
        except SlurmFormatError:
            return None
    return found


def read_task_ids(stdout: bytes) -> dict[int, JobKey]:
    """Return running tasks of arrays by their own ids, from squeue's `%F|%K|%A`."""
    found = {}
    for line in stdout.decode("utf-8", "replace").splitlines():
        parts = line.split("|")
        if len(parts) == 3 and all(part.isdecimal() and len(part) < 19 for part in parts):
            array, task, number = map(int, parts)
            found[number] = JobKey(array, task)
    return found


def read_usage_now(stdout: bytes, wanted: Mapping[int, JobKey]) -> dict[JobKey, Measured]:
    """Return what running jobs have used: the sum of their running steps, from sstat's output.

    `wanted`: jobs by the ids that sstat prints, in which each task of an array has its own. sstat
    also prints tasks that were not asked for, and tasks twice. Raises: SlurmFormatError.
    """
    found: dict[JobKey, Measured] = {}
    steps = set()
    for line in stdout.decode("utf-8", "replace").splitlines():
        values = line.split("|")
        if len(values) != len(_NOW):
            raise SlurmFormatError(line[:300])
        record = dict(zip(_NOW, values, strict=True))
        printed, step = _key(record["JobID"])
        if printed is None or not step or printed.id not in wanted or (printed, step) in steps:
            continue
        steps.add((printed, step))
        key = wanted[printed.id]
        job = found.get(key, Measured(MeasuredBy.SCHEDULER))
        found[key] = _with_running_step(job, record)
    return found


_ID = re.compile(r"(\d+)(?:\+(\d+))?(?:_(\d+))?(?:\.(\S+))?", re.ASCII)


def _key(text: str) -> tuple[JobKey | None, str]:
    """Return the job of `12`, `12_3`, `12.batch`, `12_3.0`, and the step's name or ""."""
    match = _ID.fullmatch(text)
    if match is None:
        return None, ""
    task = None if match[3] is None else int(match[3])
    return JobKey(int(match[1]) + int(match[2] or 0), task), match[4] or ""


def _has_ended(state: str) -> bool:
    found = job_state(state)
    return not found.active and found is not JobState.UNKNOWN


def _of_job(record: Mapping[str, str]) -> Measured:
    elapsed, nodes = record["ElapsedRaw"], record["NodeList"]
    return Measured(
        MeasuredBy.SCHEDULER,
        float(elapsed) if elapsed.isdigit() else None,
        cpu_seconds(record["TotalCPU"]),
        node="" if nodes == "None assigned" else nodes,
    )


def _amounts(step: Mapping[str, str]) -> dict[str, str]:
    parts = step["TRESUsageInTot"].split(",")
    return dict(part.partition("=")[::2] for part in parts if "=" in part)


def _memory_of(step: Mapping[str, str], amounts: Mapping[str, str]) -> int | None:
    """Return the memory of all tasks of a step in KiB."""
    memory = kibibytes(amounts.get("mem", ""))
    if memory is None and (largest := kibibytes(step["MaxRSS"])) is not None:
        memory = largest * int(step["NTasks"]) if step["NTasks"].isdigit() else largest
    return memory


def _with_running_step(job: Measured, step: Mapping[str, str]) -> Measured:
    """Add a running step: unlike ended steps, all running steps use memory at the same time."""
    amounts = _amounts(step)
    cpu = cpu_seconds(amounts.get("cpu", ""))
    if cpu is None and (each := cpu_seconds(step["AveCPU"])) is not None:
        cpu = each * (int(step["NTasks"]) if step["NTasks"].isdigit() else 1)
    if cpu is not None:
        job = job._replace(cpu=(job.cpu or 0.0) + cpu)
    if memory := _memory_of(step, amounts):
        job = job._replace(memory=(job.memory or 0) + memory)
    return job


def _span(step: Mapping[str, str]) -> tuple[float, float]:
    """Return when a step began and ended; without known times, the job may need less than it."""
    start, elapsed = step["Start"], step["ElapsedRaw"]
    if start.isdecimal() and elapsed.isdecimal():
        return float(start), float(start) + float(elapsed)
    return 0.0, math.inf


def _most_at_once(steps: Iterable[tuple[tuple[float, float], int | None]]) -> int | None:
    """Return the most memory of steps at the same time, from their spans; None if none had any.

    A step that ends when another begins does not overlap it. Of steps without a length in one
    second only the largest counts: most of them are short steps one after another.
    """
    changes: list[tuple[float, int, int]] = []  # when, order within that second, amount
    for number, ((start, end), amount) in enumerate(steps, 2):
        changes.append((start, 1 if end > start else number, amount or 0))
        changes.append((end, 0 if end > start else number, -(amount or 0)))
    changes.sort(key=lambda it: it[:2])
    return max(itertools.accumulate(it[2] for it in changes), default=0) or None


def _with_memory(job: Measured, steps: Sequence[Mapping[str, str]]) -> Measured:
    memory = ((_span(it), _memory_of(it, _amounts(it))) for it in steps)
    of_gpus = ((_span(it), kibibytes(_amounts(it).get("gres/gpumem", ""))) for it in steps)
    return job._replace(memory=_most_at_once(memory), gpu_memory=_most_at_once(of_gpus))


def _with_step(job: Measured, step: Mapping[str, str]) -> Measured:
    amounts = _amounts(step)
    if (name := _key(step["JobID"])[1]) != "extern":  # which only holds what others start there
        tasks, elapsed = step["NTasks"], step["ElapsedRaw"]
        part = MeasuredStep(
            name,
            step["JobName"],
            int(tasks) if tasks.isdecimal() else None,
            float(elapsed) if elapsed.isdecimal() else None,
            cpu_seconds(step["TotalCPU"]),
            kibibytes(step["MaxRSS"]),
        )
        job = job._replace(steps=(*job.steps, part)[:MOST_STEPS])
    used = amounts.get("gres/gpuutil", "")
    elapsed = step["ElapsedRaw"]
    if used.isdigit() and elapsed.isdigit():  # the average use in percent, of all GPUs together
        job = job._replace(gpu=(job.gpu or 0.0) + int(used) / 100 * int(elapsed))
    return job


_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGTP]?)", re.ASCII)
_UNITS: Sequence[str] = ("K", "M", "G", "T", "P")


def cpu_seconds(text: str) -> float | None:
    """Return `1-02:03:04`, `02:03:04` or `03:04.567` in seconds."""
    whole, _, part = text.partition(".")
    seconds = seconds_of(whole)
    if seconds is None or (part and not part.isdecimal()):
        return None
    return seconds + float(f"0.{part or 0}")


def kibibytes(text: str) -> int | None:
    """Return `191756K`, `2.60M` or bytes without a unit in KiB."""
    match = _SIZE.fullmatch(text)
    if match is None:
        return None
    if not match[2]:
        return int(float(match[1])) // 1024
    return int(float(match[1]) * 1024 ** _UNITS.index(match[2]))
