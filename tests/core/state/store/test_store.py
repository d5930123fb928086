from __future__ import annotations

import os
import resource
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rowtui.core.base import files
from rowtui.core.base.errors import NotSavedError
from rowtui.core.state.container import MAGIC, NewerCacheError
from rowtui.core.state.model import LastEnd, LastOutcome, Submitted, bit_set
from rowtui.core.state.store.store import Store
from rowtui.core.state.store.stored import Identity, RowFiles, Stored
from rowtui.core.state.store.sweep import KEPT_GENERATIONS, KEPT_SECONDS

from tests.core.state.building import built


def with_count(number: int) -> Callable[[Stored], Stored]:
    def edit(before: Stored) -> Stored:
        state = before.state
        if not len(state.directories):
            state = state._replace(directories=built({b"%d" % at: at for at in range(7)}))
        return before._replace(state=state._replace(completed={"a": number}))

    return edit


def count(store: Store) -> int:
    stored = store.load().stored
    return stored.state.completed["a"] if stored else 0


def folder(root: Path) -> Path:
    return root / ".row" / "rowtui"


def full_of_records(before: Stored) -> Stored:
    directories = built({b"d%d" % at: {"a": at} for at in range(9)} | {b"\xff": ValueError("bad")})
    state = before.state._replace(
        directories=directories,
        completed={"one": 0b101, "two": 0, "three": 0b101},
        submitted={"one": {3: Submitted("c", 7, "t"), 4: Submitted("c", 7, "t")}},
        ends={
            "two": {
                5: LastEnd("c", 8, "u", "exit code 2 \udcff"),
                6: LastEnd("c", 8, "u", "not reached: exit code 2", LastOutcome.NOT_REACHED),
                7: LastEnd("c", 9, "v", "not begun: cancelled", LastOutcome.CANCELLED),
            }
        },
    )
    return before._replace(
        state=state,
        workspace_mtime_ns=123,
        racy=True,
        value_file="v.json",
        products={"one": ("p", "q"), "two": (), "three": ("r",)},
        aside={"old": 0b11},
        consumed={"x.postcard": (1, 2)},
        row=RowFiles(
            completed_identity=Identity(1, 2, 3),
            completed={"one": 1},
            submitted={"one": {3: ("c", 7)}},
            directories="d@1",
        ),
        workflow=b'{"w":1}',
        workflow_identity=Identity(4, 5, 6),
        reread=False,
    )


def test_everything_comes_back_from_another_process_view(tmp_path: Path) -> None:
    written = Store(tmp_path).commit(full_of_records)
    found = Store(tmp_path).load().stored
    assert found is not None
    for field in ("lineage", "workspace_mtime_ns", "racy", "value_file", "products", "aside"):
        assert getattr(found, field) == getattr(written, field)
    for field in ("consumed", "workflow", "workflow_identity", "reread"):
        assert getattr(found, field) == getattr(written, field)
    for field in ("generation", "completed", "submitted", "ends"):
        assert getattr(found.state, field) == getattr(written.state, field)
    assert found.state.generation == 1
    assert dict(found.directories.bad) == {9: "bad"}
    assert found.row.submitted_due
    assert {a: dict(jobs) for a, jobs in found.row.submitted.items()} == {"one": {3: ("c", 7)}}
    assert found.row._replace(submitted={}) == written.row._replace(submitted={})


def test_a_base_equal_to_ours_is_not_stored_twice_and_comes_back(tmp_path: Path) -> None:
    def equal(before: Stored) -> Stored:
        stored = full_of_records(before)
        jobs = {"one": {3: ("c", 7), 4: ("c", 7)}}
        return stored._replace(row=stored.row._replace(submitted=jobs))

    Store(tmp_path).commit(equal)
    found = Store(tmp_path).load().stored
    assert found is not None
    assert not found.row.submitted_due
    assert dict(found.row.submitted) == {"one": {3: ("c", 7), 4: ("c", 7)}}


def test_an_edit_that_changes_nothing_publishes_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.commit(lambda before: before).state.generation == 0
    assert not folder(tmp_path).exists()


def test_an_edit_is_made_again_on_top_of_a_faster_one(tmp_path: Path) -> None:
    store, other = Store(tmp_path), Store(tmp_path)
    other.commit(with_count(1))
    seen: list[int] = []

    def edit(before: Stored) -> Stored:
        if not seen:
            other.commit(with_count(2))
        seen.append(before.state.completed["a"])
        return with_count(before.state.completed["a"] | 4)(before)

    assert store.commit(edit).state.completed == {"a": 6}
    assert seen == [1, 2]
    assert count(Store(tmp_path)) == 6


def test_a_commit_by_a_process_that_slept_for_hours_is_not_lost(tmp_path: Path) -> None:
    sleeper, other = Store(tmp_path), Store(tmp_path)
    other.commit(with_count(1))
    view = sleeper.load()
    assert view.stored
    for number in range(2, 6):
        other.commit(with_count(number))
    for number in (1, 2, 3):  # swept long ago
        (folder(tmp_path) / f"done.{number}.rtc").unlink()
    assert sleeper.publish(view, with_count(64)(view.stored)) is None
    assert count(Store(tmp_path)) == 5
    assert not (folder(tmp_path) / "done.2.rtc").exists()


def test_reading_the_same_generation_again_opens_no_file(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.commit(with_count(3))
    first = store.load().stored
    assert store.load().stored is first


def test_a_generation_that_another_process_makes_anew_under_its_number_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, theirs = Store(tmp_path), Store(tmp_path)
    really = files.sync_folder

    def lose_and_replace(path: Path) -> None:
        really(path)
        monkeypatch.setattr(files, "sync_folder", really)
        for file in folder(tmp_path).glob("done.*"):
            file.unlink()
        theirs.commit(with_count(2))

    monkeypatch.setattr(files, "sync_folder", lose_and_replace)
    mine.commit(with_count(1))

    assert generations(tmp_path) == [1]
    assert count(mine) == 2


@pytest.mark.parametrize("damage", [b"", b"rubbish", None])
def test_damaged_records_are_set_aside_and_older_ones_are_used(
    tmp_path: Path, damage: bytes | None
) -> None:
    store = Store(tmp_path)
    store.commit(with_count(1))
    store.commit(with_count(3))
    path = folder(tmp_path) / "done.2.rtc"
    data = bytearray(path.read_bytes())
    data[-1] ^= 0xFF
    path.write_bytes(bytes(data) if damage is None else damage)

    view = Store(tmp_path).load()
    assert view.stored is not None
    assert view.stored.state.completed == {"a": 1}
    assert view.stored.reread
    assert view.damaged == ("done.2.rtc",)
    assert "it is renamed, and made again" in view.notices[0]
    assert "\n" not in view.notices[0]
    assert path.exists()  # readers write nothing

    after = Store(tmp_path).commit(with_count(7))
    assert after.state.generation == 3
    assert (folder(tmp_path) / "done.2.rtc.damaged").exists()
    assert not path.exists()
    assert Store(tmp_path).load().notices == ()


def test_records_whose_names_are_lost_are_of_no_use(tmp_path: Path) -> None:
    Store(tmp_path).commit(full_of_records)
    for path in folder(tmp_path).glob("dirs.*"):
        path.unlink()
    view = Store(tmp_path).load()
    assert view.stored is None
    assert "missing" in view.notices[0]
    assert Store(tmp_path).commit(with_count(1)).state.generation == 2


def test_records_of_a_newer_rowtui_are_left_alone(tmp_path: Path) -> None:
    Store(tmp_path).commit(with_count(1))
    path = folder(tmp_path) / "done.2.rtc"
    path.write_bytes(struct.pack("<8sIII", MAGIC, 99, 0, 0))
    with pytest.raises(NewerCacheError):
        Store(tmp_path).load()
    with pytest.raises(NewerCacheError):
        Store(tmp_path).commit(with_count(2))
    assert path.exists()


def age(path: Path, seconds: int) -> None:
    status = path.stat()
    os.utime(path, (status.st_atime - seconds, status.st_mtime - seconds))


def generations(root: Path) -> list[int]:
    return sorted(int(path.name.split(".")[1]) for path in folder(root).glob("done.*.rtc"))


def test_old_generations_are_deleted_but_never_the_last_ones(tmp_path: Path) -> None:
    store = Store(tmp_path)
    total = KEPT_GENERATIONS + 10
    for number in range(1, total):
        store.commit(with_count(number))
    assert generations(tmp_path) == list(range(1, total))  # an hour has not passed
    for path in folder(tmp_path).glob("done.*"):
        age(path, 2 * KEPT_SECONDS)
    Store(tmp_path).commit(with_count(total))
    assert generations(tmp_path) == list(range(total - KEPT_GENERATIONS, total + 1))


def test_a_generation_is_looked_at_once_however_many_commits_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    for number in range(1, 30):
        store.commit(with_count(number))
    really, asked = os.stat, []

    def stat(path: Any, *rest: Any, **more: Any) -> os.stat_result:
        asked.append(os.fspath(path) if isinstance(path, str | Path) else "")
        return really(path, *rest, **more)

    monkeypatch.setattr(os, "stat", stat)
    store.commit(with_count(30))

    old = {str(folder(tmp_path) / f"done.{number}.rtc") for number in range(1, 29)}
    assert not old & set(asked)


def test_a_clock_that_jumped_far_ahead_deletes_nothing_that_may_be_read(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.commit(full_of_records)
    dirs = {path.name for path in folder(tmp_path).glob("dirs.*")}
    for path in folder(tmp_path).iterdir():  # as if the clock now were ten years later
        age(path, 10 * 365 * 24 * 3600)
    fresh = built({b"x": 1})
    store.commit(lambda before: before._replace(state=before.state._replace(directories=fresh)))
    store.commit(with_count(2))
    assert dirs <= {path.name for path in folder(tmp_path).glob("dirs.*")}
    assert generations(tmp_path) == [1, 2, 3]


def test_files_that_no_generation_needs_are_deleted_in_time(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.commit(full_of_records)
    stale = {path.name for path in folder(tmp_path).glob("*-*")}
    (folder(tmp_path) / ".done.9.rtc.0123.tmp").write_bytes(b"left by kill -9")
    (folder(tmp_path) / "dirs.1-orphan.rtc").write_bytes(b"left by kill -9")
    (folder(tmp_path) / "journal").write_bytes(b"not ours to delete")
    fresh = built({b"x": 1})
    store.commit(lambda before: before._replace(state=before.state._replace(directories=fresh)))
    for path in folder(tmp_path).iterdir():
        age(path, 3 * KEPT_SECONDS)

    def retired_long_ago(before: Stored) -> Stored:
        return before._replace(retired={f: (g, 5) for f, (g, _) in before.retired.items()})

    for number in range(KEPT_GENERATIONS + 2):
        store.commit(lambda before, n=number: retired_long_ago(with_count(n)(before)))  # type: ignore[misc]
    left = {path.name for path in folder(tmp_path).iterdir()}
    assert not left & stale
    assert not left & {".done.9.rtc.0123.tmp", "dirs.1-orphan.rtc"}
    assert "journal" in left
    stored = Store(tmp_path).load().stored
    assert stored is not None
    assert stored.directories.value(0) == 1


def test_sort_orders_live_as_long_as_their_directories(tmp_path: Path) -> None:
    store = Store(tmp_path)
    directories = store.commit(full_of_records).directories
    assert store.load_orders(directories, "key") is None
    assert store.save_orders(directories, "key \udcff", b"123")
    assert store.load_orders(directories, "key \udcff") == b"123"
    assert store.load_orders(directories, "other") is None
    fresh = store.commit(full_of_records).directories
    assert store.load_orders(fresh, "key \udcff") is None
    assert not store.save_orders(built({b"a": 1}), "key", b"in memory")


def in_child(work: Callable[[], None]) -> None:
    """Run `work` in a child process; its failure is ours."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_full_disk_loses_nothing_and_says_what_to_do(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.commit(with_count(5))
    before = sorted(folder(tmp_path).iterdir())

    def work() -> None:
        # A limit on file sizes fails a write just like a full disk, also for ordinary users.
        resource.setrlimit(resource.RLIMIT_FSIZE, (600, resource.RLIM_INFINITY))
        with pytest.raises(NotSavedError, match="nothing can be saved") as caught:
            Store(tmp_path).commit(full_of_records)
        assert "nothing was lost" in caught.value.hint
        assert not caught.value.forbidden

    in_child(work)
    assert sorted(folder(tmp_path).iterdir()) == before
    assert count(Store(tmp_path)) == 5
    assert Store(tmp_path).commit(with_count(7)).state.generation == 2


def test_without_write_permission_nothing_is_saved_and_that_is_said(open_folder: Path) -> None:
    Store(open_folder).commit(with_count(5))
    for path in (folder(open_folder), open_folder / ".row"):
        path.chmod(0o555)

    def work() -> None:
        become_ordinary()
        store = Store(open_folder)
        assert count(store) == 5
        with pytest.raises(NotSavedError, match="Permission denied") as caught:
            store.commit(with_count(7))
        assert caught.value.forbidden

    in_child(work)
    assert count(Store(open_folder)) == 5


def become_ordinary() -> None:
    """Root may write everywhere: be somebody else."""
    if os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)


@pytest.fixture
def open_folder(tmp_path_factory: Any) -> Any:
    import shutil
    import tempfile

    path = Path(tempfile.mkdtemp(prefix="rowtui-open-"))
    path.chmod(0o777)
    yield path
    for part in (path, *path.rglob("*")):
        if part.is_dir():
            part.chmod(0o777)
    shutil.rmtree(path)


def test_sets_beyond_the_last_directory_are_never_written(tmp_path: Path) -> None:
    stored = Store(tmp_path).commit(full_of_records)
    assert stored.state.everything == bit_set(range(9))


def test_directories_that_are_open_are_not_opened_again_for_what_others_commit(
    tmp_path: Path,
) -> None:
    ours, theirs = Store(tmp_path), Store(tmp_path)
    ours.commit(with_count(1))
    before = ours.load().stored
    assert before is not None
    theirs.commit(with_count(2))

    after = ours.load().stored
    assert after is not None
    assert after.state.completed == {"a": 2}
    assert after.directories is before.directories

    theirs.commit(
        lambda stored: stored._replace(
            state=stored.state._replace(directories=built({b"other": 1}), completed={"a": 1})
        )
    )
    other = ours.load().stored
    assert other is not None
    assert other.directories.names() == ["other"]
