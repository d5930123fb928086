"""A demo on the screen: its clock, its faults, and the first steps.

The first steps show a new user which keys to press next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.tui.shell.work import start
from rowtui.tui.views.status.needs import complete
from rowtui.tui.widgets.cells import Line, line

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session
    from rowtui.tui.shell.terminal_app import ProjectApp


TOUR = (
    ("groups", "2", "the next jobs: groups of directories"),
    ("explain", "3", "why a job goes where it goes"),
    ("pack", "4", "on how few nodes the jobs fit"),
    ("queue", "6", "watch your jobs"),
    ("log", "7", "what a job writes"),
    ("past", "9", "what ran when, and what it used"),
    ("clusters", "C", "the clusters, and their logins"),
)
"""The views through which the first steps lead: name, key, and what it shows."""


def control_played(app: ProjectApp, word: str, argument: str = "") -> None:
    """Change the clock of a demo, or cause a fault in the demo."""
    played = app.session.played
    if played is None:
        return

    async def control() -> None:
        try:
            found = (await played.control(word, argument)).said
        except (RowtuiError, OSError) as error:
            found = str(error)
        app.notify(visible(found), timeout=3, markup=False)
        app.show_again("played")

    start(app, control, "played")


def first_step(session: Session, view: str, *, marked: bool = False) -> Line:
    """Return the keys that lead to a submission, and to the steps after one.

    `marked`: whether any row of the view is marked.
    """
    sending, played = session.sending, session.played
    sent = sending is not None and sending.phase in ("done", "stopped", "broken")
    nothing_to_mark = session.action is not None and not session.action.eligible
    if sending is not None and sending.running:
        steps = [("", "The jobs are being sent: wait, or"), ("x", "stop after this one")]
    elif sent and view == "submit":
        steps = [("6", "watch your jobs in the queue"), ("1", "back to the actions")]
    elif view == "status" and session.snapshot is not None and complete(session.snapshot):
        steps = [("Tab", "what can be done next"), *_onward(session)]
    elif session.has_submitted and view == "status":
        steps = [*_onward(session), *_where_something_is(session)[:1]]
    elif view == "network":
        steps = _in_the_network(session)
    elif view == "status" and played is not None and played.state.about == "network":
        steps = [("8", "how samples flow through the actions of this study")]
    elif view == "status":
        steps = [("↑ ↓", "choose an action"), ("Enter", "see its eligible groups")]
        if nothing_to_mark:
            steps = _where_something_is(session)
    elif view == "groups" and nothing_to_mark:
        steps = [("1", "back: nothing of this action is eligible now")]
    elif view == "groups" and not marked:
        steps = [("space", "mark a group: it is one job"), ("w", "why it goes where it goes")]
    elif view == "groups":
        steps = [("s", "submit the marked groups; a dialog asks first")]
    elif view == "submit" and sending is not None and not sending.plan.jobs:
        steps = [("1", "back: there is nothing to send")]
    elif view == "submit" and (sending is not None or session.planning):
        steps = [("↓", "read the scripts"), ("s", "send the jobs; a dialog asks first")]
    elif view == "submit" and not nothing_to_mark:
        steps = [("2", "choose groups first")]
    elif view == "queue" and "log" not in session.seen:
        steps = [("Enter", "the log of a job")]
        # In this case the clock is not the real one.
        if played is not None and played.state.faults:
            steps.append(("> <", "the clock of the demo"))
    else:
        steps = _onward(session)
    spans: list[str | tuple[str, str]] = [(" Next: ", "title")]
    for key, text in steps:
        spans += [(key, "key"), (f" {text}   " if key else f"{text} ", "")]
    return line(*spans, ("I hide", "dim"))


def _in_the_network(session: Session) -> list[tuple[str, str]]:
    """Return the steps to a run, and to its jobs."""
    view = session.network.view
    if view is None:
        return _onward(session) if session.network.known else [("", "the network is read")]
    status = "new" if view.run is None else view.run.status.value
    if status in ("new", "stopped", "paused"):
        return [("S", "let it run by itself; it asks for limits first")]
    if status == "running":
        return [("h l", "from node to node"), ("Enter", "the samples of one")]
    return [("l", "to a result, such as slopes"), *_onward(session)]


def _onward(session: Session) -> list[tuple[str, str]]:
    """Return the step to a view that the user has not seen yet; after the last one, the end."""
    for view, key, text in TOUR:
        if view not in session.seen:
            return [(key, text)]
    return [("", "You have seen every view."), ("q", "leave; then try `rowtui init` in a folder")]


def _where_something_is(session: Session) -> list[tuple[str, str]]:
    """Return the steps to an action that has eligible groups."""
    for action in session.snapshot.actions if session.snapshot is not None else ():
        if action.eligible:
            if action == session.action:
                return [("Enter", "see more eligible groups")]
            return [("↑ ↓", f"go to {visible(action.name)}, of which something is eligible")]
    return [("", "Nothing is eligible until more jobs have ended."), ("6", "watch them")]
