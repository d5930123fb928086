from __future__ import annotations

import os
from pathlib import Path

import pytest
from rowtui.core.base.errors import NoProjectError, RowtuiError
from rowtui.core.workflow.find import find_project


def test_the_nearest_folder_upwards_with_a_workflow_is_the_project(tmp_path: Path) -> None:
    outer, inner = tmp_path / "outer", tmp_path / "outer" / "inner"
    deep = inner / "a" / "b"
    deep.mkdir(parents=True)
    (outer / "workflow.toml").touch()
    assert find_project(deep) == outer.resolve()
    (inner / "workflow.toml").touch()
    assert find_project(deep) == inner.resolve()
    assert find_project(inner) == inner.resolve()


def test_symbolic_links_are_resolved_first(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "sub").mkdir(parents=True)
    (project / "workflow.toml").touch()
    (tmp_path / "link").symlink_to(project / "sub")
    assert find_project(tmp_path / "link") == project.resolve()


def test_a_dangling_link_counts_as_not_found(tmp_path: Path) -> None:
    (tmp_path / "workflow.toml").touch()
    sub = tmp_path / "sub"
    sub.mkdir()
    (sub / "workflow.toml").symlink_to("nowhere")
    assert find_project(sub) == tmp_path.resolve()


def test_no_project_says_where_it_looked(tmp_path: Path) -> None:
    with pytest.raises(NoProjectError) as caught:
        find_project(tmp_path)
    assert "workflow.toml not found in " in caught.value.message
    assert str(tmp_path.resolve()) in caught.value.message
    assert caught.value.hint


def test_any_other_error_stops_the_search(tmp_path: Path) -> None:
    (tmp_path / "workflow.toml").touch()
    sub = tmp_path / "sub"
    sub.mkdir()
    (sub / "workflow.toml").symlink_to("workflow.toml")  # a loop
    with pytest.raises(RowtuiError, match="cannot look for"):
        find_project(sub)


def test_a_start_that_does_not_exist_or_loops_is_an_error_for_people(tmp_path: Path) -> None:
    os.symlink("loop", tmp_path / "loop")
    for start in (tmp_path / "gone", tmp_path / "loop"):
        with pytest.raises(RowtuiError, match="cannot open"):
            find_project(start)
