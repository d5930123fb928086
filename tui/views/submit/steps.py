"""Work that the Submit view starts without waiting: files, pager, Explain, earlier scripts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from rowtui.core.base.text import plural, visible
from rowtui.core.engine.api.engine import ExportedFiles, ScriptAsked
from rowtui.core.submission.plan.model import PlannedJob
from rowtui.tui.shell.external_program import open_in_pager
from rowtui.tui.shell.session import FILTERS, Session
from rowtui.tui.shell.work import start
from rowtui.tui.views.submit.plan import Sending
from rowtui.tui.views.submit.script import ScriptLook

if TYPE_CHECKING:
    from rowtui.tui.shell.app import RowtuiApp


class SubmitSteps:
    """The work of one view. `show` updates the view."""

    def __init__(
        self, app: RowtuiApp, session: Session, look: ScriptLook, show: Callable[[], None]
    ) -> None:
        self._app = app
        self._session = session
        self._look = look
        self._show = show

    # The earlier script

    def ask_before(self, asked: ScriptAsked) -> None:
        """Ask for an earlier script; only the newest request counts."""
        self._look.asking = asked
        start(self._app, partial(self._ask_before, asked), "script-before", exclusive=True)

    async def _ask_before(self, asked: ScriptAsked) -> None:
        try:
            before = await self._session.engine.script_before(asked)
        except Exception as error:
            self._app.report("the last script is not known", error)
            before = None
        self._look.known[asked] = before
        self._look.asking = None
        self._show()

    # The reasons

    def explain(self, job: PlannedJob) -> None:
        """Go to Explain with the group of this job."""
        start(self._app, partial(self._explain, job), "why", exclusive=True)

    async def _explain(self, job: PlannedJob) -> None:
        session = self._session
        word = "failed" if job.attempt > 1 else "eligible"
        chosen = next(one for one in FILTERS if one.word == word)
        first = job.directories[0] if job.directories else ""
        try:
            page = await session.engine.groups(job.action_index, chosen.statuses, 0, 1, find=first)
        except Exception as error:
            self._app.report("the group of this job is not known", error)
            return
        if page.found is None:
            text = f"No {word} group begins with {visible(first)} now."
            self._app.notify(text, severity="warning", markup=False)
            return
        session.action_index, session.filter = job.action_index, chosen
        session.choose_group(page.found)
        self._app.go("explain")

    # The pager

    def open(self, text: str, name: str) -> None:
        """Show a script in the user's pager."""

        async def run() -> None:
            await open_in_pager(self._app, text, f"{name}.sh")

        start(self._app, run, "outside")

    # Files

    def export(self, sending: Sending) -> None:
        """Ask for a folder, and write the files of the submission there."""
        # A late import, because the first paint does not need the module.
        from rowtui.tui.views.dialogs import FolderScreen

        def named(folder: str | None) -> None:
            if folder:
                start(self._app, partial(self._export, sending, folder), "export", exclusive=True)
            else:
                self._app.notify("Nothing was written.", markup=False)

        question = f"Write {plural(sending.chosen.units, 'script')} to which folder?"
        self._app.push_screen(FolderScreen(question, f"scripts-{sending.plan.id[:8]}"), named)

    async def _export(self, sending: Sending, folder: str, overwrite: bool = False) -> None:
        engine, plan = self._session.engine, sending.plan
        try:
            if sending.chosen.off:
                plan = await engine.without(plan, sending.chosen.tokens_off)
            written = await engine.export_plan(plan, folder, overwrite=overwrite)
        except Exception as error:
            self._app.report("nothing was written", error)
            return
        if written.there:
            self._ask_to_overwrite(sending, folder, written)
            return
        text = f"{plural(written.files, 'file')} written to {visible(written.folder)}"
        self._session.note("submit", text)
        self._app.notify(text, markup=False)
        self._show()

    def _ask_to_overwrite(self, sending: Sending, folder: str, written: ExportedFiles) -> None:
        from rowtui.tui.views.dialogs import ConfirmScreen

        def answered(yes: bool | None) -> None:
            if yes:
                work = partial(self._export, sending, folder, overwrite=True)
                start(self._app, work, "export", exclusive=True)
            else:
                self._app.notify("Nothing was written.", markup=False)

        lines = [f"in {visible(written.folder)}:", *map(visible, written.there), "…"]
        question = "Files are there already. Overwrite them?"
        self._app.push_screen(ConfirmScreen(question, lines, 1), answered)
