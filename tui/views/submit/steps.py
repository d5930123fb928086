"""The commands of the view Submit that wait, and its requests for earlier scripts."""

from __future__ import annotations

from functools import partial

from rowtui.core.base.text import plural, visible
from rowtui.core.engine.api.engine import ExportedFiles, ScriptAsked
from rowtui.core.submission.plan.model import PlannedJob
from rowtui.tui.shell.external_program import open_in_pager
from rowtui.tui.shell.session import FILTERS
from rowtui.tui.shell.work import start
from rowtui.tui.views.dialogs import FolderScreen, confirm
from rowtui.tui.views.submit.plan import Sending
from rowtui.tui.views.submit.plan_rows import PlanRow
from rowtui.tui.views.submit.script import ScriptLook
from rowtui.tui.views.view import ScreenView


class SubmitSteps(ScreenView):
    """The part of the view Submit that waits: for the engine, the pager, and the disk."""

    def __init__(self) -> None:
        super().__init__()
        self.script_look = ScriptLook()

    @property
    def row(self) -> PlanRow | None:
        """The job, or bundle, under the cursor."""
        raise NotImplementedError

    def show_script(self) -> None:
        """Show the script of the job under the cursor."""
        raise NotImplementedError

    def script_text(self) -> str:
        """Return the script of the job under the cursor."""
        raise NotImplementedError

    # The earlier script

    def ask_before(self, asked: ScriptAsked) -> None:
        """Ask for an earlier script; only the newest request counts."""
        self.script_look.asking = asked
        start(self.app, partial(self._ask_before, asked), "script-before", exclusive=True)

    async def _ask_before(self, asked: ScriptAsked) -> None:
        try:
            before = await self.session.engine.script_before(asked)
        except Exception as error:
            self.dashboard.report("the last script is not known", error)
            before = None
        self.script_look.known[asked] = before
        self.script_look.asking = None
        self.show_script()

    # The reasons

    def command_explain(self) -> None:
        """Show where the job goes, and why."""
        if self.row is not None:
            start(self.app, partial(self._explain, self.row.jobs[0]), "why", exclusive=True)

    async def _explain(self, job: PlannedJob) -> None:
        session = self.session
        word = "failed" if job.attempt > 1 else "eligible"
        chosen = next(one for one in FILTERS if one.word == word)
        first = job.directories[0] if job.directories else ""
        try:
            page = await session.engine.groups(job.action_index, chosen.statuses, 0, 1, find=first)
        except Exception as error:
            self.dashboard.report("the group of this job is not known", error)
            return
        if page.found is None:
            text = f"No {word} group begins with {visible(first)} now."
            self.dashboard.warn(text)
            return
        session.action_index, session.filter = job.action_index, chosen
        session.choose_group(page.found)
        self.dashboard.go("explain")

    # The pager

    def command_open(self) -> None:
        """Show the script in the user's pager."""
        if self.row is not None:
            start(self.app, partial(self._open, f"{self.row.jobs[0].name}.sh"), "outside")

    async def _open(self, name: str) -> None:
        await open_in_pager(self.dashboard, self.script_text(), name)

    # Files

    def command_export(self) -> None:
        """Ask for a folder, and write all scripts of the plan there."""
        sending = self.session.sending
        if sending is None:
            return

        def named(folder: str | None) -> None:
            if folder:
                start(self.app, partial(self._export, sending, folder), "export", exclusive=True)
            else:
                self.dashboard.notify("Nothing was written.")

        question = f"Write {plural(sending.chosen.units, 'script')} to which folder?"
        self.app.push_screen(FolderScreen(question, f"scripts-{sending.plan.id[:8]}"), named)

    async def _export(self, sending: Sending, folder: str, overwrite: bool = False) -> None:
        engine, plan = self.session.engine, sending.plan
        try:
            if sending.chosen.off:
                plan = await engine.without(plan, sending.chosen.tokens_off)
            written = await engine.export_plan(plan, folder, overwrite=overwrite)
        except Exception as error:
            self.dashboard.report("nothing was written", error)
            return
        if written.there:
            self._ask_to_overwrite(sending, folder, written)
            return
        text = f"{plural(written.files, 'file')} written to {visible(written.folder)}"
        self.session.note("submit", text)
        self.dashboard.notify(text)
        self.show_script()

    def _ask_to_overwrite(self, sending: Sending, folder: str, written: ExportedFiles) -> None:
        def overwrite() -> None:
            work = partial(self._export, sending, folder, overwrite=True)
            start(self.app, work, "export", exclusive=True)

        lines = [f"in {visible(written.folder)}:", *map(visible, written.there), "…"]
        question = "Files are there already. Overwrite them?"
        confirm(self.app, question, lines, 1, overwrite, otherwise="Nothing was written.")
