"""Copying files between this machine and a copy: what every way of doing it promises.

A file appears under its own name only when it is whole; what was cut off stays in `PARTIAL`
beside it and is continued by the next attempt. Modification times are kept as exactly as the way
of copying can; executables stay executable; links are copied as links.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import NamedTuple, Protocol

from rowtui.core.mirror.compare import Copy

MOST_NOTICES = 50  # of one transfer


class Progress(NamedTuple):
    """How far a transfer is. `notices`: what could not be copied, or was left alone; at the end."""

    done_files: int
    files: int
    done_bytes: int
    bytes: int
    notices: tuple[str, ...] = ()


class Counting:
    """How far a transfer is, counted by whoever copies."""

    def __init__(self, copies: Sequence[Copy]) -> None:
        self.notices: list[str] = []
        self._files = len(copies)
        self._bytes = sum(copy.facts.size for copy in copies)
        self._done_files = 0
        self._done_bytes = 0

    def add(self, copies: Sequence[Copy]) -> None:
        """These have been copied."""
        self._done_files += len(copies)
        self._done_bytes += sum(copy.facts.size for copy in copies)

    def progress(self, some_bytes: int = 0, some_files: int = 0) -> Progress:
        """Now, with so much of what is under way."""
        files = min(self._done_files + some_files, self._files)
        done = min(self._done_bytes + some_bytes, self._bytes)
        return Progress(files, self._files, done, self._bytes, tuple(self.notices[:MOST_NOTICES]))


class Files(Protocol):
    """A way to copy files between a local folder and one on a cluster.

    Both may be called again after an error, and then continue. Closing the iterator early, or
    cancelling whoever waits for it, ends the transfer and leaves nothing running.
    Raises (both): MirrorError.
    """

    name: str  # `rsync`, `sftp`, `plain`: for people

    def send(self, copies: Sequence[Copy]) -> AsyncGenerator[Progress, None]:
        """Copy files of this machine to the cluster."""
        ...

    def fetch(self, copies: Sequence[Copy]) -> AsyncGenerator[Progress, None]:
        """Copy files of the cluster to this machine."""
        ...
