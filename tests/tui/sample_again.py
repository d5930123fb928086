"""Failed jobs for the sample project: one out of memory, one at its time limit, one with an error.

And what trying them again looks like: the sample's jobs had 96 GB.
"""

from __future__ import annotations

from rowtui.core.base.text import Cost
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.project.next_attempt import AmountChange, memory_text
from rowtui.core.submission.plan.model import JobStep, PlannedJob
from rowtui.core.submission.plan.outcome import read_old_end
from rowtui.core.submission.plan.record import JobRecord
from rowtui.core.workflow.duration import format_duration

from tests.tui.sample import SampleEngine

HAD_MB = 98_304


def with_failures(engine: SampleEngine | None = None) -> SampleEngine:
    """The sample project with 4716 (an error), 4717 (out of memory) and 4718 (time limit)."""
    engine = engine or SampleEngine()
    names = engine.names
    for state, reason, start, elapsed in (
        (JobState.FAILED, "out of memory", 200, 2_900),
        (JobState.FAILED, "time limit", 212, 14_400),
    ):
        those = tuple(names[start : start + 8])
        job = engine._queue(engine.actions[1], those)
        job.state, job.started, job.ended = state, engine.now - 600 - elapsed, engine.now - 600
        job.record = job.record._replace(
            step=JobStep.ENDED, end=read_old_end(None, reason, job.ended)
        )
        engine.failed["equilibrate"].update(dict.fromkeys(those, reason))
    return engine


_WORDS = {"out of memory": "ran out of memory", "time limit": "reached its time limit"}


def tried_again(job: PlannedJob, before: JobRecord, change: AmountChange) -> PlannedJob:
    """The job as the attempt after that one."""
    memory = HAD_MB if change.memory is None else int(change.memory.of(HAD_MB) or 0)
    seconds = job.walltime_seconds
    if change.walltime is not None:
        seconds = int(change.walltime.of(seconds) or 0)
    differences = []
    if memory != HAD_MB:
        differences.append(f"memory {memory_text(HAD_MB)} -> {memory_text(memory)}")
    if seconds != job.walltime_seconds:
        words = f"{format_duration(job.walltime_seconds)} -> {format_duration(seconds)}"
        differences.append(f"time {words}")
    what = _WORDS.get(before.end_reason, f"failed: {before.end_reason}")
    number = before.attempt + 1
    changed = "; ".join(differences) or "the same again"
    script = job.script.replace(
        f"--time={job.walltime_seconds // 60}\n",
        f"--time={seconds // 60}\n#SBATCH --mem={memory}M\n",
    )
    return job._replace(
        token=f"{before.token}-{number}",
        attempt=number,
        memory_mb=memory,
        walltime_seconds=seconds,
        cost=Cost(job.cpus * seconds / 3600, 0.0),
        script=script,
        reasons=(f"attempt {number}: job {before.key} {what}; {changed}", *job.reasons),
    )
