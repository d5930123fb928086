"""The order of versions is that of packaging, with whatever is no version before all of them."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from packaging.version import InvalidVersion, Version
from rowtui.core.mapping.engine.helper_functions import version_key

_versions = st.from_regex(
    r"v?([0-2]!)?[0-9]{1,2}(\.[0-9]{1,2}){0,3}([-_.]?(a|b|c|rc|alpha|beta|pre|preview)[-_.]?[0-9]?)?"
    r"(-[0-9]|[-_.]?(post|rev|r)[-_.]?[0-9]?)?([-_.]?dev[-_.]?[0-9]?)?(\+[a-z0-9]{1,3}([-_.][a-z0-9]{1,3}){0,2})?",
    fullmatch=True,
)


def _sign(one: object, other: object) -> int:
    return (one > other) - (one < other)  # type: ignore[operator]


@given(_versions, _versions)
@example("1.0", "1")
@example("1.0.dev1", "1.0a1")
@example("1.0", "1.0+galaxy0")
@example("1.0+galaxy9", "1.0+galaxy10")
@example("1.0.post1", "1.0+x")
@example("1.10", "1.9")
def test_versions_are_in_the_order_of_pep_440(one: str, other: str) -> None:
    assert _sign(version_key(one), version_key(other)) == _sign(Version(one), Version(other))


@given(st.one_of(_versions, st.text("0123456789.abrc+-_!v \n", max_size=8), st.text()))
def test_what_is_a_version_is_told_from_what_is_none(text: str) -> None:
    try:
        Version(text)
    except InvalidVersion:
        assert version_key(text) < version_key("0.dev0")
    else:
        assert version_key(text) >= version_key("0.dev0")


@pytest.mark.parametrize(
    ("lower", "higher"),
    [
        ("release-9", "release-10"), ("2.0-x", "2.1-x"), ("x", "y"), ("1.0-beta-x", "1.0-x"),
        ("3.0.0-unknown", "0.1"), ("", "0"), ("1.0x.dev", "1.0x"),
    ],
)  # fmt: skip
def test_other_texts_are_compared_by_their_numbers_and_words(lower: str, higher: str) -> None:
    assert version_key(lower) < version_key(higher)


def test_a_number_of_any_length_is_compared() -> None:
    assert version_key("9" * 5000) < version_key("1")
    assert version_key("1" + "0" * 100) > version_key("9" * 100)
