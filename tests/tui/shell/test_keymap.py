"""A person's own keys: what is taken, who keeps a key that two want, and what is said."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rowtui.tui.commands.command import NO_KEY
from rowtui.tui.commands.registry import BY_ID, COMMANDS
from rowtui.tui.line.verbs import keys_page
from rowtui.tui.shell.keymap import (
    MERGED,
    MOVED,
    bound,
    checked_keymap,
    every_binding,
    load_keymap,
    normal,
    why_no_key,
)
from rowtui.tui.shell.own_commands import load_own_commands


def test_every_binding_of_every_screen_and_widget_has_an_id_and_a_tooltip() -> None:
    seen = list(every_binding())
    assert {"HelpScreen", "ConfirmScreen", "LineInput", "VirtualTable"} <= {
        owner.__name__ for owner, _ in seen
    }
    for owner, binding in seen:
        assert binding.id, f"{owner.__name__}: {binding.key}"
        assert re.fullmatch(r"[a-z0-9.-]+", binding.id), binding.id
        assert binding.tooltip, f"{owner.__name__}: {binding.id}"
        assert binding.description, f"{owner.__name__}: {binding.id}"


def test_what_is_usual_needs_no_entry_and_has_no_conflict() -> None:
    assert checked_keymap({}) == ({}, {})
    usual = {command.id: command.keys for command in COMMANDS if command.shown_keys}
    assert checked_keymap(usual) == ({}, {})


def test_entries_are_checked_one_by_one() -> None:
    good, wrong = checked_keymap(
        {
            "app.quit": "ctrl+q",
            "app.quti": "x",
            "nonsense.verb": "x",
            "app.help": 3,
            "app.copy": "f4,hyperspace",
            "help": {"close": "x"},
        }
    )
    assert good == {"app.quit": "ctrl+q", "app.copy": "f4", "help.close": "x"}
    assert list(wrong) == [
        "there is no command 'app.quti'; did you mean 'app.quit'?",
        "there is no command 'nonsense.verb'",
        "app.help: keys are a text such as 'ctrl+s,s'",
        "app.copy: 'hyperspace' is no key; did you mean 'space'?",
    ]


def test_a_key_that_a_person_gives_away_is_lost_by_who_had_it() -> None:
    free, wrong = checked_keymap({"groups.explain": "R"})
    assert free == {"groups.explain": "R", "groups.retry": NO_KEY}
    assert list(wrong) == ["R is wanted twice: groups.explain keeps it, not groups.retry, "
                     "which has no key now"]  # fmt: skip
    # whoever has another key keeps that
    shared, wrong = checked_keymap({"app.theme": "g"})
    assert shared["list.first"] == "home"
    assert any("app.theme keeps it, not list.first" in text for text in wrong)


def test_ids_that_were_merged_give_their_keys_to_the_command_that_is_left(tmp_path: Path) -> None:
    for name, left in MERGED.items():
        assert name not in BY_ID
        assert set(left) <= BY_ID.keys()
        keys, wrong = checked_keymap({name: "f9"})
        assert wrong == {}
        assert all(keys[one].split(",")[-1] == "f9" for one in left)
        assert all(BY_ID[one].keys.split(",")[0] == keys[one].split(",")[0] for one in left)
    assert checked_keymap({"queue.others": "M", "queue.everybody": "f9"})[0] == {
        "queue.others": "M,f9"
    }
    (tmp_path / "keys.toml").write_text('"queue.everybody" = "f9"\n')
    assert "  queue.everybody is now queue.others" in keys_page(load_keymap(tmp_path))


def test_keys_that_moved_name_commands_that_do_not_have_them() -> None:
    for view, moved in MOVED.items():
        for key, name in moved.items():
            command = BY_ID[name]
            assert key not in command.keys.split(","), name
            assert command.scope in (view, "app"), name


def test_of_two_wishes_for_one_key_the_first_is_kept() -> None:
    keys, wrong = checked_keymap({"queue.cancel": "f7", "app.refresh": "f7,f8"})
    assert keys == {"queue.cancel": "f7", "app.refresh": "f8"}
    assert list(wrong) == ["f7 is wanted twice: queue.cancel keeps it, not app.refresh"]


def test_keys_that_change_places_are_no_conflict() -> None:
    there, here = BY_ID["groups.mark-all"].keys, BY_ID["groups.filter"].keys
    keys, wrong = checked_keymap({"groups.mark-all": here, "groups.filter": there})
    assert wrong == {}
    assert (keys["groups.mark-all"], keys["groups.filter"]) == (here, there)


def test_the_same_key_in_two_views_is_no_conflict() -> None:
    assert checked_keymap({"queue.cancel": "f9", "groups.submit": "f9"})[1] == {}


@pytest.mark.parametrize("key", ["a", "?", "ctrl+s", "ctrl+shift+left", "f12", "at", "space", "é"])
def test_keys_that_there_are(key: str) -> None:
    assert why_no_key(key) == ""


@pytest.mark.parametrize("key", ["ctrl+", "strg+s", "hyperspace", " ", "ctrl+s+s", "\x1b"])
def test_keys_that_there_are_not(key: str) -> None:
    assert "no key" in why_no_key(key) or "blank" in why_no_key(key)


def test_characters_have_the_names_that_textual_gives_them() -> None:
    assert normal("?") == "question_mark"
    assert normal("ctrl+?") == "ctrl+question_mark"
    assert normal("A") == "A"
    assert {key for one in bound().values() for key in one.keys if len(key) == 1 and
            not key.isalnum()} == set()  # fmt: skip


def test_the_page_says_where_the_keys_are_and_what_became_of_them(tmp_path: Path) -> None:
    assert "no such file yet" in keys_page(load_keymap(tmp_path))[0]
    (tmp_path / "keys.toml").write_text('"queue.cancel" = "ctrl+x"\n"no.such" = "x"\n')
    text = "\n".join(keys_page(load_keymap(tmp_path)))
    assert str(tmp_path / "keys.toml") in text
    assert re.search(r"queue\.cancel +ctrl\+x +instead of c\n", text)
    assert "there is no command 'no.such'" in text
    (tmp_path / "keys.toml").write_text("not toml")
    assert load_keymap(tmp_path).wrong[0].startswith("keys.toml: ")
    (tmp_path / "keys.toml").write_text("x = " + "[" * 1000)
    assert "nested" in load_keymap(tmp_path).wrong[0]
    assert keys_page(load_keymap(None))[0].startswith("Keys cannot be changed")


EXAMPLE = re.compile(r"^```toml\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["keys.md", "views/keys-and-commands.md"])
def test_no_key_of_an_example_of_the_documentation_is_in_use(page: str, tmp_path: Path) -> None:
    keys, commands = tmp_path / "keys.toml", tmp_path / "commands.toml"
    examples = EXAMPLE.findall((Path(__file__).parents[3] / "docs" / page).read_text())
    assert examples
    for example in examples:
        (commands if "[[command]]" in example else keys).write_text(example)
    assert load_keymap(tmp_path).wrong == ()
    assert load_own_commands(tmp_path, load_keymap(tmp_path).keys)[1] == ()
