"""The user's own keys in `keys.toml`, and keys without a command.

`keys.toml` is validated entry by entry. The result is the keys of every command with other keys
than usual, and a sentence for each entry that could not be used. The user's keys have priority over
the usual ones; of two entries for one key, the first in the file is kept.

A user who types a word without an open field does not mean its letters as commands. Therefore,
after a key without a command, the characters that follow closely do nothing, until the typing
pauses.
"""

from __future__ import annotations

import importlib
import pkgutil
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import InvalidFileError, Problem
from rowtui.core.base.text import similar, visible
from rowtui.core.workflow.toml_file import open_toml
from rowtui.core.workflow.toml_keys import ANY_KEYS, Key, TableKeys
from rowtui.tui.commands.command import (
    DRAWN,
    KEY_NAMES,
    LISTED,
    NO_KEY,
    PARTS,
    TITLES,
    VIEWS,
    Command,
)
from rowtui.tui.commands.registry import BY_ID, COMMANDS, commands_here
from textual.binding import Binding
from textual.dom import DOMNode
from textual.keys import Keys, _character_to_key

if TYPE_CHECKING:
    from textual import events


_MODIFIERS = ("ctrl", "shift", "alt", "super", "meta", "hyper")
_NAMED = {key.value for key in Keys}
_NAMED |= {_character_to_key(chr(code)) for code in range(0x21, 0x7F)}

MERGED: Mapping[str, tuple[str, ...]] = {
    "rows.reverse": ("rows.sort",),
    "rows.mark-matching": (
        "groups.mark-all", "submit.toggle-all", "queue.mark-all", "network.mark-all",
    ),
    **{f"explain.change-{letter}": ("explain.change",) for letter in "abcd"},
    **{f"pack.{axis}": ("pack.picture",) for axis in ("time", "cores", "memory")},
    "pack.packer-before": ("pack.packer",),
    "pack.all-actions": ("pack.next-destination",),
    "queue.everybody": ("queue.others",),
    "log.trouble": ("log.next-match",),
    "log.previous-trouble": ("log.previous-match",),
    "network.new-run": ("network.start",),
    "clusters.connect": ("app.connect",),
}  # fmt: skip
"""Ids that were merged into others; their keys in `keys.toml` go to those."""

# Of the keys until November 2026. The table, and what reads it, can go in November 2027.
MOVED: Mapping[str, Mapping[str, str]] = {
    "status": {"x": "status.failed"},
    "groups": {
        "x": "groups.explain", "t": "groups.filter", "n": "groups.next-action",
        "N": "groups.previous-action", "A": "groups.mark-all",
    },
    "explain": {
        **dict.fromkeys("abcd", "explain.change"), "n": "explain.next-group",
        "N": "explain.previous-group", "m": "explain.measured", "t": "explain.filter",
        "w": "explain.lines", "J": "explain.json",
    },
    "pack": {
        "right_square_bracket": "pack.limits", "left_square_bracket": "pack.limits",
        **dict.fromkeys("tcm", "pack.picture"), "V": "pack.compare", "b": "pack.longer",
        "n": "pack.next-destination", "N": "pack.previous-destination",
        "a": "pack.next-destination",
    },
    "submit": {
        "enter": "submit.confirm", "d": "submit.diff", "n": "submit.next", "N": "submit.previous",
        "e": "submit.open", "D": "submit.export", "A": "submit.toggle-all",
    },
    "queue": {
        "l": "queue.open", "h": "queue.hold", "u": "queue.others", "n": "queue.cluster",
        "A": "queue.mark-all",
    },
    "log": {
        "F": "log.follow", "e": "log.next-match", "E": "log.previous-match", "w": "log.wrap",
    },
    "network": {
        "s": "network.start", "e": "network.step", "t": "network.filter", "b": "network.waits",
        "d": "network.redo", "m": "network.arrange", "a": "network.as-now", "n": "network.start",
        "A": "network.mark-all",
    },
    "past": {"d": "past.period", "a": "past.action"},
    "clusters": {"enter": "app.connect", "n": "clusters.nodes", "v": "clusters.jobs"},
    "rows": {"f": "rows.fields", "O": "rows.sort"},
}  # fmt: skip
"""By view, and "rows" for those with long lists: the command that each of these keys had."""

PAUSE = 1.0
"""Seconds without a character after which the next character is a key again."""


@dataclass(frozen=True)
class KeyMap:
    """The keys that differ from the usual ones, by id; the problems; and the file with the keys.

    `path` is None if there can be no file; `found`: whether the file exists.
    """

    keys: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    path: Path | None = None
    found: bool = False
    merged: tuple[str, ...] = ()  # Sentences about ids that were merged into others.

    @property
    def wrong(self) -> tuple[str, ...]:
        """The problems as sentences."""
        return tuple(f"keys.toml: {problem.sentence}" for problem in self.problems)


class Bound(NamedTuple):
    """One binding that the user may change: its usual keys, its scope, and its label."""

    keys: tuple[str, ...]
    scope: str
    label: str


def load_keymap(config: Path | None) -> KeyMap:
    """Read `keys.toml` in that folder."""
    path = config / "keys.toml" if config else None
    try:
        file = open_toml(path, ANY_KEYS) if path else None
    except InvalidFileError as error:
        return KeyMap(problems=error.problems, path=path, found=True)
    if file is None:
        return KeyMap(path=path)
    keys, wrong = checked_keymap(file.data)
    named = {".".join(at): at for at, _ in _flat(file.data)}
    for text, name in wrong.items():
        file.problem(named.get(name, ()), text)
    merged = [f"{name} is now {', '.join(MERGED[name])}" for name in named if name in MERGED]
    return KeyMap(keys, file.in_order, path, found=True, merged=tuple(merged))


_NO_GAP = {"not": {"pattern": r"(^|,)\s*(,|$)"}}


def keymap_keys() -> TableKeys:
    """Return the keys of `keys.toml`, as dotted names and as tables."""
    named: dict[str, Key] = {}
    tables: dict[str, dict[str, Key]] = {}
    labels = {name: one.label for name, one in bound().items()}
    for name, label in {**dict.fromkeys(MERGED, "the older name of a command"), **labels}.items():
        about = f"The keys, separated by commas, of: {label}."
        table, _, rest = name.partition(".")
        named[name] = tables.setdefault(table, {})[rest] = Key("string", about, words=_NO_GAP)
    for table, inner in tables.items():
        named[table] = Key("table", f"Keys of {table}.", keys=TableKeys(inner))
    return TableKeys(dict(sorted(named.items())))


def checked_keymap(wanted: Mapping[str, object]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the user's keys by id, with the commands that lost a key, and the problems.

    The problems are sentences, each with the id of the entry that it is about.
    """
    known = bound()
    wrong: dict[str, str] = {}
    own: dict[str, list[str]] = {}
    for path, keys in _flat(wanted):
        name = ".".join(path)
        if name not in known and name not in MERGED:
            wrong[f"there is no command '{visible(name)}'{_near(name, known)}"] = name
            continue
        if not isinstance(keys, str) or not all(key.strip() for key in keys.split(",")):
            wrong[f"{name}: keys are a text such as 'ctrl+s,s'"] = name
            continue
        good = []
        for key in (one.strip() for one in keys.split(",")):
            if why := why_no_key(key):
                wrong[f"{name}: {why}"] = name
            elif normal(key) not in good:
                good.append(normal(key))
        for one in MERGED.get(name, (name,)) if good else ():
            before = own.get(one, [] if one == name else known[one].keys)
            own[one] = [*before, *(key for key in good if key not in before)]
    has = {name: list(own.get(name, one.keys)) for name, one in known.items()}
    settled: list[str] = []
    for name in own:
        for key in list(has[name]):
            for other in (one for one in known if one != name and key in has[one]):
                if not _meet(known[name].scope, known[other].scope):
                    continue
                if key in known[name].keys and key in known[other].keys:
                    continue  # The view has this key in place of the other command.
                if other in own and other not in settled:
                    continue  # The other entry is handled in a later step.
                loser, keeper = (name, other) if other in own else (other, name)
                has[loser].remove(key)
                wrong[_lost(key, keeper, loser, bool(has[loser]))] = name
                if loser == name:
                    break
        settled.append(name)
    changed = {name for name, one in known.items() if has[name] != list(one.keys)}
    return {name: ",".join(has[name]) or NO_KEY for name in has if name in changed}, wrong


@cache
def bound() -> dict[str, Bound]:
    """Return every binding of rowtui with an id: those of the registry and of the pages."""
    found = {
        one.id: Bound(tuple(normal(key) for key in one.keys.split(",")), one.scope, one.label)
        for one in BY_ID.values()
    }
    for owner, binding in every_binding():
        if binding.id and binding.id not in found:
            keys = tuple(normal(key.strip()) for key in binding.key.split(","))
            found[binding.id] = Bound(keys, f"page {owner.__name__}", binding.description)
    return found


def every_binding() -> Iterator[tuple[type[DOMNode], Binding]]:
    """Yield each binding of each screen and widget of rowtui, with the class that has it."""
    for package in ("rowtui.tui.views", "rowtui.tui.line", "rowtui.tui.widgets"):
        folder = importlib.import_module(package).__path__
        for module in pkgutil.walk_packages(folder, f"{package}."):
            inside = importlib.import_module(module.name)
            for one in vars(inside).values():
                ours = getattr(one, "__module__", "") == inside.__name__
                if ours and isinstance(one, type) and issubclass(one, DOMNode):
                    yield from ((one, binding) for binding in _bindings(one))


def _bindings(owner: type[DOMNode]) -> Iterator[Binding]:
    for entry in owner.__dict__.get("BINDINGS", ()):
        yield entry if isinstance(entry, Binding) else Binding(*entry)


def why_no_key(key: str) -> str:
    """Return why the text is not a valid key, "" if the key is valid."""
    *modifiers, base = key.split("+") if len(key) > 1 else [key]
    if unknown := [one for one in modifiers if one not in _MODIFIERS]:
        return f"'{visible(key)}' is no key: '{visible(unknown[0])}' is no modifier such as ctrl"
    if len(base) == 1:
        return "" if base.isprintable() and base != " " else "a blank is called 'space'"
    if base in _NAMED or _is_character(base):
        return ""
    near = similar(base, sorted(_NAMED))
    found = f"; did you mean '{near[0]}'?" if near else ", such as 'ctrl+s', 'f5' or 'pagedown'"
    return f"'{visible(key)}' is no key{found}"


def normal(key: str) -> str:
    """Return the key with Textual's name, `question_mark` for `?`."""
    before, plus, base = key.rpartition("+") if len(key) > 1 else ("", "", key)
    if len(base) == 1 and not base.isalnum():
        base = _character_to_key(base)
    return f"{before}{plus}{base}"


def _is_character(name: str) -> bool:
    try:
        unicodedata.lookup(name.replace("_", " ").upper())
    except KeyError:
        return name in KEY_NAMES
    return True


def _flat(
    wanted: Mapping[str, object], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield paths of values, because `"a.b" = ` and `[a] b = ` mean the same to the user."""
    for name, value in wanted.items():
        if isinstance(value, Mapping):
            yield from _flat(value, (*above, name))
        else:
            yield (*above, name), value


def _meet(one: str, other: str) -> bool:
    """Whether commands of these scopes may receive the same key at the same time."""
    if one == other:
        return True
    if {one, other} == {"rows", "list"}:
        return True
    if "app" in (one, other):
        return not one.startswith("page ") and not other.startswith("page ")
    for part, view in ((one, other), (other, one)):
        if part == "rows" and view in TITLES:
            return view in LISTED
        if part in PARTS and view in TITLES:
            return view not in DRAWN and (part != "graph" or view == "network")
    return False


def _lost(key: str, keeper: str, loser: str, has_others: bool) -> str:
    shown = KEY_NAMES.get(key, key)
    left = "" if has_others else ", which has no key now"
    return f"{shown} is wanted twice: {keeper} keeps it, not {loser}{left}"


def _near(name: str, known: Mapping[str, Bound]) -> str:
    near = similar(name, known, ratio=0.75)
    near = near or [one for one in known if one.partition(".")[2] == name.rpartition(".")[2]][:1]
    return f"; did you mean '{near[0]}'?" if near else ""


class Stray:
    """The text that is typed without an open field."""

    def __init__(self) -> None:
        self.text = ""
        self._at = 0.0

    def begin(self, event: events.Key) -> None:
        """Start with a key without a command; a character may be the first of a text."""
        self.text = event.character or "" if event.is_printable else ""
        self._at = event.time

    def follow(self, event: events.Paste) -> None:
        """Start with a text that was pasted: a slow line may deliver its last characters late."""
        self.text = event.text or "…"
        self._at = event.time

    def goes_on(self, event: events.Key) -> bool:
        """Whether the key is one more character of that text."""
        if not (self.text and event.is_printable and event.time - self._at < PAUSE):
            self.text = ""
            return False
        self.text += event.character or ""
        self._at = event.time
        return True

    @property
    def answer(self) -> str:
        """The message about the text."""
        return f"'{visible(self.text[-20:])}' was typed where no field is open: it did nothing"


def unbound_words(key: str, view: str, own: Mapping[str, str]) -> str:
    """Return one line about a key that has no command in a view. `own` has the user's own keys.

    `view` "" is a page on top of a view; the page lists its keys itself.
    """
    name = KEY_NAMES.get(key, key)
    if not view:
        return f"{name} does nothing here:"
    if moved := _moved(key, view, own):
        return f"{name} is now {moved}"
    elsewhere: dict[str, list[str]] = {}  # by label: the views
    for one in COMMANDS:
        if _has(one, key, own) and one.scope in TITLES:
            number = VIEWS[one.scope][0] if one.scope in VIEWS else "C"
            elsewhere.setdefault(one.label, []).append(f"{number} {TITLES[one.scope]}")
    if elsewhere:
        meant = "; ".join(
            f"{label} is in {' and '.join([*filter(None, [', '.join(views[:-1])]), views[-1]])}"
            for label, views in elsewhere.items()
        )
        return f"{name} does nothing here: {meant}"
    for one in commands_here(view):
        if len(key) == 1 and _has(one, key.swapcase(), own):
            return f"{name} does nothing here: {key.swapcase()} is {one.label}"
    rows = [one for one in COMMANDS if _has(one, key, own) and one.scope == "rows"]
    if rows:
        return f"{name} does nothing here: it is {rows[0].label} in lists of other views"
    return f"{name} does nothing here; ? lists the keys"


def moved_words(key: str, view: str, own: Mapping[str, str]) -> str:
    """Return one line about a key that had another command in a view, "" for any other key."""
    moved = _moved(key, view, own)
    here = next((one.label for one in commands_here(view) if _has(one, key, own)), "")
    return f"{KEY_NAMES.get(key, key)} is {here} here; what it did is now {moved}" if moved else ""


def _moved(key: str, view: str, own: Mapping[str, str]) -> str:
    """Return the present key and label of the command that had a key, `w: why`; "" for none."""
    old = MOVED.get(view, {}).get(key) or (MOVED["rows"].get(key) if view in LISTED else None)
    if old is None or any(key in keys.split(",") for keys in own.values()):
        return ""
    command = BY_ID[old]
    shown = command.keys_of(own)
    return f"{shown}: {command.label}" if shown else f":{command.label}"


def _has(command: Command, key: str, own: Mapping[str, str]) -> bool:
    return key in own.get(command.id, command.keys).split(",")
