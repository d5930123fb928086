"""No code keeps its caller waiting longer than the limit."""

from __future__ import annotations

import contextvars
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest
from rowtui.core.mapping.code import time_limit
from rowtui.core.mapping.code.time_limit import TimeLimit, TimeLimitError

SHORT = TimeLimit(0.05)
LONG = TimeLimit(20.0)


def test_the_value_of_a_call_comes_back() -> None:
    assert LONG.run(lambda: 3) == 3


def test_what_a_call_raises_is_raised_with_its_traceback() -> None:
    def fails() -> None:
        raise KeyError("k")

    with pytest.raises(KeyError, match="k") as caught:
        LONG.run(fails)

    assert any(entry.name == "fails" for entry in caught.traceback)


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_even_what_ends_threads_and_programs_comes_back(kind: type[BaseException]) -> None:
    def fails() -> None:
        raise kind

    with pytest.raises(kind):
        LONG.run(fails)
    assert LONG.run(lambda: 4) == 4


def _loops() -> None:
    while True:
        pass


def _loops_and_catches_errors() -> None:
    while True:
        try:
            while True:
                pass
        except Exception:
            pass


_enough = threading.Event()


def _loops_and_catches_everything() -> None:
    while not _enough.is_set():
        try:
            while not _enough.is_set():
                pass
        except BaseException:
            pass


def _sleeps() -> None:
    time.sleep(1000)


def _waits_for_a_socket() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        listening.accept()


def _waits_for_a_lock() -> None:
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


@pytest.mark.parametrize(
    "call",
    [_loops, _loops_and_catches_everything, _sleeps, _waits_for_a_socket, _waits_for_a_lock],
)
def test_what_does_not_end_is_given_up(call: Callable[[], None]) -> None:
    _enough.clear()
    with pytest.raises(TimeLimitError) as caught:
        SHORT.run(call)
    _enough.set()

    words = (
        "used more than 0.05 seconds of CPU time"
        if call.__name__.startswith("_loops")
        else "did not end within 0.75 seconds"
    )
    assert words in caught.value.message
    assert LONG.run(lambda: 5) == 5


def test_waiting_for_a_turn_on_a_busy_machine_does_not_count() -> None:
    def waits_then_counts() -> int:
        for _ in range(5):
            time.sleep(0.05)  # five times the limit in all
        return 6

    assert SHORT.run(waits_then_counts) == 6


_NAMES_AND_LOOPS = """
import threading, weakref
from rowtui.core.mapping.code.time_limit import TimeLimit, TimeLimitError
names = weakref.WeakSet()
class Name: pass
def loop():
    while True: names.add(Name())
for _ in range(30):
    try: TimeLimit(0.01).run(loop)
    except TimeLimitError: pass
for thread in threading.enumerate():
    if thread.name == "rowtui-expression": thread.join(10)
"""


def test_code_that_is_stopped_prints_nothing() -> None:
    words = [sys.executable, "-c", _NAMES_AND_LOOPS]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60)

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


@pytest.mark.parametrize("call", [_loops, _loops_and_catches_errors])
def test_a_loop_that_was_given_up_is_ended(call: Callable[[], None]) -> None:
    found: list[threading.Thread] = []

    def loop() -> None:
        found.append(threading.current_thread())
        call()

    with pytest.raises(TimeLimitError):
        SHORT.run(loop)

    found[0].join(30)
    assert not found[0].is_alive()


def test_a_worker_is_used_again() -> None:
    first = LONG.run(threading.current_thread)

    assert LONG.run(threading.current_thread) is first
    assert first.daemon
    assert first is not threading.current_thread()


def test_context_variables_are_those_of_the_caller_and_stay_so() -> None:
    variable = contextvars.ContextVar("variable", default="none")
    variable.set("mine")

    def look() -> str:
        seen = variable.get()
        variable.set("changed")
        return seen

    assert LONG.run(look) == "mine"
    assert variable.get() == "mine"


def test_many_threads_can_be_limited_at_once() -> None:
    barrier = threading.Barrier(6)
    found: list[int] = []

    def ask(number: int) -> None:
        # All six calls are under way together, or the barrier would not open.
        found.append(LONG.run(lambda: (barrier.wait(15), number)[1]))

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(found) == list(range(6))


def test_a_child_process_has_workers_of_its_own() -> None:
    LONG.run(lambda: 1)
    code = """
import os, sys
from rowtui.core.mapping.code.time_limit import TimeLimit
limit = TimeLimit(20)
limit.run(lambda: 1)
child = os.fork()
if child == 0:
    os._exit(limit.run(lambda: 7))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", code], timeout=60).returncode == 7


def test_a_process_ends_although_threads_were_given_up() -> None:
    code = """
import time
from rowtui.core.mapping.code.time_limit import TimeLimit, TimeLimitError
def swallow():
    while True:
        try: time.sleep(0.001)
        except BaseException: pass
def loop():
    while True: pass
for call in (swallow, loop, lambda: time.sleep(1000)):
    try: TimeLimit(0.05).run(call)
    except TimeLimitError: print("late")
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "late\n" * 3, "")


def test_ctrl_c_while_waiting_is_the_callers() -> None:
    code = """
import signal, threading, time
from rowtui.core.mapping.code.time_limit import TimeLimit
arrived = threading.Event()
def interrupt(*_):
    arrived.set()
    raise KeyboardInterrupt
signal.signal(signal.SIGINT, interrupt)
def interrupt_and_sleep():
    # One that comes just before the wait begins is only seen after it: so until it is seen.
    while not arrived.wait(0.05):
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    time.sleep(1000)
try: TimeLimit(500).run(interrupt_and_sleep)
except KeyboardInterrupt: print("interrupted")
print(TimeLimit(20).run(lambda: "goes on"))
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)

    assert ended.stdout == "interrupted\ngoes on\n", ended.stderr


def test_idle_workers_are_bounded() -> None:
    barrier = threading.Barrier(20)
    threads = [
        threading.Thread(target=lambda: LONG.run(lambda: barrier.wait(15))) for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    workers = {each for each in threading.enumerate() if each.name == "rowtui-expression"}
    for worker in workers - set(time_limit._idle):
        worker.join(0.5)  # those that are not needed any more end; those that were given up may not
    assert len(time_limit._idle) <= 8
