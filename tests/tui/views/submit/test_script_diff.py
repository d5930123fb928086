"""Two scripts as a difference."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.project.review.script_diff import difference, folded
from rowtui.tui.views.submit.script import diff_lines
from rowtui.tui.widgets.cells import plain

SCRIPT = """#!/bin/bash
#SBATCH --job-name=one-{first}
#SBATCH --output=one-%j.out
#SBATCH --time={time}

directories=(
{first}
'b c'
)

rowtui_token={token}
rowtui_products=(x)
rowtui_directories=("${{directories[@]}}")
{rest}"""


def script(first: str = "a", time: int = 5, token: str = "t1", rest: str = "true\n" * 9) -> str:
    return SCRIPT.format(first=first, time=time, token=token, rest=rest)


def test_what_always_differs_is_one_quiet_line() -> None:
    found = difference(script(), script("z", 5, "t2"))
    assert (found.changes, found.quiet) == (0, "other job name, directories and token")
    array = difference(script(), script().replace("one-%j", "one-%A_%a"))
    assert (array.changes, array.quiet) == (0, "")


def test_what_changed_stands_among_some_lines_and_the_rest_is_counted() -> None:
    shown = [plain(it) for it in diff_lines(difference(script(), script(time=60)))]
    assert "- #SBATCH --time=5" in shown
    assert "+ #SBATCH --time=60" in shown
    assert "  directories=( a 'b c' )" in shown
    assert any("unchanged lines" in text for text in shown)


lines = st.lists(st.sampled_from(["a", "b", "c", ")", "", "x=("]), max_size=12).map("\n".join)


@given(lines, lines)
def test_without_what_is_gone_it_is_the_new_script_and_folding_loses_no_line(
    old: str, new: str
) -> None:
    found = difference(old, new)
    assert [it.text for it in found.parts if it.kind != "gone"] == new.splitlines()
    shown = folded(found.parts)
    assert sum(it.lines if it.kind == "fold" else 1 for it in shown) == len(found.parts)


def test_a_script_of_thousands_of_other_lines_is_cut() -> None:
    old, new = ("\n".join(f"{word} {n}" for n in range(5000)) for word in "ab")
    assert len(diff_lines(difference(old, new))) < 500
