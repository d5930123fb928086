"""Carry out the next step of an item that waits for the user.

Each step opens the place where the user can act, or asks the question there; no step changes
anything outside the dashboard by itself.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.groups.model import Status
from rowtui.tui.shell.session import FILTERS
from rowtui.tui.shell.work import start
from rowtui.tui.views.status.needs import NextStep

if TYPE_CHECKING:
    from rowtui.tui.shell.app import RowtuiApp
    from rowtui.tui.shell.session import Session
    from rowtui.tui.views.status.needs import NeedItem


class NeedSteps:
    """The steps of one app."""

    def __init__(self, app: RowtuiApp, session: Session) -> None:
        self._app = app
        self._session = session

    def take(self, need: NeedItem) -> None:
        """Carry out the step that Enter shows for this need."""
        steps = {
            NextStep.EDIT: self._edit,
            NextStep.FAILED: self._failed,
            NextStep.LOGIN: lambda need: self._app.logins.connect(need.cluster),
            NextStep.QUEUE: lambda _: self._app.go("queue"),
            NextStep.JOBS: self._job,
            NextStep.TRUST: lambda need: start(self._app, partial(self._trust, need), "trust"),
            NextStep.NETWORK: lambda _: self._app.go("network"),
            NextStep.SENDING: lambda _: self._app.go("submit"),
            NextStep.BAD: self._bad,
            NextStep.SUBMIT: self._submit,
        }
        if need.step in steps:
            steps[need.step](need)
            return
        self._app.notify("Nothing can be done about it from here.", markup=False)

    def retry(self, need: NeedItem) -> None:
        """Ask how the directories that failed with this cause are tried again."""
        start(self._app, partial(self._retry, need), "retry", exclusive=True)

    async def _retry(self, need: NeedItem) -> None:
        if need.action_index is None:
            return
        try:
            jobs = await self._session.engine.failed_jobs(need.action_index, None)
        except Exception as error:
            self._app.report("the failed jobs cannot be found", error)
            return
        alike = [job for job in jobs if not need.cause or job.cause == need.cause]
        if alike:
            self._app.verbs.ask_again(alike, need.cause)
        else:
            self._app.notify("None of them has failed any more.", markup=False)

    def _failed(self, need: NeedItem) -> None:
        self._session.action_index = need.action_index
        self._session.filter = next(one for one in FILTERS if one.statuses == (Status.FAILED,))
        self._app.go("groups")

    def _job(self, need: NeedItem) -> None:
        self._session.job_token = self._session.job_to_show = need.token
        self._app.go("queue")

    def _submit(self, need: NeedItem) -> None:
        if self._session.read_only:
            self._app.notify("READ ONLY: nothing can be submitted.", markup=False)
            return
        self._app.verbs.prepare(need.action_index, None)

    def _bad(self, need: NeedItem) -> None:
        from rowtui.tui.views.dialogs import PageScreen

        count = self._session.snapshot.bad_count if self._session.snapshot else len(need.more)
        more = count - len(need.more)
        lines = list(need.more)
        if more > 0:
            lines.append(f"... and {more:,} more: `rowtui scan` names them all")
        self._app.push_screen(PageScreen("Directories that are set aside", lines))

    def _edit(self, need: NeedItem) -> None:
        start(self._app, partial(self._open_editor, need), "editor", exclusive=True)

    async def _open_editor(self, need: NeedItem) -> None:
        from rowtui.tui.shell.external_program import open_in_editor

        await open_in_editor(
            self._app,
            Path(need.place),
            self._session.read_only,
            line=need.line,
            column=need.column,
        )
        self._app.command_refresh()

    async def _trust(self, need: NeedItem) -> None:
        from rowtui.tui.views.dialogs import TrustScreen

        engine = self._session.engine
        try:
            review = await engine.mapping_file(need.place)
        except Exception as error:
            self._app.report("the mapping file cannot be read", error)
            return

        def answered(yes: bool | None) -> None:
            if not yes:
                self._app.notify("Nothing was trusted.", markup=False)
            elif self._session.read_only:
                self._app.notify("READ ONLY: nothing can be trusted.", markup=False)
            else:
                start(self._app, partial(self._do_trust, need.place, review.digest), "trust")

        self._app.push_screen(TrustScreen(review), answered)

    async def _do_trust(self, place: str, digest: str) -> None:
        try:
            await self._session.engine.trust(place, digest)
        except Exception as error:
            self._app.report("the mapping file is not trusted", error)
            return
        self._session.note("you", f"trusted {place} as it is now")
        self._app.notify("Trusted as it is now.", markup=False)
        self._app.command_refresh()
