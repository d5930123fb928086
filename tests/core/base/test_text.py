"""Numbers as Row prints them, and text that cannot steer a terminal."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.text import Cost, count, full_cost, hours, memory, plural, si, visible


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1.5, "2"),
        (2.5, "2"),
        (999.6, "1000"),
        (1000, "1k"),
        (999_999, "1000k"),
        (1e8, "100M"),
        (0, "0"),
    ],
)
def test_large_numbers_are_scaled_and_rounded_as_row_does(value: float, shown: str) -> None:
    assert si(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (1 / 3600, "<0.01"),
        (36 / 3600, "0.01"),
        (5 / 60, "0.08"),
        (10 / 60, "0.17"),
        (0.5, "0.5"),
        (3599 / 3600, "1"),
        (1, "1"),
        (2.5, "2.5"),
        (2.04, "2"),
        (9.94, "9.9"),
        (9.96, "10"),
        (16.5, "16"),
        (4000, "4k"),
    ],
)
def test_small_costs_have_decimals(value: float, shown: str) -> None:
    assert hours(value) == shown


@given(st.floats(0, 1e12))
def test_no_cost_is_printed_in_thousandths(value: float) -> None:
    found = re.fullmatch(r"<?([\d.]+)([kMGTPEZY]?)", hours(value))
    assert found is not None
    scale = 1000.0 ** " kMGTPEZY".index(found[2] or " ")
    assert float(found[1]) * scale == pytest.approx(value, rel=0.5, abs=0.01)
    assert str(Cost(value)) == f"{hours(value)} CPU-hours"


def test_a_cost_names_what_it_counts() -> None:
    assert str(Cost(4000, 0)) == "4k CPU-hours"
    assert str(Cost(0, 12)) == "12 GPU-hours"
    assert str(Cost(2, 3)) == "2 CPU-hours and 3 GPU-hours"
    assert str(Cost()) == "0 CPU-hours"
    assert not Cost()
    assert Cost(1, 2).plus(Cost(3, 4)) == Cost(4, 6)


def test_the_costs_of_a_plan_add_up_to_its_total() -> None:
    parts = [Cost(0, 8 / 3)] * 6 + [Cost(0, 2 / 3)]
    total = Cost()
    for part in parts:
        total = total.plus(part)
    shown = [float(full_cost(part).removesuffix(" GPU-hours")) for part in parts]
    assert full_cost(total) == "16.67 GPU-hours"
    assert sum(shown) == pytest.approx(16.67, abs=0.005 * len(parts))
    assert full_cost(Cost(1234.5, 2)) == "1,234.50 CPU-hours and 2.00 GPU-hours"
    assert full_cost(Cost()) == "0.00 CPU-hours"


def test_memory_is_in_the_unit_that_reads_best() -> None:
    assert [memory(it) for it in (1, 500, 1023, 1024, 1536, 1_500_000)] == [
        "1 MB", "500 MB", "1,023 MB", "1 GB", "1.5 GB", "1,464.8 GB",
    ]  # fmt: skip


def test_counts_have_commas_and_nouns_a_number() -> None:
    assert count(1234567) == "1,234,567"
    assert plural(1, "job") == "1 job"
    assert plural(2000, "directory", "directories") == "2,000 directories"


def test_what_steers_a_terminal_is_made_visible() -> None:
    hostile = "a\x1b[31m\nb\t\x00\udcff\u202e"
    assert visible(hostile) == "a\\x1b[31m\\nb\\t\\x00\\xff\\u202e"
    assert visible("µ-résumé 日本") == "µ-résumé 日本"


@given(st.text(alphabet=st.characters()))
def test_visible_text_is_always_printable(text: str) -> None:
    assert visible(text).isprintable()
