"""An open project: its records, and all parts that work on them. This is what verbs take.

A verb is a function that takes the open project, in a module of its own, such as `retry`, `scan`
and `plan_submission`. Each part is made on first use.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rowtui.core.base.errors import RowtuiError
from rowtui.core.groups.model import StatusTable
from rowtui.core.groups.status import status_table
from rowtui.core.project.project import Project
from rowtui.core.project.summary import write_summary
from rowtui.core.workflow.find import has_mapping_files, has_network

if TYPE_CHECKING:
    from rowtui.core.clusters.model import BudgetLimit
    from rowtui.core.clusters.polling.poll import Polled
    from rowtui.core.project.context.copies import Copies
    from rowtui.core.project.jobs import Jobs
    from rowtui.core.project.mapping import ProjectMapping
    from rowtui.core.project.messages import ProjectMessages
    from rowtui.core.project.planning.asked import MappedCosts
    from rowtui.core.project.usage import ProjectUsage
    from rowtui.core.submission.plan.charges import Balance, ChargedHours
    from rowtui.core.submission.plan.model import Plan
    from rowtui.core.submission.plan.record import JobRecord
    from rowtui.core.submission.sending.job_records import JobTable


class OpenProject(Project):
    """One project, opened by one process, with its jobs, mapping, usage and messages."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        """Set up the project. See `Project`."""
        super().__init__(*args, **settings)
        self.messages: ProjectMessages | None = None  # of processes that stay with the project

    # Jobs

    @cached_property
    def jobs(self) -> Jobs:
        """Return the project's jobs and their schedulers."""
        from rowtui.core.project.jobs import Jobs

        return Jobs(self, self.job_table, self)

    @cached_property
    def job_table(self) -> JobTable:
        """Return the records of the project's jobs, by its plans and journals."""
        from rowtui.core.submission.sending.job_records import JobTable
        from rowtui.core.submission.sending.journal import Journal

        return JobTable(self.root, Journal(self.root), self.notice)

    @property
    def copies(self) -> Copies:
        """Return the copies of the project on clusters that do not share its folder."""
        return self.jobs.copies

    @cached_property
    def usage(self) -> ProjectUsage:
        """Return what the project's jobs used."""
        from rowtui.core.project.usage import ProjectUsage

        return ProjectUsage(self, self.job_table, lambda: self.jobs.queues.looks)

    @property
    def unfinished(self) -> Collection[str]:
        """Return the jobs that must be sent again, and why, as of the last polls, if any."""
        return self.jobs.unfinished.values() if "jobs" in self.__dict__ else ()

    @cached_property
    def charged_hours(self) -> ChargedHours:
        """Return the hours that the project's jobs are charged on clusters."""
        from rowtui.core.submission.plan.charges import ChargedHours

        return ChargedHours(self.job_table.journal, self.job_table.plan)

    def balances_of(self, plan: Plan) -> dict[str, Balance]:
        """Return the budgets of the clusters of a plan's jobs, with the amounts charged."""
        return self.balances_on({job.destination.cluster for job in plan.jobs})

    def balances_on(self, clusters: Iterable[str]) -> dict[str, Balance]:
        """Return the budgets of these clusters, with the charged amounts. Waits for the disk."""
        limits = self.budgets_on(clusters)
        return self.charged_hours.balances(limits) if limits else {}

    def budgets_on(self, clusters: Iterable[str]) -> dict[str, BudgetLimit]:
        """Return the budgets of those of these clusters that have one."""
        limits: dict[str, BudgetLimit] = {}
        for name in clusters:
            cluster = self.connections.known(name) or self.configured.named(name)
            if cluster is not None and cluster.budget is not None:
                limits[name] = cluster.budget
        return limits

    # Events of jobs, see `JobEvents`

    def polled(self, cluster: str, polled: Polled | None) -> None:
        """Send the messages of a poll."""
        if self.messages is not None:
            self.messages.polled(cluster, polled)

    def jobs_ended(self, ended: Collection[JobRecord]) -> None:
        """Record what these jobs used, and send their messages. Waits for the disk."""
        self.usage.note(ended)
        if self.messages is not None:
            self.messages.jobs_ended(ended)

    def looked(self) -> None:
        """Send the messages of recorded ends."""
        if self.messages is not None:
            self.messages.looked()

    def open_messages(
        self, *, terminal: Callable[[str], None] | None = None, dashboard: bool = False
    ) -> ProjectMessages:
        """Begin to send the project's messages on the user's channels. See `user_messages`.

        `dashboard`: the end of all jobs is an event, too.
        """
        from rowtui.core.project.messages import ProjectMessages, user_messages

        messages = user_messages(self, terminal, dashboard=dashboard)
        watches = dashboard and not has_network(self.root)
        self.messages = ProjectMessages(self, self.job_table, messages, watches=watches)
        messages.resume()
        return self.messages

    # Mapping and status

    @cached_property
    def mapping(self) -> ProjectMapping:
        """Return the mapping of the project's jobs by its mapping files."""
        from rowtui.core.project.mapping import ProjectMapping

        return ProjectMapping(self)

    def mapping_in_use(self) -> ProjectMapping | None:
        """Return the mapping if mapping files decide where jobs go. Changed files are read again.

        The modules that read mapping files are imported only if there are such files.
        """
        if not has_mapping_files(self.root, self.environment):
            return None
        self.mapping.read()
        return self.mapping if self.mapping.exists else None

    @cached_property
    def _mapped_costs(self) -> MappedCosts:
        from rowtui.core.project.planning.asked import MappedCosts

        return MappedCosts()

    def status_table(self, among: Sequence[int] | None = None) -> StatusTable:
        """Return the status of all directories, or of those at these positions, for every action.

        Costs are those of a plan, with the amounts that mapping files give to the jobs.
        """
        state = self.state
        if among is not None:
            rows = status_table(self.workflow, state, among).rows
        else:
            rows = tuple(self.status_row(action) for action in self.workflow.actions)
        with contextlib.suppress(RowtuiError):  # the costs stay as the actions ask
            if (mapping := self.mapping_in_use()) is not None:
                rows = self._mapped_costs.of(self, mapping, rows, among)
        return StatusTable(rows, len(state.directories), len(state.directories.bad))

    def keep_texts(self, texts: dict[str, str]) -> None:
        """Keep the text of the status table for as long as nothing changes.

        The text is not kept while jobs are submitted, because their end leaves no sign on disk;
        while files have problems to report; or with mapping files, because the table's costs depend
        on them.
        """
        if has_mapping_files(self.root, self.environment):
            return
        stored = self.store.load().stored
        if stored is None or stored.state.generation != self.state.generation:
            return
        if not (self.workflow.problems or any(self.state.submitted.values())):
            write_summary(self.root, self.workflow.workspace, stored, texts)
