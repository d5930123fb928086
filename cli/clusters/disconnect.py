"""`rowtui disconnect`: end logins that `rowtui connect` made."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.clusters.transports.shared.calls import end_shared, shared_logins
from rowtui.core.clusters.transports.shared.folder import plain_name
from rowtui.core.clusters.transports.shared.protocol import SharedLogin, State

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output.output import Output


def run(args: argparse.Namespace, out: Output) -> int:
    """End the logins; 1 if there is none to the cluster."""
    name: str = args.connection or getattr(args, "cluster", None) or ""
    if bool(name) == args.all:
        raise RowtuiError("which login?", "give the name of a cluster, or --all")
    ended = asyncio.run(_end(name))
    if args.json:
        out.print(json.dumps(ended, indent=2))
        return 0 if ended or args.all else 1
    for cluster in ended:
        out.print(f"Disconnected from {visible(cluster)}.")
    if not ended:
        out.warn("No login is shared." if args.all else f"No login to {visible(name)} is shared.")
    return 0 if ended or args.all else 1


async def _end(name: str) -> list[str]:
    """End the logins; return the clusters of the ended logins, "" for a login to all."""

    def meant(login: SharedLogin) -> bool:
        if login.state is State.SILENT:  # its name is known from its socket alone
            return not name or login.cluster == plain_name(name)
        return not name or login.cluster == visible(name)

    chosen = [(path, login) for path, login in await shared_logins() if meant(login)]
    done = await asyncio.gather(*(end_shared(path) for path, _ in chosen))
    return [login.cluster for (_, login), ended in zip(chosen, done, strict=True) if ended]
