"""The person's pager and editor: found, given the terminal, and the terminal taken back."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.tui.shell.external_program import at_place, editor, open_in_editor, open_in_pager, pager

from tests.tui.hand import opened
from tests.tui.terminal import Terminal


def test_the_variables_are_read_as_a_shell_reads_them(tmp_path: Path) -> None:
    (tmp_path / "page it").write_text("#!/bin/sh\n")
    (tmp_path / "page it").chmod(0o755)
    path = {"PATH": str(tmp_path)}
    assert pager({**path, "PAGER": "'page it' -R"}) == ["page it", "-R"]
    assert editor({**path, "VISUAL": " ", "EDITOR": "page\\ it +3"}) == ["page it", "+3"]
    assert editor({**path, "VISUAL": "'page it'", "EDITOR": "none"}) == ["page it"]


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({"EDITOR": "'unclosed"}, r"\$EDITOR cannot be read: No closing quotation: 'unclosed"),
        ({"EDITOR": "nowhere-at-all -x"}, r"\$EDITOR is nowhere-at-all -x, and there is no such"),
        ({"EDITOR": "''"}, r"\$EDITOR is '', and there is no such program"),
        ({"PATH": "/nowhere"}, r"an editor is not installed \(nano, vi, vim, emacs\)"),
    ],
)
def test_what_cannot_be_started_is_a_sentence(environment: dict[str, str], sentence: str) -> None:
    with pytest.raises(RowtuiError, match=sentence):
        editor(environment)


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("/usr/bin/vim", ["/usr/bin/vim", "-X", "+call cursor(16,3)", "/p/w.toml"]),
        ("nano", ["nano", "-X", "+16,3", "/p/w.toml"]),
        ("emacsclient", ["emacsclient", "-X", "+16:3", "/p/w.toml"]),
        ("vi", ["vi", "-X", "+16", "/p/w.toml"]),
        ("hx", ["hx", "-X", "/p/w.toml:16:3"]),
        ("code", ["code", "-X", "--goto", "/p/w.toml:16:3"]),
        ("ed", ["ed", "-X", "/p/w.toml"]),
    ],
)
def test_an_editor_begins_at_the_line_and_column_as_far_as_it_can(
    program: str, words: list[str]
) -> None:
    assert at_place([program, "-X"], "/p/w.toml", 16, 3) == words
    assert at_place([program, "-X"], "/p/w.toml", 0, 0) == [program, "-X", "/p/w.toml"]


async def test_what_cannot_be_opened_is_said_on_the_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setenv("PAGER", "true")
    monkeypatch.setenv("EDITOR", "true")
    monkeypatch.delenv("VISUAL", raising=False)
    async with opened() as hand:
        assert not await open_in_pager(hand.app, tmp_path / "pipe", "log")
        await hand.sees("pipe is not a file")
        assert not await open_in_pager(hand.app, tmp_path / "gone", "log")
        await hand.sees("No such file or directory")
        assert not await open_in_editor(hand.app, "text", read_only=True)
        await hand.sees("cannot be handed")


CODE = """
import os
from functools import partial
from pathlib import Path
from rowtui.tui.shell.app import RowtuiApp
from rowtui.tui.shell.external_program import open_in_editor, open_in_pager
from rowtui.tui.shell.work import start
from tests.tui.sample import main

file = Path(os.environ["HOME"]) / "-a file's"
file.write_text("before")
RowtuiApp.command_theme = lambda app: start(
    app, partial(open_in_pager, app, "one\\x1b[31m\\n\\ttwo", "../.ssh/script;rm -rf ~"), "outside"
)
RowtuiApp.command_pause = lambda app: start(
    app, partial(open_in_editor, app, file, read_only=False), "outside"
)
raise SystemExit(main())
"""


def test_pager_and_editor_get_the_terminal_and_give_it_back(tmp_path: Path) -> None:
    show = tmp_path / "show"
    show.write_text(
        f"#!{sys.executable}\n"
        "import os, signal, sys, termios\n"
        "print(sys.argv[1:], oct(os.stat(sys.argv[1]).st_mode))\n"
        "print(open(sys.argv[1]).read())\n"
        "echo = bool(termios.tcgetattr(0)[3] & termios.ECHO)\n"
        "open(sys.argv[1], 'w').write('after')\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})\n"
        "print('echo', echo, 'PRESS', flush=True)\n"
        "signal.sigwait({signal.SIGINT})\n"
        "print('INTERRUPTED', flush=True)\n"
        "input()\n"
    )
    show.chmod(0o755)
    (tmp_path / "tmp").mkdir()
    terminal = Terminal(
        tmp_path, CODE, TMPDIR=str(tmp_path / "tmp"), PAGER=str(show), EDITOR=f"'{show}'", VISUAL=""
    )
    try:
        terminal.until(b"equilibrate")
        for key, content in ((b"T", b"one\\x1b[31m\r\n        two"), (b"p", b"before")):
            terminal.seen = b""
            os.write(terminal.master, key)
            terminal.until(b"echo True PRESS")
            assert b"\x1b[?1049l" in terminal.seen  # off the alternate screen
            assert b"0o100600" in terminal.seen or key == b"p"
            assert content in terminal.seen
            terminal.interrupt()  # Ctrl-C is the program's, not the dashboard's
            terminal.until(b"INTERRUPTED")
            terminal.seen = b""
            os.write(terminal.master, b"\n")
            terminal.until(b"\x1b[?1049h")
            terminal.until(b"equilibrate")  # all of it is drawn again
        os.write(terminal.master, b"q")
        terminal.drain()
        assert terminal.process.wait(timeout=60) == 0
        assert (tmp_path / "-a file's").read_text() == "after"
        assert not list(tmp_path.glob("tmp/rowtui-*"))
    finally:
        terminal.close()


def test_a_command_of_the_command_line_keeps_the_terminal_until_enter(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, "from tests.tui.sample import main\nraise SystemExit(main())\n")
    try:
        terminal.until(b"equilibrate")
        terminal.seen = b""
        os.write(terminal.master, b":")
        terminal.rests()
        os.write(terminal.master, b"doctor --help\r")  # the line is open: at once
        terminal.until(b"Enter returns to the dashboard.")
        assert b"Usage: rowtui doctor" in terminal.seen
        terminal.seen = b""
        os.write(terminal.master, b"\n")
        terminal.until(b"\x1b[?1049h")
        terminal.until(b"equilibrate")
        os.write(terminal.master, b"q")
        terminal.drain()
        assert terminal.process.wait(timeout=60) == 0
    finally:
        terminal.close()


async def test_a_command_that_may_act_runs_in_the_terminal_after_a_yes_alone() -> None:
    async with opened() as hand:
        await hand.sees("equilibrate")
        await hand.press("colon", *"network retire --delete", "enter")
        await hand.sees("Run network retire in the terminal?", "rowtui network retire --delete")
        await hand.press("escape")
        await hand.sees("Nothing was run.")
        await hand.press("colon", *"clean", "enter")
        await hand.sees("Run clean in the terminal?")
        await hand.press(*"yes", "enter")
        await hand.sees("rowtui clean was not run: the terminal cannot be handed")


async def test_the_palette_opens_the_line_for_the_options_of_such_a_command() -> None:
    async with opened() as hand:
        await hand.sees("equilibrate")
        await hand.press("ctrl+p", *"mapping lint", "enter")
        await hand.sees(":mapping lint")
    async with opened(read_only=True) as hand:
        await hand.sees("equilibrate")
        await hand.press("colon", *"clean", "enter")
        await hand.sees("clean: the project was opened read-only")


BESIDE = """
from rowtui.core.project.queue.views import ShellBeside
from tests.tui.sample import SampleEngine, main

line = 'if [ -e ended ]; then echo "Job 1 does not run any more."; exit 1; fi; sh; exit 0'
SampleEngine.queue_shell = lambda self, key: answer(ShellBeside(("sh", "-c", line), "n7 of anvil"))


async def answer(value):
    return value


raise SystemExit(main())
"""


def test_a_shell_beside_a_running_job_is_offered_and_gives_the_terminal_back(
    tmp_path: Path,
) -> None:
    terminal = Terminal(tmp_path, BESIDE, PS1="beside> ", SHELL="/bin/sh")
    try:
        terminal.until(b"equilibrate")
        for text in (b"Jobs of this project", b"Open a shell"):
            os.write(terminal.master, b"6" if text.startswith(b"Jobs") else b"!")
            terminal.until(text)
        terminal.until(b"beside the job, on")
        terminal.drop(0.6)
        for keys, text in ((b"j\r", b"Beside the job, on n7 of anvil"), (b"", b"beside> ")):
            terminal.seen = terminal.seen if not keys else b""
            os.write(terminal.master, keys)
            terminal.until(text)
        assert b"\x1b[?1049l" in terminal.seen
        # a shell that is killed, with the terminal as no program wants it
        os.write(terminal.master, b"stty -echo -icanon; false; kill -9 $$\n")
        terminal.until(b"\x1b[?1049h")
        terminal.until(b"Jobs of this project")
        terminal.rests()
        assert b"could not be opened" not in terminal.seen
        os.write(terminal.master, b"q")
        terminal.drain()
        assert terminal.process.wait(timeout=60) == 0
    finally:
        terminal.close()
