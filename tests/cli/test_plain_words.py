"""What is read without argparse is what argparse reads."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rowtui.cli.main import plain_words
from rowtui.cli.parser import build_parser

PARSER = build_parser()
WORDS = """
    --all --completed --submitted --eligible --waiting --failed --no-header --json --short -a
    --action -n --n-groups --no-separate-groups --value --no-progress --clear-progress --watch
    -- - -v --color a3 /x 7 00 --elig --action=a -an dir 'd* é --cluster none
"""


@given(
    st.lists(st.sampled_from(["--no-progress", "--clear-progress"]), max_size=2),
    st.sampled_from(["status", "directories", "jobs"]),
    st.lists(st.sampled_from([*WORDS.split(), ""]), max_size=6),
)
def test_plain_words_mean_what_the_grammar_says(
    before: list[str], what: str, rest: list[str]
) -> None:
    words = [*before, "show", what, *rest]

    plain = plain_words(words)

    if plain is not None:
        full = vars(PARSER.parse_args(words))
        assert vars(plain).items() <= full.items()


def test_what_is_typed_all_day_is_plain() -> None:
    for line in (
        "show status --all", "show status dir1 dir2", "show status -a sample --eligible",
        "show directories", "show directories -a sample --eligible --value /T -n 3 dir1",
        "--no-progress show status dir1",
    ):  # fmt: skip
        assert plain_words(line.split()) is not None


def test_what_may_be_wrong_is_left_to_the_grammar() -> None:
    for line in (
        "", "--no-progress", "show", "status", "show jobs", "show status -a", "show status -n 3",
        "--cluster c show status",
        "show directories a -a b c", "show directories -n x", "show directories --cluster c",
    ):  # fmt: skip
        assert plain_words(line.split()) is None
