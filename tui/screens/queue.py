"""View 6: the jobs of this project, with their states; cancel asks first."""

from __future__ import annotations

from typing import ClassVar

from rowtui.core.engine import JobView
from rowtui.core.text import plural
from rowtui.tui.actions import bindings_for
from rowtui.tui.render.cells import line
from rowtui.tui.render.jobs import SORTS, job_cells, job_columns, job_detail, sort_jobs
from rowtui.tui.render.numbers import age
from rowtui.tui.screens.confirm import ConfirmScreen
from rowtui.tui.screens.view import View, set_titles
from rowtui.tui.widgets.chrome import Panel
from rowtui.tui.widgets.rows import ListRows
from rowtui.tui.widgets.virtual_table import VirtualTable
from textual.app import ComposeResult


class QueueView(View):
    """The newest job is on top until another order is chosen."""

    MODE = "queue"
    BINDINGS = bindings_for("queue")
    AUTO_FOCUS: ClassVar[str | None] = "#queue"

    def __init__(self) -> None:
        super().__init__()
        self._sort = SORTS[0]
        self._reversed = False

    def body(self) -> ComposeResult:
        """The list, and the chosen job below."""
        yield VirtualTable(name="queue", can_mark=True)
        yield Panel("Job", name="job")

    @property
    def table(self) -> VirtualTable:
        """The list of jobs."""
        return self.query_one("#queue", VirtualTable)

    def show_body(self) -> None:
        """Everything from the latest look at the scheduler."""
        session = self.session
        view = session.jobs
        jobs = sort_jobs(view.jobs, self._sort, self._reversed) if view else []
        for key in [key for key in self.table.marks.keys if key not in _tokens(jobs)]:
            del self.table.marks.keys[key]
        self.table.empty = line(
            ("No jobs yet: mark groups in 2 and submit them." if view else "Asking…", "dim")
        )
        sort = None if self._sort == SORTS[0] else (self._sort, self._reversed)
        self.table.show(
            ListRows(jobs, _token, lambda _, job: job_cells(job)),
            job_columns(jobs),
            stale=bool(view and view.error),
            sort=sort,
        )
        if session.job_to_show in _tokens(jobs):
            self.table.move_to_key(session.job_to_show)
            session.job_to_show = ""
        self._titles()
        self._show_job()

    def _titles(self) -> None:
        view = self.session.jobs
        marked = len(self.table.marks.keys)
        self.session.marked_jobs = marked
        below = plural(len(view.jobs), "job") if view else ""
        if marked:
            below = f"{marked:,} of {below} marked"
        if view and view.error:
            old = age(max(0.0, self.session.clock() - view.at))
            below = f"▲ {view.error} · as of {old} ago"
        set_titles(self.table, "Jobs", below)

    def _show_job(self) -> None:
        job = self._under_cursor()
        panel = self.query_one("#job", Panel)
        panel.show(job_detail(job) if job else [])
        number = f"Job {job.record.job_id}" if job and job.record.job_id else "Job"
        set_titles(panel, number, "Enter log" if job else "")

    def _under_cursor(self) -> JobView | None:
        view = self.session.jobs
        key = self.table.cursor_key
        return next((job for job in view.jobs if _token(job) == key), None) if view else None

    def on_virtual_table_cursor_moved(self, event: VirtualTable.CursorMoved) -> None:
        """Another job is the chosen one."""
        self.session.job_token = str(event.key or "")
        self._show_job()
        self.show_bottom()

    def on_virtual_table_heading_pressed(self, event: VirtualTable.HeadingPressed) -> None:
        """Sort by that column; again: the other way round."""
        if event.column not in SORTS:
            return
        if event.column == self._sort:
            self._reversed = not self._reversed
        else:
            self._sort, self._reversed = event.column, False
        self.show_body()

    async def on_virtual_table_row_pressed(self) -> None:
        """A second click opens."""
        await self.dashboard.action_command("queue.open")

    def copyable(self) -> str:
        """The id of the job under the cursor."""
        job = self._under_cursor()
        return str(job.record.job_id) if job and job.record.job_id else ""

    def back(self) -> bool:
        """Drop the marks."""
        if self.table.marks.keys:
            self.table.marks.set_all(False)
            self.table.marks_changed()
            self._titles()
            return True
        return False

    def command_open(self) -> None:
        """The log of this job."""
        self.dashboard.go("log")

    def command_mark(self) -> None:
        """Mark this job."""
        self.table.toggle_mark()
        self._titles()
        self.show_bottom()

    def command_mark_all(self) -> None:
        """Mark all jobs that can be cancelled; again: none."""
        marks = self.table.marks
        view = self.session.jobs
        had = bool(marks.keys)
        marks.set_all(False)
        if not had and view is not None:
            marks.keys.update({_token(job): 0 for job in view.jobs if job.state.active})
        self.table.marks_changed()
        self._titles()
        self.show_bottom()

    def command_sort(self) -> None:
        """The next order."""
        self._sort = SORTS[(SORTS.index(self._sort) + 1) % len(SORTS)]
        self._reversed = False
        self.show_body()

    def command_reverse(self) -> None:
        """The other way round."""
        self._reversed = not self._reversed
        self.show_body()

    def command_cancel(self) -> None:
        """Ask, then cancel the marked jobs, or the one under the cursor."""
        view = self.session.jobs
        job = self._under_cursor()
        if view is None:
            return
        marked = self.table.marks.keys
        chosen = [one for one in view.jobs if _token(one) in marked] if marked else [job]
        active = [one for one in chosen if one is not None and one.state.active]
        if not active:
            self.app.notify("These jobs have ended already.", severity="warning", markup=False)
            return
        lines = [
            f"{one.record.job_id or 'no id yet'}  {one.record.action}  "
            f"{plural(len(one.record.directories), 'directory', 'directories')}  "
            f"{one.state.value}"
            for one in active
        ]
        tokens = [one.record.token for one in active]

        def answered(yes: bool | None) -> None:
            if yes:
                self.table.marks.set_all(False)
                self.dashboard.verbs.cancel(tokens)
            else:
                self.app.notify("Nothing was cancelled.", markup=False)

        self.app.push_screen(
            ConfirmScreen(f"Cancel {plural(len(active), 'job')}?", lines, len(active)), answered
        )


def _token(job: JobView) -> str:
    return job.record.token


def _tokens(jobs: list[JobView]) -> set[str]:
    return {job.record.token for job in jobs}
