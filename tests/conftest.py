"""Fixtures that every test may use."""

import gc
import os
import signal
from collections.abc import Generator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.rig.processes import RigError

pytest_plugins = [
    "tests.rig.fixtures",
    "tests.rig.accounting_fixtures",
    "tests.rig.grid_engine_fixtures",
]

# No deadlines: a busy machine is not a defect. Every run of the suite draws the same examples, so
# that a failure does not depend on luck; `--hypothesis-profile=thorough` draws many others.
settings.register_profile("suite", deadline=None, max_examples=30, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile("suite")
# Hypothesis would load this large module in the middle of a test, where garbage may be collected
# at any time: then Python 3.11 sometimes fails to parse it (CPython's gh-106905).
import_module("hypothesis.strategies._internal.types")

# Much of what is tested is synchronised to the disk: in memory nobody waits for that, and the
# kernel has less to do. Of tests that pass nothing is kept (pyproject.toml).
MEMORY = Path("/dev/shm")
MEMORY_NEEDED = 2_000_000_000  # containers may have 64 MB, and nothing may be run from it
if os.access(MEMORY, os.W_OK):
    room = os.statvfs(MEMORY)
    if room.f_bavail * room.f_frsize > MEMORY_NEEDED and not room.f_flag & os.ST_NOEXEC:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

# Queues are asked on request: the tests' clusters are nobody else's.
os.environ["ROWTUI_POLL"] = "0"

# Started in the background, a shell ignores interrupts (and below nohup hang-ups), and so would
# every process that the tests start: bash cannot even trap a signal ignored from its beginning.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

RIGS = {"slurm_rig", "slurm_accounts", "grid_engine_of_session"}


def pytest_configure(config: pytest.Config) -> None:
    """Let the order below be that in which pytest-xdist deals out the files.

    Its own is by their number of tests: last of all the longest ones, which have few.
    """
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for garbage seldom, and never in what is collected: all of that stays to the end.

    It would take a quarter of the collection's time, and a tenth of that of a dashboard's test:
    a screen is many small objects that live as long as their app.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(100_000, 20, 100)
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In workers of pytest-xdist: files that wait for daemons in between those that don't.

    So the cores have something to do meanwhile, and what is left for the end is short.
    """
    if not hasattr(config, "workerinput"):
        return
    files: dict[Any, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    waiting = [tests for tests in files.values() if any(map(_waits, tests))]
    working = [tests for tests in files.values() if not any(map(_waits, tests))]
    working.sort(key=len, reverse=True)
    # Of those that wait the last one has its turn when a quarter of the others is left.
    places = [(at * 0.75 / max(1, len(waiting)), tests) for at, tests in enumerate(waiting)]
    places += [(at / max(1, len(working)), tests) for at, tests in enumerate(working)]
    places.sort(key=lambda place: place[0])
    items[:] = [item for _, tests in places for item in tests]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Note a time limit of its own in the results, for `tests/stability.py`."""
    if marker := item.get_closest_marker("timeout"):
        item.user_properties.append(("time limit", marker.args[0]))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, object, object]:
    """Take the jobs of a test that failed from the cluster: those after it would wait for room."""
    report = yield
    if getattr(report, "failed", False) and "slurm_rig" in getattr(item, "funcargs", ()):
        with suppress(RigError):  # the tests after it report a broken cluster themselves
            item.funcargs["slurm_rig"].cluster.clean()  # type: ignore[attr-defined]
    return report


def _waits(item: pytest.Item) -> bool:
    if item.get_closest_marker("slow") or item.get_closest_marker("slurm"):
        return True
    return not RIGS.isdisjoint(getattr(item, "fixturenames", ()))
