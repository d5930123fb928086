"""Lines of logs, without a terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.project.views.views import LogRow
from rowtui.tui.widgets.cells import Line, plain
from rowtui.tui.widgets.log_rows import resampled, row_line


def shown(text: str) -> Line:
    """The row without its number."""
    return row_line(LogRow(0, text), None, 1, "", False)


def test_a_line_is_safe_and_says_when_it_looks_like_trouble() -> None:
    assert plain(shown("\x1b[31mred\x1b[0m \x1b[2J\x07")) == "  red \\x1b[2J\\x07"
    assert plain(shown(" 10%\r 50%\r\x1b[32m100%\x1b[0m done")) == "  100% done"
    assert plain(shown("beep \x07")) == "  beep \\x07"
    for text in ("FATAL: no space left", "ERROR: no"):
        assert shown(text)[-1].style == "failed"
    assert shown("warning: old")[-1].style == "warning"
    assert shown("FloatingPointError: no")[-1].style == ""
    assert len(plain(shown("x" * 10_000_000))) < 2100


def test_a_row_has_its_number_and_what_was_looked_for_stands_out() -> None:
    spans = row_line(LogRow(0, "Step NaN then nan"), 7, 12_000, "nan", True)
    assert plain(spans) == "›     7  Step NaN then nan"
    assert [span.text for span in spans if span.style == "found"] == ["NaN", "nan"]
    assert [span.text for span in row_line(LogRow(0, "NaN nan"), 1, 9, "NaN", False)
            if span.style == "found"] == ["NaN"]  # fmt: skip
    assert plain(row_line(LogRow(9, "more", True), 8, 12_000, "", False)).endswith("↪more")
    assert plain(row_line(LogRow(9, "more"), None, 12_000, "", False)) == "  more"
    odd = row_line(LogRow(0, "İstanbul istanbul"), 1, 1, "istanbul", False)
    assert plain(odd).endswith("İstanbul istanbul")


@given(st.lists(st.integers(0, 20), min_size=1, max_size=80), st.integers(1, 200))
def test_every_error_has_one_place_beside_a_log_of_any_height(
    counts: list[int], lines: int
) -> None:
    shares = resampled(counts, lines)
    assert len(shares) == lines
    assert sum(shares) == sum(counts)
