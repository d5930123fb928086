"""`rowtui secrets set|get|delete|list`: store, look up and delete passwords; rarely show them."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import pwd
import sys
import termios
from collections.abc import Iterator
from typing import Any

from rowtui.cli.output.output import Output, TextColumn, table_lines
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.secrets.model import Secret
from rowtui.core.secrets.service import SecretService, open_service

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
        return _secret_in(typed, "the typed password") or (Secret("") if typed else None)


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


def run(args: argparse.Namespace, out: Output) -> int:
    """Carry out the verb; 1 if there is no such secret, or it could not be stored or deleted."""
    if args.surplus:
        out.error(
            "a password is never taken from the arguments: others on this machine can read those\n"
            "without it, you are asked; or give it to standard input, with --stdin"
            if args.verb == "set"
            else "more words than a machine and a user"
        )
        return 2
    if not args.machine and args.verb != "list":
        raise RowtuiError("the machine has no name")
    verbs = {"set": _set, "get": _get, "delete": _delete, "list": _list}
    return asyncio.run(verbs[args.verb](args, out))


async def _set(args: argparse.Namespace, out: Output) -> int:
    user = args.user or _user_here()
    secret = secret_from_stdin() if args.stdin else await _typed(args.machine, user)
    if secret is None:
        raise RowtuiError("the password is empty; nothing was stored")
    service = await open_service(os.environ)
    stored = await service.set_password_for_user(args.machine, user, secret)
    if args.json:
        _print_json(out, machine=args.machine, user=user, provider=stored)
    else:
        out.print(f"Stored the password of {_whose(args.machine, user)}; it is in {stored}.")
    await _warn_if_others_win(service, args.machine, user, stored, out)
    return 0


async def _typed(machine: str, user: str) -> Secret | None:
    """Ask for the secret twice, because a typing error is not visible."""
    first = await ask_on_terminal(f"Password of {_whose(machine, user)}: ", echo=False)
    if first is None:
        return None
    if first != await ask_on_terminal("Once more: ", echo=False):
        raise RowtuiError("they are not the same; nothing was stored")
    return first


async def _warn_if_others_win(
    service: SecretService, machine: str, user: str, stored: str, out: Output
) -> None:
    found = (await service.look_up(machine, user)).found
    if found is not None and found.provider != stored:
        out.warn(
            f"{found.provider} also has one, and that one is used: it is asked before {stored}"
        )


async def _get(args: argparse.Namespace, out: Output) -> int:
    user = args.user or _user_here()
    service = await open_service(os.environ)
    lookup = await service.look_up(args.machine, user)
    found = lookup.found
    if found is None:
        error = service.not_found(args.machine, user, lookup.failures)
        if not args.json:
            raise error
        reason = error.reason
        _print_json(out, machine=args.machine, user=user, provider=None, reason=reason)
        return 1
    for failure in lookup.failures:
        out.warn(str(failure))
    if args.show:
        out.warn("the password is printed next: check who can see or store the output")
    if args.json:
        shown = {"password": found.secret.reveal()} if args.show else {}
        _print_json(out, machine=args.machine, user=user, provider=found.provider, **shown)
    elif args.show:
        out.text(found.secret.reveal() + "\n")
    else:
        out.print(f"{found.provider} has the password of {_whose(args.machine, user)}.")
    return 0


async def _delete(args: argparse.Namespace, out: Output) -> int:
    user = args.user or _user_here()
    service = await open_service(os.environ)
    deleted = await service.del_password_for_user(args.machine, user)
    if args.json:
        _print_json(out, machine=args.machine, user=user, provider=deleted)
    else:
        out.print(f"Deleted the password of {_whose(args.machine, user)} from {deleted}.")
    await _warn_if_others_win(service, args.machine, user, deleted, out)
    return 0


async def _list(args: argparse.Namespace, out: Output) -> int:
    service = await open_service(os.environ)
    listing = await service.names()
    listed = [
        it
        for it in listing.names
        if args.machine in (None, it.name.machine) and args.user in (None, it.name.user)
    ]
    for notice in service.notices:
        out.info(str(notice))
    for failure in listing.failures:
        out.warn(str(failure))
    if args.json:
        rows = [{"provider": it.provider, **it.name._asdict()} for it in listed]
        left_out = [notice._asdict() for notice in service.notices]
        failed = [{"provider": it.provider, "reason": it.reason} for it in listing.failures]
        _print_json(out, secrets=rows, left_out=left_out, failed=failed)
    elif listed:
        columns = [TextColumn("Machine", style="bold"), TextColumn("User"), TextColumn("Provider")]
        rows_shown = [
            [
                visible(f"${it.name.variable}" if it.name.variable else it.name.machine),
                visible(it.name.user),
                visible(it.provider),
            ]
            for it in listed
        ]
        out.lines(table_lines(columns, rows_shown, out))
    else:
        out.note("No password is stored.")
    return 1 if listing.failures else 0


def _print_json(out: Output, **fields: Any) -> None:
    out.json(fields)


def _whose(machine: str, user: str) -> str:
    return f"{visible(user)} at {visible(machine)}"


def _user_here() -> str:
    """Return the login name on this machine."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        hint = "name the user: rowtui secrets ... MACHINE USER"
        raise RowtuiError(f"user {os.getuid()} has no name on this machine", hint) from None
