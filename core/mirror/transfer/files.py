"""The interface of all ways to copy files between this machine and a copy.

A file appears under its own name only when it is complete; the received part of an interrupted file
stays in `PARTIAL` beside its destination, and the next attempt continues it. Modification times are
kept as exactly as the way of copying allows; executables stay executable; links are copied as
links.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import NamedTuple, Protocol

from rowtui.core.mirror.compare import Copy

MOST_NOTICES = 50  # of one transfer


class TransferProgress(NamedTuple):
    """Progress of a transfer.

    `notices`: files that could not be copied or were not replaced; complete in the last progress.
    """

    done_files: int
    files: int
    done_bytes: int
    bytes: int
    notices: tuple[str, ...] = ()


class Counting:
    """Counter for the progress of a transfer, used by the class that copies."""

    def __init__(self, copies: Sequence[Copy]) -> None:
        self.notices: list[str] = []
        self._files = len(copies)
        self._bytes = sum(copy.facts.size for copy in copies)
        self._done_files = 0
        self._done_bytes = 0

    def add(self, copies: Sequence[Copy]) -> None:
        """Count these files as copied."""
        self._done_files += len(copies)
        self._done_bytes += sum(copy.facts.size for copy in copies)

    def progress(self, some_bytes: int = 0, some_files: int = 0) -> TransferProgress:
        """Return the progress, with `some_bytes` and `some_files` of the files in
        transfer added.
        """
        files = min(self._done_files + some_files, self._files)
        done = min(self._done_bytes + some_bytes, self._bytes)
        return TransferProgress(
            files, self._files, done, self._bytes, tuple(self.notices[:MOST_NOTICES])
        )


class FileTransfer(Protocol):
    """A way to copy files between a local folder and one on a cluster.

    Both methods may be called again after an error, and then continue. Closing the iterator early,
    or cancelling the task that waits for it, ends the transfer and leaves no process running.
    Raises (both): MirrorError.
    """

    name: str  # `rsync`, `sftp` or `plain`, shown to the user

    def send(self, copies: Sequence[Copy]) -> AsyncGenerator[TransferProgress, None]:
        """Copy files of this machine to the cluster."""
        ...

    def fetch(self, copies: Sequence[Copy]) -> AsyncGenerator[TransferProgress, None]:
        """Copy files of the cluster to this machine."""
        ...
