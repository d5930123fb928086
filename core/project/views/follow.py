"""Changes on disk while a dashboard is open, as short words.

There are three watchers. The first watches the few paths in which all reports of jobs arrive,
for any size of the workspace. The second watches the mapping files and the record of trusted
files. The third watches up to a thousand directories themselves, so that a product that the user
makes or deletes by hand is seen as well; in larger workspaces `scan` finds such products, as in
Row. There is no recursive watch: polling decides.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.project.scan import look_again
from rowtui.core.project.views.needs import known_mapping_places, mapping_paths
from rowtui.core.workspace.watch import FileWatcher, Stamp

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject

# Each directory costs a watch and a stat every two seconds: together 3 ms and a few kB of kernel
# memory.
DIRECTORIES_UP_TO = 1_000


class Changes:
    """The changes of one project on disk."""

    def __init__(self, project: OpenProject) -> None:
        self._project = project
        self._words: asyncio.Queue[str | None] = asyncio.Queue()
        self._renew = asyncio.Event()
        self._watched: tuple[str, ...] = ()
        self._touched: set[str] = set()
        self._stamps: dict[Path, Stamp] = {}  # of the directories, as last seen
        self._renew_mapping = asyncio.Event()
        self._mapping_places: tuple[str, ...] = ()

    async def words(self, *, reports_only: bool = False) -> AsyncIterator[str]:
        """Yield a word for each change until `close`; a burst of the same word is yielded once.

        `reports_only`: only the first watcher, which costs least.
        """
        tasks = [asyncio.create_task(self._follow_reports())]
        if not reports_only:
            tasks.append(asyncio.create_task(self._follow_directories()))
            tasks.append(asyncio.create_task(self._follow_mapping()))
        try:
            while (word := await self._words.get()) is not None:
                yield word
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def take_touched(self) -> list[str]:
        """Return the directories in which something was made or deleted since the last call."""
        taken = list(self._touched)
        self._touched.clear()
        return taken

    def directories_may_have_changed(self) -> None:
        """Watch the current directories and mapping files, after the project was read again."""
        if self._names() != self._watched:
            self._renew.set()
        if known_mapping_places(self._project) != self._mapping_places:
            self._renew_mapping.set()

    def close(self) -> None:
        """End `words`."""
        self._words.put_nowait(None)

    def say(self, word: str) -> None:
        """Make `words` yield this word, too."""
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
        async with FileWatcher(words) as watcher:
            self.say("watching reports")
            async for changed in watcher:
                for word in dict.fromkeys(words[path] for path in changed):
                    self.say(word)

    async def _follow_mapping(self) -> None:
        """Watch the mapping files; restart after they were read or one of them has changed."""
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
        """Watch these paths until the set of paths changes."""
        self._mapping_places = known_mapping_places(self._project)
        async with FileWatcher(paths) as watcher:
            # earlier changes are not reported: check the paths once more
            self.say("watching mapping")
            if await asyncio.to_thread(mapping_paths, self._project) != paths:
                return
            async for _ in watcher:
                self.say("mapping")
                if await asyncio.to_thread(mapping_paths, self._project) != paths:
                    return

    async def _follow_directories(self) -> None:
        """Watch the directories, and restart the watch whenever the set of directories changes."""
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
        async with FileWatcher(paths) as watcher:
            # After a restart: report what changed since the previous watcher's last check.
            now = watcher.stamps
            missed = [path for path in paths if self._stamps.get(path, now[path]) != now[path]]
            self._stamps = dict(now)
            self._touched.update(paths[path] for path in missed)
            self.say("watching directories")
            async for changed in watcher:
                self._stamps = dict(watcher.stamps)
                self._touched.update(paths[path] for path in changed)
                self.say("products")


def look_at_touched(project: OpenProject, touched: Sequence[str]) -> None:
    """Check these directories for products made or deleted by hand, and record the result.

    Actions whose job on the directory has not ended are left out: a product exists from its first
    byte on, and only the end of the job shows that the product is whole.
    """
    names = [os.fsencode(name) for name in touched]
    with contextlib.suppress(RowtuiError):  # the next synchronisation reports the problem
        look_again(project, names)
