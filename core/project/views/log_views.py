"""Values that a screen shows of a log: some of its rows, and its known state."""

from __future__ import annotations

from typing import NamedTuple

ROW = 2048
"""Bytes of a row; a longer line continues in the next row."""


class LogRow(NamedTuple):
    """One row. `offset`: its start in the file; `goes_on`: the line began in a row above."""

    offset: int
    text: str
    goes_on: bool = False


class LogState(NamedTuple):
    """The known state of a log. `size`: bytes; `first`: start of the first known row.

    `generation` changes when rows get other numbers, because of another file or of rows before the
    first. `added`: how many rows the latest step backwards put before the others. `trouble`: for
    each of up to `BUCKETS` equal parts of the known part, the number of lines that look like
    errors. `error`: why the log cannot be read, or that it does not exist yet. `far`: the log is
    read over a connection.
    """

    path: str
    size: int = 0
    rows: int = 0
    first: int = 0
    generation: int = 0
    added: int = 0
    trouble: tuple[int, ...] = ()
    error: str = ""
    far: bool = False


class LogPage(NamedTuple):
    """The rows from `start` on, of this generation."""

    generation: int
    start: int
    rows: tuple[LogRow, ...]


class LogHit(NamedTuple):
    """The result of a search. `row`: None without a match; `wrapped`: past the last row."""

    generation: int
    row: int | None
    wrapped: bool = False
