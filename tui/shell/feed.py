"""Keep the session's data up to date: follow the engine's changes, refresh, poll the jobs.

Bursts of changes become one refresh. A slow full refresh is made at intervals, because a change on
a network file system may cause no event.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import PurePath
from typing import TYPE_CHECKING

from rowtui.core.engine.api.snapshot import ENGINE_BACK, ENGINE_LOST, TERMINAL_NOTICE
from rowtui.core.engine.process.errors import EngineLost
from rowtui.tui.shell.session import describe
from rowtui.tui.views.status.status import changed_counts
from rowtui.tui.widgets.short_text import RUN_MARKS

if TYPE_CHECKING:
    from rowtui.core.engine.api.snapshot import ProjectSnapshot
    from rowtui.core.project.views.views import JobsView
    from rowtui.core.runs.views import NetworkView
    from rowtui.tui.shell.session import Session

GAP_SECONDS = 0.25
"""Least seconds between two refreshes: a user cannot read more than four a second."""

RECONCILE_SECONDS = 60.0
"""Seconds until a refresh without a change."""

JOBS_SECONDS = 5.0
"""Seconds between two polls of the jobs. The engine decides how often a shared queue is polled."""

OWN_JOBS_SECONDS = 2.0
"""Seconds between two polls of the jobs where the only queue belongs to the user alone."""

NETWORK_SECONDS = 5.0
"""Seconds between two polls of a network on the screen: its estimate changes with time."""

NETWORK_REST = 4.0
"""Least pause between two polls of a network, as a multiple of the duration of one poll."""

RETRY_SECONDS = 5.0
"""Seconds until the changes are followed again after an error."""


class Feed:
    """Four loops: one follows changes, one refreshes, one polls the jobs and one the network. The
    last two may be slow.

    `changed` is called with the name of what must be shown again, `show_in_terminal` with a
    sequence that notifies the user.
    """

    def __init__(
        self,
        session: Session,
        changed: Callable[[str], None],
        failed: Callable[[str, Exception], None],
        show_in_terminal: Callable[[str], None],
    ) -> None:
        self._session = session
        self._show_in_terminal = show_in_terminal
        self._changed = changed
        self._failed = failed
        self._wake = asyncio.Event()
        self._full = False
        self._jobs_wanted = True  # Whether the jobs are polled after the next refresh.
        self._jobs_wake = asyncio.Event()
        self._jobs_now = False
        self._network_wake = asyncio.Event()

    async def run(self) -> None:
        """Run the loops until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._listen())
            group.create_task(self._refresh_on_demand())
            group.create_task(self._follow_jobs())
            group.create_task(self._follow_network())

    def refresh_now(self, *, full: bool = False, queues: bool = False) -> None:
        """Refresh as soon as possible, also while paused; `queues`: the user asks for a poll."""
        self._full = self._full or full
        self._jobs_now = self._jobs_now or queues
        self._jobs_wanted = True
        self._wake.set()

    def look_at_network(self) -> None:
        """Poll the network as soon as possible."""
        self._network_wake.set()

    async def _listen(self) -> None:
        while True:
            try:
                async for word in self._session.engine.changes():
                    if word.startswith((ENGINE_LOST, ENGINE_BACK)):
                        self._engine(word)
                        continue
                    if word.startswith(TERMINAL_NOTICE):
                        self._show_in_terminal(word.removeprefix(TERMINAL_NOTICE))
                        continue
                    self._jobs_wanted = self._jobs_wanted or word in ("jobs", "network")
                    if word == "network":
                        self._network_wake.set()
                    if not self._session.paused:
                        self._wake.set()
                return  # The engine was closed.
            except Exception as error:
                self._failed("changes cannot be followed", error)
            await asyncio.sleep(RETRY_SECONDS)

    def _engine(self, word: str) -> None:
        """Record that the engine's process was lost, or runs again."""
        session = self._session
        session.engine_away = word != ENGINE_BACK
        if session.engine_away:
            message, _, hint = word.removeprefix(f"{ENGINE_LOST}: ").partition("\n")
            self._failed("the engine", EngineLost(message, hint.strip()))
        else:
            session.note("project", "the engine runs again", "completed")
            if session.network.view and session.network.view.run and session.network.view.run.here:
                session.note(
                    "network", "the run of the network stopped with it: S in 8 goes on", "warning"
                )
            self._network_wake.set()
            self.refresh_now()
        self._changed("engine")

    async def _refresh_on_demand(self) -> None:
        self._wake.set()
        while True:
            try:
                async with asyncio.timeout(RECONCILE_SECONDS):
                    await self._wake.wait()
            except TimeoutError:
                if self._session.paused:
                    continue
            self._wake.clear()
            await self._refresh()
            if self._jobs_wanted:
                self._jobs_wanted = False
                self._jobs_wake.set()
            await asyncio.sleep(GAP_SECONDS)

    async def _refresh(self) -> None:
        full, self._full = self._full, False
        try:
            snapshot = await self._session.engine.refresh(full=full)
        except Exception as error:
            self._session.broken = error
            self._failed("the project cannot be read", error)
            self._changed("snapshot")
            return
        self._take(snapshot)

    def _take(self, snapshot: ProjectSnapshot) -> None:
        session = self._session
        old, session.snapshot = session.snapshot, snapshot
        session.changed = changed_counts(old, snapshot)
        session.broken = None
        if session.action_index is None and snapshot.actions:
            first = next((one for one in snapshot.actions if one.eligible), snapshot.actions[0])
            session.action_index = first.index
        if old is None:
            here = snapshot.scheduler == "local"
            where = "run on this machine" if here else f"go to {snapshot.cluster}"
            session.note("project", f"opened; jobs {where}")
        for text, style in _news(old, snapshot):
            session.note("project", text, style)
        if old is not None and old.generation != snapshot.generation:
            self._jobs_wanted = True
        if session.network.wanted:
            self._network_wake.set()
        self._changed("snapshot")

    async def _follow_network(self) -> None:
        """Poll the network while the user looks at it, or when the engine reports a change."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                async with asyncio.timeout(NETWORK_SECONDS):
                    await self._network_wake.wait()
            except TimeoutError:
                view = self._session.network.view
                moves = view is not None and view.estimate is not None and view.estimate.jobs
                if self._session.paused or not self._session.network.wanted or not moves:
                    continue
            self._network_wake.clear()
            began = loop.time()
            await self._ask_for_network()
            await asyncio.sleep(max(GAP_SECONDS, NETWORK_REST * (loop.time() - began)))

    async def _ask_for_network(self) -> None:
        network = self._session.network
        frozen = network.frozen
        try:
            view = await self._session.engine.network.view(frozen=frozen)
        except Exception as error:
            network.known, network.error = True, describe(error)
            self._changed("network")
            return
        if frozen == network.frozen:
            old = network.view
            network.take(view)
            for text, style in _run_news(old, view):
                self._session.note("network", text, style)
        else:
            self._network_wake.set()
        self._changed("network")

    async def _follow_jobs(self) -> None:
        while True:
            view = self._session.jobs
            shared = view is not None and any(one.next_at for one in view.clusters)
            try:
                async with asyncio.timeout(JOBS_SECONDS if shared else OWN_JOBS_SECONDS):
                    await self._jobs_wake.wait()
            except TimeoutError:
                if self._session.paused or not self._jobs_may_change:
                    continue
            self._jobs_wake.clear()
            await self._ask_for_jobs()
            await asyncio.sleep(GAP_SECONDS)

    @property
    def _jobs_may_change(self) -> bool:
        """Whether jobs are active, or other processes and users use the same queues."""
        view = self._session.jobs
        if view is None:
            return False
        if any(one.next_at or one.connected is not None for one in view.clusters):
            return True
        return any(state.may_change for state in view.states)

    async def _ask_for_jobs(self) -> None:
        session = self._session
        now, self._jobs_now = self._jobs_now, False
        try:
            view = await session.engine.jobs.view(now=now)
        except Exception as error:
            self._failed("the jobs cannot be listed", error)
            return
        session.jobs = view
        for text, style in _ended(view):
            session.note("jobs", text, style)
        self._changed("jobs")


def _news(old: ProjectSnapshot | None, new: ProjectSnapshot) -> list[tuple[str, str]]:
    """Return sentences about the numbers that have changed."""
    if old is None:
        return []
    before = {(action.index, action.name): action for action in old.actions}
    known = {(one.file, one.line, one.message) for one in old.problems}
    parts = [
        (f"{PurePath(one.file).name}:{one.line}: {one.message}", "failed")
        for one in new.problems
        if one.severity == "error" and (one.file, one.line, one.message) not in known
    ]
    for action in new.actions:
        was = before.get((action.index, action.name))
        if was is None:
            parts.append((f"{action.name}: a new action", ""))
            continue
        if (more := action.completed - was.completed) > 0:
            parts.append((f"{action.name}: {more:,} more completed", "completed"))
        elif more < 0:
            parts.append((f"{action.name}: {-more:,} no longer completed", "warning"))
        if (more := action.failed - was.failed) > 0:
            parts.append((f"{action.name}: {more:,} more failed", "failed"))
    if (more := new.directories - old.directories) > 0:
        parts.append((f"{more:,} more directories in the workspace", ""))
    elif more < 0:
        parts.append((f"{-more:,} directories less in the workspace", "warning"))
    return parts


def _run_news(old: NetworkView | None, new: NetworkView | None) -> list[tuple[str, str]]:
    """Return a sentence if the state of the run has changed."""
    if old is None or new is None or new.run is None:
        return []
    was = old.run.status if old.run and old.run.id == new.run.id else None
    if was is new.run.status:
        return []

    mark = RUN_MARKS[new.run.status]
    why = f": {new.run.why}" if new.run.why else ""
    return [(f"run {new.run.id} {mark.word}{why}", mark.style)]


def _ended(new: JobsView) -> list[tuple[str, str]]:
    """Return sentences for the jobs that have ended since the last poll."""
    parts = []
    for job in new.ended:
        word = f"{job.state.value}: {job.reason}" if job.reason else job.state.value
        style = "failed" if job.state.bad else "completed"
        parts.append((f"job {job.label} ({job.action}) {word}", style))
    if (more := new.ended_in_all - len(new.ended)) > 0:
        parts.append((f"{more:,} more jobs ended", ""))
    return parts
