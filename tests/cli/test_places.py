"""The options that choose where a dashboard opens: what they accept, and what they refuse."""

from __future__ import annotations

from pathlib import Path

import pytest
from rowtui.cli.completers import statuses, views
from rowtui.cli.dashboard import _command, place_of
from rowtui.cli.parser import build_parser
from rowtui.core.base.errors import RowtuiError
from rowtui.tui.commands.command import TITLES
from rowtui.tui.shell.recall import Place

WORKFLOW = """\
[workspace]
value_file = "v.json"
[[action]]
name = "simulate"
command = "true {directory}"
"""


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workflow.toml").write_text(WORKFLOW)
    monkeypatch.chdir(tmp_path)


def asked(*words: str) -> Place | None:
    return place_of(build_parser(words).parse_args(list(words)))


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ((), None),
        (("--fresh",), None),
        (("--view", "6"), Place("queue")),
        (("--view", "clusters", "--cluster", "delta"), Place("clusters", cluster="delta")),
        (("--job", "12_3"), Place("queue", job="12_3")),
        (("--view", "log", "--job", "12.3"), Place("log", job="12.3")),
        (("--group", "3", "--action", "simulate"), Place("groups", "simulate", group=3)),
        (("--status", "failed"), Place("groups", status="failed")),
        (("--action", "simulate", "--cluster", "delta"), Place("status", "simulate")),
        (("--directory=-d", "--filter", "T<1"), Place("groups", directory="-d", filter="T<1")),
        (("--view", "queue", "--filter", "elapsed>2h"), Place("queue", filter="elapsed>2h")),
    ],
)
def test_options_name_a_place(words: tuple[str, ...], place: Place | None) -> None:
    assert asked(*words) == place


@pytest.mark.parametrize("place", [
    Place("groups", "simulate", "all", directory="a b; rm -r /"),
    Place("queue", filter='!x "two words"', job="12"),
    Place("explain", "simulate", "failed", 3),
])  # fmt: skip
def test_the_options_of_a_place_name_it(place: Place) -> None:
    assert asked(*place.words) == place


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--view", "grops"), "did you mean 'groups'"),
        (("--view", "9999"), "there is no view '9999'"),
        (("--view", "queue", "--directory", "d"), "--directory cannot be used with the view queue"),
        (("--view", "status", "--filter", "x"), "--filter cannot be used with the view status"),
        (("--view", "queue", "--filter", "elapsed>x"), "'x' is not a number"),
        (("--job", "1", "--filter", "statee=failed"), "statee"),
        (("--view", "6", "--filter", "statee=failed"), "statee"),
        (("--status", "fialed"), "did you mean 'failed'"),
        (("--action", "simulat"), "did you mean 'simulate'"),
        (("--job", "12;"), "'12;' is no job"),
    ],
)
def test_a_place_that_cannot_be_is_an_error_before_the_screen(
    words: tuple[str, ...], message: str
) -> None:
    with pytest.raises(RowtuiError) as caught:
        asked(*words)
    assert message in str(caught.value)


def test_tabs_of_serve_open_at_the_place() -> None:
    words = ["serve", "--view", "queue", "--filter", "state=failed x", "--fresh"]
    command = _command(build_parser(words).parse_args(words))
    assert "--view queue --filter 'state=failed x' --fresh" in command


def test_shells_complete_views_and_statuses() -> None:
    assert views("") == list(TITLES)
    assert "not reached" in statuses("")
