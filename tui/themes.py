"""Themes as files: TOML in `themes/` and in the person's own folder, checked before they are used.

A file that is wrong in any way is left out, with one sentence that says why. Every variable that
the screens use has a default for dark, light and 16-colour themes, so a theme may be short.
Source: tui study §2.5.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import tomli as tomllib
from textual.color import Color, ColorParseError
from textual.theme import Theme

DEFAULT_THEME = "rowtui-dark"


class Shades(NamedTuple):
    """The default of one variable: on dark, on light, and with the terminal's own 16 colours."""

    dark: str
    light: str
    ansi: str


VARIABLES = {
    "state-completed": Shades("#6cc27f", "#1a7f37", "ansi_green"),
    "state-submitted": Shades("#62aef0", "#0b62b8", "ansi_blue"),
    "state-eligible": Shades("#e6c35c", "#8a5a00", "ansi_yellow"),
    "state-waiting": Shades("#8b95a3", "#5d6673", "ansi_bright_black"),
    "state-failed": Shades("#f07178", "#c0232c", "ansi_red"),
    "state-warning": Shades("#f0a45d", "#a04d00", "ansi_magenta"),
    "text-dim": Shades("#8b95a3", "#5d6673", "ansi_bright_black"),
    "text-faint": Shades("#4b5563", "#a3abb5", "ansi_bright_black"),
    "text-heading": Shades("#9fb0c5", "#44536a", "ansi_default"),
    "text-key": Shades("#7fc4ff", "#0b62b8", "ansi_cyan"),
    "cursor-background": Shades("#264767", "#c9e0f7", "ansi_blue"),
    "cursor-idle-background": Shades("#232c38", "#e3e8ee", "ansi_bright_black"),
    "changed-background": Shades("#4a4320", "#fff0b3", "ansi_yellow"),
    "badge-background": Shades("#f0a45d", "#a04d00", "ansi_yellow"),
    "badge-text": Shades("#14181f", "#ffffff", "ansi_black"),
    "border-idle": Shades("#39424f", "#c3cad3", "ansi_bright_black"),
    "border-focus": Shades("#62aef0", "#0b62b8", "ansi_blue"),
    "code-comment": Shades("#7d8896", "#69727e", "ansi_bright_black"),
    "code-directive": Shades("#7fc4ff", "#0b62b8", "ansi_cyan"),
    "code-string": Shades("#8fd19e", "#1a7f37", "ansi_green"),
    "code-variable": Shades("#e6c35c", "#8a5a00", "ansi_yellow"),
    "code-keyword": Shades("#c79bf0", "#7a3eb1", "ansi_magenta"),
}
"""Our own variables. A theme may set any of them under `[variables]`."""

STYLES = {
    "completed": "$state-completed",
    "submitted": "$state-submitted",
    "eligible": "$state-eligible",
    "waiting": "$state-waiting",
    "failed": "$state-failed",
    "warning": "$state-warning",
    "dim": "$text-dim",
    "faint": "$text-faint",
    "heading": "bold $text-heading",
    "title": "bold",
    "key": "bold $text-key",
    "tab": "bold $text-key",
    "badge": "bold $badge-text on $badge-background",
    "comment": "$code-comment",
    "directive": "$code-directive",
    "string": "$code-string",
    "variable": "$code-variable",
    "keyword": "$code-keyword",
}
"""What the style names of `render/` look like, in Textual's style language."""

_COLOURS = (
    "primary", "secondary", "warning", "error", "success", "accent",
    "foreground", "background", "surface", "panel", "boost",
)  # fmt: skip


class Loaded(NamedTuple):
    """The themes that can be used, and a sentence for each file that cannot."""

    themes: tuple[Theme, ...]
    wrong: tuple[str, ...] = ()


def variable_defaults(theme: Theme) -> dict[str, str]:
    """A value for every variable of ours, right for this kind of theme."""
    kind = 2 if theme.ansi or theme.name.startswith("ansi") else 0 if theme.dark else 1
    return {name: shades[kind] for name, shades in VARIABLES.items()}


def load_themes(own: Path | None = None) -> Loaded:
    """Our themes, then those of the folder `own`; a later one with the same name replaces."""
    found: dict[str, Theme] = {}
    wrong = []
    for entry in sorted(resources.files("rowtui.themes").iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith(".toml"):
            theme = parse_theme(entry.read_bytes())
            found[theme.name] = theme
    if own is not None and own.is_dir():
        for path in sorted(own.glob("*.toml")):
            try:
                theme = parse_theme(path.read_bytes()[:200_000])
                found[theme.name] = theme
            except (OSError, ValueError) as error:
                wrong.append(f"{path.name}: {error}")
    return Loaded(tuple(found.values()), tuple(wrong))


def parse_theme(data: bytes) -> Theme:
    """A checked theme.

    Raises: ValueError with a sentence for a person.
    """
    try:
        table = tomllib.loads(data.decode())
    except UnicodeDecodeError:
        raise ValueError("the file is not UTF-8") from None
    known = {"name", "dark", "variables", *_COLOURS}
    if unknown := sorted(set(table) - known):
        raise ValueError(f"unknown key {unknown[0]!r}; possible are {', '.join(sorted(known))}")
    name = table.get("name")
    if not isinstance(name, str) or not name:
        raise ValueError("`name` is missing")
    if not isinstance(table.get("dark", True), bool):
        raise ValueError("`dark` is true or false")
    if "primary" not in table:
        raise ValueError("`primary` is missing")
    colours: dict[str, Any] = {key: _colour(key, table[key]) for key in _COLOURS if key in table}
    variables = table.get("variables", {})
    if not isinstance(variables, dict):
        raise ValueError("`variables` is a table")
    if unknown := sorted(set(variables) - set(VARIABLES)):
        raise ValueError(f"unknown variable {unknown[0]!r}")
    checked = {key: _colour(key, value) for key, value in variables.items()}
    return Theme(name=name, dark=table.get("dark", True), variables=checked, **colours)


def _colour(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"`{key}` is a colour in quotes")
    try:
        Color.parse(value)
    except ColorParseError:
        raise ValueError(f"`{key}`: {value!r} is not a colour") from None
    return value
