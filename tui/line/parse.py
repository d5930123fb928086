"""Parse a line that was typed after `:`, and complete it. Pure functions: no terminal, no app.

The input is the text and the commands that can be offered now. The result is the command that the
line names, or a sentence with the reason for a refusal and the probable intention. Completion
returns candidates, the likeliest first.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from rowtui.core.base.text import visible
from rowtui.tui.commands.command import LISTED, NO_KEY, TITLES, Command
from rowtui.tui.commands.registry import BY_ID, COMMANDS, commands_here
from rowtui.tui.line.commands import FREE, LINE_COMMANDS, WORDS, LineCommand
from rowtui.tui.shell.session import Session

One = TypeVar("One")

MOST_CANDIDATES = 6
"""The number of lines in the list above the command line."""

_NEAR = 0.55
"""Similarity (difflib's ratio) from which one word is suggested instead of another."""

Values = Callable[[str], Sequence[str]]
"""Function from the kind of an argument ("action", "cluster", ...) to the words that
complete it.
"""


class CommandOffer(NamedTuple):
    """One command that can be typed. Either `command` or `line` is set.

    `reason` is why the command cannot be used now, "" if it can. `many`: the command is also listed
    before the user types anything.
    """

    name: str
    about: str
    reason: str = ""
    command: Command | None = None
    line: LineCommand | None = None
    many: bool = False

    @property
    def usage(self) -> str:
        """The name and the arguments that may follow."""
        return self.line.usage if self.line else self.name

    @property
    def values(self) -> str:
        """The kind of its argument, "" if it takes none."""
        return self.line.values if self.line else ""


class Completion(NamedTuple):
    """One possible completion. `text` is the completed line; the list has `shown` and `about`."""

    text: str
    shown: str
    about: str = ""
    reason: str = ""


class ParsedLine(NamedTuple):
    """The command and the argument of a line."""

    offer: CommandOffer
    argument: str = ""


class RefusedLine(NamedTuple):
    """Why a line cannot be carried out."""

    why: str


def offers(view: str, session: Session) -> tuple[CommandOffer, ...]:
    """Return everything that can be typed in a view, the most common first."""
    found: dict[str, CommandOffer] = {}
    for one in LINE_COMMANDS:
        reason = BY_ID[one.command].enabled(session) if one.command else ""
        for name in (one.name, *one.aliases):
            about = one.description
            found[name] = CommandOffer(name, about, reason, line=one, many=name == one.name)
    for command in commands_here(view):
        name = command.label.rstrip("…").strip()
        found.setdefault(name, _of(command, name, view, session))
    for command in COMMANDS:
        if command.keys != NO_KEY:  # A command without a key is typed by its name.
            found.setdefault(command.id, _of(command, command.id, view, session))
    return tuple(found.values())


def _of(command: Command, name: str, view: str, session: Session) -> CommandOffer:
    reason = command.enabled(session)
    if command.scope in TITLES and command.scope != view:
        reason = f"it works in {TITLES[command.scope]}"
    elif command.scope == "rows" and view not in LISTED:
        reason = "there is no long list here"
    return CommandOffer(name, command.description, reason, command=command)


def read(
    text: str, known: Sequence[CommandOffer], values: Values
) -> ParsedLine | RefusedLine | None:
    """Parse a line: its command, or why it is refused; None for an empty line."""
    line = " ".join(text.strip().removeprefix(":").split())
    if not line:
        return None
    offer, argument = _split(line, known)
    if offer is None:
        return RefusedLine(_unknown(line, known))
    if offer.reason:
        return RefusedLine(f"{offer.name}: {offer.reason}")
    if argument and not (offer.line and offer.line.argument):
        return RefusedLine(f"`:{offer.name}` takes nothing after it")
    if not argument and offer.line and offer.line.needs_argument:
        return RefusedLine(f"`:{offer.usage}`: which?{_some(values(offer.values))}")
    if argument and offer.values not in ("file", FREE, WORDS):
        possible = values(offer.values)
        meant = next((one for one in possible if one.casefold() == argument.casefold()), None)
        if meant is None:
            return RefusedLine(_no_such(offer.values, argument, possible))
        argument = meant
    return ParsedLine(offer, argument)


def complete(text: str, known: Sequence[CommandOffer], values: Values) -> tuple[Completion, ...]:
    """Return the completions of a line, at most `MOST_CANDIDATES`."""
    line = text.lstrip().removeprefix(":").lstrip()
    offer, argument = _split(line, known)
    if offer is not None and line[len(offer.name) :].startswith(" "):
        if offer.values == "file":
            return _paths(offer.name, argument)
        fitting = _matching(argument, values(offer.values), lambda one: one)
        return tuple(Completion(f"{offer.name} {one}", one) for one in fitting[:MOST_CANDIDATES])
    usual = [one for one in known if one.many] if not line else known
    found = _matching(line, usual, lambda one: one.name)
    found.sort(key=lambda one: bool(one.reason))  # Commands that can be used now come first.
    return tuple(
        Completion(_begun(one), one.usage, one.about, one.reason) for one in found[:MOST_CANDIDATES]
    )


def common_start(text: str, candidates: Sequence[Completion]) -> str:
    """Return the longest common start of all candidates that continue the text, or the text itself
    if the common start is not longer.
    """
    typed = text.lstrip().removeprefix(":").lstrip()
    longer = [one.text for one in candidates if one.text.startswith(typed)]
    # The common start of the first and the last text in sorted order is common to all texts.
    first, last = min(longer, default=""), max(longer, default="")
    same = 0
    while same < min(len(first), len(last)) and first[same] == last[same]:
        same += 1
    return first[:same] if same > len(typed) else text


def _begun(offer: CommandOffer) -> str:
    return f"{offer.name} " if offer.line and offer.line.argument else offer.name


def _split(line: str, known: Sequence[CommandOffer]) -> tuple[CommandOffer | None, str]:
    """Return the command with the longest name that begins the line, and the rest of the line."""
    folded = line.casefold()
    best: CommandOffer | None = None
    for one in known:
        name = one.name.casefold()
        begins = folded == name or folded.startswith(name + " ")
        if begins and (best is None or len(one.name) > len(best.name)):
            best = one
    return (None, "") if best is None else (best, line[len(best.name) :].strip())


def _matching(typed: str, possible: Sequence[One], name_of: Callable[[One], str]) -> list[One]:
    """Return the values that begin with the typed text, then the values that contain it."""
    folded = typed.casefold()
    begin = [one for one in possible if name_of(one).casefold().startswith(folded)]
    inside = [one for one in possible if folded in name_of(one).casefold() and one not in begin]
    return begin + inside


def _unknown(line: str, known: Sequence[CommandOffer]) -> str:
    word = line.split(maxsplit=1)[0]
    # A point in the typed text means that the user types an id.
    names = [one.name for one in known if "." in line or "." not in one.name]
    near = difflib.get_close_matches(line, names, 3, _NEAR)
    near = near or difflib.get_close_matches(word, names, 3, _NEAR)
    near = near or [name for name in names if name.startswith(word)][:3]
    return f"there is no command '{visible(line[:60])}'" + _meant(near)


def _no_such(what: str, argument: str, possible: Sequence[str]) -> str:
    near = difflib.get_close_matches(argument, possible, 3, _NEAR)
    near = near or [one for one in possible if argument.casefold() in one.casefold()][:3]
    noun = {"login": "cluster that waits for a login"}.get(what, what)
    tail = _meant(near) if near else _some(possible)
    return f"there is no {noun} '{visible(argument[:60])}'{tail}"


def _meant(near: Sequence[str]) -> str:
    return f"; did you mean {_or(near)}?" if near else ""


def _some(possible: Sequence[str]) -> str:
    shown = [visible(one) for one in possible[:MOST_CANDIDATES]]
    more = ", ..." if len(possible) > len(shown) else ""
    return f" ({', '.join(shown)}{more})" if shown else ""


def _or(words: Sequence[str]) -> str:
    shown = [f"'{visible(word)}'" for word in words]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def _paths(name: str, typed: str) -> tuple[Completion, ...]:
    """Return files and folders that begin with the typed path."""
    folder, _, start = typed.rpartition("/")
    try:
        with os.scandir(os.path.expanduser(folder + "/") if "/" in typed else ".") as entries:
            found = sorted(
                entry.name + ("/" if entry.is_dir() else "")
                for entry in entries
                if entry.name.startswith(start) and (start or not entry.name.startswith("."))
            )
    except (OSError, ValueError):
        return ()
    before = f"{folder}/" if "/" in typed else ""
    return tuple(
        Completion(f"{name} {before}{one}", f"{before}{one}") for one in found[:MOST_CANDIDATES]
    )
