"""Themes as validated TOML files, and the theme on the screen, reloaded when its file changes.

An invalid file is left out, and one sentence states the reason. Every variable that the screens use
has a default for dark, light and 16-colour themes, so a theme may be short.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import tomli as tomllib
from rowtui.core.base.text import similar, visible
from rowtui.tui.shell.terminal import NO_COLOURS
from textual.color import Color, ColorParseError
from textual.theme import Theme

if TYPE_CHECKING:
    from rowtui.tui.shell.terminal import Manner
    from textual.app import App


DEFAULT_THEME = "rowtui-dark"
SHIPPED = "rowtui.themes"
"""The package with the files of rowtui's own themes."""


class Shades(NamedTuple):
    """The defaults of one variable: on dark, on light, and with the terminal's own 16 colours."""

    dark: str
    light: str
    ansi: str


VARIABLES = {
    "state-completed": Shades("#7bd88f", "#17692f", "ansi_green"),
    "state-submitted": Shades("#6cb8ff", "#0a559c", "ansi_blue"),
    "state-eligible": Shades("#ecc85f", "#7a5200", "ansi_yellow"),
    "state-waiting": Shades("#a9b1c0", "#555e6c", "ansi_default"),
    "state-failed": Shades("#ff8d93", "#b01c26", "ansi_red"),
    "state-warning": Shades("#ffab66", "#8f4300", "ansi_bright_yellow"),
    "text-dim": Shades("#a2abbb", "#555e6c", "ansi_default"),
    "text-faint": Shades("#6e7682", "#7d848d", "ansi_bright_black"),
    "text-heading": Shades("#e4e8f0", "#1a1f29", "ansi_default"),
    "text-key": Shades("#c4a7ff", "#5f36b8", "ansi_magenta"),
    "cursor-background": Shades("#2a2f52", "#e3dcf8", "ansi_blue"),
    "cursor-idle-background": Shades("#222735", "#ebedf2", "ansi_bright_black"),
    "changed-background": Shades("#3a3413", "#fff0bd", "ansi_yellow"),
    "badge-background": Shades("#ffab66", "#8f4300", "ansi_yellow"),
    "badge-text": Shades("#14181f", "#ffffff", "ansi_black"),
    "border-idle": Shades("#4b556b", "#9ca3b0", "ansi_bright_black"),
    "border-focus": Shades("#c4a7ff", "#5f36b8", "ansi_magenta"),
    "code-comment": Shades("#a2abbb", "#555e6c", "ansi_bright_black"),
    "code-directive": Shades("#6cb8ff", "#0a559c", "ansi_cyan"),
    "code-string": Shades("#7bd88f", "#17692f", "ansi_green"),
    "code-variable": Shades("#ecc85f", "#7a5200", "ansi_yellow"),
    "code-keyword": Shades("#f0a0c8", "#a02c70", "ansi_magenta"),
}
"""The variables of rowtui. A theme may set any of them under `[variables]`."""

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
    "tab": "bold $text-key on $cursor-background",
    "badge": "bold $badge-text on $badge-background",
    "changed": "bold on $changed-background",
    "comment": "$code-comment",
    "directive": "$code-directive",
    "string": "$code-string",
    "variable": "$code-variable",
    "keyword": "$code-keyword",
    "fill-string": "reverse $code-string",
    "fill-variable": "reverse $code-variable",
    "fill-keyword": "reverse $code-keyword",
    "fill-directive": "reverse $code-directive",
}
"""The styles for the style names of `render/`, in Textual's style language."""

_COLOURS = (
    "primary", "secondary", "warning", "error", "success", "accent",
    "foreground", "background", "surface", "panel", "boost",
)  # fmt: skip
_SWITCHES = {"dark": True, "ansi": False}

_GROUND = "ansi_bright_white"
"""This background is drawn in reverse: see `filters.py`."""

_ANSI_VARIABLES = {
    "ansi-background": "ansi_default",
    "ansi-foreground": "ansi_default",
    "border": "ansi_default",
    "border-blurred": "ansi_default",
    "block-cursor-foreground": "ansi_default",
    "block-cursor-background": _GROUND,
    "input-cursor-background": _GROUND,
    "input-cursor-foreground": "ansi_default",
    "input-selection-background": _GROUND,
    "input-selection-foreground": "ansi_default",
    "screen-selection-background": _GROUND,
    "screen-selection-foreground": "ansi_default",
    "link-color": "ansi_cyan",
    "link-color-hover": "ansi_cyan",
    "link-background-hover": _GROUND,
}
"""Textual's own variables for the terminal's colours, on unknown backgrounds."""

MOST_BYTES = 64_000
"""The size limit of a theme: a theme has some kilobytes."""

MOST_FILES = 200
"""The largest number of files in one folder."""

LONGEST_NAME = 40


class ThemeFile(NamedTuple):
    """A file of a theme in its folder: another stamp means another content."""

    path: str
    stamp: tuple[int, ...]


class LoadedThemes(NamedTuple):
    """The themes by their file, and a sentence for each invalid file."""

    by_file: Mapping[str, Theme]
    wrong: tuple[str, ...] = ()

    @property
    def themes(self) -> tuple[Theme, ...]:
        """The themes by name; of two themes with one name, the user's own."""
        named: dict[str, Theme] = {}
        for theme in self.by_file.values():
            named[theme.name] = theme
        return tuple(named.values())


def variable_defaults(theme: Theme) -> dict[str, str]:
    """Return a value for every variable of rowtui, suitable for this kind of theme."""
    kind = 2 if theme.ansi or theme.name.startswith("ansi") else 0 if theme.dark else 1
    return {name: shades[kind] for name, shades in VARIABLES.items()}


def sources(own: Path | None = None) -> tuple[ThemeFile, ...]:
    """Return the files of rowtui's themes, then those of the folder `own`, by name.

    The function calls stat on the files and reads none.
    """
    shipped = resources.files(SHIPPED)
    found = _in_folder(Path(str(shipped)))
    if not found:  # rowtui runs from a zip
        files = [str(file) for file in shipped.iterdir() if file.name.endswith(".toml")]
        found = [ThemeFile(file, ()) for file in sorted(files)]
    return (*found, *(_in_folder(own) if own is not None else ()))


def _in_folder(folder: Path) -> list[ThemeFile]:
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.name.endswith(".toml") or entry.name.startswith("."):
                    continue
                stamp: tuple[int, ...] = ()
                try:
                    info = entry.stat()
                    stamp = (info.st_mtime_ns, info.st_size, info.st_ino, info.st_dev)
                except OSError:
                    pass  # The entry is a broken link: the later read reports the error.
                found.append(ThemeFile(entry.path, stamp))
                if len(found) == MOST_FILES:
                    break
    except OSError:
        return []  # The folder need not exist.
    return sorted(found)


def load_themes(own: Path | None = None, before: LoadedThemes | None = None) -> LoadedThemes:
    """Return rowtui's themes, then those of the folder `own`; a later theme replaces one of that
    name.

    If a file is invalid now and was valid in `before`, its previous theme stays.
    """
    found: dict[str, Theme] = {}
    wrong = []
    for path, _ in sources(own):
        try:
            found[path] = parse_theme(_read(path))
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            wrong.append(f"theme {os.path.basename(path)}: {why}")
            if before is not None and path in before.by_file:
                found[path] = before.by_file[path]
    return LoadedThemes(found, tuple(wrong))


def _read(path: str) -> bytes:
    """Return the content of a small file.

    Raises: ValueError with a sentence if the path is not a regular file, or the file is too large:
    /dev/zero would have no end.
    """
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except NotADirectoryError:
        return (resources.files(SHIPPED) / os.path.basename(path)).read_bytes()  # in a zip
    with open(opened, "rb") as file:
        info = os.fstat(file.fileno())
        if not stat.S_ISREG(info.st_mode):
            raise ValueError("it is not a file")
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ValueError(f"it has {info.st_size:,} bytes; a theme has at most {MOST_BYTES:,}")
    return data


def parse_theme(data: bytes) -> Theme:
    """Return a validated theme. Raises: ValueError with a sentence for the user."""
    try:
        table = tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ValueError("the file is not UTF-8") from None
    except RecursionError:
        raise ValueError("values in values in values without end") from None
    known = {"name", *_SWITCHES, "variables", *_COLOURS}
    if unknown := sorted(set(table) - known):
        raise ValueError(f"unknown key {unknown[0]!r}; {_meant(unknown[0], known)}")
    name = table.get("name")
    if not isinstance(name, str) or not name:
        raise ValueError("`name` is missing")
    if len(name) > LONGEST_NAME or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
        raise ValueError(
            f"`name` is at most {LONGEST_NAME} letters, digits, `-` and `_`: {name[:60]!r}"
        )
    for key, default in _SWITCHES.items():
        if not isinstance(table.get(key, default), bool):
            raise ValueError(f"`{key}` is true or false")
    if "primary" not in table:
        raise ValueError("`primary` is missing")
    ansi = table.get("ansi", False)
    colours: dict[str, Any] = {
        key: _colour(key, table[key], ansi) for key in _COLOURS if key in table
    }
    variables = table.get("variables", {})
    if not isinstance(variables, dict):
        raise ValueError("`variables` is a table")
    if unknown := sorted(set(variables) - set(VARIABLES)):
        raise ValueError(f"unknown variable {unknown[0]!r}; {_meant(unknown[0], VARIABLES)}")
    checked = {key: _colour(key, value, ansi) for key, value in variables.items()}
    checked = {**(_ANSI_VARIABLES if ansi else {}), **checked}
    dark = table.get("dark", True)
    return Theme(name=name, dark=dark, ansi=ansi, variables=checked, **colours)


def _meant(word: str, known: Iterable[str]) -> str:
    close = similar(word, sorted(known))
    return f"did you mean {close[0]!r}?" if close else f"possible are {', '.join(sorted(known))}"


def _colour(key: str, value: object, ansi: bool) -> str:
    if not isinstance(value, str):
        raise ValueError(f"`{key}` is a colour in quotes")
    if ansi and not value.startswith("ansi_"):
        raise ValueError(f"`{key}`: with `ansi = true` colours are ansi_red and the like")
    try:
        Color.parse(value)
    except ColorParseError:
        raise ValueError(f"`{key}`: {value[:60]!r} is not a colour") from None
    return value


LOOK_SECONDS = 2.0
"""Seconds between two checks of the folders: a user who edits a theme waits for the change."""


class ThemeChoice:
    """The themes of one app. `own`: the folder of the user's themes; `state`: of choices.

    The choice is stored, and the theme is loaded again when its file is saved; after a file became
    invalid, its previous theme stays. `note` keeps a message that was shown.
    """

    def __init__(
        self,
        app: App[Any],
        own: Path | None,
        state: Path | None,
        how: Manner,
        note: Callable[[str], object],
    ) -> None:
        self._app = app
        self._note = note
        self._own = own
        self._kept = state / "theme" if state is not None else None
        self._how = how
        self._stamps = sources(own)
        self._loaded = load_themes(own)
        self.wrong = list(self._loaded.wrong)
        for theme in self._loaded.themes:
            app.register_theme(theme)

    @property
    def names(self) -> list[str]:
        """The names of rowtui's themes and of the user's."""
        return [theme.name for theme in self._loaded.themes]

    def begin(self, asked: str | None) -> str:
        """Return the first theme: requested, needed by the terminal, chosen before, or default."""
        if asked is not None and asked not in self._app.available_themes:
            self.wrong.append(self._unknown(asked))
            asked = None
        if self._how.colours == NO_COLOURS:
            return "terminal"
        return asked or self._how.theme or self._remembered() or DEFAULT_THEME

    def choose(self, name: str) -> bool:
        """Show this theme, and store the choice; False, with a message, if it cannot be used."""
        if name not in self._app.available_themes:
            self._say(self._unknown(name))
            return False
        if self._how.colours == NO_COLOURS:
            self._say("There are no colours here: NO_COLOR is set, or the terminal has none.")
            return False
        self._app.theme = name
        self._app.notify(f"Theme {name}", timeout=2)
        self._remember(name)
        return True

    def next(self) -> None:
        """Show the next theme."""
        names = self.names
        at = names.index(self._app.theme) if self._app.theme in names else -1
        self.choose(names[(at + 1) % len(names)])

    def look(self) -> None:
        """Load the files that were saved since the last check."""
        stamps = sources(self._own)
        if stamps == self._stamps:
            return
        self._stamps = stamps
        before, self._loaded = self._loaded, load_themes(self._own, self._loaded)
        for text in self._loaded.wrong:
            if text not in before.wrong:
                self._say(text)
        self._take(before)

    def _take(self, before: LoadedThemes) -> None:
        """Register new themes, and show the current theme in its new form."""
        app, shown = self._app, self._app.current_theme
        for theme in self._loaded.themes:
            app.register_theme(theme)
        for name in {theme.name for theme in before.themes} - set(self.names):
            if name == app.theme:
                app.theme = DEFAULT_THEME
                self._say(f"The theme {name} is gone; this is {DEFAULT_THEME}.")
            app.unregister_theme(name)
        if app.theme == shown.name and app.current_theme != shown:
            app._watch_theme(app.theme)  # The name is the same, the colours have changed.

    def _unknown(self, name: str) -> str:
        return f"there is no theme {visible(name)!r}; possible are {', '.join(self.names)}"

    def _say(self, text: str) -> None:
        self._app.notify(visible(text), severity="warning", timeout=8)
        self._note(text)

    def _remembered(self) -> str:
        try:
            name = self._kept.read_text("utf-8")[:100].strip() if self._kept else ""
        except (OSError, ValueError):
            return ""
        return name if name in self._app.available_themes else ""

    def _remember(self, name: str) -> None:
        if self._kept is None:
            return
        with contextlib.suppress(OSError):  # Without the file, the choice is lost.
            self._kept.parent.mkdir(parents=True, exist_ok=True)
            new = self._kept.with_name(f"theme.{os.getpid()}")
            new.write_text(f"{name}\n", "utf-8")
            new.replace(self._kept)
