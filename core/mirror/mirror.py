"""A project and its copy on one cluster: what differs, and making it equal.

Takes the project's folder, a transport to the cluster and where the copy shall be; gives plans
(`Transfer`) that a person can look at, and carries them out. What both sides were when they were
last equal is kept in the manifest.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.mirror.compare import Side, Transfer
from rowtui.core.mirror.facts import Selection
from rowtui.core.mirror.files import Progress

if TYPE_CHECKING:
    from rowtui.core.clusters.commands import Transport


def default_place(mirror: str, root: Path) -> str:
    """Where the copy of a project goes below `mirror` (`Remote.mirror`), not yet expanded."""
    raise NotImplementedError


class Mirror:
    """The copy of one project on one cluster."""

    def __init__(self, root: Path, cluster: str, transport: Transport, place: str) -> None:
        """`place`: where the copy is; may begin with `~/` or `$VARIABLE/`. See `default_place`."""

    async def resolve(self) -> str:
        """Make sure that the copy's folder is there and ours; its absolute path there.

        Raises: MirrorError.
        """
        raise NotImplementedError

    async def plan_send(self, selection: Selection, *, restore: bool = True) -> Transfer:
        """What `send` would do. `restore`: send again what is gone from the copy."""
        raise NotImplementedError

    async def plan_fetch(self, selection: Selection, *, restore: bool = False) -> Transfer:
        """What `fetch` would do. `restore`: fetch again what is gone from here."""
        raise NotImplementedError

    def send(self, transfer: Transfer) -> AsyncIterator[Progress]:
        """Carry out `transfer.send`. What changed there since it was planned is left alone."""
        raise NotImplementedError

    def fetch(self, transfer: Transfer) -> AsyncIterator[Progress]:
        """Carry out `transfer.fetch`. What changed here since it was planned is left alone."""
        raise NotImplementedError

    async def prefer(self, paths: Collection[str], side: Side) -> None:
        """Decide conflicts: the next plan copies these paths from this side over the other."""
        raise NotImplementedError
