"""View 6: the clusters, and the jobs of this project with their states; verbs ask first.

On demand also the person's other jobs on the same clusters, which are only shown.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import ClassVar

from rowtui.core.engine import FailedJob, JobView
from rowtui.core.text import plural
from rowtui.tui.actions import bindings_for
from rowtui.tui.job_verbs import CANCEL, HOLD, RELEASE, RESUBMIT, JobVerb
from rowtui.tui.queue_digest import QueueDigest
from rowtui.tui.render.cells import Cell, line
from rowtui.tui.render.clusters import cluster_lines
from rowtui.tui.render.jobs import (
    SORTS,
    Other,
    job_cells,
    job_columns,
    job_detail,
    job_id,
    other_cells,
    other_detail,
    sort_jobs,
    why,
)
from rowtui.tui.render.numbers import age
from rowtui.tui.screens.confirm import ConfirmScreen
from rowtui.tui.screens.view import View, set_titles
from rowtui.tui.widgets.chrome import Panel
from rowtui.tui.widgets.rows import ListRows
from rowtui.tui.widgets.virtual_table import VirtualTable
from textual.app import ComposeResult

Row = JobView | Other
"""A row of the list: a job of this project, or one of the same person that is not."""


class QueueView(View):
    """The newest job is on top until another order is chosen."""

    MODE = "queue"
    BINDINGS = bindings_for("queue")
    AUTO_FOCUS: ClassVar[str | None] = "#queue"

    def __init__(self) -> None:
        super().__init__()
        self._sort = SORTS[0]
        self._reversed = False
        self._with_others = False
        self._digest = QueueDigest()
        self._rows: dict[Hashable, Row] = {}

    def body(self) -> ComposeResult:
        """The clusters, the list, and the chosen job below."""
        yield Panel("Clusters", name="clusters")
        yield VirtualTable(name="queue", can_mark=True)
        yield Panel("Job", name="job")

    @property
    def table(self) -> VirtualTable:
        """The list of jobs."""
        return self.query_one("#queue", VirtualTable)

    def show_header(self) -> None:
        """The line at the top, and the ages of what is known of the clusters."""
        super().show_header()
        if self.ready:
            self._show_clusters()

    def show_body(self) -> None:
        """Everything from the latest look at the queues."""
        session = self.session
        view = session.jobs
        self._digest.look_at(view)
        jobs = sort_jobs(view.jobs, self._sort, self._reversed) if view else []
        order = (self._sort, self._reversed)
        others = self._digest.sorted_others(*order) if self._with_others else []
        rows: list[Row] = [*jobs, *others]
        self._rows = {_key(row): row for row in rows}
        for key in [key for key in self.table.marks.keys if key not in self._rows]:
            del self.table.marks.keys[key]
        self.table.empty = line(
            ("No jobs yet: mark groups in 2 and submit them." if view else "Asking…", "dim")
        )
        silent = {one.name for one in view.clusters if one.error} if view else set()

        def cells(_: int, row: Row) -> Mapping[str, Cell]:
            return other_cells(row) if isinstance(row, Other) else job_cells(row, silent)

        self.table.show(
            ListRows(rows, _key, cells),
            job_columns(jobs, others),
            stale=bool(view and view.error and not silent),
            sort=None if self._sort == SORTS[0] else order,
        )
        if session.job_to_show in self._rows:
            self.table.move_to_key(session.job_to_show)
            session.job_to_show = ""
        self._show_clusters()
        self._titles()
        self._show_job()

    def _show_clusters(self) -> None:
        session = self.session
        panel = self.query_one("#clusters", Panel)
        clusters = session.jobs.clusters if session.jobs else ()
        panel.display = bool(clusters)
        self._digest.look_at(session.jobs)
        width = max(1, self.size.width - 4)
        panel.show(
            cluster_lines(clusters, self._digest.counts, session.clock(), width, session.connecting)
        )

    def _titles(self) -> None:
        view = self.session.jobs
        marked = frozenset(str(key) for key in self.table.marks.keys)
        self.session.marked_jobs = marked
        below = plural(len(view.jobs), "job") if view else ""
        if marked:
            below = f"{len(marked):,} of {below} marked"
        if self._digest.others:
            hidden = "" if self._with_others else "v "
            below += f" · {hidden}{plural(len(self._digest.others), 'other')}"
        if view and view.error and not any(one.error for one in view.clusters):
            old = age(max(0.0, self.session.clock() - view.at))
            below = f"▲ {view.error} · as of {old} ago"
        set_titles(self.table, "Jobs", below)

    def _show_job(self) -> None:
        row = self._rows.get(self.table.cursor_key)
        panel = self.query_one("#job", Panel)
        now, width = self.session.clock(), panel.size.width
        if isinstance(row, Other):
            panel.show(other_detail(row, now, width))
            set_titles(panel, f"Job {row.job.key}")
            return
        panel.show(job_detail(row, now, width) if row else [])
        number = f"Job {job_id(row.record)}" if row and row.record.job_id else "Job"
        set_titles(panel, number, "Enter log" if row else "")

    def _under_cursor(self) -> JobView | None:
        row = self._rows.get(self.table.cursor_key)
        return None if isinstance(row, Other) else row

    def on_virtual_table_cursor_moved(self, event: VirtualTable.CursorMoved) -> None:
        """Another job is the chosen one."""
        row = self._rows.get(event.key)
        self.session.other_job = row if isinstance(row, Other) else None
        if not isinstance(row, Other):
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
        row = self._rows.get(self.table.cursor_key)
        if isinstance(row, Other):
            return str(row.job.key)
        return row.record.label if row and row.record.job_id else ""

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
        """Mark all jobs that have not ended; again: all that failed; again: none."""
        marks = self.table.marks
        jobs = self.session.jobs.jobs if self.session.jobs else ()
        steps = [
            {_key(job): 0 for job in jobs if job.state.active},
            {_key(job): 0 for job in jobs if job.state.bad},
        ]
        steps = [step for step in steps if step]
        at = next((at for at, step in enumerate(steps) if step.keys() == marks.keys.keys()), None)
        had = bool(marks.keys)
        marks.set_all(False)
        if at is not None and at + 1 < len(steps):
            marks.keys.update(steps[at + 1])
        elif not had and steps:
            marks.keys.update(steps[0])
        self.table.marks_changed()
        self._titles()
        self.show_bottom()

    def command_others(self) -> None:
        """Show or hide the jobs that are not this project's."""
        self._with_others = not self._with_others
        if self._with_others and not self._digest.others:
            self.app.notify("You have no other jobs on these clusters.", markup=False)
        self.show_body()

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
        self._ask(CANCEL)

    def command_hold(self) -> None:
        """Ask, then keep the marked jobs, or the one under the cursor, from starting."""
        self._ask(HOLD)

    def command_release(self) -> None:
        """Ask, then let the marked jobs, or the one under the cursor, start."""
        self._ask(RELEASE)

    def command_resubmit(self) -> None:
        """Ask how, then plan the marked jobs that failed, or the one under the cursor, again."""
        chosen = self.session.chosen_jobs
        jobs = [_failed(job) for job in chosen if RESUBMIT.may(job.state)]
        left = len(chosen) - len(jobs)
        if jobs:
            self.dashboard.verbs.ask_again(jobs, f"{left:,} marked did not fail" if left else "")

    def forget_marks(self) -> None:
        """The marked jobs were resubmitted."""
        self.table.marks.set_all(False)
        self.table.marks_changed()
        self._titles()

    def _ask(self, verb: JobVerb) -> None:
        chosen = self.session.chosen_jobs
        jobs = [one for one in chosen if verb.may(one.state)]
        if not jobs:
            return
        lines = [
            f"{job_id(one.record) if one.record.job_id else 'no id yet'}  {one.record.action}  "
            f"{plural(len(one.record.directories), 'directory', 'directories')}  "
            f"{one.state.value}"
            for one in jobs
        ]
        tokens = [one.record.token for one in jobs]

        def answered(yes: bool | None) -> None:
            if yes:
                self.table.marks.set_all(False)
                self.dashboard.verbs.act(verb, tokens)
            else:
                self.app.notify(f"Nothing was {verb.done}.", markup=False)

        question = f"{verb.word.capitalize()} {plural(len(jobs), 'job')}?"
        if left := len(chosen) - len(jobs):
            question = f"{question} ({left:,} marked cannot be {verb.done})"
        self.app.push_screen(ConfirmScreen(question, lines, len(jobs)), answered)


def _failed(job: JobView) -> FailedJob:
    record = job.record
    name = job_id(record) if record.job_id else ""
    return FailedJob(record.token, name, record.action, why(job), len(record.directories))


def _key(row: Row) -> Hashable:
    if isinstance(row, Other):
        return (row.cluster, *row.job.key)
    return row.record.token
