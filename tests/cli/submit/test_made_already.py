"""Directories whose products exist are not sent, whatever the records say."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.cli.in_process import Here, prepared

WORKFLOW = """\
[[action]]
name = "one"
command = "{command}"
products = ["x"]
[action.group]
{group}
"""
RUN = "echo {directory} >> runs; touch workspace/{directory}/x"
# It dies in b while x is half written.
DIE = RUN + "; [ {directory} != b ] || [ -e died ] || (touch died; kill -9 $$)"

Make = Callable[..., Here]


@pytest.fixture
def make(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Make:
    def made(command: str = RUN, group: str = "maximum_size = 1") -> Here:
        text = WORKFLOW.replace("{command}", command).replace("{group}", group)
        here = prepared(tmp_path, monkeypatch, capsys, text)  # type: ignore[arg-type]
        here("show", "status")
        return here

    return made


def runs(here: Here) -> list[str]:
    path = here.folder / "runs"
    return sorted(path.read_text().split()) if path.exists() else []


def done(here: Here) -> int:
    table = json.loads(here("show", "status", "--json").out)
    return int(table["actions"][0]["completed"])


def test_a_directory_that_has_its_products_is_marked_complete_and_not_sent(make: Make) -> None:
    here = make()
    (here.folder / "workspace/a/x").touch()
    assert done(here) == 0  # the records do not know of it

    sent = here("submit", "--yes")

    assert "a is complete already" in sent.out + sent.err
    assert runs(here) == ["b", "c"]
    assert done(here) == 3


def test_a_job_with_complete_directories_is_skipped_and_the_next_plan_has_the_others(
    make: Make,
) -> None:
    here = make(group="")
    (here.folder / "workspace/b/x").touch()

    sent = here("submit", "--yes")

    why = "b is complete already (1 of 3 directories); the next plan has the others"
    assert why in sent.out + sent.err
    assert runs(here) == []
    assert done(here) == 1
    here("submit", "--yes")
    assert runs(here) == ["a", "c"]
    assert done(here) == 3


def test_directories_that_the_user_names_are_sent_though_their_products_exist(make: Make) -> None:
    here = make()
    here("submit", "--yes")
    here("clean", "--completed")
    assert done(here) == 0

    here("submit", "--yes", "a")

    assert runs(here) == ["a", "a", "b", "c"]
    here("submit", "--yes")
    assert runs(here) == ["a", "a", "b", "c"]
    assert done(here) == 3


def test_a_directory_in_which_the_last_job_died_is_sent_again_with_its_products(
    make: Make,
) -> None:
    here = make(DIE)
    here("submit", "--yes")
    assert runs(here) == ["a", "b"]  # a job that fails in this terminal stops the rest
    (here.folder / "workspace/c/x").touch()

    here("submit", "--yes")

    assert runs(here) == ["a", "b", "b"]
    assert done(here) == 3
