"""Accounts kept by a real slurmdbd: what left the queue, what limits refuse, what outages hide.

One cluster stores comments, where tokens are, and one does not, as most do.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import pytest
from rowtui.core.clusters.commands import LocalTransport
from rowtui.core.clusters.schedulers.base import (
    Accepted,
    Job,
    JobKey,
    JobSpec,
    JobState,
    Rejected,
    task_token,
)
from rowtui.core.clusters.schedulers.kind import scheduler_kind
from rowtui.core.clusters.schedulers.slurm.detail import UNRANKED
from rowtui.core.clusters.schedulers.slurm.scheduler import SlurmScheduler

from tests.eventually import eventually, eventually_async
from tests.rig.accounting import AccountingRig
from tests.rig.processes import listening_addresses
from tests.rig.slurm import SlurmCluster

pytestmark = pytest.mark.slurm

NOT_YET = ("PENDING", "RUNNING")


class Ended(NamedTuple):
    """How a job ended, as a test sees it."""

    state: JobState
    exit_code: int | None = None
    exit_signal: int | None = None


SCRIPTS = {
    "well": "true",
    "badly": "exit 4",
    "killed": "kill -9 $$",
    "stopped": "sleep 300",
}
ENDS = {
    "well": Ended(JobState.COMPLETED, 0),
    "badly": Ended(JobState.FAILED, 4),
    "killed": Ended(JobState.FAILED, None, 9),
    "stopped": Ended(JobState.CANCELLED, 0),
    "never began": Ended(JobState.CANCELLED, 0),
}
TASKS = (1, 4, 7)
TASK_ENDS = {
    1: Ended(JobState.COMPLETED, 0),
    4: Ended(JobState.FAILED, 1),
    7: Ended(JobState.COMPLETED, 0),
}


def ended(job: Job) -> Ended:
    return Ended(job.state, job.exit_code, job.exit_signal)


def scheduler_of(cluster: SlurmCluster, **options: float) -> SlurmScheduler:
    transport = LocalTransport({"SLURM_CONF": str(cluster.conf)})
    return SlurmScheduler(cluster.name, transport, **options)  # type: ignore[arg-type]


def spec(cluster: SlurmCluster, body: str, header: str = "", **changes: object) -> JobSpec:
    lines = "".join(f"#SBATCH {line}\n" for line in header.splitlines())
    values: dict[str, object] = {
        "token": secrets.token_hex(8),
        "name": "test",
        "script": f"#!/bin/bash\n#SBATCH --output=/dev/null\n{lines}\n{body}\n",
        "workdir": cluster.work,
        "log_path": "/dev/null",
    }
    return JobSpec(**(values | changes))  # type: ignore[arg-type]


@dataclass
class Past:
    """Jobs that are in the accounts of a cluster, and no longer in its queue."""

    cluster: SlurmCluster
    scheduler: SlurmScheduler
    jobs: dict[str, JobSpec]
    ids: dict[str, int]

    @classmethod
    async def submit(cls, cluster: SlurmCluster) -> Past:
        header = "--time=5\n--job-name=a|b"
        jobs = {name: spec(cluster, script, header) for name, script in SCRIPTS.items()}
        jobs["never began"] = spec(cluster, "true", header, held=True)
        jobs["array"] = spec(cluster, "exit $((SLURM_ARRAY_TASK_ID == 4))", header, tasks=TASKS)
        past = cls(cluster, scheduler_of(cluster), jobs, {})
        for name, job in jobs.items():
            past.ids[name] = await accepted(past.scheduler, job)
        return past

    def cancel(self) -> None:
        """One job while it runs, one that is held."""
        self.cluster.wait_for(self.ids["stopped"], "RUNNING")
        self.cluster.run(f"scancel {self.ids['stopped']} {self.ids['never began']}")

    def wait_for_records(self) -> None:
        """slurmctld sends ends at once, but only every 5 s what jobs there were."""
        ids = ",".join(map(str, self.ids.values()))
        form = "sacct -X -n -P -o State,SubmitLine -j"

        def complete() -> bool:
            lines = self.cluster.run(f"{form} {ids}").stdout.splitlines()
            whole = all("|sbatch " in line and not line.startswith(NOT_YET) for line in lines)
            return whole and len(lines) == len(ENDS) + len(TASKS)

        eventually(complete, what="the accounts to have all jobs", every=0.1)


async def accepted(scheduler: SlurmScheduler, job: JobSpec) -> int:
    answer = await scheduler.submit(job)
    assert isinstance(answer, Accepted), answer
    return answer.job_id


@pytest.fixture(scope="module")
def begun(slurm_accounts: AccountingRig) -> Mapping[str, Past]:
    """The same jobs on both clusters. Their records take up to ten seconds, beside other tests."""
    clusters = {
        "comments": slurm_accounts.cluster,
        "no comments": slurm_accounts.without_comments,
    }
    pasts = {name: asyncio.run(Past.submit(cluster)) for name, cluster in clusters.items()}
    for past in pasts.values():
        past.cancel()
    return pasts


@pytest.fixture(scope="module")
def pasts(begun: Mapping[str, Past]) -> Mapping[str, Past]:
    """Those jobs after their controllers have forgotten everything.

    They give ids from 1 on again: what asks for these by their ids comes before other jobs.
    """
    for past in begun.values():
        past.wait_for_records()
        past.cluster.wipe_controller()
    return begun


@pytest.fixture(params=["comments", "no comments"])
def past(request: pytest.FixtureRequest, pasts: Mapping[str, Past]) -> Past:
    return pasts[request.param]


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("--account=nosuch", "Invalid account or account/partition combination specified"),
        ("--qos=nosuch", "Invalid qos specification"),
        ("--qos=closed", "Invalid qos specification"),
    ],
)
@pytest.mark.usefixtures("begun")
async def test_an_account_or_a_qos_that_one_may_not_use_is_rejected(
    slurm_accounts: AccountingRig, header: str, words: str
) -> None:
    cluster = slurm_accounts.cluster
    assert await scheduler_of(cluster).submit(spec(cluster, "true", header)) == Rejected(words)


async def test_one_job_more_than_a_qos_lets_wait_is_rejected_and_it_says_which_limit_that_is(
    slurm_accounts: AccountingRig,
) -> None:
    cluster = slurm_accounts.cluster
    scheduler = scheduler_of(cluster)
    jobs = [spec(cluster, "true", "--account=lab\n--qos=fast", held=True) for _ in range(3)]
    ids = [await accepted(scheduler, job) for job in jobs[:2]]

    answer = await scheduler.submit(jobs[2])
    found = await scheduler.find([jobs[2].token])
    await scheduler.cancel([JobKey(job_id) for job_id in ids])

    assert isinstance(answer, Rejected)
    assert answer.reason == (
        "QOSMaxSubmitJobPerUserLimit; Job violates accounting/QOS policy "
        "(job submit limit, user's size and/or time limits)"
    )
    assert found == {}


async def test_an_id_that_comes_with_the_name_of_its_cluster_is_read(
    slurm_accounts: AccountingRig,
) -> None:
    cluster = slurm_accounts.cluster
    scheduler = scheduler_of(cluster)
    job = spec(cluster, "true", f"--clusters={cluster.name}", held=True)
    job_id = await accepted(scheduler, job)

    found = await scheduler.find([job.token])
    await scheduler.cancel([JobKey(job_id)])

    assert found is not None
    assert [it.id for it in found[job.token]] == [job_id]


async def test_a_job_that_waits_for_a_limit_says_which(slurm_accounts: AccountingRig) -> None:
    cluster = slurm_accounts.cluster
    scheduler = scheduler_of(cluster)
    headers = ["--account=lab\n--qos=fast"] * 2 + ["--account=lab\n--ntasks=7"] * 2
    ids = [await accepted(scheduler, spec(cluster, "sleep 300", header)) for header in headers]
    for first in ids[::2]:
        await asyncio.to_thread(cluster.wait_for, first, "RUNNING")

    async def all_reasons() -> dict[int, str]:
        return {job.id: job.reason for job in (await scheduler.queue(ids)).jobs}

    # At first a job waits for nothing in particular, or for others to be looked at.
    reasons = await eventually_async(
        all_reasons,
        lambda found: all("Limit" in found.get(second, "") for second in ids[1::2]),
        every=0.15,
    )
    await scheduler.cancel([JobKey(job_id) for job_id in ids])

    assert [reasons[job_id] for job_id in ids] == [
        *("", "QOSMaxJobsPerUserLimit"),
        *("", "AssocGrpCpuLimit"),
    ]


async def test_a_job_that_left_the_queue_is_found_by_its_token_as_it_ended(past: Past) -> None:
    tokens = {past.jobs[name].token: name for name in ENDS}

    found = await past.scheduler.find([*tokens, "a-token-that-nobody-has"])

    assert found is not None
    assert {tokens[token]: [ended(job) for job in jobs] for token, jobs in found.items()} == {
        name: [end] for name, end in ENDS.items()
    }
    for token, (job,) in found.items():
        assert (job.token, job.key) == (token, JobKey(past.ids[tokens[token]]))
        assert (job.name, job.partition, job.limit) == ("a|b", "cpu", 300)


async def test_a_job_that_left_the_queue_is_known_by_its_id(past: Past) -> None:
    ids = {past.ids[name]: name for name in ENDS}

    snapshot = await past.scheduler.queue([*ids, 999_999])

    assert not snapshot.error
    assert {ids[job.id]: ended(job) for job in snapshot.jobs} == ENDS


async def test_tasks_of_an_array_that_left_the_queue_end_each_in_its_own_way(past: Past) -> None:
    array = past.jobs["array"].token
    tokens = {task_token(array, task): task for task in TASKS}

    found = await past.scheduler.find(tokens)
    snapshot = await past.scheduler.queue([past.ids["array"]])

    assert found is not None
    assert {tokens[token]: ended(job) for token, (job,) in found.items()} == TASK_ENDS
    assert {job.key: ended(job) for job in snapshot.jobs} == {
        JobKey(past.ids["array"], task): end for task, end in TASK_ENDS.items()
    }


async def test_only_one_of_the_clusters_stores_comments(pasts: Mapping[str, Past]) -> None:
    comments = {}
    for name, past in pasts.items():
        asked = f"sacct -X -n -P -o Comment -j {past.ids['well']}"
        comments[name] = past.cluster.run(asked).stdout.strip()
    token = pasts["comments"].jobs["well"].token
    assert comments == {"comments": f"rowtui:{token}", "no comments": ""}


async def test_an_id_that_a_wiped_controller_gives_again_does_not_hide_the_job_that_had_it(
    pasts: Mapping[str, Past],
) -> None:
    past = pasts["comments"]
    old = past.jobs["stopped"]
    new, new_id = old, 0
    while new_id < past.ids["stopped"]:
        new = spec(past.cluster, "true")
        new_id = await accepted(past.scheduler, new)
    newest = f"sacct -X -n -P -o State -j {new_id}"
    await asyncio.to_thread(
        eventually,
        lambda: past.cluster.run(newest).stdout == "COMPLETED\n",
        what="the accounts to have another job with the same id",
    )

    found = await past.scheduler.find([old.token, new.token])
    snapshot = await past.scheduler.queue([new_id])

    assert new_id == past.ids["stopped"]
    assert found is not None
    assert [ended(job) for job in found[old.token]] == [ENDS["stopped"]]
    assert [ended(job) for job in found[new.token]] == [ENDS["well"]]
    assert [(job.token, ended(job)) for job in snapshot.jobs] == [(new.token, ENDS["well"])]


async def test_while_the_accounts_are_down_what_left_the_queue_is_unknown_and_the_rest_goes_on(
    pasts: Mapping[str, Past], slurm_accounts: AccountingRig
) -> None:
    past = pasts["no comments"]
    job = past.jobs["killed"]
    slurm_accounts.kill_slurmdbd()
    new = spec(past.cluster, "true", held=True)
    new_id = await accepted(past.scheduler, new)

    lost = await past.scheduler.find([job.token])
    both = await past.scheduler.find([job.token, new.token])
    queued = await past.scheduler.find([new.token])
    snapshot = await past.scheduler.queue([past.ids["killed"], new_id])
    slurm_accounts.clean()
    found = await past.scheduler.find([job.token])

    assert (lost, both) == (None, None)
    assert queued is not None
    assert [(it.id, it.state) for it in queued[new.token]] == [(new_id, JobState.HELD)]
    assert not snapshot.error
    assert {it.id: it.state for it in snapshot.jobs} == {
        past.ids["killed"]: JobState.UNKNOWN,
        new_id: JobState.HELD,
    }
    assert found is not None
    assert [ended(it) for it in found[job.token]] == [ENDS["killed"]]


async def test_accounts_that_do_not_answer_in_time_leave_the_outcome_open(
    pasts: Mapping[str, Past], slurm_accounts: AccountingRig
) -> None:
    past = pasts["no comments"]
    job = past.jobs["killed"]
    hasty = scheduler_of(past.cluster, query_timeout=0.5)
    slurm_accounts.slurmdbd.stop()

    found = await hasty.find([job.token])
    snapshot = await hasty.queue([past.ids["killed"]])
    slurm_accounts.clean()

    assert found is None
    assert [it.state for it in snapshot.jobs] == [JobState.UNKNOWN]


def test_every_port_of_the_accounts_is_on_loopback(slurm_accounts: AccountingRig) -> None:
    daemons = [slurm_accounts.database.daemon, slurm_accounts.slurmdbd]
    daemons += [slurm_accounts.cluster.controller, slurm_accounts.without_comments.controller]
    listening = [listening_addresses(daemon.pid) for daemon in daemons]
    assert listening == [["127.0.0.1"]] * len(daemons)


async def test_the_parts_of_a_priority_add_up_to_it_and_a_task_has_that_of_its_array(
    slurm_accounts: AccountingRig,
) -> None:
    cluster = slurm_accounts.cluster
    cluster.clean()
    transport = LocalTransport({"SLURM_CONF": str(cluster.conf)})
    runs = cluster.submit("sleep 300", "--exclusive --time=5")
    cluster.wait_for(runs, "RUNNING")
    array = cluster.submit("true", "--exclusive --array=0-2 --nice=7 --time=5")
    later = cluster.submit("true", "--begin=now+1hour --time=5")
    try:
        for key in (JobKey(array, 1), JobKey(array)):
            detail = await eventually_async(  # until the controller has looked at it once
                lambda key=key: scheduler_kind("slurm").detail(transport, key, estimate=False),  # type: ignore[misc]
                lambda detail: detail.priority,
                every=0.1,
            )
            assert not detail.asked[1].problem
            (name, total), *parts = detail.priority
            assert name == "priority"
            assert dict(parts)["nice"] == -7
            assert dict(parts)["job size"] > 0
            assert abs(sum(part for _, part in parts) - total) <= len(parts)  # each is rounded
        unranked = await scheduler_kind("slurm").detail(transport, JobKey(later), estimate=False)
        assert (unranked.priority, unranked.asked[1].problem) == ((), UNRANKED)
    finally:
        cluster.run(f"scancel {runs} {array} {later}")
