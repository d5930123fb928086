"""Themes as validated TOML files, and the theme on the screen, reloaded when its file changes.

An invalid file is left out, and one sentence states the reason. Every variable that the screens use
has a default for dark, light and 16-colour themes, so a theme may be short.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import rowtui.themes
from rowtui.core.base.errors import InvalidFileError, Problem
from rowtui.core.base.text import visible
from rowtui.core.workflow.toml_file import TomlFile, TomlTable, open_toml
from rowtui.core.workflow.toml_keys import Key, TableKeys
from rowtui.tui.shell.terminal import NO_COLOURS
from textual.color import Color, ColorParseError
from textual.theme import Theme

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from rowtui.tui.shell.terminal import Manner
    from textual.app import App


DEFAULT_THEME = "rowtui-dark"
SHIPPED = Path(rowtui.themes.__path__[0])
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
_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}"
_COLOUR = Key("string", "A colour, such as #7bd88f or ansi_green.")
THEME_KEYS = TableKeys(
    {
        "name": Key("string", "The name of the theme.", "", form=_NAME),
        "dark": Key("boolean", "Whether the background is dark."),
        "ansi": Key("boolean", "Whether the colours are the terminal's own 16."),
        **dict.fromkeys(_COLOURS, _COLOUR),
        "primary": _COLOUR._replace(required=""),
        "variables": Key(
            "table", "Colours of single things.", keys=TableKeys(dict.fromkeys(VARIABLES, _COLOUR))
        ),
    },
    subject="the theme",
)

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
    found = _in_folder(SHIPPED)
    if not found:  # rowtui runs from a zip
        names = [file.name for file in _in_zip().iterdir() if file.name.endswith(".toml")]
        found = [ThemeFile(str(SHIPPED / name), ()) for name in sorted(names)]
    return (*found, *(_in_folder(own) if own is not None else ()))


def _in_zip() -> Traversable:
    from importlib import resources

    return resources.files(rowtui.themes)


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
            found[path] = load_theme(Path(path))
        except InvalidFileError as error:
            wrong.append(f"theme {os.path.basename(path)}: {error.problems[0].sentence}")
            if before is not None and path in before.by_file:
                found[path] = before.by_file[path]
    return LoadedThemes(found, tuple(wrong))


def load_theme(path: Path) -> Theme:
    """Return a validated theme. Raises: InvalidFileError with all problems."""
    if path.parent == SHIPPED and not path.is_file():  # rowtui runs from a zip
        data = (_in_zip() / path.name).read_bytes()
        return parse_theme(TomlFile(data, path.name, THEME_KEYS))
    file = open_toml(path, THEME_KEYS, MOST_BYTES)
    if file is None:
        shown = visible(str(path))
        raise InvalidFileError((Problem(shown, 0, 0, "there is no such file"),))
    return parse_theme(file)


def parse_theme(file: TomlFile) -> Theme:
    """Return the theme of a file with `THEME_KEYS`. Raises: InvalidFileError with all problems."""
    table = file.top
    name, ansi = table.string("name"), table.boolean("ansi") or False
    if name is not None and not re.fullmatch(_NAME, name):
        message = "`name` is at most 40 letters, digits, `-` and `_`"
        table.problem("name", f"{message}: '{visible(name[:60])}'")
    colours = {key: _colour(table, key, ansi) for key in _COLOURS if key in table}
    inner = table.table("variables")
    variables = {key: _colour(inner, key, ansi) for key in VARIABLES if inner and key in inner}
    file.raise_if_errors()
    dark = table.boolean("dark")
    return Theme(
        name=name or "",
        dark=dark is None or dark,
        ansi=ansi,
        variables={**(_ANSI_VARIABLES if ansi else {}), **variables},
        **colours,
    )


def _colour(table: TomlTable, key: str, ansi: bool) -> Any:
    value = table.string(key)
    if value is not None and ansi and not value.startswith("ansi_"):
        table.problem(key, f"`{key}`: with `ansi = true` colours are ansi_red and the like")
    elif value is not None:
        try:
            Color.parse(value)
        except ColorParseError:
            table.problem(key, f"`{key}`: '{visible(value[:60])}' is not a colour")
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
