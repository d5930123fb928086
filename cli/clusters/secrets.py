"""`rowtui secrets set|get|delete|list`: store, look up and delete passwords; rarely show them."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any

from rowtui.cli.clusters.secret_input import ask_on_terminal, secret_from_stdin
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.secrets.service import open_service

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output.output import Output
    from rowtui.core.secrets.model import Secret
    from rowtui.core.secrets.service import SecretService


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
        out.warn("what follows is the password itself: mind who looks on, and where it is kept")
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
    from rowtui.cli.output.table import Column, table_lines

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
        columns = [Column("Machine", style="bold"), Column("User"), Column("Provider")]
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
        out.note("No password is known.")
    return 1 if listing.failures else 0


def _print_json(out: Output, **fields: Any) -> None:
    out.print(json.dumps(fields, indent=2))


def _whose(machine: str, user: str) -> str:
    return f"{visible(user)} at {visible(machine)}"


def _user_here() -> str:
    """Return the login name on this machine."""
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        hint = "name the user: rowtui secrets ... MACHINE USER"
        raise RowtuiError(f"user {os.getuid()} has no name on this machine", hint) from None
