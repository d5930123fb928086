"""Directories of samples: whole or not at all, never overwritten, and put away only on a word."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import Cost
from rowtui.core.project.open_project import OpenProject
from rowtui.core.runs.directories.directories import DirectoryConflict, make_directories, same_value
from rowtui.core.runs.directories.trash import (
    KeptDirectory,
    delete_retired,
    restore,
    retired,
    trashes,
)
from rowtui.core.runs.store import RunStore
from rowtui.core.submission.plan.model import PlannedDestination, PlannedJob
from rowtui.core.submission.sending.reservations import StoredReservations

WORKFLOW = """\
[workspace]
value_file = "value.json"

[[action]]
name = "one"
command = "touch {directory}"
products = ["one"]
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "workflow.toml").write_text(WORKFLOW)
    return root


@pytest.fixture
def project(root: Path) -> OpenProject:
    return OpenProject.open(root, cluster="local")


def samples(count: int, start: int = 0) -> Iterator[tuple[str, dict[str, object]]]:
    for number in range(start, start + count):
        yield f"state,t={number}", {"node": "state", "t": number}


def value(root: Path, name: str) -> object:
    return json.loads((root / "workspace" / name / "value.json").read_bytes())


def left_behind(root: Path) -> list[str]:
    making = root / ".row" / "rowtui" / "network" / "making"
    return os.listdir(making) if making.exists() else []


@pytest.mark.parametrize("count", [0, 3, 250])
def test_directories_are_made_with_their_values(
    project: OpenProject, root: Path, count: int
) -> None:
    noted: list[str] = []
    made = make_directories(project, samples(count), lambda names: noted.extend(names))

    names = [name for name, _ in samples(count)]
    assert (made.made, made.kept, made.conflicts) == (names, [], [])
    assert noted == names
    assert sorted(os.listdir(root / "workspace")) == sorted(names)
    assert all(value(root, name) == wanted for name, wanted in samples(count))
    assert left_behind(root) == []


def test_the_same_again_makes_nothing_twice(project: OpenProject, root: Path) -> None:
    make_directories(project, samples(5))
    before = os.stat(root / "workspace" / "state,t=0").st_ino

    again = make_directories(project, samples(7))

    assert again.kept == [name for name, _ in samples(5)]
    assert again.made == [name for name, _ in samples(2, 5)]
    assert os.stat(root / "workspace" / "state,t=0").st_ino == before


def test_what_is_there_with_another_value_is_never_overwritten(
    project: OpenProject, root: Path
) -> None:
    workspace = root / "workspace"
    for name, text in {"a": '{"t": 1}', "b": "{", "c": None, "d": '{"node":"s","t":1.0}'}.items():
        (workspace / name).mkdir(parents=True)
        if text is not None:
            (workspace / name / "value.json").write_text(text)
    (workspace / "e").write_text("a file")
    (workspace / "f").symlink_to("d")
    wanted = {"node": "s", "t": 1}

    made = make_directories(project, [(name, wanted) for name in "abcdefg"])

    assert made.made == ["g"]
    assert made.kept == ["d"]  # 1.0 is 1
    assert [it.name for it in made.conflicts] == ["a", "b", "c", "e", "f"]
    first = made.conflicts[0]
    assert first == DirectoryConflict(
        "a", wanted, {"t": 1}, "it exists already, with another value"
    )  # fmt: skip
    assert all(it.why for it in made.conflicts)
    assert (workspace / "a" / "value.json").read_text() == '{"t": 1}'
    assert os.listdir(workspace / "c") == []
    assert (workspace / "e").read_text() == "a file"


def test_odd_names_and_values_work_and_impossible_ones_stop_no_other(
    project: OpenProject, root: Path
) -> None:
    odd = ["a'; rm -rf ~ #", "b\n\x1b[2J", "c\udcff", "ü" * 100]
    bad = ["", ".", "..", "x/y", "x\0y", "l" * 256]

    made = make_directories(
        project,
        [
            *((name, {"n": "ü\u2028\n"}) for name in odd),
            *((name, {"n": 1}) for name in bad),
            ("nan", {"n": float("nan")}),
            ("text", {"n": "\udcff"}),
            ("twice", {"n": 1}),
            ("twice", {"n": 2}),
            ("same", {"n": 1}),
            ("same", {"n": 1.0}),
        ],
    )

    assert made.made == [*odd, "twice", "same"]
    assert [it.name for it in made.conflicts] == [*bad, "nan", "text", "twice"]
    assert all(value(root, name) == {"n": "ü\u2028\n"} for name in odd)
    project.synchronise()
    assert set(project.state.directories.names()) == {*odd, "twice", "same"}
    assert not project.state.directories.bad


def test_a_project_without_value_files_says_what_to_do(root: Path) -> None:
    (root / "workflow.toml").write_text(WORKFLOW.replace('value_file = "value.json"', ""))

    with pytest.raises(RowtuiError, match="needs value files") as raised:
        make_directories(OpenProject.open(root, cluster="local"), samples(1))

    assert "value_file" in raised.value.hint


def test_a_workspace_that_cannot_be_written_is_an_error_that_leaves_nothing(
    project: OpenProject, root: Path
) -> None:
    (root / "workspace").write_text("no folder")

    with pytest.raises(RowtuiError, match="cannot make directories"):
        make_directories(project, samples(3))

    assert left_behind(root) == []


def test_a_workspace_on_another_file_system_works_too(project: OpenProject, root: Path) -> None:
    own = os.stat(root).st_dev
    other = next(it for it in ("/dev/shm", "/tmp", "/var/tmp") if os.stat(it).st_dev != own)
    with tempfile.TemporaryDirectory(dir=other) as elsewhere:
        (Path(elsewhere) / "w").mkdir()
        (root / "workspace").symlink_to(Path(elsewhere) / "w")
        names = [name for name, _ in samples(3)]

        assert make_directories(project, samples(3)).made == names
        moved = delete_retired(project, names[:2], names, confirmed=True)

        assert moved.moved == names[:2]
        assert os.listdir(root / "workspace") == names[2:]
        assert trashes(project) == [moved.trash]
        assert restore(project, moved.trash).moved == names[:2]
        assert all(value(root, name) == wanted for name, wanted in samples(3))
        assert not (root / ".row" / "rowtui" / "network" / "making").exists()


def test_values_are_compared_as_json() -> None:
    assert same_value({"a": [1, {"b": 2.0}]}, {"a": [1.0, {"b": 2}]})
    assert same_value(None, None)
    for one, other in [(1, True), (0, False), ("1", 1), ([1], [1, 2]), ({"a": 1}, {"b": 1}),
                       ({}, []), (None, 0), ({"a": 1}, 1), ([1], 1)]:  # fmt: skip
        assert not same_value(one, other)
        assert not same_value(other, one)


MAKE = """\
import os, sys
from pathlib import Path
from rowtui.core.project.open_project import OpenProject
from rowtui.core.runs.directories.directories import make_directories
root, what, at, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
project = OpenProject.open(Path(root), cluster="local")
calls = 0
def killer(event, arguments):
    global calls
    if event == what and (what != "open" or str(arguments[0]).endswith("value.json")):
        calls += 1
        if calls == at:
            os.kill(os.getpid(), 9)
sys.addaudithook(killer)
make_directories(project, ((f"s{n}", {"n": n}) for n in range(count)))
"""


@pytest.mark.parametrize(
    ("what", "at", "count", "whole"),
    [
        ("os.mkdir", 1, 3, 0),
        ("open", 2, 3, 0),  # one value file is written, the next directory is empty
        ("os.rename", 1, 3, 0),
        ("os.rename", 3, 3, 2),
        ("shutil.rmtree", 1, 3, 3),
        ("open", 150, 220, 0),
        ("ctypes.dlopen", 1, 220, 0),  # before they are brought to the disk
        ("os.rename", 100, 220, 99),
    ],
)
def test_a_process_killed_at_any_step_leaves_only_whole_directories(
    project: OpenProject, root: Path, what: str, at: int, count: int, whole: int
) -> None:
    wanted = {f"s{number}": {"n": number} for number in range(count)}
    done = subprocess.run(
        [sys.executable, "-c", MAKE, str(root), what, str(at), str(count)], check=False
    )
    assert done.returncode == -signal.SIGKILL
    workspace = root / "workspace"
    there = os.listdir(workspace) if workspace.exists() else []
    assert len(there) == whole
    assert all(value(root, name) == wanted[name] for name in there)

    made = make_directories(project, wanted.items())

    assert sorted(made.made + made.kept) == sorted(wanted)
    assert sorted(made.kept) == sorted(there)
    assert all(value(root, name) == each for name, each in wanted.items())
    assert left_behind(root) == []


@pytest.fixture
def run_made(project: OpenProject, root: Path) -> frozenset[str]:
    """Four directories of a network, one that a person made, one that a person changed."""
    from rowtui.core.network.definition.spec import Network

    run = RunStore(root).create(Network("n"), ())
    make_directories(project, samples(4), run.note_made)
    (root / "workspace" / "mine").mkdir()
    (root / "workspace" / "mine" / "value.json").write_text('{"node": "state"}')
    run.note_made(["changed", "gone"])
    (root / "workspace" / "changed").mkdir()
    (root / "workspace" / "changed" / "value.json").write_text('{"t": 7}')
    return RunStore(root).made()


def test_retired_are_those_that_no_sample_wants(
    project: OpenProject, run_made: frozenset[str]
) -> None:
    assert retired(project, run_made, {"state,t=0", "state,t=2"}) == [
        "changed",
        "state,t=1",
        "state,t=3",
    ]


def test_nothing_is_put_away_without_a_yes(
    project: OpenProject, root: Path, run_made: frozenset[str]
) -> None:
    with pytest.raises(RowtuiError, match="was not confirmed"):
        delete_retired(project, ["state,t=0"], run_made, confirmed=False)

    assert (root / "workspace" / "state,t=0").is_dir()


def test_only_what_the_network_made_and_no_job_has_is_put_away_and_comes_back(
    project: OpenProject, root: Path, run_made: frozenset[str]
) -> None:
    (root / "workspace" / "state,t=1" / "one").write_text("a product")
    project.synchronise()
    job = PlannedJob(
        "t-0", "one", "one", 0, ("state,t=3",), PlannedDestination("local"), "#!", "one-%j.out",
        1, 1, 0, None, 60, Cost(),
    )  # fmt: skip
    assert StoredReservations(project.store).reserve([job]) == {}
    names = ["state,t=1", "state,t=2", "state,t=3", "mine", "changed", "gone", "../x", "state,t=1"]

    moved = delete_retired(project, names, run_made, confirmed=True)

    assert moved.moved == ["state,t=1", "state,t=2"]
    assert moved.refused == [
        KeptDirectory("state,t=3", "a job of one has it"),
        KeptDirectory("mine", "no network made it"),
        KeptDirectory("changed", 'its value has no "node": it was changed by another program'),
        KeptDirectory("gone", "it is not a directory of the workspace"),
        KeptDirectory("../x", "no network made it"),
    ]
    left = ["changed", "mine", "state,t=0", "state,t=3"]
    assert sorted(os.listdir(root / "workspace")) == left
    assert trashes(project) == [moved.trash]
    trash = root / ".row" / "rowtui" / "network" / "trash" / moved.trash
    assert sorted(os.listdir(trash / "directories")) == ["state,t=1", "state,t=2"]

    make_directories(project, samples(1, 2))
    back = restore(project, moved.trash)

    assert back.moved == ["state,t=1"]
    assert [it.name for it in back.refused] == ["state,t=2"]
    assert (root / "workspace" / "state,t=1" / "one").read_text() == "a product"
    subprocess.run(["rm", "-r", str(root / "workspace" / "state,t=2")], check=True)
    assert restore(project, moved.trash).moved == ["state,t=2"]
    assert trashes(project) == []
    with pytest.raises(RowtuiError, match="in the trash"):
        restore(project, moved.trash)


DELETE = """\
import os, sys
from pathlib import Path
from rowtui.core.project.open_project import OpenProject
from rowtui.core.runs.directories.trash import delete_retired
project = OpenProject.open(Path(sys.argv[1]), cluster="local")
project.synchronise()
def killer(event, arguments):
    if event == "os.rename" and str(arguments[0]).endswith("state,t=2"):
        os.kill(os.getpid(), 9)
sys.addaudithook(killer)
names = [f"state,t={n}" for n in range(4)]
delete_retired(project, names, names, confirmed=True)
"""


def test_what_a_killed_process_put_away_comes_back(
    project: OpenProject, root: Path, run_made: frozenset[str]
) -> None:
    done = subprocess.run([sys.executable, "-c", DELETE, str(root)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (root / "workspace" / "state,t=1").exists()

    (trash,) = trashes(project)
    back = restore(project, trash)

    assert back.moved == ["state,t=0", "state,t=1"]
    assert back.refused == []  # the others never left
    assert all(value(root, name) == wanted for name, wanted in samples(4))
