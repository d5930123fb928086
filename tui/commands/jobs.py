"""The verbs on jobs, and the commands of the views Queue, Log and Past, which show jobs.

Each command has the reason why it cannot be used now.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.clusters.schedulers.base import JobState
from rowtui.tui.commands.command import NO_KEY, Command, may_change

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session


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
        return f"only a job that waits can be {self.done}"


CANCEL = JobVerb("cancel", "cancelled", lambda state: state.active, "these jobs have ended")


HOLD = JobVerb("hold", "held", lambda state: state is JobState.PENDING, "none of these jobs waits")


RELEASE = JobVerb(
    "release", "released", lambda state: state is JobState.HELD, "none of these jobs is held"
)


CHANGE = JobVerb("change", "changed", lambda state: state.waits, "none of these jobs waits")


RETRY = JobVerb("retry", "retried", lambda state: state.bad, "none of these jobs failed")


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


def may_hold_or_release(session: Session) -> str:
    """Return why the marked jobs, or the chosen one, can be neither held nor released, or ""."""
    reason = may_act_on_jobs(HOLD)(session)
    return reason and may_act_on_jobs(RELEASE)(session) and reason


QUEUE: tuple[Command, ...] = (
    Command("queue.open", "enter", "log", "log of this job", "queue", enabled=with_own_job,
            twin="logs"),
    Command("queue.why", "w", "why", "why it is not running, with all details of its scheduler",
            "queue", enabled=with_row, twin="show jobs --long"),
    Command("queue.mark", "space", "mark", "mark or unmark this job, or this array", "queue",
            enabled=with_own_job),
    Command("queue.mark-all", "a", "all", "mark all active, all failed, or none", "queue",
            enabled=with_job),
    Command("queue.cancel", "c", "cancel…", "cancel the marked jobs, or this one", "queue",
            asks=True, enabled=may_act_on_jobs(CANCEL), twin="cancel"),
    Command("queue.hold", "H", "hold…",
            "keep the marked jobs, or this one, from starting; or release what is held", "queue",
            asks=True, enabled=may_hold_or_release, twin="hold"),
    Command("queue.release", NO_KEY, "release…", "let the marked jobs, or this one, start", "queue",
            asks=True, enabled=may_act_on_jobs(RELEASE), twin="release"),
    Command("queue.change", "e", "change…",
            "change limit, partition, nice value and dependency of the marked jobs, or this one",
            "queue", asks=True, enabled=may_act_on_jobs(CHANGE), twin="change"),
    Command("queue.retry", "R", "retry…", "retry the marked failed jobs, or this one", "queue",
            asks=True, enabled=may_act_on_jobs(RETRY), twin="retry"),
    Command("queue.fold", "z", "fold", "fold or unfold this array or bundle", "queue",
            enabled=with_fold),
    Command("queue.fold-all", "Z", "fold all", "fold or unfold all arrays and bundles", "queue"),
    Command("queue.kind", "f", "state", "only the active, the failed or the ended jobs, or all",
            "queue"),
    Command("queue.kind-before", "F", "state before", "the kind before", "queue"),
    Command("queue.others", "m", "whose",
            "jobs of this project, all of mine, or those of all users", "queue"),
    Command("queue.cluster", "right_square_bracket", "cluster",
            "only the next cluster, or all again", "queue", enabled=with_clusters,
            twin="queue --cluster"),
    Command("queue.cluster-before", "left_square_bracket", "cluster before",
            "only the cluster before, or all again", "queue", enabled=with_clusters),
)  # fmt: skip
"""The commands of the view Queue."""


LOG: tuple[Command, ...] = (
    Command("log.follow", "p", "follow", "follow the end of the log, or stop", "log",
            enabled=with_job, twin="logs --follow"),
    Command("log.find", "slash", "find", "find a text, or ~ and a regular expression", "log",
            enabled=with_job),
    Command("log.next-match", "n", "next ▲",
            "the next match; without a search, the next line that looks like an error", "log",
            enabled=with_job),
    Command("log.previous-match", "N", "▲ before", "the match, or the error, before", "log",
            enabled=with_job),
    Command("log.wrap", "z", "wrap", "break long lines at the width of the screen, or not", "log",
            enabled=with_job),
    Command("log.pager", "O", "pager", "all of it in $PAGER", "log", enabled=with_job),
    Command("log.next", "right_square_bracket", "next job", "log of the next job in the list",
            "log", enabled=with_job),
    Command("log.previous", "left_square_bracket", "job before",
            "log of the previous job in the list", "log", enabled=with_job),
)  # fmt: skip
"""The commands of the view Log."""


PAST: tuple[Command, ...] = (
    Command("past.next", "right,l", "chart", "the next chart", "past"),
    Command("past.previous", "left,h", "previous", "the chart before this one", "past"),
    Command("past.period", "t", "period", "the last hour, day or week, or since the first job",
            "past", twin="history --since"),
    Command("past.action", "right_square_bracket", "action", "only the next action, or all again",
            "past", twin="history --action"),
    Command("past.action-before", "left_square_bracket", "action before",
            "only the action before, or all again", "past"),
)  # fmt: skip
"""The commands of the view Past."""
