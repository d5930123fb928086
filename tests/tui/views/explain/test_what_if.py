"""The form's texts become a question, key by key, and a change becomes texts again."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.text import visible
from rowtui.core.mapping.model.request import Amounts, WhatIf
from rowtui.core.project.views.views import WhatIfRequest
from rowtui.tui.views.explain.what_if import STRENGTHS, banner, known_names, read_form, with_change
from rowtui.tui.widgets.cells import plain

from tests.tui.sample_mapping import decision_of, mapper_of


def change(**texts: str) -> WhatIf:
    """What the fields ask, all of which can be read."""
    typed = read_form(texts)
    assert typed.wrong == ()
    assert typed.asked is not None
    return typed.asked.change


def test_an_empty_form_asks_nothing() -> None:
    assert read_form({}) == (None, ())
    assert read_form({"cores": "  ", "tags": ""}) == (None, ())


@pytest.mark.parametrize(
    ("text", "gigabytes"),
    [("64", 64), ("64G", 64), ("1.5 TB", 1536), ("512m", 0.5), (".5", 0.5), ("0", 0)],
)
def test_memory_may_have_a_unit(text: str, gigabytes: float) -> None:
    assert change(mem=text) == WhatIf(Amounts(mem=gigabytes))


@pytest.mark.parametrize(
    ("text", "seconds"), [("04:00:00", 14_400), ("4h", 14_400), ("30m", 1_800), ("2D", 172_800)]
)
def test_a_walltime_is_written_as_elsewhere_or_in_short(text: str, seconds: int) -> None:
    assert change(walltime=text) == WhatIf(walltime_seconds=seconds)


def test_tags_are_added_with_a_strength_and_dropped() -> None:
    assert change(tags="+gpu +fast=prefer -highmem -'two words'") == WhatIf(
        add_tags=(("gpu", "require"), ("fast", "prefer")), drop_tags=("highmem", "two words")
    )


def test_another_user_with_these_roles_or_with_none() -> None:
    asked = WhatIfRequest(user="bob", roles=("a", "b", "c"))
    assert read_form({"user": " bob ", "roles": "a, b c"}).asked == asked
    assert read_form({"roles": "-"}).asked == WhatIfRequest(roles=())


@pytest.mark.parametrize(
    ("field", "text", "sentence"),
    [
        ("cores", "8x", "8x is not a number"),
        ("cores", "nan", "nan is not a number"),
        ("cores", "9" * 400, "more than there is"),
        ("mem", "8 cups", "8 cups is not 64, 1.5T or 800M"),
        ("walltime", "soon", "soon is not like 04:00:00"),
        ("tags", "gpu", "gpu: +tag adds a tag"),
        ("tags", "+", "+: +tag adds a tag"),
        ("tags", "+gpu=pre", "after = comes require"),
        ("tags", "-'two", "a quote is still open"),
    ],
)
def test_what_cannot_be_read_is_told_and_the_rest_counts(
    field: str, text: str, sentence: str
) -> None:
    typed = read_form({field: text, "user": "bob"})
    assert typed.asked == WhatIfRequest(user="bob")
    [(where, why)] = typed.wrong
    assert where == field
    assert sentence in why


@given(st.dictionaries(st.sampled_from(["cores", "mem", "walltime", "tags", "roles"]), st.text()))
def test_nothing_that_is_typed_breaks_the_form(texts: dict[str, str]) -> None:
    for _, sentence in read_form(texts).wrong:
        assert sentence.isprintable()


amounts = st.none() | st.integers(0, 10**6) | st.floats(0.5, 1000).map(lambda each: round(each, 2))
tags = st.text(min_size=1, max_size=12)


@given(
    st.builds(Amounts, amounts, amounts, amounts),
    st.none() | st.integers(1, 90 * 86_400),
    st.lists(tags, unique_by=visible, max_size=4),
    st.lists(st.sampled_from(STRENGTHS), min_size=4, max_size=4),
)
def test_a_change_put_into_the_form_is_read_back_as_it_was(
    changed: Amounts, walltime: int | None, names: list[str], strengths: list[str]
) -> None:
    half = len(names) // 2
    wanted = WhatIf(
        changed,
        walltime,
        tuple(names[:half]),
        tuple(zip(names[half:], strengths, strict=False)),
    )
    typed = read_form(with_change({}, wanted), names)
    assert typed.wrong == ()
    assert (typed.asked or WhatIfRequest()).change == wanted


def test_a_second_change_joins_the_first_and_is_not_there_twice() -> None:
    texts = with_change({"cores": "8"}, WhatIf(drop_tags=("a b",)))
    texts = with_change(texts, WhatIf(Amounts(mem=4), drop_tags=("a b",)))
    assert texts["cores"] == "8"
    assert texts["mem"] == "4"
    assert shlex.split(texts["tags"]) == ["-a b"]


def test_the_banner_says_from_what_to_what_and_that_nothing_of_it_is_submitted() -> None:
    job = decision_of(mapper_of(), "equilibrate", ["d"] * 9)
    asked = WhatIfRequest(
        WhatIf(Amounts(cores=8, gpus=1), 7_200, ("x\x1b",), (("fast", "require"),)), "bob", ()
    )
    assert plain(banner(asked, job)) == (
        " WHAT IF  not part of the plan: 8 CPUs instead of 16, 1 GPU, 2 h instead of 4 h,"
        " with the tag fast (require), without the tag x\\x1b, as user bob, roles none"
    )


def test_names_that_a_decision_speaks_of_are_known() -> None:
    names = known_names(decision_of(mapper_of(), "equilibrate", ["d"] * 9))
    assert {"highmem", "fast", "offline", "owned", "gpu", "physics", "gpu-users"} <= names
