"""`rowtui init` at a terminal, and the workflow.toml that its answers lead to."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from rowtui.cli.project.init import FirstAction, commented_workflow
from rowtui.core.workflow.duration import parse_duration
from rowtui.core.workflow.load import load_workflow

from tests.cli.conftest import Shell
from tests.cli.terminal import on_a_terminal

LINE = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1).filter(str.strip)
NAME = LINE.filter(lambda it: "/" not in it and it not in (".", ".."))

COMMAND = LINE.map(lambda it: it.replace("{", "") + " {directory}")


@given(NAME, COMMAND, NAME.filter(lambda it: "\\" not in it))
def test_any_answers_make_a_workflow_that_can_be_read(
    name: str, command: str, product: str
) -> None:
    text = commented_workflow(name, FirstAction(command, product, "02:30:00"))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "workflow.toml").write_text(text)
        workflow = load_workflow(Path(folder))
    (action,) = workflow.actions
    assert workflow.workspace == Path(folder).resolve() / name
    assert (action.command, action.products) == (command, (product,))
    assert parse_duration("02:30:00") == 9_000


def test_without_an_action_the_example_is_a_comment() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "workflow.toml").write_text(commented_workflow("workspace", None))
        assert load_workflow(Path(folder)).actions == ()
    lines = commented_workflow("w", None).replace("# [[", "[[").replace("# name", "name")
    assert "./simulate {directory}" in lines


def test_the_answers_of_a_person_lead_to_a_project_that_runs(empty_folder: Shell) -> None:
    answers = b"data\ntouch data/{directory}/done\ndone\nsoon\n00:05:00\n"
    code, seen = on_a_terminal(empty_folder, "init", "study", typed=answers)
    assert (code, seen.count(b"]: "), seen.count(b"ERROR")) == (
        0,
        5,
        0,
    )  # the time limit is asked for again
    study = empty_folder.folder / "study"
    (study / "data" / "a").mkdir()
    done = empty_folder("submit", "--yes", cwd=study)
    assert (study / "data" / "a" / "done").exists(), done


def test_enter_takes_the_only_folder_and_no_action(empty_folder: Shell) -> None:
    (empty_folder.folder / "runs" / "a").mkdir(parents=True)
    code, seen = on_a_terminal(empty_folder, "init", typed=b"\n\n")
    assert code == 0
    assert b"[runs]" in seen
    assert "path = 'runs'" in (empty_folder.folder / "workflow.toml").read_text()


def test_a_project_of_row_needs_nothing(empty_folder: Shell) -> None:
    assert "needs no step" in empty_folder.succeed("init", "--from-row")
    assert list(empty_folder.folder.iterdir()) == []


def test_yes_asks_nothing_and_writes_the_comments(empty_folder: Shell) -> None:
    empty_folder.succeed("init", "--yes", "new")
    text = (empty_folder.folder / "new" / "workflow.toml").read_text()
    assert "# [[action]]" in text
