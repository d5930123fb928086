"""The plainest command lines of `show status` and `show directories`, parsed without argparse.

Making a parser takes longer than such a command does. Words that are not spelled out in full, and
every possible error, are left to the grammar in `parser.py`; both give the same values. A plain
`rowtui show status` is answered with its stored text, if nothing has changed since.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Final

# The modules that make the table's text, relative to this folder: a stored text is valid only for
# their current version.
RENDERING = (
    "show/status.py",
    "output/table.py",
    "output/output.py",
    "../core/base/text.py",
)
# Options without effect here: without submitted jobs no cluster is polled.
HARMLESS = frozenset({"--no-progress", "--clear-progress"})
# Variables that change output or logging; the complete program handles them.
SETTINGS = ("ROW_COLOR", "ROWTUI_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "NO_COLOR")


def quick_answer(arguments: list[str]) -> int | None:
    """Print the stored answer and return the exit code, or None if the case is not that simple."""
    if [word for word in arguments if word not in HARMLESS] != ["show", "status"]:
        return None
    if len(set(arguments)) < len(arguments) or any(name in os.environ for name in SETTINGS):
        return None
    if "" in (os.environ.get("ROW_CLUSTER"), os.environ.get("ROWTUI_CLUSTER")):
        return None  # this option is refused
    from rowtui.core.project.summary import read_text

    coloured = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    text = read_text(os.getcwd(), text_key(coloured=coloured))
    if text is None:
        return None
    try:
        sys.stdout.write(text)
    except UnicodeEncodeError:
        return None
    sys.stdout.flush()
    return 0


def text_key(*, coloured: bool) -> str:
    """Return the key of a stored text, from its format and the version of the code."""
    from rowtui.core.project.summary import identity

    folder = os.path.dirname(__file__)
    versions = [identity(os.path.join(folder, name)) for name in RENDERING]
    return f"status{' in colour' if coloured else ''} {versions}"


_STATUSES: Final = ("completed", "submitted", "eligible", "waiting")
_COMMON: Final = ("no_progress", "clear_progress")  # absent unless given
# Options without a value; and the defaults of the other options.
_FLAGS: Final = {
    "status": (*_STATUSES, "all", "no_header", "json"),
    "directories": (
        *_STATUSES, "failed", "not_reached", "cancelled", "no_header", "no_separate_groups",
        "short", "json",
    ),
}  # fmt: skip
_OTHERS: Final[dict[str, dict[str, Any]]] = {
    "status": {"action": "*", "watch": None},
    "directories": {"action": None, "n_groups": None},
}


class PlainWords:
    """The values that `argparse` would give for the same words."""

    command: str

    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)


def plain_words(words: list[str]) -> PlainWords | None:
    """Return the values of a command line, or None if it is not one of the plainest."""
    common = {f"--{name.replace('_', '-')}": name for name in _COMMON}
    verb = 0  # position of the verb, after common options
    while verb < len(words) and words[verb] in common:
        verb += 1
    what = words[verb + 1] if len(words) > verb + 1 else ""
    if words[verb : verb + 1] != ["show"] or what not in _FLAGS or len({*words[:verb]}) < verb:
        return None
    values: dict[str, Any] = dict.fromkeys(_FLAGS[what], False)
    values |= {"command": f"show.{what}", "directories": [], **_OTHERS[what]}
    values |= {common[word]: True for word in words[:verb]}
    flags = common | {f"--{name.replace('_', '-')}": name for name in _FLAGS[what]}
    pointers: list[str] = []
    given: dict[str, Any] = {}  # options with a value, which are given once
    named_until = 0  # position after the last directory: directories must be adjacent
    rest = iter(range(verb + 2, len(words)))
    for at in rest:
        word = words[at]
        if word in flags:
            if values.get(flags[word]):
                return None
            values[flags[word]] = True
            continue
        if not word.startswith("-"):
            if not word or named_until not in (0, at - 1):
                return None
            values["directories"].append(word)
            named_until = at
            continue
        argument = words[next(rest)] if at + 1 < len(words) else ""
        if not argument or argument.startswith("-"):
            return None
        if word in ("-a", "--action"):
            single: dict[str, Any] = {"action": argument}
        elif what == "directories" and word == "--value":
            pointers.append(argument)
            continue
        elif what == "directories" and word in ("-n", "--n-groups") and _is_number(argument):
            single = {"n_groups": int(argument)}
        else:
            return None
        if given.keys() & single.keys():
            return None
        given |= single
    if what == "directories":
        values["value"] = pointers
    return PlainWords(values | given)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10
