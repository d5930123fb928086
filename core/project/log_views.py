"""What a screen sees of a log: some of its rows, and what is known of it. Values only."""

from __future__ import annotations

from typing import NamedTuple

ROW = 2048
"""Bytes of a row; a longer line goes on in the next one."""


class LogRow(NamedTuple):
    """One row. `offset`: where it begins in the file; `goes_on`: its line began in a row above."""

    offset: int
    text: str
    goes_on: bool = False


class LogState(NamedTuple):
    """What is known of a log. `size`: bytes; `first`: where the first known row begins.

    `generation` changes when rows have other numbers: another file, or rows before the first;
    `added`: how many rows the latest step back put before the others. `trouble`: for each of up to
    `BUCKETS` equal parts of what is known, how many lines look like errors. `error`: why it cannot
    be read, or that it is not there yet. `far`: it is read over a connection.
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
    """Rows `start`.. of that generation."""

    generation: int
    start: int
    rows: tuple[LogRow, ...]


class LogHit(NamedTuple):
    """Where something was found. `row` is None if it is nowhere; `wrapped`: past the last row."""

    generation: int
    row: int | None
    wrapped: bool = False
