"""Which planned jobs may share a scheduler job, from the options in their headers.

A bundle asks for its own size; everything else in the headers of its jobs (partition, account,
additions of the site or the user) must be equal. A job that asks for its own nodes, time or files
cannot share. Source: `header.slurm_header` (the order of lines), the manual of sbatch.
"""

from __future__ import annotations

import re

from rowtui.core.submission.plan.model import PlannedJob

_PREFIX = "#SBATCH "
_OF_ITS_OWN = re.compile(
    r"--(nodes|nodelist|ntasks\S*|cpus-per-\S+|gpus\S*|gres\S*|tres\S*|mem\S*|mincpus|cores-per-\S+"
    r"|threads-per-core|sockets-per-node|time\S*|array|output|error|input|job-name|dependency"
    r"|exclusive|oversubscribe|overcommit|signal|hint|hetjob|wrap|begin|deadline|test-only)(=|\s|$)"
    r"|-[NwncGtaoeiJdsOBL](\s|=|\d|$)|-[a-z]*[Nnct]\d"
)


def header_lines(job: PlannedJob) -> list[str]:
    """Return the options in a job's header, without `#SBATCH `."""
    script, lines = job.script, []
    begin = script.find("\n") + 1
    while begin and script.startswith(_PREFIX, begin):  # the rest of the script is long
        end = script.find("\n", begin)
        lines.append(script[begin + len(_PREFIX) : end if end >= 0 else None])
        begin = end + 1
    return lines


def shared_options(job: PlannedJob) -> tuple[str, ...]:
    """Return the options of a job's header besides its size, equal for all jobs of a bundle."""
    lines = header_lines(job)
    written = _written(lines)
    own = lines[: len(lines) - len(written)]
    return (*(line for line in own if line.startswith("--partition=")), *written)


def cannot_share(job: PlannedJob, *, waits: bool = False) -> str:
    """Return why a job must be a separate scheduler job, "" if it may share one.

    `waits`: whether jobs that depend on others may share.
    """
    if job.depends_on and not waits:
        return "it waits for other jobs"
    if job.script.startswith("#!/bin/bash\n#$ "):
        return "jobs of Grid Engine are not packed"
    for line in _written(header_lines(job)):
        if _OF_ITS_OWN.match(line.strip()):
            return f"its option {line.strip()} is for a job of its own"
    return ""


def _written(lines: list[str]) -> list[str]:
    """Return the lines of a site or a user: those after the time limit and the warning signal."""
    at = next((at for at, line in enumerate(lines) if line.startswith("--time=")), len(lines) - 1)
    rest = lines[at + 1 :]
    return rest[1:] if rest and rest[0].startswith("--signal=B:USR1") else rest
