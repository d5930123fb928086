"""View 5: a plan before it is sent, and while it is sent. Nothing goes without an explicit yes."""

from __future__ import annotations

from typing import ClassVar

from rowtui.core.submission.model import Plan, PlannedJob
from rowtui.core.text import plural
from rowtui.tui.actions import bindings_for
from rowtui.tui.render.cells import Line, line, plain, width_of, wrapped
from rowtui.tui.render.plan import (
    checks_in_short,
    confirm_word,
    confirms,
    cost_and_checks,
    jobs_words,
    left_out,
    may_gain,
    plan_columns,
    script_line,
    sending_line,
)
from rowtui.tui.render.plan_rows import PlanRow, bundle_text, plan_rows, row_cells, row_heading
from rowtui.tui.render.transfers import copied_in_short
from rowtui.tui.screens.view import View, set_titles
from rowtui.tui.widgets.chrome import OneLine, Panel
from rowtui.tui.widgets.rows import ListRows
from rowtui.tui.widgets.text_lines import TextLines
from rowtui.tui.widgets.virtual_table import VirtualTable
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Input


class SubmitView(View):
    """Jobs, costs, the complete script of the job under the cursor, and the question."""

    MODE = "submit"
    BINDINGS = bindings_for("submit")
    AUTO_FOCUS: ClassVar[str | None] = "#planned"

    def body(self) -> ComposeResult:
        """From what would be sent, through its script, down to the question."""
        with Horizontal(id="upper"):
            yield VirtualTable(name="planned")
            yield Panel("Cost and checks", name="checks")
        yield TextLines(script_line, name="script")
        with Vertical(id="confirm"):
            yield OneLine(name="short")
            yield OneLine(name="again")
            yield OneLine(name="question")
            yield Input(id="yes", compact=True, disabled=True)

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[PlanRow] = []
        self._rows_of: Plan | None = None
        self._text_of: tuple[PlanRow, tuple[str, ...]] | None = None

    def _lay_out_rows(self) -> None:
        plan = self.session.sending.plan if self.session.sending else None
        if plan is not self._rows_of:
            self._rows, self._rows_of = plan_rows(plan) if plan else [], plan

    @property
    def row(self) -> PlanRow | None:
        """The planned job, or bundle, under the cursor."""
        if self.session.sending is None or not self._rows:
            return None
        at = min(self.query_one("#planned", VirtualTable).cursor, len(self._rows) - 1)
        return self._rows[at]

    @property
    def job(self) -> PlannedJob | None:
        """The planned job under the cursor; None for none, and for a bundle."""
        return self.row.job if self.row else None

    def show_body(self) -> None:
        """The plan and how far it is."""
        sending = self.session.sending
        table = self.query_one("#planned", VirtualTable)
        self._lay_out_rows()
        if sending is None:
            table.empty = line(("No plan yet. Mark groups in 2 Groups and press s.", "dim"))
            table.show_nothing()
            set_titles(table, "Jobs to submit")
        else:
            plan = sending.plan
            table.empty = line(("The plan has no jobs.", "dim"))
            sent = sending.phase != "review"
            table.show(
                ListRows(self._rows, lambda row: row.key, lambda _, row: row_cells(row, sending)),
                plan_columns(plan.jobs, sent),
            )
            title = "Jobs of this plan" if sent else "Jobs to submit"
            set_titles(table, title, jobs_words(plan))
        self._show_job()
        self._show_question()

    def _show_job(self) -> None:
        sending, row, job = self.session.sending, self.row, self.job
        again = job.reasons[0] if job is not None and job.attempt > 1 and job.reasons else ""
        self.set_class(bool(again), "-again")
        self.query_one("#again", OneLine).show(line(" ", again))
        checks = self.query_one("#checks", Panel)
        script = self.query_one("#script", TextLines)
        if sending is None:
            checks.show([line(("Nothing has been submitted.", "dim"))])
            script.show(())
            set_titles(script, "Script")
            return
        said = cost_and_checks(sending.plan, job, sending.copying)
        if sending.phase == "review" and sending.wanted and may_gain(sending.plan):
            said.append(line(("4 ", "key"), ("packs them on as few nodes as it takes", "dim")))
        checks.show(part for one in said for part in wrapped(one, checks.size.width, 2))
        if row is None:  # there is room for what the plan leaves out
            width = script.scrollable_content_region.width - 2
            why = [part for one in left_out(sending.plan) for part in wrapped(one, width, 2)]
            script.show(tuple(f"# {plain(part)}" for part in why))
            set_titles(script, "Left out" if why else "Script")
            return
        lines = tuple(job.script.splitlines()) if job else self._bundle_text(row)
        if lines != script.lines:
            script.show(lines)
            script.action_first()
        set_titles(script, row_heading(row, self._rows), plural(len(lines), "line"))

    def _bundle_text(self, row: PlanRow) -> tuple[str, ...]:
        """Worked out once for each bundle that one looks at: it has the scripts of all requests."""
        if self._text_of is None or self._text_of[0] is not row:
            sending, known = self.session.sending, self.session.jobs
            name = row.jobs[0].destination.cluster
            kinds = {one.name: one.scheduler for one in (known.clusters if known else ())}
            if sending is not None:
                kinds[sending.plan.cluster] = sending.plan.scheduler
            self._text_of = (row, bundle_text(row, kinds.get(name, "slurm")))
        return self._text_of[1]

    def _show_question(self) -> None:
        sending = self.session.sending
        short = self.query_one("#short", OneLine)
        question = self.query_one("#question", OneLine)
        if sending is None:
            short.show(())
            question.show(line((" Nothing to confirm.", "dim")))
            set_titles(self.query_one("#confirm"), "Confirm")
            return
        copied = copied_in_short(sending.copying)
        short.show((*line(" "), *checks_in_short(sending.plan), *copied))
        question.show((*line(" "), *self._question()))
        set_titles(
            self.query_one("#confirm"), "Confirm" if sending.phase == "review" else "Sending"
        )

    def _question(self) -> Line:
        sending = self.session.sending
        assert sending is not None
        if sending.phase != "review":
            after = {
                "sending": ("   x ", "stops"),
                "done": ("   6 ", "watches them in the queue"),
                "stopped": ("   6 ", "watches them in the queue"),
            }.get(sending.phase)
            tail = line((after[0], "key"), after[1]) if after else ()
            return (*sending_line(sending), *tail)
        if self.session.read_only:
            return line(("READ ONLY: nothing can be submitted.", "warning"))
        if not sending.plan.jobs:
            return line(("There is nothing to send.", "dim"))
        if conflict := sending.copying.conflict:
            return line(("✗ ", "failed"), (conflict, "failed"))
        what, where = jobs_words(sending.plan), sending.plan.cluster
        key, esc = ("s", "key"), ("Esc", "key")
        word = confirm_word(sending.plan)
        if not self.query_one("#yes", Input).disabled:
            typed = line("Type ", (word, "key"), " and press ", ("Enter", "key"))
            return self._that_fits(
                (*typed, *line(f" to send {what} to {where}.  ", esc, " sends nothing.")),
                (*typed, *line(f" to send {what}.  ", esc, " sends nothing.")),
                (*typed, *line(f" to send {what}.")),
            )
        then = f" then {word} sends {what}"
        return self._that_fits(
            line("Nothing is sent yet.  ", key, f"{then} to {where}.  ", esc, " leaves."),
            line("Nothing is sent yet.  ", key, f"{then}.  ", esc, " leaves."),
            line("Nothing is sent yet.  ", key, f"{then}."),
        )

    def _that_fits(self, *forms: Line) -> Line:
        room = self.query_one("#question", OneLine).size.width - 1
        return next((form for form in forms if width_of(form) <= room), forms[-1])

    def on_virtual_table_cursor_moved(self) -> None:
        """The script of another job."""
        self._show_job()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Only the very word sends; anything else sends nothing."""
        event.stop()
        sending = self.session.sending
        typed = event.value
        self._close_question()
        if sending is None or sending.phase != "review":
            return
        if confirms(sending.plan, typed):
            self.dashboard.verbs.send()
            return
        if typed.strip():
            text = f"{typed.strip()!r} is not {confirm_word(sending.plan)!r}: nothing was sent."
        else:
            text = "Nothing was sent."
        self.app.notify(text, severity="warning", markup=False)

    def on_key(self, event: events.Key) -> None:
        """Escape in the question is the answer no."""
        if event.key == "escape" and not self.query_one("#yes", Input).disabled:
            event.stop()
            event.prevent_default()
            self._close_question()
            self.app.notify("Nothing was sent.", markup=False)

    def _close_question(self) -> None:
        answer = self.query_one("#yes", Input)
        answer.value = ""
        answer.disabled = True
        self.remove_class("-asking")
        self.query_one("#planned", VirtualTable).focus()
        self._show_question()

    def copyable(self) -> str:
        """The first directory of the job under the cursor."""
        jobs = self.row.jobs if self.row else ()
        return jobs[0].directories[0] if jobs and jobs[0].directories else ""

    def back(self) -> bool:
        """From the question, or the script, to the jobs; then to where the plan was made."""
        if not self.query_one("#yes", Input).disabled:
            self._close_question()
            return True
        if self.query_one("#script", TextLines).has_focus:
            self.query_one("#planned", VirtualTable).focus()
            return True
        sending = self.session.sending
        if sending is not None and sending.phase == "review":
            self.session.sending = None
            self.session.note("you", "left the plan: nothing was sent")
            self.dashboard.go(sending.asked_in)
            return True
        return False

    def show_packed(self) -> None:
        """Pack what this plan would submit."""
        sending = self.session.sending
        if sending is not None and sending.phase == "review" and sending.wanted is not None:
            self.session.packing.want(sending.wanted)
        self.dashboard.go("pack")

    def command_confirm(self) -> None:
        """Ask the question."""
        answer = self.query_one("#yes", Input)
        answer.disabled = False
        answer.value = ""
        self.add_class("-asking")
        answer.focus()
        self._show_question()

    def command_stop(self) -> None:
        """Send no more jobs."""
        if self.session.sending is not None:
            self.session.sending.phase = "stopping"
            self.show()

    def command_next(self) -> None:
        """The script of the next job."""
        self.query_one("#planned", VirtualTable).action_line_down()

    def command_previous(self) -> None:
        """The script of the previous job."""
        self.query_one("#planned", VirtualTable).action_line_up()

    def command_pane(self) -> None:
        """The other pane."""
        script = self.query_one("#script", TextLines)
        table = self.query_one("#planned", VirtualTable)
        (table if script.has_focus else script).focus()
