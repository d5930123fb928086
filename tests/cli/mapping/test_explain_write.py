"""`rowtui explain --write` and `--undo`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.in_process import Here, prepared

WORKFLOW = """\
[[action]]  # kept
name = "one"
command = "touch workspace/{directory}/x"
products = ["x"]
[action.resources]
threads_per_process = 2
"""


@pytest.fixture
def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Here:
    return prepared(tmp_path, monkeypatch, capsys, WORKFLOW)


def test_what_is_written_is_shown_first_and_undone_by_another_command(here: Here) -> None:
    file = here.folder / "workflow.toml"
    shown = here.json("explain", "one", "--cpus", "4", "--write")
    assert (shown["written"], shown["fields"]) == (False, ["cores"])
    assert file.read_text() == WORKFLOW

    done = here("explain", "one", "--cpus", "4", "--write", "--yes")
    assert done.code == 0, done.err
    assert "-threads_per_process = 2\n+threads_per_process = 4\n" in done.out
    assert file.read_text() == WORKFLOW.replace("= 2", "= 4")

    back = here("explain", "one", "--undo", "--yes")
    assert back.code == 0, back.err
    assert file.read_text() == WORKFLOW


def test_a_write_is_not_undone_after_another_edit(here: Here) -> None:
    assert here("explain", "one", "--time", "02:00:00", "--write", "--yes").code == 0
    file = here.folder / "workflow.toml"
    edited = file.read_text() + "# mine\n"
    file.write_text(edited)
    done = here("explain", "one", "--undo", "--yes")
    assert done.code == 1
    assert "workflow.toml has changed since; nothing was written" in done.err
    assert file.read_text() == edited


def test_a_write_is_undone_once_and_only_under_the_name_of_its_action(here: Here) -> None:
    file = here.folder / "workflow.toml"
    file.write_text(two := f'{WORKFLOW}[[action]]\nname = "two"\ncommand = "true {{directory}}"\n')
    assert here("explain", "one", "--time", "02:00:00", "--write", "--yes").code == 0

    other = here("explain", "two", "--undo", "--yes")
    assert other.code == 1
    assert "the last write did not change two, but one" in other.err
    assert file.read_text() != two
    assert here("explain", "one", "--undo", "--yes").code == 0
    assert file.read_text() == two
    for name in ("one", "two"):
        again = here("explain", name, "--undo", "--yes")
        assert again.code == 1
        assert "there is nothing to undo" in again.err
    assert file.read_text() == two


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--cpus 4 --write", "add --yes"),
        ("--write --yes", "add --cpus, --mem, --gpus or --time"),
        ("--undo", "there is nothing to undo"),
        ("--yes", "--yes belongs to --write and --undo"),
        ("--tag +x --write --yes", "tags, users and roles are not written in workflow.toml"),
    ],
)
def test_what_cannot_be_written_is_refused_with_the_reason(
    here: Here, line: str, said: str
) -> None:
    done = here("explain", "one", *line.split())
    assert done.code == 1
    assert said in done.err
    assert (here.folder / "workflow.toml").read_text() == WORKFLOW
