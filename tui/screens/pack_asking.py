"""Asking for packings: one question at a time, and only the newest answer counts.

The question is `Packing.wanted` and `Packing.choice` on the newest generation of the project; what
comes back, or why nothing does, goes into `Packing`. The picture before stays until then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from rowtui.tui.newest import NewestAnswer
from rowtui.tui.packing import Asked
from rowtui.tui.render.bundles import Picture, picture_of
from rowtui.tui.render.packing import figures_of
from rowtui.tui.session import describe
from rowtui.tui.work import start

if TYPE_CHECKING:
    from rowtui.tui.app import RowtuiApp
    from textual.screen import Screen


class PackAsking:
    """On behalf of one view. `show(begins)`: there is an answer; `begins`: the first one."""

    def __init__(self, app: RowtuiApp, screen: Screen[None], show: Callable[[bool], None]) -> None:
        self._app = app
        self._session = app.session
        self._show = show
        self._answers: NewestAnswer[Asked, Picture] = NewestAnswer(
            self._fetch,
            spawn=lambda work: start(screen, work, "pack"),
            arrived=self._take,
            failed=self._failed,
        )

    def ask_if_needed(self) -> None:
        """Ask if what is on the screen is not what is wanted any more."""
        packing, snapshot = self._session.packing, self._session.snapshot
        if packing.wanted is None or snapshot is None:
            return
        asked = Asked(packing.wanted, packing.choice, snapshot.generation)
        if asked != packing.asked:
            packing.asked = asked
            packing.computing = True
            self._answers.ask(asked)

    async def _fetch(self, asked: Asked) -> Picture:
        wanted, packing = asked.wanted, self._session.packing
        packed = await self._session.engine.pack(wanted.action, wanted.groups, None, asked.choice)
        if wanted.groups is not None:
            firsts = {job.directories[0] for job in packed.plan.jobs if job.directories}
            if not firsts <= wanted.firsts:
                raise _Changed
        if asked.choice.node_types == () and packing.wanted == wanted:
            packing.known = {
                str(there.destination): there.node_types for there in packed.destinations
            }
        return await asyncio.to_thread(picture_of, packed, dict(packing.known))

    def _take(self, asked: Asked, picture: Picture) -> None:
        packing = self._session.packing
        if asked != packing.asked:  # chosen otherwise meanwhile, and asked for soon
            return
        begins = packing.shown is None
        same_choice = packing.answered is not None and packing.answered.choice == asked.choice
        if packing.shown and same_choice and figures_of(picture) != figures_of(packing.shown):
            packing.change = ""  # not the choice made the difference, but the project
        packing.answered = asked
        packing.shown, packing.error, packing.computing = picture, None, False
        packing.at = min(packing.at, max(0, len(picture.looks) - 1))
        self._show(begins)

    def _failed(self, error: Exception) -> None:
        packing = self._session.packing
        if isinstance(error, _Changed):
            packing.error = (
                "the project changed meanwhile: these are not the groups that were marked",
                "mark them again in 2, then press 4",
            )
        else:
            packing.error = describe(error)
            self._app.report("the jobs cannot be packed", error)
        packing.computing = False
        self._show(False)


class _Changed(Exception):
    """The groups are not those that were marked."""
