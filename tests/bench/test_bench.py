"""The bench itself: it makes the same project each time, and a failure is a cell of its table."""

import json
import sys
from pathlib import Path

import pytest
from rowtui.core.project.open_project import OpenProject
from rowtui.core.workspace.list import list_workspace

from bench.commands import Workload, cases
from bench.make_project import make_project, value
from bench.measure import Run, least, run, show
from bench.row_figures import ROW_FIGURES


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_two_runs_make_the_same_project(tmp_path: Path) -> None:
    make_project(tmp_path / "one", 50)
    make_project(tmp_path / "two", 50)

    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert len(list_workspace(tmp_path / "one" / "workspace").names) == 50


def test_a_project_that_is_there_is_used_again_and_another_one_is_left_alone(
    tmp_path: Path,
) -> None:
    make_project(tmp_path, 5)
    before = (tmp_path / "workspace").stat().st_mtime_ns
    make_project(tmp_path, 5)
    assert (tmp_path / "workspace").stat().st_mtime_ns == before
    for other in ((6,), (5, 4), (5, 10, 3)):
        with pytest.raises(SystemExit, match="another project"):
            make_project(tmp_path, *other)
    assert (tmp_path / "workspace").stat().st_mtime_ns == before


def test_a_project_that_does_not_say_its_keys_and_actions_has_ten_of_each(tmp_path: Path) -> None:
    make_project(tmp_path, 5)
    (tmp_path / "bench.json").write_text('{"version": 1, "directories": 5}')

    make_project(tmp_path, 5, 10, 10)
    with pytest.raises(SystemExit, match="another project"):
        make_project(tmp_path, 5, 40, 10)


@pytest.mark.parametrize(("keys", "actions"), [(4, 3), (4, 10), (40, 3)])
def test_a_project_has_as_many_keys_and_actions_as_asked(
    tmp_path: Path, keys: int, actions: int
) -> None:
    make_project(tmp_path, 20, keys, actions)

    project = OpenProject.open(tmp_path / "rowtui", cluster="none")
    project.synchronise()
    assert len(project.workflow.actions) == actions
    assert not project.state.directories.bad
    assert len(leaves(json.loads(value(7, keys)))) == keys
    done = [path.name for path in (tmp_path / "workspace").rglob("*.out")]
    assert {f"a{number}.out" for number in range(actions)} >= set(done)


def leaves(value: object) -> list[object]:
    if isinstance(value, dict):
        return [leaf for one in value.values() for leaf in leaves(one)]
    return [value]


def test_a_command_is_measured(tmp_path: Path) -> None:
    memory = [sys.executable, "-c", "x = b'1' * (64 << 20)"]
    done = run(memory, tmp_path, {}, tmp_path / "log")

    assert done.error == ""
    assert done.wall > 0
    assert done.cpu > 0
    assert 64 < done.peak < 164


def test_a_command_that_fails_is_a_cell_of_the_table(tmp_path: Path) -> None:
    failing = [sys.executable, "-c", "import sys; sys.exit('no | such thing\\nmore')"]

    bad = run(failing, tmp_path, {}, tmp_path / "log")
    missing = run([tmp_path / "nowhere"], tmp_path, {}, tmp_path / "log")

    assert show(least([Run(1, 1, 1), bad])) == ("no / such thing", "", "")
    assert "nowhere" in missing.error


def test_rows_figures_are_known_for_every_case() -> None:
    assert {case.name for case in cases(Workload(10))} == set(ROW_FIGURES)
