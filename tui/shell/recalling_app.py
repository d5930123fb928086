"""The part of the app that opens at a place, stores the place at the end, and opens a shell there.

Views return their place (`ScreenView.place`); lists take their filter, order and cursor from
`recall` when they are first shown (`ListTable`).
"""

from __future__ import annotations

import contextlib
import re
import shlex
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.home.known import KnownProjects
from rowtui.core.project.queue.rows import key_of
from rowtui.tui.shell.recall import KeptList, Memory, StartState, command_for
from rowtui.tui.shell.session import FILTERS, describe
from rowtui.tui.shell.work import start
from rowtui.tui.views.dialogs import PageScreen
from rowtui.tui.views.view import Dashboard

if TYPE_CHECKING:
    from rowtui.core.project.queue.rows import QueueRow
    from rowtui.tui.line.verbs import LineVerbs
    from rowtui.tui.shell.own_commands import OwnCommand


class RecallingApp(Dashboard):
    """An app that begins with `recall`, and stores where the user was in `memory`."""

    memory: Memory | None = None
    can_switch = False  # Whether the caller opens `chosen_project` at the end.
    chosen_project = ""
    own_commands: tuple[OwnCommand, ...] = ()  # Those of the user's commands.toml.
    _state: Path | None  # The user's state folder.
    RECALLED: ClassVar[frozenset[str]] = frozenset({"groups", "directories", "queue"})

    @cached_property
    def line(self) -> LineVerbs:
        """The command line; the first frame does not need its modules."""
        from rowtui.tui.line.verbs import LineVerbs

        return LineVerbs(self, self._state, self.store_place)

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

    def show_again(self, what: str) -> None:
        """Update the view on the screen after a change, with what was recalled."""
        self.choose_recalled()
        super().show_again(what)

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
            session.job_token = session.job_to_show = job.token
            if self.view is not None:
                self.view.show()

    # Other projects

    def command_projects(self) -> None:
        """Show all projects of the user; the chosen one is opened in place of this one."""
        from rowtui.tui.home.screen import HomeScreen

        here = self.session.snapshot.root if self.session.snapshot else ""
        self.push_screen(HomeScreen(KnownProjects(self._state), here), self._open_project)

    def _open_project(self, root: str | None) -> None:
        here = self.session.snapshot.root if self.session.snapshot else ""
        if not root or root == here:
            return
        if self.can_switch:
            self.chosen_project = root
            self.verbs.leave()
        else:
            self.warn("Another project cannot be opened here: leave, and start `rowtui` there.")

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
            job=job.label if job is not None and job.job_id else "",
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

    def command_files(self) -> None:
        """Show the files of the directory under the cursor."""
        name = self.view.directory_here() if self.view is not None else ""
        if name:
            self.verbs.show_files(name)
        else:
            self.warn("The cursor is on no directory: d lists those of an action.")

    def command_shell(self) -> None:
        """Open a shell in the directory under the cursor, or in the project.

        In Queue, a running job of the project offers a shell beside it, too.
        """
        if self.how.browser:
            self.warn("A shell cannot be opened from a browser.")
            return
        name = self.view.directory_here() if self.view is not None else ""
        row = self.session.queue_row if self.view_name == "queue" else None
        runs = row is not None and row.record is not None and row.state is JobState.RUNNING
        start(self, partial(self._open_shell, name, row if runs else None), "outside")

    def load_own_commands(self, config: Path | None) -> list[str]:
        """Bind the keys of the user's own commands; return what is wrong with their file."""
        if config is None or not (config / "commands.toml").is_file():
            return []
        from rowtui.tui.shell.own_commands import load_own_commands

        self.own_commands, wrong = load_own_commands(config, self.session.keys)
        for key in dict.fromkeys(one.key for one in self.own_commands):
            self.bind(key, f"own_command('{key}')", show=False)
        return [f"commands.toml: {problem.sentence}" for problem in wrong]

    def action_own_command(self, key: str) -> None:
        """Run the user's command for this key in the current view."""
        here = [it for it in self.own_commands if it.key == key and self.view_name in it.views]
        if not here:
            self.warn(f"The key {key} has no command in this view.")
        elif self.session.read_only:
            self.warn(f"{visible(here[0].name)}: the project was opened read-only")
        elif self.how.browser and not here[0].page:
            self.warn("A program cannot have the terminal of a browser.")
        else:
            start(self, partial(self._run_own, here[0]), "outside")

    async def _run_own(self, command: OwnCommand) -> None:
        from rowtui.tui.shell.external_program import run_program
        from rowtui.tui.shell.own_commands import output_of

        root = Path(self.session.snapshot.root if self.session.snapshot else ".")
        try:
            argv = command.argv(await self._fields())
            self.session.note("you", f"{command.name}: {visible(shlex.join(argv))}")
            if command.page:
                lines = await output_of(argv, root)
                self.push_screen(PageScreen(visible(command.name), lines))
            else:
                await run_program(self, argv, visible(command.name), root)
        except (RowtuiError, OSError) as error:
            why, hint = describe(error)
            self.warn("\n".join(filter(None, (f"{visible(command.name)}: {visible(why)}", hint))))

    async def _fields(self) -> dict[str, str]:
        """Return the values of the row under the cursor, by column, and those of its place."""
        from rowtui.tui.widgets.table.engine_rows import Arranged

        view, snapshot = self.view, self.session.snapshot
        if view is None or snapshot is None:
            return {}
        fields = {name: str(value) for name, value in view.place()._asdict().items() if value}
        if any(table.display for table in view.lists):
            table = view.list_at_hand
            source: object = table.source
            if isinstance(source, Arranged) and table.source.row_count:
                for row in await source.load(table.cursor, table.cursor + 1):
                    fields |= {name: str(it) for name, it in row.values.items() if it is not None}
        fields["directory"] = view.directory_here() or fields.get("directory", "")
        # The first node: `n17` of `n[17-19]` and of `n17,n18`.
        nodes = fields.get("nodes", "").split(",")[0]
        fields["node"] = re.sub(r"\[(\w+).*", r"\1", nodes)
        return fields | {"project": snapshot.root}

    async def _open_shell(self, name: str, row: QueueRow | None) -> None:
        # A late import: no frame needs this module.
        from rowtui.tui.shell.external_program import open_shell

        folder = Path(self.session.snapshot.root if self.session.snapshot else ".")
        if name:
            with contextlib.suppress(RowtuiError):  # the directories of a demo do not exist
                folder = Path((await self.session.engine.logs.files(name)).path)
        beside = None
        if row is not None and row.record is not None:
            try:
                beside = await self.session.engine.queue.shell(key_of(row.record))
            except Exception as error:
                self.report("there is no shell beside the job", error)
        await open_shell(self, folder, beside)
