from __future__ import annotations

import os
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError, WorkflowError
from rowtui.core.workflow.load import load_workflow


def test_a_project_is_loaded_from_its_folder(tmp_path: Path) -> None:
    (tmp_path / "workflow.toml").write_text("[workspace]\npath = 'w'\n")
    workflow = load_workflow(tmp_path)
    assert workflow.root == tmp_path
    assert workflow.path == tmp_path / "workflow.toml"
    assert workflow.workspace == tmp_path / "w"


def test_problems_name_the_whole_path_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "workflow.toml").write_bytes(b"a = 1\nb = \xff\n")
    with pytest.raises(WorkflowError) as caught:
        load_workflow(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path}/workflow.toml:2:5: byte 0xff is not UTF-8")


def test_a_missing_file_a_folder_and_a_pipe_are_errors_for_people(tmp_path: Path) -> None:
    with pytest.raises(RowtuiError, match="cannot read"):
        load_workflow(tmp_path)
    os.mkfifo(tmp_path / "workflow.toml")
    with pytest.raises(RowtuiError, match="not a regular file"):
        load_workflow(tmp_path)
    (tmp_path / "workflow.toml").unlink()
    (tmp_path / "workflow.toml").mkdir()
    with pytest.raises(RowtuiError, match="not a regular file"):
        load_workflow(tmp_path)
