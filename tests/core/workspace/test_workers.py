"""Chunks worked through by processes and threads."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.workspace.workers import Workers, chunk_size, in_chunks

from tests.eventually import eventually

NAMES = [b"%05d" % number for number in range(1000)]


class Echo:
    """Gives back what it got, and who did it."""

    def __init__(self, waits: float = 0) -> None:
        self._waits = waits

    def close(self) -> None:
        pass

    def __call__(self, names: Sequence[bytes]) -> Any:
        for _ in names:
            if self._waits:
                time.sleep(self._waits)
        return list(names), os.getpid(), threading.get_ident()


class Meeting(Echo):
    """Goes on once two processes are at work, however busy the machine is."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self._folder = Path(folder)

    def __call__(self, names: Sequence[bytes]) -> Any:
        (self._folder / str(os.getpid())).touch()
        eventually(lambda: len(os.listdir(self._folder)), lambda count: count >= 2, every=0.001)
        return super().__call__(names)


class Failing(Echo):
    def __call__(self, names: Sequence[bytes]) -> Any:
        raise RowtuiError("no more\x00 files", "close some")


class Broken(Echo):
    def __call__(self, names: Sequence[bytes]) -> Any:
        return 1 / 0


def children() -> set[str]:
    found: set[str] = set()
    for task in os.listdir("/proc/self/task"):
        with (
            contextlib.suppress(FileNotFoundError, ProcessLookupError),  # a thread that has ended
            open(f"/proc/self/task/{task}/children") as listed,
        ):
            found.update(listed.read().split())
    return found


def together(results: list[tuple[int, Any]]) -> list[bytes]:
    return [name for _, (names, _, _) in sorted(results) for name in names]


def test_few_directories_stay_in_this_process() -> None:
    results = list(in_chunks(Echo, (), NAMES[:10], Workers(4, 8)))

    assert together(results) == NAMES[:10]
    assert {pid for _, (_, pid, _) in results} == {os.getpid()}


def test_every_chunk_comes_once_from_several_processes(tmp_path: Path) -> None:
    results = list(in_chunks(Meeting, (str(tmp_path),), NAMES, Workers(3, 1)))

    assert together(results) == NAMES
    pids = {pid for _, (_, pid, _) in results}
    assert len(pids) > 1
    assert os.getpid() not in pids


@pytest.mark.parametrize("processes", [1, 2])
def test_threads_are_started_where_the_file_system_makes_them_wait(processes: int) -> None:
    results = list(in_chunks(Echo, (0.0001,), NAMES, Workers(processes, 4)))

    assert together(results) == NAMES
    assert len({who for _, (_, *who) in results for who in [tuple(who)]}) > processes


def test_no_threads_are_started_where_nothing_waits() -> None:
    results = list(in_chunks(Echo, (), NAMES, Workers(1, 4)))

    assert {thread for _, (_, _, thread) in results} == {threading.get_ident()}


@pytest.mark.parametrize("workers", [Workers(1, 1), Workers(1, 4), Workers(3, 2)])
def test_an_error_in_a_task_reaches_the_caller(workers: Workers) -> None:
    with pytest.raises(RowtuiError) as raised:
        list(in_chunks(Failing, (), NAMES, workers))
    assert (raised.value.message, raised.value.hint) == ("no more\x00 files", "close some")


def test_a_defect_in_a_worker_process_is_named() -> None:
    with pytest.raises(RowtuiError, match="ZeroDivisionError"):
        list(in_chunks(Broken, (), NAMES, Workers(2, 2)))


@pytest.mark.parametrize("start", ["fork", "spawn"])
@pytest.mark.parametrize(
    ("dies", "arguments", "how"),
    [(signal.raise_signal, (signal.SIGKILL,), "by signal 9"), (os._exit, (3,), "exit code 3")],
)
def test_a_worker_process_that_dies_is_an_error_and_never_a_hang(
    start: Literal["fork", "spawn"], dies: Callable[..., Any], arguments: tuple[int, ...], how: str
) -> None:
    before = children()
    arguments = tuple(map(int, arguments))

    with pytest.raises(RowtuiError, match=how):
        list(in_chunks(dies, arguments, NAMES, Workers(2, 2, start)))

    assert children() == before


def test_one_worker_process_killed_half_way_is_an_error() -> None:
    with pytest.raises(RowtuiError, match="by signal 9"):  # noqa: PT012
        for _, (_, pid, _) in in_chunks(Echo, (0.001,), NAMES, Workers(2, 1)):
            os.kill(pid, signal.SIGKILL)


class Sleeping(Echo):
    """Says that it is there, and never comes to an end."""

    def __init__(self, ready: str) -> None:
        with open(ready, "wb") as pipe:
            pipe.write(b".")
        signal.pause()


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_an_interrupt_leaves_no_process_behind(
    tmp_path: Path, start: Literal["fork", "spawn"]
) -> None:
    before, descriptors = children(), len(os.listdir("/proc/self/fd"))
    ready = tmp_path / "ready"
    os.mkfifo(ready)

    def interrupt_when_all_are_there() -> None:
        pipe = os.open(ready, os.O_RDWR)  # never at its end, whoever comes and goes
        there = 0
        while there < 3:
            there += len(os.read(pipe, 3))
        os.close(pipe)
        os.kill(os.getpid(), signal.SIGINT)

    interrupting = threading.Thread(target=interrupt_when_all_are_there)
    interrupting.start()
    with pytest.raises(KeyboardInterrupt):
        list(in_chunks(Sleeping, (str(ready),), NAMES, Workers(3, 2, start)))
    interrupting.join()

    assert children() == before
    # What tests before this one left behind may have been collected meanwhile.
    assert len(os.listdir("/proc/self/fd")) <= descriptors


def test_whoever_stops_asking_leaves_no_process_behind() -> None:
    before, descriptors = children(), len(os.listdir("/proc/self/fd"))
    waiting = in_chunks(Echo, (0.01,), NAMES, Workers(3, 2))
    next(waiting)
    assert len(children() - before) == 3

    waiting.close()  # type: ignore[attr-defined]

    assert children() == before
    assert len(os.listdir("/proc/self/fd")) == descriptors


SLEEPERS = """
import os, signal, sys
from rowtui.core.workspace.workers import Workers, in_chunks
class Sleeper:
    def __call__(self, names):
        os.write(1, b"reading\\n")
        signal.pause()
    def close(self): pass
try:
    list(in_chunks(Sleeper, (), [b"x"] * 1000, Workers(3, 1)))
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_ctrl_c_ends_all_processes() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SLEEPERS], stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout
    for _ in range(3):
        assert process.stdout.readline() == b"reading\n"

    os.killpg(process.pid, signal.SIGINT)  # as the terminal does: to the whole group

    # The end of the output is the end of the last process that could write to it.
    assert process.stdout.read() == b""
    assert process.wait() == 130
    process.stdout.close()


def test_a_killed_parent_takes_its_worker_processes_along() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SLEEPERS.replace("signal.pause()", "return b'x' * 100_000")],
        stdout=subprocess.PIPE,
    )
    assert process.stdout
    process.stdout.readline()
    process.kill()
    process.stdout.read()  # ends when all have ended
    process.wait()
    process.stdout.close()


@pytest.mark.parametrize(
    ("count", "io_threads", "expected"),
    [
        (10, None, (1, 8)),
        (10, 1, (1, 1)),
        (4_999, 32, (1, 8)),
        (5_000, None, (4, 8)),
        (10**6, 8, (4, 2)),
        (10**6, 3, (3, 1)),
        (10**6, 1, (1, 1)),
        (10**6, 0, (1, 1)),
        (10**6, 64, (4, 16)),
    ],
)
def test_io_threads_caps_the_requests_in_flight(
    count: int, io_threads: int | None, expected: tuple[int, int]
) -> None:
    workers = Workers.for_count(count, io_threads)
    assert (workers.processes, workers.threads) == expected


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 65_536, 65_537, 10**6, 10**8])
def test_chunk_numbers_fit_the_smallest_pipe(count: int) -> None:
    size = chunk_size(count)
    assert size % 8 == 0
    assert -(-count // size) * 4 <= 4096
