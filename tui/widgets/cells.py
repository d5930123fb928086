"""Styled text as plain values: spans, lines, cells that are drawn at a width, and their styles.

A style is a name (`completed`, `dim`, ...), never a colour: `tui/shell/themes.py` has the colours.
Control characters are made visible when a span is built, so that no text from outside can control
the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple, Protocol

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from rowtui.core.base.text import count, si, visible
from rowtui.tui.shell.themes import STYLES
from rowtui.tui.widgets.links import LINK, link_of
from textual.app import App
from textual.color import Color
from textual.content import Content
from textual.strip import Strip
from textual.widget import Widget


class Span(NamedTuple):
    """A piece of text in one style. `style` may contain several names, separated by spaces."""

    text: str
    style: str = ""


Line = tuple[Span, ...]


class Fitted(Protocol):
    """A cell whose content depends on its width."""

    def at(self, width: int) -> Line:
        """Return the cell in at most `width` columns."""


Cell = Line | Fitted


def line(*parts: str | tuple[str, str]) -> Line:
    """Return a line of text; each part is a string or (string, style name)."""
    spans = []
    for part in parts:
        text, style = (part, "") if isinstance(part, str) else part
        spans.append(Span(text if text.isprintable() else visible(text), style))
    return tuple(spans)


def width_of(spans: Iterable[Span]) -> int:
    """Return the number of terminal columns that the spans take."""
    width = 0
    for span in spans:
        text = span.text
        width += len(text) if text.isascii() else cell_len(text)
    return width


def plain(spans: Iterable[Span]) -> str:
    """Return the text without styles."""
    return "".join(span.text for span in spans)


def cut(spans: Line, width: int) -> Line:
    """Return the line in at most `width` columns; an ellipsis marks a cut."""
    if width <= 0:
        return ()
    if width_of(spans) <= width:
        return spans
    kept: list[Span] = []
    left = width - 1
    for span in spans:
        size = cell_len(span.text)
        if size <= left:
            kept.append(span)
            left -= size
            continue
        if left > 0:
            kept.append(Span(set_cell_size(span.text, left), span.style))
        kept.append(Span("…", span.style))
        break
    return tuple(kept)


def wrapped(spans: Line, width: int, indent: int = 0) -> list[Line]:
    """Return the line broken at blanks into lines of at most `width` columns; later lines are
    indented.

    A word that is too long for a line of its own is cut when the line is drawn.
    """
    if width <= 0 or width_of(spans) <= width:
        return [spans]
    lines: list[Line] = []
    now: list[Span] = []
    words = [
        Span(word + blank, span.style)
        for span in spans
        for word, blank in re.findall(r"([^ ]*)( *)", span.text)
        if word or blank
    ]
    for word in words:
        if now and width_of(now) + cell_len(word.text.rstrip()) > width:
            lines.append(_without_blanks_at_the_end(now))
            now = [Span(" " * indent)]
        now.append(word)
    return [*lines, _without_blanks_at_the_end(now)]


def _without_blanks_at_the_end(spans: list[Span]) -> Line:
    return (*spans[:-1], Span(spans[-1].text.rstrip(), spans[-1].style))


def shifted(spans: Line, columns: int, width: int) -> Line:
    """Return a line wider than `width` without its first `columns`; its end stays visible."""
    columns = min(columns, width_of(spans) - width)
    if columns <= 0:
        return spans
    left = columns + 1  # The ellipsis takes one column.
    kept: list[Span] = []
    for text, style in spans:
        gone = 0
        while left > 0 and gone < len(text):
            left -= cell_len(text[gone])
            gone += 1
        if gone < len(text):
            kept.append(Span(text[gone:], style))
    return (Span("…", kept[0].style if kept else ""), *kept)


@lru_cache(512)
def _blank(width: int) -> Span:
    return Span(" " * width)


def fit(cell: Cell, width: int, align: str = "left") -> Line:
    """Return the cell in exactly `width` columns."""
    spans = cell if isinstance(cell, tuple) else cell.at(width)
    one = spans[0].text if len(spans) == 1 else None
    room = width - (len(one) if one is not None and one.isascii() else width_of(spans))
    if room < 0 or width <= 0:
        spans = cut(spans, width)
        room = width - width_of(spans)
    if room <= 0:
        return spans
    blank = _blank(room)
    return (blank, *spans) if align == "right" else (*spans, blank)


def dimmed(cells: Mapping[str, Cell]) -> dict[str, Cell]:
    """Return the cells of a row without colours: for old rows, or jobs outside the project."""
    return {
        name: (Dim(cell) if not isinstance(cell, tuple) else _dim(cell))
        for name, cell in cells.items()
    }


def _dim(spans: Line) -> Line:
    return tuple(Span(span.text, "dim") for span in spans)


@dataclass(frozen=True, slots=True)
class Dim:
    """A cell without its colours."""

    cell: Fitted

    def at(self, width: int) -> Line:
        """Return the cell, dim."""
        return _dim(self.cell.at(width))


@dataclass(frozen=True, slots=True)
class Number:
    """A count: with thousands commas if they fit, otherwise with an SI suffix.

    `mark`: in front of the number.
    """

    value: int
    style: str = ""
    mark: str = ""

    def text(self, width: int) -> str:
        """Return `12,800`, or `13K` if the former does not fit."""
        exact, short = f"{self.mark}{count(self.value)}", f"{self.mark}{si(self.value)}"
        return exact if len(exact) <= width else short

    def at(self, width: int) -> Line:
        """Return the text, in its style."""
        return (Span(self.text(width), self.style),)


@dataclass(frozen=True, slots=True)
class FirstThatFits:
    """The first of several texts that fits; the last one is cut."""

    texts: tuple[Line, ...]

    def at(self, width: int) -> Line:
        """Return the first text that fits."""
        for text in self.texts:
            if width_of(text) <= width:
                return text
        return self.texts[-1]


@dataclass(frozen=True, slots=True)
class Wide:
    """A text over its own column of a table and all columns to its right."""

    text: Line

    def at(self, width: int) -> Line:
        """Return the text, cut at the width."""
        return cut(self.text, width)


@dataclass(frozen=True, slots=True)
class Bar:
    """Progress: `done`, `moving` and `ready` of `total` as blocks, and the percentage done.

    The parts differ in their glyph as well as in their colour.
    """

    done: int
    moving: int
    total: int
    ready: int = 0

    def at(self, width: int) -> Line:
        """Return `████▒▒░░   40%`."""
        percent = percentage(self.done, self.total)
        room = width - len(percent)
        if room < 3:
            return (Span(percent[-width:]),)
        parts = (
            (self.done, "█", "completed"), (self.moving, "▒", "submitted"),
            (self.ready, "░", "eligible"),
        )  # fmt: skip
        return (*bar(parts, self.total, room), Span(percent))


_EIGHTHS = " ▏▎▍▌▋▊▉"


def bar(parts: Iterable[tuple[float, str, str]], total: float, room: int) -> Line:
    """Return the parts of a total (value, glyph, style name) side by side in `room` columns.

    Each part ends within half a cell of its true place. A last part of whole blocks ends within a
    sixteenth, so that it is full only at the total, and visible from the first.
    """
    found: list[Span] = []
    shown = [part for part in parts if part[0] > 0] if total > 0 else []
    ends = list(accumulate(value for value, _, _ in shown))
    at = 0
    for (_, glyph, style), end in zip(shown, ends, strict=True):
        share = min(1.0, end / total)
        if glyph == "█" and end == ends[-1]:
            eighths = max(8 * at + 1, round(8 * room * share))
            full, rest = divmod(min(eighths, 8 * room - (share < 1.0)), 8)
            found.append(Span("█" * (full - at) + _EIGHTHS[rest].strip(), style))
            at = full + bool(rest)
        else:
            size = round(room * share) - at
            found.append(Span(glyph * size, style))
            at += size
    return (*found, Span(" " * (room - at)))


HEIGHTS = "▁▂▃▄▅▆▇█"


def bars(numbers: Sequence[int]) -> str:
    """Return a bar for each number, the largest one as high as the line; none is empty."""
    most = max(numbers, default=0)
    return "".join(
        HEIGHTS[0] if not number else HEIGHTS[max(1, round(number / most * 7))]
        for number in numbers
    )


def percentage(part: int, total: int) -> str:
    """Return five columns: ` 100%`; 100 only if nothing is missing, 0 only if nothing is done."""
    if not total:
        return "    –"
    whole = 100 * part // total
    if part and not whole:
        return "  <1%"
    return f" {whole:3d}%"


def portion(part: int, total: int, room: int) -> int:
    """Return how many of `room` blocks stand for `part` of `total`."""
    if not total or not part:
        return 0
    if part >= total:
        return room
    return min(room - 1, max(1, round(room * part / total)))


class Palette:
    """The style names as Rich styles of one theme; create a new palette when the theme changes."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._variables = app.theme_variables
        self._styles: dict[str, Style] = {"": Style.null()}

    def __getitem__(self, name: str) -> Style:
        """Return the style of a name; the empty style for an unknown name.

        `completed on failed` is the colour of `completed` on that of `failed`, for cells of charts
        in which two parts meet; `ground on failed` leaves the glyph in the colour of the pane.
        """
        style = self._styles.get(name)
        if style is None and LINK in name:
            name_of, _, file = name.partition(LINK)
            style = self[name_of] + Style(link=link_of(self._app, file))
            self._styles[name] = style
        elif style is None:
            name_of, _, ground = name.partition(" on ")
            style = self._resolve(STYLES.get(name_of, ""))
            if ground and name_of == "ground":
                style = self[ground] + Style(reverse=True)
            elif ground:
                style += Style(bgcolor=self[ground].color)
            self._styles[name] = style
        return style

    def _resolve(self, words: str) -> Style:
        style = Style.null()
        ground = False
        for word in words.split():
            if word == "on":
                ground = True
            elif word.startswith("$"):
                colour = Color.parse(self._variables[word[1:]]).rich_color
                style += Style(bgcolor=colour) if ground else Style(color=colour)
            else:
                style += Style.parse(word)
        return style

    def strip(self, spans: Iterable[Span], base: Style) -> Strip:
        """Return the spans as one line of the screen."""
        return Strip([Segment(span.text, base + self[span.style]) for span in spans])


class Painted(Widget):
    """A widget that draws its lines itself, in the colours of the current theme."""

    _palette: Palette | None = None

    @property
    def palette(self) -> Palette:
        """The styles of the current theme."""
        if self._palette is None:
            self._palette = Palette(self.app)
        return self._palette

    def notify_style_update(self) -> None:
        """Use the colours of the new theme."""
        super().notify_style_update()
        self._palette = None


def as_content(lines: Iterable[Line], *, stale: bool = False) -> Content:
    """Return lines for a Static; its colours follow the theme by themselves."""
    parts: list[str | tuple[str, str]] = []
    for number, spans in enumerate(lines):
        if number:
            parts.append("\n")
        names = ("dim" if stale else span.style.partition(LINK)[0] for span in spans)
        parts += [
            (span.text, STYLES.get(name, "")) for span, name in zip(spans, names, strict=True)
        ]
    return Content.assemble(*parts)
