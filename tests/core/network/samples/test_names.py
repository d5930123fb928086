"""Names of samples' directories: readable, injective, stable, and safe wherever they end up."""

from __future__ import annotations

import itertools
import re
import shlex
import subprocess
import unicodedata
from array import array
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rowtui.core.base.errors import RowtuiError
from rowtui.core.network.samples.names import (
    CUT,
    JSON,
    LONGEST,
    case_collisions,
    escaped,
    names_of,
    text_of,
)

from tests.core.network.sample_names import sample_name, unescaped, value_of

# Lone surrogates too: what os.fsdecode makes of bytes that are not UTF-8.
texts = st.text(st.characters() | st.sampled_from(",=%/~.- '\"$`\n0AD1é\u0301\u0307\udcff"))
scalars = (
    texts
    | st.sampled_from(["1", "1.0", "true", "null", "-0", "1e5", "%", "", "007", ".", "..", "-x"])
    | st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5, "5"),
        (1.0, "1.0"),
        (1e-6, "1e-06"),
        (-0.5, "-0.5"),
        (True, "true"),
        (False, "false"),
        (None, "null"),
        ("lung", "lung"),
        ("left lung", "left%20lung"),
        ("a/b", "a%2Fb"),
        ("50%", "50%25"),
        ("1", "%31"),
        ("-2.5e+3", "%2D2.5e+3"),
        ("true", "%74rue"),
        ("null", "%6Eull"),
        ("007", "007"),  # no number of JSON: it may stay as it is
        ("1.2.3", "1.2.3"),
        ("", "%"),
        ("..", "%2E."),
        ("-rf", "%2Drf"),
        ("Zürich", "Zürich"),
        ("Zu\u0308rich", "Zu%CC%88rich"),
        ("日本", "日本"),
        ("a\u202eb", "a%E2%80%AEb"),
        ("\udcff", "%ED%B3%BF"),
    ],
)
def test_each_value_has_a_text_that_people_can_read(value: object, text: str) -> None:
    assert text_of(value) == text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [1], {}, 2**64, -(2**63) - 1])
def test_what_no_value_file_can_hold_as_a_dimension_has_no_text(value: object) -> None:
    with pytest.raises(RowtuiError, match="no directory can be named after"):
        text_of(value)


def test_a_name_says_the_home_and_each_dimension() -> None:
    assert sample_name("average", ["temperature", "replica"], [1.0, 0]) == (
        "average,temperature=1.0,replica=0"
    )
    assert sample_name("plot", [], []) == "plot"


@given(scalars)
def test_a_text_gives_its_value_back(value: object) -> None:
    back = value_of(text_of(value))

    assert type(back) is type(value)
    assert repr(back) == repr(value)  # -0.0 is not 0.0 here


samples = st.tuples(texts, st.lists(st.tuples(texts, scalars), max_size=3))


@given(samples, samples)
def test_different_samples_have_different_names(one: object, other: object) -> None:
    names = [sample_name(home, [d for d, _ in of], [v for _, v in of]) for home, of in (one, other)]

    assert (names[0] == names[1]) == (repr(one) == repr(other))


def read_name(name: str) -> tuple[str, dict[str, JSON]] | None:
    """Home and values that a name stands for; None for one that was cut, and for others' names."""
    if CUT in name:
        return None
    home, *parts = name.split(",")
    pairs = [part.partition("=") for part in parts]
    try:
        read = unescaped(home), {unescaped(d): value_of(text) for d, _, text in pairs}
    except ValueError:
        return None
    return read if sample_name(read[0], list(read[1]), list(read[1].values())) == name else None


@given(texts, st.dictionaries(texts, scalars, max_size=3))
def test_a_whole_name_is_read_back(home: str, values: dict[str, object]) -> None:
    name = sample_name(home, list(values), list(values.values()))

    if "~" in name:
        assert read_name(name) is None
    else:
        read = read_name(name)
        assert read is not None
        assert repr(read) == repr((home, values))


@given(st.text(st.sampled_from("a,=%2E~.1é")))
def test_a_name_that_reads_is_the_name_of_what_was_read(name: str) -> None:
    read = read_name(name)

    if read is not None:
        home, values = read
        assert sample_name(home, list(values), list(values.values())) == name


@given(texts, texts, scalars)
@example("h", "d", "-\u0307x")  # the D of %2D would become one letter with the dot above
@example("h", "d", "\u0338x")  # so would the = before it
@example("h", "d", "*\u0301")
def test_names_are_the_same_to_file_systems_that_normalise(h: str, d: str, v: object) -> None:
    name = sample_name(h, [d], [v])

    assert unicodedata.normalize("NFC", name) == name


@given(texts, texts, scalars)
def test_names_need_no_quotes_and_hide_nothing(home: str, dimension: str, value: object) -> None:
    name = sample_name(home, [dimension], [value])

    assert re.fullmatch(r"[A-Za-z0-9_+@.,=%~-]*", re.sub(r"[^\x00-\x7f]", "", name))
    assert not name.startswith(("-", "."))
    assert name.isprintable() or any(unicodedata.category(char) == "Cn" for char in name)
    assert shlex.split(name) == [name]


@given(texts.filter(bool))
def test_the_text_of_a_string_stays_inside_its_folder(text: str) -> None:
    assert "/" not in text_of(text)
    assert text_of(text) not in ("", ".", "..")


@given(st.text(min_size=60, max_size=400), st.integers())
def test_a_long_name_is_cut_where_it_can_be_read(value: str, seed: int) -> None:
    name = sample_name("home", ["d"], [value])

    assert len(name.encode()) <= LONGEST
    if "~" in name:
        kept, _, digest = name.partition("~")
        assert re.fullmatch("[0-9a-f]{16}", digest)
        assert not re.search("%.?$", kept)
        assert len(kept.encode()) > LONGEST - 17 - 4
        assert sample_name("home", ["d"], [value + "!"]) != name


def test_long_names_that_begin_alike_differ() -> None:
    names = {sample_name("home", ["d"], ["x" * 300 + str(n)]) for n in range(1000)}

    assert len(names) == 1000


def test_a_name_of_just_the_longest_length_is_whole() -> None:
    whole = sample_name("h", ["d"], ["x" * (LONGEST - 4)])
    cut = sample_name("h", ["d"], ["x" * (LONGEST - 3)])

    assert len(whole) == LONGEST
    assert "~" not in whole
    assert "~" in cut


columns = st.lists(st.lists(scalars, min_size=1, max_size=4, unique_by=repr), max_size=3)


@given(texts, columns)
def test_many_names_at_once_are_the_names_one_by_one(home: str, values: list[list[object]]) -> None:
    # Given every combination of the values, as positions in arrays of different kinds
    rows = list(itertools.product(*(range(len(column)) for column in values)))
    codes = [[row[d] for row in rows] for d in range(len(values))]
    kinds = (list, lambda column: array("i", column), lambda column: np.array(column, np.int32))
    dimensions = [f"{home}{d}" for d in range(len(values))]

    names = names_of(
        home,
        dimensions,
        [(column, kinds[d](codes[d])) for d, column in enumerate(values)],
    )

    assert names == [
        sample_name(home, dimensions, [column[at] for column, at in zip(values, row, strict=True)])
        for row in rows
    ]


def test_no_samples_have_no_names() -> None:
    assert names_of("h", ["d"], [((), ())]) == []


def test_names_that_differ_in_case_alone_are_told_in_pairs() -> None:
    names = [
        "run,a=x",
        "run,a=y",
        "run,a=X",
        "Run,a=x",
        "run,a=ß",
        "run,a=SS",
        "run,a=É",
        "run,a=é",
    ]

    assert case_collisions(names) == [
        ("run,a=x", "run,a=X"),
        ("run,a=x", "Run,a=x"),
        ("run,a=ß", "run,a=SS"),
        ("run,a=É", "run,a=é"),
    ]
    assert case_collisions(names[:2]) == []


def test_composed_and_decomposed_letters_collide() -> None:
    assert case_collisions(["\u00c9", "e\u0301"]) == [("\u00c9", "e\u0301")]


@given(st.lists(st.sampled_from(["a", "A", "b", "B", "é", "É", "ǅ", "ǆ"]), max_size=8))
def test_a_collision_is_found_exactly_where_folded_names_meet(names: list[str]) -> None:
    folded = [name.casefold() for name in names]

    assert len(case_collisions(names)) == len(names) - len(set(folded))


@given(st.lists(texts, min_size=1, max_size=5))
def test_directories_of_any_values_can_be_made_and_listed(
    tmp_path_factory: pytest.TempPathFactory, values: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("w")
    names = {sample_name("h", ["d"], [value]) for value in values}

    for name in names:
        (folder / name).mkdir()

    assert {path.name for path in folder.iterdir()} == names


def test_a_shell_takes_a_name_as_one_word_as_it_stands(tmp_path: Path) -> None:
    value = "a'b\"c$(touch x)`id`; rm -rf * ~ #!&|<>(){}[]?\\\n\t\x1b"
    name = sample_name("-h", ["d"], [value])

    said = subprocess.run(
        ["bash", "-c", f"printf %s {name}"], cwd=tmp_path, capture_output=True, text=True
    )

    assert said.stdout == name
    assert read_name(name) == ("-h", {"d": value})


def test_a_home_keeps_its_name_if_it_reads_like_a_number() -> None:
    assert escaped("5") == "5"
    assert read_name("5,true=%31") == ("5", {"true": "1"})
