"""The outline of a screen, derived from its widgets: no view has code of its own for it.

Glyphs become words, and bars and frames are left out: a screen reader would spell them.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from rowtui.core.base.text import visible
from rowtui.tui.commands.command import TITLES
from rowtui.tui.shell.terminal_app import TerminalApp
from rowtui.tui.views.dialogs import Dialog, typed_keys
from rowtui.tui.views.view import ScreenView
from rowtui.tui.widgets.cells import Cell, Wide, plain
from rowtui.tui.widgets.chrome import OneLine, Panel
from rowtui.tui.widgets.short_text import (
    CLUSTER_MARKS,
    GRAPH_MARKS,
    JOB_MARKS,
    RUN_MARKS,
    STATUS_MARKS,
    Mark,
)
from rowtui.tui.widgets.table.virtual_table import VirtualTable
from rowtui.tui.widgets.text_lines import LaidOut, TextLines
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Button, Input, OptionList, Static

LONGEST = 500
"""Characters of a text that are read; a line of a log can have a million."""

SECONDS = 0.5
"""Seconds between two looks at the screen for the page of a browser."""

MOST_BYTES = 200_000
"""Bytes of the largest outline that is sent to a page."""

WIDEST = 60
"""Columns for a cell that would be shortened in fewer."""


class Heading(NamedTuple):
    """The title of a part of the screen, and what its frame has below it."""

    text: str
    about: str = ""


class Text(NamedTuple):
    """Lines of text. `long`: a script, a log or details, which have pages of their own."""

    lines: tuple[str, ...]
    long: bool = False
    focused: bool = False


class Row(NamedTuple):
    """One row of a table. `here`: it is under the cursor."""

    cells: tuple[str, ...]
    here: bool = False
    marked: bool = False


class Table(NamedTuple):
    """The visible rows of a list of `row_count` rows; the first of them is row `first`, from 0.

    `widget` is the id of the list. `total` has the cells of the row of sums, if there is one.
    """

    widget: str
    caption: str
    headings: tuple[str, ...]
    rows: tuple[Row, ...]
    first: int
    row_count: int
    total: tuple[str, ...] = ()
    empty: str = ""
    focused: bool = False


class Field(NamedTuple):
    """A field to type in; the value of a secret one is hidden."""

    label: str
    value: str
    focused: bool
    secret: bool


Part = Heading | Text | Table | Field


class Outline(NamedTuple):
    """A screen: its title, its parts from top to bottom, the messages, and the keys of the page.

    `dialog`: the screen is a page or a question on top of a view. `subject`: the project and the
    clusters. `keys`: pairs of key and effect.
    """

    title: str
    subject: str
    dialog: bool
    parts: tuple[Part, ...]
    messages: tuple[str, ...]
    keys: tuple[tuple[str, str], ...]

    @property
    def json(self) -> dict[str, Any]:
        """The outline as values of JSON; each part has its kind."""
        parts = []
        for part in self.parts:
            about = {"kind": type(part).__name__.lower(), **part._asdict()}
            if isinstance(part, Table):
                about["rows"] = [row._asdict() for row in part.rows]
            parts.append(about)
        return {**self._asdict(), "parts": parts}


_AROUND = ("header", "tabs", "message", "keys")
"""Lines around every view that are not parts of its content."""


def outline_of(screen: Screen[Any]) -> Outline:
    """Return the outline of what is visible."""
    parts = tuple(_parts(screen, ""))
    titles = (part.text for part in parts if isinstance(part, Heading))
    is_view = isinstance(screen, ScreenView)
    title = TITLES[screen.MODE] if isinstance(screen, ScreenView) else next(titles, "Page")
    notices = screen.app.notices if isinstance(screen.app, TerminalApp) else ()
    answer = screen.answer_text if isinstance(screen, Dialog) else ""
    messages = map(spoken, (_line(screen, "message"), answer, *notices))
    return Outline(
        title,
        spoken(_line(screen, "header")),
        not is_view,
        parts,
        tuple(dict.fromkeys(filter(None, messages))),
        tuple((hint.key, hint.label) for hint in typed_keys(screen)),
    )


def as_json(outline: Outline) -> str:
    """Return an outline as JSON; of one with more than `MOST_BYTES`, the last parts are missing."""
    while len(text := json.dumps(outline.json)) > MOST_BYTES and outline.parts:
        outline = outline._replace(parts=outline.parts[: len(outline.parts) // 2])
    return text


async def send_outlines(pilot: Pilot[Any]) -> None:
    """Send the outline after each change to the page of `rowtui serve`, until the app ends."""
    app, sent = pilot.app, ""
    while app.is_running:
        text = as_json(outline_of(app.screen))
        write: Any = getattr(app._driver, "write_meta", None)
        if text != sent and write is not None:
            sent = text
            write({"type": "outline", "outline": text})
        await asyncio.sleep(SECONDS)


def _line(screen: Screen[Any], name: str) -> str:
    return "".join(plain(one.spans) for one in screen.query(f"#{name}").results(OneLine))


def _parts(parent: Widget, caption: str) -> Iterator[Part]:
    """Yield the parts inside this widget. `caption`: the title of the frame around it."""
    label = ""
    for widget in parent.children:
        if not widget.display or widget.id in _AROUND:
            continue
        title = spoken(_text(widget.border_title))
        if title:
            caption = title
            yield Heading(title, spoken(_text(widget.border_subtitle)))
        if isinstance(widget, VirtualTable):
            yield _table(widget, caption)
        elif isinstance(widget, OptionList):
            yield _options(widget, caption)
        elif isinstance(widget, Input):
            value = "" if widget.password else visible(widget.value)
            name = label or spoken(str(widget.placeholder)) or caption
            yield Field(name, value, widget.has_focus, widget.password)
        elif isinstance(widget, Button):
            yield Text((f"Button {spoken(_text(widget.label))}",))
        elif lines := _lines(widget):
            label = lines[-1]
            yield Text(lines, isinstance(widget, TextLines), widget.has_focus)
        yield from _parts(widget, caption)


def _lines(widget: Widget) -> tuple[str, ...]:
    """Return the text of a widget without empty lines; nothing for other widgets, and charts."""
    if isinstance(widget, LaidOut):
        lines = widget.visible_lines
    elif isinstance(widget, TextLines):  # A script or a log, which is read as it is.
        texts = [text[:LONGEST].rstrip() for text in widget.visible_lines]
        return tuple(texts) if texts else tuple(filter(None, [spoken(plain(widget.empty))]))
    elif isinstance(widget, OneLine):
        lines = [plain(widget.spans)]
    elif isinstance(widget, Panel):
        lines = [plain(spans) for spans in widget.lines]
    elif isinstance(widget, Static):
        lines = _text(widget.content).split("\n")
    else:
        return ()
    return tuple(text for text in map(spoken, lines) if text)


def _table(table: VirtualTable, caption: str) -> Table:
    first, stop = table.visible_range
    columns = [one.column for one in table.placed]
    headings = [spoken(column.title) for column in columns] if table.head_lines else [""]
    rows = []
    for index in range(first, stop):
        cells = table.source.row(index)
        # The rows of a page that is not loaded keep their places: rows are chosen by their numbers.
        texts = _cells([cells.get(column.id, ()) for column in columns]) if cells else ("loading",)
        marked = table.can_mark and table.source.key(index) in table.marks
        rows.append(Row(texts, index == table.cursor, marked))
    total = _cells([table.total.get(column.id, ()) for column in columns]) if table.total else ()
    count = table.source.row_count
    return Table(
        table.id or "",
        caption,
        tuple(headings),
        tuple(rows),
        first,
        count,
        total,
        "" if count else spoken(plain(table.empty)),
        table.has_focus_within,
    )


def _cells(cells: list[Cell]) -> tuple[str, ...]:
    texts = []
    for cell in cells:
        texts.append(spoken(plain(cell if isinstance(cell, tuple) else cell.at(WIDEST))))
        if isinstance(cell, Wide):
            break
    return tuple(texts)


def _options(options: OptionList, caption: str) -> Table:
    rows = [
        Row((spoken(_text(options.get_option_at_index(at).prompt)),), at == options.highlighted)
        for at in range(options.option_count)
    ]
    name, focused = options.id or "", options.has_focus
    return Table(name, caption, ("",), tuple(rows), 0, len(rows), focused=focused)


def _text(content: object) -> str:
    """Return the text of what a widget shows."""
    if content is None:
        return ""
    return str(getattr(content, "plain", content))


_MARKS: list[Mark] = [
    mark
    for marks in (STATUS_MARKS, JOB_MARKS, GRAPH_MARKS, RUN_MARKS)
    for mark in cast("Any", marks).values()
] + list(CLUSTER_MARKS)

_OF_NUMBERS = {mark.glyph: mark.word for mark in STATUS_MARKS.values()}
_OF_TEXTS = {"✓": "ok", "✗": "failed", "▲": "warning", "⊘": "cancelled"}
_OF_ALL = {mark.glyph: mark.word for mark in reversed(_MARKS)}
_OTHERS = {
    "→": " to ", "←": " from ", "▸": ", ", "›": " ", "≥": " at least ", "≤": " at most ",
    "×": " times ", "↑": " up ", "↓": " down ", "☑": "on", "☐": "off", "▾": "", "◆": "", "–": " – ",
}  # fmt: skip
STATE_WORDS = {mark.word for mark in _MARKS}


_DRAWN = re.compile("[\u2500-\u2572\u2574-\u259f\u2800-\u28ff]+")
_GLYPH = re.compile(f"([{''.join(_OF_ALL)}])[, ]*([^ ]*)")
_OTHER = re.compile(rf" *([{''.join(_OTHERS)}]) *")
_STATE = re.compile(rf"(?:{'|'.join(map(re.escape, STATE_WORDS))})\b")
_APART = re.compile(r"\s{2,}|\s+·\s+")


def spoken(text: str) -> str:
    """Return a text with words in place of glyphs, and commas in place of wide gaps."""
    text = visible(text.replace("\n", "  "))
    if not text.isascii():
        if text.strip() == "·":
            return "0"  # In a column of numbers.
        text = _APART.sub(", ", _DRAWN.sub(" ", text).strip())
        text = _OTHER.sub(lambda found: _OTHERS[found[1]], _GLYPH.sub(_words, text))
    return _APART.sub(", ", text.strip())[:LONGEST].strip(", ")


def _words(found: re.Match[str]) -> str:
    """Return a glyph and the word, or number, after it: alone if the state is named there."""
    glyph, after = found[1], found[2]
    number = after[:1].isdigit()
    if _STATE.match(found.string, found.end() + 1 if number else found.start(2)):
        return after
    if number:
        return f"{_OF_NUMBERS.get(glyph, '')} {after}".lstrip()
    if not after:
        return _OF_TEXTS.get(glyph, _OF_ALL[glyph])
    return f"{_OF_TEXTS[glyph]}: {after}" if glyph in _OF_TEXTS else after
