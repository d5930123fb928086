"""The stored outputs of `python -m tests.golden` are those of its table."""

from __future__ import annotations

from rowtui.cli.parser import build_parser

from tests.cli.test_grammar import commands as in_grammar
from tests.golden.__main__ import OUTPUTS, paths, stored_paths
from tests.golden.commands import WITH_HELP, commands


def test_each_output_of_the_table_is_stored_and_none_is_left_over() -> None:
    table = paths()
    assert len(set(table)) == len(table), "two commands have one path"
    assert stored_paths() == set(table), "`python -m tests.golden --store` stores them"


def test_the_table_has_at_least_sixty_commands_and_the_help_of_each_command() -> None:
    assert len(list(commands())) >= 60
    assert set(WITH_HELP) == {" ".join(words) for words, _ in in_grammar(build_parser())}


def test_the_stored_outputs_stay_small() -> None:
    assert sum(path.stat().st_size for path in OUTPUTS.rglob("*.txt")) < 1_700_000
