"""Find the positions of keys and array elements in a TOML text.

tomli gives values without positions. If there is a problem to report, this small scanner reads the
text, which is known to be valid TOML, and records the offset of every key, table header and array
element. A file without problems is not scanned.
"""

from __future__ import annotations

import re

from rowtui.core.base.lazy import pattern

KeyPath = tuple[str | int, ...]

_BLANK = pattern(r"[ \t]*")
_SPACE = pattern(r"(?:[ \t\r\n]+|#[^\n]*)*")
_BARE_KEY = pattern(r"[A-Za-z0-9_-]+")
_STRING = pattern(
    r'"""(?:[^\\]|\\.)*?"{3,5}'  # up to two quotes may belong to the text
    r"|'''.*?'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_SCALAR = pattern(r"[^,\]}\n#]*")


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Return line and column, from 1, of an offset in characters."""
    start = text.rfind("\n", 0, offset) + 1
    return text.count("\n", 0, offset) + 1, offset - start + 1


def offsets(text: str) -> dict[KeyPath, int]:
    """Return the offset in characters of every key path of valid TOML.

    For invalid TOML, the result has the key paths before the first error.
    """
    scanner = Scanner(text)
    try:
        scanner.document()
    except (NotTomlError, RecursionError):
        pass
    return scanner.known


class NotTomlError(Exception):
    """The text is not what the scanner expects."""


class Scanner:
    """Reads a valid text; `known` has the offsets. Raises: NotTomlError."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.known: dict[KeyPath, int] = {}
        self.elements: dict[KeyPath, int] = {}  # array of tables -> its number of elements so far

    def document(self) -> None:
        """Read the whole text."""
        table: KeyPath = ()
        while True:
            self.skip(_SPACE)
            if self.at >= len(self.text):
                return
            if self.text[self.at] == "[":
                table = self.header()
            else:
                self.pair(table)

    def header(self) -> KeyPath:
        """Read `[a.b]` or `[[a.b]]`, and return the path of the table that begins there."""
        start = self.at
        array = self.text.startswith("[[", start)
        self.at += 2 if array else 1
        keys = self.dotted_key()
        self.expect("]]" if array else "]")
        path: KeyPath = ()
        for number, (key, offset) in enumerate(keys):
            path = (*path, key)
            self.known.setdefault(path, offset)
            if array and number == len(keys) - 1:
                self.elements[path] = self.elements.get(path, 0) + 1
            if path in self.elements:
                path = (*path, self.elements[path] - 1)
        if array:
            self.known[path] = start
        return path

    def pair(self, table: KeyPath) -> None:
        """Read `a.b = value` in this table."""
        path = table
        for key, offset in self.dotted_key():
            path = (*path, key)
            self.known.setdefault(path, offset)
        self.expect("=")
        self.value(path)

    def dotted_key(self) -> list[tuple[str, int]]:
        """Read a key, and return its parts, each with its offset."""
        keys = []
        while True:
            self.skip(_BLANK)
            start = self.at
            if bare := _BARE_KEY.match(self.text, start):
                key = bare.group()
                self.at = bare.end()
            else:
                key = self.string()
            keys.append((key, start))
            self.skip(_BLANK)
            if not self.text.startswith(".", self.at):
                return keys
            self.at += 1

    def string(self) -> str:
        """Read a key in quotes."""
        match = _STRING.match(self.text, self.at)
        if match is None:
            raise NotTomlError
        self.at = match.end()
        literal = match.group()
        if literal[0] == "'":
            return literal[1:-1]
        return _unescaped(literal[1:-1]) if "\\" in literal else literal[1:-1]

    def value(self, path: KeyPath) -> None:
        """Read any value, with the blanks before it (and after a number)."""
        self.skip(_BLANK)
        first = self.text[self.at : self.at + 1]
        if first in {'"', "'"}:
            match = _STRING.match(self.text, self.at)
            if match is None:
                raise NotTomlError
            self.at = match.end()
        elif first == "[":
            self.array(path)
        elif first == "{":
            self.inline_table(path)
        else:
            self.skip(_SCALAR)

    def array(self, path: KeyPath) -> None:
        """Read `[...]`."""
        self.at += 1
        index = 0
        while True:
            self.skip(_SPACE)
            if self.text.startswith("]", self.at):
                self.at += 1
                return
            element = (*path, index)
            self.known[element] = self.at
            self.value(element)
            index += 1
            self.separator("]")

    def inline_table(self, path: KeyPath) -> None:
        """Read `{...}`."""
        self.at += 1
        while True:
            self.skip(_SPACE)
            if self.text.startswith("}", self.at):
                self.at += 1
                return
            self.pair(path)
            self.separator("}")

    def separator(self, end: str) -> None:
        """Read the separator after an element."""
        self.skip(_SPACE)
        if self.text.startswith(",", self.at):
            self.at += 1
        elif not self.text.startswith(end, self.at):
            raise NotTomlError

    def expect(self, mark: str) -> None:
        """Move behind this mark, which must be next."""
        self.skip(_BLANK)
        if not self.text.startswith(mark, self.at):
            raise NotTomlError
        self.at += len(mark)

    def skip(self, pattern: re.Pattern[str]) -> None:
        """Move behind the text that matches here."""
        match = pattern.match(self.text, self.at)
        if match is not None:
            self.at = match.end()


_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b"}
_ESCAPE = pattern(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|x([0-9A-Fa-f]{2})|(.))", re.DOTALL)


def _unescaped(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        digits = match[1] or match[2] or match[3]
        return chr(int(digits, 16)) if digits else _ESCAPES.get(match[4], match[4])

    return _ESCAPE.sub(one, text)
