"""Only what the terminal does not show yet is written, and it is written as it looks."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rowtui.tui.textual_patches.changed_cells import (
    NEAR,
    ON_BLANKS,
    ChangedCells,
    Look,
    Pen,
    ShownCells,
    looks,
)
from textual._compositor import LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

CONSOLE = Console(color_system="truecolor", force_terminal=True)
SYSTEM = ColorSystem.TRUECOLOR
STYLES = (
    None,
    Style(color="red"),
    Style(color="#102030", bgcolor="blue"),
    Style(bold=True, bgcolor="blue"),
    Style(bold=True, underline=True, color="red"),
    Style(reverse=True),
    Style(color="default", bgcolor="default"),
    Style(color="red", link="file://here/a"),
    Style(meta={"offset": (1, 2)}),
)
WIDTH = 30
CODES = re.compile(r"\x1b\[(\d+);(\d+)H|\x1b\[([\d;]*)m|\x1b]8;[^;]*;(.*?)\x1b\\|(.)")

texts = st.text("ab \u00e9\u6f22\u2588", max_size=WIDTH)
lines = st.lists(st.builds(Segment, texts, st.sampled_from(STYLES)), max_size=4)
Shown = dict[tuple[int, int], tuple[str, Look]]


def columns(segments: list[Segment]) -> list[tuple[str, Look]]:
    """What a terminal shows in each column."""
    found: list[tuple[str, Look]] = []
    for text, style, _ in segments:
        for char in text:
            found += [(char, looks(style, SYSTEM)[char == " "]), ("", looks(style, SYSTEM)[0])][
                : cell_len(char)
            ]
    return found


class Terminal:
    """What a terminal makes of the codes: text, attributes, colours and links of its cells."""

    def __init__(self) -> None:
        self.cells: Shown = {}
        self.pen = Look()

    def takes(self, written: str) -> None:
        """Draw, and end in the plain style."""
        y = x = 0
        for row, column, codes, link, char in CODES.findall(written):
            if row:
                y, x = int(row) - 1, int(column) - 1
            elif char:
                width = cell_len(char)
                look = self.pen
                plain = not look.link and ON_BLANKS.isdisjoint(look.shape.split(";"))
                if char == " " and plain:
                    look = Look(ink="", ground=look.ground)
                for at, text in enumerate((char, "")[:width]):
                    self.cells[y, x + at] = text, look
                x += width
            elif codes:
                self._style([*codes.split(";")])
            else:
                self.pen = self.pen._replace(link=link)
        assert self.pen == Look()

    def _style(self, codes: list[str]) -> None:
        while codes:
            some = codes[: 5 if codes[0] in {"38", "48"} else 1]
            del codes[: len(some)]
            first = int(some[0])
            if first == 0:
                self.pen = Look(link=self.pen.link)
            elif 30 <= first < 40:
                self.pen = self.pen._replace(ink=";".join(some))
            elif 40 <= first < 50:
                self.pen = self.pen._replace(ground=";".join(some))
            else:
                shape = [*filter(None, self.pen.shape.split(";")), *some]
                self.pen = self.pen._replace(shape=";".join(shape))


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 5), lines), max_size=8))
def test_the_terminal_shows_what_was_drawn(updates: list[tuple[int, int, list[Segment]]]) -> None:
    shown, terminal, wanted = ShownCells(), Terminal(), Shown()
    for y, x, segments in updates:
        wanted |= {(y, x + at): cell for at, cell in enumerate(columns(segments))}
        update = LayoutUpdate([[Strip(segments)]], Region(x, y, WIDTH, 1))
        terminal.takes(ChangedCells(update, shown).render_segments(CONSOLE))
        assert terminal.cells == wanted
        assert not ChangedCells(update, shown).render_segments(CONSOLE)


def test_near_changes_are_written_together_and_far_ones_apart() -> None:
    shown = ShownCells()

    def changes(text: str) -> list[tuple[int, str]]:
        parts = shown.changes(3, 0, [Segment(text)], SYSTEM)
        return [(x, "".join(char for char, _ in cells)) for _, x, cells in parts]

    near, far = "a" * (NEAR - 1), "a" * NEAR
    assert changes("a" * 40) == [(0, "a" * 40)]
    after = f"b{near}b{far}b" + "a" * 40
    assert changes(after) == [
        (0, f"b{near}b"),
        (2 * NEAR + 1, "b"),
        (40, "a" * (2 * NEAR + 2)),
    ]
    shown.forget()
    assert changes(after) == [(0, after)]


def test_a_code_is_written_only_where_it_changes_something() -> None:
    pen = Pen()
    red, blue = Style(color="red", bgcolor="black"), Style(color="blue", bgcolor="black")
    parts = [Segment("a", red), Segment(" ", blue), Segment("b", red), Segment("c", blue)]
    cells = ShownCells().changes(0, 0, parts, SYSTEM)
    assert [pen.write(part) for _, _, part in cells] == ["\x1b[31;40ma b\x1b[34mc"]
    assert pen.change() == "\x1b[39;49m"
