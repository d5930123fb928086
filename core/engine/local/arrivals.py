"""Completions that arrive while a dashboard is open: shown first, saved right after.

If the only change is staged completions, the records in memory take them at once and a commit
follows; any other change (another directory, workflow, commit, or file of Row's) is left to the
full synchronisation. Until they are saved, staged files stay in place: other processes find them,
and a crash of this process loses nothing. Decisions wait until all shown records are saved
(`SavedTurn`). Source: docs/background/state.md, generations.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Literal

from rowtui.core.base.errors import RowtuiError
from rowtui.core.state.records import with_news, with_staged, without_mended
from rowtui.core.state.row.row_files import import_row_files
from rowtui.core.state.row.staging import list_staged, read_staged
from rowtui.core.workspace.list import workspace_mtime_ns
from rowtui.core.workspace.update import STAMPS_UP_TO

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.state.model import State
    from rowtui.core.state.store.stored import Stored

PAUSE_SECONDS = 0.01
"""The pause before a commit, so that the screen's next request is answered first."""
TIDY_SECONDS = 2.0
"""The minimum time from a commit until Row's files and the summary are updated."""
TIDY_SHARE = 50
"""The pause as a multiple of the last tidying's duration, so that tidying uses at most 2 % of a
core.
"""


class Arrivals:
    """The completions that one engine has taken. `_ahead`: records that are not saved yet."""

    def __init__(
        self,
        project: OpenProject,
        records: asyncio.Lock,
        look_again: Callable[[], None],
        tidy: Callable[[], None],
    ) -> None:
        """Create the object.

        `look_again`: makes the screen refresh. `tidy`: is called in a thread some time after a
        commit.
        """
        self._project = project
        self._records = records
        self._look_again = look_again
        self._tidy = tidy
        self._basis: Stored | None = None  # the saved records that `_ahead` was made from
        self._ahead: Stored | None = None
        self._saving: asyncio.Task[None] | None = None
        self._failed = False  # the full synchronisation then reports the reason
        self._tidying: asyncio.Task[None] | None = None
        self._tidied_in = 0.0

    def take(self) -> bool:
        """Show staged completions if nothing else is new. Call in a thread that holds `records`."""
        base = self._base()
        if base is None:
            return False
        project = self._project
        waiting = list_staged(project.root)
        unread = [file for file in waiting if file not in base.consumed]
        if not unread:
            return False
        read = read_staged(project.root, unread)
        if read.unreadable or read.vanished:
            return False
        after = without_mended(with_staged(base, read.staged, waiting, int(time.time())))
        if base is not self._ahead:
            self._basis = base
        self._ahead = after
        project.use(after.state)
        return True

    def _base(self) -> Stored | None:
        """Return the shown records if only staged completions can be new; otherwise None."""
        project, known = self._project, self._project.known_state
        if known is None or self._failed:
            self._failed = False
            return None
        saved = project.store.load().stored
        if project.store.unsaved or saved is None:
            return None
        base = saved
        if self._ahead is not None and saved.state.completed is not self._ahead.state.completed:
            if self._basis is None or saved.state.generation != self._basis.state.generation:
                return None  # other processes have committed
            base = self._ahead
        workflow = project.workflow
        directories = base.directories
        same = (
            _is_same(base.state, known)
            and not base.racy
            and not base.reread
            and not base.doubtful
            and len(directories) > STAMPS_UP_TO
            and not directories.bad_set
            and base.value_file == workflow.value_file
            and workspace_mtime_ns(workflow.workspace) == base.workspace_mtime_ns
            and dict(base.products) == workflow.products()
            and base.state.completed.keys() == base.products.keys()
            and import_row_files(project.root, base).stored is base
        )
        return base if same else None

    @property
    def unsaved(self) -> bool:
        """Whether shown records are not saved yet."""
        return self._ahead is not None

    def save(self) -> None:
        """Begin to save the taken completions, if there are any."""
        if self._ahead is not None and (self._saving is None or self._saving.done()):
            self._saving = asyncio.ensure_future(self._save())

    async def saved(self) -> None:
        """Wait until all shown records are saved, or could not be saved."""
        self.save()
        while self._saving is not None and not self._saving.done():
            await asyncio.wait((self._saving,))

    async def close(self) -> None:
        """Save the taken completions, and stop tidying."""
        if self._tidying is not None:
            self._tidying.cancel()
            await asyncio.gather(self._tidying, return_exceptions=True)
            self._tidying = None
        await self.saved()

    async def _save(self) -> None:
        await asyncio.sleep(PAUSE_SECONDS)
        while self._ahead is not None:
            ahead, basis = self._ahead, self._basis
            edit = partial(self._edited, ahead, basis)
            try:
                stored = await asyncio.to_thread(self._project.store.commit, edit)
            except (RowtuiError, OSError):
                self._ahead, self._failed = None, True
                self._look_again()
                return
            async with self._records:
                ours = stored.state.completed is ahead.state.completed
                if self._ahead is not ahead and ours:
                    self._basis = stored  # more completions arrived in between, on top of these
                    continue
                if self._ahead is not ahead or not ours:
                    # other processes have committed: the shown records may be older
                    self._look_again()
                self._ahead = None
                self._project.use(stored.state)
        if self._tidying is None or self._tidying.done():
            self._tidying = asyncio.ensure_future(self._tidy_later())

    def _edited(self, ahead: Stored, basis: Stored | None, current: Stored) -> Stored:
        """Return the records to commit: `ahead`, or the current ones with staged completions."""
        if (
            basis is not None
            and not current.reread
            and (current.lineage, current.state.generation)
            == (basis.lineage, basis.state.generation)
        ):
            return ahead
        return with_news(self._project.root, current)

    async def _tidy_later(self) -> None:
        await asyncio.sleep(max(TIDY_SECONDS, TIDY_SHARE * self._tidied_in))
        async with self._records:
            if self._ahead is None:
                began = time.monotonic()
                # the next refresh reports the error
                with contextlib.suppress(RowtuiError, OSError):
                    await asyncio.to_thread(self._tidy)
                self._tidied_in = time.monotonic() - began


def _is_same(one: State, other: State) -> bool:
    """Whether both have the identical records."""
    return (
        one.directories is other.directories
        and one.completed is other.completed
        and one.submitted is other.submitted
        and one.ends is other.ends
    )


class SavedTurn(asyncio.Lock):
    """The lock for decisions: all shown records are saved when it is acquired."""

    def __init__(self, records: asyncio.Lock, arrivals: Arrivals) -> None:
        super().__init__()
        self._records = records
        self._arrivals = arrivals

    async def acquire(self) -> Literal[True]:
        """Acquire the records once all shown records are saved."""
        while True:
            await self._arrivals.saved()
            await self._records.acquire()
            if not self._arrivals.unsaved:
                return True
            self._records.release()

    def release(self) -> None:
        """Release the records."""
        self._records.release()

    def locked(self) -> bool:
        """Whether the records are locked."""
        return self._records.locked()
