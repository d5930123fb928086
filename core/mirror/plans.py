"""Plans of what a project and its copy on one cluster lack.

The input is the project's folder, a transport to the cluster and the place of the copy. The result
is plans (`Transfer`) that the user can inspect. The manifest stores the state of both sides when
both were last equal. Carrying out a plan is left to `mirror`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.mirror.compare import (
    ManifestEntry,
    Side,
    Transfer,
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
from rowtui.core.mirror.model import FILE, FileFacts, MirrorSelection
from rowtui.core.mirror.place import Resolved, resolve

if TYPE_CHECKING:
    from rowtui.core.clusters.commands import Transport
    from rowtui.core.mirror.transfer.arriving import FileTransfer


# Files that are sent are compared by content up to this size, the project's own files first: a
# program may change a file and keep its size and time.
SMALL = 1 << 18
MOST_CHECKED = 2_000


class MirrorPlans:
    """The copy of one project on one cluster, and its differences to the project."""

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
        small = [
            path
            for path, mine in here.items()
            if mine.kind == FILE and mine.size <= SMALL and path in there
        ]
        transfer = await self._compared(
            copy, here, there, entries, above_there=facts, check=small[:MOST_CHECKED]
        )
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
        check: Collection[str] = (),
    ) -> Transfer:
        """Compare both sides, by checksum where size and time do not decide; save equal files.

        `check`: files that are compared by checksum in any case.
        """

        def compared(same: Mapping[str, bool]) -> Transfer:
            return compare(
                here, there, entries, same=same, above_here=above_here, above_there=above_there
            )

        mine, theirs = await self._sums(check) if check else ({}, {})
        same = {path: mine[path] == theirs[path] for path in mine.keys() & theirs.keys()}
        transfer = compared(same)
        if transfer.needs_checksum:
            transfer = compared(same | await self.checksums(transfer.needs_checksum))
        if transfer.equal or transfer.forgotten:
            await self._save(copy, dict(transfer.equal), transfer.forgotten)
        return transfer

    async def checksums(self, paths: Collection[str]) -> dict[str, bool]:
        """Whether each file has the same content on both sides; False if one cannot be read.

        Raises: MirrorError.
        """
        mine, theirs = await self._sums(paths)
        return {path: path in mine and mine[path] == theirs.get(path) for path in paths}

    async def _sums(self, paths: Collection[str]) -> tuple[dict[str, str], dict[str, str]]:
        """Return the checksums of the files that can be read, here and there."""
        copy = await self._resolve()
        ours = asyncio.to_thread(lambda: dict(checksums_here(self.root, paths)))
        task = asyncio.create_task(ours)
        try:
            sums = checksums_there(self._transport, copy.path, paths, self.cluster)
            theirs = {path: told async for path, told in sums}
        finally:
            mine = await task
        return mine, theirs

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
