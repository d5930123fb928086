"""Reasons why a command of the Submit view cannot be used now: "" if it can."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
