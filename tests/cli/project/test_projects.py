"""`rowtui projects`: the list, what it says without projects, and what it forgets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Shell


def listed(rowtui: Shell, *words: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(rowtui.succeed("projects", *words, "--json"))[
        "projects"
    ]
    return found


def test_without_projects_three_lines_say_how_to_begin(empty_folder: Shell) -> None:
    lines = empty_folder.succeed("projects").splitlines()
    assert len(lines) == 3
    assert "rowtui init" in lines[1]


def test_projects_are_found_listed_and_forgotten(rowtui: Shell) -> None:
    rowtui.succeed("scan")
    rowtui.succeed("projects", "find", str(rowtui.folder.parent))
    (one,) = listed(rowtui)
    assert (one["path"], one["state"], one["opened_at"]) == (str(rowtui.folder), "ok", None)
    assert one["directories"] == 10
    assert "project" in rowtui.succeed("projects", "--cached")
    (rowtui.folder / "workflow.toml").rename(rowtui.folder / "elsewhere.toml")
    assert [one["state"] for one in listed(rowtui)] == ["gone"]
    assert "gone" in rowtui.succeed("projects")
    rowtui.succeed("projects", "forget", ".")
    assert listed(rowtui) == []
    assert rowtui("projects", "forget", ".").returncode == 1
    assert (rowtui.folder / "elsewhere.toml").exists()


def test_names_from_outside_are_made_visible(empty_folder: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "a\x1b[31mred"
    folder.mkdir()
    (folder / "workflow.toml").write_text("")
    empty_folder.succeed("projects", "find", str(tmp_path))
    assert "\x1b" not in empty_folder.succeed("projects")


@pytest.mark.parametrize("words", [("forget",), ("find",), ("list", "x")])
def test_a_missing_or_extra_folder_is_explained(
    empty_folder: Shell, words: tuple[str, ...]
) -> None:
    done = empty_folder("projects", *words)
    assert done.returncode == 1
    assert "rowtui projects" in done.stderr
