"""View 5: a plan before it is sent, and while it is sent. Nothing goes without an explicit yes."""

from __future__ import annotations

from typing import ClassVar

from rowtui.core.submission.model import PlannedJob
from rowtui.core.text import plural
from rowtui.tui.actions import bindings_for
from rowtui.tui.render.cells import Line, line, plain, wrapped
from rowtui.tui.render.plan import (
    checks_in_short,
    confirm_word,
    confirms,
    cost_and_checks,
    left_out,
    plan_cells,
    plan_columns,
    script_line,
    sending_line,
)
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

    @property
    def job(self) -> PlannedJob | None:
        """The planned job under the cursor."""
        sending = self.session.sending
        if sending is None or not sending.plan.jobs:
            return None
        at = min(self.query_one("#planned", VirtualTable).cursor, len(sending.plan.jobs) - 1)
        return sending.plan.jobs[at]

    def show_body(self) -> None:
        """The plan and how far it is."""
        sending = self.session.sending
        table = self.query_one("#planned", VirtualTable)
        if sending is None:
            table.empty = line(("No plan yet. Mark groups in 2 Groups and press s.", "dim"))
            table.show_nothing()
            set_titles(table, "Jobs to submit")
        else:
            plan = sending.plan
            table.empty = line(("The plan has no jobs.", "dim"))
            sent = sending.phase != "review"
            table.show(
                ListRows(
                    plan.jobs,
                    lambda job: job.token,
                    lambda at, job: plan_cells(at + 1, job, sending),
                ),
                plan_columns(plan.jobs, sent),
            )
            title = "Jobs of this plan" if sent else "Jobs to submit"
            set_titles(table, title, plural(len(plan.jobs), "job"))
        self._show_job()
        self._show_question()

    def _show_job(self) -> None:
        sending, job = self.session.sending, self.job
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
        checks.show(
            part
            for one in cost_and_checks(sending.plan, job, sending.copying)
            for part in wrapped(one, checks.size.width, 2)
        )
        if job is None:  # there is room for what the plan leaves out
            width = script.scrollable_content_region.width - 2
            why = [part for one in left_out(sending.plan) for part in wrapped(one, width, 2)]
            script.show(tuple(f"# {plain(part)}" for part in why))
            set_titles(script, "Left out" if why else "Script")
            return
        lines = tuple(job.script.splitlines())
        if lines != script.lines:
            script.show(lines)
            script.action_first()
        number = sending.plan.jobs.index(job) + 1
        of = f" {number:,} of {len(sending.plan.jobs):,}" if len(sending.plan.jobs) > 1 else ""
        set_titles(script, f"Script{of} · {job.name}", plural(len(lines), "line"))

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
        what = plural(len(sending.plan.jobs), "job")
        word = confirm_word(sending.plan)
        if not self.query_one("#yes", Input).disabled:
            return line(
                "Type ",
                (word, "key"),
                " and press ",
                ("Enter", "key"),
                f" to send {what} to {sending.plan.cluster}.  ",
                ("Esc", "key"),
                " sends nothing.",
            )
        return line(
            "Nothing is sent yet.  ",
            ("s", "key"),
            f" then {word} sends {what} to {sending.plan.cluster}.  ",
            ("Esc", "key"),
            " leaves.",
        )

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
        return self.job.directories[0] if self.job and self.job.directories else ""

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
