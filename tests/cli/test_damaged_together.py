from __future__ import annotations

from tests.cli.conftest import Shell
from tests.cli.damaged_together import forgotten, made_project


def test_two_commands_that_find_the_same_damage_forget_no_completion(empty_folder: Shell) -> None:
    made_project(empty_folder)
    assert forgotten(empty_folder, 10) == []
