"""The script of a bundle: one scheduler job that runs many jobs, each as if it were alone.

Takes planned jobs of one bundle; gives bash text: the header, tables of the jobs, the fixed driver
(`bundle_shell.py`), which ends before bash reads on, and behind it the parts of the jobs' own
scripts. Of these, `sed` puts each job's script together when its turn comes, so that a job runs
exactly what it would run alone, and no process ever reads the scripts of all of them. Source:
measured behaviour of srun (docs/architecture.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from rowtui.core.errors import RowtuiError
from rowtui.core.submission.bundle_header import bundle_header
from rowtui.core.submission.bundle_launch import PROCESSES, STEPS
from rowtui.core.submission.bundle_shell import DRIVER
from rowtui.core.submission.model import InBundle, PlannedJob
from rowtui.core.submission.quote import quote
from rowtui.core.submission.script_parts import FIXED, ScriptParts, split_script
from rowtui.core.text import visible

LAUNCH = {"slurm": STEPS, "local": PROCESSES, "bash": PROCESSES}
ID = {"slurm": "$SLURM_JOB_ID", "local": "${ROWTUI_JOB_ID:-$$}", "bash": "$$"}
# How often the scheduler started it before, if that is counted.
_RESTARTS = {"slurm": "${SLURM_RESTART_COUNT:-0}"}
# A job has begun for good when it is past the fence. What it must not know is taken out of its way.
BEGAN = 'printf \'%s\\n\' "$rowtui_job" >"$rowtui_began"\nunset rowtui_began'


def bundle_script(jobs: Sequence[PlannedJob], scheduler: str) -> str:
    """The script that runs these jobs of one bundle, which need not be all of it.

    They are in the plan's order: in each lane one after another. `scheduler`: slurm, local, bash.
    Raises: RowtuiError for another scheduler.
    """
    launch = LAUNCH.get(scheduler)
    if launch is None:
        raise RowtuiError(f"jobs cannot share one job of the scheduler {visible(scheduler)}")
    bundle = jobs[0].bundle
    assert bundle is not None
    all_parts = [_parts(job) for job in jobs]
    head = ["#!/bin/bash"]
    if scheduler == "slurm":
        head += bundle_header(jobs, bundle)
    # Where the parts will stand depends on how many lines stand before them, not on what these say.
    before = [*head, "", *_tables(jobs, bundle, scheduler, _Places(all_parts, 0).of_jobs)]
    before += [launch.strip("\n"), DRIVER.strip("\n"), ""]
    places = _Places(all_parts, sum(text.count("\n") + 1 for text in before))
    before[len(head) + 1 : -3] = _tables(jobs, bundle, scheduler, places.of_jobs)
    return "\n".join([*before, *places.texts]) + "\n"


def _parts(job: PlannedJob) -> ScriptParts:
    parts = split_script(job.script)
    assert parts is not None
    return parts


class _Places:
    """The parts of all scripts one below the other, each rest once, and in which lines they are.

    `before`: how many lines stand above. `of_jobs`: for each, what `sed` prints: its own part, the
    fixed one, its rest, and then stops.
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
    jobs: Sequence[PlannedJob], bundle: InBundle, scheduler: str, places: Sequence[str]
) -> list[str]:
    lanes: dict[int, list[int]] = {}
    for number, job in enumerate(jobs):
        lanes.setdefault(_place(job).lane, []).append(number)
    return [
        f"rowtui_id={ID[scheduler]} rowtui_restarts={_RESTARTS.get(scheduler, 0)}",
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
    """By number, the tokens of the jobs of the same bundle that a job depends on."""
    waits = []
    for number, job in enumerate(jobs):
        tokens = [it for it in job.depends_on if it.rpartition("~")[0] == _place(job).token]
        if tokens:
            waits.append(f"[{number}]={quote(' '.join(tokens))}")
    return _array("after", waits) if waits else []


def _array(name: str, words: Sequence[str]) -> list[str]:
    return [f"rowtui_{name}=(", *words, ")"]


def job_size(job: PlannedJob) -> str:
    """CPUs, memory in MB or `-`, GPUs, seconds, processes, whether it starts steps itself."""
    memory = "-" if job.memory_mb is None else job.memory_mb
    steps = int(job.starts_steps)
    seconds = _place(job).own_seconds
    return f"{job.cpus} {memory} {job.gpus} {seconds} {job.processes} {steps}"


def _place(job: PlannedJob) -> InBundle:
    assert job.bundle is not None
    return job.bundle
