"""The commands of the views Queue, Log, Network and Past, about jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.clusters.schedulers.base import JobState
from rowtui.tui.commands.command import Command, may_change

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session


# Operations on jobs


class JobVerb(NamedTuple):
    """One operation on jobs. `none` is the reason why it applies to none of several jobs."""

    word: str
    done: str
    may: Callable[[JobState], bool]
    none: str

    def why_not(self, states: Mapping[JobState, int]) -> str:
        """Return why it applies to none of the jobs, or ""; `states` counts the jobs by state."""
        if not states or any(self.may(state) for state in states):
            return ""
        if sum(states.values()) > 1:
            return self.none
        [state] = states
        if state.may_change and not state.active:
            return "the state of the job is unknown"
        if self is RETRY:
            return "the job has not ended" if state.active else "the job did not fail"
        if not state.active:
            return "the job has ended"
        if state is JobState.HELD:
            return "the job is held already"
        if self is RELEASE:
            return "the job is not held"
        return "only a job that waits can be held"


CANCEL = JobVerb("cancel", "cancelled", lambda state: state.active, "these jobs have ended")


HOLD = JobVerb("hold", "held", lambda state: state is JobState.PENDING, "none of these jobs waits")


RELEASE = JobVerb(
    "release", "released", lambda state: state is JobState.HELD, "none of these jobs is held"
)


RETRY = JobVerb("retry", "retried", lambda state: state.bad, "none of these jobs failed")


# Queue and Log


def with_job(session: Session) -> str:
    """Return why there is no job to show, or ""."""
    return "" if session.job else "there are no jobs yet"


def with_own_job(session: Session) -> str:
    """Return why the job under the cursor is not a job of this project, or ""."""
    if session.other_job:
        return "the job is not of this project: it is only shown"
    return with_job(session)


def with_row(session: Session) -> str:
    """Return why the cursor is not on a job, or ""; the job may belong to any user."""
    return "" if session.queue_row else "there is no job under the cursor"


def with_fold(session: Session) -> str:
    """Return why the cursor is on no array or bundle (nor on a job of an unfolded one), or ""."""
    row = session.queue_row
    if row is None:
        return with_row(session)
    return "" if row.key.folded or row.inside else "it is no array or bundle of three jobs or more"


def with_clusters(session: Session) -> str:
    """Return why there is no other cluster to choose, or ""."""
    many = session.jobs is not None and len(session.jobs.clusters) > 1
    return "" if many else "there is only one cluster"


def may_act_on_jobs(verb: JobVerb) -> Callable[[Session], str]:
    """Return a function for the reason why the verb fits no marked job, or not the chosen one."""

    def enabled(session: Session) -> str:
        if reason := may_change(session):
            return reason
        if not session.queue_marks and (reason := with_own_job(session)):
            return reason
        return verb.why_not(session.chosen_states)

    return enabled


QUEUE: tuple[Command, ...] = (
    Command("queue.open", "enter,l", "log", "log of this job", "queue", 1, enabled=with_own_job,
            twin="logs"),
    Command("queue.why", "w", "why", "why it is not running, with all details of its scheduler",
            "queue", 2, enabled=with_row, twin="show jobs --long"),
    Command("queue.mark", "space", "mark", "mark or unmark this job, or this array", "queue", 3,
            enabled=with_own_job),
    Command("queue.mark-all", "a", "all", "mark all active, all failed, or none", "queue",
            enabled=with_job),
    Command("queue.cancel", "c", "cancel…", "cancel the marked jobs, or this one", "queue", 4,
            asks=True, enabled=may_act_on_jobs(CANCEL), twin="cancel"),
    Command("queue.hold", "h", "hold…", "keep the marked jobs, or this one, from starting",
            "queue", 5, asks=True, enabled=may_act_on_jobs(HOLD), twin="hold"),
    Command("queue.release", "H", "release…", "let the marked jobs, or this one, start", "queue",
            6, asks=True, enabled=may_act_on_jobs(RELEASE), twin="release"),
    Command("queue.retry", "R", "retry…", "retry the marked failed jobs, or this one",
            "queue", 7, asks=True, enabled=may_act_on_jobs(RETRY), twin="retry"),
    Command("queue.fold", "z", "fold", "fold or unfold this array or bundle", "queue", 8,
            enabled=with_fold),
    Command("queue.fold-all", "Z", "fold all", "fold or unfold all arrays and bundles", "queue"),
    Command("queue.others", "m", "my others", "show or hide your jobs that are not this project's",
            "queue", 9),
    Command("queue.everybody", "u", "all users", "show or hide the jobs of all users", "queue", 10),
    Command("queue.cluster", "n", "cluster", "only the next cluster, or all again", "queue", 11,
            enabled=with_clusters, twin="queue --cluster"),
)  # fmt: skip
"""The commands of the view Queue."""


LOG: tuple[Command, ...] = (
    Command("log.follow", "F", "follow", "follow the end of the log, or stop", "log", 1,
            enabled=with_job, twin="logs --follow"),
    Command("log.find", "slash", "find", "find a text, or ~pattern", "log", 2, enabled=with_job),
    Command("log.next-match", "n", "next", "the next match of the search", "log", 3,
            enabled=with_job),
    Command("log.previous-match", "N", "previous", "the place before", "log", enabled=with_job),
    Command("log.trouble", "e", "next error", "the next line that looks like an error", "log", 4,
            enabled=with_job),
    Command("log.previous-trouble", "E", "error before",
            "the line before that looks like an error", "log", enabled=with_job),
    Command("log.wrap", "w", "wrap", "break long lines at the width of the screen, or not", "log",
            5, enabled=with_job),
    Command("log.pager", "O", "pager", "all of it in $PAGER", "log", 6, enabled=with_job),
    Command("log.next", "right_square_bracket", "older job", "log of the next job in the list",
            "log", 7, enabled=with_job),
    Command("log.previous", "left_square_bracket", "newer job",
            "log of the previous job in the list", "log", enabled=with_job),
)  # fmt: skip
"""The commands of the view Log."""


# Network


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


def _frozen(session: Session) -> str:
    view = session.network.view
    if view is None or view.run is None:
        if not session.network.frozen:
            return "this is network.toml as it is now: a shows the run"
        return "there is no run yet: s starts one"
    if view.run.holder and not view.run.here:
        return f"the run is driven by {view.run.holder}"
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
    """Return why no step can be planned, or "": it needs jobs, and a run that no process drives."""
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
    return "" if look.failed or look.marked else "no sample failed"


def may_cancel_in_network(session: Session) -> str:
    """Return why no job can be cancelled, or "": it needs a run and a job not yet completed."""
    if reason := _may_change_network(session) or _frozen(session):
        return reason
    pointed = session.network.pointed
    if not pointed:
        return "the cursor is not on a job: Enter goes to the samples of a node"
    if set(pointed.values()) <= {"completed", "cancelled"}:
        return "the job is completed or cancelled" if len(pointed) == 1 else "all are over"
    return ""


def may_mark_sample(session: Session) -> str:
    """Return why the cursor is not on a sample that has a job, or ""."""
    if reason := with_network(session):
        return reason
    look = session.network
    if look.under != "samples" or look.sample is None:
        return "the cursor is not on a sample: Enter goes to the samples of a node"
    return "" if look.sample.job >= 0 else "the samples of a source have no jobs"


def may_ask_what_it_waits_for(session: Session) -> str:
    """Return why the cursor is not on a sample that has a job, or ""."""
    if reason := with_network(session):
        return reason
    if not session.network.under_cursor:
        return "the cursor is not on a sample: Enter goes to the samples of a node"
    return ""


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
        return "no marked sample is completed: R is for failed samples"
    return ""


NETWORK: tuple[Command, ...] = (
    Command("network.open", "enter", "open", "samples of this node; log of this sample's job",
            "network", 1, enabled=with_network),
    Command("network.start", "s", "run…",
            "let the network run by itself within limits, go on, or allow more", "network", 2,
            asks=True, enabled=may_start_network, twin="network run"),
    Command("network.stop", "x", "stop", "stop the autopilot; submitted jobs continue",
            "network", 3, enabled=may_stop_network, twin="network stop"),
    Command("network.step", "e", "one step…", "plan the eligible jobs, to be confirmed in 5",
            "network", 4, asks=True, enabled=may_step_network, twin="network run --step"),
    Command("network.retry", "R", "retry…",
            "retry the marked jobs, this failure, or all jobs that failed", "network", 5, asks=True,
            enabled=may_retry_in_network, twin="network retry"),
    Command("network.cancel", "c", "cancel…",
            "cancel the marked jobs, or this one, with the jobs that depend on them", "network", 6,
            asks=True, enabled=may_cancel_in_network, twin="network cancel"),
    Command("network.mark", "space", "mark", "mark or unmark this sample", "network", 7,
            enabled=may_mark_sample),
    Command("network.filter", "t", "state", "samples in the next state: all, failed, ...",
            "network", 8, enabled=with_network, twin="network show --state"),
    Command("network.waits", "b", "blocked by", "the jobs that this sample waits for",
            "network", 10, enabled=may_ask_what_it_waits_for),
    Command("network.redo", "d", "redo…",
            "make the marked samples again, or all results made from other members than now",
            "network", asks=True, enabled=may_redo, twin="network redo"),
    Command("network.arrange", "m", "graph/list", "draw the network as a graph, or as a list",
            "network", enabled=with_network),
    Command("network.as-now", "a", "as it is now",
            "switch between the present network.toml and the run", "network", enabled=with_run,
            twin="network show --now"),
    Command("network.new-run", "n", "new run…", "a new run of the present network.toml",
            "network", asks=True, enabled=may_start_anew, twin="network run --new"),
    Command("network.pane", "tab", "pane", "between failures, graph, samples and node", "network",
            9),
)  # fmt: skip
"""The commands of the view Network."""


# Past

PAST: tuple[Command, ...] = (
    Command("past.next", "right,l", "chart", "the next chart", "past", 1),
    Command("past.previous", "left,h", "previous", "the chart before this one", "past", 2),
    Command("past.period", "d", "period", "the last hour, day or week, or all the time", "past", 3,
            twin="history --since"),
    Command("past.action", "a", "action", "only the next action, or all again", "past", 4,
            twin="history --action"),
)  # fmt: skip
"""The commands of the view Past."""
