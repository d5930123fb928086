"""The list of jobs: its rows in pages, marks for rows of this project, and verbs on marked rows."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Hashable, Sequence
from functools import partial, partialmethod
from typing import Any

from rowtui.core.base.text import plural
from rowtui.core.clusters.schedulers.job_terms import JobTerms
from rowtui.core.project.queue.rows import MarkedRow, QueueRow, RowKey
from rowtui.core.project.queue.views import (
    MOST_MARKED,
    SORTS,
    ChosenJobs,
    QueuePage,
    QueueRequest,
)
from rowtui.tui.commands.jobs import CANCEL, CHANGE, HOLD, RELEASE, RETRY, JobVerb
from rowtui.tui.shell.work import start
from rowtui.tui.views.questions import Question, confirm, word_for
from rowtui.tui.views.queue.change import ChangeScreen, change_question
from rowtui.tui.views.view import Dashboard, ScreenView
from rowtui.tui.widgets.short_text import amount_of_hours
from rowtui.tui.widgets.table.engine_rows import LOADED, EngineRows
from rowtui.tui.widgets.table.list_table import ListTable
from rowtui.tui.widgets.table.rows import Marks


class QueueRows(EngineRows[QueueRow]):
    """Pages of jobs. The engine reports with each page where the row under the cursor is now."""

    page: QueuePage | None = None  # The latest page.
    # The cells (row, column) that the latest page changes.
    changed: tuple[tuple[Hashable, str], ...] = ()
    _followed: tuple[Hashable, int | None] | None = None

    def take(self, page: QueuePage, followed: RowKey | None) -> None:
        """Store a new page, which also has the position of the row that was asked for."""
        self.page = page
        if followed is not None:
            self._followed = (followed, page.followed)

    def index_of(self, key: Hashable) -> int | None:
        """Return the position of the row by the engine's last report, or in the loaded pages."""
        if self._followed is not None and self._followed[0] == key:
            at = self._followed[1]
            if at is None or self.key(at) in (key, None):
                return at
            parent = key.parent if isinstance(key, RowKey) else None
            # The array or bundle of the row was folded.
            if parent is not None and self.key(at) == parent:
                return at
            # The row was asked for by its token alone.
            if isinstance(key, RowKey) and not key.cluster:
                return at
        return super().index_of(key)

    def _keep(self, number: int, total: int, items: Sequence[QueueRow]) -> None:
        near = (self._pages.get(one, ()) for one in (number - 1, number, number + 1))
        known = {row.key: row for page in near for row in page}
        self.changed = tuple(_changed(known, items))
        super()._keep(number, total, items)

    async def rows(self, start: int, stop: int) -> Sequence[QueueRow]:
        """Return rows, also if their pages are not loaded; fewer rows if the range is long."""
        return await self._items(start, stop)


def _changed(known: dict[RowKey, QueueRow], items: Sequence[QueueRow]) -> list[tuple[RowKey, str]]:
    """Return the cells that differ in rows that were loaded before."""
    found = []
    for row in items:
        was = known.get(row.key)
        if was is None:
            continue
        if (was.state, was.silent) != (row.state, row.silent):
            found.append((row.key, "state"))
        if was.reason != row.reason or (row.key.folded and was.counts != row.counts):
            found.append((row.key, "reason"))
    return found


def queue_values(row: QueueRow) -> dict[str, Any]:
    """Return the columns of a row for a file; times in seconds."""
    return {
        "state": row.state.value, "cluster": row.cluster, "id": row.label + row.tasks,
        "action": row.name, "user": row.user, "size": row.size, "elapsed": row.elapsed,
        "partition": row.partition, "nodes": row.nodes, "first": row.first, "reason": row.reason,
    }  # fmt: skip


class QueueMarks(Marks):
    """Marks of rows, where a marked array or bundle stands for all of its jobs."""

    def __contains__(self, key: object) -> bool:
        """Whether the row is marked, or the array above it."""
        if key in self.keys:
            return True
        return isinstance(key, RowKey) and key.parent in self.keys


class QueueList(ListTable):
    """The list of jobs; `took` is called with rows that are marked together."""

    def __init__(self, took: Callable[[Sequence[MarkedRow]], None]) -> None:
        super().__init__(name="queue", can_mark=True)
        self.marks = QueueMarks()
        self._took = took

    @property
    def sortable(self) -> list[str]:
        """The orders of the engine, independent of the columns that fit."""
        return list(SORTS[1:])

    def _undo_marks(self, text: str, take_back: Callable[[], None]) -> None:
        """Do nothing: `QueueMarking` stores the marks, and undoes their changes."""

    async def _mark_rows(self, first: int, stop: int) -> None:
        source, asked = self.source, self.asked
        assert isinstance(source, QueueRows)
        whole = set(self.marks.keys)
        found: list[MarkedRow] = []
        at = first
        while at < stop and len(found) < MOST_MARKED:
            try:
                rows = await source.rows(at, min(stop, at + LOADED))
            except Exception as error:
                self.notify(f"Not marked: {error}", severity="error", markup=False)
                return
            if not rows or source is not self.source or asked != self.asked:
                break
            at += len(rows)
            for row in rows:
                # If its array is marked, the row is marked already.
                if row.ours and row.key.parent not in whole:
                    whole.add(row.key)
                    found.append(row.marked)
        if len(found) >= MOST_MARKED:
            self.notify(f"Only the first {MOST_MARKED:,} rows.", markup=False)
        self._took(found[:MOST_MARKED])


class QueueMarking:
    """The marks of one table. `asked` returns its request; `show` is called after a change.

    A marked array stands for all its jobs. The marks are stored in the session, with the states of
    their jobs; the engine is asked for these states again after each poll of the queue.
    """

    def __init__(
        self,
        app: Dashboard,
        table: Callable[[], QueueList],
        asked: Callable[[], QueueRequest],
        show: Callable[[], None],
    ) -> None:
        self._app = app
        self._session = app.session
        self._table = table
        self._asked = asked
        self._show = show
        self._marked_all = ""  # The kind of jobs that `mark_all` marked last.

    def mark(self) -> None:
        """Mark the job under the cursor, or all jobs of its array; or remove the mark."""
        row, table, before = (
            self._session.queue_row,
            self._table(),
            self._session.queue_marks.copy(),
        )
        if row is None:
            return
        if row.key.parent in self._session.queue_marks:
            self._app.notify("The whole array is marked; Space on its row takes the mark back.")
            return
        table.toggle_mark()
        if row.key in table.marks.keys:
            self._session.queue_marks[row.key] = row.marked
        else:
            self._session.queue_marks.pop(row.key, None)
        self._marked_all = ""
        self._changed(before)

    def mark_all(self) -> None:
        """Mark all jobs that have not ended; at the second call all failed jobs; then none."""
        steps = ["active", "failed"]
        if self._marked_all:
            steps = steps[steps.index(self._marked_all) + 1 :]
        elif self._table().marks.keys:
            steps = []
        self._work(partial(self._mark_first_of, steps))

    async def _mark_first_of(self, steps: Sequence[str]) -> None:
        before = self._session.queue_marks
        self.forget()
        for which in steps:
            try:
                marked = await self._session.engine.queue.all_of(self._asked(), which)
            except Exception as error:
                self._app.report("the jobs cannot be marked", error)
                return
            if marked:
                self._marked_all = which
                self._session.queue_marks = {row.key: row for row in marked}
                self._table().marks.keys.update(dict.fromkeys(self._session.queue_marks, 0))
                if len(marked) == MOST_MARKED:
                    self._app.notify(f"Only the first {MOST_MARKED:,} rows.")
                break
        self._changed(before)

    def took(self, marked: Sequence[MarkedRow]) -> None:
        """Mark a range, or all rows that the filter leaves, in addition to the earlier marks."""
        marks = self._session.queue_marks
        before = marks.copy()
        for row in marked[: max(0, MOST_MARKED - len(marks))]:
            marks[row.key] = row
            self._table().marks.keys[row.key] = 0
        self._marked_all = ""
        self._changed(before)

    def look_again(self) -> None:
        """Update the marked jobs: they may have other states now, or be gone."""
        if self._session.queue_marks:
            self._work(self._refresh)

    async def _refresh(self) -> None:
        keys = tuple(self._session.queue_marks)
        try:
            marked = await self._session.engine.queue.marked(keys)
        except Exception as error:
            self._app.report("the marked jobs cannot be listed", error)
            return
        there = {row.key: row for row in marked}
        for key in keys:
            if key in there and key in self._session.queue_marks:
                self._session.queue_marks[key] = there[key]
            else:
                self._session.queue_marks.pop(key, None)
                self._table().marks.keys.pop(key, None)
        self._show()

    def forget(self) -> None:
        """Remove all marks."""
        self._marked_all = ""
        self._session.queue_marks = {}
        self._table().marks.set_all(False)
        self._changed()

    def drop(self) -> None:
        """Remove all marks, because the user has no use for them."""
        before = self._session.queue_marks
        self.forget()
        self._changed(before)

    def _restore(self, marks: dict[RowKey, MarkedRow]) -> None:
        self.forget()
        self._session.queue_marks = dict(marks)
        self._table().marks.keys.update(dict.fromkeys(marks, 0))
        self.look_again()  # These jobs may have other states now, or be gone.
        self._changed()

    def _changed(self, before: dict[RowKey, MarkedRow] | None = None) -> None:
        """Show the marks; `before`: the marks before the user changed them."""
        now = len(self._session.queue_marks)
        if before is not None and before.keys() != self._session.queue_marks.keys():
            text = f"marked {plural(now, 'row')}" if now else "took all marks back"
            self._session.can_undo("queue", text, partial(self._restore, before))
        self._table().repaint_different()
        self._show()

    def _work(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        start(self._table().screen, work, "marks", exclusive=True)


class QueueVerbs(ScreenView):
    """The part of the view Queue that acts on jobs."""

    def _start(
        self, verb: JobVerb, ask: Callable[[JobVerb, Sequence[RowKey]], Coroutine[Any, Any, None]]
    ) -> None:
        row = self.session.queue_row
        keys = tuple(self.session.queue_marks) or ((row.key,) if row is not None else ())
        if keys:
            start(self, partial(ask, verb, keys), "verb", exclusive=True)

    def _start_verb(self, verb: JobVerb) -> None:
        self._start(verb, self._ask_about)

    command_cancel = partialmethod(_start_verb, CANCEL)
    command_release = partialmethod(_start_verb, RELEASE)
    command_retry = partialmethod(_start_verb, RETRY)

    def command_hold(self) -> None:
        """Hold the jobs; release them if none of them can be held."""
        states = self.session.chosen_states
        releases = HOLD.why_not(states) and not RELEASE.why_not(states)
        self._start_verb(RELEASE if releases else HOLD)

    def command_change(self) -> None:
        """Change limit, partition, nice value and dependency of the jobs that wait."""
        self._start(CHANGE, self._ask_change)

    async def _ask_change(self, verb: JobVerb, keys: Sequence[RowKey]) -> None:
        try:
            present = await self.session.engine.queue.terms(keys)
        except Exception as error:
            self.dashboard.report("the jobs cannot be changed", error)
            return
        if not self.is_current:  # The user did something else while the scheduler was asked.
            return
        if not present.jobs:
            why = present.problem or verb.why_not(self.session.chosen_states)
            self.dashboard.warn(f"change: {why or 'these jobs are gone'}")
            return
        nothing = "Nothing was changed."

        def typed(change: JobTerms | None) -> None:
            if change is None or change.is_nothing:
                self.dashboard.notify(nothing)
                return
            confirm(self.app, change_question(present, change), partial(send, change),
                    otherwise=nothing)  # fmt: skip

        def send(change: JobTerms) -> None:
            self.forget_marks()
            self.dashboard.verbs.act(verb, keys, present.jobs, change=change)

        self.app.push_screen(ChangeScreen(present), typed)

    async def _ask_about(self, verb: JobVerb, keys: Sequence[RowKey]) -> None:
        try:
            chosen = await self.session.engine.queue.chosen(keys, verb.word)
        except Exception as error:
            self.dashboard.report(f"nothing could be {verb.done}", error)
            return
        left = chosen.total - chosen.jobs
        if not chosen.jobs:
            why = verb.why_not(self.session.chosen_states) or "these jobs are gone"
            self.dashboard.warn(f"{verb.word}: {why}")
            return
        if verb is RETRY:
            note = f"{left:,} marked did not fail" if left else ""
            if (more := chosen.jobs - len(chosen.failed)) > 0:
                note = f"only the first {len(chosen.failed):,}: {more:,} more failed"
            self.dashboard.verbs.ask_again(list(chosen.failed), note)
            return

        opposite = {HOLD: RELEASE, RELEASE: HOLD}.get(verb)

        def act() -> None:
            self.forget_marks()
            undo = None
            if opposite is not None:
                ask = partial(self._ask_about, opposite, keys)
                undo = partial(start, self, ask, "verb", exclusive=True)
            self.dashboard.verbs.act(verb, keys, chosen.jobs, undo=undo)

        question = verb_question(verb, chosen)
        confirm(self.app, question, act, otherwise=f"Nothing was {verb.done}.")


def verb_question(verb: JobVerb, chosen: ChosenJobs) -> Question:
    """Return the question before a verb is applied to these jobs."""
    title = f"{verb.word.capitalize()} {plural(chosen.jobs, 'job')}?"
    if left := chosen.total - chosen.jobs:
        title = f"{title} ({left:,} marked cannot be {verb.done})"
    loses = verb is CANCEL
    rows = [
        (it.label, it.title, f"{it.directories:,}", it.state,
         *((amount_of_hours(it.cpu_hours) if it.cpu_hours else "·",) if loses else ()))
        for it in (*chosen.first, chosen.sums)
    ]  # fmt: skip
    titles = ("Job", "Action", "Directories", "State", *(("CPU-hours lost",) if loses else ()))
    happens, otherwise, undo = _VERB_WORDS[verb]
    return Question(
        title,
        [happens],
        word_for(chosen.jobs),
        [titles, *rows],
        more=chosen.jobs - len(chosen.first),
        to=f"{verb.word} {'it' if chosen.jobs == 1 else 'them'}",
        otherwise=otherwise,
        undo=undo,
        loses=loses,
    )


_VERB_WORDS = {
    CANCEL: (
        "The jobs stop at once, and their directories become eligible again. What a job has "
        "computed since its last file is lost.",
        "cancels nothing",
        "This cannot be undone.",
    ),
    HOLD: ("A held job does not start.", "holds nothing", "H releases the jobs again."),
    RELEASE: ("The jobs may start again.", "releases nothing", "H holds the jobs again."),
}
