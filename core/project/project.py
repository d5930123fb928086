"""An open project: workflow, state, cluster and scheduler in one object for commands and screens.

The object connects the other packages: it keeps the state in step with the disk, returns statuses
and groups, and makes plans. `jobs.py` holds everything that involves a scheduler. Expensive values
(the cluster, launchers, sort orders) are computed on first use.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from rowtui.core.groups.model import ActionStatus, Group, Status, StatusTable
from rowtui.core.groups.status import action_status, chosen_from, status_table, with_status
from rowtui.core.project.context.cluster_context import ClusterContext
from rowtui.core.project.planning.caches import StatusRows
from rowtui.core.project.summary import (
    has_open_journals,
    unchanged_generation,
    write_summary,
)
from rowtui.core.project.workflows import current_workflow
from rowtui.core.state.model import State
from rowtui.core.state.store.store import Store
from rowtui.core.state.store.stored import Identity, identity_of
from rowtui.core.workflow.find import find_project
from rowtui.core.workflow.model import Action, Workflow

if TYPE_CHECKING:
    from rowtui.core.base.errors import Problem
    from rowtui.core.clusters.model import Launchers
    from rowtui.core.groups.form import GroupCut
    from rowtui.core.groups.order import ActionOrder
    from rowtui.core.project.context.connections import Connections
    from rowtui.core.project.context.copies import Copies
    from rowtui.core.project.jobs import Jobs
    from rowtui.core.project.mapping import ProjectMapping
    from rowtui.core.project.planning.asked import MappedCosts
    from rowtui.core.project.planning.pack_views import PackChoice, PackedPlan
    from rowtui.core.project.planning.requests import Requests
    from rowtui.core.project.review.budgets import ChargedHours
    from rowtui.core.submission.plan.model import Plan
    from rowtui.core.workspace.sync import Disk

Progress = Callable[[int, int], None]

# Orders of fewer directories are computed faster than they are read from a file.
STORED_ORDER_FROM = 20_000


class NetworkHooks(Protocol):
    """The additional steps of a project that has a network."""

    def advance(self) -> None:
        """Create the directories of jobs that are ready according to the current records."""
        ...

    def waiting(self) -> int:
        """Return how many jobs of the network wait for inputs."""
        ...

    def why_not_there(self, action: str, directory: str) -> str:
        """Return why a job of the network has no directory yet; "" if there is no such job."""
        ...

    def submitting(self, plan: Plan) -> None:
        """Record that a plan is about to be submitted.

        Raises: RowtuiError if this is not allowed.
        """
        ...

    def submitted(self, plan: Plan) -> None:
        """Record which jobs of the plan were not submitted after all."""
        ...

    def cancelling(self, tokens: Sequence[str]) -> None:
        """Record that the user cancels these jobs."""
        ...


class Project(ClusterContext):
    """One project, opened by one process. `state` is a snapshot; `synchronise` takes a new one."""

    def __init__(
        self,
        workflow: Workflow,
        store: Store,
        cluster_name: str | None = None,
        io_threads: int | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Set up the project. `environment`: this process's environment by default."""
        super().__init__(cluster_name, environment)
        self.workflow = workflow
        self.store = store
        self.io_threads = io_threads
        self._state: State | None = None
        self._workflow_identity: Identity | None = None
        # problems that keep the newest workflow.toml from being used
        self.unused: tuple[Problem, ...] = ()
        self._notices: list[str] = []
        # Whether and how jobs are put into bundles. False: never; None: as configured.
        self.packing: PackChoice | Literal[False] | None = None
        self.arrays: bool | None = None  # jobs of the same shape as one array; None: as configured
        self.network: NetworkHooks | None = None  # additional steps of a project with a network
        self._rows = StatusRows()
        self._orders: dict[tuple[str, ...], ActionOrder] = {}

    @classmethod
    def open(
        cls,
        start: Path | None = None,
        *,
        cluster: str | None = None,
        io_threads: int | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Project:
        """Open the project of this folder or of one above it.

        Raises: NoProjectError, WorkflowError.
        """
        root = find_project(start or Path.cwd())
        store = Store(root)
        return cls(
            workflow=current_workflow(root, store),
            store=store,
            cluster_name=cluster,
            io_threads=io_threads,
            environment=environment,
        )

    @property
    def root(self) -> Path:
        """Return the folder that holds workflow.toml."""
        return self.workflow.root

    @property
    def state(self) -> State:
        """Return the records as of the last synchronisation."""
        if self._state is None:
            self.synchronise()
        assert self._state is not None
        return self._state

    @property
    def known_state(self) -> State | None:
        """Return the records if they were read already, without reading."""
        return self._state

    def known_mapping_places(self) -> tuple[str, ...]:
        """Return the mapping files on disk, as far as they were read already, without reading."""
        mapping = self.__dict__.get("mapping")
        return () if mapping is None else mapping.known_places()

    def notice(self, text: str) -> None:
        """Add a notice that the user sees once."""
        if text not in self._notices:
            self._notices.append(text)

    def take_notices(self) -> tuple[str, ...]:
        """Return the notices since the last call."""
        taken = tuple(self._notices)
        self._notices.clear()
        return taken

    # Disk

    def reload_workflow_if_changed(self) -> None:
        """Read workflow.toml again if it changed. Raises: WorkflowError, without any change.

        `unused` holds the problems of the file until they are fixed.
        """
        from rowtui.core.base.errors import InvalidFileError
        from rowtui.core.workflow.load import load_workflow

        identity = identity_of(self.workflow.path)
        self.unused = ()
        if identity != self._workflow_identity:
            try:
                self.workflow = load_workflow(self.root)
            except InvalidFileError as error:
                self.unused = tuple(error.problems)
                raise
            self._workflow_identity = identity
            self._rows.forget()

    def synchronise(
        self,
        *,
        full: bool = False,
        check_values: bool = False,
        export: bool = True,
        progress: Progress | None = None,
    ) -> None:
        """Bring the state in step with the workspace, staged completions and Row's files.

        `full`: check every directory again, and remove completions whose products are gone.
        `check_values`: check all directories for edited value files. `export`: also update Row's
        own files. Raises: RowtuiError, OSError.
        """
        if not (full or check_values) and self._use_unchanged():
            self._advance()
            return
        from rowtui.core.project.workflows import compiled_workflow
        from rowtui.core.workspace.sync import synchronise

        _make_workspace(self.root, self.workflow.workspace)
        before = self.store.load().stored
        synced = synchronise(
            self.store,
            self.workflow,
            full=full,
            check_values=full or check_values,
            export=export,
            disk=self.disk(progress),
            compiled=compiled_workflow(self.workflow),
            mend=self.mended,
        )
        for notice in synced.notices:
            self.notice(notice)
        self.use(synced.state)
        is_first = before is None or not len(before.directories)
        if is_first and synced.saved and len(synced.stored.directories) >= STORED_ORDER_FROM:
            from rowtui.core.project.planning.caches import keep_orders

            keep_orders(self.store, synced.stored.directories, self.workflow.actions)
        if export and synced.saved and not synced.notices:
            write_summary(self.root, self.workflow.workspace, synced.stored)
        self._advance()

    def _advance(self) -> None:
        if self.network is not None:
            self.network.advance()

    def mended(self, state: State) -> State:
        """Return rebuilt records, with the jobs that the open journals contain."""
        if not has_open_journals(str(self.root)):
            return state
        from rowtui.core.base.errors import RowtuiError
        from rowtui.core.submission.reconcile.open_jobs import OpenJobs, with_sent

        try:
            return with_sent(state, OpenJobs(self.root).lacking(state))
        except RowtuiError as error:  # then `reserve` refuses every reservation, too
            self.notice(str(error))
            return state

    def _use_unchanged(self) -> bool:
        """Use the stored records if nothing on disk has changed since they were made."""
        generation = unchanged_generation(str(self.root))
        if generation is None:
            return False
        stored = self.store.load().stored
        if stored is None or stored.state.generation != generation:
            return False
        self.use(stored.state)
        return True

    def keep_texts(self, texts: dict[str, str]) -> None:
        """Keep the text of the status table for as long as nothing changes.

        The text is not kept while jobs are submitted, because their end leaves no sign on disk;
        while files have problems to report; or with mapping files, because the table's costs depend
        on them.
        """
        if self._has_mapping_files():
            return
        stored = self.store.load().stored
        if stored is None or stored.state.generation != self.state.generation:
            return
        if not (self.workflow.problems or any(self.state.submitted.values())):
            write_summary(self.root, self.workflow.workspace, stored, texts)

    def disk(self, progress: Progress | None) -> Disk:
        """Return the settings for reading the workspace, with the allowed parallel requests."""
        from rowtui.core.workspace.sync import Disk
        from rowtui.core.workspace.workers import PROCESSES_PAY_FROM, Workers

        workers = None
        if self.io_threads is not None:
            count = len(self._state.directories) if self._state else PROCESSES_PAY_FROM
            workers = Workers.for_count(count, self.io_threads)
        return Disk(workers=workers, progress=progress)

    def use(self, state: State) -> None:
        """Use these records as the current ones."""
        before = self._state
        if before is None or state.directories is not before.directories:
            self._orders.clear()
            self._rows.forget()
        else:
            self._rows.follow(before, state)
        self._state = state

    def close(self) -> None:
        """Update Row's files. A file that cannot be saved gives a notice."""
        from rowtui.core.state.row.export import export_row_files
        from rowtui.core.state.store.store import NotSavedError

        try:
            for notice in export_row_files(self.store).notices:
                self.notice(notice)
        except NotSavedError as error:
            self.notice(str(error))

    # Cluster

    @cached_property
    def launchers(self) -> Launchers:
        """Return the launchers. Raises: InvalidFileError."""
        from rowtui.core.clusters.config.load_launchers import load_launchers

        return load_launchers(self.environment)

    def problems(self) -> tuple[Problem, ...]:
        """Return all problems of workflow.toml and clusters.toml, for this cluster."""
        from rowtui.core.clusters.check import check_workflow

        known = [cluster.name for cluster in self.configured.clusters]
        checked = check_workflow(self.workflow, self.cluster, self.launchers, known)
        return (*self.configured.problems, *self.workflow.problems, *checked)

    # Statuses and groups

    def status(self, among: Sequence[int] | None = None) -> StatusTable:
        """Return the status of all directories, or of those at these positions, for every action.

        Costs are those of a plan, with the amounts that mapping files give to the jobs.
        """
        if among is not None:
            rows = status_table(self.workflow, self.state, among).rows
        else:
            rows = tuple(self.status_row(action) for action in self.workflow.actions)
        if self._has_mapping_files():
            rows = self._mapped_costs.of(self, rows, among)
        return StatusTable(rows, len(self.state.directories), len(self.state.directories.bad))

    def _has_mapping_files(self) -> bool:
        from rowtui.core.project.mapping_files import has_mapping_files

        return has_mapping_files(self.root, self.environment)

    @cached_property
    def charged_hours(self) -> ChargedHours:
        """Return the hours that the project's jobs are charged on clusters."""
        from rowtui.core.project.review.budgets import ChargedHours

        return ChargedHours(self.jobs.journal, self.jobs.plan)

    @cached_property
    def _mapped_costs(self) -> MappedCosts:
        from rowtui.core.project.planning.asked import MappedCosts

        return MappedCosts()

    def status_row(self, action: Action, among: Sequence[int] | None = None) -> ActionStatus:
        """Return the status of all directories for one action.

        If this cannot be computed, the status covers only the directories at the positions of
        `among`.
        """
        row = self._rows.row(action, self.state, self.order)
        if row.problem and among is not None:
            return action_status(action, self.state, among)
        return row

    def known_row(self, action: Action) -> ActionStatus | None:
        """Return the row if it was computed already and is still valid."""
        return self._rows.known(action)

    def groups(
        self,
        action: Action,
        statuses: Collection[Status],
        among: Sequence[int] | None = None,
    ) -> tuple[Group, ...]:
        """Return the groups of an action's directories with these statuses, in order.

        Raises: RowtuiError if the groups cannot be computed or ordered.
        """
        return self.cut(action, statuses, among).page()

    def cut(
        self,
        action: Action,
        statuses: Collection[Status],
        among: Sequence[int] | None = None,
    ) -> GroupCut:
        """Return the groups of `groups` lazily: each is formed on access. Raises: as `groups`."""
        from rowtui.core.base.errors import RowtuiError
        from rowtui.core.groups.form import cut_groups

        row = self.status_row(action, among)
        members = with_status(row, tuple(statuses))
        if row.problem and not members:
            raise RowtuiError(f"action '{action.name}': {row.problem}")
        chosen = members if among is None else chosen_from(among, members)
        return cut_groups(action, self.state.directories, chosen, self.order(action))

    def order(self, action: Action) -> ActionOrder | None:
        """Return the stored order of all directories for an action; None if not worthwhile."""
        from rowtui.core.state.directories import StoredDirectories

        sort_by, directories = action.group.sort_by, self.state.directories
        if not sort_by or len(directories) < STORED_ORDER_FROM:
            return None
        if isinstance(directories, StoredDirectories) and not directories.file:
            return None  # some directories are only planned, and not in the cache
        if sort_by not in self._orders:
            from rowtui.core.project.planning.caches import stored_order

            assert isinstance(directories, StoredDirectories)
            self._orders[sort_by] = stored_order(self.store, directories, sort_by, self.notice)
        return self._orders[sort_by]

    # Submission

    def requests(
        self,
        actions: Sequence[Action],
        among: Sequence[int] | None = None,
        *,
        only: Mapping[int, Collection[int]] | None = None,
        limit: int | None = None,
    ) -> Requests:
        """Return job requests for the eligible directories of these actions, in order.

        `only`: action index -> numbers of the chosen groups, from 0. A bad action does not stop the
        others: it adds a sentence to `problems`. Raises: RowtuiError if a directory would be
        submitted twice.
        """
        from rowtui.core.project.planning.requests import form_requests

        return form_requests(self, actions, among, only=only, limit=limit)

    def plan(
        self,
        actions: Sequence[Action],
        among: Sequence[int] | None = None,
        *,
        only: Mapping[int, Collection[int]] | None = None,
        limit: int | None = None,
    ) -> Plan:
        """Return the plan of what would be submitted. Raises: PlanError, RowtuiError."""
        from rowtui.core.project.planning.plan import plan_submission

        return plan_submission(self, actions, among, only=only, limit=limit)

    def pack(
        self,
        actions: Sequence[Action],
        choice: PackChoice,
        among: Sequence[int] | None = None,
        *,
        only: Mapping[int, Collection[int]] | None = None,
        limit: int | None = None,
        go_on: Callable[[], bool] = lambda: True,
    ) -> PackedPlan:
        """Return the plan in bundles. A better packing is searched while `go_on` returns True.

        Raises: PlanError, RowtuiError.
        """
        from rowtui.core.project.planning.packing import pack_submission

        return pack_submission(self, actions, choice, among, only=only, limit=limit, go_on=go_on)

    @cached_property
    def mapping(self) -> ProjectMapping:
        """Return the mapping of the project's jobs by its mapping files."""
        from rowtui.core.project.mapping import ProjectMapping

        return ProjectMapping(self)

    @cached_property
    def jobs(self) -> Jobs:
        """Return the project's jobs and their schedulers."""
        from rowtui.core.project.jobs import Jobs

        return Jobs(self)

    @cached_property
    def reach(self) -> Connections:
        """Return the clusters of the project, and the connections to them."""
        from rowtui.core.project.context.connections import Connections

        return Connections(self, self.root)

    @cached_property
    def copies(self) -> Copies:
        """Return the copies of the project on clusters that do not share its folder."""
        from rowtui.core.project.context.copies import Copies

        return Copies(self)

    def has_jobs_to_ask_for(self) -> bool:
        """Whether a scheduler may have news, or a submission was interrupted."""
        return any(self.state.submitted.values()) or has_open_journals(str(self.root))

    def submitted_clusters(self) -> set[str]:
        """Return the clusters that have jobs of this project, as far as is known."""
        return {job.cluster for jobs in self.state.submitted.values() for job in jobs.values()}


def _make_workspace(root: Path, workspace: Path) -> None:
    """Create the missing workspace of a project with a network, whose run will fill the workspace.

    If this fails, the code that reads the workspace reports the error.
    """
    from rowtui.core.network.definition.find import has_network

    if not workspace.exists() and has_network(root):
        with contextlib.suppress(OSError):
            workspace.mkdir(parents=True, exist_ok=True)
