"""Slurm's terms of waiting jobs: read them with squeue, change them with scontrol.

`scontrol update` takes many jobs at once and reports each job that it did not change. Source:
scontrol's manual page, and measured behaviour of 22.05.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rowtui.core.base.text import visible
from rowtui.core.clusters.commands import Transport
from rowtui.core.clusters.schedulers.base import JobAnswer, JobKey
from rowtui.core.clusters.schedulers.job_terms import JobTerms
from rowtui.core.clusters.schedulers.slurm.commands import batches, read_answers, words_of
from rowtui.core.clusters.schedulers.slurm.parse import seconds_of
from rowtui.core.workflow.duration import format_duration

TIMEOUT = 90.0  # Slurm's own clients try for up to 60 s
FORM = "%F|%K|%l|%y|%P|%E"
SUCCESS = "afterok:"  # the dependency that rowtui writes: on the success of other jobs

_REFUSALS = {
    "Access/permission denied": "only administrators may raise a time limit, lower a nice value "
    "below 0, or change jobs of other users",
    "Invalid partition name specified": "the cluster has no partition {partition}",
    "Requested time limit is invalid (missing or exceeds some limit)": "the time limit is longer "
    "than the partition allows",
    "Requested node configuration is not available": "the nodes of the partition are too small",
    "Requested partition configuration not available now": "the partition does not take the job",
    "User's group not permitted to use this partition": "the partition is not open to this user",
    "Job is no longer pending execution": "the job has started in the meantime",
    "Job has already finished": "the job has ended in the meantime",
    "Invalid job id specified": "Slurm has no such job any more",
    "Job dependency problem": "the jobs would wait for each other, or for a job that failed",
}


class SlurmWaiting:
    """The waiting jobs of one Slurm cluster."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def terms(self, jobs: Sequence[JobKey]) -> Mapping[JobKey, JobTerms] | None:
        """Run one squeue for all waiting jobs of this user. See `WaitingTerms`."""
        argv = ["squeue", "-h", "-r", "--me", "-t", "PD", "-o", FORM]
        result = await self._transport.run(argv, timeout=TIMEOUT)
        if result.exit_status != 0 or result.truncated:
            return None
        found = read_terms_of_jobs(result.stdout.decode("utf-8", "replace"))
        return {key: found[key] for key in jobs if key in found}

    async def change(self, jobs: Sequence[JobKey], change: JobTerms) -> tuple[JobAnswer, ...]:
        """Run scontrol, in batches. After a timeout the request may still be carried out."""
        errors: dict[JobKey, str] = {}
        for batch in batches(words_of(jobs)):
            names = ",".join(word.text for word in batch)
            argv = ["scontrol", "update", f"JobId={names}", *_options(change)]
            result = await self._transport.run(argv, timeout=TIMEOUT)
            errors |= read_answers(result, [key for word in batch for key in word.jobs], "changed")
        return tuple(JobAnswer(job, _in_words(errors[job], change)) for job in jobs)


def _options(change: JobTerms) -> list[str]:
    options = []
    if change.limit is not None:
        options.append(f"TimeLimit={format_duration(change.limit)}")
    if change.partition is not None:
        options.append(f"Partition={change.partition}")
    if change.nice is not None:
        options.append(f"Nice={change.nice}")
    if change.after is not None:
        waits = SUCCESS + ":".join(change.awaited) if change.after else ""
        options.append(f"Dependency={waits}")
    return options


def read_terms_of_jobs(text: str) -> dict[JobKey, JobTerms]:
    """Return the terms of each job that squeue printed in the form `FORM`."""
    found = {}
    for line in text.splitlines():
        number, _, rest = line.partition("|")
        task, *fields = rest.split("|", 4)
        if not number.isdecimal() or len(fields) != 4:
            continue
        limit, nice, partition, after = fields
        key = JobKey(int(number), int(task) if task.isdecimal() else None)
        found[key] = JobTerms(
            seconds_of(limit),
            partition,
            int(nice) if re.fullmatch(r"-?[0-9]+", nice) else None,
            _awaited(after),
        )
    return found


def _awaited(text: str) -> str:
    """Return `12, 13_4` for `afterok:12(unfulfilled),afterok:13_4(unfulfilled)`.

    A dependency of another kind keeps its word.
    """
    parts = [re.sub(r"\(\w+\)$", "", part) for part in re.split("[,?]", text)]
    return ", ".join(part.removeprefix(SUCCESS) for part in parts if part not in ("", "(null)"))


def _in_words(error: str, change: JobTerms) -> str:
    words = _REFUSALS.get(error)
    if words is None:
        return error
    return f"{words.format(partition=visible(change.partition or ''))} (Slurm: {error})"
