"""`rowtui connect` and `rowtui disconnect`: logins to clusters that all rowtui commands share.

`connect` logs in once, or lists the shared logins; `disconnect` ends them.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import time

from rowtui.cli.asker import TerminalAsker
from rowtui.cli.clusters.parser import in_words
from rowtui.cli.output.output import Output, TextColumn, table_lines
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.clusters.config.load import load_clusters
from rowtui.core.clusters.config.load_remote import ssh_target
from rowtui.core.clusters.identify import runs_here
from rowtui.core.clusters.model import Remote
from rowtui.core.clusters.transports.login import LoginError
from rowtui.core.clusters.transports.own_login import log_in, own_transport
from rowtui.core.clusters.transports.shared.calls import (
    end_shared,
    look_at,
    open_shared,
    shared_logins,
)
from rowtui.core.clusters.transports.shared.folder import plain_name, shared_socket
from rowtui.core.clusters.transports.shared.protocol import LoginState, SharedLogin
from rowtui.core.clusters.transports.shared.server import Shared, serve
from rowtui.core.clusters.transports.shared.user import UserQuestions
from rowtui.core.project.context.credentials import LoginCredentials


def run(args: argparse.Namespace, out: Output) -> int:
    """Connect, or list the logins."""
    name = args.connection or getattr(args, "cluster", None)
    if not name:
        return _list(args, out)
    remote = _remote(name, out)
    idle = args.idle or args.seconds
    if args.foreground:
        asyncio.run(_keep(name, remote, args.seconds, idle, out))
        return 0
    person = TerminalAsker(name)
    # A stored password is tried before the user is asked.
    credentials = LoginCredentials(remote, lambda: person)
    try:
        login = asyncio.run(
            open_shared(name, remote, credentials, seconds=args.seconds, idle_seconds=idle)
        )
    except LoginError as error:
        if person.complaint:
            raise RowtuiError(f"{error.message}: {person.complaint}") from None
        raise
    if args.json:
        out.json({"logins": [login]})
    else:
        _say(login, out)
    return 0


def _say(login: SharedLogin, out: Output) -> None:
    left = in_words(login.until - time.time())
    name = visible(login.cluster)
    user = f" as {login.user}" if login.user else ""
    out.print(
        f"Connected to {name}{user}; other rowtui commands use this login for {left}.\n"
        f"'rowtui disconnect {name}' ends it."
    )


def _remote(name: str, out: Output) -> Remote:
    """Return how the cluster is reached. Raises: RowtuiError."""
    configured = load_clusters(os.environ)
    cluster = configured.named(name)
    if cluster is not None and cluster.remote is not None:
        if runs_here(cluster, os.environ):
            raise RowtuiError(f"this is {visible(name)}: nothing is logged in to from here")
        return cluster.remote
    out.problems(configured.problems)
    if cluster is not None:
        raise RowtuiError(
            f"'{visible(name)}' needs no login: its commands run on this machine",
            "a cluster that is reached over SSH has [cluster.ssh] in rowtui's clusters.toml",
        )
    known = [visible(c.name) for c in configured.clusters if c.remote is not None]
    raise RowtuiError(
        f"there is no cluster '{visible(name)}'",
        f"the clusters with SSH access are {', '.join(known)}"
        if known
        else "describe it in rowtui's clusters.toml, with [cluster.ssh]",
    )


def _list(args: argparse.Namespace, out: Output) -> int:
    logins = [login for _, login in asyncio.run(shared_logins())]
    if args.json:
        out.json({"logins": logins})
    elif not logins:
        out.note("No login is shared. 'rowtui connect CLUSTER' makes one.")
    else:
        columns = [
            TextColumn("Cluster", style="bold"),
            TextColumn("Host"),
            TextColumn("User"),
            TextColumn("State"),
            TextColumn("Since"),
            TextColumn("Idle", right=True),
            TextColumn("Until"),
        ]
        rows = [
            [
                visible(login.cluster),
                login.host,
                login.user,
                login.state.value,
                _clock(login.since),
                in_words(login.idle) if login.since else "",
                _clock(login.until),
            ]
            for login in logins
        ]
        out.lines(table_lines(columns, rows, out))
    return 0


def _clock(at: float) -> str:
    """Return `08:15`, with the day unless it is today."""
    if not at:
        return ""
    then, now = time.localtime(at), time.localtime()
    return time.strftime("%H:%M" if then[:3] == now[:3] else "%Y-%m-%d %H:%M", then)


async def _keep(name: str, remote: Remote, seconds: float, idle: float, out: Output) -> None:
    """Log in here and share the login from this process. Raises: LoginError, SharedError."""
    target = ssh_target(remote)
    person = TerminalAsker(name)
    questions = UserQuestions(LoginCredentials(remote, lambda: person))
    transport = own_transport(remote.transport, target, questions)
    path = shared_socket(name, target)
    if await look_at(path) is not None:
        shown = visible(name)
        raise RowtuiError(
            f"a login to {shown} is shared already", f"'rowtui disconnect {shown}' ends it"
        )
    try:
        await log_in(transport)
        questions.nobody()
        ready, end = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, end.set)
        serving = asyncio.create_task(
            serve(
                transport, path, idle, shared=Shared(name, str(target), seconds),
                questions=questions, logged_in=True, ready=ready, end=end,
            )
        )  # fmt: skip
        found = asyncio.create_task(_tell_when(ready, name, seconds, out))
        try:
            await serving
        finally:
            found.cancel()
    finally:
        await transport.close()
    out.note(f"The connection to {visible(name)} has ended.")


async def _tell_when(ready: asyncio.Event, name: str, seconds: float, out: Output) -> None:
    await ready.wait()
    out.note(
        f"Connected to {visible(name)}; other rowtui commands use this login for "
        f"{in_words(seconds)}; Ctrl-C ends it."
    )


def disconnect(args: argparse.Namespace, out: Output) -> int:
    """End the logins; 1 if there is none to the cluster."""
    name: str = args.connection or getattr(args, "cluster", None) or ""
    if bool(name) == args.all:
        raise RowtuiError("which login?", "give the name of a cluster, or --all")
    ended = asyncio.run(_end(name))
    if args.json:
        out.json({"ended": ended})
        return 0 if ended or args.all else 1
    for cluster in ended:
        out.print(f"Disconnected from {visible(cluster)}.")
    if not ended:
        out.warn("No login is shared." if args.all else f"No login to {visible(name)} is shared.")
    return 0 if ended or args.all else 1


async def _end(name: str) -> list[str]:
    """End the logins; return the clusters of the ended logins, "" for a login to all."""

    def meant(login: SharedLogin) -> bool:
        if login.state is LoginState.SILENT:  # its name is known from its socket alone
            return not name or login.cluster == plain_name(name)
        return not name or login.cluster == visible(name)

    chosen = [(path, login) for path, login in await shared_logins() if meant(login)]
    done = await asyncio.gather(*(end_shared(path) for path, _ in chosen))
    return [login.cluster for (_, login), ended in zip(chosen, done, strict=True) if ended]
