"""Only what the terminal does not show yet is written."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rowtui.tui.textual_patches.changed_cells import NEAR, ShownCells

LINK = Style(color="red", link="file://here/a")
STYLES = (None, Style(color="red"), Style(bold=True, bgcolor="blue"), LINK)
WIDTH = 30

texts = st.text("ab \u00e9\u6f22\u2588", max_size=WIDTH)
lines = st.lists(st.builds(Segment, texts, st.sampled_from(STYLES)), max_size=4)


def columns(segments: list[Segment]) -> list[tuple[str, Style | None]]:
    """What a terminal shows in each column."""
    found: list[tuple[str, Style | None]] = []
    for text, style, _ in segments:
        for char in text:
            found += [(char, style), ("", style)][: cell_len(char)]
    return found


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 5), lines), max_size=8))
def test_the_terminal_shows_what_was_drawn(updates: list[tuple[int, int, list[Segment]]]) -> None:
    shown = ShownCells()
    wanted: dict[tuple[int, int], tuple[str, Style | None]] = {}
    terminal: dict[tuple[int, int], tuple[str, Style | None]] = {}
    for y, x, segments in updates:
        wanted |= {(y, x + at): cell for at, cell in enumerate(columns(segments))}
        for line, column, part in shown.changes(y, x, segments):
            terminal |= {(line, column + at): it for at, it in enumerate(columns([*part]))}
        assert terminal == wanted
        assert not list(shown.changes(y, x, segments))


def test_near_changes_are_written_together_and_far_ones_apart() -> None:
    shown = ShownCells()
    near, far = "a" * (NEAR - 1), "a" * NEAR
    assert [part[:2] for part in shown.changes(3, 0, [Segment("a" * 40)])] == [(3, 0)]
    after = [Segment(f"b{near}b{far}b" + "a" * 40)]
    parts = [(x, "".join(one.text for one in some)) for _, x, some in shown.changes(3, 0, after)]
    assert parts == [(0, f"b{near}b"), (2 * NEAR + 1, "b"), (40, "a" * (2 * NEAR + 2))]
    shown.forget()
    assert [part[:2] for part in shown.changes(3, 0, after)] == [(3, 0)]
