"""What tomlkit's own methods get wrong, and why `toml_edit` inserts into its tree.

A test that fails with a newer tomlkit: the part of `toml_edit` that it names can go.
"""

from __future__ import annotations

from typing import Any

import pytest
import tomli
import tomlkit


def with_threads(text: str) -> str:
    """The text in which tomlkit's public methods have added a setting to the first action."""
    document = tomlkit.parse(text)
    actions: Any = document["action"]
    actions[0].append(tomlkit.key(["resources", "threads"]), 3)
    return tomlkit.dumps(document)


def test_a_new_key_goes_behind_the_comment_of_the_next_table() -> None:
    text = "[[action]]\nname = 'a'\n\n# The second:\n[[action]]\nname = 'b'\n"
    assert "# The second:\nresources.threads = 3\n[[action]]" in with_threads(text)


def test_a_new_key_gets_a_line_end_of_its_own() -> None:
    assert with_threads("[[action]]\r\nname = 'a'\r\n").endswith("resources.threads = 3\n")
    assert with_threads("[[action]]\r\nname = 'a'").endswith("name = 'a'\nresources.threads = 3\n")


def test_a_new_key_is_not_indented_as_its_neighbours() -> None:
    assert with_threads("[[action]]\n  name = 'a'\n").endswith("\nresources.threads = 3\n")


def test_a_blank_line_comes_before_the_next_table() -> None:
    text = "[[action]]\nname = 'a'\n[action.group]\n"
    assert with_threads(text).endswith("\nresources.threads = 3\n\n[action.group]\n")


def test_a_dotted_key_in_an_inline_table_is_invalid() -> None:
    new = with_threads("action = [{name = 'a'}]\n")
    with pytest.raises(tomli.TOMLDecodeError):
        tomli.loads(new)


def test_a_removed_dotted_key_leaves_its_comma_in_an_inline_table() -> None:
    document = tomlkit.parse("a = {x = 1, b.c = 2, y = 3}\n")
    table: Any = document["a"]
    del table["b"]["c"]
    with pytest.raises(tomli.TOMLDecodeError):
        tomli.loads(tomlkit.dumps(document))


def test_a_removed_pair_of_an_inline_table_leaves_its_blanks() -> None:
    document = tomlkit.parse("a = { x = 1, y = 2 }\n")
    table: Any = document["a"]
    del table["x"]
    assert tomlkit.dumps(document) == "a = {  y = 2 }\n"


def test_a_table_in_several_parts_takes_no_dotted_key() -> None:
    text = "[a.b]\n[c]\n[a]\n"
    table: Any = tomlkit.parse(text)["a"]
    assert not hasattr(table, "append")


def test_a_new_header_repeats_the_comment_of_the_table_below() -> None:
    document = tomlkit.parse("[a.b.c]  # long\nd = 1\n")
    table: Any = document["a"]
    table["b"]["x"] = 2
    assert tomlkit.dumps(document).count("# long") == 2


def test_the_elements_of_an_array_are_moved_over_other_tables() -> None:
    text = "[[action]]\nname = 'a'\n[workspace]\n[[action]]\nname = 'b'\n"
    assert tomlkit.dumps(tomlkit.parse(text)) != text
