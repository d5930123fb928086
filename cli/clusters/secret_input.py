"""Input of secrets: typed on the terminal without echo, or from standard input.

No exception from here contains a secret, in its text or in the local variables of its frames.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import termios
from collections.abc import Iterator

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.secrets.model import Secret

LARGEST = 1 << 16  # bytes on standard input
LINE = 1 << 12  # a terminal gives no longer lines


async def ask_on_terminal(prompt: str, echo: bool) -> Secret | None:
    """Ask the user at the terminal, independent of the standard streams. None: an empty answer.

    The event loop continues during the question. Raises: RowtuiError without a terminal.
    """
    answer = await answer_on_terminal(prompt, echo)
    return answer if answer is not None and answer.reveal() else None


async def answer_on_terminal(prompt: str, echo: bool) -> Secret | None:
    """As `ask_on_terminal`, but an empty line is an answer; None: the input ended (Ctrl-D).

    `prompt` may have several lines. Raises: RowtuiError without a terminal.
    """
    shown = "\n".join(map(visible, prompt.split("\n")))
    with _terminal() as fd, _quiet(fd, echo=echo):
        os.write(fd, shown.encode("utf-8", "replace"))
        await readable(fd)
        typed = os.read(fd, LINE)
        return _secret_in(typed, "what was typed") or (Secret("") if typed else None)


def secret_from_stdin() -> Secret | None:
    """Return the one line on standard input, without its newline. None: it is empty.

    Raises: RowtuiError if the input has several lines, or is no text.
    """
    return _secret_in(sys.stdin.buffer.read(LARGEST + 1), "standard input")


def _secret_in(data: bytes, what: str) -> Secret | None:
    fault = ""
    if len(data) > LARGEST:
        fault = f"has more than {LARGEST:,} bytes"
    line = data.removesuffix(b"\n").removesuffix(b"\r")
    if b"\n" in line:
        fault = fault or "has more than one line"
    if b"\0" in line:
        fault = fault or "has a NUL byte"
    if not fault:
        try:
            return Secret.of(line.decode())
        except UnicodeDecodeError:
            fault = "is not UTF-8"
    del data, line  # a traceback with local variables must not show the secret
    raise RowtuiError(f"{what} {fault}; a password is one line of text")


@contextlib.contextmanager
def _terminal() -> Iterator[int]:
    """Yield the terminal that this process belongs to, or standard input if it is a terminal."""
    fd = None
    try:
        fd = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        pass
    if fd is None and not (sys.stdin is not None and sys.stdin.isatty()):
        raise RowtuiError("there is no terminal to ask on", "use --stdin")
    try:
        yield sys.stdin.fileno() if fd is None else fd
    finally:
        if fd is not None:
            os.close(fd)


@contextlib.contextmanager
def _quiet(fd: int, *, echo: bool) -> Iterator[None]:
    """Disable echo within this context, also for earlier input; restore the settings at the end."""
    before = termios.tcgetattr(fd)
    quiet = termios.tcgetattr(fd)
    quiet[3] |= termios.ICANON | termios.ISIG
    if not echo:
        quiet[3] &= ~termios.ECHO
    try:
        termios.tcsetattr(fd, termios.TCSAFLUSH, quiet)
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSAFLUSH, before)
        if not echo:
            os.write(fd, b"\n")


async def readable(fd: int) -> None:
    """Wait until a line is available. Cancelling (Ctrl-C) leaves no pending state."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(fd, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(fd)
