"""Commands of the user on keys: their file, their words, their output."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.tui.shell import own_commands
from rowtui.tui.shell.own_commands import OwnCommand, load_own_commands, output_of

from tests.tui.hand import opened
from tests.tui.sample_clusters import with_clusters

PAGE = """\
[[command]]
key = "ctrl+g"
views = ["queue"]
name = "names of the job"
mode = "page"
run = ["sh", "-c", 'printf "%s\\n" "$@"', "sh", "id {id}", "at {cluster}", "in {project}"]
"""


def test_words_stay_arguments_and_a_shell_gets_quoted_values() -> None:
    fields = {"node": "n1; rm -r /", "job": "12"}
    assert OwnCommand("f5", "x", ("ssh", "{node}", "-p{job}")).argv(fields) == [
        "ssh", "n1; rm -r /", "-p12",
    ]  # fmt: skip
    assert OwnCommand("f5", "x", shell="echo {node} | wc").argv(fields)[2] == (
        "echo 'n1; rm -r /' | wc"
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"node": ""}, "this row has no {node}"),
        ({"node": "-oProxyCommand=x"}, "begins with '-'"),
        ({"node": "n\x1b[1m"}, "control characters"),
    ],
)
def test_a_value_that_could_do_harm_is_refused(fields: dict[str, str], message: str) -> None:
    with pytest.raises(RowtuiError, match=message.replace("{", r"\{")):
        OwnCommand("f5", "x", ("ssh", "{node}")).argv(fields)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[command]", "not valid TOML"),
        ("x = " + "[" * 1000, "nested"),
        ("command = 3", "must be an array of tables"),
        ("commands = 3", "did you mean 'command'"),
        ("[[command]]\nkey = 'f5'", "the command is missing `name`"),
        ("[[command]]\nkey = 'f5'\nname = 'x'\nrun = [3]", "must be a string"),
        ("[[command]]\nkey = 'f5'\nname = 'x'\nrun = []", "no program"),
        ("[[command]]\nkey = 'f5'\nname = 'x'\nrun = 'a'\nmode = 'b'", "`mode` cannot be 'b'"),
        ("[[command]]\nkey = 'f5'\nname = 'x'\nrun = 'a'\nviews = ['b']", "views is a list"),
        ("[[command]]\nkey = 'ctrl+'\nname = 'x'\nrun = 'a'", "no key|key"),
        ("[[command]]\nkey = 'c'\nname = 'x'\nrun = 'a'", "belongs to queue.cancel|belongs to"),
        ("[[command]]\nkey = 'q'\nname = 'x'\nrun = 'a'", "belongs to app.quit"),
        ("[[command]]\nkey = 'f5'\nname = 'x'\nrun = 'a'\nshell = 1", "unknown key `shell`"),
        ("[[command]]\nkey='f5'\nname='x'\nrun='a'\n" * 2, "belongs to 'x' already"),
    ],
)
def test_what_is_wrong_with_the_file_is_reported(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "commands.toml").write_text(text)
    _, wrong = load_own_commands(tmp_path, {})
    with pytest.raises(RowtuiError, match=message):
        raise RowtuiError("\n".join(problem.sentence for problem in wrong))


def test_a_key_that_the_user_took_from_a_command_is_free(tmp_path: Path) -> None:
    (tmp_path / "commands.toml").write_text("[[command]]\nkey='q'\nname='x'\nrun='a'\n")
    found, wrong = load_own_commands(tmp_path, {"app.quit": "ctrl+q"})
    assert [one.key for one in found] == ["q"]
    assert wrong == ()


async def test_output_is_bounded_in_size_and_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = await output_of(["sh", "-c", "pwd; printf '\\033[1m'; exit 3"], tmp_path)
    assert lines[0] == str(tmp_path)
    assert "\x1b" not in lines[1]
    assert lines[2] == "The program ended with code 3."
    monkeypatch.setattr(own_commands, "MOST_OUTPUT", 1000)
    assert "bytes of output" in (await output_of(["yes"], tmp_path))[-1]
    monkeypatch.setattr(own_commands, "PAGE_SECONDS", 0.2)
    argv = [sys.executable, "-c", "import os, time; print(os.getpid(), flush=1); time.sleep(600)"]
    pid, end = await output_of(argv, tmp_path)
    assert "was ended after" in end
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)


async def test_a_command_works_in_its_view_and_is_in_the_help(tmp_path: Path) -> None:
    (tmp_path / "commands.toml").write_text(PAGE)
    engine = with_clusters()
    async with opened(engine, size=(120, 40), config=tmp_path) as hand:
        await hand.sees("78 eligible")
        await hand.press("ctrl+g")
        await hand.sees("The key ctrl+g has no command in this view.")
        await hand.press("6")
        await hand.sees("[6 Queue]", "Jobs of this project")
        await hand.press("question_mark")
        await hand.sees("Your commands", "names of the job")
