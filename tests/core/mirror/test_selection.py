"""mirror.toml, and a workspace that cannot be copied."""

from __future__ import annotations

from pathlib import Path

import pytest
from rowtui.core.base.errors import InvalidFileError
from rowtui.core.mirror.model import MirrorError
from rowtui.core.mirror.selection import MirrorRules, read_rules, workspace_in


def test_without_a_file_everything_small_is_sent(tmp_path: Path) -> None:
    assert read_rules(tmp_path) == MirrorRules((), (), (), 100)


def test_the_rules_are_read_as_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "mirror.toml").write_text(
        'send = ["scripts/**"]\nexclude = ["*.tmp"]\nfetch = ["plots/**"]\nlargest_mb = 5\n'
    )

    assert read_rules(tmp_path) == MirrorRules(("scripts/**",), ("*.tmp",), ("plots/**",), 5)


def test_all_problems_are_told_with_their_places(tmp_path: Path) -> None:
    (tmp_path / "mirror.toml").write_text(
        'sned = []\nexclude = ["../x", 3]\nfetch = "out"\nlargest_mb = 0\n'
    )

    with pytest.raises(InvalidFileError) as caught:
        read_rules(tmp_path)

    places = {(problem.file, problem.line) for problem in caught.value.problems}
    assert places == {
        ("mirror.toml", 1),
        ("mirror.toml", 2),
        ("mirror.toml", 3),
        ("mirror.toml", 4),
    }
    assert len(caught.value.problems) == 5
    assert "did you mean 'send'?" in str(caught.value)


def test_a_workspace_outside_of_the_project_has_no_copy(tmp_path: Path) -> None:
    assert workspace_in(tmp_path, "a/../ws") == "ws"
    assert workspace_in(tmp_path, str(tmp_path / "ws")) == "ws"
    for outside in ("..", "../ws", "/scratch/ws", "."):
        with pytest.raises(MirrorError):
            workspace_in(tmp_path, outside)
