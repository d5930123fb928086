"""Lines of logs, without a terminal."""

from __future__ import annotations

from rowtui.core.project.views.views import LogRow
from rowtui.tui.widgets.cells import Line, plain, width_of
from rowtui.tui.widgets.log_rows import row_line, trouble_line


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


def test_where_the_trouble_is_fits_any_width() -> None:
    counts = (0,) * 30 + (14,) + (0,) * 29
    for width in (20, 80, 200):
        spans = trouble_line(counts, width)
        assert "14 lines like an error" in plain(spans)
        assert spans[0].text.count("█") == 1
    assert width_of(trouble_line(counts, 80)) <= 80
