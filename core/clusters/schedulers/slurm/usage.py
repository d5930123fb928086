"""Parse what sacct knows of the resources that ended jobs used. The module is pure.

A job has a record of its own and one for each step: `12.batch` (its script), `12.extern`, and
`12.0`, ... (what srun started). CPU time is in the record of the job, memory only in those of the
steps. Steps may run at the same time or one after another, so the peak of the largest step is what
the job certainly needed. Source: sacct's manual, seff of Slurm's contribs, and the measured
behaviour of 22.05.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rowtui.core.clusters.schedulers.base import JobKey, JobState, array_of
from rowtui.core.clusters.schedulers.measured import Measured, MeasuredBy
from rowtui.core.clusters.schedulers.slurm.parse import (
    COMMENT_PREFIX,
    SlurmFormatError,
    job_state,
    token_of,
)

_FIELDS = (
    "SubmitLine",
    "Comment",
    "State",
    "ElapsedRaw",
    "TotalCPU",
    "MaxRSS",
    "NTasks",
    "TRESUsageInTot",
    "NodeList",
    "JobID",
)


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
        records = self._records(stdout.decode("utf-8", "replace"))
        found: dict[JobKey, Measured] = {}
        for record in records:
            key, step = _key(record["JobID"])
            if key is None or key not in wanted:
                continue
            if not step:
                found.pop(key, None)
                if _is_the_one(record, array_of(wanted[key], key.task)) and _has_ended(
                    record["State"]
                ):
                    found[key] = _of_job(record)
            elif key in found:
                found[key] = _with_step(found[key], record)
        return found

    def _records(self, text: str) -> list[dict[str, str]]:
        last = len(_FIELDS) - 1
        parts = text.split(self.mark)
        if not text.strip():
            return []
        if (len(parts) - 1) % last:
            raise SlurmFormatError(text[:300])
        records = []
        first = parts[0]
        for at in range(1, len(parts), last):
            name, _, following = parts[at + last - 1].partition("\n")
            values = [first, *parts[at : at + last - 1], name]
            records.append(dict(zip(_FIELDS, values, strict=True)))
            first = following
        return records


_ID = re.compile(r"(\d+)(?:\+(\d+))?(?:_(\d+))?(?:\.(\S+))?", re.ASCII)


def _key(text: str) -> tuple[JobKey | None, str]:
    """Return the job of `12`, `12_3`, `12.batch`, `12_3.0`, and the step's name or ""."""
    match = _ID.fullmatch(text)
    if match is None:
        return None, ""
    task = None if match[3] is None else int(match[3])
    return JobKey(int(match[1]) + int(match[2] or 0), task), match[4] or ""


def _is_the_one(record: Mapping[str, str], token: str) -> bool:
    given = re.search(rf"--comment={COMMENT_PREFIX}([A-Za-z0-9._-]+)", record["SubmitLine"])
    named = token_of(record["Comment"]) or (given[1] if given else "")
    return named in ("", token)


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


def _with_step(job: Measured, step: Mapping[str, str]) -> Measured:
    amounts = dict(
        part.partition("=")[::2] for part in step["TRESUsageInTot"].split(",") if "=" in part
    )
    memory = kibibytes(amounts.get("mem", ""))
    if memory is None and (largest := kibibytes(step["MaxRSS"])) is not None:
        memory = largest * int(step["NTasks"] or 1) if step["NTasks"].isdigit() else largest
    gpu_memory = kibibytes(amounts.get("gres/gpumem", ""))
    if memory:
        job = job._replace(memory=max(memory, job.memory or 0))
    if gpu_memory:
        job = job._replace(gpu_memory=max(gpu_memory, job.gpu_memory or 0))
    used = amounts.get("gres/gpuutil", "")
    elapsed = step["ElapsedRaw"]
    if used.isdigit() and elapsed.isdigit():  # the average use in percent, of all GPUs together
        job = job._replace(gpu=(job.gpu or 0.0) + int(used) / 100 * int(elapsed))
    return job


_CPU = re.compile(r"(?:(?:(\d+)-)?(\d+):)?(\d+):(\d+(?:\.\d+)?)", re.ASCII)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGTP]?)", re.ASCII)
_UNITS: Sequence[str] = ("K", "M", "G", "T", "P")


def cpu_seconds(text: str) -> float | None:
    """Return `1-02:03:04`, `02:03:04` or `03:04.567` in seconds."""
    match = _CPU.fullmatch(text)
    if match is None:
        return None
    days, hours, minutes = (int(part or 0) for part in match.groups()[:3])
    return ((days * 24 + hours) * 60 + minutes) * 60 + float(match[4])


def kibibytes(text: str) -> int | None:
    """Return `191756K`, `2.60M` or bytes without a unit in KiB."""
    match = _SIZE.fullmatch(text)
    if match is None:
        return None
    if not match[2]:
        return int(float(match[1])) // 1024
    return int(float(match[1]) * 1024 ** _UNITS.index(match[2]))
