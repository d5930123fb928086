"""Which paths a pattern means, and which paths may be copied at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.mirror.model import (
    WantedFiles,
    complaint_about,
    distinct,
    is_below,
    is_relative,
    literal,
    matches,
)


@pytest.mark.parametrize(
    ("path", "pattern", "meant"),
    [
        ("a/b/x.log", "*.log", True),
        ("x.log/inside", "*.log", True),
        ("a/b/x.logs", "*.log", False),
        ("scripts/deep/er.py", "scripts/**", True),
        ("other/scripts/er.py", "scripts/**", False),
        ("scripts/er.py", "scripts/*.py", True),
        ("scripts/deep/er.py", "scripts/*.py", False),
        ("scripts/deep/er.py", "scripts/**/*.py", True),
        ("scripts/er.py", "scripts/**/*.py", True),
        ("deep/data", "/data", False),
        ("data/deep", "/data/", True),
        ("a\nb", "a?b", True),
        ("a/b", "a?b", False),
        ("[x]", "[x]", True),
        ("x", "[x]", False),
        (".hidden", "*", True),
    ],
)
def test_a_pattern_means_what_a_person_expects(path: str, pattern: str, meant: bool) -> None:
    assert matches(path, pattern) is meant


names = st.text(st.characters(exclude_characters="/\0"), min_size=1, max_size=6).filter(
    lambda name: name not in (".", "..")
)
paths = st.lists(names, min_size=1, max_size=3).map("/".join)


@given(paths, paths)
def test_the_literal_pattern_means_the_path_and_what_lies_in_it_alone(one: str, two: str) -> None:
    assert matches(two, literal(one)) is is_below(two, one)


@pytest.mark.parametrize(
    "path", ["", "/etc/passwd", "..", "a/../b", "a//b", "./a", "a/", "a\0b", "a/./b"]
)
def test_a_path_that_could_lead_out_of_the_project_is_none(path: str) -> None:
    assert not is_relative(path)


@given(paths)
def test_every_other_path_is_one(path: str) -> None:
    assert is_relative(path)


def test_patterns_out_of_the_project_are_complained_of() -> None:
    assert complaint_about("../x")
    assert complaint_about("/")
    assert complaint_about("a/\0")
    assert not complaint_about("/a/**")


def test_folders_within_folders_are_named_once() -> None:
    assert distinct(["b", "a/c", "a", "a-b", "a/c/d", "b"]) == ("a", "a-b", "b")
    assert distinct(["a", ""]) == ("",)


def test_only_is_read_from_each_folder_and_exclude_from_the_project() -> None:
    wanted = WantedFiles(
        ("ws/one", "ws/two"), only=("out.h5", "logs/**"), exclude=("/ws/two/logs",)
    )

    takes = wanted.taker()
    assert takes("ws/one/out.h5")
    assert takes("ws/one/logs/a/b")
    assert not takes("ws/two/logs/a")
    assert not takes("ws/three/out.h5")
    assert not takes("ws/one/in.h5")


def test_hidden_names_count_only_below_what_was_named() -> None:
    completed = WantedFiles((".row/completed",), hidden=False).taker()
    project = WantedFiles(("",), hidden=False).taker()

    assert completed(".row/completed/x")
    assert not completed(".row/completed/.x")
    assert not project(".row/completed/x")
    assert not project("a/.git/config")
    assert project("a/b")


def test_our_own_files_in_a_copy_are_never_taken() -> None:
    assert not WantedFiles(("",)).taker()("a/.rowtui-part/b")
    assert not WantedFiles(("",)).taker()(".rowtui-copy")
