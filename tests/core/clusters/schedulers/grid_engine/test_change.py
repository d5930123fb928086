"""Waiting jobs of a real Grid Engine are changed, and what it refuses is explained."""

from __future__ import annotations

import pytest
from rowtui.core.clusters.schedulers.base import JobKey
from rowtui.core.clusters.schedulers.grid_engine.change import GridEngineWaiting
from rowtui.core.clusters.schedulers.job_terms import JobTerms

from tests.rig.grid_engine import GridEngineCluster

pytestmark = [pytest.mark.slow]


@pytest.fixture
def waiting(grid_engine: GridEngineCluster) -> GridEngineWaiting:
    return GridEngineWaiting(grid_engine.transport)


def submitted(grid_engine: GridEngineCluster, options: str = "") -> int:
    command = f"echo true | qsub -terse -h -l h_rt=100,h_vmem=2G {options}"
    return int(grid_engine.run(command).stdout.strip().partition(".")[0])


async def test_waiting_jobs_get_new_terms_and_keep_their_other_requests(
    grid_engine: GridEngineCluster, waiting: GridEngineWaiting
) -> None:
    one, other = (JobKey(submitted(grid_engine)) for _ in range(2))
    assert await waiting.terms([one]) == {one: JobTerms(100, "", 0, "")}
    change = JobTerms(7_200, "serial.q", 50, str(other))
    answers = await waiting.change([one, JobKey(9_999)], change)
    assert [answer.error for answer in answers] == ["", "Grid Engine has no such job any more"]
    assert await waiting.terms([one, other]) == {one: change, other: JobTerms(100, "", 0, "")}
    assert "h_vmem=2G" in grid_engine.run(f"qstat -j {one}").stdout

    await waiting.change([one], JobTerms(after=""))
    assert await waiting.terms([one]) == {one: change._replace(after="")}


async def test_a_refused_job_is_explained_and_stops_no_other(
    grid_engine: GridEngineCluster, waiting: GridEngineWaiting
) -> None:
    array = submitted(grid_engine, "-t 1-3")
    one = JobKey(submitted(grid_engine))
    tasks = [JobKey(array, task) for task in range(3)]

    answers = await waiting.change([tasks[0], one], JobTerms(limit=300))
    assert "an array as a whole" in answers[0].error
    assert not answers[1].error
    answers = await waiting.change(tasks, JobTerms(limit=300))
    assert {answer.error for answer in answers} == {""}
    now = await waiting.terms([*tasks, one])
    assert now is not None
    assert {terms.limit for terms in now.values()} == {300}

    for change, words in (
        (JobTerms(partition="nosuch.q"), 'unknown queue "nosuch.q"'),
        (JobTerms(nice=5_000), "nice values from -1024 to 1,023"),
        (JobTerms(after=f"{array}_1"), "waits for whole arrays"),
    ):
        (answer,) = await waiting.change([one], change)
        assert words in answer.error
