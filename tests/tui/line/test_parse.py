"""The command line without a terminal: what is read, what is meant, what may follow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.tui.commands.registry import BY_ID, COMMANDS
from rowtui.tui.line.commands import LINE_COMMANDS
from rowtui.tui.line.commands import WORDS as ANY_WORDS
from rowtui.tui.line.field import MOST_LINES, LineHistory, Recall
from rowtui.tui.line.parse import (
    MOST_CANDIDATES,
    ParsedLine,
    RefusedLine,
    common_start,
    complete,
    offers,
    read,
)
from rowtui.tui.line.verbs import LineVerbs
from rowtui.tui.shell.session import Session

from tests.tui.sample import SampleEngine

WORDS = {
    "action": ["initialize", "equilibrate", "sample", "analyze"],
    "cluster": ["anvil", "delta", "local"],
    "login": ["delta"],
    "theme": ["rowtui-dark", "high-contrast"],
    "job": ["4711", "9182736_0"],
}


def values(what: str) -> Sequence[str]:
    return WORDS.get(what, [])


@pytest.fixture
async def session() -> Session:
    engine = SampleEngine()
    session = Session(engine)
    session.snapshot, session.jobs = await engine.refresh(), await engine.jobs.view()
    session.action_index = 1
    return session


def asked(text: str, session: Session, view: str = "groups") -> ParsedLine | RefusedLine | None:
    return read(text, offers(view, session), values)


def why(text: str, session: Session, view: str = "groups") -> str:
    found = asked(text, session, view)
    assert isinstance(found, RefusedLine), found
    return found.why


async def test_a_line_is_read_with_its_argument(session: Session) -> None:
    for text, name, argument in (
        ("queue delta", "queue", "delta"),
        (":action sample", "action", "sample"),
        ("  groups   SAMPLE ", "groups", "sample"),
        ("theme high-contrast", "theme", "high-contrast"),
        ("log 9182736_0", "log", "9182736_0"),
        ("cluster delta", "cluster", "delta"),
        ("clusters", "clusters", ""),
        ("q", "q", ""),
        ("export a file.csv", "export", "a file.csv"),
    ):
        found = asked(text, session)
        assert isinstance(found, ParsedLine), found
        assert (found.offer.name, found.argument) == (name, argument)
    assert asked("  ", session) is None
    assert asked(":", session) is None


async def test_every_command_with_a_key_can_be_typed_by_its_id(session: Session) -> None:
    for command in (one for one in COMMANDS if one.shown_keys):
        [offer] = [one for one in offers("groups", session) if one.name == command.id]
        assert offer.command is command
        if command.scope == "queue":
            assert offer.reason == "it works in Queue"


async def test_a_label_means_the_command_of_the_view_at_hand(session: Session) -> None:
    found = asked("next action", session)
    assert isinstance(found, ParsedLine)
    assert found.offer.command is BY_ID["groups.next-action"]
    found = asked("scan", session, "status")
    assert isinstance(found, ParsedLine)
    assert found.offer.command is BY_ID["app.scan"]


async def test_what_is_unknown_says_what_was_probably_meant(session: Session) -> None:
    assert why("grups", session) == "there is no command 'grups'; did you mean 'groups'?"
    assert "did you mean 'sample'?" in why("action sampel", session)
    assert "did you mean 'high-contrast'?" in why("theme contrast", session)
    assert why("queue nowhere", session) == "there is no cluster 'nowhere' (anvil, delta, local)"
    assert why("log 1", session).startswith("there is no job '1'")
    assert "\x1b" not in why("gr\x1bups", session)


async def test_what_cannot_be_done_now_says_why(session: Session) -> None:
    assert why("action", session) == (
        "`:action ACTION`: which? (initialize, equilibrate, sample, analyze)"
    )
    assert why("clusters delta", session) == "`:clusters` takes nothing after it"
    assert why("submit.stop", session, "submit") == "submit.stop: nothing is being sent"
    assert why("queue.cancel", session) == "queue.cancel: it works in Queue"
    assert why("login", session).startswith("login: ")


async def test_completion_begins_with_what_is_typed_and_is_short(session: Session) -> None:
    known = offers("groups", session)
    shown = [one.shown for one in complete("cl", known, values)]
    assert shown[:2] == ["clusters", "cluster CLUSTER"]
    assert [one.text for one in complete("cluster ", known, values)] == [
        "cluster anvil",
        "cluster delta",
        "cluster local",
    ]
    assert complete("action a", known, values)[0].text == "action analyze"
    assert len(complete("", known, values)) == MOST_CANDIDATES
    assert all("." not in one.text for one in complete("", known, values))
    [stop] = complete("submit.stop", known, values)
    assert stop.reason == "it works in Submit"
    assert common_start("queue ", complete("queue d", known, values)) == "queue delta"
    assert common_start("c", complete("zzz", known, values)) == "c"


async def test_files_are_completed_with_folders_marked(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out.csv").touch()
    (tmp_path / "out" / "a b.csv").touch()
    known = offers("groups", session)
    monkeypatch.chdir(tmp_path)
    assert [one.text for one in complete("export o", known, values)] == [
        "export out.csv",
        "export out/",
    ]
    [inner] = complete("export out/", known, values)
    assert inner.text == "export out/a b.csv"
    assert complete("export nowhere/", known, values) == ()


@given(st.text(max_size=40))
def test_no_line_is_too_odd_to_be_read_or_completed(text: str) -> None:
    session = Session(SampleEngine(fresh=True, directories=5))
    known = offers("status", session)
    read(text, known, values)
    assert len(complete(text, known, values)) <= MOST_CANDIDATES


def test_every_line_command_is_carried_out_by_somebody() -> None:
    for one in LINE_COMMANDS:
        if one.values != ANY_WORDS:
            own = callable(getattr(LineVerbs, f"_{one.name}", None))
            assert own or (one.command in BY_ID and not one.argument), one.name
        assert one.description
        assert bool(one.argument) == bool(one.values), one.name
        assert not one.command or one.command in BY_ID
    names = [name for one in LINE_COMMANDS for name in (one.name, *one.aliases)]
    assert len(names) == len(set(names))


def test_lines_are_kept_between_starts_bounded_and_without_secrets(tmp_path: Path) -> None:
    path = tmp_path / "state" / "commands"
    one, other = LineHistory(path), LineHistory(path)
    for number in range(MOST_LINES + 5):
        one.add(f"log {number}")
    other.add("queue  delta")
    one.add("log 7")
    one.add("export --password=hunter2")
    one.add("x" * 10_000)
    kept = LineHistory(path).lines
    assert len(kept) == MOST_LINES
    assert kept[-2:] == ("queue delta", "log 7")
    assert "hunter2" not in path.read_text()

    path.write_bytes(b"\xff\x00\nclusters\n\x1b[2J\n")
    assert LineHistory(path).lines == ("clusters",)
    memory = LineHistory(None)
    memory.add("help")
    assert memory.lines == ("help",)
    folder = LineHistory(tmp_path)  # it is no file
    folder.add("help")
    assert folder.lines == ("help",)


def test_going_back_and_forth_keeps_what_was_being_typed() -> None:
    recall = Recall(("one", "two"))
    assert [recall.older("thr"), recall.older("two"), recall.older("one")] == ["two", "one", "one"]
    assert [recall.newer("one"), recall.newer("two"), recall.newer("thr")] == ["two", "thr", "thr"]
    assert Recall(()).older("x") == "x"
