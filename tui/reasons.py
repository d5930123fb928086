"""Why a command cannot be used now: "" when it can, else the reason, in words for a person.

The registry (`actions.py`) names one of these for each command.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rowtui.tui.job_verbs import JobVerb
    from rowtui.tui.session import Session


def always(_: Session) -> str:
    """Available at any time."""
    return ""


def with_action(session: Session) -> str:
    """There is an action to look at."""
    return "" if session.action else "there is no action yet"


def with_action_or_need(session: Session) -> str:
    """There is something to open: an action, or what waits for a person."""
    return "" if session.need else with_action(session)


def may_retry_need(session: Session) -> str:
    """What needs the person, under the cursor, is a failure that can be tried again."""
    if reason := may_change(session):
        return reason
    if session.need is None or not session.need.cause:
        return "put the cursor on failed directories among what needs you (Tab)"
    return ""


def with_failures(session: Session) -> str:
    """Some directory failed."""
    if session.snapshot and any(action.failed for action in session.snapshot.actions):
        return ""
    return "nothing failed"


def may_change(session: Session) -> str:
    """Verbs are possible at all."""
    if session.read_only:
        return "the project was opened read-only"
    if session.sending and session.sending.running:
        return "a plan is being sent"
    if session.planning:
        return "a plan is being prepared"
    return ""


def may_submit(session: Session) -> str:
    """The chosen action has something to submit."""
    if reason := may_change(session) or with_action(session):
        return reason
    action = session.action
    if action and not action.eligible:
        return f"no directory is eligible for {action.name}"
    return ""


def may_submit_groups(session: Session) -> str:
    """The groups on the screen are those that would be submitted."""
    if reason := may_submit(session):
        return reason
    if session.filter.word != "eligible":
        return "only eligible groups can be submitted: press t until the list shows them"
    return ""


def may_resubmit_groups(session: Session) -> str:
    """The groups on the screen are of directories that failed."""
    if reason := may_change(session) or with_action(session):
        return reason
    action = session.action
    if action and not action.failed:
        return f"no directory failed at {action.name}"
    if session.filter.word != "failed":
        return "only failed groups can be resubmitted: press t until the list shows them"
    return ""


def may_mark(session: Session) -> str:
    """Marks are for submitting and resubmitting."""
    if session.filter.word not in ("eligible", "failed"):
        return "only eligible or failed groups can be marked: press t until the list shows them"
    return with_action(session)


def may_submit_all(session: Session) -> str:
    """Any action has something to submit."""
    if reason := may_change(session):
        return reason
    if session.snapshot and any(action.eligible for action in session.snapshot.actions):
        return ""
    return "no directory is eligible"


def with_job(session: Session) -> str:
    """There is a job to look at."""
    return "" if session.job else "there are no jobs yet"


def with_own_job(session: Session) -> str:
    """The job under the cursor is one of this project's."""
    if session.other_job:
        return "the job is not of this project: it is only shown"
    return with_job(session)


def may_act_on_jobs(verb: JobVerb) -> Callable[[Session], str]:
    """The chosen job, or a marked one, is in a state for which that makes sense."""

    def enabled(session: Session) -> str:
        if reason := may_change(session):
            return reason
        if not session.queue_marks and (reason := with_own_job(session)):
            return reason
        return verb.why_not(session.chosen_states)

    return enabled


def may_connect(session: Session) -> str:
    """A cluster needs a login, or a login is under way and can be shown."""
    if session.jobs is None:
        return "the clusters are not known yet"
    if session.logins or session.connecting:
        return ""
    if any(cluster.connected for cluster in session.jobs.clusters):
        return "every cluster is connected"
    return "no cluster needs a login"


def with_decision(session: Session) -> str:
    """There is a job whose way is known."""
    if session.explanation is None:
        return "nothing is explained yet"
    return "" if session.explanation.decision else "there is no group to explain"


def with_groups(session: Session) -> str:
    """There are several groups to step through."""
    many = session.explanation is not None and session.explanation.groups > 1
    return "" if many else "there is no other group"


def with_packing(session: Session) -> str:
    """There is a packing on the screen."""
    return "" if session.packing.look else "nothing is packed yet"


def may_submit_packing(session: Session) -> str:
    """The packing on the screen is the one that is chosen, and has jobs."""
    if reason := may_change(session) or with_packing(session):
        return reason
    packing = session.packing
    if packing.computing:
        return "the jobs are being packed"
    if packing.error is not None or packing.shown is None:
        return "what is shown is not what was chosen"
    return "" if packing.shown.packed.plan.jobs else "the plan has no jobs"


def may_toggle_node_type(session: Session) -> str:
    """The cursor is on a node type, and another one is left."""
    packing = session.packing
    if reason := with_packing(session):
        return reason
    from rowtui.tui.render.bundles import TypeRow  # loads what packs

    if not isinstance(packing.row, TypeRow):
        return "the cursor is not on a node type"
    if packing.shown and sum(1 for look in packing.shown.looks if look.known) > 1:
        return "the jobs go to several destinations; mark groups of one"
    if packing.row.on and sum(1 for one in packing.chosen_types) == 1:
        return "it is the only node type that is left"
    return ""


def may_reset_packing(session: Session) -> str:
    """Something was chosen."""
    return "" if session.packing.chosen else "it is packed as configured"


def with_destinations(session: Session) -> str:
    """There are several destinations to step through."""
    shown = session.packing.shown
    return "" if shown and len(shown.looks) > 1 else "there is no other destination"


def with_network(session: Session) -> str:
    """There is a network to look at."""
    if session.network.view is not None:
        return ""
    if session.network.error is not None:
        return "the network cannot be read: see above"
    if not session.network.known:
        return "the network is not read yet"
    return "the project has no network.toml; `rowtui network init` writes one"


def with_run(session: Session) -> str:
    """There is a run, and so something that network.toml may differ from."""
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
    """Nobody drives it, and it shows what would be started."""
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
    """Nobody drives the run there is."""
    return _may_change_network(session) or _not_driven(session)


def may_stop_network(session: Session) -> str:
    """The autopilot of this dashboard is on."""
    if reason := with_network(session):
        return reason
    view = session.network.view
    if view and view.run and view.run.here:
        return ""
    if view and view.run and view.run.holder:
        return f"the run is driven by {view.run.holder}, and stopped there"
    return "the autopilot is not on"


def may_step_network(session: Session) -> str:
    """Something may be ready, and nobody else sends it."""
    if reason := may_start_network(session):
        return reason
    return "" if session.network.left else "no job is left to send"


def may_retry_in_network(session: Session) -> str:
    """A job failed, and it is among those that the command is about."""
    if reason := _may_change_network(session) or _frozen(session):
        return reason
    look = session.network
    if look.marked and not {"failed", "cancelled"} & set(look.marked.values()):
        return "no marked job failed"
    return "" if look.failed or look.marked else "no job failed"


def may_give_up(session: Session) -> str:
    """There is a run, and a job under the cursor that is not complete."""
    if reason := _may_change_network(session) or _frozen(session):
        return reason
    pointed = session.network.pointed
    if not pointed:
        return "the cursor is not on a job: Enter goes to the samples of a node"
    if set(pointed.values()) <= {"complete", "cancelled"}:
        return "the job is complete or cancelled" if len(pointed) == 1 else "all are over"
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
    """The cursor is on a sample that has a job."""
    if reason := with_network(session):
        return reason
    look = session.network
    if look.under != "samples" or look.sample is None:
        return "the cursor is not on a sample: Enter goes to the samples of a node"
    return "" if look.sample.job >= 0 else "the samples of a source have no jobs"


def may_reset(session: Session) -> str:
    """Something is wondered about."""
    return "" if session.what_if else "there is no what-if"


def may_write(session: Session) -> str:
    """What is wondered about can be written to a file."""
    return may_change(session) or may_reset(session)


def may_undo_write(session: Session) -> str:
    """Something was written from here, and nobody changed it since."""
    if reason := may_change(session):
        return reason
    return "" if session.written else "nothing was written from here, or it was changed since"


def may_make_change(number: int) -> Callable[[Session], str]:
    """The destination under the cursor has a change with this number, from 0."""

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
