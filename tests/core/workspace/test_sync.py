from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.state.container import CorruptCacheError
from rowtui.core.state.model import Submitted, positions
from rowtui.core.state.row.postcard import (
    decode_completed,
    decode_submitted,
    encode_submitted,
)
from rowtui.core.state.row.staging import list_staged, stage_completions
from rowtui.core.state.store.store import Store
from rowtui.core.state.store.stored import identity_of
from rowtui.core.workflow.model import Action, Condition, GroupRule, Selector, Workflow
from rowtui.core.workspace.list import list_workspace
from rowtui.core.workspace.read import WorkspaceReading, read_directories
from rowtui.core.workspace.sync import Synced, synchronise
from rowtui.core.workspace.update import Compiled, Disk

from tests.core.state.encoding import encode_completed

LONG_AGO = 1_000_000_000


class Project:
    """A real project folder, and what was read of it."""

    def __init__(self, root: Path, *names: str) -> None:
        self.root = root
        self.workflow = Workflow(
            root,
            value_file="v.json",
            actions=(
                Action(0, "one", "x", products=("one",)),
                Action(1, "two", "x", products=("two",), previous_actions=("one",)),
            ),
        )
        self.read: list[tuple[list[bytes], str | None, tuple[str, ...]]] = []
        self.listed = 0
        (root / "workspace").mkdir(parents=True)
        for name in names:
            self.directory(name)
        self.settle()

    def directory(self, name: str, value: object = 1, *products: str) -> Path:
        path = self.root / "workspace" / name
        path.mkdir()
        (path / "v.json").write_text(json.dumps(value))
        for product in products:
            (path / product).touch()
        return path

    def settle(self) -> None:
        """As if the workspace had not changed for years (a recent change is looked at again)."""
        workspace = self.root / "workspace"
        os.utime(workspace, (LONG_AGO, os.stat(workspace).st_ino % 1000 + LONG_AGO + self.ticks()))

    ticked = 0

    def ticks(self) -> int:
        self.ticked += 1
        return self.ticked

    def actions(self, *actions: Action) -> None:
        self.workflow = self.workflow._replace(actions=actions)

    def sync(self, **options: Any) -> Synced:
        def read(workspace: Path, names: list[bytes], **what: Any) -> WorkspaceReading:
            self.read.append((sorted(names), what["value_file"], tuple(what["products"])))
            return read_directories(workspace, names, **what)

        def list_(workspace: Path) -> Any:
            self.listed += 1
            return list_workspace(workspace)

        self.read.clear()
        self.listed = 0
        return synchronise(
            Store(self.root), self.workflow, disk=Disk(list_=list_, read=read), **options
        )

    def row(self, name: str) -> Path:
        return self.root / ".row" / name


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "p", "a", "b", "c")


def completed(synced: Synced) -> dict[str, str]:
    directories = synced.stored.directories
    return {
        action: " ".join(directories.name(at) for at in positions(members))
        for action, members in synced.state.completed.items()
    }


def test_a_first_look_reads_every_value_and_finds_products(project: Project) -> None:
    project.directory("d", {"x": [1]}, "one", "two")
    synced = project.sync()
    assert synced.notices == ()
    assert synced.saved
    assert synced.stored.directories.names() == ["a", "b", "c", "d"]
    assert synced.stored.directories.value(3) == {"x": [1]}
    assert completed(synced) == {"one": "d", "two": "d"}
    assert decode_completed(project.row("completed.postcard").read_bytes()) == {
        "one": [b"d"],
        "two": [b"d"],
    }
    assert set(json.loads(project.row("directories.json").read_bytes())["values"]) == set("abcd")


def test_where_nothing_changed_nothing_is_read_or_written(project: Project) -> None:
    first = project.sync()
    files = {path: identity_of(path) for path in project.root.rglob("*")}
    second = project.sync()
    assert (project.read, project.listed) == ([], 0)
    assert second.state.generation == first.state.generation
    assert {path: identity_of(path) for path in project.root.rglob("*")} == files


def test_a_warm_look_costs_few_system_calls_and_no_heavy_import(project: Project) -> None:
    project.sync()
    code = """
import os, sys
from pathlib import Path
from rowtui.core.state.store.store import Store
from rowtui.core.workspace.sync import synchronise
from rowtui.core.workflow.model import Action, Workflow
root = Path(sys.argv[1])
actions = (Action(0, "one", "x", products=("one",)), Action(1, "two", "x", products=("two",)))
calls = []
def count(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and str(root) in str(arguments[0]):
        calls.append((event, str(arguments[0]).removeprefix(str(root))))
sys.addaudithook(count)
synchronise(Store(root), Workflow(root, value_file=None, actions=actions))
calls.clear()
synchronise(Store(root), Workflow(root, value_file=None, actions=actions))
print(sorted(calls))
print([m for m in ("numpy", "orjson", "tomli", "asyncio", "textual") if m in sys.modules])
"""
    shown = subprocess.run(
        [sys.executable, "-c", code, str(project.root)], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    calls = eval(shown[0])  # our own program's output
    assert [call for call in calls if call[0] != "open"] == [
        ("os.listdir", "/.row/completed"),
        ("os.listdir", "/.row/rowtui"),
    ]
    assert len([call for call in calls if call[0] == "open"]) == 1
    assert "/.row/rowtui/done." in calls[0][1] + calls[-1][1] + str(calls)
    assert shown[1] == "[]"


def test_new_and_vanished_directories_are_noticed_and_only_new_ones_are_read(
    project: Project,
) -> None:
    project.directory("b2", 7, "one")
    project.sync()
    project.directory("aa", 5, "one", "two")
    shutil.rmtree(project.root / "workspace" / "b")
    project.settle()
    synced = project.sync()
    assert synced.stored.directories.names() == ["a", "aa", "b2", "c"]
    assert project.read == [([b"aa"], "v.json", ("one", "two"))]
    assert completed(synced) == {"one": "aa b2", "two": "aa"}
    assert [synced.stored.directories.value(at) for at in range(4)] == [1, 5, 7, 1]


def test_row_forgets_what_a_vanished_directory_had_completed_too(project: Project) -> None:
    jobs = {"one": {b"b": ("cluster", 7), b"c": ("cluster", 7)}}
    project.row("completed.postcard").parent.mkdir()
    project.row("completed.postcard").write_bytes(encode_completed({"two": [b"a", b"b"]}))
    project.row("submitted.postcard").write_bytes(encode_submitted(jobs))
    project.sync()
    shutil.rmtree(project.root / "workspace" / "b")
    project.settle()
    project.sync()
    assert decode_completed(project.row("completed.postcard").read_bytes()) == {
        "one": [],
        "two": [b"a"],
    }
    assert decode_submitted(project.row("submitted.postcard").read_bytes()) == {
        "one": {b"c": ("cluster", 7)}
    }
    before = os.stat(project.row("completed.postcard"))
    project.sync()
    assert os.stat(project.row("completed.postcard")) == before


def test_a_workspace_that_changed_just_now_is_listed_again_next_time(project: Project) -> None:
    project.sync()
    project.directory("d")
    assert project.sync().stored.racy
    project.sync()
    assert project.listed == 1
    project.settle()
    assert not project.sync().stored.racy
    project.sync()
    assert project.listed == 0


def test_an_edited_value_file_is_read_again(project: Project) -> None:
    project.sync()
    (project.root / "workspace" / "b" / "v.json").write_text("[2, 3]")
    synced = project.sync()
    assert project.read == [([b"b"], "v.json", ())]
    assert synced.stored.directories.value(1) == [2, 3]
    row = json.loads(project.row("directories.json").read_bytes())
    assert row["values"] == {"a": 1, "b": [2, 3], "c": 1}


def test_in_a_large_project_edits_are_found_when_asked_for(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rowtui.core.workspace.update.STAMPS_UP_TO", 2)
    project.sync()
    (project.root / "workspace" / "b" / "v.json").write_text("22")
    assert project.sync().stored.directories.value(1) == 1
    assert project.sync(check_values=True).stored.directories.value(1) == 22


def test_one_bad_directory_is_set_aside_and_comes_back_when_it_is_mended(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = project.root / "workspace" / "b" / "v.json"
    path.write_text("{broken")
    project.directory("x\udcff", 1, "one")
    synced = project.sync()
    assert "not valid JSON" in synced.stored.directories.bad[1]
    assert synced.state.everything == 0b1101
    assert completed(synced)["one"] == "x\udcff"
    row = json.loads(project.row("directories.json").read_bytes())
    assert set(row["values"]) == {"a", "c"}
    assert row["modified_time"] == [0, 0]

    monkeypatch.setattr("rowtui.core.workspace.update.STAMPS_UP_TO", 2)  # bad ones are always seen
    path.write_text("4")
    synced = project.sync()
    assert dict(synced.stored.directories.bad) == {}
    assert synced.stored.directories.value(1) == 4
    assert json.loads(project.row("directories.json").read_bytes())["modified_time"] != [0, 0]


def test_another_value_file_reads_all_values_and_no_product(project: Project) -> None:
    project.sync()
    for name in "abc":
        (project.root / "workspace" / name / "w.json").write_text('"w"')
    project.workflow = project.workflow._replace(value_file="w.json")
    assert project.sync().stored.directories.value(0) == "w"
    assert [(len(names), file, actions) for names, file, actions in project.read] == [
        (3, "w.json", ())
    ]
    project.workflow = project.workflow._replace(value_file=None)
    assert project.sync().stored.directories.value(0) is None
    assert project.sync().stored.directories.value(0) is None
    assert project.read == []


def test_a_new_action_and_changed_products_are_looked_for_at_once(project: Project) -> None:
    project.directory("d", 1, "one", "three")
    project.sync()
    project.actions(
        Action(0, "one", "x", products=("three",)),
        Action(1, "two", "x", products=("two",)),
        Action(2, "new", "x", products=("one",)),
    )
    (project.root / "workspace" / "a" / "three").touch()
    synced = project.sync()
    assert completed(synced) == {"one": "a d", "two": "", "new": "d"}
    assert sorted(actions for _, _, actions in project.read) == [("new",), ("one",)]
    assert all(file is None for _, file, _ in project.read)
    project.actions(Action(0, "one", "x", products=("gone",)), *project.workflow.actions[1:])
    assert completed(project.sync())["one"] == ""


def test_records_of_a_removed_action_wait_for_its_return(project: Project) -> None:
    everything = project.workflow.actions
    stage_completions(project.root, {"two": ["a"]})  # without a product
    project.sync()
    project.actions(everything[0])
    synced = project.sync()
    assert "no action two any more" in synced.notices[0]
    assert completed(synced) == {"one": ""}
    assert decode_completed(project.row("completed.postcard").read_bytes()) == {"one": []}
    assert project.sync().notices == ()
    (project.root / "workspace" / "b" / "two").touch()
    project.actions(*everything)
    assert completed(project.sync())["two"] == "a b"


def test_products_behind_our_back_wait_for_a_full_look_which_also_takes_back(
    project: Project,
) -> None:
    gone = project.directory("d", 1, "one") / "one"
    project.sync()
    (project.root / "workspace" / "a" / "one").touch()
    gone.unlink()
    assert completed(project.sync())["one"] == "d"
    stage_completions(project.root, {"one": ["d", "b"]})
    synced = project.sync(full=True, export=False)
    assert completed(synced)["one"] == "a"
    assert synced.uncompleted == 2
    assert synced.notices == ("2 completions taken back: the products are gone",)
    # Row would merge what lies staged, so it must not lie there any more.
    assert list_staged(project.root) == []
    assert decode_completed(project.row("completed.postcard").read_bytes())["one"] == [b"a"]
    assert completed(project.sync())["one"] == "a"


def test_a_full_look_rewrites_nothing_that_did_not_change(project: Project) -> None:
    file = project.sync().stored.directories.file
    synced = project.sync(full=True)
    assert synced.stored.directories.file == file
    assert [(len(names), actions) for names, _, actions in project.read] == [(3, ("one", "two"))]


def test_staged_completions_count_once_and_stay_until_rows_file_has_them(
    project: Project,
) -> None:
    project.sync()
    stage_completions(project.root, {"one": ["a", "nowhere"], "unknown": ["b"]})
    synced = project.sync(export=False)
    assert completed(synced)["one"] == "a"
    assert len(list_staged(project.root)) == 1
    assert project.sync(export=False).state.generation == synced.state.generation
    synced = project.sync()
    assert list_staged(project.root) == []
    assert decode_completed(project.row("completed.postcard").read_bytes())["one"] == [b"a"]
    project.actions(Action(0, "unknown", "x", products=("u",)))
    assert completed(project.sync()) == {"unknown": "b"}


def test_an_unreadable_staged_file_is_set_aside_with_one_line(project: Project) -> None:
    project.sync()
    folder = project.root / ".row" / "completed"
    folder.mkdir()
    (folder / "bad.postcard").write_bytes(b"\x05bad")
    stage_completions(project.root, {"one": ["c"]})
    synced = project.sync()
    assert completed(synced)["one"] == "c"
    (notice,) = synced.notices
    assert "bad.postcard cannot be read" in notice
    assert "\n" not in notice
    assert os.listdir(folder) == ["bad.postcard.unreadable"]
    assert project.sync().notices == ()


def test_a_project_that_row_worked_on_opens_as_it_is(project: Project) -> None:
    project.row("").mkdir()
    project.row("completed.postcard").write_bytes(encode_completed({"one": [b"a"], "two": []}))
    project.row("submitted.postcard").write_bytes(
        encode_submitted({"two": {b"b": ("anvil", 4)}, "gone": {b"c": ("anvil", 5)}})
    )
    synced = project.sync()
    assert completed(synced) == {"one": "a", "two": ""}
    assert synced.state.submitted["two"] == {1: Submitted("anvil", 4)}
    project.row("completed.postcard").unlink()  # row clean --completed
    assert completed(project.sync()) == {"one": "", "two": ""}


def test_row_clean_makes_everything_be_read_again(project: Project) -> None:
    project.directory("d", 1, "one")
    project.sync()
    project.sync()
    project.row("completed.postcard").unlink()
    project.row("directories.json").unlink()
    synced = project.sync()
    assert completed(synced)["one"] == "d"
    assert len(project.read[0][0]) == 4


def test_columns_follow_the_pointers_of_the_workflow(project: Project) -> None:
    assert project.sync().stored.directories.pointers == ()
    selector = Selector((Condition("/x", "<", 3),))
    rule = GroupRule(include=(selector,), sort_by=("/y", "/x"))
    project.actions(Action(0, "one", "x", products=("one",), group=rule))
    synced = project.sync()
    assert synced.stored.directories.pointers == ("/x", "/y")
    assert list(synced.stored.directories.column("/x").codes) == [0, 0, 0]
    assert project.read == []


def test_the_compiled_workflow_is_kept_with_the_records(project: Project) -> None:
    compiled = Compiled(b'{"v": 1}', None)
    generation = project.sync(compiled=compiled).state.generation
    stored = Store(project.root).load().stored
    assert stored is not None
    assert stored.workflow == b'{"v": 1}'
    project.sync(compiled=compiled)
    assert project.sync(compiled=compiled).state.generation <= generation + 1


def damage(path: Path, how: str) -> None:
    if how == "missing":
        path.unlink()
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "folder":
        path.unlink()
        path.mkdir()
    elif how == "short":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    else:
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0x55
        path.write_bytes(bytes(data))


@pytest.mark.parametrize("how", ["missing", "empty", "short", "flipped", "folder"])
@pytest.mark.parametrize("kind", ["done", "dirs", "values", "all"])
def test_any_damage_to_the_caches_is_mended_from_the_disk(
    project: Project, kind: str, how: str
) -> None:
    project.directory("d", {"x": 1}, "one")
    stage_completions(project.root, {"two": ["a"]})
    project.sync()
    if kind == "done":
        newest = max((project.root / ".row" / "rowtui").glob("done.*"))
        damage(newest, how)
    else:
        for path in (project.root / ".row" / "rowtui").glob(f"{'' if kind == 'all' else kind}*"):
            damage(path, how)
    unseen = kind == "values" and how != "missing"  # until somebody asks for a value
    if unseen and how != "flipped":
        with pytest.raises(CorruptCacheError):
            project.sync().stored.directories.value(3)
    synced = project.sync(full=unseen)
    assert all("\n" not in notice for notice in synced.notices)
    assert synced.stored.directories.value(3) == {"x": 1}
    assert completed(synced) == {"one": "d", "two": "" if unseen else "a"}
    assert synced.stored.directories.names() == ["a", "b", "c", "d"]
    again = project.sync()
    assert again.notices == ()
    assert again.stored.directories.names() == ["a", "b", "c", "d"]


def test_a_missing_workspace_is_a_clear_error(project: Project) -> None:
    shutil.rmtree(project.root / "workspace")
    with pytest.raises(RowtuiError, match="does not exist"):
        project.sync()


def test_an_empty_project_is_fine(tmp_path: Path) -> None:
    project = Project(tmp_path / "empty")
    project.actions()
    assert len(project.sync().stored.directories) == 0
    generation = project.sync().state.generation
    assert project.sync().state.generation == generation


def in_child(work: Callable[[], None]) -> None:
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


@pytest.fixture
def open_project() -> Iterator[Project]:
    place = Path(tempfile.mkdtemp(prefix="rowtui-sync-"))
    place.chmod(0o755)
    yield Project(place / "p", "a", "b")
    for path in place.rglob("*"):
        with contextlib.suppress(OSError):
            if path.is_dir():
                path.chmod(0o755)
    shutil.rmtree(place)


@pytest.mark.parametrize("known", [False, True])
def test_a_project_that_cannot_be_written_is_shown_as_it_is(
    open_project: Project, known: bool
) -> None:
    project = open_project
    if known:
        project.sync()
    stage_completions(project.root, {"one": ["b"]})
    project.directory("aa", 3, "two")
    project.settle()
    files = sorted(project.root.rglob("*"))
    for path in (project.root, *project.root.rglob("*")):
        if path.is_dir():
            path.chmod(0o555)

    def work() -> None:
        if os.geteuid() == 0:
            os.setuid(65534)
        store = Store(project.root)
        synced = synchronise(store, project.workflow)
        assert completed(synced) == {"one": "b", "two": "aa"}
        assert synced.stored.directories.value(1) == 3
        assert not synced.saved
        (notice,) = synced.notices
        assert "nothing can be saved" in notice
        again = synchronise(store, project.workflow, disk=Disk(read=None))  # type: ignore[arg-type]
        assert completed(again) == {"one": "b", "two": "aa"}

    in_child(work)
    assert sorted(project.root.rglob("*")) == files


def test_a_full_disk_loses_nothing_and_the_project_is_shown(project: Project) -> None:
    for number in range(300):
        project.directory(f"long-name-of-a-directory-{number:04}", "x" * 50)
    project.settle()
    project.sync()
    stage_completions(project.root, {"one": ["a"]})
    project.directory("new", 2)
    project.settle()

    def work() -> None:
        # A limit on file sizes fails a write just like a full disk, also for ordinary users.
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
        store = Store(project.root)
        synced = synchronise(store, project.workflow)
        assert completed(synced)["one"] == "a"
        assert "new" in synced.stored.directories.names()
        assert not synced.saved
        assert "nothing can be saved" in synced.notices[0]
        # Once there is room, the same dashboard saves what it holds, reading nothing again.
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
        later = synchronise(store, project.workflow, disk=Disk(read=None))  # type: ignore[arg-type]
        assert later.saved
        assert completed(later)["one"] == "a"
        resource.setrlimit(resource.RLIMIT_FSIZE, (600, resource.RLIM_INFINITY))
        stage_completions(project.root, {"two": ["a"]})
        assert not synchronise(store, project.workflow).saved

    in_child(work)
    assert not [p for p in project.root.rglob("*") if p.name.endswith(".tmp")]
    assert len(list_staged(project.root)) == 1
    synced = project.sync()
    assert completed(synced) == {"one": "a", "two": "a"}
    assert synced.saved
