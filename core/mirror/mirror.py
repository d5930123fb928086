"""Compare a project with its copy on one cluster, and make both equal.

A `Mirror` returns plans (`MirrorPlans`) and carries out these plans. Either side may change between
a plan and its transfer: a file that would be replaced is checked once more, and is not replaced if
it differs from the plan.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.mirror.compare import (
    Copy,
    ManifestEntry,
    Side,
    Transfer,
    arrived,
    as_fetched,
    as_planned,
)
from rowtui.core.mirror.listing import facts_here
from rowtui.core.mirror.model import explain, explain_result, is_relative
from rowtui.core.mirror.place import Resolved, remove
from rowtui.core.mirror.plans import MirrorPlans
from rowtui.core.mirror.transfer.arriving import MOST_NOTICES, TransferProgress
from rowtui.core.mirror.transfer.plain_files import PlainFiles
from rowtui.core.mirror.transfer.rsync_files import RsyncFiles, rsync_there

if TYPE_CHECKING:
    from rowtui.core.clusters.commands import Transport
    from rowtui.core.mirror.transfer.arriving import FileTransfer


_LOCK_PAUSE = 0.2  # seconds between two attempts to take the lock that another process holds
_PATHS_AT_ONCE = 5_000
_LITTLE = 1 << 20  # bytes


class Mirror(MirrorPlans):
    """The copy of one project on one cluster."""

    async def send(self, transfer: Transfer) -> AsyncGenerator[TransferProgress, None]:
        """Carry out `transfer.send`. Files of the copy that changed since the plan are not
        replaced.

        The last progress has notices about files that were not copied. A caller that may stop
        before the end uses `contextlib.aclosing`. Raises: MirrorError, RowtuiError.
        """
        if not transfer.send:
            yield TransferProgress(0, 0, 0, 0)
            return
        copy = await self._resolve()
        async with self._alone():
            paths = [item.path for item in transfer.send]
            facts = await self._there(copy, paths)
            copies, there_already, changed = as_planned(transfer.send, facts, self.cluster)
            last = TransferProgress(0, 0, 0, 0)
            async with contextlib.aclosing(
                (await self._way(copy, copies)).send(copies)
            ) as transferring:
                async for last in transferring:
                    yield last._replace(notices=())
            there = await self._there(copy, paths)
            entries = {
                item.path: ManifestEntry(item.facts, there[item.path])
                for item in (*copies, *there_already)
                if arrived(item, there.get(item.path))
            }
            await self._save(copy, entries, ())
        yield self._last(last, transfer.send, entries, changed, "sending files")

    async def fetch(self, transfer: Transfer) -> AsyncGenerator[TransferProgress, None]:
        """Carry out `transfer.fetch`. Files of this machine that changed since the plan are not
        replaced.

        The last progress has notices about files that were not copied. Raises: MirrorError,
        RowtuiError.
        """
        if not transfer.fetch:
            yield TransferProgress(0, 0, 0, 0)
            return
        copy = await self._resolve()
        async with self._alone():
            paths = [item.path for item in transfer.fetch]
            facts = await asyncio.to_thread(facts_here, self.root, paths)
            copies, here_already, changed = as_planned(transfer.fetch, facts, "this machine")
            last = TransferProgress(0, 0, 0, 0)
            async with contextlib.aclosing(
                (await self._way(copy, copies)).fetch(copies)
            ) as transferring:
                async for last in transferring:
                    yield last._replace(notices=())
            here = await asyncio.to_thread(facts_here, self.root, paths)
            entries = {
                item.path: ManifestEntry(here[item.path], as_fetched(item.facts, here[item.path]))
                for item in (*copies, *here_already)
                if arrived(item, here.get(item.path))
            }
            await self._save(copy, entries, ())
        yield self._last(last, transfer.fetch, entries, changed, "fetching files")

    def _last(
        self,
        last: TransferProgress,
        copies: Sequence[Copy],
        arrived: Collection[str],
        changed: Sequence[str],
        what: str,
    ) -> TransferProgress:
        """Return the last progress of a transfer. Raises: MirrorError if no file arrived."""
        missing = len(copies) - len(arrived) - len(changed)
        if missing and not arrived:
            raise explain("\n".join(last.notices), self.cluster, what)
        notices = [*changed, *last.notices]
        if missing and not last.notices:
            lost = [visible(copy.path) for copy in copies if copy.path not in arrived]
            notices += [f"{path} was not copied" for path in lost]
        return last._replace(
            done_files=len(arrived), files=len(copies), notices=tuple(notices[:MOST_NOTICES])
        )

    async def prefer(self, paths: Collection[str], side: Side) -> None:
        """Resolve conflicts: the next plan replaces the other side's files by those of `side`.

        Raises: MirrorError, RowtuiError.
        """
        copy = await self._resolve()
        other = (
            await self._there(copy, paths)
            if side is Side.HERE
            else await asyncio.to_thread(facts_here, self.root, paths)
        )
        entries = {
            path: ManifestEntry(None, facts) if side is Side.HERE else ManifestEntry(facts, None)
            for path, facts in other.items()
        }
        await self._save(copy, entries, ())

    async def make_folders(self, paths: Iterable[str]) -> None:
        """Make folders in the copy, with their parents. Raises: MirrorError."""
        await self._each(["mkdir", "-p", "--"], paths, "making folders")

    async def remove(self) -> None:
        """Remove the copy with all files in it, and its manifest.

        Raises: MirrorError, RowtuiError.
        """
        copy = await self._resolve()
        async with self._alone():
            await remove(self._transport, copy, self.cluster)
            self._resolved = None
            with contextlib.suppress(OSError):
                self._path.unlink()

    async def _each(self, command: Sequence[str], paths: Iterable[str], what: str) -> None:
        copy = await self._resolve()
        names = [b"./" + os.fsencode(path) + b"\0" for path in paths if is_relative(path)]
        for start in range(0, len(names), _PATHS_AT_ONCE):
            result = await self._transport.run(
                ["xargs", "-0", *command], stdin=b"".join(names[start : start + _PATHS_AT_ONCE]),
                timeout=300.0, cwd=Path(copy.path), env={"LC_ALL": "C"},
            )  # fmt: skip
            if result.exit_status != 0:
                raise explain_result(result, self.cluster, what)

    async def _way(self, copy: Resolved, copies: Sequence[Copy]) -> FileTransfer:
        """Return the way to copy these files: little is copied by one command, without rsync."""
        if self._files is None:
            if sum(item.facts.size for item in copies) <= _LITTLE:
                return PlainFiles(self.root, self._transport, copy.path, self.cluster)
            self._files = await files_for(self._transport, self.root, copy.path, self.cluster)
        return self._files

    @contextlib.asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """Hold a lock so that only one process of this machine transfers at a time; others wait."""
        path = self._path.with_suffix(".lock")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise RowtuiError(f"cannot write {visible(str(path))}: {error.strerror}") from None
        try:
            while True:
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    await asyncio.sleep(_LOCK_PAUSE)
                except OSError:
                    break  # the file system has no locks: continue without one
            yield
        finally:
            os.close(fd)


async def files_for(transport: Transport, root: Path, there: str, where: str) -> FileTransfer:
    """Choose rsync if both ends have it, else commands.

    `there`: the absolute path of the copy on the cluster called `where`.
    """
    version = await rsync_there(transport)
    if version is not None:
        return RsyncFiles(root, transport, there, where, remote_version=version)
    return PlainFiles(root, transport, there, where)
