"""View 5: a plan before it is sent, and while it is sent. Nothing goes without an explicit yes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import ClassVar

from rowtui.core.submission.model import Plan, PlannedJob
from rowtui.core.text import plural
from rowtui.tui.actions import bindings_for
from rowtui.tui.render.cells import Cell, Line, line, plain, width_of, wrapped
from rowtui.tui.render.columns import Column
from rowtui.tui.render.plan import (
    all_words,
    checks_in_short,
    chosen_words,
    cost_and_checks,
    left_out,
    may_gain,
    plan_columns,
)
from rowtui.tui.render.plan_checks import indent_of, says_yes, why_not, word_for
from rowtui.tui.render.plan_choice import Chosen
from rowtui.tui.render.plan_rows import (
    PlanRow,
    SingleRows,
    bundle_text,
    plan_rows,
    row_cells,
    row_heading,
)
from rowtui.tui.render.plan_sending import afterwards, first_error, sending_line
from rowtui.tui.render.transfers import copied_in_short
from rowtui.tui.screens.view import View, set_titles
from rowtui.tui.script_look import ScriptLook, coloured
from rowtui.tui.submit_steps import SubmitSteps
from rowtui.tui.widgets.chrome import OneLine
from rowtui.tui.widgets.palette import as_content
from rowtui.tui.widgets.rows import ListRows
from rowtui.tui.widgets.text_lines import LaidOut, TextLines
from rowtui.tui.widgets.virtual_table import VirtualTable
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Static


class PlanSource(ListRows[PlanRow]):
    """The rows of a plan. Where a job stands is known without a look at all of them."""

    def __init__(
        self,
        rows: Sequence[PlanRow],
        chosen: Chosen,
        cells: Callable[[int, PlanRow], Mapping[str, Cell]],
    ) -> None:
        super().__init__(rows, lambda row: row.key, cells)
        self._chosen = chosen

    def index_of(self, key: Hashable) -> int | None:
        """Where the row with that key is."""
        if isinstance(self.items, SingleRows) and isinstance(key, str):
            return self._chosen.find(key)
        return super().index_of(key)


class SubmitView(View):
    """Jobs, costs and checks, the script of the job under the cursor, and the question."""

    MODE = "submit"
    BINDINGS = bindings_for("submit")
    AUTO_FOCUS: ClassVar[str | None] = "#planned"

    def body(self) -> ComposeResult:
        """From what would be sent, through its script, down to the question."""
        with Horizontal(id="upper"):
            yield VirtualTable(name="planned")
            yield LaidOut(name="checks")
        yield TextLines(coloured, name="script")
        with Vertical(id="confirm"):
            yield OneLine(name="short")
            yield OneLine(name="again")
            yield OneLine(name="error")
            yield OneLine(name="question")
            yield Static(id="after", markup=False)
            yield Input(id="yes", compact=True, disabled=True)

    def __init__(self) -> None:
        super().__init__()
        self._rows: Sequence[PlanRow] = ()
        self._rows_of: Plan | None = None
        self._source: PlanSource | None = None
        self._columns: tuple[Column, ...] = ()
        self._look_of: tuple[object, bool] | None = None
        self._text_of: tuple[PlanRow, str] | None = None
        self._look = ScriptLook()
        self._shown_key = ""
        self._after: list[Line] = []

    @property
    def _steps(self) -> SubmitSteps:
        return SubmitSteps(self.dashboard, self.session, self._look, self._show_script)

    def _lay_out_rows(self) -> None:
        """Rows and columns, made once for each plan: it may have thousands of jobs."""
        sending = self.session.sending
        plan = sending.plan if sending else None
        sent = sending is not None and sending.phase != "review"
        if plan is not self._rows_of:
            self._rows, self._rows_of = plan_rows(plan) if plan else (), plan
            self._source, self._look_of = None, None
            self._look.begin(plan.id if plan else "")
        if sending is not None and (sending.plan, sent) != self._look_of:
            self._columns = plan_columns(sending.plan.jobs, sent)
            self._look_of = (sending.plan, sent)
        if sending is not None and self._source is None:
            self._source = PlanSource(self._rows, sending.chosen, self._cells)

    def _cells(self, _: int, row: PlanRow) -> dict[str, Cell]:
        sending = self.session.sending
        return {} if sending is None else row_cells(row, sending)

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

    # Showing

    def show_body(self) -> None:
        """The plan and how far it is."""
        sending = self.session.sending
        table = self.query_one("#planned", VirtualTable)
        self._lay_out_rows()
        if sending is None or self._source is None:
            table.empty = line(("No plan yet. Mark groups in 2 Groups and press s.", "dim"))
            table.show_nothing()
            set_titles(table, "Jobs to submit")
        else:
            table.empty = line(("The plan has no jobs.", "dim"))
            sent = sending.phase != "review"
            table.show(self._source, self._columns)
            title = "Jobs of this plan" if sent else "Jobs to submit"
            set_titles(table, title, all_words(sending))
        self._show_job()
        self._show_question()

    def _show_job(self) -> None:
        self._show_checks()
        self._show_script()

    def _show_checks(self) -> None:
        sending, job = self.session.sending, self.job
        again = job.reasons[0] if job is not None and job.attempt > 1 and job.reasons else ""
        self.set_class(bool(again), "-again")
        self.query_one("#again", OneLine).show(line(" ", again))
        checks = self.query_one("#checks", LaidOut)
        set_titles(checks, "Cost and checks")
        if sending is None:
            checks.show_made(lambda _: (line(("Nothing has been submitted.", "dim")),))
            return
        hints = []
        if sending.phase == "review" and sending.wanted and may_gain(sending.plan):
            hints.append(line(("4 ", "key"), ("packs them on as few nodes as it takes", "dim")))
        said = cost_and_checks(sending, job, sending.copying, hints)
        checks.show_made(
            lambda width: tuple(
                line(" ") + part for one in said for part in wrapped(one, width - 2, indent_of(one))
            )
        )

    def _show_script(self) -> None:
        if not self.ready:
            return
        sending, row = self.session.sending, self.row
        script = self.query_one("#script", TextLines)
        if sending is None or row is None:
            why: list[Line] = []
            if sending is not None:  # there is room for what the plan leaves out
                width = script.scrollable_content_region.width - 2
                why = [part for one in left_out(sending.plan) for part in wrapped(one, width, 2)]
            script.show(tuple(f"# {plain(part)}" for part in why))
            set_titles(script, "Left out" if why else "Script")
            return
        scheduler = self._scheduler_of(row.jobs[0])
        if (asked := self._look.missing(row.jobs, scheduler)) is not None:
            self._steps.ask_before(asked)
        shown = self._look.shown(row.key, row.jobs, scheduler, self._script)
        if tuple(shown.lines) != tuple(script.lines):
            script.show(tuple(shown.lines))
            if row.key != self._shown_key:
                script.action_first()
        self._shown_key = row.key
        heading = row_heading(row, self._rows)
        set_titles(script, heading + (f" · {shown.about}" if shown.about else ""), shown.keys)

    def _scheduler_of(self, job: PlannedJob) -> str:
        """The kind of scheduler that a job goes to."""
        sending, known = self.session.sending, self.session.jobs
        name = job.destination.cluster
        if sending is not None and name == sending.plan.cluster:
            return sending.plan.scheduler
        kinds = {one.name: one.scheduler for one in (known.clusters if known else ())}
        return kinds.get(name, "slurm")

    def _script(self) -> str:
        """The script of the row. A bundle's is worked out once: it has those of all requests."""
        row = self.row
        if row is None:
            return ""
        if row.job is not None:
            return row.job.script
        if self._text_of is None or self._text_of[0] is not row:
            text = "\n".join(bundle_text(row, self._scheduler_of(row.jobs[0])))
            self._text_of = (row, text)
        return self._text_of[1]

    def _show_question(self) -> None:
        sending = self.session.sending
        short = self.query_one("#short", OneLine)
        question = self.query_one("#question", OneLine)
        error = self._what_is_wrong() if sending is not None else ()
        self.set_class(bool(error), "-error")
        self.query_one("#error", OneLine).show((*line(" "), *error))
        self._show_after()
        if sending is None:
            short.show(())
            question.show(line((" Nothing to confirm.", "dim")))
            set_titles(self.query_one("#confirm"), "Confirm")
            return
        copied = copied_in_short(sending.copying)
        short.show((*line(" "), *checks_in_short(sending), *copied))
        question.show((*line(" "), *self._question()))
        set_titles(
            self.query_one("#confirm"), "Confirm" if sending.phase == "review" else "Sending"
        )

    def _what_is_wrong(self) -> Line:
        """Before it is sent, why one more word is needed; then, the first thing that failed."""
        sending = self.session.sending
        assert sending is not None
        if sending.phase != "review":
            return first_error(sending)
        why = why_not(sending.checks, sending.chosen) if sending.chosen.requests else ""
        return line(("✗ ", "failed"), (why, "failed")) if why else ()

    def _show_after(self) -> None:
        """What there is to do about jobs that were not accepted, once it is over."""
        sending = self.session.sending
        over = sending is not None and sending.phase in ("done", "stopped", "broken")
        width = max(20, self.size.width - 4)
        lines = [
            line(" ") + part
            for one in (afterwards(sending) if sending is not None and over else ())
            for part in wrapped(one, width - 1, 2)
        ]
        self.set_class(bool(lines), "-after")
        if lines != self._after:
            self._after = lines
            self.query_one("#after", Static).update(as_content(lines))

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
            room = self.query_one("#question", OneLine).size.width - 1 - width_of(tail)
            return (*sending_line(sending, self.session.clock(), room), *tail)
        if self.session.read_only:
            return line(("READ ONLY: nothing can be submitted.", "warning"))
        if not sending.plan.jobs:
            return line(("There is nothing to send.", "dim"))
        if conflict := sending.copying.conflict:
            return line(("✗ ", "failed"), (conflict, "failed"))
        if not sending.chosen.requests:
            return line("Every job is switched off.  ", ("space", "key"), " switches one on.")
        what, where = chosen_words(sending), sending.chosen.where
        key, esc = ("s", "key"), ("Esc", "key")
        word = self._word
        if not self.query_one("#yes", Input).disabled:
            typed = line("Type ", (word, "key"), " and press ", ("Enter", "key"))
            return self._that_fits(
                (*typed, *line(f" to send {what} to {where}.  ", esc, " sends nothing.")),
                (*typed, *line(f" to send {what}.  ", esc, " sends nothing.")),
                (*typed, *line(f" to send {what}.")),
            )
        then = f", then type {word}, sends {what}"
        return self._that_fits(
            line("Nothing is sent yet.  ", key, f"{then} to {where}.  ", esc, " leaves."),
            line("Nothing is sent yet.  ", key, f"{then}.  ", esc, " leaves."),
            line("Nothing is sent yet.  ", key, f"{then}."),
        )

    @property
    def _word(self) -> str:
        """What has to be typed for the jobs that are on."""
        sending = self.session.sending
        assert sending is not None
        objection = bool(why_not(sending.checks, sending.chosen))
        return word_for(sending.chosen.units, objection=objection)

    def _that_fits(self, *forms: Line) -> Line:
        room = self.query_one("#question", OneLine).size.width - 1
        return next((form for form in forms if width_of(form) <= room), forms[-1])

    # Answers

    def on_virtual_table_cursor_moved(self) -> None:
        """The script of another job."""
        self._show_job()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Only the very word sends; anything else sends nothing."""
        event.stop()
        sending = self.session.sending
        typed = event.value
        self._close_question()
        if sending is None or sending.phase != "review" or not sending.chosen.requests:
            return
        if says_yes(self._word, typed):
            self.dashboard.verbs.send()
            return
        if typed.strip():
            text = f"{typed.strip()!r} is not {self._word!r}: nothing was sent."
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
        """From the question, or another pane, to the jobs; then to where the plan was made."""
        if not self.query_one("#yes", Input).disabled:
            self._close_question()
            return True
        if not self.query_one("#planned").has_focus:
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

    # Commands

    def command_confirm(self) -> None:
        """Ask the question."""
        answer = self.query_one("#yes", Input)
        answer.disabled = False
        answer.value = ""
        self.add_class("-asking")
        answer.focus()
        self._show_question()

    def command_toggle(self) -> None:
        """Leave the job, or all of the bundle, out; or take it in again."""
        sending, row = self.session.sending, self.row
        if sending is None or row is None:
            return
        along = sending.chosen.switch(job.token for job in row.jobs)
        if along:
            on = sending.chosen.is_on(row.jobs[0].token)
            text = "needed by it: on as well" if on else "depending on it: off as well"
            self.app.notify(f"{plural(along, 'job')} {text}", markup=False)
        self.query_one("#planned", VirtualTable).action_line_down()
        self.show()

    def command_toggle_all(self) -> None:
        """All jobs on, or off."""
        if self.session.sending is not None:
            self.session.sending.chosen.switch_all()
            self.show()

    def command_stop(self) -> None:
        """Send no more jobs."""
        if self.session.sending is not None:
            self.session.sending.phase = "stopping"
            self.show()

    def command_diff(self) -> None:
        """What differs from the script before, or all of it."""
        self._look.full = not self._look.full
        self._show_script()

    def command_fold(self) -> None:
        """Lines that are the same, or how many there are."""
        self._look.unfolded = not self._look.unfolded
        self._show_script()

    def command_next(self) -> None:
        """The script of the next job."""
        self.query_one("#planned", VirtualTable).action_line_down()

    def command_previous(self) -> None:
        """The script of the previous job."""
        self.query_one("#planned", VirtualTable).action_line_up()

    def command_explain(self) -> None:
        """Where the job goes, and why."""
        if self.row is not None:
            self._steps.explain(self.row.jobs[0])

    def command_open(self) -> None:
        """The script in the person's pager."""
        if self.row is not None:
            self._steps.open(self._script(), self.row.jobs[0].name)

    def command_export(self) -> None:
        """All scripts, to files."""
        if self.session.sending is not None:
            self._steps.export(self.session.sending)

    def command_pane(self) -> None:
        """The next pane."""
        panes = ("#planned", "#script", "#checks")
        shown = [pane for name in panes if (pane := self.query_one(name)).display]
        at = next((number for number, pane in enumerate(shown) if pane.has_focus), 0)
        shown[(at + 1) % len(shown)].focus()
