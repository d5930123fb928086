"""Find where the tables, keys and values of a TOML text begin and end, for editing.

The input is valid TOML, with any line ends; the output is offsets in characters. The module is
built on the scanner that finds the places of problems.
"""

from __future__ import annotations

from typing import NamedTuple

from rowtui.core.workflow.positions import KeyPath, Scanner


class Header(NamedTuple):
    """`[a.b]` or `[[a.b]]`. `end`: the offset behind the last bracket."""

    path: KeyPath
    start: int
    end: int


class Pair(NamedTuple):
    """`key = value`. `table`: the path of the header or inline table that contains the pair.

    `inline`: whether the pair is in an inline table. `start`: the offset of the key; the value is
    at `value`..`end`.
    """

    table: KeyPath
    path: KeyPath
    start: int
    value: int
    end: int
    inline: bool


class Places(NamedTuple):
    """All headers and pairs, in the order of the text (a pair comes after the pairs in its value).

    `braces`: for each inline table, the offset behind its opening brace.
    """

    headers: tuple[Header, ...]
    pairs: tuple[Pair, ...]
    braces: dict[KeyPath, int]

    def pair(self, path: KeyPath) -> Pair | None:
        """Return the pair that sets exactly this path, or None."""
        return next((pair for pair in self.pairs if pair.path == path), None)

    def header(self, path: KeyPath) -> Header | None:
        """Return the header that begins exactly this table, or None."""
        return next((header for header in self.headers if header.path == path), None)


def places(text: str) -> Places:
    """Return the places in a text. Raises: NotTomlError, RecursionError."""
    reader = _Reader(text)
    reader.document()
    return Places(tuple(reader.headers), tuple(reader.pairs), reader.braces)


class _Reader(Scanner):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.headers: list[Header] = []
        self.pairs: list[Pair] = []
        self.braces: dict[KeyPath, int] = {}
        self._depth = 0
        self._last = (0, 0)  # the last value

    def header(self) -> KeyPath:
        start = self.at
        path = super().header()
        self.headers.append(Header(path, start, self.at))
        return path

    def pair(self, table: KeyPath) -> KeyPath:
        start = self.at
        path = super().pair(table)
        value, end = self._last
        self.pairs.append(Pair(table, path, start, value, end, self._depth > 0))
        return path

    def value(self, path: KeyPath) -> None:
        while self.text[self.at] in " \t":
            self.at += 1
        start = self.at
        super().value(path)
        self._last = (start, start + len(self.text[start : self.at].rstrip()))

    def inline_table(self, path: KeyPath) -> None:
        self.braces[path] = self.at + 1
        self._depth += 1
        super().inline_table(path)
        self._depth -= 1
