"""Settings that follow from measured jobs: in Row's form, with the promised share of exceptions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rowtui.core.clusters.schedulers.measured import MeasuredBy, Used
from rowtui.core.submission.plan.outcome import read_old_end
from rowtui.core.usage.amounts import LEAST, evidence
from rowtui.core.usage.model import JobUsage, UsageKind
from rowtui.core.usage.recommend import not_recommended, right_sizes
from rowtui.core.usage.right_size import right_sized
from rowtui.core.usage.store import UsageColumns, UsageStore
from rowtui.core.workflow.model import Processes, Resources, Walltime

SCRIPT = MeasuredBy.SCRIPT


def kind(cpus: int = 1, memory_mb: int | None = 4000, seconds: int = 36_000) -> UsageKind:
    return UsageKind("run", "alpha", "cpu", "me", 1, cpus, 0, memory_mb, seconds)


def job(
    number: int,
    *,
    kib: int = 0,
    wall: float = 100.0,
    cpu: float = 90.0,
    directories: int = 1,
    reason: str = "",
    of: UsageKind | None = None,
) -> JobUsage:
    used = Used(wall, cpu, kib or None, node="n1", wall_by=SCRIPT, cpu_by=SCRIPT, memory_by=SCRIPT)
    it = of or kind()
    end = read_old_end(0, reason, 1e9)
    return JobUsage(f"p-{number}", it, number, directories, end, 1.0, used, True)


def stored(folder: Path, jobs: list[JobUsage]) -> UsageColumns:
    UsageStore(folder).append(jobs)
    return UsageStore(folder).columns()


def test_memory_is_written_per_cpu_of_the_cpus_that_jobs_will_have(tmp_path: Path) -> None:
    # given: jobs of 8 CPUs that kept two of them busy, and used up to 1,000 MB
    jobs = [job(at, kib=(900 + at) * 1024, cpu=190, of=kind(8, 16_000)) for at in range(1, 101)]
    resources = Resources(Processes(), 8, memory_per_cpu_mb=2000, walltime=Walltime(36_000, False))
    # when
    found = right_sized("fit", resources, stored(tmp_path, jobs))
    # then
    assert found.settings.resources.threads_per_process == 2
    assert found.settings.resources.memory_per_cpu_mb == 512
    assert 100 <= found.settings.resources.walltime.seconds <= 120
    assert [it.key for it in found.changed] == [
        "threads_per_process", "memory_per_cpu_mb", "walltime.per_submission",
    ]  # fmt: skip
    assert [it.exceeding for it in found.changed] == [0, 0, 0]
    # and CPUs that stay keep the memory of the job
    found = right_sized("fit", resources, stored(tmp_path, []), only=("memory",))
    assert found.settings.keys == {("memory_per_cpu_mb",): 128}


def test_a_time_that_grows_with_directories_is_written_per_directory(tmp_path: Path) -> None:
    jobs = [job(at, wall=30.0 * (at % 10 + 1), directories=at % 10 + 1) for at in range(100)]
    columns = stored(tmp_path, jobs)
    resources = Resources(walltime=Walltime(36_000, False))
    found = right_sized("fit", resources, columns, only=("walltime",))
    assert found.settings.keys == {
        ("walltime", "per_directory"): 30, ("walltime", "per_submission"): None,
    }  # fmt: skip
    assert found.settings.resources.walltime == Walltime(30, True)
    kept = right_sized("fit", resources, columns, only=("walltime",), keep_forms=True)
    assert kept.settings.keys == {("walltime", "per_submission"): 300}


def test_a_setting_is_never_less_than_a_limit_at_which_a_job_was_killed(tmp_path: Path) -> None:
    jobs = [job(at, kib=100 * 1024) for at in range(300)]
    jobs.append(job(300, kib=900 * 1024, reason="out of memory", of=kind(memory_mb=1000)))
    found = right_sized(
        "fit", Resources(memory_per_cpu_mb=3000), stored(tmp_path, jobs), only=("memory",)
    )
    assert found.settings.keys == {("memory_per_cpu_mb",): 1000}
    [changed] = found.changed
    assert (changed.killed, changed.exceeding, changed.jobs) == (1, 1, 301)
    # and a request of that limit is not said to be enough
    kept = right_sized("fit", Resources(memory_per_cpu_mb=1000), UsageStore(tmp_path).columns())
    assert (
        "memory is unchanged: 1 of 301 measured jobs was killed at this limit: more is needed"
        in (" ".join(it.because for it in kept.kept))
    )


def test_what_jobs_need_already_and_what_was_not_measured_stays(tmp_path: Path) -> None:
    jobs = [job(at, wall=118, cpu=100) for at in range(100)]
    resources = Resources(walltime=Walltime(122, False), memory_per_cpu_mb=100)
    found = right_sized("fit", resources, stored(tmp_path, jobs))
    assert not found.settings.keys
    assert found.settings.resources == resources
    assert len(found.kept) == 3


@pytest.mark.parametrize("risk", [0.02, 0.1])
def test_the_promised_share_of_jobs_exceeds_a_setting(tmp_path: Path, risk: float) -> None:
    random = np.random.default_rng(17)
    promised, exceeded = [], []
    for draw in range(40):
        sizes = random.integers(1, 9, 400)
        walls = 20 * sizes * random.lognormal(0, 0.4, 400)
        jobs = [job(at, wall=float(walls[at]), directories=int(sizes[at])) for at in range(200)]
        columns = stored(tmp_path / str(draw), jobs)
        resources = Resources(walltime=Walltime(36_000, True))
        found = right_sized("fit", resources, columns, only=("walltime",), risk=risk)
        [changed] = found.changed
        limit = changed.after * sizes[200:]
        promised.append(changed.risk)
        exceeded.append(float((walls[200:] > limit).mean()))
    # Amounts are rounded up by at most 5 %, so that fewer jobs than promised exceed them.
    assert np.mean(exceeded) <= np.mean(promised) + 3 * np.std(exceeded) / np.sqrt(40)
    assert np.mean(exceeded) >= 0.4 * np.mean(promised)


def test_an_action_with_too_few_jobs_is_named_with_their_number(tmp_path: Path) -> None:
    rare = kind()._replace(action="rare")
    jobs = [job(at, kib=1024) for at in range(LEAST)]
    jobs += [job(90 + at, kib=1024, of=rare) for at in range(3)]
    jobs.append(job(99, of=rare, reason="exit code 1"))

    assert dict(not_recommended(stored(tmp_path, jobs))) == {
        "rare": "nothing is recommended for memory, walltime and cpus: 3 completed jobs "
        "measured: too few, at least 5 are needed"
    }


def test_a_killed_attempt_counts_with_the_need_that_a_later_attempt_shows(tmp_path: Path) -> None:
    # given: 2,000 works; the 5 % that need more than their limit are tried again with more
    random = np.random.default_rng(4)
    needs = random.lognormal(13, 0.5, 2001)[:-1].astype(int)
    limit = int(np.quantile(needs, 0.95))
    jobs = [
        job(at, kib=min(need, limit), reason="out of memory" if need > limit else "")
        for at, need in enumerate(map(int, needs))
    ]
    late = np.flatnonzero(needs > limit)
    jobs += [job(10_000 + int(at), kib=int(needs[at])) for at in late]
    columns = stored(tmp_path, jobs)

    # when
    counted = evidence(columns, lambda token: int(token.removeprefix("p-")) % 10_000)
    [found] = [it.found for it in right_sizes(counted) if it.resource == "memory"]

    # then: each work counts once, and the promise is that of its needs
    assert (found.jobs, found.killed, len(counted)) == (2000, 0, 2000)
    assert found.risk == pytest.approx(0.01, rel=0.01)
    assert (random.lognormal(13, 0.5, 200_000) > found.amount).mean() == pytest.approx(
        0.01, abs=0.005
    )


@pytest.mark.parametrize(
    ("ends", "kept"),
    [
        (["out of memory", ""], [1]),
        (["out of memory", "out of memory"], [1]),
        (["out of memory", "time limit", ""], [2]),
        (["out of memory", "time limit"], [0, 1]),
        (["out of memory", "exit code 1"], [0, 1]),
        (["", "out of memory"], [0, 1]),
        (["exit code 1", ""], [0, 1]),
    ],
)
def test_only_an_attempt_that_shows_the_need_stands_for_an_earlier_one(
    tmp_path: Path, ends: list[str], kept: list[int]
) -> None:
    columns = stored(tmp_path, [job(at, kib=100, reason=end) for at, end in enumerate(ends)])
    assert [it.job_id for it in evidence(columns, lambda _: "the same").jobs()] == kept
    assert len(evidence(columns, lambda token: token)) == len(ends)
