"""The scheduler on a real Grid Engine."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from rowtui.core.clusters.command_log import CommandResult, Trouble
from rowtui.core.clusters.commands import Transport
from rowtui.core.clusters.schedulers.base import (
    Accepted,
    JobAnswer,
    JobKey,
    JobSpec,
    JobState,
    OutcomeUnknown,
    QueueSnapshot,
    Rejected,
    Unreachable,
)
from rowtui.core.clusters.schedulers.grid_engine.scheduler import GridEngineScheduler
from rowtui.core.clusters.schedulers.kind import scheduler_kind

from tests.eventually import eventually_async
from tests.rig.grid_engine import GridEngineCluster

pytestmark = [pytest.mark.slow]


GRID_ENGINE = scheduler_kind("grid_engine")


class LostAnswers:
    """A transport that loses what qsub says."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout: float,  # noqa: ASYNC109
        cwd: Path | None = None,
        env: Mapping[str, str | None] | None = None,
    ) -> CommandResult:
        result = await self._transport.run(argv, stdin=stdin, timeout=timeout, cwd=cwd, env=env)
        return (
            CommandResult(tuple(argv), None, trouble=Trouble.LOST) if argv[0] == "qsub" else result
        )


@pytest.fixture
def scheduler(grid_engine: GridEngineCluster) -> GridEngineScheduler:
    return GridEngineScheduler("engine", grid_engine.transport)


@pytest.fixture
def spec(grid_engine: GridEngineCluster) -> Callable[..., JobSpec]:
    def made(token: str, command: str = "true", log: str = "%j.out", **rest: object) -> JobSpec:
        script = f"#!/bin/bash\n#$ -S /bin/bash\n{command}\n"
        return JobSpec(token, "one-d 0", script, grid_engine.work, log, **rest)  # type: ignore[arg-type]

    return made


@pytest.fixture
def no_room(grid_engine: GridEngineCluster) -> Iterator[None]:
    """Queues that start nothing."""
    grid_engine.run("qmod -d '*'")
    yield
    grid_engine.run("qmod -e '*'", check=False)


async def accepted(scheduler: GridEngineScheduler, spec: JobSpec) -> int:
    result = await scheduler.submit(spec)
    assert isinstance(result, Accepted), result
    return result.job_id


async def until(
    scheduler: GridEngineScheduler, ids: Sequence[int], holds: Callable[[QueueSnapshot], bool]
) -> QueueSnapshot:
    return await eventually_async(
        lambda: scheduler.queue(ids), lambda it: not it.error and holds(it), every=0.15
    )


def over(snapshot: QueueSnapshot) -> bool:
    return not any(job.state.active or job.state is JobState.UNKNOWN for job in snapshot.jobs)


async def test_jobs_are_held_released_and_known_to_their_end(
    scheduler: GridEngineScheduler, spec: Callable[..., JobSpec], grid_engine: GridEngineCluster
) -> None:
    fails = await accepted(scheduler, spec("t-0", "echo said; exit 3", "lo: g %j", held=True))
    killed = await accepted(scheduler, spec("t-1", "#$ -l h_rt=50\nsleep 100 & wait"))
    # Of an array with our tasks 0 to 2, the first fails, the second is well, the third is held.
    tasks = spec("t-2a", "[ $SGE_TASK_ID != 1 ]", "a %A_%a", tasks=(0, 1, 2), held=True)
    array = await accepted(scheduler, tasks)
    after = await accepted(scheduler, spec("t-3", after=(killed,)))
    both = await accepted(scheduler, spec("t-4", after=(killed,), held=True))
    broken = await accepted(scheduler, spec("t-5", log="no folder/x"))

    # Before anything starts.
    found = await scheduler.find(["t-0", "t-2a.2", "t-9"])
    assert found is not None
    assert {token: [job.key for job in jobs] for token, jobs in found.items()} == {
        "t-0": [JobKey(fails)],
        "t-2a.2": [JobKey(array, 2)],
    }
    assert found["t-0"][0].state is JobState.HELD
    assert found["t-0"][0].name == "one-d_0"

    start = [JobKey(fails), JobKey(array, 0), JobKey(array, 1)]
    assert await scheduler.release(start) == tuple(map(JobAnswer, start))
    assert await scheduler.release(start[:1]) == (JobAnswer(start[0]),)

    def settled(snapshot: QueueSnapshot) -> bool:
        states = {job.token: (job.state, job.reason) for job in snapshot.jobs}
        return (
            not any(states[token][0].active for token in ("t-0", "t-2a.0", "t-2a.1"))
            and states["t-1"][0] is JobState.RUNNING
            and "no folder" in states["t-5"][1]
        )

    ids = [fails, killed, array, after, both, broken]
    jobs = {job.token: job for job in (await until(scheduler, ids, settled)).jobs}
    assert jobs["t-0"].state is JobState.FAILED
    assert jobs["t-0"].exit_code == 3
    assert (grid_engine.work / f"lo: g {fails}").read_text() == "said\n"
    assert jobs["t-1"].limit == 50
    assert jobs["t-1"].partition == "all.q"
    assert [jobs[f"t-2a.{k}"].state for k in range(3)] == [
        JobState.FAILED,
        JobState.COMPLETED,
        JobState.HELD,
    ]
    assert [jobs[f"t-2a.{k}"].key for k in range(3)] == [JobKey(array, k) for k in range(3)]
    # Waiting for others is not being held, but one may be both.
    assert jobs["t-3"].state is JobState.PENDING
    assert jobs["t-4"].state is JobState.HELD
    assert jobs["t-3"].reason == f"waits for {killed}"
    assert jobs["t-5"].state is JobState.PENDING
    assert jobs["t-5"].reason.startswith("error: can't open output file")

    gone = [JobKey(killed), JobKey(array, 2), JobKey(broken), JobKey(both), JobKey(9999)]
    assert {answer.error for answer in await scheduler.cancel(gone)} == {""}
    # The one that waited for a job that was cancelled starts: Grid Engine asks no more.
    jobs = {job.token: job for job in (await until(scheduler, [killed, after], over)).jobs}
    assert jobs["t-1"].state is JobState.CANCELLED
    assert jobs["t-3"].state is JobState.COMPLETED
    found = await scheduler.find(["t-0", "t-2a.0", "t-2a.1", "t-9"])
    assert found is not None
    assert sorted(found) == ["t-0", "t-2a.0", "t-2a.1"]
    assert (await scheduler.queue()).jobs == ()


async def test_waiting_jobs_can_be_held_and_taken_away_without_a_trace(
    scheduler: GridEngineScheduler, spec: Callable[..., JobSpec], no_room: None
) -> None:
    ids = [await accepted(scheduler, spec(f"w-{at}")) for at in range(2)]
    array = await accepted(scheduler, spec("w-2a", tasks=tuple(range(1, 400))))
    keys = [JobKey(it) for it in ids] + [JobKey(array, task) for task in range(1, 400)]

    assert {answer.error for answer in await scheduler.hold(keys)} == {""}
    states = {job.key: job.state for job in (await scheduler.queue()).jobs}
    assert states == dict.fromkeys(keys, JobState.HELD)
    assert {answer.error for answer in await scheduler.release(keys[:-1])} == {""}
    states = {job.key: job.state for job in (await scheduler.queue([*ids, array])).jobs}
    assert states == dict.fromkeys(keys[:-1], JobState.PENDING) | {keys[-1]: JobState.HELD}

    some = [JobKey(ids[0]), JobKey(array, 7), JobKey(9999), JobKey(array, 500)]
    assert {answer.error for answer in await scheduler.cancel(some)} == {""}
    errors = [bool(answer.error) for answer in await scheduler.hold([*some[::2], keys[1]])]
    assert errors == [True, True, False]
    left = {job.key for job in (await scheduler.queue([*ids, array])).jobs}
    assert left == set(keys) - set(some)
    assert await scheduler.find(["w-0", "w-2a.7"]) == {}


async def test_what_cannot_be_submitted_is_refused_in_grid_engines_words(
    scheduler: GridEngineScheduler, spec: Callable[..., JobSpec]
) -> None:
    for options, words in (
        ("-q nosuch.q", 'unknown queue "nosuch.q"'),
        ("-pe nosuch 4", '"nosuch" does not exist'),
        ("-l nosuch=1", 'unknown resource "nosuch"'),
        ("-nosuch", "-nosuch"),
    ):
        result = await scheduler.submit(spec("r-0", f"#$ {options}"))
        assert isinstance(result, Rejected)
        assert words in result.reason
    for refused in (spec("r-0", log="a,b"), spec("r-0a", tasks=(0, 1, 5))):
        assert isinstance(await scheduler.submit(refused), Rejected)
    assert await scheduler.find(["r-0", "r-0a.0"]) == {}


async def test_a_job_whose_id_was_not_told_is_found_by_its_token(
    scheduler: GridEngineScheduler,
    spec: Callable[..., JobSpec],
    grid_engine: GridEngineCluster,
    no_room: None,
) -> None:
    # A job that no queue may run is submitted, with a complaint.
    grid_engine.run("qconf -aattr queue user_lists arusers all.q serial.q")
    with contextlib.ExitStack() as stack:
        undo = "qconf -dattr queue user_lists arusers all.q serial.q"
        stack.callback(grid_engine.run, undo)
        warned = await scheduler.submit(spec("u-0", held=True))
    lossy = GridEngineScheduler("engine", LostAnswers(grid_engine.transport))
    lost = await lossy.submit(spec("u-1", held=True))
    assert isinstance(warned, OutcomeUnknown)
    assert "not allowed to run in any queue" in warned.reason
    assert isinstance(lost, OutcomeUnknown)

    found = await scheduler.find(["u-0", "u-1"])
    assert found is not None
    assert [[job.state for job in jobs] for jobs in found.values()] == [[JobState.HELD]] * 2


async def test_a_dead_qmaster_is_an_error_and_never_an_empty_queue(
    scheduler: GridEngineScheduler, spec: Callable[..., JobSpec], grid_engine: GridEngineCluster
) -> None:
    job_id = await accepted(scheduler, spec("d-0", held=True))
    grid_engine.kill_qmaster()

    assert "Connection refused" in (await scheduler.queue()).error
    assert (await scheduler.queue([job_id])).error
    assert await scheduler.find(["d-0"]) is None
    assert isinstance(await scheduler.submit(spec("d-1")), Unreachable)
    for answer in await scheduler.release([JobKey(job_id)]):
        assert "unable to send message to qmaster" in answer.error

    # What it had accepted is still there when it comes back.
    grid_engine.restart_qmaster()
    assert [job.token for job in (await scheduler.queue()).jobs] == ["d-0"]
    assert await scheduler.find(["d-1"]) == {}


async def test_a_frozen_qmaster_leaves_the_outcome_open(
    spec: Callable[..., JobSpec], grid_engine: GridEngineCluster
) -> None:
    hasty = GridEngineScheduler(
        "engine", grid_engine.transport, submit_timeout=0.3, query_timeout=0.3
    )
    grid_engine.qmaster.stop()
    try:
        assert isinstance(await hasty.submit(spec("f-0", held=True)), OutcomeUnknown)
        assert (await hasty.queue()).error
        assert await hasty.find(["f-0"]) is None
        (answer,) = await hasty.cancel([JobKey(1)])
        assert "may still be done" in answer.error
    finally:
        grid_engine.qmaster.go_on()


async def test_a_cluster_without_these_commands_says_so() -> None:
    scheduler = GridEngineScheduler("engine", NoCommands())
    assert (await scheduler.queue()).error == "qstat could not be started: No such file"


class NoCommands:
    """A machine without Grid Engine."""

    async def run(self, argv: Sequence[str], **_: object) -> CommandResult:
        return CommandResult(tuple(argv), None, trouble=Trouble.NOT_STARTED, detail="No such file")


async def test_a_job_that_has_just_left_the_queue_is_waited_for() -> None:
    # The accounts may be written a quarter of a minute later.
    now = [1000.0]
    answers = Recorded()
    scheduler = GridEngineScheduler("engine", answers, clock=lambda: now[0])
    answers.queue = (
        b"<job_info><job_list><JB_job_number>5</JB_job_number><JB_name>a.rowtui-n-1</JB_name>"
        b"<state>r</state></job_list></job_info>"
    )
    assert [job.state for job in (await scheduler.queue([5])).jobs] == [JobState.RUNNING]
    answers.queue = b"<job_info></job_info>"
    now[0] += 10
    assert [job.state for job in (await scheduler.queue([5])).jobs] == [JobState.UNKNOWN]
    assert (await scheduler.queue([6])).jobs == ()
    now[0] += 60
    assert (await scheduler.queue([5])).jobs == ()


class Recorded:
    """A cluster that says what it is told to; its accounts are empty."""

    queue = b""

    async def run(self, argv: Sequence[str], **_: object) -> CommandResult:
        if argv[0] == "qstat":
            return CommandResult(tuple(argv), 0, self.queue)
        return CommandResult(tuple(argv), 1, stderr=b"error: job id 5 not found\n")


@pytest.mark.usefixtures("no_room")
async def test_qstat_tells_why_a_job_waits_and_none_of_its_environment(
    scheduler: GridEngineScheduler, spec: Callable[..., JobSpec], grid_engine: GridEngineCluster
) -> None:
    array = await accepted(scheduler, spec("t-0a", "true", "a %A_%a", tasks=(0, 1, 2), held=True))
    after = await accepted(scheduler, spec("t-1", after=(array,)))
    transport = grid_engine.transport
    told = await GRID_ENGINE.detail(transport, JobKey(array, 1), estimate=True)
    [part] = told.asked
    fields = dict(part.fields)
    assert (fields["job_number"], fields["job-array tasks"]) == (str(array), "1-3:1")
    assert "env_list" not in fields
    assert told.problem == "Grid Engine gives no estimate of the start"
    [part] = (await GRID_ENGINE.detail(transport, JobKey(after), estimate=False)).asked
    assert dict(part.fields)["jid_predecessor_list"] == str(array)
    [part] = (await GRID_ENGINE.detail(transport, JobKey(99_999), estimate=False)).asked
    assert part.problem == "Following jobs do not exist: 99999"
    assert (await GRID_ENGINE.everybody(transport, 10)).problem


async def test_a_job_does_not_run_on_nodes_that_it_excludes(
    grid_engine: GridEngineCluster,
    scheduler: GridEngineScheduler,
    spec: Callable[..., JobSpec],
) -> None:
    await accepted(scheduler, spec("t1", 'echo "$HOSTNAME" >"host"'))
    host = grid_engine.work / "host"
    await eventually_async(lambda: host.exists() and bool(host.read_text().strip()))
    node = host.read_text().strip()

    def verified(*nodes: str) -> str:
        option = GRID_ENGINE.exclude_option(nodes, ())
        (grid_engine.work / "excluding.sh").write_text(f"#!/bin/bash\n#$ {option}\ntrue\n")
        return grid_engine.run("qsub -w v excluding.sh 2>&1", check=False).stdout

    assert "found suitable queue" in verified("another", "third")
    assert "no suitable queues" in verified("another", node)
    assert GRID_ENGINE.exclude_option([node], ["-l h_rt=1,h=big*"]) == ""
    assert GRID_ENGINE.exclude_option([node], ["-l h_rt=1"]) == f"-l h=!({node})"
