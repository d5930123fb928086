"""The frame below the jobs: the question before a plan is sent, and the progress afterwards.

Only the exact word sends the plan; any other text, and Escape, means no.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from rowtui.tui.shell.session import Session
from rowtui.tui.views.dialogs import too_soon
from rowtui.tui.views.submit.copies import copied_in_short
from rowtui.tui.views.submit.plan import Sending, checks_in_short, chosen_words
from rowtui.tui.views.submit.plan_checks import says_yes, why_not, word_for
from rowtui.tui.views.submit.plan_sending import afterwards, first_error, sending_line
from rowtui.tui.widgets.cells import Line, as_content, line, width_of, wrapped
from rowtui.tui.widgets.chrome import OneLine, set_titles
from rowtui.tui.widgets.fields import InputField
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, Static

_AFTER = {
    "sending": ("   x ", "stops"),
    "done": ("   6 ", "watches them in the queue", "watches them"),
    "stopped": ("   6 ", "watches them in the queue", "watches them"),
}


class SubmitQuestion(Vertical):
    """The question. `send` is called after the exact word, `left` after every answer."""

    def __init__(
        self, session: Session, send: Callable[[], None], left: Callable[[], None]
    ) -> None:
        super().__init__(id="confirm")
        self._session = session
        self._send = send
        self._left = left
        self._told: dict[str, list[Line]] = {}
        self._opened = 0.0  # When the field for the answer was opened.

    def compose(self) -> ComposeResult:
        """Compose summary, error, question, and the field for the answer."""
        yield OneLine(name="short")
        yield Static(id="again", markup=False)
        yield Static(id="error", markup=False)
        yield OneLine(name="question")
        yield Static(id="after", markup=False)
        yield InputField(
            id="yes", keys=(("Enter", "answer"), ("Esc", "send nothing")), disabled=True
        )

    @property
    def _answer(self) -> Input:
        return self.query_one("#yes", Input)

    @property
    def asking(self) -> bool:
        """Whether the field for the answer is open."""
        return not self._answer.disabled

    # Display

    def show(self, again: str = "", hidden: str = "", became: Line = ()) -> None:
        """Show everything. `again` is why the job under the cursor is retried; `became` is its
        outcome; `hidden` describes the jobs that a filter hides, which are sent as well.
        """
        sending = self._session.sending
        self._tell("again", [line(again)] if again else [])
        error = self._what_is_wrong(became) if sending is not None else ()
        self._tell("error", [error] if error else [])
        over = sending is not None and sending.phase in ("done", "stopped", "broken")
        self._tell("after", afterwards(sending) if sending is not None and over else [])
        short, question = self.query_one("#short", OneLine), self.query_one("#question", OneLine)
        if sending is None:
            short.show(())
            question.show(line((" Nothing to confirm.", "dim")))
            set_titles(self, "Confirm")
            return
        copied = copied_in_short(sending.copying)
        short.show((*line(" "), *checks_in_short(sending), *copied))
        question.show((*line(" "), *self._question(sending)))
        title = "Confirm" if sending.phase == "review" else "Sending"
        set_titles(self, f"{title} · {hidden}" if hidden else title)

    def _what_is_wrong(self, became: Line) -> Line:
        """Return the error.

        Before the plan is sent, this is why one more word is necessary; later, why the job under
        the cursor was not accepted, or the first error.
        """
        sending = self._session.sending
        assert sending is not None
        if sending.phase != "review":
            return became or first_error(sending)
        why = why_not(sending.checks, sending.chosen) if sending.chosen.requests else ""
        return line(("✗ ", "failed"), (why, "failed")) if why else ()

    def _tell(self, name: str, told: list[Line]) -> None:
        """Show these sentences in full, in as many lines as necessary."""
        width = max(20, self.screen.size.width - 4)
        lines = [line(" ") + part for one in told for part in wrapped(one, width - 1, 2)]
        self.set_class(bool(lines), f"-{name}")
        if lines != self._told.get(name):
            self._told[name] = lines
            self.query_one(f"#{name}", Static).update(as_content(lines))

    def _how_far(self, sending: Sending) -> Line:
        width = self.query_one("#question", OneLine).size.width - 1
        parts: Line = ()
        after, *forms = _AFTER.get(sending.phase, ("", ""))
        for words in forms:
            tail = line((after, "key"), words)
            room = width - width_of(tail)
            parts = (*sending_line(sending, self._session.clock(), room), *tail)
            if width_of(parts) <= width:
                break
        return parts

    def _question(self, sending: Sending) -> Line:
        if sending.phase != "review":
            return self._how_far(sending)
        if self._session.read_only:
            return line(("READ ONLY: nothing can be submitted.", "warning"))
        if not sending.plan.jobs:
            return line(("There is nothing to send.", "dim"))
        if conflict := sending.copying.conflict:
            return line(("✗ ", "failed"), (conflict, "failed"))
        if not sending.chosen.requests:
            return line("Every job is switched off.  ", ("space", "key"), " switches one on.")
        what, where = chosen_words(sending), sending.chosen.where
        key, esc = ("s", "key"), ("Esc", "key")
        word = _word(sending)
        if self.asking:
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

    def _that_fits(self, *forms: Line) -> Line:
        room = self.query_one("#question", OneLine).size.width - 1
        return next((form for form in forms if width_of(form) <= room), forms[-1])

    # The answer

    def ask(self) -> None:
        """Open the field for the answer."""
        self._opened = monotonic()
        self._answer.disabled = False
        self._answer.value = ""
        self.add_class("-asking")
        self._answer.focus()

    def close(self) -> None:
        """Close the field for the answer."""
        self._answer.value = ""
        self._answer.disabled = True
        self.remove_class("-asking")
        self._left()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Send the plan only for the exact word; without a text the question stays."""
        event.stop()
        sending = self._session.sending
        typed = event.value
        if not typed.strip():
            return
        self.close()
        if sending is None or sending.phase != "review" or not sending.chosen.requests:
            return
        self._answer_with(sending, typed)

    def answer_late(self) -> None:
        """Use the answer that was typed before the budgets were known."""
        sending = self._session.sending
        if sending is None or sending.awaits_budgets or not (typed := sending.unsent_yes):
            return
        sending.unsent_yes = ""
        if sending.phase == "review" and sending.chosen.requests:
            self._answer_with(sending, typed)

    def _answer_with(self, sending: Sending, typed: str) -> None:
        if sending.awaits_budgets:
            sending.unsent_yes = typed
            text = "It is looked up what the budgets have left; then the answer counts."
            self.app.notify(text, markup=False)
            return
        word = _word(sending)
        if says_yes(word, typed):
            self._send()
            return
        text = f"{typed.strip()!r} is not {word!r}: nothing was sent."
        self.app.notify(text, severity="warning", markup=False)

    def on_key(self, event: events.Key) -> None:
        """Answer no with Escape; drop an Enter that follows too closely to be an answer."""
        if event.key == "enter" and self.asking and too_soon(event, self._opened):
            event.stop()
            event.prevent_default()
        if event.key == "escape" and self.asking:
            event.stop()
            event.prevent_default()
            self.close()
            self.app.notify("Nothing was sent.", markup=False)


def _word(sending: Sending) -> str:
    """Return the text to type for the jobs that are on."""
    objection = bool(why_not(sending.checks, sending.chosen))
    return word_for(sending.chosen.requests, objection=objection)
