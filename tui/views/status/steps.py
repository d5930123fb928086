"""The commands of the view Status on an item that waits for the user: its next step, and a retry.

Each step opens the place where the user can act, or asks the question there; no step changes
anything outside the dashboard by itself.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.base.text import plural
from rowtui.core.groups.model import Status
from rowtui.tui.shell.session import FILTERS
from rowtui.tui.shell.work import start
from rowtui.tui.views.dialogs import PageScreen
from rowtui.tui.views.status.needs import (
    COLUMNS,
    NextStep,
    complete,
    distinct,
    finished,
    need_cells,
    needs,
    nothing_needed,
)
from rowtui.tui.views.view import ScreenView
from rowtui.tui.widgets.chrome import set_titles
from rowtui.tui.widgets.table.rows import ListRows
from rowtui.tui.widgets.table.virtual_table import VirtualTable

if TYPE_CHECKING:
    from rowtui.tui.views.status.needs import NeedItem


class NeedSteps(ScreenView):
    """The part of the view Status with the items that wait for the user, and their steps."""

    def __init__(self) -> None:
        super().__init__()
        self.needs: list[NeedItem] = []
        self._is_complete = False  # The list has what can be done in a complete project.

    def show_needs(self) -> None:
        """List what waits for the user; in a complete project, what can be done next."""
        session = self.session
        found = distinct(
            needs(
                session.snapshot, session.broken, session.jobs, session.network.view,
                session.sending,
            )
        )  # fmt: skip
        snapshot = session.snapshot
        self._is_complete = False
        if snapshot is not None and not found and complete(snapshot):
            self._is_complete = True
            found = finished(snapshot, session.played)
        self.needs = found
        table = self.query_one("#needs", VirtualTable)
        calm = nothing_needed(session.snapshot) if session.snapshot is not None else ()
        table.say_if_empty(calm)
        table.show(
            ListRows(found, lambda need: need.key, lambda _, need: need_cells(need)), COLUMNS
        )
        # The user is not in this list, so the worst item is shown.
        if found and not table.has_focus:
            table.move_to_key(found[0].key)
        self.choose_need()

    def choose_need(self) -> None:
        """Store the item under the cursor, if this list has the focus, and name its step."""
        table = self.query_one("#needs", VirtualTable)
        chosen = table.has_focus and table.cursor < len(self.needs)
        need = self.needs[table.cursor] if chosen else None
        step = f"Enter: {need.step.value}" if need and need.step.value else "Tab, then Enter"
        title = "Needs you"
        needs = sum(it.step is not NextStep.STOP_RUN for it in self.needs)
        if self._is_complete:
            title = "The study is complete: what next?"
        elif needs:
            title = plural(needs, "thing needs you", "things need you")
        set_titles(table, title, step if self.needs else "")
        if need != self.session.need:
            self.session.need = need
            self.show_detail()
            self.show_bottom()

    def show_detail(self) -> None:
        """Show the details of the item, or of the action, under the cursor."""
        raise NotImplementedError

    def take_step(self, need: NeedItem) -> None:
        """Carry out the step that Enter shows for this need."""
        steps = {
            NextStep.EDIT: self._edit,
            NextStep.FAILED: self._failed,
            NextStep.LOGIN: lambda need: self.dashboard.logins.connect(need.cluster),
            NextStep.QUEUE: lambda _: self.dashboard.go("queue"),
            NextStep.JOBS: self._job,
            NextStep.TRUST: lambda need: start(self.app, partial(self._trust, need), "trust"),
            NextStep.NETWORK: lambda _: self.dashboard.go("network"),
            NextStep.SENDING: lambda _: self.dashboard.go("submit"),
            NextStep.BAD: self._bad,
            NextStep.SUBMIT: self._submit,
            NextStep.PAST: lambda _: self.dashboard.go("past"),
            NextStep.RESULTS: self._results,
            NextStep.STOP_RUN: self._change_run,
            NextStep.LIMITS: self._change_run,
        }
        if need.step in steps:
            steps[need.step](need)
            return
        self.dashboard.notify("Nothing can be done about it from here.")

    def command_retry(self) -> None:
        """Ask how the directories that failed for the same reason are tried again."""
        if self.session.need is not None:
            start(self.app, partial(self._retry, self.session.need), "retry", exclusive=True)

    async def _retry(self, need: NeedItem) -> None:
        if need.action_index is None:
            return
        try:
            jobs = await self.session.engine.plans.failed_jobs(need.action_index, None)
        except Exception as error:
            self.dashboard.report("the failed jobs cannot be found", error)
            return
        alike = [job for job in jobs if not need.cause or job.cause == need.cause]
        if alike:
            self.dashboard.verbs.ask_again(alike, need.cause)
        else:
            self.dashboard.notify("None of them has failed any more.")

    def _failed(self, need: NeedItem) -> None:
        self.session.action_index = need.action_index
        self.session.filter = next(one for one in FILTERS if one.statuses == (Status.FAILED,))
        self.dashboard.go("groups")

    def _results(self, need: NeedItem) -> None:
        self.session.action_index = need.action_index
        self.session.filter = FILTERS[-1]
        self.dashboard.go("groups")

    def _job(self, need: NeedItem) -> None:
        self.session.job_token = self.session.job_to_show = need.token
        self.dashboard.go("queue")

    def _change_run(self, need: NeedItem) -> None:
        verbs = self.dashboard.verbs
        if self.session.read_only:
            self.dashboard.notify("READ ONLY: no run is changed.")
        elif need.step is NextStep.STOP_RUN:
            verbs.stop_run(need.text)
        else:
            verbs.limit_run(need.text)

    def _submit(self, need: NeedItem) -> None:
        if self.session.read_only:
            self.dashboard.notify("READ ONLY: nothing can be submitted.")
            return
        self.dashboard.verbs.prepare(need.action_index, None)

    def _bad(self, need: NeedItem) -> None:
        count = self.session.snapshot.bad_count if self.session.snapshot else len(need.more)
        more = count - len(need.more)
        lines = list(need.more)
        if more > 0:
            lines.append(f"... and {more:,} more: `rowtui scan` names them all")
        self.app.push_screen(PageScreen("Directories that are not counted", lines))

    def _edit(self, need: NeedItem) -> None:
        start(self.app, partial(self._open_editor, need), "editor", exclusive=True)

    async def _open_editor(self, need: NeedItem) -> None:
        from rowtui.tui.shell.external_program import open_in_editor

        await open_in_editor(
            self.dashboard,
            Path(need.place),
            self.session.read_only,
            line=need.line,
            column=need.column,
        )
        self.dashboard.feed.refresh_now(queues=True)

    async def _trust(self, need: NeedItem) -> None:
        from rowtui.tui.views.questions import TrustScreen

        engine = self.session.engine
        try:
            review = await engine.mapping.file(need.place)
        except Exception as error:
            self.dashboard.report("the mapping file cannot be read", error)
            return

        def answered(yes: bool | None) -> None:
            if not yes:
                self.dashboard.notify("Nothing was trusted.")
            elif self.session.read_only:
                self.dashboard.notify("READ ONLY: nothing can be trusted.")
            else:
                start(self.app, partial(self._do_trust, need.place, review.digest), "trust")

        self.app.push_screen(TrustScreen(review), answered)

    async def _do_trust(self, place: str, digest: str) -> None:
        try:
            await self.session.engine.mapping.trust(place, digest)
        except Exception as error:
            self.dashboard.report("the mapping file is not trusted", error)
            return
        self.session.note("you", f"trusted {place} as it is now")
        self.dashboard.notify("Trusted as it is now.")
        self.dashboard.feed.refresh_now(queues=True)
