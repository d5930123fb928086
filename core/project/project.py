"""The records of one folder, in step with its disk: workflow, state, status rows, orders, clusters.

This is the ground on which a project's parts stand: its jobs, mapping, usage, copies and messages
take a `Project`. `OpenProject` in `open_project.py` has all of these parts, and is what verbs take.
Expensive values (the cluster, launchers, sort orders) are computed on first use.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, Self

from rowtui.core.base.errors import InvalidFileError, NotSavedError, RowtuiError
from rowtui.core.groups.form import cut_groups
from rowtui.core.groups.model import ActionStatus, Status
from rowtui.core.groups.status import action_status, chosen_from, with_status
from rowtui.core.project.context.cluster_context import ClusterContext
from rowtui.core.project.planning.statuses import StatusRows, keep_orders, stored_order
from rowtui.core.project.summary import has_open_journals, unchanged_generation, write_summary
from rowtui.core.state.directories import StoredDirectories
from rowtui.core.state.model import State
from rowtui.core.state.store.store import Store
from rowtui.core.state.store.stored import Identity, identity_of
from rowtui.core.workflow.find import find_project
from rowtui.core.workflow.model import Action, Workflow, workflow_from_json

if TYPE_CHECKING:
    from rowtui.core.base.errors import Problem
    from rowtui.core.clusters.model import Launchers
    from rowtui.core.groups.form import GroupCut
    from rowtui.core.groups.order import ActionOrder
    from rowtui.core.project.context.connections import Connections
    from rowtui.core.project.planning.pack_views import PackChoice
    from rowtui.core.submission.plan.model import Plan

Progress = Callable[[int, int], None]

# Orders of fewer directories are computed faster than they are read from a file.
STORED_ORDER_FROM = 20_000
FRESH_SECONDS = 300.0
"""A notice is given again if nothing gave it for this long."""


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
    """One project's records. `state` is a snapshot; `synchronise` takes a new one."""

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
        self._exported: int | None = None  # the generation of records that Row's files have
        self._workflow_identity: Identity | None = None
        # problems that keep the newest workflow.toml from being used
        self.unused: tuple[Problem, ...] = ()
        self._notices: list[str] = []
        self._noticed: dict[str, float] = {}  # when each was given last, in monotonic seconds
        # Whether and how jobs are put into bundles. False: never; None: as configured.
        self.packing: PackChoice | Literal[False] | None = None
        self.arrays: bool | None = None  # jobs of the same shape as one array; None: as configured
        self.network: NetworkHooks | None = None  # additional steps of a project with a network
        # Receives a cluster's name, and the bytes that were fetched and are to be fetched from it.
        self.fetching: Callable[[str, int, int], None] = lambda *_: None
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
    ) -> Self:
        """Open the project of this folder or of one above it.

        Raises: NoProjectError, WorkflowError.
        """
        root = find_project(start or Path.cwd())
        store = Store(root)
        workflow = _current_workflow(root, store)
        return cls(workflow, store, cluster, io_threads, environment)

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

    def notice(self, text: str) -> None:
        """Add a notice that the user sees once, also if each look at the project gives it again."""
        now, before = time.monotonic(), self._noticed.get(text)
        self._noticed[text] = now
        if before is None or now - before > FRESH_SECONDS:
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
            if self.network is not None:
                self.network.advance()
            return
        from rowtui.core.project.disk import disk_settings, read_disk

        before = self.store.load().stored
        synced = read_disk(
            self.store,
            self.workflow,
            disk_settings(self._state, self.io_threads, progress),
            self.notice,
            full=full,
            check_values=check_values,
            export=export,
        )
        for notice in synced.notices:
            self.notice(notice)
        self.use(synced.state)
        is_first = before is None or not len(before.directories)
        if is_first and synced.saved and len(synced.stored.directories) >= STORED_ORDER_FROM:
            keep_orders(self.store, synced.stored.directories, self.workflow.actions)
        if export and synced.saved and not synced.notices:
            write_summary(self.root, self.workflow.workspace, synced.stored)
        if self.network is not None:
            self.network.advance()

    def _use_unchanged(self) -> bool:
        """Use the stored records if nothing on disk has changed since they were made."""
        generation = unchanged_generation(str(self.root))
        if generation is None:
            return False
        stored = self.store.load().stored
        if stored is None or stored.state.generation != generation:
            return False
        self._exported = generation
        self.use(stored.state)
        return True

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
        stored = self.store.load().stored
        if stored is not None and stored.state.generation == self._exported:
            return
        from rowtui.core.state.row.export import export_row_files

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

    # Statuses and groups

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

    def cut(
        self,
        action: Action,
        statuses: Collection[Status],
        among: Sequence[int] | None = None,
    ) -> GroupCut:
        """Return the groups of an action's directories with these statuses, in order.

        Each group is formed on access. Raises: RowtuiError if the groups cannot be computed or
        ordered.
        """
        row = self.status_row(action, among)
        members = with_status(row, tuple(statuses))
        if row.problem and not members:
            raise RowtuiError(f"action '{action.name}': {row.problem}")
        chosen = members if among is None else chosen_from(among, members)
        return cut_groups(action, self.state.directories, chosen, self.order(action))

    def order(self, action: Action) -> ActionOrder | None:
        """Return the stored order of all directories for an action; None if not worthwhile."""
        sort_by, directories = action.group.sort_by, self.state.directories
        if not sort_by or len(directories) < STORED_ORDER_FROM:
            return None
        if isinstance(directories, StoredDirectories) and not directories.file:
            return None  # some directories are only planned, and not in the cache
        if sort_by not in self._orders:
            assert isinstance(directories, StoredDirectories)
            self._orders[sort_by] = stored_order(self.store, directories, sort_by, self.notice)
        return self._orders[sort_by]

    @cached_property
    def connections(self) -> Connections:
        """Return the clusters of the project, and the connections to them."""
        from rowtui.core.project.context.connections import Connections

        return Connections(self, self.root)

    def has_jobs_to_ask_for(self) -> bool:
        """Whether a scheduler may have news, or a submission was interrupted."""
        return any(self.state.submitted.values()) or has_open_journals(str(self.root))

    def submitted_clusters(self) -> set[str]:
        """Return the clusters that have jobs of this project, as far as is known."""
        return {job.cluster for jobs in self.state.submitted.values() for job in jobs.values()}


def _current_workflow(root: Path, store: Store) -> Workflow:
    """Return the compiled workflow if workflow.toml has not changed since; else parse it again.

    Raises: WorkflowError.
    """
    stored = store.load().stored
    if (
        stored
        and stored.workflow
        and stored.workflow_identity == identity_of(root / "workflow.toml")
    ):
        try:
            return workflow_from_json(json.loads(stored.workflow), root)
        except (ValueError, KeyError, TypeError, IndexError):
            pass  # compiled by another version: parse it
    from rowtui.core.workflow.load import load_workflow

    return load_workflow(root)
