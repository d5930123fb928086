"""Reasons why a result cannot be recomputed now, or why it is unknown what a sample waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.tui.shell.reasons import may_change, with_network

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session


def may_redo(session: Session) -> str:
    """Return why the results cannot be recomputed, or "": a run is needed that no other process
    drives, and the marked jobs must be completed.
    """
    if reason := may_change(session) or with_network(session):
        return reason
    look = session.network
    if look.busy:
        return f"{look.busy} is under way"
    run = look.view.run if look.view else None
    if not look.frozen:
        return "this is network.toml as it is now: a shows the run"
    if run is None:
        return "there is no run yet: s starts one"
    if run.holder and not run.here:
        return f"the run is driven by {run.holder}"
    if look.marked and "completed" not in look.marked.values():
        return "no marked sample is completed: R is for what failed"
    return ""


def may_ask_what_it_waits_for(session: Session) -> str:
    """Return why the cursor is not on a sample that has a job, or ""."""
    if reason := with_network(session):
        return reason
    if not session.network.under_cursor:
        return "the cursor is not on a sample: Enter goes to the samples of a node"
    return ""
