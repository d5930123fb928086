"""The commands of the view Submit, each with the reason why it cannot be used now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.tui.commands.command import Command

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session


NO_PLAN = "there is no plan: mark groups in 2 and press s"


def with_plan(session: Session) -> str:
    """Return why there is no plan with jobs, or ""."""
    if session.sending is None:
        return NO_PLAN
    return "" if session.sending.plan.jobs else "the plan has no jobs"


def may_write_plan(session: Session) -> str:
    """Return why no plan can be written to files, or ""."""
    if session.read_only:
        return "the project was opened read-only"
    return with_plan(session)


def may_switch(session: Session) -> str:
    """Return why the plan's jobs cannot be switched on and off, or ""."""
    if reason := with_plan(session):
        return reason
    assert session.sending is not None
    return "" if session.sending.phase == "review" else "this plan was already confirmed"


def may_confirm(session: Session) -> str:
    """Return why no plan waits for a confirmation, or ""."""
    if session.read_only:
        return "the project was opened read-only"
    if reason := may_switch(session):
        return reason
    assert session.sending is not None
    if conflict := session.sending.copying.conflict:
        return conflict
    return "" if session.sending.chosen.requests else "every job is switched off"


def may_stop(session: Session) -> str:
    """Return why no submission can be stopped, or "" while a plan is being sent."""
    if session.sending and session.sending.phase == "sending":
        return ""
    if session.sending and session.sending.phase == "stopping":
        return "it stops after this job"
    return "nothing is being sent"


SUBMIT: tuple[Command, ...] = (
    Command("submit.confirm", "s", "send…", "send the jobs that are on", "submit", asks=True,
            enabled=may_confirm, twin="submit"),
    Command("submit.toggle", "space", "on/off", "leave this job out, or take it in again", "submit",
            enabled=may_switch),
    Command("submit.toggle-all", "a", "all", "all jobs that are shown on, or off", "submit",
            enabled=may_switch),
    Command("submit.stop", "x", "stop", "send no more jobs after the current one", "submit",
            enabled=may_stop),
    Command("submit.diff", "equals_sign", "compare", "changes since the last script, or all of it",
            "submit", enabled=with_plan, twin="plan --diff"),
    Command("submit.fold", "z", "fold", "show or hide lines that are unchanged", "submit",
            enabled=with_plan),
    Command("submit.next", "right_square_bracket", "next script", "script of the next job",
            "submit"),
    Command("submit.previous", "left_square_bracket", "previous script",
            "script of the previous job", "submit"),
    Command("submit.next-find", "n", "next ▲", "the next job with a warning, or not accepted",
            "submit", enabled=with_plan),
    Command("submit.previous-find", "N", "▲ before", "such a job before this one", "submit",
            enabled=with_plan),
    Command("submit.explain", "w", "why", "where this job goes, and why, in Explain", "submit",
            enabled=with_plan, twin="explain"),
    Command("submit.open", "O", "pager", "this script in your pager, to read it", "submit",
            enabled=with_plan),
    Command("submit.export", "E", "to files…", "write all scripts and plan.json to a folder",
            "submit", asks=True, enabled=may_write_plan),
    Command("submit.pane", "tab", "pane", "between jobs, script and checks", "submit"),
)  # fmt: skip
"""The commands of the view Submit."""
