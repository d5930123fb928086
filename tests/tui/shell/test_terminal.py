"""Odd terminals, sizes and names: every view draws within its lines, and steers nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rowtui.cli.output.output import let_any_name_through
from rowtui.core.base.text import visible
from rowtui.core.engine.api.snapshot import ProjectSnapshot
from rowtui.tui.commands.command import VIEWS
from rowtui.tui.shell.app import RowtuiApp
from rowtui.tui.shell.terminal import FEW_COLOURS, MANY_COLOURS, NO_COLOURS, Manner, manner
from rowtui.tui.shell.terminal_app import LONGEST_COPY, clipboard_needs
from rowtui.tui.textual_patches.glyphs import ascii_text
from rowtui.tui.widgets.cells import Span, cut, fit, width_of

from tests.tui import sample
from tests.tui.hand import Hand, _strips, opened, screen_colours
from tests.tui.sample import ACTIONS, SampleEngine

UTF8 = {"TERM": "xterm-256color", "LANG": "en_US.UTF-8"}


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, Manner()),
        ({"TERM": "dumb"}, Manner(text_only=True)),
        ({"TERM": ""}, Manner(text_only=True)),
        ({"NO_COLOR": "1"}, Manner(colours=NO_COLOURS)),
        ({"NO_COLOR": ""}, Manner()),
        ({"TERM": "vt100"}, Manner(ascii_only=True, colours=NO_COLOURS)),
        ({"TERM": "linux"}, Manner(ascii_only=True, colours=FEW_COLOURS)),
        ({"TERM": "linux", "COLORTERM": "truecolor"}, Manner(ascii_only=True)),
        ({"LC_ALL": "C"}, Manner(ascii_only=True)),
        ({"LC_ALL": "", "LC_CTYPE": "de_DE.ISO-8859-1@euro"}, Manner(ascii_only=True)),
        ({"LANG": "de_DE.utf8"}, Manner()),
        ({"LANG": "C", "ROWTUI_ASCII": "0"}, Manner()),
        ({"ROWTUI_ASCII": "1"}, Manner(ascii_only=True)),
        ({"SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"}, Manner(remote=True)),
        ({"ROWTUI_NO_MOUSE": "1"}, Manner(mouse=False)),
    ],
)
def test_how_to_draw_is_read_from_the_environment(
    environment: dict[str, str], expected: Manner
) -> None:
    assert manner({**UTF8, **environment}) == expected


def test_options_win_and_few_colours_or_a_slow_line_want_the_terminals_own() -> None:
    how = manner(UTF8, ascii_only=True, slow=True, mouse=False)
    assert how == Manner(ascii_only=True, slow=True, remote=True, mouse=False)
    assert how.theme == Manner(colours=FEW_COLOURS).theme == "terminal"
    assert Manner(colours=MANY_COLOURS).theme == ""
    assert manner({"TERM": "xterm"}, encoding="iso8859-1").ascii_only


@settings(max_examples=50)
@given(st.text(max_size=20))
def test_ascii_takes_as_many_columns(text: str) -> None:
    shown = visible(text)
    assert ascii_text(shown).isascii()
    assert len(ascii_text(shown)) == cell_len(shown)


@settings(max_examples=50)
@given(st.text(max_size=20), st.integers(0, 30))
def test_a_text_is_cut_at_its_columns_and_never_inside_of_a_character(text: str, room: int) -> None:
    spans = (Span(visible(text), "dim"), Span(visible(text)))
    assert width_of(cut(spans, room)) <= room
    assert width_of(fit(spans, room)) == room


HOSTILE = (
    "\x1b[31mred\x1b]52;c;aGk=\x07",
    "\u202egnp.exe",
    "\u2066over\u2069\u200f",
    "zero\u200bwidth\u200d\ufeff",
    "日本語のとても長いディレクトリ名前",
    "e\u0301\u0300\u0302\u0327" * 20,
    "👩\u200d👩\u200d👧 👍🏽 🇩🇪",
    "\udcff\udc80 bytes",
    "new\nline\ttab\rreturn",
    "x" * 10_000,
    "[bold red]markup[/] $text \\[",
    "'; rm -rf ~ #",
)

GIVEN = sample._directories


def hostile_directories(count: int) -> list[tuple[str, Any]]:
    found = GIVEN(count)
    return [
        (f"{name}{HOSTILE[at % len(HOSTILE)]}", value) for at, (name, value) in enumerate(found)
    ]


def assert_drawn_within_lines(hand: Hand[Any]) -> None:
    width, height = hand.app.size
    strips = _strips(hand.app)
    assert len(strips) == height
    for strip in strips:
        assert strip.cell_length == cell_len(strip.text) == width
        assert strip.text.isprintable(), ascii(strip.text)


SIZES = ((80, 24), (20, 5), (1, 1), (81, 24), (40, 12), (500, 200))


async def test_hostile_names_in_every_view_at_every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample, "_directories", hostile_directories)
    named = {one.name: one.name + HOSTILE[at] for at, one in enumerate(ACTIONS)}
    actions = tuple(
        replace(one, name=named[one.name], previous=tuple(named[before] for before in one.previous))
        for one in ACTIONS
    )
    engine = SampleEngine(actions=actions, fresh=True)
    engine.completed[actions[0].name] = set(engine.names[:100])
    engine.bad = tuple((name, "not JSON\x1b[2J") for name in engine.names[:12])
    engine.notices = HOSTILE
    engine.queue_error = HOSTILE[0] * 500
    for at in range(12):
        engine._queue(actions[0], tuple(engine.names[100 + at : 101 + at]))
    async with opened(engine, size=SIZES[0]) as hand:
        await hand.until(lambda: hand.app.session.snapshot is not None)
        for name in VIEWS:
            hand.app.go(name)
            await hand.press("down", "down")
            for size in SIZES if name == "groups" else SIZES[1:3]:
                await hand.pilot.resize_terminal(*size)
                await hand.until(lambda: len(_strips(hand.app)) == hand.app.size[1])
                assert_drawn_within_lines(hand)
            await hand.pilot.resize_terminal(*SIZES[0])


async def test_without_colours_and_glyphs_every_view_says_the_same() -> None:
    how = Manner(ascii_only=True, colours=NO_COLOURS)
    coloured: dict[str, str] = {}

    async def each_view(hand: Hand[SampleEngine], look: Callable[[str], None]) -> None:
        await hand.sees("equilibrate")
        for name, (number, title) in VIEWS.items():
            hand.app.go(name)
            await hand.sees(f"[{number} {title}]")
            await hand.rests()
            look(name)

    async with opened(theme="terminal") as hand:

        def own(name: str) -> None:
            coloured[name] = hand.text()
            assert "[#" not in screen_colours(hand.app)  # the terminal's own colours alone

        await each_view(hand, own)

    async with opened(how=how) as hand:

        def same(name: str) -> None:
            text = hand.text()
            assert text.isascii()
            chart = "Completed in the last"  # drawn in another form, with the figures below it
            told = "".join(map(ascii_text, coloured[name]))
            assert text.partition(chart)[0] == told.partition(chart)[0], name
            for style in {part.style for strip in _strips(hand.app) for part in strip}:
                assert style is None or (style.color is None and style.bgcolor is None)
            # the row under the cursor is in reverse, and has its sign
            reverse = [
                part.text
                for strip in _strips(hand.app)
                for part in strip
                if part.style is not None and part.style.reverse
            ]
            if name in ("status", "groups", "explain", "queue"):
                assert any(text.startswith(">") for text in reverse), name

        await each_view(hand, same)
        hand.app.clear_notifications()
        await hand.press("T")
        await hand.sees("There are no colours here")


class Counting(SampleEngine):
    looks = 0

    async def refresh(self, *, full: bool = False) -> ProjectSnapshot:
        self.looks += 1
        return await super().refresh(full=full)


async def test_a_clock_that_jumps_shows_no_age_below_zero_and_stops_nothing() -> None:
    engine = Counting()
    async with opened(engine, size=(100, 30)) as hand:
        await hand.sees("equilibrate")
        start = engine.now
        for jump in (-86_400, +86_400, 0):
            engine.now = start + jump
            hand.app._tick()
            for name in ("queue", "log", "status"):
                hand.app.go(name)
                await hand.press("down")
                assert "-1 d" not in hand.text()
                assert "-86" not in hand.text()
            looks = engine.looks
            await hand.press("r")
            await hand.until(lambda before=looks: engine.looks > before)  # type: ignore[misc]
        await hand.sees("local ● now")


async def test_what_is_copied_is_bounded_and_says_what_it_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TMUX", "/tmp/tmux-1/default,1,0")
    monkeypatch.delenv("STY", raising=False)
    app: RowtuiApp
    async with opened() as hand:
        app = hand.app
        app.copy_text("x" * (LONGEST_COPY + 1))
        await hand.sees("a terminal's clipboard")
        assert app.clipboard == ""
        app.copy_text("a\udcff\x1b")
        await hand.sees("set-clipboard on")
        assert app.clipboard == "a?\x1b"
        app.command_suspend()
        await hand.sees("There is no shell to go back to")
    assert clipboard_needs({}) == ""
    assert "GNU screen" in clipboard_needs({"STY": "1.pts"})


def test_the_command_line_writes_our_glyphs_as_ascii_where_the_encoding_lacks_them() -> None:
    let_any_name_through()
    text = "✓ █░ … Müller 日 \udcff"
    assert text.encode("ascii", "rowtui-terminal") == rb"v #- ~ M\xfcller \u65e5 \udcff"
    assert text.encode("latin-1", "rowtui-terminal") == b"v #- ~ M\xfcller \\u65e5 \\udcff"
