"""Reading a line that was typed after `:`, and completing it. Pure: no terminal, no app.

Takes the text and what can be offered now; gives what was asked for, or a sentence on why not with
what was probably meant; and for completion the candidates, the likeliest first.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from rowtui.core.text import visible
from rowtui.tui.actions import BY_ID, COMMANDS, TITLES, commands_here
from rowtui.tui.command import LISTED, Command
from rowtui.tui.line_commands import LINE_COMMANDS, LineCommand
from rowtui.tui.session import Session

One = TypeVar("One")

MOST_CANDIDATES = 6
"""Lines of the list above the command line."""

_NEAR = 0.55
"""How alike two words must be for one to be offered instead of the other (difflib's ratio)."""

Values = Callable[[str], Sequence[str]]
"""The words that complete an argument, by what it is: "action", "cluster", ..."""


class Offer(NamedTuple):
    """One command as it can be typed. `command` or `line` says what it is.

    `reason`: why it cannot be used now, "" if it can. `many`: also listed before anything is typed.
    """

    name: str
    about: str
    reason: str = ""
    command: Command | None = None
    line: LineCommand | None = None
    many: bool = False

    @property
    def usage(self) -> str:
        """The name with what may follow."""
        return self.line.usage if self.line else self.name

    @property
    def values(self) -> str:
        """What its argument is, "" if it takes none."""
        return self.line.values if self.line else ""


class Candidate(NamedTuple):
    """One way to go on. `text`: the whole line with it; `shown` and `about`: for the list."""

    text: str
    shown: str
    about: str = ""
    reason: str = ""


class Asked(NamedTuple):
    """What a line asks for."""

    offer: Offer
    argument: str = ""


class Refused(NamedTuple):
    """Why a line asks for nothing that can be done."""

    why: str


def offers(view: str, session: Session) -> tuple[Offer, ...]:
    """Everything that can be typed in a view, the commonest first."""
    found: dict[str, Offer] = {}
    for one in LINE_COMMANDS:
        reason = BY_ID[one.command].enabled(session) if one.command else ""
        for name in (one.name, *one.aliases):
            about = one.description
            found[name] = Offer(name, about, reason, line=one, many=name == one.name)
    for command in commands_here(view):
        name = command.label.rstrip("…").strip()
        found.setdefault(name, _of(command, name, view, session))
    for command in COMMANDS:
        found.setdefault(command.id, _of(command, command.id, view, session))
    return tuple(found.values())


def _of(command: Command, name: str, view: str, session: Session) -> Offer:
    reason = command.enabled(session)
    if command.scope in TITLES and command.scope != view:
        reason = f"it works in {TITLES[command.scope]}"
    elif command.scope == "rows" and view not in LISTED:
        reason = "there is no long list here"
    return Offer(name, command.description, reason, command=command)


def read(text: str, known: Sequence[Offer], values: Values) -> Asked | Refused | None:
    """What a line asks for; None for an empty one."""
    line = " ".join(text.strip().removeprefix(":").split())
    if not line:
        return None
    offer, argument = _split(line, known)
    if offer is None:
        return Refused(_unknown(line, known))
    if offer.reason:
        return Refused(f"{offer.name}: {offer.reason}")
    if argument and not (offer.line and offer.line.argument):
        return Refused(f"`:{offer.name}` takes nothing after it")
    if not argument and offer.line and offer.line.needs_argument:
        return Refused(f"`:{offer.usage}`: which?{_some(values(offer.values))}")
    if argument and offer.values != "file":
        possible = values(offer.values)
        meant = next((one for one in possible if one.casefold() == argument.casefold()), None)
        if meant is None:
            return Refused(_no_such(offer.values, argument, possible))
        argument = meant
    return Asked(offer, argument)


def complete(text: str, known: Sequence[Offer], values: Values) -> tuple[Candidate, ...]:
    """How a line may go on, at most `MOST_CANDIDATES` of them."""
    line = text.lstrip().removeprefix(":").lstrip()
    offer, argument = _split(line, known)
    if offer is not None and line[len(offer.name) :].startswith(" "):
        if offer.values == "file":
            return _paths(offer.name, argument)
        fitting = _matching(argument, values(offer.values), lambda one: one)
        return tuple(Candidate(f"{offer.name} {one}", one) for one in fitting[:MOST_CANDIDATES])
    usual = [one for one in known if one.many] if not line else known
    found = _matching(line, usual, lambda one: one.name)
    found.sort(key=lambda one: bool(one.reason))  # what can be done now goes first
    return tuple(
        Candidate(_begun(one), one.usage, one.about, one.reason) for one in found[:MOST_CANDIDATES]
    )


def common_start(text: str, candidates: Sequence[Candidate]) -> str:
    """What all candidates that go on with the text begin with, if it is more; else the text."""
    typed = text.lstrip().removeprefix(":").lstrip()
    longer = [one.text for one in candidates if one.text.startswith(typed)]
    # Of texts in order, all begin with what the first and the last have in common.
    first, last = min(longer, default=""), max(longer, default="")
    same = 0
    while same < min(len(first), len(last)) and first[same] == last[same]:
        same += 1
    return first[:same] if same > len(typed) else text


def _begun(offer: Offer) -> str:
    return f"{offer.name} " if offer.line and offer.line.argument else offer.name


def _split(line: str, known: Sequence[Offer]) -> tuple[Offer | None, str]:
    """The command with the longest name that the line begins with, and the rest."""
    folded = line.casefold()
    best: Offer | None = None
    for one in known:
        name = one.name.casefold()
        begins = folded == name or folded.startswith(name + " ")
        if begins and (best is None or len(one.name) > len(best.name)):
            best = one
    return (None, "") if best is None else (best, line[len(best.name) :].strip())


def _matching(typed: str, possible: Sequence[One], name_of: Callable[[One], str]) -> list[One]:
    """Those that begin with what is typed, then those that have it inside."""
    folded = typed.casefold()
    begin = [one for one in possible if name_of(one).casefold().startswith(folded)]
    inside = [one for one in possible if folded in name_of(one).casefold() and one not in begin]
    return begin + inside


def _unknown(line: str, known: Sequence[Offer]) -> str:
    word = line.split(maxsplit=1)[0]
    # Who types a point means an id.
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


def _paths(name: str, typed: str) -> tuple[Candidate, ...]:
    """Files and folders that the typed path may become."""
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
        Candidate(f"{name} {before}{one}", f"{before}{one}") for one in found[:MOST_CANDIDATES]
    )
