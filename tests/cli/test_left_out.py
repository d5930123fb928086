"""What `submit` leaves out, it names, and a script notices by the exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.in_process import prepared

GOOD = """\
[[action]]
name = "good"
command = "touch workspace/{directory}/x"
products = ["x"]
"""
BROKEN = {
    "a template that does not exist": 'command = "run {directory} {nothing}"',
    "a launcher that does not exist": 'command = "run {directory}"\nlaunchers = ["rocket"]',
    "groups that are not whole": 'command = "run {directory}"\nproducts = ["x"]\n'
    "group.submit_whole = true",
    "a sort key that is missing": 'command = "run {directory}"\ngroup.sort_by = ["/no"]',
}


@pytest.mark.parametrize("problem", BROKEN)
@pytest.mark.parametrize("others", [True, False], ids=["beside others", "alone"])
def test_submit_that_leaves_an_action_out_names_it_and_fails(
    problem: str,
    others: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    workflow = GOOD * others + f'[[action]]\nname = "bad"\n{BROKEN[problem]}\n'
    here = prepared(tmp_path, monkeypatch, capsys, workflow)
    if "whole" in problem:
        (here.folder / "workspace/a/x").touch()
        here("scan")
    for words in (["--dry-run"], ["--yes"], ["--yes", "--json"], ["--yes", "-q"]):
        done = here("submit", *words)
        assert done.code == 1, done
        assert "[ERROR" in done.err
        assert "bad" in done.err
    # What could be submitted was.
    assert (here.folder / "workspace/b/x").exists() == others


def test_submit_that_leaves_nothing_out_ends_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = prepared(tmp_path, monkeypatch, capsys, GOOD)
    assert here("submit", "--dry-run").code == 0
    assert here("submit", "--yes").code == 0
    assert here("submit", "--yes").code == 0


def test_a_mistake_that_actions_share_is_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    workflow = GOOD.replace("{directory}", "{nothing}") + '[[action]]\nfrom = "good"\n'
    here = prepared(tmp_path, monkeypatch, capsys, workflow)
    for words in (["show", "status"], ["show", "directories"], ["submit", "--dry-run"]):
        assert here(*words).err.count("workflow.toml:3:1: ") == 1, words


def test_an_action_with_an_empty_name_is_an_error_of_that_action(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nameless = '[[action]]\nname = ""\ncommand = "touch {directory}"\n'
    here = prepared(tmp_path, monkeypatch, capsys, GOOD + nameless)
    done = here("submit", "--yes")
    assert done.code == 1
    assert "workflow.toml:6:1: action '': the name is empty" in done.err
    assert (here.folder / "workspace/a/x").exists()
