"""View 6: the clusters, and the jobs with their states; the verbs ask first.

The jobs stay in the engine, which returns pages of them: arrays and bundles are one row until they
are unfolded. On request the view also shows the user's other jobs, and the jobs of all users, which
cannot be changed.
"""

from __future__ import annotations

from functools import partial, partialmethod
from typing import ClassVar

from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.schedulers.base import NO_ID, called
from rowtui.core.project.queue.rows import QueueRow, RowKey
from rowtui.core.project.queue.views import (
    EVERYBODY,
    KINDS,
    MINE,
    PROJECT,
    SORTS,
    JobDetail,
    QueueRequest,
)
from rowtui.core.project.views.views import ListRequest
from rowtui.tui.commands.registry import bindings_for
from rowtui.tui.shell.recall import Place, StartState
from rowtui.tui.shell.work import start
from rowtui.tui.views.clusters.texts import cluster_lines, cluster_mark
from rowtui.tui.views.queue.jobs import JobsTimeline, JobsUsed
from rowtui.tui.views.queue.reasons import WAITS, WhyScreen, row_lines
from rowtui.tui.views.queue.render_rows import (
    kinds_of,
    listed_words,
    nothing_words,
    queue_cells,
    queue_columns,
)
from rowtui.tui.views.queue.table import (
    QueueList,
    QueueMarking,
    QueueRows,
    QueueVerbs,
    queue_values,
)
from rowtui.tui.widgets.cells import Cell, line
from rowtui.tui.widgets.chrome import OneLine, Panel, choices, set_titles
from rowtui.tui.widgets.short_text import WELL, age
from rowtui.tui.widgets.table.engine_rows import RowPage
from rowtui.tui.widgets.table.list_table import ListTable
from rowtui.tui.widgets.table.virtual_table import VirtualTable
from textual.app import ComposeResult
from textual.containers import Horizontal

DETAIL_SECONDS = 60.0
"""Seconds for which a scheduler's answer about a job is shown; the engine caches it as long."""

SCOPES = {PROJECT: "Jobs of this project", MINE: "All my jobs", EVERYBODY: "Jobs of all users"}


class QueueView(QueueVerbs):
    """The list of jobs. The newest job is on top until another order is chosen."""

    MODE = "queue"
    PRESSED = "queue.open"
    BINDINGS = bindings_for("queue")
    AUTO_FOCUS: ClassVar[str | None] = "#queue"

    def __init__(self) -> None:
        super().__init__()
        recall = self.dashboard.recall
        clusters = (recall.cluster,) if recall.cluster else ()
        whose = recall.whose if recall.whose in SCOPES else PROJECT
        self._asked = QueueRequest(whose=whose, clusters=clusters, folding=recall.folding)
        self._rows: QueueRows | None = None
        self._seen: object = None  # The poll of the queues from which the rows are.
        self._sorted = SORTS[0]
        self._details: dict[RowKey, JobDetail] = {}
        self._used = JobsUsed(self, self._show_job)
        self._columns_for = 0  # The width for which the columns were chosen.
        self._marking = QueueMarking(
            self.dashboard,
            lambda: self.table,
            lambda: self._question(self.table.asked),
            self._show_marks,
        )

    def body(self) -> ComposeResult:
        """Compose the clusters, the list, and the chosen job below."""
        yield Panel("Clusters", name="clusters")
        yield OneLine(name="kinds")
        yield QueueList(self._marking.took)
        with Horizontal(id="below"):
            yield Panel("Job", name="job")
            yield JobsTimeline(name="when")

    @property
    def table(self) -> QueueList:
        """The list of jobs."""
        return self.query_one("#queue", QueueList)

    def show_header(self) -> None:
        """Show the line at the top, and the ages of the information about the clusters."""
        super().show_header()
        if self.ready:
            self._show_clusters()

    def show_body(self) -> None:
        """Show everything from the latest poll of the queues."""
        session = self.session
        if session.jobs is None:
            self.table.say_if_empty(line(("Asking…", "dim")))
        elif self._rows is None:
            self._open()
        elif self._seen is not session.jobs or session.job_to_show:
            self._seen = session.jobs
            self._rows.reload()
            self._marking.look_again()
        if self._rows is not None and self._rows.loaded and self._columns_for != self.size.width:
            self._arrived()
        self._show_clusters()
        self._titles()
        self._show_job()
        self.query_one(JobsTimeline).look(self)

    def _open(self) -> None:
        rows = QueueRows(
            self._fetch,
            lambda row: row.key,
            self._cells,
            queue_values,
            spawn=partial(start, self, group="pages"),
            arrived=self._arrived,
            failed=lambda error: self.dashboard.report("the jobs cannot be listed", error),
            asked=self.table.asked,
        )
        self._rows, self._seen = rows, self.session.jobs
        self.table.show(rows, ())

    def _question(self, asked: ListRequest) -> QueueRequest:
        """Return the request for rows: filter and order of the list, and the chosen jobs."""
        return self._asked._replace(
            text=asked.filter, sort=asked.sort or SORTS[0], descending=asked.descending
        )

    async def _fetch(
        self, asked: ListRequest, begin: int, length: int, _: str
    ) -> RowPage[QueueRow]:
        session = self.session
        if session.job_to_show:
            follow: RowKey | None = RowKey("", 0, None, session.job_to_show)
        else:
            key = self.table.cursor_key
            follow = key if isinstance(key, RowKey) else None
        question = self._question(asked)._replace(follow=follow)
        page = await session.engine.queue.page(question, begin, length)
        if page.problem:
            raise RowtuiError(page.problem)
        if self._rows is not None:
            self._rows.take(page, follow)
        return RowPage(page.total, page.rows, page.all_jobs)

    def _cells(self, row: QueueRow) -> dict[str, Cell]:
        unfolded = (row.key in self._asked.unfolded) is self._asked.folding
        return queue_cells(row, self.session.clock(), unfolded=unfolded)

    def _arrived(self) -> None:
        rows, session = self._rows, self.session
        if rows is None or not self.ready:
            return
        page = rows.page
        self._columns_for = self.size.width
        clusters = session.jobs.clusters if session.jobs else ()
        loaded = rows.loaded_items()
        self.table.empty = line(
            (nothing_words(page, self._asked, filtered=self.table.filtered), "dim")
        )
        view = session.jobs
        self.table.show(
            rows,
            queue_columns(
                loaded,
                session.clock(),
                self.size.width,
                clusters=len({row.cluster for row in loaded}),
                everybody=self._asked.whose == EVERYBODY,
            ),
            stale=bool(view and view.error and not any(one.error for one in clusters)),
        )
        self.table.flash(rows.changed)
        if session.job_to_show and page is not None:
            self.table.move_to_key(RowKey("", 0, None, session.job_to_show))
            # A job that is filtered out does not arrive later.
            if page.followed is not None or self.table.filtered or self._asked.clusters:
                session.job_to_show = ""
        self._take_row()
        self._used.ask(self.session.queue_row)
        self._titles()
        self._show_job()
        self.show_bottom()

    def _ask(self, asked: QueueRequest) -> None:
        """Show other rows, or the same rows in another way; the cursor stays on its job."""
        self._asked = asked
        if self._rows is not None:
            self._rows.reload()
            self.table.rows_changed()
        self._titles()

    def _show_clusters(self) -> None:
        session = self.session
        panel = self.query_one("#clusters", Panel)
        clusters = session.jobs.clusters if session.jobs else ()
        ill = any(cluster_mark(one, session.connecting) not in WELL for one in clusters)
        roomy = self.has_class("-wide", "-high") or (ill and self.side_by_side)
        panel.display = bool(clusters) and roomy
        if panel.display:
            width = max(1, self.size.width - 4)
            panel.show(cluster_lines(clusters, session.clock(), width, session.connecting))
            set_titles(panel, "Clusters", "C all about them")

    def _titles(self) -> None:
        view, page = self.session.jobs, self._rows.page if self._rows else None
        title = SCOPES[self._asked.whose]
        if self._asked.clusters:
            title += f" · {self._asked.clusters[0]}"
        title += self.table.filter_named
        below = ""
        if page is not None:
            below, only = listed_words(page, self.session.marked_jobs), self._asked.only
            self.query_one("#kinds", OneLine).show(*choices(kinds_of(page, only), only))
        if view and view.error and not any(one.error for one in view.clusters):
            old = age(max(0.0, self.session.clock() - view.at))
            below = f"▲ {view.error} · as of {old} ago"
        set_titles(self.table, title, below)

    def _show_job(self) -> None:
        row = self.session.queue_row
        panel = self.query_one("#job", Panel)
        if row is None:
            panel.show([])
            set_titles(panel, "Job")
            return
        now, detail = self.session.clock(), self._details.get(row.key)
        if detail is not None and abs(now - detail.at) > DETAIL_SECONDS:
            detail = None
        panel.show(row_lines(row, detail, now, panel.size.width, self._used.known.get(row.key)))
        title = f"{called(row.label).capitalize()}{row.tasks if row.tasks.startswith('[') else ''}"
        if row.state in WAITS:
            title += " · why is it not running?"
        log = "Enter log · " if row.ours else ""
        set_titles(panel, title, f"{log}w all details from {row.cluster}")

    def on_one_line_pressed(self, event: OneLine.Pressed) -> None:
        """List only the jobs of the kind that was pressed."""
        self._list_kind(event.value)

    def _step_kind(self, step: int) -> None:
        """List only the jobs of the next kind: active, failed, ended, or all of them."""
        kinds = ("", *KINDS)
        self._list_kind(kinds[(kinds.index(self._asked.only) + step) % len(kinds)])

    def _list_kind(self, only: str) -> None:
        before = self._asked.only
        if only != before:
            undo = partial(self._list_kind, before)
            self.session.can_undo(self.MODE, f"listed jobs: {only or 'all'}", undo)
        self._ask(self._asked._replace(only=only))

    command_kind = partialmethod(_step_kind, 1)
    command_kind_before = partialmethod(_step_kind, -1)

    def _take_row(self) -> None:
        """Store the row under the cursor, for the checks whether a command can be used."""
        row = self._rows.item(self.table.cursor) if self._rows is not None else None
        self.session.queue_row = row
        if row is not None and row.record is not None:
            self.session.known_job = row.record
            self.session.job_token = row.record.token

    def on_virtual_table_cursor_moved(self, event: VirtualTable.CursorMoved) -> None:
        """Choose the job under the cursor."""
        if not self.session.job_to_show:
            self._take_row()
        self._used.ask(self.session.queue_row)
        self._show_job()
        self.show_bottom()

    def on_list_table_rearranged(self, event: ListTable.Rearranged) -> None:
        """Update the frame after another filter, order or other marks."""
        event.stop()
        sort = event.table.asked.sort or SORTS[0]
        if sort != self._sorted:
            self._sorted = sort
            self.dashboard.notify(f"Sorted by {sort}", timeout=2)
        self._titles()

    def copyable(self) -> str:
        """The id of the job under the cursor."""
        row = self.session.queue_row
        return row.label if row is not None and row.label != NO_ID else ""

    def place(self) -> Place:
        """The job under the cursor, with filter and cluster."""
        cluster = self._asked.clusters[0] if self._asked.clusters else ""
        row = self.session.queue_row
        job = self.copyable() if row is not None and row.ours else ""
        return Place("queue", filter=self.table.asked.filter, job=job, cluster=cluster)

    def directory_here(self) -> str:
        """The first directory of the job under the cursor."""
        row = self.session.queue_row
        return row.first if row is not None and row.ours else ""

    def recall_to(self, recall: StartState) -> None:
        """Store whose jobs are listed, the cluster, and whether arrays are folded."""
        recall.whose, recall.folding = self._asked.whose, self._asked.folding
        recall.cluster = self._asked.clusters[0] if self._asked.clusters else ""

    def back(self) -> bool:
        """Drop the marks, then the filter."""
        if self.table.marks.keys:
            self._marking.drop()
            return True
        return self.table.clear_filter()

    def command_open(self) -> None:
        """Show the log of this job."""
        self.dashboard.go("log")

    def command_why(self) -> None:
        """Show the scheduler's whole information about this job."""
        row = self.session.queue_row
        if row is not None:

            def told(detail: JobDetail) -> None:
                self._details[detail.key] = detail

            self.app.push_screen(WhyScreen(self.session, row, told), lambda _: self._show_job())

    # Marks

    def command_mark(self) -> None:
        """Mark this job, or all jobs of this array."""
        self._marking.mark()

    def command_mark_all(self) -> None:
        """Mark all jobs that have not ended; at the second call all failed jobs; then none."""
        self._marking.mark_all()

    def _show_marks(self) -> None:
        self._titles()
        self.show_bottom()

    def forget_marks(self) -> None:
        """Remove the marks after the marked jobs were retried."""
        self._marking.forget()

    def command_fold(self) -> None:
        """Give every job of this array or bundle a row, or show one row for all of them again."""
        row = self.session.queue_row
        if row is None:
            return
        key = row.key if row.key.folded else row.key.parent
        if key is None or not (row.inside or row.key.folded):
            return
        self._ask(self._asked._replace(unfolded=self._asked.unfolded ^ {key}))

    def command_fold_all(self) -> None:
        """Fold or unfold all arrays and bundles."""
        folding = not self._asked.folding
        self._ask(self._asked._replace(folding=folding, unfolded=frozenset()))

    def command_others(self) -> None:
        """Show the jobs of this project, all of the user's jobs, or those of all users."""
        page = self._rows.page if self._rows is not None else None
        if self._asked.whose == PROJECT and page is not None and not page.hidden:
            self.dashboard.notify("You have no other jobs on these clusters.")
        scopes = list(SCOPES)
        whose = scopes[(scopes.index(self._asked.whose) + 1) % len(scopes)]
        self._ask(self._asked._replace(whose=whose))

    def show_about(self, name: str) -> None:
        """Show only the jobs of this cluster."""
        self._ask(self._asked._replace(clusters=(name,)))

    def _step_cluster(self, step: int) -> None:
        """Show only the jobs of the next cluster; after the last cluster, the jobs of all."""
        known = self.session.jobs.clusters if self.session.jobs else ()
        scopes = [(), *((one.name,) for one in known)]
        at = scopes.index(self._asked.clusters) if self._asked.clusters in scopes else 0
        self._ask(self._asked._replace(clusters=scopes[(at + step) % len(scopes)]))

    command_cluster = partialmethod(_step_cluster, 1)
    command_cluster_before = partialmethod(_step_cluster, -1)
