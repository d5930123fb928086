"""Queries on the network of a project and its runs. No query changes a run.

Opened runs are kept, so that the next view processes only changes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.network.definition.spec import Network, TableSource
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.network.samples.names import escaped
from rowtui.core.project.views.views import AS_IS, ListRequest
from rowtui.core.runs.directories.materialise import Unstarted
from rowtui.core.runs.directories.trash import retired
from rowtui.core.runs.execution.autopilot import Autopilot
from rowtui.core.runs.limits.asked import GraphAmounts
from rowtui.core.runs.limits.estimate import Estimator
from rowtui.core.runs.limits.spending import (
    RemainingCost,
    work_left,
)
from rowtui.core.runs.redo import Stale, stale_results
from rowtui.core.runs.running import OpenRun
from rowtui.core.runs.samples import RequestedSamples, SampleLists
from rowtui.core.runs.show import missing_inputs, network_view, waits_of
from rowtui.core.runs.snapshot import Study, read_study
from rowtui.core.runs.store import BadRun, Run, RunStore
from rowtui.core.runs.views import Estimate, NetworkView, SamplesPage, WaitPath
from rowtui.core.state.model import Directories
from rowtui.core.state.store.stored import identity_of
from rowtui.core.workflow.find import NETWORK_FILE, has_network

if TYPE_CHECKING:
    from rowtui.core.network.graph.dynamic_graph import Growth
    from rowtui.core.project.open_project import OpenProject


class NetworkQueries:
    """The network of a project and its runs for screens. All methods block on the disk."""

    def __init__(self, project: OpenProject) -> None:
        self.project = project
        self.store = RunStore(project.root)
        self.driving: Autopilot | None = None
        self._running: OpenRun | None = None
        self._samples = SampleLists()
        self._estimator: tuple[OpenRun, Estimator] | None = None
        self._retired: tuple[Study, Directories, list[str]] | None = None
        self._unstarted: tuple[tuple[object, ...], Unstarted] | None = None
        self._asked: tuple[Growth, GraphAmounts] | None = None

    @property
    def exists(self) -> bool:
        """Whether the project has a network.toml."""
        return has_network(self.project.root)

    def can_show(self, *, frozen: bool) -> bool:
        """Whether there is a network.toml, or with `frozen` a run whose network.toml was
        deleted.
        """
        return self.exists or (frozen and bool(self.store.ids()))

    def study(self) -> Study:
        """Return the network as it is on disk. Raises: NetworkError; SourceError; RowtuiError."""
        return self.unstarted().study

    def runs(self) -> tuple[Run | BadRun, ...]:
        """Return all runs, newest last."""
        return self.store.runs()

    def run(self, name: str | None = None) -> Run | None:
        """Return a run by its name, or the newest. Raises: RowtuiError if no run has that name."""
        return self.store.latest() if name is None else self.store.load(name)

    def running(self, name: str | None = None) -> OpenRun | None:
        """Return an updated view of a run; None if there is no run. Raises: RowtuiError."""
        if self.driving is not None and name in (None, self.driving.running.run.id):
            return self.driving.running
        run = self.run(name)
        if run is None:
            return None
        had, events = self._running, run.events()
        if had is None or had.run.id != run.id or len(events) < had.events:
            had = None
        if had is None or not had.follow(events[had.events :]):
            self._running = OpenRun(self.project, run, drives=False)
        assert self._running is not None
        self._running.look()
        return self._running

    def view(self, name: str | None = None, *, frozen: bool = True) -> NetworkView:
        """Return the view that screens show: a run (by default the newest), or network.toml without
        one.

        `frozen` False: show network.toml in any case. Raises: RowtuiError.
        """
        running = self.running(name) if frozen else None
        if running is None:
            unstarted = self.unstarted()
            unstarted.look()
            study = unstarted.study
            view = network_view(unstarted.growth, None, study.problems, study.notices)
            view = view._replace(retired=len(self.retired()), clusters=self.clusters)
            return self._with_left(view, self.left(frozen=False, anew=True))
        here = self.driving is not None and self.driving.running is running
        guess = self._guess(running)
        view = network_view(running.growth, running, running.problems, here=here, guess=guess)
        changed = self.has_changed(running.run)
        try:
            retired = len(self.retired()) if changed else 0
        except RowtuiError:  # the present network.toml is invalid, which does not affect the run
            retired = 0
        view = view._replace(changed=changed, retired=retired, clusters=self.clusters)
        return self._with_left(view, self.left(name))

    def _with_left(self, view: NetworkView, left: RemainingCost) -> NetworkView:
        return view._replace(left=left.cost, refused=left.refused)

    def left(
        self,
        name: str | None = None,
        *,
        frozen: bool = True,
        anew: bool = False,
        execution: str | None = None,
    ) -> RemainingCost:
        """Return the unsubmitted jobs and their cost, with names as in `view`.

        `anew`: for a new run. `execution`: the execution plug-in, if not the network's own. Raises:
        RowtuiError.
        """
        running = self.running(name) if frozen else None
        if running is not None:
            execution = execution or running.execution
            return work_left(running.growth, running.asked.now(), execution, anew=anew)
        unstarted = self.unstarted()
        unstarted.look()
        study, growth = unstarted.study, unstarted.growth
        if self._asked is None or self._asked[0] is not growth:
            self._asked = growth, GraphAmounts(self.project, growth)
        execution = execution or study.network.schedule.execution
        return work_left(growth, self._asked[1].now(), execution, anew=anew)

    @property
    def clusters(self) -> tuple[str, ...]:
        """Return the names of the clusters that jobs can be submitted to. Raises: RowtuiError."""
        return tuple(self.project.mapping.clusters)

    def has_changed(self, run: Run) -> bool:
        """Whether network.toml or a source's table differs from the one that a run was made from.

        A file that cannot be read any more counts as changed. Files that match patterns are not
        checked.
        """
        try:
            study = self.study()
        except RowtuiError:
            return True
        if study.network != run.network:
            return True
        frozen = {rows.source: rows.digest for rows in run.rows}
        tables = (it.name for it in study.network.sources if isinstance(it.data, TableSource))
        return any(study.rows[name].digest != frozen.get(name) for name in tables)

    def retired(self) -> list[str]:
        """Return directories that runs made and whose samples no source has. Raises: RowtuiError.

        Directories of nodes to which lists may add samples are left out.
        """
        unstarted = self.unstarted()
        study, growth = unstarted.study, unstarted.growth
        directories = self.project.state.directories
        had = self._retired
        if had is None or had[0] is not study or had[1] is not directories:
            flow = growth.flow
            wanted = {name for home in flow.homes for name in flow.directories(home)}
            open_nodes = {name for name, run in flow.runs.items() if run.opens.number}
            made = (
                name
                for name in self.store.made()
                if not any(name.startswith(f"{escaped(node)},") for node in open_nodes)
            )
            had = self._retired = (study, directories, retired(self.project, made, wanted))
        return had[2]

    def _guess(self, running: OpenRun) -> Estimate | None:
        """Return when a run will be done; None if it is over or no estimate is possible."""
        if running.graph.is_over:
            return None
        if self._estimator is None or self._estimator[0] is not running:
            self._estimator = (running, Estimator(running))
        try:
            return self._estimator[1].at(time.time())
        except RowtuiError:
            return None

    def samples(
        self,
        node: str,
        states: Collection[GraphJobState] = (),
        offset: int = 0,
        limit: int = 100,
        name: str | None = None,
        *,
        frozen: bool = True,
        asked: ListRequest = AS_IS,
        find: str = "",
        go_on: Callable[[], bool] = lambda: True,
    ) -> SamplesPage:
        """Return a page of a source's or node's samples.

        `frozen`: as in `view`; `find`: `SampleLists.page`. Raises: RowtuiError for an unknown
        source or node, or an invalid filter.
        """
        running = self.running(name) if frozen else None
        growth = self.unstarted().growth if running is None else running.growth
        if node not in growth.flow.numbers:
            raise RowtuiError(f"the network has no source or node '{visible(node)}'")
        which = RequestedSamples(node, tuple(states), asked, go_on)
        return self._samples.page(growth, which, offset, limit, find=find)

    def waits(self, job: int) -> WaitPath:
        """Return what a job of the newest run waits for. Raises: RowtuiError."""
        running = self.running()
        growth = self.unstarted().growth if running is None else running.growth
        return waits_of(growth, job)

    def unstarted(self) -> Unstarted:
        """Return the network of network.toml and its tables, read again when one of them has
        changed.

        Raises: NetworkError; SourceError; RowtuiError.
        """
        had = self._unstarted
        network = None if had is None else had[1].study.network
        if had is None or had[0] != self._stamps(network):
            study = read_study(self.project)
            had = self._unstarted = (self._stamps(study.network), Unstarted(self.project, study))
        return had[1]

    def _stamps(self, network: Network | None) -> tuple[object, ...]:
        root = self.project.root
        tables = [
            it.data.path
            for it in (network.sources if network else ())
            if isinstance(it.data, TableSource)
        ]
        nodes = network.nodes if network else ()
        inner = dict.fromkeys(it.place.file for it in nodes if it.place.file)
        paths = (NETWORK_FILE, *tables, *inner)
        return (
            *(identity_of(root / path) for path in paths),
            identity_of(self.project.workflow.path),
        )

    def _now(self) -> OpenRun | Unstarted:
        """Return the newest open run, otherwise the network of network.toml, updated from the
        records.
        """
        run = self.run()
        if run is not None and not run.status.is_over:
            running = self.running()
            assert running is not None
            return running
        unstarted = self.unstarted()
        unstarted.look()
        return unstarted

    def waiting(self) -> int:
        """Return how many jobs wait for inputs. Raises: RowtuiError."""
        return sum(each[GraphJobState.WAITING] for each in self._now().growth.graph.counts())

    def why_not_there(self, action: str, directory: str) -> str:
        """Return a sentence on why a job's directory does not exist yet; "" for an unknown job.

        Raises: RowtuiError.
        """
        growth = self._now().growth
        found = growth.jobs_of(action, [directory])
        return missing_inputs(growth, found[0]) if found else ""

    def stale(self, name: str | None = None) -> list[Stale]:
        """Return results of a run that were made from other inputs than now.

        Raises: RowtuiError.
        """
        running = self.running(name)
        return [] if running is None else stale_results(running)
