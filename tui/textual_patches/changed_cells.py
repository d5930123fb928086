"""Write only the cells of the screen that look different, each with as few codes as it needs.

Textual writes every region that a widget has asked to draw again, whether or not its cells look
different: after a cursor key all rows of three panes, 5 to 13 kB, which is slow over a thin line.
Textual also writes both colours and a reset with each piece of text. `ShownCells` stores what the
terminal shows, and returns the cells that differ; `Pen` writes the changes of colours between them.
`bench/results/patches.md` has the bytes of keys, with and without.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.strip import SGR_STYLES

NEAR = 6
"""Unchanged cells between two changes that are written again: to go past them takes as long."""

ON_BLANKS = frozenset(("4", "5", "6", "7", "9", "21", "51", "52", "53"))
"""Attributes that show on a cell without text: lines, blinking, reversed colours."""


class Look(NamedTuple):
    """What a style looks like: codes of its attributes and colours, and its link.

    Without `ink`, any attributes and colour of text will do: only the background is visible.
    """

    shape: str = ""
    ink: str = "39"
    ground: str = "49"
    link: str = ""


Cell = tuple[str, Look]
Part = tuple[int, int, list[Cell]]

PLAIN = Look()


@lru_cache(4096)
def looks(style: Style | None, system: ColorSystem) -> tuple[Look, Look]:
    """Return what text in this style looks like, and what a blank in this style looks like."""
    if style is None:
        return PLAIN, Look(ink="")
    bits = style._attributes & style._set_attributes
    codes = [code for bit, code in enumerate(SGR_STYLES) if bits >> bit & 1]
    ink, ground = (
        PLAIN[at] if color is None else ";".join(color.downgrade(system).get_ansi_codes(at == 1))
        for at, color in enumerate((style.color, style.bgcolor), 1)
    )
    look = Look(";".join(codes), ink, ground, style.link or "")
    plain = not look.link and ON_BLANKS.isdisjoint(codes)
    return look, Look(ink="", ground=ground) if plain else look


class ShownCells:
    """The cells that the terminal shows, by line; unknown cells are None."""

    def __init__(self) -> None:
        self._lines: dict[int, list[Cell | None]] = {}

    def forget(self) -> None:
        """Assume nothing about the terminal, for example after another program had it."""
        self._lines.clear()

    def changes(
        self, y: int, x: int, segments: Iterable[Segment], system: ColorSystem
    ) -> Iterator[Part]:
        """Store these cells of line `y` from column `x` on, and yield the parts that differ."""
        cells = _cells(segments, system)
        line = self._lines.setdefault(y, [])
        end = x + len(cells)
        if len(line) < end:
            line += [None] * (end - len(line))
        old = line[x:end]
        if old == cells:
            return
        line[x:end] = cells
        different = [at for at, cell in enumerate(cells) if cell != old[at]]
        begin = last = different[0]
        for at in (*different[1:], len(cells) + NEAR + 1):
            if at - last > NEAR:
                yield y, x + _left(cells, begin), cells[_left(cells, begin) : last + 1]
                begin = at
            last = at


def _cells(segments: Iterable[Segment], system: ColorSystem) -> list[Cell]:
    """Return one pair for each column. The second column of a wide character has no text, and a
    character without a width stands in the column before.
    """
    cells: list[Cell] = []
    for text, style, _ in segments:
        look, blank_look = looks(style, system)
        blank = (" ", blank_look)
        if text.isascii():
            cells += [blank if char == " " else (char, look) for char in text]
            continue
        for char in text:
            width = cell_len(char)
            if not width and cells:
                cells[-1] = (cells[-1][0] + char, cells[-1][1])
            elif char == " ":
                cells.append(blank)
            elif width:
                cells += [(char, look), ("", look)][:width]
    return cells


def _left(cells: list[Cell], at: int) -> int:
    """Return the first column of the character in this column."""
    return at - 1 if at and not cells[at][0] else at


class Pen:
    """The style in which the terminal writes, changed by as few codes as its next cells need."""

    def __init__(self) -> None:
        self._look = PLAIN

    def write(self, cells: Iterable[Cell]) -> str:
        """Return the cells, with the codes that they need."""
        written = []
        last = None
        for text, look in cells:
            if look is not last:
                written.append(self.change(look))
                last = look
            written.append(text)
        return "".join(written)

    def change(self, look: Look = PLAIN) -> str:
        """Return the codes from the present style to this one."""
        shape, ink, ground, link = self._look
        if not look.ink:
            visible = not ON_BLANKS.isdisjoint(shape.split(";"))
            look = look._replace(ink=ink, shape="" if visible else shape)
        self._look = look
        codes = []
        if shape and look.shape != shape:
            codes.append("0")
            shape, ink, ground, _ = PLAIN
        codes += [new for new, old in zip(look, (shape, ink, ground), strict=False) if new != old]
        changed = f"\x1b[{';'.join(codes)}m" if codes else ""
        if look.link != link:
            name = f"id={hash(look.link) & 0xFFFFFF:x}" if look.link else ""
            changed += f"\x1b]8;{name};{look.link}\x1b\\"
        return changed


class ChangedCells(CompositorUpdate):
    """The part of an update that changes what the terminal shows."""

    def __init__(self, update: ChopsUpdate | LayoutUpdate, shown: ShownCells) -> None:
        self._update = update
        self._shown = shown

    def render_segments(self, console: Console) -> str:
        """Return the changes for the terminal."""
        written, pen = [], Pen()
        system = console._color_system or ColorSystem.TRUECOLOR
        for y, x, segments in self._parts():
            for line, column, cells in self._shown.changes(y, x, segments, system):
                written += [f"\x1b[{line + 1};{column + 1}H", pen.write(cells)]
        return "".join([*written, pen.change()])

    def _parts(self) -> Iterator[tuple[int, int, Iterable[Segment]]]:
        """Yield line, column and content of each part of the update."""
        update = self._update
        if isinstance(update, LayoutUpdate):
            for y, strips in enumerate(update.strips, update.region.y):
                yield y, update.region.x, [one for strip in strips for one in strip]
            return
        for y, x1, x2 in update.spans:
            for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
                if strip is not None and x < x2 and end > x1:
                    yield y, x, strip
