"""Themes: checked files, complete variables, and every screen under every theme."""

from __future__ import annotations

from pathlib import Path

import pytest
from rowtui.tui.actions import VIEWS
from rowtui.tui.app import RowtuiApp
from rowtui.tui.themes import STYLES, VARIABLES, load_themes, parse_theme, variable_defaults
from textual.color import Color
from textual.theme import BUILTIN_THEMES

from tests.tui.hand import opened
from tests.tui.sample import SampleEngine

NAMES = [theme.name for theme in load_themes().themes]


def test_the_four_themes_are_there() -> None:
    assert NAMES == ["deuteranopia", "high-contrast", "rowtui-dark", "rowtui-light"]


async def test_every_screen_loads_under_every_theme() -> None:
    async with opened(size=(80, 24), theme="ansi-dark") as hand:
        await hand.sees("equilibrate")
        for theme in ("ansi-dark", *NAMES, "textual-light"):
            hand.app.theme = theme
            for number, title in VIEWS.values():
                await hand.press(str(number))
                assert f"[{number} {title}]" in hand.text()
        for key in ("question_mark", "at"):
            await hand.press(key)
            hand.text()
            await hand.press("escape")
        assert hand.app.theme == "textual-light"


def test_every_variable_has_a_colour_for_every_kind_of_theme() -> None:
    for theme in (*BUILTIN_THEMES.values(), *load_themes().themes):
        defaults = variable_defaults(theme)
        assert set(defaults) == set(VARIABLES)
        for value in defaults.values():
            Color.parse(value)


def test_every_style_uses_known_variables() -> None:
    used = {word[1:] for style in STYLES.values() for word in style.split() if word[0] == "$"}
    assert used <= set(VARIABLES)


def contrast(one: str, other: str) -> float:
    def luminance(colour: Color) -> float:
        def channel(value: float) -> float:
            value /= 255
            return value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4

        return 0.2126 * channel(colour.r) + 0.7152 * channel(colour.g) + 0.0722 * channel(colour.b)

    high, low = sorted((luminance(Color.parse(one)), luminance(Color.parse(other))), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", NAMES)
def test_states_can_be_read_on_the_background_and_under_the_cursor(name: str) -> None:
    [theme] = [one for one in load_themes().themes if one.name == name]
    colours = {**variable_defaults(theme), **theme.variables}
    least = 7.0 if name == "high-contrast" else 4.5
    assert theme.background is not None
    for variable in [name for name in VARIABLES if name.startswith("state-")] + ["text-dim"]:
        assert contrast(colours[variable], theme.background) >= least, variable
        cursor = 3.5 if name == "high-contrast" else 2.9
        assert contrast(colours[variable], colours["cursor-background"]) >= cursor, variable


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ('name = "x"\nprimary = "#12345"', "not a colour"),
        ('name = "x"\nprimary = "#123456"\ncolour = "red"', "unknown key 'colour'"),
        ('name = "x"\nprimary = "red"\n[variables]\nstate-done = "red"', "unknown variable"),
        ('primary = "red"', "`name` is missing"),
        ('name = "x"', "`primary` is missing"),
        ('name = "x"\nprimary = 3', "a colour in quotes"),
        ('name = "x"\nprimary = "red"\ndark = "yes"', "true or false"),
        ('name = "x', "Unterminated"),
        ('name = "x"\nprimary = "red"\nvariables = 1', "is a table"),
    ],
)
def test_a_wrong_theme_says_what_is_wrong(text: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        parse_theme(text.encode())


async def test_a_broken_theme_of_ones_own_is_one_message_and_a_fallback(tmp_path: Path) -> None:
    folder = tmp_path / "themes"
    folder.mkdir()
    (folder / "mine.toml").write_text('name = "mine"\nprimary = "#aa5500"\n')
    (folder / "bad.toml").write_text('name = "bad"\nprimary = "nonsense"\n')
    (folder / "worse.toml").write_bytes(b"\xff\xfe")
    async with opened(config=tmp_path, theme="bad") as hand:
        await hand.sees("bad.toml", "worse.toml: the file is not UTF-8", "there is no theme 'bad'")
        assert hand.app.theme == "rowtui-dark"
        assert "mine" in hand.app.available_themes


async def test_t_goes_through_the_themes_and_repaints(tmp_path: Path) -> None:
    app = RowtuiApp(SampleEngine(), config=tmp_path)
    async with app.run_test() as pilot:
        seen = []
        for _ in NAMES:
            await pilot.press("T")
            await pilot.pause()
            seen.append(app.theme)
        assert sorted(seen) == sorted(NAMES)
