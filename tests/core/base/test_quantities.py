"""Amounts that a user types."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.quantities import parse_amount, parse_count, parse_factor, parse_money


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12.0),
        ("0.5", 0.5),
        (".5", 0.5),
        ("1,000", 1000.0),
        ("1_000.25", 1000.25),
        ("1e3", 1e3),
    ],
)
def test_a_number_may_have_marks_between_thousands(text: str, number: float) -> None:
    assert parse_amount(text) == number
    assert parse_amount(f" {text} ") == number


def test_whole_numbers_stay_within_their_limits() -> None:
    assert (parse_count("1,000"), parse_count("1"), parse_count("0", 0)) == (1000, 1, 0)
    for text in ("0", "-1", "1.5", "1,00", "x", "", "9" * 30):
        with pytest.raises(RowtuiError):
            parse_count(text)


@pytest.mark.parametrize("text", ["20EUR", "20 EUR", " 20EUR "])
def test_money_has_its_currency_with_or_without_a_blank(text: str) -> None:
    assert parse_money(text) == (20.0, "EUR")


def test_money_may_leave_its_currency_to_the_cluster() -> None:
    assert parse_money("1,000.50") == (1000.5, "")
    assert parse_money("20 €") == (20.0, "€")
    for text in ("", "EUR", "20 EUR more", "-20EUR", "1.2.3"):
        with pytest.raises(RowtuiError):
            parse_money(text)


def test_a_factor_may_have_its_mark_on_either_side() -> None:
    assert [parse_factor(text, 0.01, 100) for text in ("1.5", "1.5x", "x1.5")] == [1.5] * 3
    with pytest.raises(RowtuiError, match=r"from 0\.01 to 100"):
        parse_factor("1000x", 0.01, 100)


@given(st.text(max_size=20), st.sampled_from([parse_amount, parse_count, parse_money]))
def test_any_text_is_an_amount_or_an_error(text: str, parse: Callable[[str], Any]) -> None:
    with contextlib.suppress(RowtuiError):
        parse(text)
