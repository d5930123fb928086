"""Output of the command line: results to stdout, messages to stderr, colours, and plain tables.

Messages have Row's format, `[WARN rowtui] text`, with continuation lines indented.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import sys
from collections.abc import Iterable, Sequence
from io import TextIOWrapper
from typing import TYPE_CHECKING, NamedTuple, TextIO

from rowtui.core.base.text import visible

if TYPE_CHECKING:
    from rowtui.core.base.errors import Problem


# Plain tables as Row prints them: one space between columns, header underlined in colour.
#
# The last column is not padded if it is left aligned, so a line whose last cell is empty ends in
# the separating space.


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


ERROR, WARN, INFO, DEBUG, TRACE = range(1, 6)
_NAMES = {ERROR: "ERROR", WARN: "WARN", INFO: "INFO", DEBUG: "DEBUG", TRACE: "TRACE"}

_CODES = {
    "bold": "1",
    "dim": "2",
    "italic": "3",
    "underline": "4",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "cyan": "36",
}
_LEVEL_STYLES = {ERROR: "red bold", WARN: "yellow", INFO: "green", DEBUG: "blue", TRACE: "cyan"}


def wants_color(when: str, stream: TextIO) -> bool:
    """Whether to colour, for `--color auto|always|never`."""
    if when != "auto":
        return when == "always"
    if os.environ.get("CLICOLOR_FORCE", "0") != "0":
        return True
    if os.environ.get("NO_COLOR") or os.environ.get("CLICOLOR") == "0":
        return False
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def let_any_name_through() -> None:
    """Configure stdout and stderr so that names that are no text in this locale can be printed.

    A program that reads the output gets the exact bytes. A terminal gets an escape in their place,
    and ASCII for rowtui's own glyphs.
    """
    codecs.register_error("rowtui", _bytes_of_names)
    codecs.register_error("rowtui-terminal", _plain_glyphs)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="rowtui-terminal" if sys.stdout.isatty() else "rowtui")
    if isinstance(sys.stderr, TextIOWrapper):
        sys.stderr.reconfigure(errors="rowtui-terminal")


def _bytes_of_names(error: UnicodeError) -> tuple[bytes, int]:
    """Encode a name's bytes that are no text as these bytes, and escape other characters."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    out = [
        char.encode(
            "ascii", "surrogateescape" if "\udc80" <= char <= "\udcff" else "backslashreplace"
        )
        for char in text
    ]
    return b"".join(out), error.end


def _plain_glyphs(error: UnicodeError) -> tuple[str, int]:
    """Encode characters that the terminal lacks: rowtui's marks and bars in ASCII, or escaped."""
    from rowtui.tui.textual_patches.glyphs import of_ours

    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    shown = (
        of_ours(char) or char.encode("ascii", "backslashreplace").decode("ascii") for char in text
    )
    return "".join(shown), error.end


class Output:
    """The two streams of one command. `level`: messages above it are dropped (WARN by default)."""

    def __init__(
        self, *, level: int = WARN, color: str = "auto", progress: bool = True, keep: bool = True
    ) -> None:
        self.level = level
        self.color = wants_color(color, sys.stdout)
        self.message_color = wants_color(color, sys.stderr)
        self.progress = progress and sys.stderr.isatty()
        self.keep_progress = keep
        self.said = False  # whether any warning or error was due
        self.printed = False  # whether a document was printed

    def style(self, text: str, style: str) -> str:
        """Return `text` in a style such as "bold yellow", or unchanged without colours."""
        return paint(text, style) if self.color else text

    def print(self, text: str = "") -> None:
        """Print a line of the result."""
        sys.stdout.write(text + "\n")

    def json(self, result: object, indent: int | None = 2) -> None:
        """Print a record or mapping as JSON, with the version of its form."""
        from rowtui.core.base.document import VERSION, document  # text needs neither

        self.printed = True
        self.print(json.dumps({"version": VERSION, **document(result)}, indent=indent))

    def write(self, text: str) -> None:
        """Write a part of the result unchanged."""
        sys.stdout.write(text)

    def lines(self, lines: Iterable[str]) -> None:
        """Write many lines of the result in large pieces."""
        batch: list[str] = []
        for line in lines:
            batch.append(line)
            if len(batch) >= 4096:
                sys.stdout.write("\n".join(batch) + "\n")
                batch.clear()
        if batch:
            sys.stdout.write("\n".join(batch) + "\n")

    def names(self, names: Iterable[str], *, for_programs: bool = False) -> None:
        """Print names, one a line, escaped, because a pipe may lead to a terminal.

        `for_programs`: print the exact bytes of each name, unless a terminal reads them directly.
        """
        self.lines(names if for_programs and not sys.stdout.isatty() else map(visible, names))

    def text(self, text: str) -> None:
        """Print a text unchanged for programs; on a terminal control characters are escaped."""
        if sys.stdout.isatty():
            text = "\n".join(visible(line.expandtabs()) for line in text.split("\n"))
        sys.stdout.write(text)

    def message(self, level: int, text: str) -> None:
        """Print a message for users, on stderr."""
        self.said = self.said or level <= WARN
        if level > self.level:
            return
        name = f"{_NAMES[level]:<5}"
        if self.message_color:
            name = paint(name, _LEVEL_STYLES[level])
        shown = "\n    ".join(visible(line) for line in text.split("\n"))
        _say(f"[{name} rowtui] {shown}\n")

    def note(self, text: str) -> None:
        """Print a plain line on stderr: the current activity, or the next step."""
        _say(visible(text) + "\n")

    def error(self, text: str) -> None:
        """Print an error."""
        self.message(ERROR, text)

    def warn(self, text: str) -> None:
        """Print a warning."""
        self.message(WARN, text)

    def info(self, text: str) -> None:
        """Print information, with -v."""
        self.message(INFO, text)

    def problems(self, problems: Iterable[Problem]) -> None:
        """Print each problem of a file once, with its place; actions may share a line by `from`."""
        found = dict.fromkeys((problem.severity, str(problem)) for problem in problems)
        for severity, text in found:
            self.message(ERROR if severity == "error" else WARN, text)


def _say(text: str) -> None:
    """Write to stderr, after the text printed so far. A failing stderr is ignored."""
    sys.stdout.flush()
    with contextlib.suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()


def paint(text: str, style: str) -> str:
    """Return `text` between SGR codes for a style such as "bold yellow"."""
    codes = ";".join(_CODES[word] for word in style.split())
    return f"\x1b[{codes}m{text}\x1b[0m"
