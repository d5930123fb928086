"""Themes: checked files, complete variables, and every screen under every theme."""

from __future__ import annotations

import os
import re
from itertools import combinations
from math import dist
from pathlib import Path
from typing import Any

import pytest
from rowtui.core.base.errors import InvalidFileError
from rowtui.core.workflow.toml_file import TomlFile
from rowtui.tui.commands.command import VIEWS
from rowtui.tui.shell.app import RowtuiApp
from rowtui.tui.shell.terminal import Manner
from rowtui.tui.shell.themes import (
    STYLES,
    THEME_KEYS,
    VARIABLES,
    load_themes,
    parse_theme,
    variable_defaults,
)
from textual.color import Color
from textual.theme import BUILTIN_THEMES

from tests.tui.hand import Hand, _strips, opened, screen_colours
from tests.tui.sample import SampleEngine
from tests.tui.sample_again import with_failures

NAMES = [theme.name for theme in load_themes().themes]


def test_the_themes_are_there() -> None:
    assert NAMES == [
        "deuteranopia", "high-contrast", "rowtui-dark", "rowtui-light", "terminal", "tritanopia",
    ]  # fmt: skip


async def test_every_screen_loads_under_every_theme() -> None:
    async with opened(size=(80, 24), theme="terminal") as hand:
        await hand.sees("equilibrate")
        for theme in (*NAMES, "textual-light"):
            hand.app.theme = theme
            for number, title in VIEWS.values():
                hand.app.go(next(name for name, view in VIEWS.items() if view[1] == title))
                await hand.sees(f"[{number} {title}]")
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


GROUNDS = ("cursor-background", "cursor-idle-background", "changed-background")


def texts(colours: dict[str, str]) -> list[str]:
    """The variables that text is drawn in."""
    return [name for name in colours if name.startswith(("state-", "text-", "code-"))]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "terminal"])
def test_text_can_be_read_on_every_ground_in_every_theme(name: str) -> None:
    [theme] = [one for one in load_themes().themes if one.name == name]
    colours = {**variable_defaults(theme), **theme.variables}
    least = 7.0 if name == "high-contrast" else 4.5
    assert theme.foreground is not None
    for ground in (
        theme.background,
        theme.surface,
        theme.panel,
        *(colours[one] for one in GROUNDS),
    ):
        assert ground is not None
        assert contrast(theme.foreground, ground) >= least
        for variable in texts(colours):
            faint = variable == "text-faint" and name != "high-contrast"
            on_cursor = ground in (colours["cursor-background"], colours["changed-background"])
            wanted = (2.3 if on_cursor else 3.0) if faint else least
            assert contrast(colours[variable], ground) >= wanted, (variable, ground)
    assert contrast(colours["badge-text"], colours["badge-background"]) >= min(least, 7.0)


# Tango (GNOME) and Campbell (Windows), whose black and white are 0 and 15.
PALETTES = (
    {"red": "#cc0000", "green": "#4e9a06", "magenta": "#75507b", "cyan": "#06989a"},
    {"red": "#c50f1f", "green": "#13a10e", "magenta": "#b4009e", "cyan": "#3a96dd"},
)


def test_the_theme_of_the_terminal_has_only_its_colours_and_those_that_any_ground_takes() -> None:
    [theme] = [one for one in load_themes().themes if one.name == "terminal"]
    colours = {**variable_defaults(theme), **theme.variables}
    assert all(value.startswith("ansi_") for value in colours.values())
    used = {colours[name].removeprefix("ansi_") for name in texts(colours)}
    assert used <= {"default", *PALETTES[0]}
    for palette in PALETTES:
        for name in used - {"default"}:
            assert contrast(palette[name], "#ffffff") >= 3.0, name
            assert contrast(palette[name], "#0c0c0c") >= 2.9, name


# Machado, Oliveira and Fernandes 2009, severity 1.
SEEN_AS = {
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}


def seen(colour: str, kind: str) -> tuple[float, float, float]:
    """A colour as such eyes see it, in CIE Lab."""
    parsed = Color.parse(colour)
    light = []
    for value in (parsed.r, parsed.g, parsed.b):
        part = value / 255
        light.append(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4)
    red, green, blue = (
        min(1.0, max(0.0, sum(factor * part for factor, part in zip(row, light, strict=True))))
        for row in SEEN_AS[kind]
    )

    def bend(value: float) -> float:
        return value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116

    x = bend((0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047)
    y = bend(0.2126 * red + 0.7152 * green + 0.0722 * blue)
    z = bend((0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("name", sorted(SEEN_AS))
def test_states_stay_apart_for_the_eyes_that_a_theme_is_made_for(name: str) -> None:
    [theme] = [one for one in load_themes().themes if one.name == name]
    colours = {**variable_defaults(theme), **theme.variables}
    states = sorted(one for one in colours if one.startswith("state-"))
    for one, other in combinations(states, 2):
        assert dist(seen(colours[one], name), seen(colours[other], name)) >= 20, (one, other)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ('name = "x"\nprimary = "#12345"', "not a colour"),
        ('name = "x"\nprimary = "#123456"\ncolour = "red"', "unknown key `colour`"),
        (
            'name = "x"\nprimary = "red"\n[variables]\nstate-done = "red"',
            "unknown key `state-done` in `variables`",
        ),
        ('primary = "red"', "missing `name`"),
        ('name = "x"', "missing `primary`"),
        ('name = "x"\nprimary = 3', "must be a string"),
        ('name = "x"\nprimary = "red"\ndark = "yes"', "true or false"),
        ('name = "x', "[Uu]nterminated"),
        ('name = "x"\nprimary = "red"\nvariables = 1', "must be a table"),
        ('name = "x"\nprimry = "red"', "did you mean 'primary'"),
        ('name = "x\\u001b[31m"\nprimary = "red"', "`name` is at most 40 letters"),
        ('name = "x"\nprimary = "red"\nansi = true', "colours are ansi_red"),
        ('name = "x"\nprimary = "red"\nx = ' + "[" * 30_000, "nested too deeply"),
    ],
)
def test_a_wrong_theme_says_what_is_wrong(text: str, wrong: str) -> None:
    with pytest.raises(InvalidFileError, match=wrong):
        parse_theme(TomlFile(text.encode(), "x.toml", THEME_KEYS))


async def until_looked_at(hand: Hand[SampleEngine], theme: str) -> None:
    hand.app.themes.look()
    await hand.until(lambda: hand.app.theme == theme)


async def test_themes_of_ones_own_are_checked_chosen_remembered_and_followed(
    tmp_path: Path,
) -> None:
    folder, state = tmp_path / "themes", tmp_path / "state"
    folder.mkdir()
    mine = folder / "mine.toml"
    mine.write_text('name = "mine"\nprimary = "#aa5500"\n')
    (folder / "bad.toml").write_text('name = "bad"\nprimary = "nonsense"\n')
    (folder / "worse.toml").write_bytes(b"\xff\xfe")
    (folder / "long.toml").write_bytes(b"#" * 5_000_000)
    (folder / "zero.toml").symlink_to("/dev/zero")
    (folder / "gone.toml").symlink_to("nowhere")
    os.mkfifo(folder / "pipe.toml")
    wrong = load_themes(folder).wrong
    assert [text.split(": ")[0] for text in wrong] == [
        f"theme {name}.toml" for name in ("bad", "gone", "long", "pipe", "worse", "zero")
    ]
    assert "5,000,000 bytes" in wrong[2]
    assert wrong[5].endswith("is not a regular file")
    async with opened(config=tmp_path, state=state, theme="bad") as hand:
        await hand.sees("bad.toml", "worse.toml: byte 0xff is not UTF-8", "there is no theme 'bad'")
        assert hand.app.theme == "rowtui-dark"
        for _ in hand.app.themes.names:  # T goes through all of them
            await hand.press("T")
        assert hand.app.theme == "rowtui-dark"
        assert not hand.app.themes.choose("nothing")
        assert hand.app.themes.choose("mine")
        assert (state / "theme").read_text() == "mine\n"

        mine.write_text('name = "mine"\nprimary = "#aa5500"\n[variables]\ntext-key = "#123456"\n')
        await until_looked_at(hand, "mine")
        await hand.until(lambda: "#123456" in screen_colours(hand.app))

        hand.app.clear_notifications()
        mine.write_text('name = "mine"\nprimary = "#aa550"\n')
        await until_looked_at(hand, "mine")
        await hand.sees("theme mine.toml: `primary`", "is not a colour")
        assert "#123456" in screen_colours(hand.app)

        mine.unlink()
        await until_looked_at(hand, "rowtui-dark")
        await hand.sees("The theme mine is gone")


async def test_a_chosen_theme_is_there_the_next_time_unless_another_is_asked_for(
    tmp_path: Path,
) -> None:
    (tmp_path / "theme").write_text("rowtui-light\n")

    def begun(asked: str | None, **how: Any) -> str:
        return RowtuiApp(SampleEngine(), state=tmp_path, theme=asked, how=Manner(**how)).theme

    assert begun(None) == "rowtui-light"
    assert begun("deuteranopia") == "deuteranopia"
    assert begun(None, colours=16) == "terminal"
    assert begun("rowtui-dark", colours=0) == "terminal"
    (tmp_path / "theme").write_bytes(b"\xff\x00" * 1000)
    assert begun(None) == "rowtui-dark"


MARKS = re.compile(r"[\u2500-\u259f\u2800-\u28ff\s]+")
"""Frames, bars and charts: marks, which a text or a figure beside them repeats."""


@pytest.mark.parametrize("name", [name for name in NAMES if name != "terminal"])
async def test_what_is_painted_can_be_read_in_every_view(name: str) -> None:
    async with opened(with_failures(), size=(120, 36), theme=name) as hand:
        await hand.sees("equilibrate")
        for key in (*map(str, range(1, 10)), "C", "1"):
            await hand.press(key, "down")
            await hand.rests()
            for strip in _strips(hand.app):
                for text, style, _ in strip:
                    words = MARKS.sub("", text)
                    if not words or style is None or style.color is None or style.bgcolor is None:
                        continue
                    front, ground = (
                        str(one.get_truecolor().hex) for one in (style.color, style.bgcolor)
                    )
                    assert contrast(front, ground) >= 4.5, (key, text, front, ground)
