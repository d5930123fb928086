"""Parse the text of a .netrc file into its entries, one for each machine and login.

Python's `netrc` is not used, because it keeps only the last of several logins at one machine and
quotes text that it cannot parse, which may be a part of a password. A fault is reported by its line
number only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from rowtui.core.secrets.model import Secret

# A word is in double quotes, where \ makes the next character literal, or ends at white space.
_WORD = re.compile(r'"((?:[^"\\]|\\.)*)"|((?:\\.|\S)+)', re.DOTALL)
_MACRO_END = re.compile(r"\n[ \t\r]*\n")


class Entry(NamedTuple):
    """One entry. `machine` is None for `default`; `user` is None if the entry is for any login."""

    machine: str | None
    user: str | None
    secret: Secret | None


class NetrcFault(Exception):
    """The file cannot be parsed from this line on. `problem` never quotes the file."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")


class _Words:
    """The words of the file, one after the other, with the line of the last one."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._begin = 0

    @property
    def line(self) -> int:
        return self._text.count("\n", 0, self._begin) + 1

    def next(self, *, keyword: bool) -> str | None:
        """Return the next word, or None at the end. Comments may stand before a keyword."""
        while True:
            self._begin = self._at = self._at + _blanks(self._text, self._at)
            if self._at >= len(self._text):
                return None
            if not (keyword and self._text[self._at] == "#"):
                break
            end = self._text.find("\n", self._at)
            self._at = len(self._text) if end < 0 else end
        found = _WORD.match(self._text, self._at)
        assert found is not None  # the position is not at white space, so at least \S matches
        self._at = found.end()
        quoted, plain = found.groups()
        return re.sub(r"\\(.)", r"\1", plain if quoted is None else quoted, flags=re.DOTALL)

    def skip_macro(self) -> None:
        """Move behind the empty line that ends a macro."""
        end = _MACRO_END.search(self._text, self._at)
        self._at = end.end() if end else len(self._text)


def _blanks(text: str, at: int) -> int:
    begin = at
    while at < len(text) and text[at].isspace():
        at += 1
    return at - begin


def entries_of(text: str) -> Iterator[Entry]:
    """Return the entries in the order of the file. Raises: NetrcFault."""
    words = _Words(text)
    keyword = words.next(keyword=True)
    while keyword is not None:
        if keyword == "macdef":
            words.skip_macro()
            keyword = words.next(keyword=True)
            continue
        if keyword not in {"machine", "default"}:
            raise NetrcFault(words.line, "this should be machine, default or macdef")
        machine = _value(words) if keyword == "machine" else None
        user: str | None = None
        secret: Secret | None = None
        while (keyword := words.next(keyword=True)) in {"login", "user", "account", "password"}:
            if keyword == "password":
                secret = Secret(_value(words))
            elif keyword == "account":
                _value(words)
            else:
                user = _value(words)
        yield Entry(machine, user, secret)


def _value(words: _Words) -> str:
    line = words.line
    value = words.next(keyword=False)
    if value is None:
        raise NetrcFault(line, "something should follow the last word")
    return value
