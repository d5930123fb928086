"""The file in which the user's processes share a queue: what was written comes back, or nothing."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.clusters.config.builtin import LOCAL
from rowtui.core.clusters.model import Cluster, Remote
from rowtui.core.clusters.polling.cache import (
    OLD_SECONDS,
    KnownQueue,
    PollCache,
    cache_name,
    decoded,
    encoded,
)
from rowtui.core.clusters.polling.policy import PollHistory
from rowtui.core.clusters.schedulers.base import Job, JobState, QueueSnapshot

# Everything that bytes from outside become: also bytes that are not UTF-8.
texts = st.text(st.characters(exclude_categories=()), max_size=12) | st.binary(max_size=8).map(
    os.fsdecode
)
numbers = st.integers(-(2**70), 2**70)
times = st.floats(0, 1e12)
jobs = st.builds(
    Job,
    id=numbers,
    state=st.sampled_from(JobState),
    **dict.fromkeys(("name", "token", "reason", "partition", "nodes", "log_path"), texts),
    **dict.fromkeys(
        ("elapsed", "limit", "start_estimate", "exit_code", "exit_signal", "task"),
        st.none() | numbers,
    ),
)
histories = st.builds(
    PollHistory,
    began=times,
    ended=times,
    seconds=times,
    errors=st.integers(0, 1000),
    hurried=times,
    submitted=st.just(0.0),  # has a file of its own
    chance=st.floats(0, 1),
)
everything = st.builds(
    KnownQueue,
    history=histories,
    snapshot=st.none()
    | st.builds(QueueSnapshot, texts, times, st.lists(jobs, max_size=5).map(tuple), st.just("")),
    as_of=times,
    error=texts,
)
WAITING = Job(7, JobState.PENDING, "it's", "abc.3", "Resources", "cpu", task=3, start_estimate=9)
KNOWN = KnownQueue(
    PollHistory(began=10.0, ended=10.25, seconds=0.25, chance=0.125),
    QueueSnapshot("alpha", 10.25, (WAITING, Job(8, JobState.OUT_OF_MEMORY, exit_signal=9))),
    10.0,
)


@pytest.fixture
def cache(tmp_path: Path) -> PollCache:
    return PollCache(tmp_path / "queues", "alpha")


def kept(cache: PollCache, known: KnownQueue = KNOWN) -> Path:
    """Write as a process that asked does, and return the file."""
    lock = cache.try_lock()
    assert lock is not None
    assert cache.write(known)
    lock.release()
    return cache.folder / "alpha.json"


@given(everything)
def test_a_queue_comes_back_as_it_was_written(known: KnownQueue) -> None:
    assert decoded(encoded(known)) == known


def test_another_process_reads_it_once(cache: PollCache) -> None:
    kept(cache)
    other = PollCache(cache.folder, "alpha")
    assert other.has_changed()
    assert other.read() == KNOWN
    assert not other.has_changed()
    assert not cache.has_changed()  # who wrote it knows it
    kept(other, KNOWN._replace(error="down"))
    assert cache.has_changed()
    assert cache.read() == KNOWN._replace(error="down")


def test_only_the_user_may_read_it(cache: PollCache) -> None:
    path = kept(cache)
    cache.submitted = 5.0
    assert stat.S_IMODE(cache.folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in cache.folder.iterdir()} == {0o600}
    assert path.exists()


def test_what_was_left_of_a_killed_writer_is_in_nobodys_way(cache: PollCache) -> None:
    kept(cache)
    (cache.folder / ".alpha.json.tmp").write_bytes(b"half of " * 1000)
    kept(cache, KNOWN._replace(error="again"))
    assert PollCache(cache.folder, "alpha").read() == KNOWN._replace(error="again")
    assert not list(cache.folder.glob(".*"))


@given(st.data())
def test_a_damaged_file_is_nothing_or_reads_as_a_queue(data: st.DataObject) -> None:
    whole = encoded(KNOWN)
    at = data.draw(st.integers(0, len(whole) - 1))
    match data.draw(st.sampled_from(("cut", "changed", "zeroed"))):
        case "cut":
            assert decoded(whole[:at]) is None
        case "zeroed":
            assert decoded(whole[:at] + bytes(len(whole) - at)) is None
        case _:
            byte = bytes([data.draw(st.integers(0, 255))])
            known = decoded(whole[:at] + byte + whole[at + 1 :])
            assert known is None or type(known) is KnownQueue


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


def places(value: object, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    """The path to every part of a JSON value."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [path, *(deep for key, part in inner for deep in places(part, (*path, key)))]


@given(st.data(), anything, st.sampled_from((b"json", b"orjson")))
def test_no_other_json_is_taken_for_a_queue_that_would_break_something(
    data: st.DataObject, other: object, way: bytes
) -> None:
    # given one part of the file replaced by something else
    header, *lines = encoded(KNOWN).split(b"\n")
    whole = {"": [json.loads(line) for line in lines]}
    *above, key = data.draw(st.sampled_from(places(whole)[2:]))
    inner: object = whole
    for step in above:
        inner = inner[step]  # type: ignore[index]
    inner[key] = other  # type: ignore[index]
    # when it is read
    written = [json.dumps(part).encode() for part in whole[""]]
    known = decoded(b"\n".join((header.replace(b"orjson", way), *written)))
    # then it is nothing, or as good as any other
    if known is not None:
        assert decoded(encoded(known)) == known
        assert all(type(job) is Job for job in (known.snapshot.jobs if known.snapshot else ()))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"rowtui-queue 1 orjson\n",
        encoded(KNOWN).replace(b"queue 1", b"queue 2"),
        encoded(KNOWN).replace(b'"partition"', b'"account"'),
        encoded(KNOWN).replace(b"orjson", b"pickle"),
        b"rowtui-queue 1 json\n" + b"[" * 100_000,
    ],
)
def test_a_file_of_another_version_is_left_alone(cache: PollCache, data: bytes) -> None:
    path = kept(cache)
    path.write_bytes(data)
    assert cache.has_changed()
    assert cache.read() is None
    assert not cache.has_changed()  # and not read again and again
    assert path.read_bytes() == data


def test_something_else_in_its_place_hangs_nobody(cache: PollCache) -> None:
    path = kept(cache)
    path.unlink()
    os.mkfifo(path)
    assert cache.read() is None
    path.unlink()
    path.mkdir()
    assert cache.read() is None
    assert not cache.write(KNOWN)


def test_one_asks_at_a_time_and_a_killed_process_does_not_ask(cache: PollCache) -> None:
    # given a process that has the lock
    script = (
        "import sys; from pathlib import Path; from rowtui.core.clusters.polling.cache import *\n"
        "lock = PollCache(Path(sys.argv[1]), 'alpha').try_lock(); print(lock is not None)\n"
        "sys.stdout.flush(); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(cache.folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"True\n"
        # then nobody else gets it, until that process is gone
        assert cache.try_lock() is None
        other.kill()
        other.wait()
        lock = cache.try_lock()
    assert lock is not None
    assert cache.try_lock() is None
    lock.release()
    lock.release()
    assert cache.try_lock() is not None


def test_a_lock_on_a_file_that_was_removed_is_no_lock(
    cache: PollCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given a lock file that is removed as old between its opening and its locking
    path = cache.folder / "alpha.lock"
    real = fcntl.flock
    locked: list[int] = []

    def flock(fd: int, how: int) -> None:
        if not locked:
            path.unlink()
        locked.append(fd)
        real(fd, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    lock = cache.try_lock()
    # then the one that is there now is locked
    assert lock is not None
    assert len(locked) == 2
    assert PollCache(cache.folder, "alpha").try_lock() is None


def test_where_nothing_can_be_kept_everybody_may_ask(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = PollCache(tmp_path / "file" / "queues", "alpha")
    assert cache.try_lock() is not None
    assert cache.try_lock() is not None
    assert not cache.write(KNOWN)
    cache.submitted = 5.0
    assert cache.submitted == 0.0
    assert cache.read() is None
    assert not cache.has_changed()
    cache.forget_old(1e12)


@given(st.floats(0, 1e300), st.floats(0, 1e300))
def test_the_time_of_a_submission_is_seen_by_others(
    tmp_path_factory: pytest.TempPathFactory, first: float, second: float
) -> None:
    folder = tmp_path_factory.getbasetemp() / "submitted"
    cache = PollCache(folder, "alpha")
    for at in (first, second):
        cache.submitted = at
        assert PollCache(folder, "alpha").submitted == at


@pytest.mark.parametrize("text", [b"", b"soon", b"nan", b"inf", b"-5", b"1" * 100, b"\xff"])
def test_a_strange_time_of_a_submission_is_none(cache: PollCache, text: bytes) -> None:
    cache.submitted = 5.0
    (cache.folder / "alpha.submitted").write_bytes(text)
    assert cache.submitted == 0.0


def test_queues_that_nobody_looks_at_are_forgotten(cache: PollCache) -> None:
    now = 1_795_000_000.0
    kept(cache)
    kept(PollCache(cache.folder, "beta"))
    for path in cache.folder.iterdir():
        age = OLD_SECONDS + 5 if path.name.startswith("beta") else OLD_SECONDS - 5
        os.utime(path, (now - age, now - age))
    cache.forget_old(now)
    assert {path.name for path in cache.folder.iterdir()} == {"alpha.json", "alpha.lock"}


class TestNames:
    SLURM = Cluster("alpha", LOCAL.identify, "slurm")

    def test_two_clusters_of_one_name_never_mix(self) -> None:
        def remote(*where: object) -> Cluster:
            return self.SLURM._replace(remote=Remote(*where))  # type: ignore[arg-type]

        names = [
            cache_name(self.SLURM, {}),
            cache_name(self.SLURM, {"SLURM_CONF": "/a/slurm.conf"}),
            cache_name(self.SLURM, {"SLURM_CONF": "/b/slurm.conf"}),
            cache_name(self.SLURM._replace(scheduler="gridengine"), {"SGE_ROOT": "/a"}),
            cache_name(self.SLURM._replace(scheduler="gridengine"), {"SGE_ROOT": "/b"}),
            cache_name(self.SLURM._replace(name="beta"), {}),
            cache_name(remote("login"), {}),
            cache_name(remote("login", "ann"), {}),
            cache_name(remote("login", "", 2222), {}),
            cache_name(remote("other"), {}),
        ]
        assert len(set(names)) == len(names)

    def test_a_remote_cluster_is_the_same_whatever_is_set_here(self) -> None:
        there = self.SLURM._replace(remote=Remote("login"))
        assert cache_name(there, {}) == cache_name(there, {"SLURM_CONF": "/a"})
        by_openssh = there._replace(remote=Remote("login", transport="openssh"))
        assert cache_name(there, {}) == cache_name(by_openssh, {})

    @given(texts)
    def test_every_cluster_has_a_plain_file_name_of_its_own(self, name: str) -> None:
        made = cache_name(self.SLURM._replace(name=name), {})
        assert made.isascii()
        assert "/" not in made
        assert not made.startswith((".", "-"))
        assert len(made) < 80
        assert made != cache_name(self.SLURM._replace(name=name + "x"), {})


def test_only_one_of_a_users_processes_asks_what_jobs_use_within_an_interval(
    tmp_path: Path,
) -> None:
    one, other = PollCache(tmp_path / "queues", "a"), PollCache(tmp_path / "queues", "a")
    assert one.take_turn(1000.0, 60.0)
    assert not other.take_turn(1059.0, 60.0)
    assert other.take_turn(1006.0, 5.0)  # by hand
    assert not one.take_turn(1065.0, 60.0)
    assert one.take_turn(1066.0, 60.0)
    assert one.take_turn(500.0, 60.0)  # the clock was set back
    assert PollCache(tmp_path / "queues", "b").take_turn(500.0, 60.0)
