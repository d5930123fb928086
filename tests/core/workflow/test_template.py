from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.workflow.template import PartKind, TemplateError, TemplatePart, parse_command

TEXT = PartKind.TEXT


def written(command: str) -> str:
    """The parts put together as Row 1.1 puts them in its loop or its single command."""
    names = {
        PartKind.DIRECTORY: "$directory",
        PartKind.DIRECTORIES: '"${directories[@]}"',
        PartKind.WORKSPACE_PATH: "workspace",
    }
    return "".join(
        part.text
        if part.kind is TEXT
        else f"<{part.text}>"
        if part.kind is PartKind.VALUE
        else names[part.kind]
        for part in parse_command(command).parts
    )


# Recorded from Row 1.1.0 (values are shown in <>).
ACCEPTED = {
    "echo {directory}": "echo $directory",
    'echo "{directory}"': 'echo "$directory"',
    "{directory} {directory}": "$directory $directory",
    "\\{directory}": "\\$directory",
    "{directory} }": "$directory }",
    "{directory} {": "$directory {",
    "{{directory}": "{$directory",
    "{ {directory}": "{ $directory",
    "{directory} }{": "$directory }{",
    "{workspace_path}/{directory}": "workspace/$directory",
    "a\n{directory}\nb": "a\n$directory\nb",
    "{directory} {/x}{/y z} {}": "$directory </x></y z> <>",
    "{directory} {}}": "$directory <>}",
    "{directory} ${}": "$directory $<>",
    "{directory} {/x {/s}": "$directory </x {/s>",
    "{directory} {/x": "$directory {/x",
    "{directory} {/a\nb}": "$directory </a\nb>",
    "echo {directories}": 'echo "${directories[@]}"',
    "{directories} {foo} ${HOME}": '"${directories[@]}" {foo} ${HOME}',
    "{directories} awk '{print $1}'": "\"${directories[@]}\" awk '{print $1}'",
    "{{directories}}": '{"${directories[@]}"}',
    "{{workspace_path}} {directories}": '{workspace} "${directories[@]}"',
    "{workspace_path {directories}}": '{workspace_path "${directories[@]}"}',
    "{directories} {x/}": '"${directories[@]}" {x/}',
}
REFUSED = {
    "": "neither",
    "echo": "neither",
    "{workspace_path}": "neither",
    "{/x}": "neither",
    "{ directory}": "neither",
    "{directory} {directories}": "both",
    "{directories} {/x}": "value template",
    "{directories} {}": "value template",
    "{directories} {/x ": "value template",
    "{directories} {a{}": "value template",
    "xargs -I{} echo {} {directories}": "value template",
    "{directory} ${HOME}": "{HOME}",
    "{directory} {foo}": "{foo}",
    "{directory} { }": "{ }",
    "{directory} {\n}": "{\\n}",
    "{directory} {1..3}": "{1..3}",
    "awk '{print $1}' {directory}": "{print $1}",
    "{{directory}}": "{{directory}}",
    "{ {directory} }": "{ {directory} }",
    "{{directory} {/x}": "{{directory}",
    "{directory} {{}": "{{}",
    "{directory} {a{/x}": "{a{/x}",
    "{{workspace_path} {directory}": "{{workspace_path}",
    "{directory} {action_name}": "{action_name}",
}


@pytest.mark.parametrize(("command", "script"), ACCEPTED.items())
def test_commands_come_apart_as_row_expands_them(command: str, script: str) -> None:
    assert written(command) == script


@pytest.mark.parametrize(("command", "words"), REFUSED.items())
def test_commands_that_row_refuses_are_refused_with_a_hint(command: str, words: str) -> None:
    with pytest.raises(TemplateError) as caught:
        parse_command(command)
    assert words in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("{directory} ${HOME}", "write $HOME"),
        ("{directory} {directoy}", "did you mean 'directory'?"),
        ("{directory} {temperature}", "write {/temperature}"),
        ("{directory} {action_name}", "$ACTION_NAME"),
        ("{directory} {print $1}", "script"),
    ],
)
def test_the_hint_knows_what_was_probably_meant(command: str, hint: str) -> None:
    with pytest.raises(TemplateError) as caught:
        parse_command(command)
    assert hint in caught.value.hint


def test_pointers_are_named_once_each_in_order() -> None:
    command = parse_command("{directory} {/b} {/a} {} {/b}")
    assert command.pointers == ("/b", "/a", "")
    assert command.kind is PartKind.DIRECTORY
    assert parse_command("{directories}").parts == (TemplatePart(PartKind.DIRECTORIES),)


@given(
    st.lists(
        st.sampled_from(
            ["{directory}", "{directories}", "{workspace_path}", "{/x}", "{}", "{", "}", "a ", "\n"]
        ),
        max_size=8,
    )
)
def test_the_parts_of_an_accepted_command_make_up_the_command(pieces: list[str]) -> None:
    text = "".join(pieces)
    try:
        command = parse_command(text)
    except TemplateError:
        return
    back = {
        PartKind.DIRECTORY: "{directory}",
        PartKind.DIRECTORIES: "{directories}",
        PartKind.WORKSPACE_PATH: "{workspace_path}",
    }
    again = "".join(
        part.text if part.kind is TEXT else back.get(part.kind, "{" + part.text + "}")
        for part in command.parts
    )
    assert again == text
