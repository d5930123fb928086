"""View 5: a plan before and during submission. Nothing is sent without an explicit confirmation."""

from __future__ import annotations

from functools import partial, partialmethod
from typing import ClassVar

from rowtui.core.submission.plan.model import Plan, PlannedJob
from rowtui.tui.commands.registry import bindings_for
from rowtui.tui.commands.submit import may_switch
from rowtui.tui.shell.work import start
from rowtui.tui.views.questions import ConfirmScreen, is_yes
from rowtui.tui.views.submit.plan import (
    Sending,
    all_words,
    cost_and_checks,
    left_out,
    may_gain,
    not_accepted,
    plan_columns,
)
from rowtui.tui.views.submit.plan_checks import indent_of
from rowtui.tui.views.submit.plan_rows import (
    PlanRow,
    bundle_text,
    plan_rows,
    plan_total,
    row_heading,
    shown_words,
)
from rowtui.tui.views.submit.question import next_lines, send_question, word_of
from rowtui.tui.views.submit.script import SubmitSteps, coloured
from rowtui.tui.views.submit.table import PlanRows, PlanTable
from rowtui.tui.widgets.cells import Line, line, plain, wrapped
from rowtui.tui.widgets.chrome import Panel, set_titles
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.text_lines import LaidOut, TextLines
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

MOST_EMPTY = 4
"""Empty lines of the list while the checks beside it need more lines than the list."""


class SubmitView(SubmitSteps):
    """Jobs, costs and checks, what comes next, and the script of the job under the cursor."""

    MODE = "submit"
    BINDINGS = bindings_for("submit")
    AUTO_FOCUS: ClassVar[str | None] = "#planned"

    def body(self) -> ComposeResult:
        """Compose the jobs above what comes next, the checks beside them, and the script."""
        with Horizontal(id="upper"):
            with Vertical(id="left"):
                yield PlanTable(self._switch, lambda: may_switch(self.session))
                yield Panel("", name="next")
            yield LaidOut(name="checks")
        yield TextLines(coloured, name="script")

    def __init__(self) -> None:
        super().__init__()
        self._next_width = -1  # of the lines about what comes next
        self._rows: PlanRows | None = None
        self._rows_of: tuple[Sending, Plan] | None = None
        self._columns: tuple[TableColumn, ...] = ()
        self._look_of: tuple[Plan, bool] | None = None
        self._text_of: tuple[PlanRow, str] | None = None
        self._shown_key = ""

    def _lay_out_rows(self, sending: Sending) -> PlanRows:
        """Return the rows; they are created once for each plan, which may have many jobs."""
        plan, sent = sending.plan, sending.phase != "review"
        made = self._rows_of
        if self._rows is None or made is None or made[0] is not sending or made[1] is not plan:
            if made is not None and made[0] is not sending:
                # With the same submission, only jobs were removed from the plan, so the filter
                # stays.
                self.table.start_over()
            self._rows_of = (sending, plan)
            self._rows = PlanRows(
                plan_rows(plan), sending, partial(start, self, group="arrange"), self._arranged
            )
            self.script_look.begin(plan.id)
        if (plan, sent) != self._look_of:
            self._columns = plan_columns(plan.jobs, sent)
            self._look_of = (plan, sent)
        return self._rows

    def _arranged(self) -> None:
        if self.ready:
            self.show_body()

    @property
    def row(self) -> PlanRow | None:
        """The planned job, or bundle, under the cursor."""
        if self.session.sending is None or self._rows is None:
            return None
        return self._rows.item(self.table.cursor)

    @property
    def job(self) -> PlannedJob | None:
        """The planned job under the cursor; None for a bundle, or without a row."""
        return self.row.job if self.row else None

    # Display

    def show_body(self) -> None:
        """Show the plan and its progress."""
        self._answer_late()
        sending, table = self.session.sending, self.table
        if sending is None:
            self._rows = self._rows_of = None
            table.empty = line(("No plan yet. Mark groups in 2 Groups and press s.", "dim"))
            table.show_nothing()
        else:
            rows = self._lay_out_rows(sending)
            rows.follow()
            text = "No job fits the filter; Esc shows all." if table.filtered else ""
            table.say_if_empty(line((text or "The plan has no jobs.", "dim")))
            table.show(rows, self._columns)
        self._show_titles()
        self._show_job()
        self._show_next()

    def _show_titles(self) -> None:
        sending, table = self.session.sending, self.table
        several = sending is not None and len(sending.plan.jobs) > 1 and table.source.row_count
        table.sum_up(plan_total(sending) if sending is not None and several else None)
        if sending is None:
            set_titles(table, "Jobs to submit")
            return
        title = "Jobs to submit" if sending.phase == "review" else "Jobs of this plan"
        below = shown_words(sending, table.tally) if table.tally else all_words(sending)
        set_titles(table, f"{title}{table.filter_named}", below)

    def _show_job(self) -> None:
        self._show_checks()
        self.show_script()

    def _show_checks(self) -> None:
        sending = self.session.sending
        checks = self.query_one("#checks", LaidOut)
        set_titles(checks, "Cost and checks")
        if sending is None:
            checks.show_made(lambda _: (line((" Nothing has been submitted.", "dim")),))
            return
        hints = []
        if sending.phase == "review" and sending.wanted and may_gain(sending.plan):
            hints.append(
                line(("4 ", "key"), ("packs these jobs on as few nodes as possible", "dim"))
            )
        found = cost_and_checks(sending, self.job, sending.copying, hints)
        checks.show_made(
            lambda width: tuple(
                line(" ") + part
                for one in found
                for part in wrapped(one, width - 2, indent_of(one))
            )
        )

    def show_script(self) -> None:
        """Show the script of the row, or the groups that the plan leaves out."""
        if not self.ready:
            return
        sending, row = self.session.sending, self.row
        script = self.query_one("#script", TextLines)
        if sending is None or row is None:
            why: list[Line] = []
            # Without a row, there is room for the groups that the plan leaves out.
            if sending is not None:
                width = script.scrollable_content_region.width - 2
                why = [part for one in left_out(sending.plan) for part in wrapped(one, width, 2)]
            script.show(tuple(f"# {plain(part)}" for part in why))
            set_titles(script, "Left out" if why else "Script")
            return
        scheduler = self._scheduler_of(row.jobs[0])
        if (asked := self.script_look.missing(row.jobs, scheduler)) is not None:
            self.ask_before(asked)
        shown = self.script_look.shown(row.key, row.jobs, scheduler, self.script_text)
        if tuple(shown.lines) != tuple(script.lines):
            script.show(tuple(shown.lines))
            if row.key != self._shown_key:
                script.action_first()
        self._shown_key = row.key
        heading = row_heading(row, self._rows.everything if self._rows else ())
        set_titles(script, heading + (f" · {shown.about}" if shown.about else ""), shown.keys)

    def _scheduler_of(self, job: PlannedJob) -> str:
        """Return the kind of scheduler of a job's cluster."""
        sending, known = self.session.sending, self.session.jobs
        name = job.destination.cluster
        if sending is not None and name == sending.plan.cluster:
            return sending.plan.scheduler
        kinds = {one.name: one.scheduler for one in (known.clusters if known else ())}
        return kinds.get(name, "slurm")

    def script_text(self) -> str:
        """Return the script of the row.

        The script of a bundle contains those of all requests, so it is computed once.
        """
        row = self.row
        if row is None:
            return ""
        if row.job is not None:
            return row.job.script
        if self._text_of is None or self._text_of[0] is not row:
            text = "\n".join(bundle_text(row, self._scheduler_of(row.jobs[0])))
            self._text_of = (row, text)
        return self._text_of[1]

    @property
    def _hidden(self) -> int:
        """The number of jobs that are sent although a filter hides them."""
        rows = self._rows
        return rows.hidden_on if rows is not None and self.table.filtered else 0

    def _show_next(self) -> None:
        """Show what comes next, also in the question if it is open."""
        panel, sending = self.query_one("#next", Panel), self.session.sending
        short = not self.query_one("#checks").display
        job = self.row.jobs[0] if self.row else None
        width = panel.size.width
        if width != self._next_width:  # The lines are broken again once the pane has its place.
            self._next_width = width
            self.call_after_refresh(self.show)
        panel.show(next_lines(self.session, job, self._hidden, width, short=short))
        review = sending is None or sending.phase == "review"
        set_titles(panel, "What comes next" if review else "Sending")
        if isinstance(question := self.app.screen, ConfirmScreen):
            question.show_question()
        self._share_height()

    def _share_height(self) -> None:
        """Make the list as high as its rows, or a little higher if the checks need more lines."""
        upper, checks = self.query_one("#upper"), self.query_one("#checks", LaidOut)
        panel, table = self.query_one("#next", Panel), self.table
        rows = max(table.virtual_size.height, 3) + panel.line_count
        lines = rows + table.gutter.height + panel.gutter.height
        if checks.display:
            lines = max(lines, min(lines + MOST_EMPTY, len(checks.lines) + checks.gutter.height))
        room = self.query_one("#body").size.height
        upper.styles.height = room if self.has_class("-flat") else min(lines, room * 3 // 5)

    def on_virtual_table_cursor_moved(self) -> None:
        """Show the script of the job under the cursor."""
        self._show_job()
        self._show_next()

    def on_list_table_rearranged(self) -> None:
        """Update the frames after another filter or order."""
        self._show_titles()
        self._show_job()
        self._show_next()

    def copyable(self) -> str:
        """The first directory of the job under the cursor."""
        jobs = self.row.jobs if self.row else ()
        return jobs[0].directories[0] if jobs and jobs[0].directories else ""

    def back(self) -> bool:
        """Go back from another pane to the jobs; drop the filter; leave."""
        if self.table.has_focus_within and self.table.clear_filter():
            return True
        if not self.table.has_focus:
            self.table.focus()
            return True
        sending = self.session.sending
        if sending is not None and sending.phase == "review":
            self.session.sending = None
            self.session.note("you", "left the plan: nothing was sent")
            self.dashboard.go(sending.asked_in)
            return True
        return False

    def show_packed(self) -> None:
        """Pack the groups of this plan."""
        sending = self.session.sending
        if sending is not None and sending.phase == "review" and sending.wanted is not None:
            self.session.packing.want(sending.wanted)
        self.dashboard.go("pack")

    # Commands

    def command_confirm(self) -> None:
        """Ask for the number of jobs, and send them after the exact answer."""
        if (sending := self.session.sending) is not None:
            ask = partial(send_question, sending, self._hidden)
            self.app.push_screen(ConfirmScreen(ask), partial(self._answer_with, sending))

    def _answer_with(self, sending: Sending, typed: str | None) -> None:
        """Send the plan after the exact word; before the budgets are known, keep the answer."""
        if typed is None:
            self.dashboard.notify("Nothing was sent.")
        elif sending.phase != "review" or not sending.chosen.requests:
            return
        elif sending.awaits_budgets:
            sending.unsent_yes = typed
            self.dashboard.notify("Reading the budgets; the answer counts after that.")
        elif is_yes(word := word_of(sending), typed):
            self.dashboard.verbs.send()
        else:
            self.dashboard.warn(f"{typed!r} is not {word!r}: nothing was sent.")

    def _answer_late(self) -> None:
        """Use the answer that was typed before the budgets were known."""
        sending = self.session.sending
        if sending is not None and sending.unsent_yes and not sending.awaits_budgets:
            typed, sending.unsent_yes = sending.unsent_yes, ""
            self._answer_with(sending, typed)

    def command_stop(self) -> None:
        """Send no more jobs."""
        if self.session.sending is not None:
            self.session.sending.phase = "stopping"
            self.show()

    def command_diff(self) -> None:
        """Show the differences from the previous script, or the whole script."""
        self.script_look.full = not self.script_look.full
        self.show_script()

    def command_fold(self) -> None:
        """Show unchanged lines, or their number."""
        self.script_look.unfolded = not self.script_look.unfolded
        self.show_script()

    def command_next(self) -> None:
        """Show the script of the next job."""
        self.table.action_line_down()

    def command_previous(self) -> None:
        """Show the script of the previous job."""
        self.table.action_line_up()

    def _find(self, step: int) -> None:
        rows, sending = self._rows, self.session.sending
        if rows is None or sending is None:
            return
        for at in range(1, rows.row_count + 1):
            row = rows.item((self.table.cursor + step * at) % rows.row_count)
            if row and any(job.warnings or not_accepted(job, sending) for job in row.jobs):
                self.table.move_to_key(row.key)
                return
        self.answer("no job has a warning, and none was refused")

    command_next_find = partialmethod(_find, 1)
    command_previous_find = partialmethod(_find, -1)

    def command_pane(self) -> None:
        """Move to the next pane."""
        panes = ("#planned", "#script", "#checks")
        shown = [pane for name in panes if (pane := self.query_one(name)).display]
        at = next((number for number, pane in enumerate(shown) if pane.has_focus), 0)
        shown[(at + 1) % len(shown)].focus()
