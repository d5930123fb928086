"""Compare a project with its copy on one cluster, and make both equal.

A `Mirror` has the project's folder, a transport to the cluster and the place of the copy. It
returns plans (`Transfer`) that the user can inspect, and carries out these plans. The manifest
stores the state of both sides when both were last equal. Either side may change between a plan and
its transfer: a file that would be replaced is checked once more, and is not replaced if it differs
from the plan.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterable, Mapping, Sequence
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
    compare,
    folders_above,
    merged,
    restored,
)
from rowtui.core.mirror.listing import (
    checksums_here,
    checksums_there,
    facts_here,
    facts_there,
    list_here,
    list_there,
)
from rowtui.core.mirror.manifest import Manifest, manifest_path, read_manifest, save_manifest
from rowtui.core.mirror.model import (
    FileFacts,
    MirrorSelection,
    explain,
    explain_result,
    is_relative,
)
from rowtui.core.mirror.place import Resolved, remove, resolve
from rowtui.core.mirror.transfer.files import MOST_NOTICES, TransferProgress

if TYPE_CHECKING:
    from rowtui.core.clusters.commands import Transport
    from rowtui.core.mirror.transfer.files import FileTransfer

_LOCK_PAUSE = 0.2  # seconds between two attempts to take the lock that another process holds
_PATHS_AT_ONCE = 5_000


class Mirror:
    """The copy of one project on one cluster."""

    def __init__(
        self,
        root: Path,
        cluster: str,
        transport: Transport,
        place: str,
        *,
        files: FileTransfer | None = None,
    ) -> None:
        """Create a mirror with the copy at `place`; see `default_place`.

        `place` may begin with `~/` or `$VARIABLE/`. `files`: the way of copying files; None for the
        best one available.
        """
        self.root = root
        self.cluster = cluster
        self.notices: tuple[str, ...] = ()  # about the manifest, from the last plan
        self.place = place
        self._transport = transport
        self._path = manifest_path(root, cluster)
        self._resolved: Resolved | None = None
        self._files = files

    async def resolve(self) -> str:
        """Make the copy's folder if necessary, and return its absolute path on the cluster.

        The cluster is asked once for each `Mirror`. Raises: MirrorError, also if the folder is not
        this project's copy.
        """
        return (await self._resolve()).path

    async def find(self) -> str:
        """Return the copy's absolute path on the cluster; "" if there is no copy. Make no folder.

        Raises: MirrorError.
        """
        copy = await self._find(make=False)
        return copy.path if copy else ""

    async def _resolve(self) -> Resolved:
        copy = await self._find(make=True)
        assert copy is not None
        return copy

    async def _find(self, *, make: bool) -> Resolved | None:
        if self._resolved is None:
            manifest = await asyncio.to_thread(read_manifest, self._path)
            self._resolved = await resolve(
                self._transport, self.place, self.root, manifest, self.cluster, make=make
            )
        return self._resolved

    # Plans

    async def plan_send(
        self, selection: MirrorSelection, *, restore: bool = True, make: bool = True
    ) -> Transfer:
        """Return the plan whose `send` the method `send` carries out.

        `restore`: files deleted from the copy are sent again. The plan's `fetch` lists files that
        are newer in the copy; the method `send` does not change these. `make`: a missing copy is
        created. Raises: MirrorError, RowtuiError.
        """
        copy = await self._find(make=make)
        here, notices = await self._list_here(selection)
        if copy is None:
            return compare(here, {}, {})._replace(notices=notices)
        manifest = await self._manifest(copy)
        takes = selection.taker()
        # A file that exists but was not listed was left out for its size, or because it cannot be
        # read.
        missing = [path for path in manifest.entries if path not in here and takes(path)]
        left_out = await asyncio.to_thread(facts_here, self.root, missing)
        paths = {*here, *missing} - {*left_out}
        above = folders_above(paths) - selection.above
        facts = await facts_there(self._transport, copy.path, sorted(paths | above), self.cluster)
        there = {path: found for path, found in facts.items() if path in paths}
        entries = {path: manifest.entries[path] for path in paths & manifest.entries.keys()}
        transfer = await self._compared(copy, here, there, entries, above_there=facts)
        transfer = transfer._replace(notices=notices)
        return restored(transfer, Side.THERE) if restore else transfer

    async def plan_fetch(self, selection: MirrorSelection, *, restore: bool = False) -> Transfer:
        """Return the plan whose `fetch` the method `fetch` carries out.

        `restore`: files deleted on this machine are fetched again. The plan's `send` lists files
        that are newer on this machine; the method `fetch` does not change these. Raises:
        MirrorError, RowtuiError.
        """
        copy = await self._resolve()
        there, notices = await self._list_there(copy, selection)
        manifest = await self._manifest(copy)
        takes = selection.taker()
        missing = [path for path in manifest.entries if path not in there and takes(path)]
        paths = {*there, *missing}
        above = folders_above(paths) - selection.above
        facts = await asyncio.to_thread(facts_here, self.root, paths | above)
        here = {path: found for path, found in facts.items() if path in paths}
        entries = {path: manifest.entries[path] for path in paths & manifest.entries.keys()}
        transfer = await self._compared(copy, here, there, entries, above_here=facts)
        transfer = transfer._replace(notices=notices)
        return restored(transfer, Side.HERE) if restore else transfer

    async def plan_both(self, ours: MirrorSelection, theirs: MirrorSelection) -> Transfer:
        """Return all differences: `ours` selects files of this machine, `theirs` files of the copy.

        Deleted files are not restored: `removed` lists them. Raises: MirrorError, RowtuiError.
        """
        copy = await self._resolve()
        here, left_out_here = await self._list_here(ours)
        there, left_out_there = await self._list_there(copy, theirs)
        manifest = await self._manifest(copy)
        takers = (ours.taker(), theirs.taker())
        missing = {path for path in manifest.entries if any(takes(path) for takes in takers)}
        paths = here.keys() | there.keys() | missing
        above = folders_above(paths) - (ours.above | theirs.above)
        listed = set(here)
        facts = await self._there(copy, (paths | above) - there.keys())
        here |= await asyncio.to_thread(facts_here, self.root, (paths | above) - here.keys())
        there |= facts
        entries = {path: manifest.entries[path] for path in paths & manifest.entries.keys()}
        transfer = await self._compared(
            copy,
            {path: found for path, found in here.items() if path in paths},
            {path: found for path, found in there.items() if path in paths},
            entries,
            above_here=here,
            above_there=there,
        )
        return transfer._replace(
            send=tuple(item for item in transfer.send if item.path in listed),
            notices=tuple(dict.fromkeys((*left_out_here, *left_out_there))),
        )

    async def _list_here(
        self, selection: MirrorSelection
    ) -> tuple[dict[str, FileFacts], tuple[str, ...]]:
        listings = [
            await asyncio.to_thread(list_here, self.root, wanted) for wanted in selection.wanted
        ]
        return merged(listings, selection)

    async def _list_there(
        self, copy: Resolved, selection: MirrorSelection
    ) -> tuple[dict[str, FileFacts], tuple[str, ...]]:
        listings = [
            await list_there(self._transport, copy.path, wanted, self.cluster)
            for wanted in selection.wanted
        ]
        return merged(listings, selection)

    async def _compared(
        self,
        copy: Resolved,
        here: Mapping[str, FileFacts],
        there: Mapping[str, FileFacts],
        entries: Mapping[str, ManifestEntry],
        *,
        above_here: Mapping[str, FileFacts] | None = None,
        above_there: Mapping[str, FileFacts] | None = None,
    ) -> Transfer:
        """Compare both sides, by checksum where size and time do not decide; save the
        equal files.
        """

        def compared(same: Mapping[str, bool]) -> Transfer:
            return compare(
                here, there, entries, same=same, above_here=above_here, above_there=above_there
            )

        transfer = compared({})
        if transfer.needs_checksum:
            transfer = compared(await self.checksums(transfer.needs_checksum))
        if transfer.equal or transfer.forgotten:
            await self._save(copy, dict(transfer.equal), transfer.forgotten)
        return transfer

    async def checksums(self, paths: Collection[str]) -> dict[str, bool]:
        """Whether each file has the same content on both sides; False if one cannot be read.

        Raises: MirrorError.
        """
        copy = await self._resolve()
        ours = asyncio.to_thread(lambda: dict(checksums_here(self.root, paths)))
        task = asyncio.create_task(ours)
        try:
            theirs = {
                path: told
                async for path, told in checksums_there(
                    self._transport, copy.path, paths, self.cluster
                )
            }
        finally:
            mine = await task
        return {path: path in mine and mine[path] == theirs.get(path) for path in paths}

    # Transfers

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
            async with contextlib.aclosing((await self._way(copy)).send(copies)) as transferring:
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
            async with contextlib.aclosing((await self._way(copy)).fetch(copies)) as transferring:
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

    # Decisions of the user, and cleaning up

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

    # Helpers

    async def _manifest(self, copy: Resolved) -> Manifest:
        """Return the manifest of this copy; an empty one if the stored one is of another copy."""
        manifest = await asyncio.to_thread(read_manifest, self._path)
        if manifest.notice:
            self.notices = (manifest.notice,)
        return manifest if manifest.is_of(copy.path, copy.copy_id) else Manifest()

    async def _save(
        self, copy: Resolved, changed: Mapping[str, ManifestEntry], forgotten: Collection[str]
    ) -> None:
        await asyncio.to_thread(
            save_manifest, self._path, copy.path, copy.copy_id, changed, forgotten
        )

    async def _there(self, copy: Resolved, paths: Iterable[str]) -> dict[str, FileFacts]:
        return await facts_there(self._transport, copy.path, sorted(set(paths)), self.cluster)

    async def _way(self, copy: Resolved) -> FileTransfer:
        if self._files is None:
            from rowtui.core.mirror.transfer.choose import files_for

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
