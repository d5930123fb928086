"""The pane below the jobs (next steps, progress, result), and the confirmation of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.core.base.text import Cost, plural
from rowtui.tui.views.questions import Question, word_for
from rowtui.tui.views.submit.copies import copied_in_short
from rowtui.tui.views.submit.plan import Sending, checks_in_short, chosen_words, not_accepted
from rowtui.tui.views.submit.plan_checks import why_not
from rowtui.tui.views.submit.plan_sending import afterwards, first_error, sending_line
from rowtui.tui.widgets.cells import Line, line, width_of, wrapped
from rowtui.tui.widgets.short_text import short_cost

if TYPE_CHECKING:
    from rowtui.core.submission.plan.model import PlannedJob
    from rowtui.tui.shell.session import Session

_KEYS = {
    "sending": ("   x ", "stops"),
    "done": ("   6 ", "watches them in the queue", "watches them"),
    "stopped": ("   6 ", "watches them in the queue", "watches them"),
}


def next_lines(
    session: Session, job: PlannedJob | None, hidden: int, width: int, *, short: bool
) -> list[Line]:
    """Return what comes next, or how far the submission is.

    `job`: the job under the cursor; `hidden`: the number of jobs that a filter hides, and that are
    sent too; `short`: cost and checks have no pane of their own.
    """
    sending = session.sending
    if sending is None:
        return [line(("Nothing waits for a confirmation.", "dim"))]
    lines = []
    if short and sending.phase == "review":
        lines.append((*checks_in_short(sending), *copied_in_short(sending.copying)))
    if sending.phase == "review":
        found = _next_steps(session, sending, job, hidden)
    else:
        wrong = (not_accepted(job, sending) if job else ()) or first_error(sending)
        over = sending.phase in ("done", "stopped", "broken")
        found = [_progress(session, sending, width), *([wrong] if wrong else [])]
        found += afterwards(sending) if over else []
    return [*lines, *(part for one in found for part in wrapped(one, width, 2))]


def _progress(session: Session, sending: Sending, width: int) -> Line:
    parts: Line = ()
    after, *forms = _KEYS.get(sending.phase, ("", ""))
    for words in forms:
        tail = line((after, "key"), words)
        parts = (*sending_line(sending, session.clock(), width - width_of(tail)), *tail)
        if width_of(parts) <= width:
            break
    return parts


def _next_steps(
    session: Session, sending: Sending, job: PlannedJob | None, hidden: int
) -> list[Line]:
    chosen = sending.chosen
    if session.read_only:
        return [line(("READ ONLY: nothing can be submitted.", "warning"))]
    if not sending.plan.jobs:
        return [line(("There is nothing to send.", "dim"))]
    if conflict := sending.copying.conflict:
        return [line(("✗ ", "failed"), (conflict, "failed"))]
    if not chosen.requests:
        return [line("Every job is switched off.  ", ("Space", "key"), " switches one on.")]
    lines = []
    if why := why_not(sending.checks, chosen):
        lines.append(line(("✗ ", "failed"), (why, "failed")))
    if hidden:
        lines.append(line(("▲ ", "warning"), _hidden(hidden)))
    if job is not None and job.attempt > 1 and job.reasons:
        lines.append(line(("· ", "dim"), job.reasons[0]))
    word = word_of(sending)
    asks = f"“{word}”" if why or chosen.requests == 1 else f"the number of jobs ({word})"
    them = "it" if chosen.requests == 1 else "them"
    lines.append(line(
        "Nothing is sent yet. ", ("s", "key"), f" asks for {asks} and sends {them}. ",
        ("Esc", "key"), " drops the plan.",
    ))  # fmt: skip
    return lines


def _hidden(many: int) -> str:
    are = "is" if many == 1 else "are"
    return f"{plural(many, 'job')} {are} hidden by the filter, and {are} sent too"


def word_of(sending: Sending) -> str:
    """Return the text to type for the jobs that are on."""
    return word_for(sending.chosen.requests, anyway=bool(why_not(sending.checks, sending.chosen)))


def send_question(sending: Sending, hidden: int) -> Question:
    """Return the question before the jobs that are on are sent: one row for each action."""
    chosen, plan = sending.chosen, sending.plan
    rows: dict[str, tuple[int, int, Cost]] = {}
    for job in plan.jobs:
        if chosen.is_on(job.token):
            jobs, directories, cost = rows.get(job.action, (0, 0, Cost()))
            rows[job.action] = jobs + 1, directories + len(job.directories), cost.plus(job.cost)
    sums = (chosen.requests, chosen.directories, chosen.cost)
    table = [
        (name, f"{jobs:,}", f"{directories:,}", short_cost(cost))
        for name, (jobs, directories, cost) in (*rows.items(), ("all", sums))
    ]
    happens = [f"{_hidden(hidden)}."] if hidden else []
    happens.append("The jobs are sent one after the other; x stops after the current one.")
    return Question(
        f"Send {chosen_words(sending)} to {chosen.where}?",
        happens,
        word_of(sending),
        [("Action", "Jobs", "Directories", "At most"), *table],
        wrong=why_not(sending.checks, chosen),
        to=f"send {'it' if chosen.requests == 1 else 'them'}",
        otherwise="sends nothing",
        undo="In 6, c cancels jobs that were sent.",
    )
