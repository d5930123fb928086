"""Arrays of jobs with the same shape, and the jobs that one call of the scheduler submits.

The input is planned jobs. The result is the same jobs with the arrays that they belong to, and the
script of an array. Jobs that each depend on the task with the same number of one earlier array form
an array too. Jobs have the same shape if their scripts differ only in the part between the header
and the fixed part: token, directories and values. The script holds these parts of the tasks in one
`case`; lines about resources that all tasks share follow once. Source: sbatch's manual.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rowtui.core.base.text import header_value, visible
from rowtui.core.clusters.schedulers.base import task_token
from rowtui.core.clusters.schedulers.kind import scheduler_kind
from rowtui.core.submission.plan.dependencies import depending
from rowtui.core.submission.plan.model import InBundle, PlannedJob
from rowtui.core.submission.scripts.parts import FIXED, ScriptParts, split_script

LARGEST_SCRIPT = 15 << 18  # bytes of tasks; Slurm's default limit for the whole script is 4 MB
_JOB_NAME = "#SBATCH --job-name="


def with_arrays(
    jobs: Sequence[PlannedJob], most_tasks: Mapping[str, int], least: int = 2
) -> tuple[PlannedJob, ...]:
    """Return the jobs in order; neighbours of the same shape become tasks of arrays of two or more.

    `most_tasks`: most tasks in one array, by cluster.
    """
    changed: list[PlannedJob] = []
    run: list[PlannedJob] = []
    shape: tuple[object, ...] = ()  # of the first job of the current array
    size = 0
    tokens: dict[str, str] = {}  # old token -> new token of jobs that became tasks
    tasks: dict[str, tuple[str, int]] = {}  # new token -> array and task number

    def end_run() -> None:
        made = _as_array(run, least)
        for before, after in zip(run, made, strict=True):
            if after.task is not None and after.array:
                tokens[before.token] = after.token
                tasks[after.token] = after.array, after.task
        changed.extend(made)
        run.clear()

    for planned in jobs:
        job = depending(planned, tokens)
        most = most_tasks.get(job.destination.cluster, 0)
        parts = _parts(job) if most else None
        task, common = _of_task(parts.own) if parts else ("", "")
        length = _size(task)
        fits = (
            parts is not None
            and run
            and len(run) < most
            and size + length < LARGEST_SCRIPT
            and shape == _shape(job, parts, common)
            and _waits_along(job, run[0], len(run), tasks)
        )
        if not fits:
            end_run()
            size = 0
            job = depending(job, tokens)
        if parts is None or not (fits or _waits_along(job, job, 0, tasks)):
            changed.append(job)
        else:
            if not run:
                shape = _shape(job, parts, common)
            run.append(job)
            size += length
    end_run()
    return tuple(changed)


def _parts(job: PlannedJob) -> ScriptParts | None:
    return None if job.bundle is not None else split_script(job.script)


def _waits_along(
    job: PlannedJob, first: PlannedJob, number: int, tasks: Mapping[str, tuple[str, int]]
) -> bool:
    """Whether a job may be the task with this number of the array that `first` begins.

    Either both jobs depend on no job, or each depends on the task with its own number of the same
    array.
    """
    if not (job.depends_on or first.depends_on):
        return True
    if len(job.depends_on) != 1 or len(first.depends_on) != 1:
        return False
    beginning = tasks.get(first.depends_on[0])
    return beginning is not None and (
        beginning[1] == 0 and tasks.get(job.depends_on[0]) == (beginning[0], number)
    )


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))


def _shape(job: PlannedJob, parts: ScriptParts, common: str) -> tuple[object, ...]:
    header = [line for line in parts.header if not line.startswith(_JOB_NAME)]
    return (job.action_index, job.destination, header, common, parts.rest)


def _of_task(own: str) -> tuple[str, str]:
    """Return a job's own part without the lines that are shared by equal requests, and those lines.

    Every word of the shared lines is quoted, so that a name cannot contain one of these lines.
    """
    exports = own.find("\nexport ACTION_WORKSPACE_PATH=") + 1
    token = own.find("\nrowtui_token=", exports) + 1
    identity = own.find("\n", token) + 1
    rest = own.find("\nrowtui_not_utf8=", identity) + 1
    if not 0 < exports < token < identity < rest:
        return own, ""
    task = own[:exports] + own[token:identity] + own[rest:]
    return task, own[exports:token] + own[identity:rest]


def _as_array(jobs: Sequence[PlannedJob], least: int) -> list[PlannedJob]:
    if len(jobs) < max(2, least) or any("%j" not in job.log_path for job in jobs):
        return list(jobs)
    array = f"{jobs[0].token}a"
    return [_as_task(job, array, task) for task, job in enumerate(jobs)]


def _as_task(job: PlannedJob, array: str, task: int) -> PlannedJob:
    token = task_token(array, task)
    old = f"\nrowtui_token={job.token}\n"
    return job._replace(
        token=token,
        script=job.script.replace(old, f"\nrowtui_token={token}\n", 1),
        log_path=job.log_path.replace("%j", "%A_%a"),
        array=array,
        task=task,
    )


def array_script(jobs: Sequence[PlannedJob], scheduler: str) -> str:
    """Return the script of an array with these tasks, which may be a part of the array.

    `scheduler`: the name of its kind, which must have arrays.
    """
    task = scheduler_kind(scheduler).array_task
    first = _parts(jobs[0])
    assert first is not None
    name = f"{_JOB_NAME}{header_value(visible(jobs[0].action))}"
    header = [
        name if line.startswith(_JOB_NAME) else line.replace("%j", "%A_%a") for line in first.header
    ]
    tasks = [_of_task(_own(job)) for job in jobs]
    lines = [*header, "", f'case "{task}" in']
    for job, (text, _) in zip(jobs, tasks, strict=True):
        lines += [f"{job.task})", text, ";;"]
    lines += [
        "*)",
        f'echo >&2 "rowtui: this array has no task {task}: nothing was run."',
        "exit 3",
        ";;",
        "esac",
        tasks[0][1],
    ]
    return "\n".join(lines) + FIXED + first.rest


def _own(job: PlannedJob) -> str:
    parts = _parts(job)
    assert parts is not None
    return parts.own


class SubmissionCall(NamedTuple):
    """The content of one submission call: one job, the tasks of one array, or one bundle."""

    jobs: tuple[PlannedJob, ...]

    @property
    def bundle(self) -> InBundle | None:
        """Return the bundle, if the unit is one."""
        return self.jobs[0].bundle

    def task(self, job: PlannedJob) -> int | None:
        """Return the task number of one of the unit's jobs; None for a job sent alone."""
        return job.task if len(self.jobs) > 1 else None

    @property
    def cluster(self) -> str:
        """Return the destination cluster of the unit."""
        return self.jobs[0].destination.cluster

    @property
    def name(self) -> str:
        """Return the unit's name for the user."""
        more = len(self.jobs) - 1
        return self.jobs[0].name + (f" and {more:,} more" if more else "")


def units_of(jobs: Sequence[PlannedJob]) -> list[SubmissionCall]:
    """Return the jobs in order, with neighbours of the same array or bundle in one unit."""
    units: list[list[PlannedJob]] = []
    for job in jobs:
        if units and sent_with(job) and sent_with(job) == sent_with(units[-1][0]):
            units[-1].append(job)
        else:
            units.append([job])
    return [SubmissionCall(tuple(unit)) for unit in units]


def sent_with(job: PlannedJob) -> str:
    """Return the token of the array or bundle that a job is sent in; "" for one that goes alone."""
    return job.bundle.token if job.bundle is not None else job.array
