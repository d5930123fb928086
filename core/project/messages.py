"""The events of a project that its user may want to be told of, found where jobs are polled.

Only processes that stay with a project have this: an attached submission, a run, the dashboard.
Every method returns at once and raises nothing that `Messages` could raise.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from rowtui.core.base.text import plural
from rowtui.core.clusters.schedulers.base import JobState, job_label, token_in_queue
from rowtui.core.messages.dispatch import Messages, SendingMeans
from rowtui.core.messages.model import DAY, StudyEvent, StudyEventKind, study_event
from rowtui.core.messages.settings import DASHBOARD_TERMINAL, load_messages

if TYPE_CHECKING:
    from rowtui.core.clusters.polling.poll import Polled
    from rowtui.core.project.project import Project
    from rowtui.core.submission.plan.record import JobRecord
    from rowtui.core.submission.sending.job_records import JobTable

LOGIN_SECONDS = 3600.0  # a login that is lost again within this time is not reported again
MOST_SEPARATE = 20  # jobs that start or fail in one poll and have an event each


def user_messages(
    project: Project, terminal: Callable[[str], None] | None, *, dashboard: bool
) -> Messages:
    """Return the messages of a project on the user's channels.

    `terminal`: writes a sequence to the user's terminal; called in another thread. `dashboard`:
    notices appear in the terminal without a channel for it.
    """
    settings = load_messages(project.environment)
    for problem in settings.problems:
        project.notice(str(problem))
    if dashboard and terminal and all(it.kind != "terminal" for it in settings.channels):
        names = {it.name for it in settings.channels}
        if DASHBOARD_TERMINAL.name not in names:
            settings = settings._replace(channels=(*settings.channels, DASHBOARD_TERMINAL))
    sending = SendingMeans(dict(project.environment), terminal)
    return Messages(project.root, settings, sending, project.notice)


class ProjectMessages:
    """The messages of one project. `watches`: the end of all jobs is an event."""

    def __init__(
        self, project: Project, table: JobTable, messages: Messages, *, watches: bool = False
    ) -> None:
        self._project = project
        self._table = table
        self._messages = messages
        self._watches = watches
        self._ended = 0
        self._failed = 0
        self._connected: set[str] = set()
        self._running: dict[str, set[str]] = {}  # tokens of started jobs by cluster
        self.continues: Callable[[JobRecord], bool] = lambda _: False  # by the rules of a driver

    def notify(self, event: StudyEvent) -> None:
        """Send an event."""
        self._messages.notify(event)

    def close(self) -> None:
        """Send what waits, and wait a bounded time for it."""
        self._messages.close()

    def event(
        self,
        kind: StudyEventKind,
        text: str,
        key: str,
        *details: str,
        again_after: float = 0.0,
    ) -> None:
        """Make an event of this project, and send it. See `study_event`."""
        name = self._project.root.name
        now = time.time()
        self.notify(
            study_event(kind, name, text, key, now, details=details, again_after=again_after)
        )

    def jobs_ended(self, ended: Iterable[JobRecord]) -> None:
        """Report failures: the first one of each cause, and each one if the user wants that."""
        every = list(ended)
        failed = [it for it in every if it.end is not None and it.end.outcome.failed]
        failed = [it for it in failed if not self.continues(it)]
        self._ended += len(every)
        self._failed += len(failed)
        causes: set[tuple[str, str]] = set()
        for each in failed:
            cause = (each.action, each.end.kind if each.end is not None else "")
            if cause in causes:
                continue
            causes.add(cause)
            action, why = cause
            self.event(
                StudyEventKind.FIRST_FAILURE,
                f"first failure of {action or 'a job'}: {why}",
                f"failure:{action}:{why}",
                *_lines(each),
                again_after=DAY,
            )
        if not self._messages.wants(StudyEventKind.JOB_FAILED):
            return
        for each in failed[:MOST_SEPARATE]:
            text = f"{_name(each)} failed: {each.end_reason}"
            self.event(StudyEventKind.JOB_FAILED, text, f"failed:{each.token}", *_lines(each))
        if more := failed[MOST_SEPARATE:]:
            text = f"{plural(len(more), 'more job')} failed"
            self.event(StudyEventKind.JOB_FAILED, text, f"failed:{more[0].token}")

    def polled(self, cluster: str, polled: Polled | None) -> None:
        """Report a login that was lost, and jobs that started, after a poll of a cluster."""
        connections = self._project.connections
        if connections.connected(cluster):
            self._connected.add(cluster)
        elif cluster in self._connected and (why := connections.login_needed(cluster)):
            self._connected.discard(cluster)
            self.login_needed(cluster, why)
        if polled is not None and self._messages.wants(StudyEventKind.JOB_STARTED):
            self._report_started(cluster, polled)

    def login_needed(self, cluster: str, why: str) -> None:
        """Report that a cluster needs a login of the user, once within `LOGIN_SECONDS`."""
        command = self._project.connections.login_command(cluster)
        how = (f"Log in with: {command}",) * bool(command)
        text, key = f"{cluster} needs a login", f"login:{cluster}"
        self.event(StudyEventKind.LOGIN_NEEDED, text, key, why, *how, again_after=LOGIN_SECONDS)

    def _report_started(self, cluster: str, polled: Polled) -> None:
        if polled.snapshot is None:
            return
        state = self._project.known_state
        jobs = () if state is None else state.submitted.values()
        ours = {
            token_in_queue(it.token): it.token
            for submitted in jobs
            for it in submitted.values()
            if it.token and it.cluster == cluster
        }
        running = {
            job.token: job_label(job.id, ours[job.token]) or str(job.id)
            for job in polled.snapshot.jobs
            if job.state is JobState.RUNNING and job.token in ours
        }
        # What ran at the first poll started before this process looked.
        before = self._running.setdefault(cluster, {*running})
        fresh = [token for token in running if token not in before]
        before.update(fresh)
        for token in fresh[:MOST_SEPARATE]:
            text = f"job {running[token]} started on {cluster}"
            self.event(StudyEventKind.JOB_STARTED, text, f"started:{token}")
        if more := fresh[MOST_SEPARATE:]:
            text = f"{plural(len(more), 'more job')} started on {cluster}"
            self.event(StudyEventKind.JOB_STARTED, text, f"started:{more[0]}")

    def looked(self) -> None:
        """Report that no job is left, after ends were recorded. Waits for the disk."""
        if self._watches and self._ended and not self._project.has_jobs_to_ask_for():
            records = self._table.records()
            if records:
                self.all_ended(records[0].plan_id)

    def all_ended(self, plan_id: str) -> None:
        """Report that the jobs have ended, of which those of this plan were submitted last."""
        ended, failed = self._ended, self._failed
        self._ended = self._failed = 0
        well = plural(ended - failed, "job")
        text = f"{well} completed, {failed:,} failed" if failed else f"{well} completed"
        details = ("See them with: rowtui usage --failed; rowtui retry",) if failed else ()
        self.event(StudyEventKind.RUN_FINISHED, f"done: {text}", f"ended:{plan_id}", *details)


def budget_uses(used: Mapping[str, tuple[float, float | None]]) -> Iterable[tuple[str, float]]:
    """Yield the unit and the used share of each limit of which 80 % or more are used."""
    for unit, (amount, limit) in used.items():
        if limit and amount >= 0.8 * limit:
            yield unit, amount / limit


def _name(ended: JobRecord) -> str:
    where = f"{ended.action} on {ended.cluster}"
    return f"job {ended.label} ({where})" if ended.job_id else f"a job ({where})"


def _lines(ended: JobRecord) -> list[str]:
    names = ended.directories
    lines = [f"{_name(ended)}: {ended.end_reason}"]
    if names:
        more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
        lines.append(f"Directories: {', '.join(names[:3])}{more}")
    if ended.job_id:
        lines.append(f"Its output: rowtui logs {ended.label}")
    return lines
