"""Reasons why a command of the queue cannot be used now, "" if it can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.tui.shell.reasons import may_change, with_network, with_packing

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session


# Reasons why a command of the Submit view cannot be used now: "" if it can.


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


# Reasons why a result cannot be recomputed now, or why it is unknown what a sample waits for.


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


# The reason why packers cannot be compared now.


def may_compare(session: Session) -> str:
    """Return why packers cannot be compared, or "": a packing and several packers are needed."""
    if reason := with_packing(session):
        return reason
    packing = session.packing
    if packing.comparing:
        return "they are being compared"
    many = len(packing.shown.packed.packers) if packing.shown else 0
    return "" if many > 1 else "there is no other packer"


# Reasons why a command on the cluster under the cursor cannot be used now: "" if it can.


def with_cluster(session: Session) -> str:
    """Return why there is no cluster to show, or ""."""
    return "" if session.clusters.chosen else "no cluster is known yet"


def may_log_in(session: Session) -> str:
    """Return why the cluster under the cursor does not wait for a login, or "" if a login is
    possible.
    """
    if reason := with_cluster(session):
        return reason
    cluster = session.clusters.chosen
    assert cluster is not None
    if cluster.away:
        return f"{cluster.name} cannot be reached from here"
    if cluster.connected is None:
        return f"{cluster.name} is here: nobody has to log in"
    return f"{cluster.name} is connected" if cluster.connected else ""


def may_ask_nodes(session: Session) -> str:
    """Return why the cluster under the cursor cannot be queried for its nodes, or ""."""
    if reason := with_cluster(session):
        return reason
    cluster = session.clusters.chosen
    assert cluster is not None
    if cluster.away:
        return f"{cluster.name} cannot be reached from here"
    if cluster.connected is False:
        return f"{cluster.name} is not connected: L logs in"
    if cluster.name in session.clusters.asking:
        return f"{cluster.name} is being asked"
    return ""


# Reasons why a command of a demo or a recording cannot be used now; "" if it can.


def when_played(session: Session) -> str:
    """Return why the clock cannot be changed, or "" in a demo or a recording."""
    return "" if session.played else "this is the real world: its clock runs as it does"


def when_real(session: Session) -> str:
    """Return why the command line cannot act on the project of the dashboard, or ""."""
    return "not in a demo or a recording" if session.played else ""


def when_demo(session: Session) -> str:
    """Return why there are no first steps to show, or ""."""
    played = session.played
    return "" if played and played.stranger else "only a demo has first steps"


def with_row(session: Session) -> str:
    """Return why the cursor is not on a job, or ""; the job may belong to any user."""
    return "" if session.queue_row else "there is no job under the cursor"


def with_fold(session: Session) -> str:
    """Return why the cursor is not on an array or a bundle (or on a job of an unfolded
    one), or "".
    """
    row = session.queue_row
    if row is None:
        return with_row(session)
    return "" if row.key.folded or row.inside else "it is no array or bundle of three jobs or more"


def with_clusters(session: Session) -> str:
    """Return why there is no other cluster to choose, or ""."""
    many = session.jobs is not None and len(session.jobs.clusters) > 1
    return "" if many else "there is only one cluster"
