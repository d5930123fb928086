"""Sort orders are made while directories are read for the first time, and read from then on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rowtui.core.groups import order as ordering
from rowtui.core.groups.model import Status
from rowtui.core.project import project as projects
from rowtui.core.project.open_project import OpenProject

WORKFLOW = """
[workspace]
value_file = "v.json"

[[action]]
name = "sorted"
command = "true {directory}"
[action.group]
sort_by = ["/v"]

[[action]]
name = "broken"
command = "true {directory}"
[action.group]
sort_by = ["/nothing"]
"""


def add(root: Path, name: str, value: int) -> None:
    folder = root / "workspace" / name
    folder.mkdir(parents=True)
    (folder / "v.json").write_text(json.dumps({"v": value}))


def kept(root: Path) -> set[str]:
    return {path.name for path in (root / ".row" / "rowtui").glob("orders.*")}


def listed(project: OpenProject) -> list[str]:
    cut = project.cut(project.workflow.actions[0], (Status.ELIGIBLE,))
    return [project.state.directories.name(at) for at in cut.span(0, cut.directories)]


def test_orders_are_made_with_the_directories_and_again_when_these_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projects, "STORED_ORDER_FROM", 2)
    (tmp_path / "workflow.toml").write_text(WORKFLOW)
    for name, value in zip("abc", (3, 1, 2), strict=True):
        add(tmp_path, name, value)

    OpenProject.open(tmp_path).synchronise()

    first = kept(tmp_path)
    assert len(first) == 2
    with monkeypatch.context() as patch:
        patch.delattr(ordering, "_sort_everything")
        assert listed(OpenProject.open(tmp_path)) == ["b", "c", "a"]

    add(tmp_path, "d", 0)
    project = OpenProject.open(tmp_path)
    project.synchronise()

    assert kept(tmp_path) == first
    assert listed(project) == ["d", "b", "c", "a"]
    assert len(kept(tmp_path)) == 3


def test_a_stored_order_that_was_damaged_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projects, "STORED_ORDER_FROM", 0)
    (tmp_path / "workflow.toml").write_text(WORKFLOW)
    for name, value in zip("ab", (2, 1), strict=True):
        add(tmp_path, name, value)
    OpenProject.open(tmp_path).synchronise()
    for name in kept(tmp_path):
        (tmp_path / ".row" / "rowtui" / name).write_bytes(b"nothing")

    project = OpenProject.open(tmp_path)

    assert listed(project) == ["b", "a"]
    assert "damaged" in " ".join(project.take_notices())
