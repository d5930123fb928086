"""Which planned jobs may share a scheduler job, by what their headers ask for.

A bundle asks for its own size; everything else in the headers of its jobs (partition, account,
what a site or a user added) must be the same. What asks for nodes, time or files of its own cannot
share.
Source: `header.slurm_header` (the order of lines), the manual of sbatch.
"""

from __future__ import annotations

import re

from rowtui.core.submission.model import PlannedJob

_PREFIX = "#SBATCH "
_OF_ITS_OWN = re.compile(
    r"--(nodes|nodelist|ntasks\S*|cpus-per-\S+|gpus\S*|gres\S*|tres\S*|mem\S*|mincpus|cores-per-\S+"
    r"|threads-per-core|sockets-per-node|time\S*|array|output|error|input|job-name|dependency"
    r"|exclusive|oversubscribe|overcommit|signal|hint|hetjob|wrap|begin|deadline|test-only)(=|\s|$)"
    r"|-[NwncGtaoeiJdsOBL](\s|=|\d|$)|-[a-z]*[Nnct]\d"
)


def header_lines(job: PlannedJob) -> list[str]:
    """The options in a job's header, without `#SBATCH `."""
    script, lines = job.script, []
    begin = script.find("\n") + 1
    while begin and script.startswith(_PREFIX, begin):  # what follows is long
        end = script.find("\n", begin)
        lines.append(script[begin + len(_PREFIX) : end if end >= 0 else None])
        begin = end + 1
    return lines


def shared_options(job: PlannedJob) -> tuple[str, ...]:
    """What a job's header asks for besides its size: jobs that share a bundle have it alike."""
    lines = header_lines(job)
    written = _written(lines)
    own = lines[: len(lines) - len(written)]
    return (*(line for line in own if line.startswith("--partition=")), *written)


def cannot_share(job: PlannedJob, *, waits: bool = False) -> str:
    """Why a job must be a scheduler job of its own, "" if it may share one.

    `waits`: whether jobs that depend on others may.
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
    """The lines of a site or a user: those after the time limit and the warning before it."""
    at = next((at for at, line in enumerate(lines) if line.startswith("--time=")), len(lines) - 1)
    rest = lines[at + 1 :]
    return rest[1:] if rest and rest[0].startswith("--signal=B:USR1") else rest
