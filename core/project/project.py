"""A project opened: workflow, state, cluster and scheduler in one object for commands and screens.

It wires the rooms: keeps the state in step with the disk, tells statuses and groups, makes plans.
What involves a scheduler is in `jobs.py`. Everything expensive (the cluster, launchers, sort
orders) is found when it is first asked for.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rowtui.core.grouping.model import ActionStatus, Group, Status, StatusTable
from rowtui.core.grouping.status import action_status, chosen_from, status_table, with_status
from rowtui.core.project.rows import StatusRows
from rowtui.core.project.summary import (
    has_open_journals,
    unchanged_generation,
    write_summary,
)
from rowtui.core.project.surroundings import Surroundings
from rowtui.core.project.workflows import current_workflow
from rowtui.core.state.model import State
from rowtui.core.state.store import Store
from rowtui.core.state.stored import Identity, identity_of
from rowtui.core.workflow.find import find_project
from rowtui.core.workflow.model import Action, Workflow

if TYPE_CHECKING:
    from rowtui.core.clusters.model import Launchers
    from rowtui.core.errors import Problem
    from rowtui.core.grouping.form import GroupCut
    from rowtui.core.grouping.order import ActionOrder
    from rowtui.core.project.copies import Copies
    from rowtui.core.project.jobs import Jobs
    from rowtui.core.project.mapping import ProjectMapping
    from rowtui.core.project.pack_views import PackChoice, PackedPlan
    from rowtui.core.project.reach import Reach
    from rowtui.core.project.requests import Requests
    from rowtui.core.submission.model import Plan
    from rowtui.core.workspace.sync import Disk

Progress = Callable[[int, int], None]

# Orders of fewer directories are computed faster than they are read from a file.
STORED_ORDER_FROM = 20_000


class Project(Surroundings):
    """One project, opened by one process. `state` is a snapshot; `synchronise` takes a new one."""

    def __init__(
        self,
        workflow: Workflow,
        store: Store,
        cluster_name: str | None = None,
        io_threads: int | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`environment`: this process's if it is not given."""
        super().__init__(cluster_name, environment)
        self.workflow = workflow
        self.store = store
        self.io_threads = io_threads
        self._state: State | None = None
        self._workflow_identity: Identity | None = None
        self.unused: tuple[Problem, ...] = ()  # why the newest workflow.toml is not used
        self._notices: list[str] = []
        # Jobs in bundles, and how; False: never; None: as configured.
        self.packing: PackChoice | Literal[False] | None = None
        self.arrays: bool | None = None  # jobs of the same shape as one array; None: as configured
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
        """The project of this folder or of one above it.

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
        """The folder that holds workflow.toml."""
        return self.workflow.root

    @property
    def state(self) -> State:
        """The records as of the last synchronisation."""
        if self._state is None:
            self.synchronise()
        assert self._state is not None
        return self._state

    @property
    def known_state(self) -> State | None:
        """The records if they were read already; reads nothing."""
        return self._state

    def known_mapping_places(self) -> tuple[str, ...]:
        """The mapping files on disk, as far as they were read already; reads nothing."""
        mapping = self.__dict__.get("mapping")
        return () if mapping is None else mapping.known_places()

    def notice(self, text: str) -> None:
        """Something that people should know once."""
        if text not in self._notices:
            self._notices.append(text)

    def take_notices(self) -> tuple[str, ...]:
        """What was noticed since the last time."""
        taken = tuple(self._notices)
        self._notices.clear()
        return taken

    # The disk

    def reload_workflow_if_changed(self) -> None:
        """Read workflow.toml again. Raises: WorkflowError; the workflow then stays as it was.

        What is wrong with it then is in `unused`, until it is mended.
        """
        from rowtui.core.errors import InvalidFileError
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

        `full`: look at every directory again, and un-complete what lost its products;
        `check_values`: look for edited value files everywhere. `export`: bring Row's own files up
        to date as well. Raises: RowtuiError, OSError.
        """
        if not (full or check_values) and self._use_unchanged():
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
            from rowtui.core.project.orders import keep_orders

            keep_orders(self.store, synced.stored.directories, self.workflow.actions)
        if export and synced.saved and not synced.notices:
            write_summary(self.root, self.workflow.workspace, synced.stored)

    def mended(self, state: State) -> State:
        """Records that are made again, with the jobs that the open journals know."""
        if not has_open_journals(str(self.root)):
            return state
        from rowtui.core.errors import RowtuiError
        from rowtui.core.submission.open_jobs import OpenJobs, with_sent

        try:
            return with_sent(state, OpenJobs(self.root).lacking(state))
        except RowtuiError as error:  # then nothing is reserved either: see `reserve`
            self.notice(str(error))
            return state

    def _use_unchanged(self) -> bool:
        """Take the records as they are if nothing on disk has changed since they were made."""
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

        Not while jobs are submitted, which end without a sign, nor with a file's problems to say.
        """
        stored = self.store.load().stored
        if stored is None or stored.state.generation != self.state.generation:
            return
        if not (self.workflow.problems or any(self.state.submitted.values())):
            write_summary(self.root, self.workflow.workspace, stored, texts)

    def disk(self, progress: Progress | None) -> Disk:
        """How the workspace is looked at: with as many requests at once as were allowed."""
        from rowtui.core.workspace.sync import Disk
        from rowtui.core.workspace.workers import PROCESSES_PAY_FROM, Workers

        workers = None
        if self.io_threads is not None:
            count = len(self._state.directories) if self._state else PROCESSES_PAY_FROM
            workers = Workers.for_count(count, self.io_threads)
        return Disk(workers=workers, progress=progress)

    def use(self, state: State) -> None:
        """Take these records as the current ones."""
        before = self._state
        if before is None or state.directories is not before.directories:
            self._orders.clear()
            self._rows.forget()
        else:
            self._rows.follow(before, state)
        self._state = state

    def close(self) -> None:
        """Bring Row's files up to date. What cannot be saved is a notice."""
        from rowtui.core.state.export import export_row_files
        from rowtui.core.state.store import NotSavedError

        try:
            for notice in export_row_files(self.store).notices:
                self.notice(notice)
        except NotSavedError as error:
            self.notice(str(error))

    # Which cluster

    @cached_property
    def launchers(self) -> Launchers:
        """The launchers. Raises: InvalidFileError."""
        from rowtui.core.clusters.load import load_launchers

        return load_launchers(self.environment)

    def problems(self) -> tuple[Problem, ...]:
        """All that is wrong in workflow.toml and clusters.toml, for this cluster."""
        from rowtui.core.clusters.check import check_workflow

        known = [cluster.name for cluster in self.configured.clusters]
        checked = check_workflow(self.workflow, self.cluster, self.launchers, known)
        return (*self.configured.problems, *self.workflow.problems, *checked)

    # Statuses and groups

    def status(self, among: Sequence[int] | None = None) -> StatusTable:
        """The status of all directories, or of those at these positions, for every action."""
        if among is not None:
            return status_table(self.workflow, self.state, among)
        return StatusTable(
            rows=tuple(self.status_row(action) for action in self.workflow.actions),
            directories=len(self.state.directories),
            bad=len(self.state.directories.bad),
        )

    def status_row(self, action: Action, among: Sequence[int] | None = None) -> ActionStatus:
        """The status of all directories for one action.

        Where that cannot be told, the status of those at the positions of `among` alone.
        """
        row = self._rows.row(action, self.state, self.order)
        if row.problem and among is not None:
            return action_status(action, self.state, among)
        return row

    def known_row(self, action: Action) -> ActionStatus | None:
        """The row if it was told already and is still right."""
        return self._rows.known(action)

    def groups(
        self,
        action: Action,
        statuses: Collection[Status],
        among: Sequence[int] | None = None,
    ) -> tuple[Group, ...]:
        """The groups of an action's directories with these statuses, in order.

        Raises: RowtuiError if they cannot be told or ordered.
        """
        return self.cut(action, statuses, among).page()

    def cut(
        self,
        action: Action,
        statuses: Collection[Status],
        among: Sequence[int] | None = None,
    ) -> GroupCut:
        """The same groups, formed only where somebody looks at them. Raises: as `groups`."""
        from rowtui.core.errors import RowtuiError
        from rowtui.core.grouping.form import cut_groups

        row = self.status_row(action, among)
        members = with_status(row, tuple(statuses))
        if row.problem and not members:
            raise RowtuiError(f"action '{action.name}': {row.problem}")
        chosen = members if among is None else chosen_from(among, members)
        return cut_groups(action, self.state.directories, chosen, self.order(action))

    def order(self, action: Action) -> ActionOrder | None:
        """The stored order of all directories for an action; None where none is worth storing."""
        from rowtui.core.state.directories import StoredDirectories

        sort_by, directories = action.group.sort_by, self.state.directories
        if not sort_by or len(directories) < STORED_ORDER_FROM:
            return None
        if sort_by not in self._orders:
            from rowtui.core.project.orders import stored_order

            assert isinstance(directories, StoredDirectories)
            self._orders[sort_by] = stored_order(self.store, directories, sort_by, self.notice)
        return self._orders[sort_by]

    # What could be submitted

    def requests(
        self,
        actions: Sequence[Action],
        among: Sequence[int] | None = None,
        *,
        only: Mapping[int, Collection[int]] | None = None,
        limit: int | None = None,
    ) -> Requests:
        """Job requests for the eligible directories of these actions, in order.

        `only`: action index -> which of its groups, from 0. One bad action never stops the
        others: it is a sentence in `problems`. Raises: RowtuiError if a directory would be
        submitted twice.
        """
        from rowtui.core.project.requests import form_requests

        return form_requests(self, actions, among, only=only, limit=limit)

    def plan(
        self,
        actions: Sequence[Action],
        among: Sequence[int] | None = None,
        *,
        only: Mapping[int, Collection[int]] | None = None,
        limit: int | None = None,
    ) -> Plan:
        """What would be submitted. Raises: PlanError, RowtuiError."""
        from rowtui.core.project.planning import plan_submission

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
        """What would be submitted in bundles; the best that is found while `go_on` says yes.

        Raises: PlanError, RowtuiError.
        """
        from rowtui.core.project.packing import pack_submission

        return pack_submission(self, actions, choice, among, only=only, limit=limit, go_on=go_on)

    @cached_property
    def mapping(self) -> ProjectMapping:
        """Where the project's jobs go, by its mapping files."""
        from rowtui.core.project.mapping import ProjectMapping

        return ProjectMapping(self)

    @cached_property
    def jobs(self) -> Jobs:
        """The project's jobs and their schedulers."""
        from rowtui.core.project.jobs import Jobs

        return Jobs(self)

    @cached_property
    def reach(self) -> Reach:
        """The clusters of the project, and the connections to them."""
        from rowtui.core.project.reach import Reach

        return Reach(self, self.root)

    @cached_property
    def copies(self) -> Copies:
        """The copies of the project on clusters that do not see its folder."""
        from rowtui.core.project.copies import Copies

        return Copies(self)

    def has_jobs_to_ask_for(self) -> bool:
        """Whether a scheduler may know something new, or a submission was cut off."""
        return any(self.state.submitted.values()) or has_open_journals(str(self.root))

    def submitted_clusters(self) -> set[str]:
        """The clusters that have jobs of this project, as far as is known."""
        return {job.cluster for jobs in self.state.submitted.values() for job in jobs.values()}


def _make_workspace(root: Path, workspace: Path) -> None:
    """Make the workspace of a project that has a network and none yet: it will be filled.

    Where it cannot be made, whoever reads it says so.
    """
    from rowtui.core.network.find import has_network

    if not workspace.exists() and has_network(root):
        with contextlib.suppress(OSError):
            workspace.mkdir(parents=True, exist_ok=True)
