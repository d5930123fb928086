"""Copying files between this machine and a copy: what every way of doing it promises.

A file appears under its own name only when it is whole; what was cut off stays in `PARTIAL`
beside it and is continued by the next attempt. Modification times are kept as exactly as the way
of copying can; executables stay executable; links are copied as links.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple, Protocol

from rowtui.core.mirror.compare import Copy


class Progress(NamedTuple):
    """How far a transfer is. `notices`: what could not be copied, or was left alone; at the end."""

    done_files: int
    files: int
    done_bytes: int
    bytes: int
    notices: tuple[str, ...] = ()


class Files(Protocol):
    """A way to copy files between a local folder and one on a cluster.

    Both may be called again after an error, and then continue. Closing the iterator early, or
    cancelling whoever waits for it, ends the transfer and leaves nothing running.
    Raises (both): MirrorError.
    """

    name: str  # `rsync`, `sftp`, `plain`: for people

    def send(self, copies: Sequence[Copy]) -> AsyncIterator[Progress]:
        """Copy files of this machine to the cluster."""
        ...

    def fetch(self, copies: Sequence[Copy]) -> AsyncIterator[Progress]:
        """Copy files of the cluster to this machine."""
        ...
