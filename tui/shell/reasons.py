"""Reasons why a command cannot be used now: "" if it can, otherwise a text for the user.

The registry (`actions.py`) names one of these functions for each command.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session
    from rowtui.tui.views.queue.job_verbs import JobVerb


def always(_: Session) -> str:
    """Return "": the command can always be used."""
    return ""


def with_action(session: Session) -> str:
    """Return why there is no action to show, or ""."""
    return "" if session.action else "there is no action yet"


def with_action_or_need(session: Session) -> str:
    """Return why there is nothing to open, or "": an action, or an item that waits for the user."""
    return "" if session.need else with_action(session)


def may_retry_need(session: Session) -> str:
    """Return why the item under the cursor is not a failure that can be retried, or ""."""
    if reason := may_change(session):
        return reason
    if session.need is None or not session.need.cause:
        return "put the cursor on failed directories among what needs you (Tab)"
    return ""


def with_failures(session: Session) -> str:
    """Return why there is no failed directory to show, or ""."""
    if session.snapshot and any(action.failed for action in session.snapshot.actions):
        return ""
    return "nothing failed"


def may_change(session: Session) -> str:
    """Return why nothing can be changed now, or ""."""
    if session.read_only:
        return "the project was opened read-only"
    if session.sending and session.sending.running:
        return "a plan is being sent"
    if session.planning:
        return "a plan is being prepared"
    return ""


def may_submit(session: Session) -> str:
    """Return why the chosen action has nothing to submit, or ""."""
    if reason := may_change(session) or with_action(session):
        return reason
    action = session.action
    if action and not action.eligible:
        return f"no directory is eligible for {action.name}"
    return ""


def may_submit_groups(session: Session) -> str:
    """Return why the groups on the screen cannot be submitted, or "" if the list shows eligible
    ones.
    """
    if reason := may_submit(session):
        return reason
    if session.filter.word != "eligible":
        return "only eligible groups can be submitted: press t until the list shows them"
    return ""


def may_retry_groups(session: Session) -> str:
    """Return why the groups on the screen cannot be retried, or "" if the list shows
    failed ones.
    """
    if reason := may_change(session) or with_action(session):
        return reason
    action = session.action
    if action and not action.failed:
        return f"no directory failed at {action.name}"
    if session.filter.word != "failed":
        return "only failed groups can be retried: press t until the list shows them"
    return ""


def may_mark(session: Session) -> str:
    """Return why no group can be marked, or "": marks serve only submissions and retries."""
    if session.filter.word not in ("eligible", "failed"):
        return "only eligible or failed groups can be marked: press t until the list shows them"
    return with_action(session)


def may_submit_all(session: Session) -> str:
    """Return why no action has anything to submit, or ""."""
    if reason := may_change(session):
        return reason
    if session.snapshot and any(action.eligible for action in session.snapshot.actions):
        return ""
    return "no directory is eligible"


def with_job(session: Session) -> str:
    """Return why there is no job to show, or ""."""
    return "" if session.job else "there are no jobs yet"


def with_own_job(session: Session) -> str:
    """Return why the job under the cursor is not a job of this project, or ""."""
    if session.other_job:
        return "the job is not of this project: it is only shown"
    return with_job(session)


def may_act_on_jobs(verb: JobVerb) -> Callable[[Session], str]:
    """Return a function for the reason why the verb fits no marked job, or not the chosen one."""

    def enabled(session: Session) -> str:
        if reason := may_change(session):
            return reason
        if not session.queue_marks and (reason := with_own_job(session)):
            return reason
        return verb.why_not(session.chosen_states)

    return enabled


def may_connect(session: Session) -> str:
    """Return why no login can be started or shown, or ""."""
    if session.jobs is None:
        return "the clusters are not known yet"
    if session.logins or session.connecting:
        return ""
    if any(cluster.connected for cluster in session.jobs.clusters):
        return "every cluster is connected"
    return "no cluster needs a login"


def with_decision(session: Session) -> str:
    """Return why there is no decision to show, or ""."""
    if session.explanation is None:
        return "nothing is explained yet"
    return "" if session.explanation.decision else "there is no group to explain"


def with_groups(session: Session) -> str:
    """Return why there is no other group to show, or ""."""
    many = session.explanation is not None and session.explanation.groups > 1
    return "" if many else "there is no other group"


def with_packing(session: Session) -> str:
    """Return why there is no packing on the screen, or ""."""
    return "" if session.packing.look else "nothing is packed yet"


def may_submit_packing(session: Session) -> str:
    """Return why the packing cannot be submitted, or "" if it shows the current choice and has
    jobs.
    """
    if reason := may_change(session) or with_packing(session):
        return reason
    packing = session.packing
    if packing.computing:
        return "the jobs are being packed"
    if packing.error is not None or packing.shown is None:
        return "what is shown is not what was chosen"
    return "" if packing.shown.packed.plan.jobs else "the plan has no jobs"


def may_toggle_node_type(session: Session) -> str:
    """Return why the node type under the cursor cannot be switched, or ""; one must stay on."""
    packing = session.packing
    if reason := with_packing(session):
        return reason
    # A late import, because the module loads the packing code.
    from rowtui.tui.views.pack.bundles import TypeRow

    if not isinstance(packing.row, TypeRow):
        return "the cursor is not on a node type"
    if packing.shown and sum(1 for look in packing.shown.looks if look.known) > 1:
        return "the jobs go to several destinations; mark groups of one"
    if packing.row.on and sum(1 for one in packing.chosen_types) == 1:
        return "it is the only node type that is left"
    return ""


def may_reset_packing(session: Session) -> str:
    """Return why there is no choice to reset, or ""."""
    return "" if session.packing.chosen else "it is packed as configured"


def with_destinations(session: Session) -> str:
    """Return why there is no other destination to show, or ""."""
    shown = session.packing.shown
    return "" if shown and len(shown.looks) > 1 else "there is no other destination"


def with_network(session: Session) -> str:
    """Return why there is no network to show, or ""."""
    if session.network.view is not None:
        return ""
    if session.network.error is not None:
        return "the network cannot be read: see above"
    if not session.network.known:
        return "the network is not read yet"
    return "the project has no network.toml; `rowtui network init` writes one"


def with_run(session: Session) -> str:
    """Return why there is no run to compare with the current network.toml, or ""."""
    if reason := with_network(session):
        return reason
    view = session.network.view
    return "" if (view and view.run) or not session.network.frozen else "there is no run yet"


def _may_change_network(session: Session) -> str:
    if reason := may_change(session) or with_network(session):
        return reason
    if session.network.busy:
        return f"{session.network.busy} is under way"
    return ""


def _not_driven(session: Session) -> str:
    view = session.network.view
    run = view.run if view else None
    if run is not None and run.here:
        return "the autopilot drives it already: x stops it"
    if run is not None and run.holder:
        return f"the run is driven by {run.holder}"
    return ""


def may_start_network(session: Session) -> str:
    """Return why the network cannot be started, or "": no process may drive the run, and the view
    must show what would be started.
    """
    if reason := _may_change_network(session) or _not_driven(session):
        return reason
    if not session.network.frozen:
        return "this is network.toml as it is now: a shows the run, n starts a new one"
    view = session.network.view
    if view and view.run and view.run.status.is_over:
        left = "R tries what failed again, " if session.network.failed else ""
        return f"the run is over: {left}n starts a new one"
    return ""


def may_start_anew(session: Session) -> str:
    """Return why no new run can be started, or "": no process may drive the current run."""
    return _may_change_network(session) or _not_driven(session)


def may_stop_network(session: Session) -> str:
    """Return why the autopilot of this dashboard cannot be stopped, or "" if it is on."""
    if reason := with_network(session):
        return reason
    view = session.network.view
    if view and view.run and view.run.here:
        return ""
    if view and view.run and view.run.holder:
        return f"the run is driven by {view.run.holder}: `rowtui network stop` stops it"
    return "the autopilot is not on"


def may_step_network(session: Session) -> str:
    """Return why no step can be planned, or "": jobs must be left, and no process may drive the
    run.
    """
    if reason := may_start_network(session):
        return reason
    return "" if session.network.left else "no job is left to send"


def may_retry_in_network(session: Session) -> str:
    """Return why no job can be retried, or "".

    One of the marked jobs must have failed or been cancelled; without marks, any job must have
    failed.
    """
    if reason := _may_change_network(session) or _frozen(session):
        return reason
    look = session.network
    if look.marked and not {"failed", "cancelled"} & set(look.marked.values()):
        return "no marked job failed"
    return "" if look.failed or look.marked else "no job failed"


def may_cancel_in_network(session: Session) -> str:
    """Return why no job can be cancelled, or "": a run is needed, and a job that is not
    completed.
    """
    if reason := _may_change_network(session) or _frozen(session):
        return reason
    pointed = session.network.pointed
    if not pointed:
        return "the cursor is not on a job: Enter goes to the samples of a node"
    if set(pointed.values()) <= {"completed", "cancelled"}:
        return "the job is completed or cancelled" if len(pointed) == 1 else "all are over"
    return ""


def _frozen(session: Session) -> str:
    view = session.network.view
    if view is None or view.run is None:
        if not session.network.frozen:
            return "this is network.toml as it is now: a shows the run"
        return "there is no run yet: s starts one"
    if view.run.holder and not view.run.here:
        return f"the run is driven by {view.run.holder}"
    return ""


def may_mark_sample(session: Session) -> str:
    """Return why the cursor is not on a sample that has a job, or ""."""
    if reason := with_network(session):
        return reason
    look = session.network
    if look.under != "samples" or look.sample is None:
        return "the cursor is not on a sample: Enter goes to the samples of a node"
    return "" if look.sample.job >= 0 else "the samples of a source have no jobs"


def may_reset(session: Session) -> str:
    """Return why there is no what-if to reset, or ""."""
    return "" if session.what_if else "there is no what-if"


def may_write(session: Session) -> str:
    """Return why the what-if cannot be written to a file, or ""."""
    return may_change(session) or may_reset(session)


def may_undo_write(session: Session) -> str:
    """Return why the last write cannot be undone, or "": the file must be unchanged since that
    write.
    """
    if reason := may_change(session):
        return reason
    return "" if session.written else "nothing was written from here, or it was changed since"


def may_make_change(number: int) -> Callable[[Session], str]:
    """Return a function for the reason why the destination under the cursor lacks a change with
    this number, counted from 0.
    """

    def enabled(session: Session) -> str:
        if reason := with_decision(session):
            return reason
        if session.refusal is None:
            return "this destination takes the job"
        if not session.refusal.changes:
            return "no change is known that helps"
        known = len(session.refusal.changes)
        return "" if number < known else "there is no further change"

    return enabled
