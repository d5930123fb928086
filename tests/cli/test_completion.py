"""What a shell is told to complete."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Shell


def completed(rowtui: Shell, line: str) -> list[str]:
    rowtui(
        cluster=None,
        _ARGCOMPLETE="1",
        _ARGCOMPLETE_STDOUT_FILENAME=str(rowtui.folder / "answer"),
        COMP_LINE=line,
        COMP_POINT=str(len(line)),
        _ARGCOMPLETE_IFS="\n",
    )
    return (rowtui.folder / "answer").read_text().split("\n")


def test_the_first_words_are_commands_and_options_come_after_a_minus(rowtui: Shell) -> None:
    found = completed(rowtui, "rowtui ")
    assert {"show", "submit", "plan"} <= {word.strip() for word in found}
    assert not [word for word in found if word.startswith("-")]
    assert {"--version", "--verbose"} <= set(completed(rowtui, "rowtui --ver"))


@pytest.mark.parametrize(
    "before", ["", "cd study && ", "NAME=1 ", "A=b C=d ", "true; /opt/bin/", "x | NAME='a' "]
)
def test_what_stands_before_the_command_does_not_matter(rowtui: Shell, before: str) -> None:
    assert completed(rowtui, f"{before}rowtui submit -a t") == ["two", "three"]
    assert completed(rowtui, f"{before}rowtui show directories dir1") == ["dir1 "]


def test_pointers_are_those_of_the_values(rowtui: Shell) -> None:
    assert completed(rowtui, "rowtui show directories --value /v") == ["/v", "/v2"]


def test_schemas_are_completed_by_their_names(rowtui: Shell) -> None:
    assert completed(rowtui, "rowtui schema wor") == ["workflow "]
