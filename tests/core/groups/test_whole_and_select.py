"""submit_whole skips what is not whole; patterns name actions; nothing is submitted twice."""

from __future__ import annotations

import fnmatch
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.text import Cost
from rowtui.core.engine.api.groups import GroupSummary
from rowtui.core.engine.local.group_rows import GroupRows
from rowtui.core.groups import choice as whole_module
from rowtui.core.groups.choice import Duplicate, duplicates
from rowtui.core.groups.form import cut_groups
from rowtui.core.groups.model import Group
from rowtui.core.workflow.find import matches, matching_actions
from rowtui.core.workflow.model import Action, Workflow

from tests.core.groups.memory import MemoryDirectories, action, form_groups, numbered

TEN = numbered([{"T": i // 4} for i in range(10)])
SPLIT = action("run", sort_by=("/T",), split_by_sort_key=True, submit_whole=True)
WHOLE = form_groups(SPLIT, TEN, 0b1111111111)


def whole_groups(eligible: Any, whole: Any, directories: Any) -> tuple[Any, tuple[str, ...]]:
    kept, left_out = whole_module.whole_groups(eligible, whole, directories)
    return kept, tuple(it.sentence for it in left_out)


def test_groups_that_are_whole_are_kept_and_the_others_skipped_with_a_reason() -> None:
    eligible = form_groups(SPLIT, TEN, 0b1011110001)

    kept, skipped = whole_groups(eligible, WHOLE, TEN)

    assert [group.indices for group in kept] == [(4, 5, 6, 7)]
    assert skipped == (
        "action 'run' on directory 'd000' is skipped, because submit_whole is set and"
        " 3 directories of the whole group are not eligible or not chosen ('d001', ...)",
        "action 'run' on directory 'd009' is skipped, because submit_whole is set and"
        " 1 directory of the whole group is not eligible or not chosen ('d008')",
    )


def test_when_all_are_whole_nothing_is_skipped() -> None:
    assert whole_groups(WHOLE, WHOLE, TEN) == (WHOLE, ())
    assert whole_groups((), WHOLE, TEN) == ((), ())


def test_a_group_that_straddles_two_whole_groups_is_skipped() -> None:
    chunks = action("run", maximum_size=2)
    whole = form_groups(chunks, TEN, 0b1111)
    kept, skipped = whole_groups(form_groups(chunks, TEN, 0b1110), whole, TEN)
    assert kept == ()
    assert skipped[0].startswith("action 'run' on directory 'd001' and 1 more is skipped")
    assert skipped[0].endswith("its directories belong to 2 different whole groups")
    assert skipped[1].endswith(
        "1 directory of the whole group is not eligible or not chosen ('d002')"
    )


def test_the_same_directories_repeated_are_not_the_whole_group() -> None:
    twice = (Group(SPLIT, (8, 8, 9)),)
    kept, skipped = whole_groups(twice, WHOLE, TEN)
    assert kept == ()
    assert skipped[0].endswith("in another order or number")


def test_names_in_a_reason_are_made_visible() -> None:
    directories = MemoryDirectories({"\x1b[2J": 1, "b": 1})
    whole = (Group(action("x\n"), (0, 1)),)
    _, skipped = whole_groups((Group(action("x\n"), (0,)),), whole, directories)
    assert skipped[0].isprintable()


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("", "", True),
        ("", "a", False),
        ("*", "", True),
        ("**", "any\nthing", True),
        ("?", "", False),
        ("?", "é", True),
        ("a*", "a", True),
        ("a*c", "abcabc", True),
        ("a*c", "abcab", False),
        ("*b*", "abc", True),
        ("A", "a", False),
        ("[ab]", "a", False),
        ("[ab]", "[ab]", True),
        ("a?c*", "abcd", True),
        ("two", "two2", False),
    ],
)
def test_a_pattern_matches_the_whole_name(pattern: str, name: str, expected: bool) -> None:
    assert matches(pattern, name) is expected


@given(st.text("ab*?", max_size=6), st.text("ab", max_size=8))
def test_patterns_are_those_of_the_shell_without_brackets(pattern: str, name: str) -> None:
    assert matches(pattern, name) == fnmatch.fnmatchcase(name, pattern)


def test_a_hostile_pattern_takes_no_exponential_time() -> None:
    assert not matches("*a" * 50 + "b", "a" * 2000)


def test_matching_actions_come_in_file_order() -> None:
    actions = tuple(Action(i, name, "c") for i, name in enumerate(["two", "one", "two", "three"]))
    workflow = Workflow(Path("/p"), actions=actions)
    assert [found.index for found in matching_actions(workflow, "t*")] == [0, 2, 3]
    assert matching_actions(workflow, "none") == ()
    assert matching_actions(workflow, None) == actions


def test_a_directory_in_two_groups_of_one_name_is_found() -> None:
    first, second = Action(0, "a", "c"), Action(1, "a", "c")
    other = Action(2, "b", "c")
    groups = [Group(first, (3, 1)), Group(second, (1, 2, 2)), Group(other, (1,))]
    found = duplicates(groups)
    assert found == (Duplicate("a", 1, 2), Duplicate("a", 2, 2))
    assert found[0].sentence(TEN) == (
        "directory 'd001' would be submitted multiple times (2) for action 'a'"
    )
    assert duplicates(groups[:1]) == ()


@given(st.integers(1, 1023), st.integers(1, 1023), st.booleans(), st.sampled_from((None, 1, 2, 3)))
def test_the_rows_of_a_list_have_the_reasons_of_a_plan(
    included: int, eligible: int, split: bool, most: int | None
) -> None:
    one = action("run", sort_by=("/T",), split_by_sort_key=split, maximum_size=most)
    every = cut_groups(one, TEN, included)
    cut = cut_groups(one, TEN, included & eligible)
    project: Any = SimpleNamespace(state=SimpleNamespace(directories=TEN))
    rows = [GroupSummary(at + 1, 1, "", "", 1, 1, 0, 1, Cost()) for at in range(len(cut))]

    told = GroupRows(project)._whole_or_not(cut, range(len(cut)), rows, every)

    _, left_out = whole_module.whole_groups(cut.page(), every.page(), TEN)
    reasons = {it.group.indices: it.reason for it in left_out}
    assert [row.problem for row in told] == [reasons.get(it.indices, "") for it in cut.page()]
