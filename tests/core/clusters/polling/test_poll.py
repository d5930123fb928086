"""One look for everybody: what is asked, what is given again, and what a failed look leaves."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.config.builtin import LOCAL
from rowtui.core.clusters.model import Cluster
from rowtui.core.clusters.polling.cache import PollCache, cache_name
from rowtui.core.clusters.polling.poll import Poll, Polled
from rowtui.core.clusters.schedulers.base import (
    Job,
    JobAnswer,
    JobKey,
    JobSpec,
    JobState,
    QueueSnapshot,
    Rejected,
    SubmitResult,
)

from tests.eventually import eventually
from tests.rig.slurm import SlurmCluster

CLUSTER = Cluster("alpha", LOCAL.identify, "slurm")
JOBS = (Job(1, JobState.RUNNING, "a", nodes="n1"), Job(2, JobState.PENDING, reason="Resources"))


async def last(poll: Poll) -> Polled:
    """What is known, without asking the scheduler."""
    await poll._learn()
    return poll._polled()


class Clock:
    """Epoch seconds that only pass when they are told to."""

    def __init__(self) -> None:
        self.now = 1_795_000_000.0

    def __call__(self) -> float:
        return self.now


class Queue:
    """A scheduler whose queue says what the test wants. `asked`: how often."""

    cluster = "alpha"
    immediate = False
    place = ""
    holds = True
    at_once = 1

    def __init__(self, clock: Clock, *, shared: bool = True) -> None:
        self.clock = clock
        self.shared = shared
        self.asked = 0
        self.jobs: tuple[Job, ...] = JOBS
        self.error = ""
        self.failure: Exception | None = None
        self.takes = 0.0
        self.begun = asyncio.Event()
        self.open = asyncio.Event()
        self.open.set()

    async def queue(self, job_ids: Sequence[int] | None = None) -> QueueSnapshot:
        assert job_ids is None
        self.asked += 1
        self.begun.set()
        async with asyncio.timeout(60):  # a test that waits for ever tells nobody why
            await self.open.wait()
        self.clock.now += self.takes
        if self.failure:
            raise self.failure
        return QueueSnapshot("alpha", self.clock(), () if self.error else self.jobs, self.error)

    async def submit(self, job: JobSpec) -> SubmitResult:
        return Rejected("a test's queue")

    async def find(self, tokens: Collection[str]) -> Mapping[str, tuple[Job, ...]] | None:
        return None

    async def cancel(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        return ()

    hold = release = cancel


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(clock: Clock) -> Queue:
    return Queue(clock)


@pytest.fixture
def poll(queue: Queue, tmp_path: Path) -> Callable[..., Poll]:
    """Makes what each process has of its own."""

    def make(folder: Path = tmp_path / "queues", **options: Any) -> Poll:
        clock = queue.clock
        values: dict[str, Any] = {
            "folder": folder,
            "clock": clock,
            "steady": clock,
            "chance": lambda: 0.5,
        }
        return Poll(queue, CLUSTER, **(values | options))

    return make


async def test_a_scheduler_that_cannot_measure_running_jobs_has_nothing_to_say_of_them(
    poll: Callable[..., Poll], queue: Queue
) -> None:
    assert not hasattr(queue, "measured_now")  # as in a package made before there was one
    assert await poll().measured_now({JobKey(1): "t"}) == {}


async def test_one_look_serves_everybody_until_the_next_is_due(
    poll: Callable[..., Poll], queue: Queue, clock: Clock
) -> None:
    # given a process that looked
    first = await poll().look()
    assert (first.snapshot, first.error) == (QueueSnapshot("alpha", clock(), JOBS), "")
    assert (first.asked_at, first.as_of, first.age) == (clock(), clock(), 0.0)
    assert first.next_at == clock() + 60
    # when others look within a minute
    clock.now += 59
    other = poll()
    again = await other.look()
    # then they see the same, and nobody was asked
    assert again == Polled(
        "alpha", first.snapshot, "", first.asked_at, first.next_at, age=59.0, as_of=first.as_of
    )
    assert again.snapshot == first.snapshot
    assert queue.asked == 1
    # and after the minute one of them asks
    clock.now += 1
    queue.jobs = ()
    assert (await other.look()).snapshot == QueueSnapshot("alpha", clock(), ())
    assert (await poll().look()).snapshot == QueueSnapshot("alpha", clock(), ())
    assert queue.asked == 2


async def test_what_is_known_is_told_without_asking(
    poll: Callable[..., Poll], queue: Queue, clock: Clock
) -> None:
    assert await last(poll()) == Polled("alpha")
    await poll().look()
    clock.now += 1000
    known = await last(poll())
    assert known.snapshot is not None
    assert (known.snapshot.jobs, known.age, queue.asked) == (JOBS, 1000.0, 1)


async def test_a_look_that_fails_keeps_the_last_good_queue_with_its_age(
    poll: Callable[..., Poll], queue: Queue, clock: Clock
) -> None:
    # given a good look a minute ago, and a controller that is down now
    good = await poll().look()
    clock.now += 60
    queue.error = "Unable to contact slurm controller"
    failed = await poll().look()
    # then the jobs are still there, and everybody sees why they are old
    assert failed == Polled(
        "alpha",
        good.snapshot,
        "Unable to contact slurm controller",
        asked_at=clock(),
        next_at=clock() + 120,
        as_of=good.as_of,
        age=60.0,
        failures=1,
    )
    assert await last(poll()) == failed
    assert (failed.asked_at, failed.error) == (clock(), queue.error)
    # and it is asked ever more seldom, until it answers
    clock.now += 119
    assert (await poll().look()).error
    assert queue.asked == 2
    clock.now += 1
    assert (await poll().look()).next_at == clock() + 240
    clock.now += 240
    queue.error = ""
    healed = await poll().look()
    assert (healed.error, healed.age, healed.next_at) == ("", 0.0, clock() + 60)
    assert healed.error == ""


async def test_a_first_look_that_fails_knows_nothing_rather_than_an_empty_queue(
    poll: Callable[..., Poll], queue: Queue, clock: Clock
) -> None:
    queue.error = "down"
    failed = await poll().look()
    assert (failed.snapshot, failed.as_of, failed.age) == (None, None, None)
    assert (failed.error, failed.asked_at) == ("down", clock())
    assert (failed.asked_at, failed.error) == (clock(), "down")


async def test_who_has_no_connection_does_not_keep_others_from_asking(
    poll: Callable[..., Poll], queue: Queue, clock: Clock
) -> None:
    # given a queue that everybody knows, and a process that is not logged in any more
    await poll().look()
    clock.now += 60
    queue.error = "not logged in"
    cut_off = poll(connected=lambda: False)
    assert (await cut_off.look()).error == "not logged in"
    # then it tries less often itself, and others ask as ever
    assert (await cut_off.look()).next_at == clock() + 120
    assert (await last(poll())).error == ""
    queue.error = ""
    answered = await poll(connected=lambda: True).look()
    assert (answered.error, answered.age, queue.asked) == ("", 0.0, 3)
    # and it sees what they learnt
    assert await cut_off.look() == answered
    # a controller that does not answer is news for everybody
    clock.now += 60
    queue.error = "controller down"
    await poll(connected=lambda: None).look()
    assert (await last(poll())).error == "controller down"


@pytest.mark.parametrize("failure", [RowtuiError("no way there"), OSError("no way there")])
async def test_a_scheduler_that_raises_is_a_look_that_failed(
    poll: Callable[..., Poll], queue: Queue, failure: Exception
) -> None:
    await poll().look()
    queue.clock.now += 60
    queue.failure = failure
    failed = await poll().look()
    assert failed.snapshot is not None
    assert (failed.snapshot.jobs, failed.error) == (JOBS, "no way there")


async def test_a_person_looks_again_after_five_seconds(
    poll: Callable[..., Poll], queue: Queue, clock: Clock
) -> None:
    mine = poll()
    await mine.look(now=True)
    clock.now += 4
    await mine.look(now=True)
    await poll().look(now=True)
    assert queue.asked == 1
    clock.now += 1
    await poll().look()
    assert queue.asked == 1
    await poll().look(now=True)
    assert queue.asked == 2


async def test_a_submission_brings_the_next_look_forward_for_all_processes(
    poll: Callable[..., Poll], queue: Queue, clock: Clock
) -> None:
    # given two processes that know the queue
    mine, other = poll(), poll()
    await mine.look()
    await other.look()
    # when one submits
    clock.now += 5
    mine.submitted()
    # then the other looks ten seconds later, once
    assert (await last(other)).next_at == clock() + 10
    clock.now += 9
    await other.look()
    assert queue.asked == 1
    clock.now += 1
    await other.look()
    await mine.look()
    assert queue.asked == 2
    # and what was submitted after a look began is known to be missing from it
    mine.submitted()
    latest = await last(mine)
    assert latest.as_of is not None
    assert latest.as_of <= clock()


async def test_a_slow_controller_is_asked_less_often(
    poll: Callable[..., Poll], queue: Queue, clock: Clock
) -> None:
    queue.takes = 4.0
    began = clock()
    looked = await poll().look()
    assert (looked.asked_at, looked.as_of, looked.age) == (began, began, 4.0)
    assert looked.next_at == clock() + 200


async def test_who_comes_while_another_asks_gets_its_answer(
    poll: Callable[..., Poll], queue: Queue
) -> None:
    # given one that asks
    queue.open.clear()
    first = asyncio.create_task(poll().look())
    await queue.begun.wait()
    # when others look, some since a person wants it
    others = [asyncio.create_task(poll().look(now=number % 2 == 0)) for number in range(4)]
    await asyncio.sleep(0)
    queue.open.set()
    # then all get the one answer
    answers = await asyncio.gather(first, *others)
    assert {answer.snapshot for answer in answers} == {QueueSnapshot("alpha", queue.clock(), JOBS)}
    assert queue.asked == 1


async def test_nobody_waits_for_ever_for_another_that_asks(
    poll: Callable[..., Poll], queue: Queue, clock: Clock
) -> None:
    # given a queue that nobody knows, and one that asks and gets no answer
    queue.open.clear()
    first = asyncio.create_task(poll().look())
    await queue.begun.wait()
    hasty = await poll(wait_seconds=0.0).look()
    assert hasty.snapshot is None
    assert hasty.error == "another process of yours is asking alpha: no answer yet"
    queue.open.set()
    await first
    # and the same when something is known
    clock.now += 60
    queue.open.clear()
    queue.begun.clear()
    first = asyncio.create_task(poll().look())
    await queue.begun.wait()
    hasty = await poll(wait_seconds=0.0).look()
    assert (hasty.age, hasty.error) == (60.0, "")
    queue.open.set()
    await first
    assert queue.asked == 2


async def test_a_look_that_is_cancelled_has_not_taken_place(
    poll: Callable[..., Poll], queue: Queue
) -> None:
    queue.open.clear()
    mine = poll()
    look = asyncio.create_task(mine.look())
    await queue.begun.wait()
    look.cancel()
    with pytest.raises(asyncio.CancelledError):
        await look
    queue.open.set()
    assert await last(mine) == Polled("alpha")
    assert (await poll(wait_seconds=0.0).look()).snapshot is not None
    assert queue.asked == 2


@pytest.mark.parametrize("damage", [b"", b"{}", b"rowtui-queue 1 orjson\n[1,2", b"\xff" * 1000])
async def test_a_corrupt_cache_is_asked_over_and_mended(
    poll: Callable[..., Poll], queue: Queue, tmp_path: Path, damage: bytes
) -> None:
    mine = poll()
    await mine.look()
    [path] = (tmp_path / "queues").glob("*.json")
    path.write_bytes(damage)
    # whoever knows the queue needs no file
    assert (await mine.look()).snapshot is not None
    assert queue.asked == 1
    # whoever comes asks, and others read what it wrote
    assert (await poll().look()).error == ""
    assert (await poll().look()).snapshot == QueueSnapshot("alpha", queue.clock(), JOBS)
    assert queue.asked == 2


async def test_without_a_place_for_the_cache_each_process_goes_by_its_own_memory(
    poll: Callable[..., Poll], queue: Queue, clock: Clock, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    mine = poll(folder=tmp_path / "file" / "queues")
    for _ in range(3):
        assert (await mine.look()).snapshot is not None
    assert queue.asked == 1
    mine.submitted()
    clock.now += 10
    await mine.look()
    assert queue.asked == 2


async def test_a_cache_that_was_cleared_makes_nobody_forget(
    poll: Callable[..., Poll], queue: Queue, tmp_path: Path
) -> None:
    mine = poll()
    await mine.look()
    shutil.rmtree(tmp_path / "queues")
    assert (await mine.look()).snapshot is not None
    assert queue.asked == 1


async def test_a_clock_that_was_set_back_does_not_stop_the_looks(
    poll: Callable[..., Poll], queue: Queue, clock: Clock
) -> None:
    mine, other = poll(), poll()
    await mine.look()
    await other.look()
    clock.now -= 3600
    healed = await mine.look()
    assert (healed.age, healed.next_at) == (0.0, clock() + 60)
    await other.look()
    assert queue.asked == 2


async def test_this_machines_own_queue_is_always_asked_and_never_kept(
    poll: Callable[..., Poll], queue: Queue, tmp_path: Path
) -> None:
    queue.shared = False
    mine = poll()
    for _ in range(3):
        looked = await mine.look()
        assert looked.snapshot is not None
        assert looked.next_at == 0.0
    mine.submitted()
    assert queue.asked == 3
    assert not (tmp_path / "queues").exists()
    # its last good answer stays, too
    queue.error = "its files cannot be read"
    failed = await mine.look()
    assert failed.snapshot is not None
    assert (failed.snapshot.jobs, failed.error) == (JOBS, queue.error)
    assert await last(mine) == failed


async def test_by_itself_it_is_in_the_users_cache_folder(
    poll: Callable[..., Poll], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    await poll(folder=None).look()
    folder = tmp_path / "cache" / "rowtui" / "queues"
    name = cache_name(CLUSTER, os.environ)
    assert (folder / f"{name}.json").exists()
    assert PollCache(folder, name).read() is not None


# A process that looks at a real Slurm when it is told to, and prints what it sees.
LOOKER = """\
import asyncio, json, sys
from pathlib import Path
from rowtui.core.clusters.config.builtin import LOCAL
from rowtui.core.clusters.model import Cluster
from rowtui.core.clusters.polling.poll import Poll
from rowtui.core.clusters.schedulers.slurm.scheduler import SlurmScheduler

clock = lambda: float(sys.argv[2])
poll = Poll(
    SlurmScheduler("alpha", clock=clock),
    Cluster("alpha", LOCAL.identify, "slurm"),
    folder=Path(sys.argv[1]),
    clock=clock,
    chance=lambda: 0.5,
    wait_seconds=60.0,
)
print("ready", flush=True)
sys.stdin.readline()
polled = asyncio.run(poll.look())
jobs = polled.snapshot and [[job.id, job.state.value] for job in polled.snapshot.jobs]
print(json.dumps([jobs, polled.error, polled.age]), flush=True)
"""
NOW = 1_795_000_000.0


class Lookers:
    """Processes that look at one real cluster through a squeue that notes its calls.

    While `gate` is a FIFO, each squeue waits until somebody opens it for writing.
    """

    def __init__(self, slurm: SlurmCluster, folder: Path) -> None:
        self.folder = folder
        self.calls = folder / "calls"
        self.gate = folder / "gate"
        self.env = slurm.env | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
        (folder / "bin").mkdir()
        squeue = folder / "bin" / "squeue"
        squeue.write_text(
            # Exit codes of failed jobs, which other tests leave in this queue, are no look.
            "#!/bin/sh\n"
            f"case \"$*\" in *'-t F'*|*' -r '*) ;; *) echo $PPID >> {self.calls} ;; esac\n"
            f"{{ [ -p {self.gate} ] && read line < {self.gate}; }} 2> /dev/null\n"
            f'exec {shutil.which("squeue")} "$@"\n'
        )
        squeue.chmod(0o755)

    def start(self, count: int, at: float = NOW) -> list[subprocess.Popen[str]]:
        """Processes that are all ready to look."""
        argv = [sys.executable, "-c", LOOKER, str(self.folder / "queues"), str(at)]
        started = [
            subprocess.Popen(
                argv, env=self.env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            for _ in range(count)
        ]
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        return started

    def seen(self, *processes: subprocess.Popen[str]) -> list[Any]:
        """What each says at its end."""
        return [json.loads(process.communicate(timeout=60)[0]) for process in processes]

    def look(self, at: float) -> Any:
        """One process from its beginning to its end."""
        [process] = self.start(1, at)
        [seen] = self.seen(process)
        return seen

    def asked(self) -> int:
        return len(self.calls.read_text().splitlines()) if self.calls.exists() else 0

    def wait_for_calls(self, count: int) -> None:
        eventually(lambda: self.asked() >= count, what=f"call {count} of squeue")

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Meanwhile no squeue comes to an end."""
        os.mkfifo(self.gate)
        try:
            yield
        finally:
            # Whoever waits to read goes on; others find no gate.
            fd = os.open(self.gate, os.O_RDWR | os.O_NONBLOCK)
            os.write(fd, b"\n" * 16)
            self.gate.unlink()
            os.close(fd)


@pytest.fixture
def lookers(slurm: SlurmCluster, tmp_path: Path) -> Lookers:
    slurm.clean()
    return Lookers(slurm, tmp_path)


def tell(processes: Sequence[subprocess.Popen[str]]) -> None:
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()


@pytest.mark.slurm
def test_processes_that_look_at_the_same_time_ask_a_real_slurm_once(
    slurm: SlurmCluster, lookers: Lookers
) -> None:
    job_id = slurm.submit("true", "--hold")
    processes = lookers.start(4)
    with lookers.closed():
        tell(processes)
        lookers.wait_for_calls(1)
    seen = lookers.seen(*processes)
    assert lookers.asked() == 1
    assert [job_id, "held"] in seen[0][0]
    assert all(each == seen[0] for each in seen)
    assert seen[0][1:] == ["", 0.0]
    [path] = (lookers.folder / "queues").glob("*.json")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.slurm
def test_a_process_that_is_killed_while_it_asks_blocks_nobody(
    slurm: SlurmCluster, lookers: Lookers
) -> None:
    # given a process that asks, and one that waits for its answer
    [asking] = lookers.start(1)
    [waiting] = lookers.start(1)
    with lookers.closed():
        tell([asking])
        lookers.wait_for_calls(1)
        tell([waiting])
        # when the first is killed
        asking.kill()
        asking.communicate()
        lookers.wait_for_calls(2)
    # then the other asks in its place
    [[jobs, error, _]] = lookers.seen(waiting)
    assert jobs is not None
    assert error == ""
    assert lookers.asked() == 2


@pytest.mark.slurm
def test_a_controller_that_hangs_leaves_everybody_the_last_known_queue(
    slurm: SlurmCluster, lookers: Lookers
) -> None:
    job_id = slurm.submit("true", "--hold")
    jobs, error, _ = lookers.look(NOW)
    assert [job_id, "held"] in jobs
    assert error == ""
    slurm.stop_controller()
    try:
        asked = lookers.look(NOW + 60)
        told = lookers.look(NOW + 100)
    finally:
        slurm.continue_controller()
    assert asked[0] == told[0] == jobs
    assert "Socket timed out" in asked[1]
    assert told[1] == asked[1]
    assert (asked[2], told[2]) == (60.0, 100.0)
    assert lookers.asked() == 2
    # and when it answers again, the next look says so
    assert lookers.look(NOW + 60 + 121) == [jobs, "", 0.0]


def test_an_answer_proves_a_connection_for_one_interval_after_the_next_is_due() -> None:
    polled = Polled("alpha", QueueSnapshot("alpha", 100.0, ()), as_of=100.0, next_at=160.0)
    assert [polled.is_fresh(now) for now in (100.0, 161.0, 219.0, 221.0)] == [
        True,
        True,
        True,
        False,
    ]
    assert not polled._replace(error="no route to host").is_fresh(101.0)
    assert not Polled("alpha").is_fresh(0.0)
