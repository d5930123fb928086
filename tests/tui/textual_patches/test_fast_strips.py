"""Light strips are Textual's strips: the same cells, cut and filtered in the same way."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import DIMMED_MONOKAI
from rowtui.tui.shell.terminal_app import AsciiGlyphs, GroundsAsAttributes
from rowtui.tui.textual_patches.fast_strips import FramedStrip, LightStrip
from textual.color import Color
from textual.filter import ANSIToTruecolor, DimFilter, LineFilter
from textual.strip import Strip

WORDS = ("none", "bold #62aef0 on #11151b", "red", "dim #d8dee6 on #11151b")
STYLES = [Style.parse(words) for words in WORDS]
FILTERS: list[LineFilter] = [
    ANSIToTruecolor(DIMMED_MONOKAI), DimFilter(), AsciiGlyphs(), GroundsAsAttributes(colours=True),
]  # fmt: skip
GROUND = Color.parse("#11151b")

segments = st.lists(
    st.tuples(st.text("ab ▅│漢é", min_size=1, max_size=6), st.sampled_from(STYLES)).map(
        lambda pair: Segment(*pair)
    ),
    min_size=1,
    max_size=5,
)


def light(parts: list[Segment]) -> LightStrip:
    return LightStrip(parts, sum(part.cell_length for part in parts))


def joined(strips: list[Strip]) -> list[list[Segment]]:
    return [list(Segment.simplify(strip)) for strip in strips]


@given(segments, segments, st.data())
def test_a_light_strip_is_cut_and_filtered_as_textuals(
    body: list[Segment], tail: list[Segment], data: st.DataObject
) -> None:
    whole = Strip([*body, *tail])
    ends = light(body).cell_length, whole.cell_length
    some = data.draw(st.sets(st.integers(1, whole.cell_length), max_size=3))
    filters = data.draw(st.lists(st.sampled_from(FILTERS), max_size=2))
    for one in (light([*body, *tail]), FramedStrip(light(body), Strip(tail))):
        theirs, ours = whole, one
        for cuts in ([*sorted(some | {ends[1]})], sorted({*ends}), [ends[1]]):
            assert joined(list(one.divide(cuts))) == joined(list(whole.divide(cuts)))
        for change in filters:
            theirs = theirs.apply_filter(change, GROUND)
            ours = ours.apply_filter(change, GROUND)  # type: ignore[assignment]
        assert joined([ours]) == joined([theirs])
        assert ours.crop(1, 4) == theirs.crop(1, 4)
