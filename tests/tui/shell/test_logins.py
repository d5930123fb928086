"""Logging in from the dashboard: what is asked, what is answered, and that nothing of it stays."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.transports.login import (
    Asker,
    KnownKey,
    LoginError,
    LoginTrouble,
    Prompt,
    changed_key_error,
)
from rowtui.tui.shell.app import RowtuiApp
from rowtui.tui.shell.terminal_app import defect_error
from rowtui.tui.views.clusters.login_dialog import (
    ConnectingScreen,
    HostKeyScreen,
    LoginField,
    PromptScreen,
)

from tests.tui.hand import Hand, opened
from tests.tui.sample import SampleEngine
from tests.tui.sample_clusters import HOST_KEY, with_clusters

SECRET = "hunter2-Zq7w"


def asking(*prompts: Prompt) -> tuple[SampleEngine, list[object]]:
    """A sample whose delta asks these once; the answers that it got."""
    engine = with_clusters()
    got: list[object] = []

    async def login(asker: Asker) -> None:
        got.append(await asker.ask(prompts))
        if got[-1] is None:
            raise LoginError(LoginTrouble.CANCELLED, "the login was given up")

    engine.logins["delta"] = login
    return engine, got


async def begin(hand: Hand[SampleEngine], sign: str) -> None:
    await hand.press("6")
    await hand.sees("delta ▲")
    await hand.press("L")
    await hand.sees(sign)


async def test_a_key_a_password_and_a_code_lead_to_a_connected_cluster() -> None:
    async with opened(with_clusters()) as hand:
        # the status says which cluster needs a login; an unknown key is rejected by Enter and Esc
        await hand.sees("delta asks for a login", "L")
        await hand.press("L")
        for answer in ("enter", "escape"):
            await hand.sees("Is this delta?")
            await hand.press(answer)
            await hand.sees("No connection to delta", "is unknown: its")
            await hand.press("escape", "6")
            await hand.sees("delta ▲")
            await hand.press("L")
        hand.app.clear_notifications()
        await hand.sees(HOST_KEY.host, HOST_KEY.kind, HOST_KEY.fingerprint, "site publishes")
        await hand.sees("◐ logging in")
        await hand.press("right", "enter")

        # a wrong answer is asked again in an empty dialog
        await hand.sees("Log in to delta", "someone@delta.example", "Password:", "Enter next")
        await hand.press("x", "enter")
        await hand.sees("Enter sends them")
        await hand.press("1", "enter")
        await hand.sees("Enter next")
        assert isinstance(hand.app.screen, PromptScreen)
        await hand.until(
            lambda: [one.value for one in hand.app.screen.query(LoginField)] == ["", ""]
        )
        await hand.press(*"correct", "space", *"horse", "enter")
        await hand.sees("Enter sends them", "••••••")
        assert "correct" not in hand.text()
        await hand.press(*"123456")
        await hand.sees("123456")  # the site says that this one may be seen
        await hand.press("enter")
        await hand.sees("logged in to delta", "delta ● now")
        assert hand.engine.calls.count("connect delta") == 3  # two rejected keys, and this one
        assert hand.engine.calls[-1] == "jobs now"


async def test_giving_up_answers_with_none_and_nothing_typed_is_sent_by_a_second_enter() -> None:
    engine, got = asking(Prompt("Press Enter for a push, or type a code:"))
    async with opened(engine) as hand:
        await begin(hand, "Press Enter")
        await hand.press("ctrl+p")  # the palette stays closed over a question
        await hand.rests()
        assert isinstance(hand.app.screen, PromptScreen)
        await hand.press("x", "escape")
        await hand.sees("the login was given up", "delta ▲")
        assert got == [None]
        got.clear()
        await hand.press("escape")
        await begin(hand, "Press Enter")
        await hand.press("enter")
        await hand.sees("Nothing is typed: Enter again sends just that.")
        assert got == []
        await hand.press("enter")
        await hand.sees("delta ● now")
        assert got == [("",)]


async def test_what_a_cluster_writes_is_neither_markup_nor_able_to_push_the_answer_away() -> None:
    banner = "[red]free[/red] [@click=app.quit]beer[/] " + "blah " * 4000 + "\x1b]0;owned\x07"
    engine, got = asking(Prompt(banner + "\nPassword:"))
    async with opened(engine, size=(80, 24)) as hand:
        await begin(hand, "[red]free[/red] [@click=app.quit]beer[/]")
        await hand.sees("Password:")
        assert "\x1b" not in hand.text()
        await hand.press("o", "k", "enter")
        await hand.sees("delta ● now")
        assert got == [("ok",)]


async def test_a_question_that_is_withdrawn_goes_away_with_a_word() -> None:
    engine = with_clusters()
    enough = asyncio.Event()

    async def login(asker: Asker) -> None:
        question = asyncio.ensure_future(asker.ask((Prompt("Password:"),)))
        await enough.wait()
        question.cancel()
        raise LoginError(LoginTrouble.TIMED_OUT, "delta closed the connection", "be quicker")

    engine.logins["delta"] = login
    async with opened(engine) as hand:
        await begin(hand, "Password:")
        await hand.press(*SECRET)
        dialog = hand.app.screen
        enough.set()
        await hand.sees("delta does not wait for an answer any more")
        await hand.sees("No connection to delta", "be quicker")
        assert not dialog.is_attached
        await hand.press("escape")
        await hand.sees_no("No connection to delta")


async def test_questions_of_two_clusters_stand_in_line() -> None:
    engine, got = asking(Prompt("Password of delta:"))
    engine.remote["echo"] = engine.remote["delta"]._replace(name="echo")

    async def other(asker: Asker) -> None:
        got.append(await asker.ask((Prompt("Password of echo:"),)))

    engine.logins["echo"] = other
    async with opened(engine) as hand:
        await hand.press("6")
        await hand.sees("echo ▲")
        hand.app.logins.connect("delta")
        hand.app.logins.connect("echo")
        await hand.sees("Password of delta:")
        await hand.rests()
        assert "Password of echo:" not in hand.text()
        await hand.press("d", "enter")
        await hand.sees("Password of echo:")
        await hand.press("e", "enter")
        await hand.sees("echo ● now")
        assert got == [("d",), ("e",)]


async def test_of_several_clusters_one_is_chosen() -> None:
    engine, got = asking(Prompt("Password:"))
    engine.remote["echo"] = engine.remote["delta"]._replace(
        name="[b]echo", login="", error="no route to host"
    )
    async with opened(engine) as hand:
        await hand.press("6")
        await hand.sees("✗ unreachable")
        await hand.press("L")
        await hand.sees("Log in to", "[b]echo", "no route to host")
        await hand.press("escape")
        await hand.sees_no("does nothing")
        await hand.press("L", "j", "k", "enter")
        await hand.sees("Password:")
        await hand.press("x", "enter")
        await hand.until(lambda: got == [("x",)])


async def test_a_question_that_comes_while_the_user_types_elsewhere_waits_for_its_key() -> None:
    engine, got = asking(Prompt("Password:"))
    async with opened(engine) as hand:
        await hand.press("6")
        await hand.sees("delta ▲")
        await hand.press("c")
        await hand.sees("Cancel 1 job?")
        hand.app.logins.connect("delta")
        await hand.sees("delta has a question: L shows it")
        await hand.press("y", "e", "s", "enter")  # meant for the first question
        await hand.sees("1 job cancelled")
        await hand.rests()
        assert "Password:" not in hand.text()
        await hand.press("L")
        await hand.sees("Password:")
        await hand.press("x", "enter")
        await hand.sees("delta ● now")
        assert got == [("x",)]


def asking_later() -> tuple[SampleEngine, list[asyncio.Event], list[object]]:
    """A sample whose delta asks two questions, each once its event is set; the answers."""
    engine = with_clusters()
    got: list[object] = []
    events = [asyncio.Event(), asyncio.Event()]

    async def login(asker: Asker) -> None:
        for event, text in zip(events, ("Password:", "Code:"), strict=True):
            await event.wait()
            got.append(await asker.ask((Prompt(text),)))

    engine.logins["delta"] = login
    return engine, events, got


async def test_keys_typed_before_a_question_comes_reach_neither_the_answer_nor_the_view() -> None:
    engine, (first, second), got = asking_later()
    async with opened(engine) as hand:
        await hand.sees("delta asks for a login")
        await hand.press("L", "6", "L")
        await hand.sees("Log in to delta", "The login is under way")
        first.set()
        await hand.sees("Password:")
        await hand.press("p", "enter", "8", "x")  # between two questions
        await hand.sees("The login is under way")
        second.set()
        await hand.sees("Code:")
        await hand.press("c", "enter")
        await hand.sees("logged in to delta")
        assert got == [("p",), ("c",)]
        assert hand.app.view_name == "status"
        await hand.until(lambda: not isinstance(hand.app.screen, ConnectingScreen))


async def test_a_hidden_login_takes_no_keys_until_it_is_shown_again() -> None:
    engine, (first, second), got = asking_later()
    async with opened(engine) as hand:
        await hand.sees("delta asks for a login")
        await hand.press("L")
        await hand.sees("The login is under way")
        await hand.press("escape", "6")
        await hand.sees("◐ logging in")
        await hand.press("L")
        await hand.sees("The login is under way")
        await hand.press("escape")
        first.set()
        await hand.sees("delta has a question: L shows it")
        await hand.press("1")
        await hand.until(lambda: hand.app.view_name == "status")
        await hand.press("L")
        await hand.sees("Password:")
        second.set()
        await hand.press("p", "enter")
        await hand.sees("Code:")
        await hand.press("c", "enter")
        await hand.sees("logged in to delta")
        assert got == [("p",), ("c",)]


async def test_a_changed_key_is_told_and_never_asked() -> None:
    engine = with_clusters()

    async def changed(_: Asker) -> None:
        known = KnownKey("/home/someone/.ssh/known_hosts", 12, HOST_KEY.kind, "SHA256:before")
        raise changed_key_error("delta", HOST_KEY, (known,))

    engine.logins["delta"] = changed
    async with opened(engine, size=(80, 24)) as hand:
        await begin(hand, "shows another key than before")
        assert not isinstance(hand.app.screen, HostKeyScreen)
        await hand.sees("the connection may be intercepted", "known_hosts:12", "ssh-keygen -R")
        await hand.press("escape")
        await hand.sees("delta ▲")


async def test_any_failure_of_a_login_is_a_sentence_and_its_hint() -> None:
    engine = with_clusters()
    async with opened(engine) as hand:
        for error, sign in (
            (RowtuiError("delta is not configured", "see clusters.toml"), "see clusters.toml"),
            (OSError(5, "Input/output error"), "Input/output error"),
        ):

            async def login(_: Asker, error: Exception = error) -> None:
                raise error

            engine.logins["delta"] = login
            await begin(hand, "Trouble with delta")
            await hand.sees(sign)
            await hand.press("enter")
            await hand.sees_no("Trouble with delta")


async def test_when_nothing_waits_for_a_login_the_key_says_so() -> None:
    async with opened() as hand:
        await hand.sees("78 eligible")
        await hand.press("L")
        await hand.sees("log in: no cluster needs a login")


async def test_the_palette_has_each_cluster_that_waits() -> None:
    engine, got = asking(Prompt("Password:"))
    async with opened(engine) as hand:
        await hand.press("6")
        await hand.sees("delta ▲")
        await hand.press("ctrl+p")
        await hand.press(*"connect delta")
        await hand.sees("connect to delta")
        await hand.press("down", "enter")
        await hand.sees("Password:")
        await hand.press("x", "enter")
        await hand.until(lambda: got == [("x",)])


async def test_what_is_typed_is_in_no_picture_no_activity_and_no_repr() -> None:
    engine, got = asking(Prompt("Password:"), Prompt("Pass phrase:"))
    async with opened(engine, size=(80, 24)) as hand:
        await begin(hand, "Password:")
        await hand.press(*SECRET)
        dialog, line = hand.app.screen, hand.app.focused
        assert isinstance(line, LoginField)
        assert line.value == SECRET
        line.action_select_all()
        line.action_copy()
        line.action_cut()
        await hand.press(*SECRET, "enter", *SECRET)
        assert SECRET not in everything(hand)
        await hand.press("enter")
        await hand.sees("delta ● now")
        assert got == [(SECRET, SECRET)]
        assert line.value == ""
        assert SECRET not in everything(hand) + repr(dialog) + repr(vars(dialog))
        for key in ("at", "escape", "1"):
            await hand.press(key)
            assert SECRET not in everything(hand)


def everything(hand: Hand[SampleEngine]) -> str:
    """Whatever could show it: the screen, its picture, activity, clipboard, messages, reprs."""
    app = hand.app
    return "\n".join(
        [
            hand.text(),
            app.export_screenshot(),
            app.clipboard,
            repr(list(app.session.activity)),
            repr(app.session),
            repr(list(app._notifications)),
            repr(app.screen),
            *(repr(widget) for widget in app.screen.walk_children()),
        ]
    )


async def test_a_defect_while_a_secret_is_typed_leaves_it_out_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end_as_in_a_terminal(app: RowtuiApp, error: Exception) -> None:
        app.defect = app.defect or error
        app.exit(1, return_code=1)

    def broken(*_: Any) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(RowtuiApp, "_handle_exception", end_as_in_a_terminal)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    engine, _ = asking(Prompt("Password:"))
    monkeypatch.setattr(engine, "clusters_answer", broken)
    async with opened(engine) as hand:
        await begin(hand, "Password:")
        await hand.press(*SECRET, "enter")
        await hand.until(lambda: hand.app.defect)
        assert hand.app.defect is not None
        error = defect_error(hand.app.defect)
    log = (tmp_path / "rowtui" / "log" / "dashboard.log").read_text()
    assert "in broken" in log
    assert "ZeroDivisionError: a defect" in log
    assert SECRET not in log + str(error) + error.hint


async def test_what_is_typed_is_not_in_textual_s_own_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "textual.log"
    monkeypatch.setattr("textual.constants.LOG_FILE", str(log))
    engine, _ = asking(Prompt("Password:"))
    async with opened(engine) as hand:
        await begin(hand, "Password:")
        await hand.press(*SECRET, "enter")
        await hand.rests()
    assert not log.exists()
