"""Requests for packings: one at a time, and only the newest answer counts.

A request has the wanted groups and the choice of `PackingState`, on the newest generation of the
project; the answer, or the error, is stored in the state. The previous picture stays until then.
`compare` requests the result of every packer for the same jobs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from rowtui.tui.shell.session import describe
from rowtui.tui.shell.work import NewestAnswer, start
from rowtui.tui.views.pack.bundles import Picture, picture_of
from rowtui.tui.views.pack.packing import figures_of
from rowtui.tui.views.pack.state import PackerResult, PackingRequest

if TYPE_CHECKING:
    from rowtui.tui.views.view import Dashboard, ScreenView
    from textual.screen import Screen


MOST_PACKERS = 8
"""The number of packers that are compared."""


async def compare(view: ScreenView, show: Callable[[], None]) -> None:
    """Run all packers; show each answer when it arrives. Another choice ends the comparison."""
    packing = view.session.packing
    what = packing.compare_what()
    if what is None or packing.shown is None:
        return
    packers = [name for name, _ in packing.shown.packed.packers][:MOST_PACKERS]
    packing.compared, packing.compared_of = (), what
    try:
        for name in packers:
            packing.comparing = name
            show()
            choice = what.choice._replace(packer=name)
            packed = await view.session.engine.plans.pack(
                what.wanted.action, what.wanted.groups, None, choice
            )
            picture = await asyncio.to_thread(picture_of, packed, dict(packing.known))
            if packing.compare_what() != what:
                return
            at = min(packing.at, len(picture.looks) - 1)
            cores = picture.looks[at].total[0] if picture.looks else None
            idle = None if cores is None else 1 - cores.busy
            packing.compared = (*packing.compared, PackerResult(name, figures_of(picture), idle))
    except Exception as error:
        view.dashboard.report("the packers cannot be compared", error)
    finally:
        packing.comparing = ""
        show()


class PackAsking:
    """The requests of one view. `show(begins)` is called after an answer; `begins`: it is the
    first.
    """

    def __init__(self, app: Dashboard, screen: Screen[None], show: Callable[[bool], None]) -> None:
        self._app = app
        self._session = app.session
        self._show = show
        self._answers: NewestAnswer[PackingRequest, Picture] = NewestAnswer(
            self._fetch,
            spawn=lambda work: start(screen, work, "pack"),
            arrived=self._take,
            failed=self._failed,
        )

    def ask_if_needed(self) -> None:
        """Send a request if the screen does not show the current choice."""
        packing, snapshot = self._session.packing, self._session.snapshot
        if packing.wanted is None or snapshot is None:
            return
        asked = PackingRequest(packing.wanted, packing.choice, snapshot.generation)
        if asked != packing.asked:
            packing.asked = asked
            packing.computing = True
            self._answers.ask(asked)

    async def _fetch(self, asked: PackingRequest) -> Picture:
        wanted, packing = asked.wanted, self._session.packing
        packed = await self._session.engine.plans.pack(
            wanted.action, wanted.groups, None, asked.choice
        )
        if wanted.groups is not None:
            firsts = {job.directories[0] for job in packed.plan.jobs if job.directories}
            if not firsts <= wanted.firsts:
                raise _Changed
        if asked.choice.node_types == () and packing.wanted == wanted:
            packing.known = {
                str(there.destination): there.node_types for there in packed.destinations
            }
        return await asyncio.to_thread(picture_of, packed, dict(packing.known))

    def _take(self, asked: PackingRequest, picture: Picture) -> None:
        packing = self._session.packing
        if asked != packing.asked:  # The choice has changed since, and a new request follows.
            return
        begins = packing.shown is None
        same_choice = packing.answered is not None and packing.answered.choice == asked.choice
        if packing.shown and same_choice and figures_of(picture) != figures_of(packing.shown):
            packing.change = ""  # The project made the difference, not the choice.
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
    """Raised if the packed groups differ from the marked ones."""
