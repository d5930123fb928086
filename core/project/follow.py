"""What changes on disk while a dashboard is open, in words.

Three watchers: one on the few paths that tell of everything that jobs report, whatever the size of
the workspace; one on the mapping files and on what is trusted; and, up to a thousand directories,
one on the directories themselves, so that a product that somebody makes or deletes by hand is seen
as well. Larger workspaces find those by `scan`, as always in Row. There is no recursive watch:
polling is the truth.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.errors import RowtuiError
from rowtui.core.project.mapping_files import mapping_paths
from rowtui.core.workspace.watch import Stamp, Watcher

if TYPE_CHECKING:
    from rowtui.core.project.project import Project

# A watch and, every two seconds, a stat for each directory: 3 ms and a few kB of kernel memory.
DIRECTORIES_UP_TO = 1_000


class Changes:
    """The changes of one project."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._words: asyncio.Queue[str | None] = asyncio.Queue()
        self._renew = asyncio.Event()
        self._watched: tuple[str, ...] = ()
        self._touched: set[str] = set()
        self._stamps: dict[Path, Stamp] = {}  # of the directories, as last looked at
        self._renew_mapping = asyncio.Event()
        self._mapping_places: tuple[str, ...] = ()

    async def words(self) -> AsyncIterator[str]:
        """A word for each change, until `close`; bursts of the same word are one."""
        tasks = [
            asyncio.create_task(self._follow_reports()),
            asyncio.create_task(self._follow_directories()),
            asyncio.create_task(self._follow_mapping()),
        ]
        try:
            while (word := await self._words.get()) is not None:
                yield word
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def take_touched(self) -> list[str]:
        """The directories in which something was made or deleted since the last time."""
        taken = list(self._touched)
        self._touched.clear()
        return taken

    def directories_may_have_changed(self) -> None:
        """The project was read again: watch what is there now."""
        if self._names() != self._watched:
            self._renew.set()
        if self._project.known_mapping_places() != self._mapping_places:
            self._renew_mapping.set()

    def close(self) -> None:
        """End `words`."""
        self._words.put_nowait(None)

    def say(self, word: str) -> None:
        """Have `words` give this one, too."""
        self._words.put_nowait(word)

    async def _follow_reports(self) -> None:
        project = self._project
        row = project.root / ".row"
        words = {
            row: "workspace",
            row / "completed": "completed",
            row / "rowtui" / "ended": "jobs",
            project.workflow.workspace: "workspace",
            project.workflow.path: "workflow",
        }
        async with Watcher(words) as watcher:
            self.say("watching reports")
            async for changed in watcher:
                for word in dict.fromkeys(words[path] for path in changed):
                    self.say(word)

    async def _follow_mapping(self) -> None:
        """Watch the mapping files; others once these were read, or one of them has changed."""
        project = self._project
        while True:
            self._renew_mapping.clear()
            paths = await asyncio.to_thread(mapping_paths, project)
            watching = asyncio.create_task(self._watch_mapping(paths))
            renew = asyncio.create_task(self._renew_mapping.wait())
            try:
                await asyncio.wait((watching, renew), return_when=asyncio.FIRST_COMPLETED)
                if watching.done():
                    watching.result()
            finally:
                for task in (watching, renew):
                    task.cancel()
                await asyncio.gather(watching, renew, return_exceptions=True)

    async def _watch_mapping(self, paths: tuple[Path, ...]) -> None:
        """Until other paths are to be watched."""
        self._mapping_places = self._project.known_mapping_places()
        async with Watcher(paths) as watcher:
            self.say("watching mapping")  # what changed before is not reported: look once more
            if await asyncio.to_thread(mapping_paths, self._project) != paths:
                return
            async for _ in watcher:
                self.say("mapping")
                if await asyncio.to_thread(mapping_paths, self._project) != paths:
                    return

    async def _follow_directories(self) -> None:
        """Watch the directories, and begin anew whenever there are others."""
        while True:
            self._renew.clear()
            self._watched = self._names()
            watching = asyncio.create_task(self._watch(self._watched))
            await self._renew.wait()
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching

    def _names(self) -> tuple[str, ...]:
        state = self._project.known_state
        if state is None or len(state.directories) > DIRECTORIES_UP_TO:
            return ()
        return tuple(state.directories.names())

    async def _watch(self, names: tuple[str, ...]) -> None:
        if not names:
            return
        workspace = self._project.workflow.workspace
        paths = {workspace / name: name for name in names}
        async with Watcher(paths) as watcher:
            # Begun anew: what changed since the last look of the watcher before.
            now = watcher.stamps
            missed = [path for path in paths if self._stamps.get(path, now[path]) != now[path]]
            self._stamps = dict(now)
            self._touched.update(paths[path] for path in missed)
            self.say("watching directories")
            async for changed in watcher:
                self._stamps = dict(watcher.stamps)
                self._touched.update(paths[path] for path in changed)
                self.say("products")


def look_at_touched(project: Project, touched: Sequence[str]) -> None:
    """Look for products that were made or deleted by hand in these directories, and enter them.

    Not for actions whose job on the directory has not ended: a product is there from its first
    byte on, and only the job can tell when it is whole.
    """
    from rowtui.core.project.scan import look_again

    names = [os.fsencode(name) for name in touched]
    with contextlib.suppress(RowtuiError):  # the next synchronisation says what is wrong
        look_again(project, names)
