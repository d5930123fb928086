"""Questions without a terminal: an answer on standard input counts, and no answer is no yes."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tests.cli.in_process import Here, prepared

WORKFLOW = """\
[[action]]
name = "one"
command = "echo {directory} >> runs.txt; test ! -e workspace/{directory}/bad"
"""


@pytest.fixture
def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Here:
    """Three directories, the job of each runs within `submit`."""
    return prepared(tmp_path, monkeypatch, capsys, WORKFLOW)


def answers(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def ran(here: Here) -> bool:
    found = here.folder / "runs.txt"
    there = found.exists()
    found.unlink(missing_ok=True)
    return there


@pytest.mark.parametrize("answer", ["n\n", "no", "maybe\n", "yes please\n", "\udcff\n"])
def test_an_answer_other_than_yes_sends_nothing(
    answer: str, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, answer)
    done = here("submit")
    assert (done.code, ran(here)) == (0, False)
    assert "Proceed? [Y/n]: " in done.err
    assert "Nothing was submitted." in done.err


@pytest.mark.parametrize("answer", ["y\n", "yes", "Y\n", "\n"])
def test_a_yes_on_standard_input_sends(
    answer: str, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, answer)
    done = here("submit")
    assert (done.code, ran(here)) == (0, True)


def test_without_an_answer_nothing_is_sent_and_yes_is_named(here: Here) -> None:
    (here.folder / "workspace/a/bad").touch()
    for words in (["submit"], ["submit", "--json"]):
        done = here(*words)
        assert (done.code, ran(here)) == (1, False)
        assert "add --yes" in done.err
    here("submit", "--yes")
    assert ran(here)
    for words in (["resubmit"], ["resubmit", "--json"]):
        done = here(*words)
        assert (done.code, ran(here)) == (1, False), words
        assert "add --yes" in done.err


def test_a_no_to_resubmit_sends_nothing(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    (here.folder / "workspace/a/bad").touch()
    here("submit", "--yes")
    assert ran(here)
    answers(monkeypatch, "n\n")
    done = here("resubmit")
    assert (done.code, ran(here)) == (0, False)
    assert "Nothing was submitted." in done.err


def test_names_on_standard_input_are_no_answer(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\nb\n")))
    done = here("submit", "-")
    assert (done.code, ran(here)) == (1, False)
    assert "Submitting 1 job " in done.out
    assert "add --yes" in done.err
