"""The part of the app that opens at a place, stores the place at the end, and opens a shell there.

Views return their place (`ScreenView.place`); lists take their filter, order and cursor from
`recall` when they are first shown (`ListTable`).
"""

from __future__ import annotations

import asyncio
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from rowtui.core.base.text import visible
from rowtui.tui.shell.recall import KeptList, Memory, StartState, command_for
from rowtui.tui.shell.session import FILTERS
from rowtui.tui.shell.terminal_app import TerminalApp
from rowtui.tui.shell.work import start
from rowtui.tui.views.view import ScreenView

if TYPE_CHECKING:
    from rowtui.tui.line.verbs import LineVerbs
    from rowtui.tui.shell.app import RowtuiApp
    from rowtui.tui.shell.session import Session


class RecallingApp(TerminalApp):
    """An app that begins with `recall`, and stores where the user was in `memory`."""

    session: Session
    recall: StartState
    memory: Memory | None = None
    _state: Path | None  # The user's state folder.
    RECALLED: ClassVar[frozenset[str]] = frozenset({"groups", "directories", "queue"})

    @cached_property
    def line(self) -> LineVerbs:
        """The command line; the first frame does not need its modules."""
        from rowtui.tui.line.verbs import LineVerbs

        return LineVerbs(cast("RowtuiApp", self), self.session, self._state)

    @property
    def view(self) -> ScreenView | None:
        """The view on the screen, also while a page covers it."""
        return self._view_of(self.current_mode)

    @property
    def view_name(self) -> str:
        """The name of the view on the screen."""
        return self.view.MODE if self.view else "status"

    def _view_of(self, mode: str) -> ScreenView | None:
        stack = self._screen_stacks.get(mode, [])
        return stack[0] if stack and isinstance(stack[0], ScreenView) else None

    def begin_at(self, recall: StartState) -> None:
        """Choose what this recall names, as far as it is known before the project."""
        self.recall = recall
        self._action_to_choose = recall.action
        self._group_to_choose = recall.group
        self._job_to_find = recall.job
        self.session.filter = next(
            (one for one in FILTERS if one.word == recall.status), FILTERS[0]
        )
        self.session.clusters.to_show = recall.cluster if recall.view == "clusters" else ""

    def choose_recalled(self) -> None:
        """Choose action and group once the project is known, and the job once the jobs are."""
        snapshot, name = self.session.snapshot, self._action_to_choose
        if self._job_to_find and self.session.jobs is not None:
            label, self._job_to_find = self._job_to_find, ""
            start(self, partial(self._find_job, label), "recalled-job")
        if snapshot is None or not (name or self._group_to_choose):
            return
        self._action_to_choose = ""
        found = next((one for one in snapshot.actions if one.name == name), None)
        if found is not None:
            self.session.action_index = found.index
        elif name and self.recall.linked:
            self.warn(f"There is no action {visible(name)}.")
            return
        if self._group_to_choose:
            self.session.choose_group(self._group_to_choose - 1)
            self._group_to_choose = 0

    def report_memory(self) -> None:
        """Show why the place of the last dashboard is not used."""
        if self.memory is not None and self.memory.notice:
            self.warn(visible(self.memory.notice))
            self.session.note("settings", self.memory.notice, "warning")

    async def _find_job(self, label: str) -> None:
        """Choose the job that was named, or the one that the user looked at last."""
        session = self.session
        try:
            job = await session.engine.jobs.named(label)
        except Exception as error:
            if self.recall.linked:
                self.warn(f"Job {visible(label)} cannot be found: {error}")
            return
        if job is None:
            if self.recall.linked:
                self.warn(f"No job of this project is called {visible(label)}.")
        else:
            session.known_job = job
            session.job_token = session.job_to_show = job.record.token
            if self.view is not None:
                self.view.show()

    # The end

    def store_place(self) -> None:
        """Store the place and the filters now, after a filter was stored."""
        if self.memory is not None:
            self.memory.save(self._now())

    def exit(self, *args: Any, **options: Any) -> None:
        """Leave, and store the place of the user first."""
        if self.memory is not None:
            self.store_place()  # The views are still there.
            self.memory = None
        super().exit(*args, **options)

    def _now(self) -> StartState:
        """Return what the next dashboard begins with."""
        recall, session = self.recall, self.session
        lists = dict(recall.lists)
        for mode in self._screen_stacks:
            view = self._view_of(mode)
            for table in view.lists if view is not None else ():
                if table.kept_as in self.RECALLED and table.source.row_count:
                    key = table.cursor_key
                    cursor = key if isinstance(key, str) else ""
                    lists[table.kept_as] = KeptList(*table.asked, cursor)
            if view is not None:
                view.recall_to(recall)
        job = session.job if session.job_token else None
        return StartState(
            view=self.view_name,
            action=session.action.name if session.action is not None else recall.action,
            status=session.filter.word,
            group=session.group + 1,
            job=job.record.label if job is not None and job.record.job_id else "",
            directories=recall.directories,
            whose=recall.whose,
            cluster=recall.cluster,
            folding=recall.folding,
            lists=lists,
            filters=recall.filters,
        )

    # Commands

    def command_copy_command(self) -> None:
        """Copy the command that opens the dashboard at the row under the cursor."""
        snapshot = self.session.snapshot
        if snapshot is None or self.view is None:
            self.warn("The project is not loaded yet.")
        else:
            self.copy_text(command_for(snapshot.root, self.view.place()))

    def command_filters(self) -> None:
        """Open the command line with the stored filters."""
        self.line.open("filter ")

    def command_shell(self) -> None:
        """Open a shell in the directory under the cursor, or in the project."""
        if self.how.browser:
            self.warn("A shell cannot be opened from a browser.")
            return
        name = self.view.directory_here() if self.view is not None else ""
        start(self, partial(self._open_shell, name), "outside")

    async def _open_shell(self, name: str) -> None:
        # Late imports: no frame needs these modules.
        from rowtui.core.workflow.load import load_workflow
        from rowtui.tui.shell.external_program import open_shell

        root = Path(self.session.snapshot.root if self.session.snapshot else ".")
        folder = root
        if name:
            try:
                workflow = await asyncio.to_thread(load_workflow, root)
                folder = Path(workflow.workspace) / name
            except Exception as error:
                self.warn(f"The workspace cannot be found: {visible(str(error))}")
        if not await asyncio.to_thread(folder.is_dir):
            folder = root
        await open_shell(self, folder)
