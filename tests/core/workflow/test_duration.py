from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.cli.jobs.job_text import clock
from rowtui.core.workflow.duration import DurationError, format_duration, parse_duration, parse_time
from rowtui.tui.widgets.short_text import duration

DAY = 86_400

# Recorded from Row 1.1.0, which prints whole minutes.
ACCEPTED = {
    "00:10": 600,
    "00:00": 0,
    "100:00": 100 * 3600,
    "99:59:59": 359_999,
    "1:00:00": 3600,
    "001:00:00": 3600,
    "12345678:00:00": 12_345_678 * 3600,
    "2400000000:59:59": 2_400_000_000 * 3600 + 3599,
    "00:00:59.999999": 59,
    "00:10:00,5": 600,
    "+1:00:00": 3600,
    "1d": DAY,
    "1 d": DAY,
    "1D": DAY,
    "1 day": DAY,
    "1 days": DAY,
    "1DAYS": DAY,
    "1 day ": DAY,
    "1 day,": DAY,
    "4 days, 12:00:00": 4 * DAY + 43_200,
    "4 days,12:00:00": 4 * DAY + 43_200,
    "4 days 12:00": 4 * DAY + 43_200,
    "4d12:00": 4 * DAY + 43_200,
    "4d 05:32:11": 4 * DAY + 5 * 3600 + 32 * 60 + 11,
    "4d, 12:00:00.5": 4 * DAY + 43_200,
    "2 days, 1:00:00": 2 * DAY + 3600,
    "4d 001:00": 4 * DAY + 3600,
    "999999999d 23:59:59": 999_999_999 * DAY + DAY - 1,
    "PT1H30M": 5400,
    "PT90M": 5400,
    "P1W": 7 * DAY,
    "P1Y": 365 * DAY,
    "P1M2W3DT4H5M6S": 47 * DAY + 4 * 3600 + 5 * 60 + 6,
    "P1.5D": 36 * 3600,
    "PT1.5H": 5400,
    "PT1,5H": 5400,
    "P0.3M": 9 * DAY,
    "P1.12345678901234567890D": 97_066,
    "PT0.5S": 0,
    "PT1.S": 1,
    "P0D": 0,
    "P1D1Y": 366 * DAY,
    "PT1M1H": 3660,
    "PT1H1H": 7200,
    "P1DT": DAY,
    "+P1D": DAY,
}
_WORDS = """3600 1.5 1 1w 1h d x 1:00 00:1 1:2:3 00:60 00:00:60 00:00:59.9999999 00:10Z 01:00d 1dd
    12345678901:00:00 2400000001:00:00 10000000000d 1000000000d P PT P1 P1DT1 PT1.5H3M P-1D P+1D
    pt1h PT1h PT.5S Pt1h P3000000Y P99999999999999999999999D P1D12:00 + ++1d +-1d é1d ١d"""
REFUSED = _WORDS.split()
REFUSED += ["", "1  d", " 00:10", "00:10 ", "4d,  12:00", "4d 24:00", "4d 1:00", "4d 12:00:00Z"]
REFUSED += ["1 day x", "1d 01:00:00.", "1d 010000", "- 1d", "4d 100:00:00", "P" + "9" * 5000 + "D"]


@pytest.mark.parametrize(("text", "seconds"), ACCEPTED.items())
def test_each_form_that_row_accepts_has_its_seconds(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", REFUSED)
def test_what_row_refuses_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(DurationError) as caught:
        parse_duration(text)
    assert caught.value.hint


@pytest.mark.parametrize("text", ["-00:10", "-1d", "-PT1H"])
def test_a_negative_duration_is_refused_although_row_takes_it(text: str) -> None:
    with pytest.raises(DurationError, match="cannot be negative"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("3600", '"PT3600S"'),
        ("2h", '"PT2H"'),
        ("30 min", '"PT30M"'),
        ("1:30", '"01:30"'),
        ("1-02:00", '"1d 02:00"'),
        ("soon", "01:30:00"),
    ],
)
def test_the_hint_says_what_was_probably_meant(text: str, words: str) -> None:
    with pytest.raises(DurationError) as caught:
        parse_duration(text)
    assert words in caught.value.hint


@given(st.integers(0, 2), st.integers(0, 400), st.integers(0, 59), st.integers(0, 59))
def test_every_time_of_day_is_read_and_days_add_to_it(d: int, h: int, m: int, s: int) -> None:
    assert parse_duration(f"{h}:{m:02}:{s:02}") == h * 3600 + m * 60 + s
    assert parse_duration(f"P{d}DT{h}H{m}M{s}S") == d * DAY + h * 3600 + m * 60 + s


@given(st.text("0123456789dDayPTHMSYW:., +", max_size=12))
def test_any_text_gives_seconds_or_a_duration_error(text: str) -> None:
    try:
        seconds = parse_duration(text)
    except DurationError:
        return
    assert seconds >= 0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "00:00:00"), (59, "00:00:59"), (7384, "02:03:04"), (93_784, "1-02:03:04")],
)
def test_durations_are_written_as_slurm_writes_them(seconds: int, text: str) -> None:
    assert format_duration(seconds) == text


@given(st.integers(0, 10**9))
def test_what_is_written_can_be_typed_again(seconds: int) -> None:
    assert parse_time(format_duration(seconds)) == seconds


def test_a_part_of_a_second_counts_as_one_wherever_a_duration_is_shown() -> None:
    assert format_duration(57.01) == clock(57.01) == "00:00:58"
    assert duration(57.01) == "0:00:58"
