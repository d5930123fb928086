"""The script and specification of a bundle: a scheduler job that runs many jobs as if alone.

The input is planned jobs of one bundle. The result is bash text: the header, tables of the jobs,
the fixed driver (`shell.py`), which exits before bash reads further, and then the parts of
the jobs' own scripts. When a job starts, `sed` assembles its script from these parts, so that a job
runs exactly what it would run alone, and no process ever reads the scripts of all jobs. Source:
measured behaviour of srun (docs/background/submission.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.clusters.schedulers.base import JobSpec
from rowtui.core.clusters.schedulers.kind import SchedulerKind, scheduler_kind
from rowtui.core.submission.bundles.header import LOG_NAME, bundle_header, bundle_name
from rowtui.core.submission.bundles.launch import PROCESSES, STEPS
from rowtui.core.submission.bundles.shell import DRIVER
from rowtui.core.submission.plan.model import InBundle, PlannedJob
from rowtui.core.submission.scripts.quote import quote
from rowtui.core.submission.scripts.script_parts import FIXED, ScriptParts, split_script

if TYPE_CHECKING:
    from rowtui.core.submission.plan.dependencies import After
    from rowtui.core.submission.sending.site import Access

# A job has begun when it is past the fence. Variables of the driver are then removed from its
# environment.
BEGAN = 'printf \'%s\\n\' "$rowtui_job" >"$rowtui_began"\nunset rowtui_began'


def bundle_script(jobs: Sequence[PlannedJob], scheduler: str) -> str:
    """Return the script that runs these jobs of one bundle, which may be a part of the bundle.

    The jobs are in the plan's order: within each lane one after another. `scheduler`: the name of
    its kind. Raises: RowtuiError for a scheduler that cannot run several jobs in one.
    """
    kind = scheduler_kind(scheduler)
    if not kind.bundle_id:
        raise RowtuiError(f"jobs cannot share one job of the scheduler {visible(scheduler)}")
    bundle = jobs[0].bundle
    assert bundle is not None
    all_parts = [_parts(job) for job in jobs]
    head = ["#!/bin/bash"]
    if kind.starts_steps:
        head += bundle_header(jobs, bundle)
    # The line numbers of the parts depend on the number of lines before them, not on their content.
    before = [*head, "", *_tables(jobs, bundle, kind, _Places(all_parts, 0).of_jobs)]
    before += [launch_text(kind), DRIVER.strip("\n"), ""]
    places = _Places(all_parts, sum(text.count("\n") + 1 for text in before))
    before[len(head) + 1 : -3] = _tables(jobs, bundle, kind, places.of_jobs)
    return "\n".join([*before, *places.texts]) + "\n"


def bundle_spec(
    jobs: Sequence[PlannedJob], bundle: InBundle, access: Access, after: After
) -> JobSpec:
    """Return the job specification for these jobs, which may be a part of their bundle."""
    first = jobs[0]
    folder = PurePosixPath(first.log_path).parent
    return JobSpec(
        token=bundle.token,
        name=bundle_name(jobs),
        script=bundle_script(jobs, access.scheduler.kind),
        workdir=access.site.workdir,
        log_path=str(folder / LOG_NAME) if first.log_path else "",
        cpus=bundle.cpus,
        gpus=bundle.gpus,
        memory_mb=bundle.memory_mb,
        walltime_seconds=bundle.seconds,
        after=after.jobs,
        after_tasks=after.tasks,
        held=access.scheduler.holds,
    )


def launch_text(kind: SchedulerKind) -> str:
    """Return the bash functions that start the requests of a bundle or a pilot."""
    return (STEPS if kind.starts_steps else PROCESSES).strip("\n")


def _parts(job: PlannedJob) -> ScriptParts:
    parts = split_script(job.script)
    assert parts is not None
    return parts


class _Places:
    """The parts of all scripts in sequence, with each shared rest once, and their line numbers.

    `before`: number of lines above. `of_jobs`: for each job, the `sed` commands that print its own
    part, the fixed part and its rest, and then quit.
    """

    def __init__(self, all_parts: Sequence[ScriptParts], before: int) -> None:
        self.texts: list[str] = []
        self._line = before
        owns = [self._add(parts.own) for parts in all_parts]
        fixed = self._add(f"{FIXED}\n{BEGAN}")
        rests: dict[str, tuple[int, int]] = {}
        self.of_jobs = []
        for own, parts in zip(owns, all_parts, strict=True):
            if parts.rest not in rests:
                rests[parts.rest] = self._add(parts.rest.strip("\n"))
            first, last = rests[parts.rest]
            ranges = f"{own[0]},{own[1]}p;{fixed[0]},{fixed[1]}p;{first},{last}p;{last}q"
            self.of_jobs.append(ranges)

    def _add(self, text: str) -> tuple[int, int]:
        first = self._line + 1
        self._line += text.count("\n") + 1
        self.texts.append(text)
        return first, self._line


def _tables(
    jobs: Sequence[PlannedJob], bundle: InBundle, kind: SchedulerKind, places: Sequence[str]
) -> list[str]:
    lanes: dict[int, list[int]] = {}
    for number, job in enumerate(jobs):
        lanes.setdefault(_place(job).lane, []).append(number)
    return [
        f"rowtui_id={kind.bundle_id} rowtui_restarts={kind.bundle_restarts}",
        f"rowtui_cpus={bundle.cpus} rowtui_gpus={bundle.gpus}",
        *_array("lanes", [f"'{' '.join(map(str, lane))}'" for _, lane in sorted(lanes.items())]),
        *_array("sizes", [f"'{job_size(job)}'" for job in jobs]),
        *_array("places", [f"'{ranges}'" for ranges in places]),
        *_array("tokens", [quote(job.token) for job in jobs]),
        *_array("names", [quote(visible(job.name)) for job in jobs]),
        *_after(jobs),
        *_array("logs", [quote(job.log_path) for job in jobs]),
        "",
    ]


def _after(jobs: Sequence[PlannedJob]) -> list[str]:
    """Return, by job number, the tokens of jobs in the same bundle on which the job depends."""
    waits = []
    for number, job in enumerate(jobs):
        tokens = [it for it in job.depends_on if it.rpartition("~")[0] == _place(job).token]
        if tokens:
            waits.append(f"[{number}]={quote(' '.join(tokens))}")
    return _array("after", waits) if waits else []


def _array(name: str, words: Sequence[str]) -> list[str]:
    return [f"rowtui_{name}=(", *words, ")"]


def job_size(job: PlannedJob) -> str:
    """Return CPUs, MB of memory or `-`, GPUs, seconds, processes, 1 for a job with own steps."""
    memory = "-" if job.memory_mb is None else job.memory_mb
    steps = int(job.starts_steps)
    seconds = _place(job).own_seconds
    return f"{job.cpus} {memory} {job.gpus} {seconds} {job.processes} {steps}"


def _place(job: PlannedJob) -> InBundle:
    assert job.bundle is not None
    return job.bundle
