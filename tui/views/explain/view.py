"""View 3: where the job of one group would go, the reasons for and against destinations;
what-if.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial, partialmethod
from typing import ClassVar, NamedTuple

from rowtui.core.base.text import plural
from rowtui.core.engine.api.snapshot import ProjectSnapshot
from rowtui.core.mapping.model.decision import Decision
from rowtui.core.mapping.model.request import WhatIf
from rowtui.core.project.views.views import PlacementExplanation, WhatIfRequest
from rowtui.tui.commands.registry import BY_ID, bindings_for
from rowtui.tui.shell.session import Filter
from rowtui.tui.shell.work import NewestAnswer, start
from rowtui.tui.views.explain.choice import DestinationChoice
from rowtui.tui.views.explain.explain import job_lines, who
from rowtui.tui.views.explain.explain_text import explanation_text
from rowtui.tui.views.explain.pages import (
    copy_json,
    forget_if_changed,
    show_lines,
    show_sources,
    take_back,
    write_what_if,
)
from rowtui.tui.views.explain.what_if import (
    LABELS,
    TypedWhatIf,
    WhatIfForm,
    banner,
    known_names,
    read_form,
    with_change,
)
from rowtui.tui.views.view import ScreenView
from rowtui.tui.widgets.cells import line
from rowtui.tui.widgets.chrome import OneLine, Panel, set_titles
from textual import events
from textual.app import ComposeResult
from textual.timer import Timer

SETTLE_SECONDS = 0.07
"""Seconds after a key in the form, before the engine is asked: the pause of a fast typist."""


class ExplainQuestion(NamedTuple):
    """The job, and the what-if for it. `group` counts from 0."""

    action: int
    filter: Filter
    group: int
    what_if: WhatIfRequest | None


class ExplainView(ScreenView):
    """A view of one group's decision; one request runs at a time, and the newest answer counts."""

    MODE = "explain"
    PRESSED = "explain.sources"
    BINDINGS = bindings_for("explain")
    AUTO_FOCUS: ClassVar[str | None] = "#destinations"

    def __init__(self) -> None:
        super().__init__()
        # Action, filter and group of the request.
        self._about: tuple[int, Filter, int] | None = None
        self._snapshot: ProjectSnapshot | None = None
        # The decision about the same group without any what-if.
        self._plain: Decision | None = None
        # Tags and roles in their original form, not in their visible form.
        self._names: set[str] = set()
        self._error = ""
        self._first = ""
        self._begins = False
        self._answers: NewestAnswer[ExplainQuestion, PlacementExplanation] = NewestAnswer(
            self._fetch,
            spawn=lambda work: start(self, work, "explain"),
            arrived=self._take,
            failed=self._failed,
        )
        self._settle: Timer | None = None
        self._tried: WhatIf | None = None  # The change that was tried last.
        self._opened = 0  # How often the form was opened.
        self._tried_texts: dict[str, str] = {}  # The texts of the what-if.

    def body(self) -> ComposeResult:
        """Compose the job above, the what-if form, and below destinations beside reasons."""
        yield Panel("Job", name="about")
        yield OneLine(name="banner")
        yield WhatIfForm(id="what-if")
        yield DestinationChoice(self.session)

    @property
    def choice(self) -> DestinationChoice:
        """The destinations, and the reasons beside them."""
        return self.query_one(DestinationChoice)

    @property
    def form(self) -> WhatIfForm:
        """The what-if form."""
        return self.query_one("#what-if", WhatIfForm)

    # Requests

    def show_body(self) -> None:
        """Show the last answer; send a request if that answer is about another job."""
        session = self.session
        action = session.action
        if action is None or session.snapshot is None:
            self._about, session.explanation = None, None
        else:
            about = (action.index, session.filter, session.group)
            if about != self._about:
                self._open(about)
            elif self._snapshot is not session.snapshot:
                self._ask()
                self._look_at_written()
            self._snapshot = session.snapshot
        self._show_explanation()

    def _open(self, about: tuple[int, Filter, int]) -> None:
        """Open another job. The answer about another group stays on screen until the new one."""
        before, self._about = self._about, about
        if before is None or before[:2] != about[:2]:
            self.session.explanation = None
            if self.session.what_if is not None:
                self._wonder({})  # The amounts belong to another action.
        self._plain = None
        self._begins = True
        self._error = ""
        self._names = set()
        self._ask()

    def _ask(self) -> None:
        if self._about is not None:
            self._answers.ask(ExplainQuestion(*self._about, self.session.what_if))

    async def _fetch(self, asked: ExplainQuestion) -> PlacementExplanation:
        return await self.session.engine.mapping.explain(
            asked.action, asked.filter.statuses, asked.group, asked.what_if
        )

    def _failed(self, error: Exception) -> None:
        self.dashboard.report("the job cannot be explained", error)
        self._error = "The job cannot be explained now; r asks again."
        if self.ready:
            self._show_explanation()

    def _take(self, asked: ExplainQuestion, found: PlacementExplanation) -> None:
        session = self.session
        if found.groups and asked.group >= found.groups:  # The number of groups has become smaller.
            session.choose_group(found.groups - 1)
            self._open((asked.action, asked.filter, session.group))
            return
        if not self._begins and self._first != found.first and found.first:
            text = f"The groups changed: group {found.group} now begins with {found.first}."
            session.note("project", text, "warning")
        session.explanation, self._error, self._first = found, "", found.first
        if found.decision is not None:
            self._names |= known_names(found.decision)
            if asked.what_if is None:
                self._plain = found.decision
        begins, self._begins = self._begins, False
        if self.ready:
            self._show_explanation(begins)
            self.show_bottom()

    # Display

    def _show_explanation(self, begins: bool = False) -> None:
        """Show the last answer. `begins`: its group was not on the screen before."""
        session = self.session
        found = session.explanation
        decision = found.decision if found else None
        self.choice.show(found, self._why_empty(found), begins=begins)
        self._show_job(found)
        self._show_what_if(decision)

    def _why_empty(self, found: PlacementExplanation | None) -> str:
        if found is None:
            return self._error or ("Asking…" if self._about else "There is no action yet.")
        if found.decision is None and found.groups:
            return "There is no decision for this job."
        if found.decision is None:
            word = self.session.filter.word
            text = f"No directory is {word}; f shows others. Why a job waits: 6, then w."
            return "No groups." if word == "all" else text
        return "A rule stopped the job before destinations were compared."

    def _show_job(self, found: PlacementExplanation | None) -> None:
        panel = self.query_one("#about", Panel)
        session = self.session
        action = session.action
        name = action.name if action else "no action"
        # The last answer may still be about the previous job.
        if found is not None and session.snapshot is not None:
            names = {one.index: one.name for one in session.snapshot.actions}
            name = names.get(found.action_index, name)
        if found is None:
            panel.show([line((self._why_empty(None), "dim"))])
            set_titles(panel, name)
            return
        panel.show(job_lines(found, panel.size.width), stale=self.session.stale)
        title = f"Group {found.group:,} of {found.groups:,} of {name}" if found.groups else name
        status = f", {self.session.filter.word}" if self.session.filter.statuses else ""
        set_titles(panel, f"{title}{status}", who(found.decision))

    def _show_what_if(self, decision: Decision | None) -> None:
        what_if = self.session.what_if
        self.set_class(what_if is not None, "-wondering")
        if what_if is not None:
            self.query_one("#banner", OneLine).show(banner(what_if, self._plain))
        self.form.show_job(self._plain or decision)
        wrong = self._typed.wrong
        key = BY_ID["explain.write"].keys_of(self.session.keys) or ":explain.write"
        below = f"Enter done · Esc close · an empty field changes nothing · {key} writes it"
        if wrong:
            below = f"▲ {LABELS[wrong[0][0]]}: {wrong[0][1]}"
        set_titles(self.form, "What if", below)

    # Events

    def show_header(self) -> None:
        """Update the ages, which change with time."""
        super().show_header()
        if self.ready:
            self.choice.show_ages()

    def on_virtual_table_cursor_moved(self) -> None:
        """Update the keys: each destination has its own changes."""
        self.show_bottom()

    def on_fields_changed(self) -> None:
        """Send a request after a pause in typing."""
        if self._settle is not None:
            self._settle.stop()
        self._settle = self.set_timer(SETTLE_SECONDS, partial(self._wonder_as_typed, self._opened))

    def on_fields_done(self) -> None:
        """Go to the list of destinations."""
        self.choice.table.focus()

    def on_key(self, event: events.Key) -> None:
        """Close the form with Escape; the what-if stays."""
        if event.key == "escape" and self.form.inside:
            event.stop()
            event.prevent_default()
            self.back()

    @property
    def _typed(self) -> TypedWhatIf:
        return read_form(self.form.texts, self._names)

    def _wonder_as_typed(self, opened: int = 0) -> None:
        """Try what the form has; all that is typed after one opening of the form is one step."""
        if not self.ready:
            return
        asked = self._typed.asked
        if asked != self.session.what_if:
            of = (self.form, opened) if opened else None
            text = "what-if" if asked is not None else "no what-if"
            self.session.can_undo(self.MODE, text, partial(self._wonder, self._tried_texts), of=of)
            self._tried_texts = dict(self.form.texts)
            self.session.what_if = asked
            self._ask()
        self._show_what_if(self.session.explanation.decision if self.session.explanation else None)
        self.show_bottom()

    def _wonder(self, texts: dict[str, str]) -> None:
        """Set the what-if to these texts of the form."""
        if self._settle is not None:
            self._settle.stop()
        self.form.fill(texts)
        self._wonder_as_typed()

    def show_packed(self) -> None:
        """Pack the jobs of this action."""
        self.pack_action()

    # Commands

    def copyable(self) -> str:
        """The explanation as text."""
        found, action = self.session.explanation, self.session.action
        if found is None:
            return ""
        return explanation_text(found, self.choice.rows, action.name if action else "")

    def back(self) -> bool:
        """Go back from the form, or from the reasons to the destinations."""
        if self.has_class("-form"):
            self.remove_class("-form")
            self.choice.table.focus()
            return True
        return self.choice.back()

    def command_what_if(self) -> None:
        """Open the form."""
        self._opened += 1
        self.add_class("-form")
        self.call_after_refresh(self.form.enter)

    def command_reset(self) -> None:
        """Remove the what-if."""
        self._wonder({})

    def command_measured(self) -> None:
        """Try what the measured jobs of the action need."""
        found = self.session.explanation
        if found is not None and found.measured is not None:
            self._wonder(with_change(self.form.texts, found.measured))
            jobs = plural(found.measured_jobs, "measured job")
            self.session.note("you", f"tried what is recommended from {jobs}")

    def command_change(self) -> None:
        """Try the next change that admits the job to the destination under the cursor."""
        refusal = self.session.refusal
        if refusal is not None and refusal.changes:
            changes = [one.what_if for one in refusal.changes]
            at = (changes.index(self._tried) + 1) % len(changes) if self._tried in changes else 0
            self._tried = changes[at]
            self._wonder(with_change(self.form.texts, self._tried))

    def _step(self, step: int) -> None:
        found = self.session.explanation
        if found is not None and found.groups:
            self.session.choose_group((self.session.group + step) % found.groups)
            self.show()

    command_next_group = partialmethod(_step, 1)
    command_previous_group = partialmethod(_step, -1)

    def command_fold(self) -> None:
        """Hide the destinations that refuse the job, or show them again."""
        self.choice.fold()

    def command_sources(self) -> None:
        """Show the sources of the decision; on a change that would admit the job, try it."""
        if self.form.inside:
            return
        if (change := self.choice.change) is not None:
            self._wonder(with_change(self.form.texts, change.what_if))
        elif self.session.explanation is not None:
            show_sources(self, self.choice.row)

    def command_write(self) -> None:
        """Write the what-if to workflow.toml, after a review of the changes."""
        write_what_if(self, self._plain, self._became_so)

    def command_undo_write(self) -> None:
        """Undo the last write, after a review of the changes."""
        take_back(self)

    def _look_at_written(self) -> None:
        if self.session.written:
            forget_if_changed(self)

    def _became_so(self, fields: Collection[str]) -> None:
        """Remove these fields from the what-if, because they are now in workflow.toml."""
        texts = self.form.texts
        self._wonder({name: text for name, text in texts.items() if name not in fields})
        # The assignment is necessary if another view is on the screen now.
        self.session.what_if = self._typed.asked

    def command_lines(self) -> None:
        """Show the lines that make the what-if permanent."""
        show_lines(self, self._plain)

    def command_json(self) -> None:
        """Copy the decision as JSON."""
        copy_json(self)

    def _step_filter(self, step: int) -> None:
        self.session.next_filter(self.MODE, step)
        self.show()

    command_filter = partialmethod(_step_filter, 1)
    command_filter_before = partialmethod(_step_filter, -1)

    def command_page(self) -> None:
        """Show the other page on the right, and move the focus to it."""
        self.choice.turn_page()

    def command_pane(self) -> None:
        """Move between the destinations and the page on the right; in the form, between fields."""
        if self.form.inside:
            self.form.next_field()
        else:
            self.choice.other_pane()
