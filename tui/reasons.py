"""Why a command cannot be used now: "" when it can, else the reason, in words for a person.

The registry (`actions.py`) names one of these for each command.
"""

from __future__ import annotations

from collections.abc import Callable

from rowtui.tui.job_verbs import JobVerb
from rowtui.tui.render.bundles import TypeRow
from rowtui.tui.session import Session


def always(_: Session) -> str:
    """Available at any time."""
    return ""


def with_action(session: Session) -> str:
    """There is an action to look at."""
    return "" if session.action else "there is no action yet"


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
        return "only eligible groups can be submitted: press f until the list shows them"
    return ""


def may_resubmit_groups(session: Session) -> str:
    """The groups on the screen are of directories that failed."""
    if reason := may_change(session) or with_action(session):
        return reason
    action = session.action
    if action and not action.failed:
        return f"no directory failed at {action.name}"
    if session.filter.word != "failed":
        return "only failed groups can be resubmitted: press f until the list shows them"
    return ""


def may_mark(session: Session) -> str:
    """Marks are for submitting and resubmitting."""
    if session.filter.word not in ("eligible", "failed"):
        return "only eligible or failed groups can be marked: press f until the list shows them"
    return with_action(session)


def may_submit_all(session: Session) -> str:
    """Any action has something to submit."""
    if reason := may_change(session):
        return reason
    if session.snapshot and any(action.eligible for action in session.snapshot.actions):
        return ""
    return "no directory is eligible"


def may_confirm(session: Session) -> str:
    """A plan waits for its yes."""
    if session.read_only:
        return "the project was opened read-only"
    if session.sending is None:
        return "there is no plan: mark groups in 2 and press s"
    if session.sending.phase != "review":
        return "this plan was already confirmed"
    if conflict := session.sending.copying.conflict:
        return conflict
    return "" if session.sending.plan.jobs else "the plan has no jobs"


def may_stop(session: Session) -> str:
    """A plan is being sent."""
    if session.sending and session.sending.phase == "sending":
        return ""
    return "nothing is being sent"


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
        if not session.marked_jobs and (reason := with_own_job(session)):
            return reason
        return verb.why_not(session.chosen_jobs)

    return enabled


def may_connect(session: Session) -> str:
    """Some cluster waits for a login."""
    if session.jobs is None:
        return "the clusters are not known yet"
    if session.logins:
        return ""
    if session.connecting:
        return f"the login to {min(session.connecting)} is under way"
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


def may_reset(session: Session) -> str:
    """Something is wondered about."""
    return "" if session.what_if else "there is no what-if"


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
