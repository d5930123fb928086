"""Plain tables as Row prints them: one space between columns, header underlined in colour.

The last column is not padded if it is left aligned, so a line whose last cell is empty ends in the
separating space.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rowtui.cli.output.output import Output
from rowtui.core.base.text import visible


def spans(numbers: Sequence[int]) -> list[list[int]]:
    """Return `[[1, 3], [7, 7]]` for 1, 2, 3, 7."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found


def ranges(numbers: Sequence[int]) -> str:
    """Return `1-3, 7` for 1, 2, 3, 7."""
    return ", ".join(
        str(first) if first == last else f"{first}-{last}" for first, last in spans(numbers)
    )


class TextColumn(NamedTuple):
    """A column's header and the style of its cells.

    `right_header`: align the header as the cells.
    """

    header: str
    right: bool = False
    style: str = ""
    right_header: bool = True


class TableCell(NamedTuple):
    """A cell with its own style."""

    text: str
    style: str = ""


Row = Sequence[str | TableCell] | None  # None is an empty line between groups


def table_lines(
    columns: Sequence[TextColumn], rows: Sequence[Row], out: Output, *, header: bool = True
) -> list[str]:
    """Return the lines of a table. A row may omit its last cells."""
    shown: list[list[tuple[str, str]] | None] = []
    widths = [display_width(column.header) for column in columns]
    for row in rows:
        if row is None:
            shown.append(None)
            continue
        cells = []
        for index, cell in enumerate(row):
            text, style = cell if isinstance(cell, TableCell) else (cell, columns[index].style)
            text = visible(text)
            widths[index] = max(widths[index], display_width(text))
            cells.append((text, style))
        shown.append(cells)
    lines = []
    if header:
        titles = [(column.header, "underline") for column in columns]
        right = [column.right and column.right_header for column in columns]
        lines.append(_line(titles, right, widths, out))
    right = [column.right for column in columns]
    lines += ["" if cells is None else _line(cells, right, widths, out) for cells in shown]
    return lines


def _line(
    cells: Sequence[tuple[str, str]],
    right: Sequence[bool],
    widths: Sequence[int],
    out: Output,
) -> str:
    parts = []
    for index, (text, style) in enumerate(cells):
        padding = " " * (widths[index] - display_width(text))
        painted = out.style(text, style) if style else text
        if right[index]:
            parts.append(padding + painted)
        elif index == len(right) - 1:
            parts.append(painted)
        else:
            parts.append(painted + padding)
    return " ".join(parts)


def display_width(text: str) -> int:
    """Return the columns that a terminal needs for `text` (wide East Asian characters take two)."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(
        0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text
    )
