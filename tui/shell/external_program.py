"""Run the user's pager or editor, or a command, in the terminal, and redraw the screen at its end.

The dashboard continues behind the program: it still follows changes and submits jobs, but draws
nothing. Texts and read-only files are shown from a private copy that is removed afterwards. If a
file cannot be opened, the screen shows a sentence; no exception is raised. The module reads
`$PAGER`, `$VISUAL` and `$EDITOR`, and splits them as a shell would.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import shutil
import signal
import stat
import sys
import tempfile
import termios
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.tui.views.questions import ChooseScreen
from rowtui.tui.widgets.cells import line
from textual.app import SuspendNotSupported

if TYPE_CHECKING:
    from rowtui.core.project.queue.views import ShellBeside
    from rowtui.tui.shell.terminal_app import TerminalApp

PAGERS = ("less", "more")
EDITORS = ("nano", "vi", "vim", "emacs")
"""Used where no variable is set: the first program that is installed."""

PLACES = {
    **dict.fromkeys(("vim", "nvim", "gvim", "view"), "+call cursor({line},{column})"),
    **dict.fromkeys(("emacs", "emacsclient"), "+{line}:{column}"),
    **dict.fromkeys(("nano", "pico"), "+{line},{column}"),
    **dict.fromkeys(("vi", "nvi", "ex", "joe", "jed", "mg", "jove", "ne", "zile"), "+{line}"),
    **dict.fromkeys(("micro", "kak"), "+{line}:{column}"),
}
"""By editor, the argument with the line and the column; the file name follows it."""

PLACES_IN_NAMES = ("hx", "helix", "code", "codium", "subl", "zed")
"""Editors that take `file:12:3`."""

GOTO = ("code", "codium")
"""The editors of `PLACES_IN_NAMES` that need `--goto` before the place."""

NO_PAGERS = ("", "cat")
"""Values of `$PAGER` that show nothing readable; they count as an unset variable."""


_AND_WAIT = """\
trap : INT
"$@"
code=$?
printf '\\nEnter returns to the dashboard. '
read -r _
exit "$code"
"""
"""Shell script that runs a command; after Ctrl-C the output of the command stays on the
terminal.
"""

_OR_WAIT = """\
trap : INT
"$@" && exit
printf '\\nThe shell could not be opened, or was ended. Enter returns to the dashboard. '
read -r _
"""
"""Shell script that runs a command; a reason why the command failed stays on the terminal."""

MOST_COPIED = 50_000_000
"""Bytes of the largest file that is shown as a copy: larger than any file that a user edits."""


async def open_in_pager(app: TerminalApp, source: str | Path, name: str) -> bool:
    """Show a text, or a file, in `$PAGER`; `name` is the name of the temporary file of a text.

    Return whether a program ran; if not, the screen shows the reason. The call lasts until the user
    closes the pager: call it in a worker (`tui/shell/work.py`).
    """
    try:
        argv = pager()
        if isinstance(source, Path):
            return await _hand_over(app, [*argv, _regular(source)])
        shown = "\n".join(visible(text.expandtabs()) for text in source.split("\n"))
        with _copy(shown.encode("utf-8", "surrogateescape"), name) as path:
            return await _hand_over(app, [*argv, path])
    except (RowtuiError, OSError) as error:
        return _told(app, "the pager", error)


async def open_in_editor(
    app: TerminalApp,
    source: str | Path,
    read_only: bool,
    *,
    line: int = 0,
    column: int = 0,
) -> bool:
    """Open a file in the editor; for a text, or with `read_only`, open a copy that is then
    discarded.

    `line` and `column` set the position, counted from 1, in editors that support one; 0 if it is
    unknown. Return whether a program ran; if not, the screen shows the reason.
    """
    try:
        argv = editor()
        if isinstance(source, Path) and not read_only:
            return await _hand_over(app, at_place(argv, _regular(source), line, column))
        data, name = _content(source)
        with _copy(data, name, mode=0o400 if read_only else 0o600) as path:
            return await _hand_over(app, at_place(argv, path, line, column))
    except (RowtuiError, OSError) as error:
        return _told(app, "the editor", error)


async def run_command(app: TerminalApp, words: Sequence[str]) -> None:
    """Run `rowtui WORDS` in the terminal; its output stays until Enter is pressed.

    If the command cannot run, the screen shows the reason.
    """
    argv = ["sh", "-c", _AND_WAIT, "rowtui", sys.executable, "-P", "-m", "rowtui.cli.main", *words]
    try:
        await _hand_over(app, argv, f"rowtui {words[0]}")
    except (RowtuiError, OSError) as error:
        _told(app, f"rowtui {words[0]}", error, "run")


async def run_program(app: TerminalApp, argv: Sequence[str], name: str, folder: Path) -> None:
    """Run a program of the user in the terminal; its output stays until Enter is pressed."""
    try:
        await _hand_over(app, ["sh", "-c", _AND_WAIT, "rowtui", *argv], name, folder=folder)
    except (RowtuiError, OSError) as error:
        _told(app, name, error, "run")


async def open_shell(
    app: TerminalApp, folder: Path | None, beside: ShellBeside | None = None
) -> None:
    """Run the user's shell in this folder, until the user leaves it; the screen shows errors.

    `beside`: the user chooses between the folder and a shell beside a running job.
    """
    found = os.environ.get("SHELL", "")
    argv = [found if found.startswith("/") and os.access(found, os.X_OK) else "/bin/sh"]
    where = visible(str(folder))
    if beside is not None and beside.argv:
        there = visible(beside.where)
        lines = [line(("in ", "dim"), where), line(("beside the job, on ", "dim"), there)]
        chosen = await app.push_screen_wait(ChooseScreen("Open a shell", lines, "opens it"))
        if chosen is None:
            return
        if chosen:
            argv = ["sh", "-c", _OR_WAIT, "rowtui", *beside.argv]
            where, folder = f"Beside the job, on {there}", None
    begin = f"{where}\n`exit` returns to the dashboard."
    try:
        await _hand_over(app, argv, "the shell", folder=folder, begin=begin)
    except (RowtuiError, OSError) as error:
        _told(app, "a shell", error)


def at_place(argv: Sequence[str], path: str, line: int, column: int) -> list[str]:
    """Return the words that open a file at a position, if the editor is known to support one."""
    program, column = os.path.basename(argv[0]), max(1, column)
    if line > 0 and program in PLACES:
        return [*argv, PLACES[program].format(line=line, column=column), path]
    if line > 0 and program in PLACES_IN_NAMES:
        goto = ["--goto"] if program in GOTO else []
        return [*argv, *goto, f"{path}:{line}:{column}"]
    return [*argv, path]


def pager(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the pager's program and arguments.

    Raises: RowtuiError if no pager is installed, or the variable cannot be parsed.
    """
    names = [name for name in ("PAGER",) if environment.get(name, "").strip() not in NO_PAGERS]
    return _program(names, PAGERS, "a pager", "PAGER", environment)


def editor(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the editor's program and arguments.

    Raises: RowtuiError if no editor is installed, or the variable cannot be parsed.
    """
    names = [name for name in ("VISUAL", "EDITOR") if environment.get(name, "").strip()]
    return _program(names, EDITORS, "an editor", "EDITOR", environment)


def _program(
    names: Sequence[str], others: Sequence[str], what: str, set_it: str, env: Mapping[str, str]
) -> list[str]:
    if names:
        text = env[names[0]]
        try:
            argv = shlex.split(text)
        except ValueError as error:
            raise RowtuiError(
                f"${names[0]} cannot be read: {error}: {visible(text)}",
                f"write it as in a shell: `export {names[0]}='program --option'`",
            ) from None
        if argv and shutil.which(argv[0], path=env.get("PATH")):
            return argv
        raise RowtuiError(
            f"${names[0]} is {visible(text)}, and there is no such program",
            f"set {names[0]} to a program that is installed",
        )
    for name in others:
        if shutil.which(name, path=env.get("PATH")):
            return [name]
    raise RowtuiError(
        f"{what} is not installed ({', '.join(others)})", f"set {set_it} to a program that is"
    )


def _regular(path: Path) -> str:
    """Return the absolute path, so that no name can be taken for an option.

    Raises: RowtuiError if the path is not a regular file: reading a pipe could wait without end.
    """
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise RowtuiError(f"{path}: {error.strerror or error}") from None
    if not stat.S_ISREG(mode):
        raise RowtuiError(f"{path} is not a file")
    return os.path.abspath(path)


def _content(source: str | Path) -> tuple[bytes, str]:
    if isinstance(source, str):
        return source.encode("utf-8", "surrogateescape"), "text"
    with open(_regular(source), "rb") as file:
        data = file.read(MOST_COPIED + 1)
    if len(data) > MOST_COPIED:
        raise RowtuiError(f"{source} is too long to be copied", "look at it in the pager")
    return data, source.name


@contextlib.contextmanager
def _copy(data: bytes, name: str, mode: int = 0o600) -> Iterator[str]:
    """Yield the path of a new file for this user alone; the file is removed in any case."""
    plain = re.sub(r"[^\w.-]", "_", name, flags=re.ASCII).lstrip(".-")[:80] or "text"
    with tempfile.TemporaryDirectory(prefix="rowtui-") as folder:
        path = os.path.join(folder, plain)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(data)
        yield path


@contextlib.contextmanager
def _same_terminal() -> Iterator[None]:
    """Give the terminal back as it was: its modes, and its foreground process group.

    A shell that was killed leaves a terminal without echo, whose keys go to a group that is gone.
    """
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        yield
        return
    modes, group = termios.tcgetattr(terminal), os.tcgetpgrp(terminal)
    try:
        yield
    finally:
        # A process in the background is stopped by SIGTTOU when it changes the terminal.
        before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        with contextlib.suppress(OSError, termios.error):
            os.tcsetpgrp(terminal, group)
            termios.tcsetattr(terminal, termios.TCSADRAIN, modes)
        signal.signal(signal.SIGTTOU, before)
        os.close(terminal)


async def _hand_over(
    app: TerminalApp,
    argv: Sequence[str],
    name: str = "",
    *,
    folder: Path | None = None,
    begin: str = "",
) -> bool:
    """Run this program on the terminal, and redraw everything afterwards.

    `name` is the name for messages, if the name of the program does not fit. `begin` is printed
    before a shell starts in `folder`; the exit code of a shell is that of its last command, so it
    is not reported.
    """
    if app.outside:
        raise RowtuiError("another program has the terminal")
    app.outside = True
    try:
        with app.suspend(), app.batch_update(), _same_terminal():
            if begin:
                print(begin, file=sys.__stdout__, flush=True)
            process = await asyncio.create_subprocess_exec(*argv, cwd=folder)
            try:
                code = await process.wait()
            finally:
                # The wait was cancelled, because the dashboard ends.
                if process.returncode is None:
                    process.terminate()
    except SuspendNotSupported:
        raise RowtuiError("the terminal cannot be handed to another program here") from None
    finally:
        app.outside = False
    if code and not begin:
        program = visible(name or os.path.basename(argv[0]))
        app.notify(f"{program} ended with code {code}", severity="warning", markup=False)
    return True


def _told(app: TerminalApp, what: str, error: RowtuiError | OSError, done: str = "opened") -> bool:
    message, hint = (
        (error.message, error.hint)
        if isinstance(error, RowtuiError)
        else (error.strerror or str(error), "")
    )
    text = f"{what} was not {done}: {message}" + (f"\n{hint}" if hint else "")
    app.notify(
        "\n".join(map(visible, text.split("\n"))), severity="warning", timeout=8, markup=False
    )
    return False
