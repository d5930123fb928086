"""Waiting jobs of a real Slurm are changed, and what it refuses is explained."""

from __future__ import annotations

import pytest
from rowtui.core.clusters.command_log import CommandResult
from rowtui.core.clusters.commands import LocalTransport
from rowtui.core.clusters.schedulers.base import JobKey
from rowtui.core.clusters.schedulers.job_terms import JobTerms
from rowtui.core.clusters.schedulers.slurm.change import SlurmWaiting

from tests.rig.slurm import SlurmCluster

pytestmark = pytest.mark.slurm


@pytest.fixture
def waiting(slurm: SlurmCluster) -> SlurmWaiting:
    return SlurmWaiting(LocalTransport({"SLURM_CONF": str(slurm.conf)}))


async def test_waiting_jobs_and_tasks_get_new_terms_and_the_others_keep_theirs(
    slurm: SlurmCluster, waiting: SlurmWaiting
) -> None:
    one, other = (JobKey(slurm.submit("true", "--hold --time=10")) for _ in range(2))
    array = slurm.submit("true", "--hold --time=10 --array=0-5")
    tasks = [JobKey(array, task) for task in range(6)]
    assert await waiting.terms([one, tasks[0]]) == dict.fromkeys(
        (one, tasks[0]), JobTerms(600, "cpu", 0, "")
    )

    change = JobTerms(7_200, "highmem", 50, f"{other}")
    answers = await waiting.change([one, *tasks[1:3], tasks[4]], change)
    assert {answer.error for answer in answers} == {""}
    now = await waiting.terms([one, other, *tasks])
    assert now is not None
    changed = {key for key, terms in now.items() if terms == change}
    assert changed == {one, *tasks[1:3], tasks[4]}
    assert {now[key] for key in now.keys() - changed} == {JobTerms(600, "cpu", 0, "")}

    await waiting.change([one], JobTerms(after=""))
    now = await waiting.terms([one])
    assert now == {one: change._replace(after="")}


async def test_a_refused_job_is_explained_and_stops_no_other(
    slurm: SlurmCluster, waiting: SlurmWaiting
) -> None:
    waits = JobKey(slurm.submit("true", "--hold --time=10"))
    runs = slurm.submit("sleep 300", "--time=10")
    slurm.wait_for(runs, "RUNNING")
    gone, array = JobKey(999_999), JobKey(999_998, 3)

    answers = await waiting.change([gone, JobKey(runs), waits, array], JobTerms(partition="gpu"))
    assert [(answer.job, answer.error.partition(" (")[0]) for answer in answers] == [
        (gone, "Slurm has no such job any more"),
        (JobKey(runs), "the job has started in the meantime"),
        (waits, ""),
        (array, "Slurm has no such job any more"),
    ]
    (answer,) = await waiting.change([waits], JobTerms(partition="nosuch"))
    assert answer.error == (
        "the cluster has no partition nosuch (Slurm: Invalid partition name specified)"
    )
    (answer,) = await waiting.change([waits], JobTerms(after=f"{waits}"))
    assert answer.error.startswith("the jobs would wait for each other")
    assert await waiting.terms([waits]) == {waits: JobTerms(600, "gpu", 0, "")}


async def test_a_user_may_not_raise_a_limit() -> None:
    class Denying(LocalTransport):
        async def run(self, argv, **options) -> CommandResult:  # type: ignore[no-untyped-def]
            assert argv == ["scontrol", "update", "JobId=7,8", "TimeLimit=02:00:00"]
            return CommandResult(tuple(argv), 1, b"", b"Access/permission denied for job 8\n")

    answers = await SlurmWaiting(Denying()).change([JobKey(7), JobKey(8)], JobTerms(7_200))
    assert not answers[0].error
    assert answers[1].error.startswith("only administrators may raise a time limit")
