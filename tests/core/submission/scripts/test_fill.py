"""Templates keep one name one word, whatever quotes stand around them."""

from __future__ import annotations

import os
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.base.errors import RowtuiError
from rowtui.core.submission.scripts.fill import fill_command, refuse_arithmetic, value_variable
from rowtui.core.submission.scripts.parts import quote
from rowtui.core.workflow.template import PartKind, TemplatePart, parse_command

HOSTILE = "a'; touch pwned #\n$(touch pwned) `touch pwned` \"*\\ \udcff"


def run(
    command: str,
    directory: str = HOSTILE,
    value: str = "v $x\n'\"",
    *,
    workspace: str = "work space",
    prefix: str = "",
    others: tuple[str, ...] = (),
) -> str:
    """What the command prints, run by a real bash."""
    filled = fill_command(parse_command(command), workspace, prefix)
    names = " ".join(quote(name) for name in (directory, *others))
    lines = [
        "p() { printf '<%s>' \"$@\"; }",
        f"ACTION_WORKSPACE_PATH={quote(workspace)}",
        f"directories=({names})",
        "directory=${directories[0]}",
        *(f"{value_variable(k)}={quote(value)}" for k in range(len(filled.values))),
        "(",
        filled.text,
        ")",
    ]
    done = subprocess.run(
        ["bash"],
        input="\n".join(lines).encode("utf-8"),
        capture_output=True,
        cwd="/",
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
    )
    assert done.stderr == b""
    return os.fsdecode(done.stdout)


# command -> what it must print; D and V stand for the name and the value.
PLACES = {
    "p {directory}": "<D>",
    "p {directory}.txt": "<D.txt>",
    "p x{directory}y {directory}": "<xDy><D>",
    'p "{directory}"': "<D>",
    'p "in {workspace_path}/{directory}x/"': "<in work space/Dx/>",
    "p {workspace_path}/{directory}": "<work space/D>",
    "p 'x{directory}y'": "<xDy>",
    "p $'x\\'{directory}\\ty'": "<x'D\ty>",
    "p '{/v}' \"{/v}\" {/v} {directory}": "<V><V><V><D>",
    "p '{/v}' {directory} # {/v} it's a \"comment": "<V><D>",
    "# it's {directory}\np {directory}": "<D>",
    'p "$(p {directory} "{directory}")"': "<<D><D>>",
    'p "`p {directory}`"': "<<D>>",
    "p ${directory}": "<D>",
    'p "${directory}"': "<D>",
    "p \\{directory}": "<D>",
    'p "\\"{directory}\\""': '<"D">',
    'x={directory}; p "$x"': "<D>",
    "cat <<END\n[{directory}]\nEND\n": "[D]\n",
    "cat <<'END'\n[{directory} $x \\$y `z` {/v}]\nEND": "[D $x \\$y `z` V]\n",
    "cat <<\\END\n[{directory} $x]\nEND\np {directory}": "[D $x]\n<D>",
    "cat <<'E F'; p {directory}\n$x\nE F\n": "$x\n<D>",
    "cat <<-'END'\n\t[{directory}]\n\tEND\n": "[D]\n",
    "cat <<A - <<'B'; p {directory}\n{/v}\nA\n$x {/v}\nB\np 2": "$x V\n<D><2>",
    'cat <<END\n$(p {directory} "{directory}")\nEND': "<D><D>\n",
    "cat <<< {directory}; p 'a'": "D\n<a>",
    "(p {directory}); (p '{directory}')": "<D><D>",
    "case {directory} in a*) p yes;; *) p no;; esac": "<yes>",
    "if true; then\n  p {directory}\nfi\n": "<D>",
    "[ -n {directory} ] && p $(( 1 << 2 ))\np {directory}": "<4><D>",
    "(( 8 >> 2 )) && (( 1 << 2 ))\np {directory}": "<D>",
    "p a#{directory} '#'{directory}": "<a#D><#D>",
}


@pytest.mark.parametrize("command", PLACES)
@pytest.mark.parametrize("name", ["d0", "c d", HOSTILE, "-n", "END", "*"])
def test_a_name_is_itself_wherever_the_template_stands(command: str, name: str) -> None:
    value = "v $x\n'\""
    expected = PLACES[command].replace("D", "\0").replace("V", value).replace("\0", name)
    if command.startswith("case"):
        expected = "<yes>" if name.startswith("a") else "<no>"

    assert run(command, name, value) == expected


def test_all_directories_are_words_or_one_text() -> None:
    others = ("b c", "d")

    assert run("p {directories}", "a*", others=others) == "<a*><b c><d>"
    assert run('p "all: {directories}"', "a*", others=others) == "<all: a* b c d>"
    assert run("p '{directories}' ${PATH:+{x}}", "a", others=others) == "<a b c d><{x}>"
    assert run("cat <<'E'\n{directories} ${x}\nE", "a", others=others) == "a b c d ${x}\n"


def test_a_plain_workspace_stands_in_the_command_as_in_row() -> None:
    filled = fill_command(parse_command("p '{workspace_path}/{directory}'"), "workspace")

    assert filled.text == "p 'workspace/'\"${directory}\"''"


def test_a_launcher_is_put_before_the_first_word() -> None:
    command = "\n# first {directory}\n\n  p {directory}\np 2\n"

    assert run(command, "a", prefix="X=1 p go ") == "<go><p><a><2>"


def test_a_command_of_comments_only_is_still_a_command() -> None:
    assert run("# {directory}", prefix="nonsense ") == ""
    assert run("\n\n  # {directory}\n") == ""


def test_names_in_arithmetic_are_told_and_must_be_numbers() -> None:
    filled = fill_command(parse_command("echo $(( {/n} * (2 + {directory}) )) {/m}"), "w")

    assert filled.text.startswith("echo $(( ${rowtui_value_1} * (2 + ${directory}) ))")
    assert filled.arithmetic == {
        TemplatePart(PartKind.VALUE, "/n"),
        TemplatePart(PartKind.DIRECTORY),
    }
    assert refuse_arithmetic(TemplatePart(PartKind.VALUE, "/n"), "-1.5e+3") == ""
    assert "{/n}" in refuse_arithmetic(TemplatePart(PartKind.VALUE, "/n"), "a[$(id)]")


@pytest.mark.parametrize("command", ["echo \0 {directory}", "cat <<{directory}\nx\n"])
def test_commands_that_no_shell_can_read_are_refused(command: str) -> None:
    with pytest.raises(RowtuiError):
        fill_command(parse_command(command), "w")


PIECES = ["{directory}", "{/v}", '"', "'", "$'", "$(", ")", "`", "<<E", "<<'E'", "\nE\n", "\n"]
MORE = ["\\", "#", " ", "a", "((", "$((", "$", ";", "|", "{workspace_path}", "(", "<<<", "!"]


@given(st.lists(st.sampled_from([*PIECES, *MORE]), max_size=14).map("".join))
@settings(max_examples=150, deadline=None)
def test_no_name_runs_as_a_command_however_broken_the_command_is(soup: str) -> None:
    command = soup + " {directory}"
    try:
        filled = fill_command(parse_command(command), "work space")
    except RowtuiError:
        return  # a template as the end word of a here-document
    if filled.arithmetic:
        return  # such names are refused before
    hostile = "$(echo PWNED >&3)`echo PWNED >&3`';echo PWNED >&3;'\";echo PWNED >&3;\"\nE\n"
    lines = [
        f"directory={quote(hostile)} rowtui_value_1={quote(hostile)}",
        f"rowtui_text={quote(filled.text)}",
        'eval "$rowtui_text"',
    ]

    done = subprocess.run(
        ["/bin/bash", "-c", "exec 3>&1 >/dev/null 2>&1 </dev/null; . /dev/fd/4 4<<<\"$1\"", "x",
         "\n".join(lines)],
        capture_output=True, timeout=20, cwd="/", env={"PATH": ""},
    )  # fmt: skip

    assert b"PWNED" not in done.stdout
