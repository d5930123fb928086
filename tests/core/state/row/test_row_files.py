from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.state.directories import StoredDirectories
from rowtui.core.state.model import State, Submitted, bit_set, positions
from rowtui.core.state.names import NameTable
from rowtui.core.state.row import row_files
from rowtui.core.state.row.export import (
    EXPORT_BELOW,
    Due,
    blocks_at_once,
    clean_row_files,
    completed_blocks,
    directories_json,
    due,
    export_row_files,
    write_row_files,
)
from rowtui.core.state.row.postcard import (
    decode_completed,
    decode_submitted,
    encode_submitted,
)
from rowtui.core.state.row.row_files import JOBS_UNREAD, Paths, import_row_files
from rowtui.core.state.row.staging import list_staged, stage_completions
from rowtui.core.state.store.store import Store
from rowtui.core.state.store.stored import Identity, RowFiles, Stored

from tests.core.state.building import built
from tests.core.state.encoding import encode_completed

# Written by Row 1.1.0 in a project with dir0..dir3 and "it's ünï".
ROW_COMPLETED = bytes.fromhex("02036f6e6502046469723004646972310374776f00")
ROW_SUBMITTED = bytes.fromhex(
    "01036f6e650204646972320372696780d0acf30e04646972330372696781d0acf30e"
)
ROW_DIRECTORIES = (
    '{"modified_time":[1795259752,149638237],"values":{"dir0":{"v":0,"w":"ä0"},'
    '"dir1":{"v":1,"w":"ä1"},"dir2":{"v":2,"w":"ä2"},"dir3":{"v":3,"w":"ä3"},'
    '"it\'s ünï":[1.5,null]}}'
)
VALUES = {f"dir{n}".encode(): {"w": f"ä{n}", "v": n} for n in range(4)}
ROW_PROJECT = {**VALUES, "it's ünï".encode(): [1.5, None]}


def begun(root: Path, values: dict[bytes, object] | None = None) -> Stored:
    directories = built(values if values is not None else dict(ROW_PROJECT))

    def edit(before: Stored) -> Stored:
        state = before.state._replace(directories=directories, completed={"one": 0, "two": 0})
        return before._replace(state=state, reread=False, workspace_mtime_ns=1795259752_149638237)

    return Store(root).commit(edit)


def complete(root: Path, action: str, names: Iterable[str], *, undo: bool = False) -> None:
    def edit(before: Stored) -> Stored:
        members = bit_set(at for n in names if (at := before.directories.position(n)) is not None)
        old = before.state.completed[action]
        new = old & ~members if undo else old | members
        completed = {**before.state.completed, action: new}
        return before._replace(state=before.state._replace(completed=completed))

    Store(root).commit(edit)


def exported(root: Path) -> Stored:
    result = export_row_files(Store(root))
    assert result.notices == ()
    assert result.stored is not None
    return result.stored


def ours(stored: Stored) -> dict[str, set[str]]:
    return {
        action: {stored.directories.name(at) for at in positions(members)}
        for action, members in stored.state.completed.items()
    }


def rows(root: Path) -> dict[str, set[str]]:
    data = (root / ".row" / "completed.postcard").read_bytes()
    return {a: {n.decode() for n in names} for a, names in decode_completed(data).items()}


def row_writes(root: Path, records: dict[str, set[str]]) -> None:
    """As Row does: it reads our file, and writes its own in place, without our trailer."""
    data = encode_completed({a: [n.encode() for n in names] for a, names in records.items()})
    path = root / ".row" / "completed.postcard"
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_bytes(data)
    if path.stat().st_mtime_ns == before:
        os.utime(path, ns=(before + 1, before + 1))


def test_what_row_recorded_is_taken_over(tmp_path: Path) -> None:
    begun(tmp_path)
    (tmp_path / ".row" / "completed.postcard").write_bytes(ROW_COMPLETED)
    (tmp_path / ".row" / "submitted.postcard").write_bytes(ROW_SUBMITTED)
    stored = exported(tmp_path)
    assert ours(stored) == {"one": {"dir0", "dir1"}, "two": set()}
    jobs = stored.state.submitted["one"]
    assert {stored.directories.name(at): job for at, job in jobs.items()} == {
        "dir2": Submitted("rig", 4_000_000_000),
        "dir3": Submitted("rig", 4_000_000_001),
    }


def test_row_finds_what_we_recorded_in_its_own_bytes(tmp_path: Path) -> None:
    begun(tmp_path)
    complete(tmp_path, "one", ["dir0", "dir1"])

    def submit(before: Stored) -> Stored:
        jobs = {2: Submitted("rig", 4_000_000_000, "t"), 3: Submitted("rig", 4_000_000_001, "u")}
        reserved = {0: Submitted("rig", 0, "v")}
        return before._replace(
            state=before.state._replace(submitted={"one": jobs, "two": reserved})
        )

    Store(tmp_path).commit(submit)
    exported(tmp_path)
    folder = tmp_path / ".row"
    assert (folder / "completed.postcard").read_bytes().startswith(ROW_COMPLETED)
    assert (folder / "submitted.postcard").read_bytes().startswith(ROW_SUBMITTED)
    assert (folder / "directories.json").read_bytes() == ROW_DIRECTORIES.encode()


def test_nothing_is_written_twice(tmp_path: Path) -> None:
    begun(tmp_path)
    complete(tmp_path, "one", ["dir0"])
    first = exported(tmp_path)
    files = {p: p.stat().st_ino for p in (tmp_path / ".row").rglob("*") if p.is_file()}
    assert exported(tmp_path).state.generation == first.state.generation
    assert {p: p.stat().st_ino for p in (tmp_path / ".row").rglob("*") if p.is_file()} == files


DIRECTORIES = [f"dir{n}" for n in range(4)]
step = st.sampled_from(["ours", "undo", "row", "row clean", "stage", "row merges staged", "sync"])


@settings(max_examples=40, deadline=None)
@given(steps=st.lists(st.tuples(step, st.sampled_from(DIRECTORIES)), max_size=10))
def test_row_and_rowtui_in_turn_always_agree(
    tmp_path_factory: object, steps: list[tuple[str, str]]
) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        begun(root)
        truth: set[str] = set()
        staged: set[str] = set()
        exported(root)
        for what, name in steps:
            if what == "ours":
                sync(root)
                truth |= staged
                staged = set()
                complete(root, "one", [name])
                truth.add(name)
                exported(root)
            elif what == "undo":
                sync(root)
                truth |= staged
                staged = set()
                complete(root, "one", [name], undo=True)
                truth.discard(name)
                exported(root)
            elif what == "row":
                truth.add(name)
                row_writes(root, {"one": rows_or_none(root) | {name}, "two": set()})
            elif what == "row clean":
                (root / ".row" / "completed.postcard").unlink(missing_ok=True)
                truth = set()
            elif what == "stage":
                stage_completions(root, {"one": [name]})
                staged.add(name)
            elif what == "row merges staged":
                row_writes(root, {"one": rows_or_none(root) | staged, "two": set()})
                for file in list_staged(root):
                    (root / ".row" / "completed" / file).unlink()
                truth |= staged
                staged = set()
            else:
                sync(root)
                truth |= staged
                staged = set()
        sync(root)
        truth |= staged
        stored = Store(root).load().stored
        assert stored is not None
        assert ours(stored)["one"] == truth
        assert rows(root)["one"] == truth


def rows_or_none(root: Path) -> set[str]:
    return rows(root)["one"] if (root / ".row" / "completed.postcard").exists() else set()


def sync(root: Path) -> None:
    """What `synchronise` does, without a workspace."""
    from rowtui.core.state.records import with_staged
    from rowtui.core.state.row.staging import read_staged

    def edit(stored: Stored) -> Stored:
        stored = import_row_files(root, stored).stored
        waiting = list_staged(root)
        fresh = [file for file in waiting if file not in stored.consumed]
        return with_staged(stored, read_staged(root, fresh).staged, waiting, 0)

    Store(root).commit(edit)
    exported(root)


def test_an_older_file_of_ours_that_was_written_late_takes_nothing_back(tmp_path: Path) -> None:
    begun(tmp_path)
    slow = Store(tmp_path).load().stored
    assert slow is not None
    complete(tmp_path, "one", ["dir0"])
    exported(tmp_path)
    # A process that looked before that completion writes only now.
    write_row_files(tmp_path, slow, Due(True, True, True))
    assert rows(tmp_path)["one"] == set()

    assert ours(exported(tmp_path))["one"] == {"dir0"}
    assert rows(tmp_path)["one"] == {"dir0"}


def test_a_file_of_another_store_of_ours_counts_as_foreign(tmp_path: Path) -> None:
    begun(tmp_path)
    complete(tmp_path, "one", ["dir0"])
    exported(tmp_path)
    for path in (tmp_path / ".row" / "rowtui").iterdir():
        path.unlink()
    begun(tmp_path)
    assert ours(exported(tmp_path))["one"] == {"dir0"}


def test_jobs_that_row_dropped_are_dropped_and_our_reservations_stay(tmp_path: Path) -> None:
    begun(tmp_path)

    def submit(before: Stored) -> Stored:
        jobs = {0: Submitted("c", 5, "t"), 1: Submitted("c", 6, "t"), 2: Submitted("c", 0, "u")}
        return before._replace(state=before.state._replace(submitted={"one": jobs}))

    Store(tmp_path).commit(submit)
    exported(tmp_path)
    path = tmp_path / ".row" / "submitted.postcard"
    kept = {"one": {b"dir1": ("c", 6), b"dir3": ("c", 8)}}
    path.write_bytes(encode_submitted(kept))
    stored = exported(tmp_path)
    assert stored.state.submitted == {
        "one": {1: Submitted("c", 6, "t"), 2: Submitted("c", 0, "u"), 3: Submitted("c", 8)}
    }
    assert decode_submitted(path.read_bytes()) == kept


def test_without_its_file_the_jobs_of_row_stay_until_their_scheduler_has_ended_them(
    tmp_path: Path,
) -> None:
    begun(tmp_path)
    path = tmp_path / ".row" / "submitted.postcard"
    kept = {"one": {b"dir1": ("c", 6), b"dir2": ("c", 6), b"dir3": ("c", 8)}}
    path.write_bytes(encode_submitted(kept))
    exported(tmp_path)
    path.unlink()
    result = export_row_files(Store(tmp_path))
    assert result.notices == (
        "Row's list of jobs is gone; 2 jobs that were in it are still queued, as far as is known",
    )
    assert decode_submitted(path.read_bytes()) == kept
    assert exported(tmp_path).state.submitted["one"].keys() == {1, 2, 3}


def test_names_that_are_not_utf8_stay_ours_whatever_row_does(tmp_path: Path) -> None:
    begun(tmp_path, {b"a": 1, b"\xff": 2})

    def edit(before: Stored) -> Stored:
        state = before.state._replace(
            completed={"one": 0b11, "two": 0},
            submitted={"two": {1: Submitted("c", 3, "t")}},
        )
        return before._replace(state=state)

    Store(tmp_path).commit(edit)
    exported(tmp_path)
    assert rows(tmp_path) == {"one": {"a"}, "two": set()}
    assert json.loads((tmp_path / ".row" / "directories.json").read_bytes())["values"] == {"a": 1}
    row_writes(tmp_path, {"one": {"a"}, "two": {"a"}})
    (tmp_path / ".row" / "submitted.postcard").write_bytes(encode_submitted({}))
    stored = exported(tmp_path)
    assert stored.state.completed == {"one": 0b11, "two": 0b01}
    assert set(stored.state.submitted["two"]) == {1}


def test_bad_directories_make_row_look_again(tmp_path: Path) -> None:
    stored = begun(tmp_path, {b"a": 1, b"b": ValueError("it is empty"), b'q"\n': 2})
    assert (
        directories_json(stored.directories, stored.workspace_mtime_ns)
        == b'{"modified_time":[0,0],"values":{"a":1,"q\\"\\n":2}}'
    )


def damaged(path: Path, how: str) -> None:
    """A file of Row's after damage of this kind."""
    data = path.read_bytes()
    path.unlink()
    if how == "a folder":
        (path / "inside").mkdir(parents=True)
    else:
        path.write_bytes(
            {
                "cut": data[:5],
                "empty": b"",
                "zeros": bytes(len(data)),
                "other bytes": b"\x05rubbish",
            }[how]
        )


DAMAGE = ("cut", "empty", "zeros", "other bytes", "a folder")


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row does not write at the same time here."""
    monkeypatch.setattr(row_files, "SETTLED_SECONDS", 0.0)


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.usefixtures("patience")
def test_damaged_files_of_rows_are_set_aside_and_written_anew(tmp_path: Path, how: str) -> None:
    begun(tmp_path)
    complete(tmp_path, "one", ["dir0"])

    def submit(before: Stored) -> Stored:
        jobs = {1: Submitted("c", 5, "t"), 2: Submitted("c", 6)}
        return before._replace(state=before.state._replace(submitted={"two": jobs}))

    Store(tmp_path).commit(submit)
    before = exported(tmp_path)
    paths = Paths.of(tmp_path)
    held = [path.read_bytes() for path in paths]
    for path in paths:
        damaged(path, how)

    for _ in range(2):  # also when the files were damaged before
        result = export_row_files(Store(tmp_path))
        assert sum("renamed and replaced by a new file" in notice for notice in result.notices) == 3
        assert result.stored is not None
        assert result.stored.state.completed == before.state.completed
        assert result.stored.state.submitted == before.state.submitted
        assert result.stored.uncertain
        written = decode_submitted(paths.submitted.read_bytes())
        assert written == {"two": {b"dir1": ("c", 5), b"dir2": ("c", 6)}}
        assert rows(tmp_path)["one"] == {"dir0"}
        assert paths.directories.read_bytes() == held[2]
        for path in paths:
            assert path.with_name(f"{path.name}.damaged").exists()
            damaged(path, how)


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.usefixtures("patience")
def test_a_record_of_jobs_that_only_row_wrote_is_left_where_it_is(tmp_path: Path, how: str) -> None:
    path = Paths.of(tmp_path).submitted
    path.parent.mkdir()
    path.write_bytes(encode_submitted({"one": {b"dir1": ("c", 6), b"dir3": ("c", 8)}}))
    whole = path.read_bytes()
    damaged(path, how)
    begun(tmp_path)
    store = Store(tmp_path)
    view = store.load()
    assert view.stored is not None
    store.publish(view, import_row_files(tmp_path, view.stored._replace(reread=True)).stored)

    result = export_row_files(store)

    assert JOBS_UNREAD in result.notices
    assert result.stored is not None
    assert result.stored.row.jobs_unread
    assert path.is_dir() if how == "a folder" else path.read_bytes() != whole
    if path.is_dir():
        shutil.rmtree(path)
    path.write_bytes(whole)
    stored = exported(tmp_path)
    assert not stored.row.jobs_unread
    assert stored.state.submitted == {"one": {1: Submitted("c", 6), 3: Submitted("c", 8)}}


@pytest.mark.usefixtures("patience")
def test_a_lost_record_of_jobs_that_only_row_wrote_no_longer_stops_anything(tmp_path: Path) -> None:
    path = Paths.of(tmp_path).submitted
    path.parent.mkdir()
    path.write_bytes(b"\x05rubbish")
    stored = begun(tmp_path)
    unread = import_row_files(tmp_path, stored._replace(reread=True)).stored
    assert unread.row.jobs_unread

    clean_row_files(tmp_path, directories=False, submitted=True, completed=False)

    assert not import_row_files(tmp_path, unread).stored.row.jobs_unread


def test_what_row_is_writing_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun(tmp_path)
    exported(tmp_path)
    path = Paths.of(tmp_path).submitted
    path.write_bytes(b"")

    def row_goes_on(_: float) -> None:
        path.write_bytes(encode_submitted({"one": {b"dir1": ("c", 6)}}))

    monkeypatch.setattr(row_files.time, "sleep", row_goes_on)
    assert exported(tmp_path).state.submitted == {"one": {1: Submitted("c", 6)}}


def test_a_clean_of_rows_directories_asks_for_everything_to_be_read_again(tmp_path: Path) -> None:
    begun(tmp_path)
    stored = exported(tmp_path)
    (tmp_path / ".row" / "directories.json").unlink()
    assert import_row_files(tmp_path, stored).stored.reread


def test_a_large_project_that_row_never_opened_keeps_no_copies_for_row(tmp_path: Path) -> None:
    many = StoredDirectories("dirs.x.rtc", EXPORT_BELOW, 0, (), folder=tmp_path, nameless_set=0)
    stored = Stored(State(1, many, {"one": 1}), "00")
    assert not any(due(stored))
    few = StoredDirectories("dirs.x.rtc", EXPORT_BELOW - 1, 0, (), folder=tmp_path, nameless_set=0)
    assert due(stored._replace(state=stored.state._replace(directories=few))).completed
    identity = Identity(1, 2, 3)
    known = stored._replace(row=RowFiles(completed_identity=identity))
    assert due(known).completed


@given(st.lists(st.sets(st.integers(0, 299)), max_size=3))
def test_names_are_encoded_alike_with_and_without_numpy(chosen: list[set[int]]) -> None:
    table = NameTable.of([b"%08x" % at for at in range(300)])
    records = {f"a{at}": bit_set(members) for at, members in enumerate(chosen)}
    assert completed_blocks(table, records) == blocks_at_once(table, records)
