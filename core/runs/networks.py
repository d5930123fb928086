"""The network of a project and its runs, for commands and screens: look, start, retry, give up.

One object for one project. What it opens is kept, so that the next look only sees what changed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, TypeVar

from rowtui.core.errors import RowtuiError
from rowtui.core.network.find import NETWORK_FILE, has_network
from rowtui.core.network.growth import Growth
from rowtui.core.network.job_model import Change, JobState
from rowtui.core.network.names import escaped
from rowtui.core.network.spec import Network, Table
from rowtui.core.project.lists import AS_IS, ListAsked
from rowtui.core.runs.autopilot import Answer, Ask, Autopilot, Told
from rowtui.core.runs.estimate import Estimator
from rowtui.core.runs.execution import Work
from rowtui.core.runs.execution_plug_ins import find_execution
from rowtui.core.runs.facts import Facts
from rowtui.core.runs.limits import Breach, Limits, money_of, units_of, unknown_clusters
from rowtui.core.runs.model import Paused
from rowtui.core.runs.redo import Redone, Stale, redo, stale_results, with_what_follows
from rowtui.core.runs.running import Running
from rowtui.core.runs.samples import Samples, Which
from rowtui.core.runs.show import network_view
from rowtui.core.runs.spending import not_sent_events, submitted_events, unsent_of
from rowtui.core.runs.store import BadRun, Run, RunStore
from rowtui.core.runs.study import Study, read_study
from rowtui.core.runs.trash import retired
from rowtui.core.runs.views import Estimate, NetworkView, SamplesPage, Waits
from rowtui.core.runs.waits import waits_of
from rowtui.core.state.model import Directories
from rowtui.core.state.stored import identity_of
from rowtui.core.text import visible

if TYPE_CHECKING:
    from rowtui.core.project.project import Project
    from rowtui.core.submission.model import Plan

T = TypeVar("T")


class Networks:
    """See the module. Waits for the disk, but for `drive`."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.store = RunStore(project.root)
        self.driving: Autopilot | None = None
        self._running: Running | None = None
        self._samples = Samples()
        self._estimator: tuple[Running, Estimator] | None = None
        self._retired: tuple[Study, Directories, list[str]] | None = None
        self._study: tuple[tuple[object, ...], Study, Growth, Facts] | None = None

    @property
    def exists(self) -> bool:
        """Whether the project has a network.toml."""
        return has_network(self.project.root)

    def can_show(self, *, frozen: bool) -> bool:
        """Whether there is anything to see: a network.toml, or a run though that was deleted."""
        return self.exists or (frozen and bool(self.store.ids()))

    # What there is

    def study(self) -> Study:
        """The network as it is on disk now. Raises: NetworkError; SourceError; RowtuiError."""
        return self._known()[1]

    def runs(self) -> tuple[Run | BadRun, ...]:
        """All runs, newest last."""
        return self.store.runs()

    def run(self, name: str | None = None) -> Run | None:
        """A run by its name, or the newest. Raises: RowtuiError if there is none of that name."""
        return self.store.latest() if name is None else self.store.load(name)

    def running(self, name: str | None = None) -> Running | None:
        """A run as it stands, looked at anew; None if there is none. Raises: RowtuiError."""
        if self.driving is not None and name in (None, self.driving.running.run.id):
            return self.driving.running
        run = self.run(name)
        if run is None:
            return None
        had, events = self._running, run.events()
        if had is None or had.run.id != run.id or len(events) < had.events:
            had = None
        if had is None or not had.follow(events[had.events :]):
            self._running = Running(self.project, run, drives=False)
        assert self._running is not None
        self._running.look()
        return self._running

    def view(self, name: str | None = None, *, frozen: bool = True) -> NetworkView:
        """What screens show: a run (the newest), or without any what network.toml says.

        `frozen` False: what network.toml says, in any case. Raises: RowtuiError.
        """
        running = self.running(name) if frozen else None
        if running is None:
            _, study, growth, facts = self._known()
            self._see(growth, facts)
            view = network_view(growth, None, study.problems, study.notices)
            return view._replace(retired=len(self.retired()), clusters=self.clusters)
        here = self.driving is not None and self.driving.running is running
        guess = self._guess(running)
        view = network_view(running.growth, running, running.problems, here=here, guess=guess)
        changed = self.has_changed(running.run)
        try:
            retired = len(self.retired()) if changed else 0
        except RowtuiError:  # what network.toml says now is not known, and does not matter to a run
            retired = 0
        return view._replace(changed=changed, retired=retired, clusters=self.clusters)

    @property
    def clusters(self) -> tuple[str, ...]:
        """The names of the clusters that jobs can be sent to. Raises: RowtuiError."""
        return tuple(self.project.mapping.clusters)

    def has_changed(self, run: Run) -> bool:
        """Whether network.toml or a table of a source is not what a run was made from.

        What cannot be read any more has changed. Files that a pattern finds are not looked at.
        """
        try:
            study = self._known()[1]
        except RowtuiError:
            return True
        if study.network != run.network:
            return True
        frozen = {rows.source: rows.digest for rows in run.rows}
        tables = (it.name for it in study.network.sources if isinstance(it.data, Table))
        return any(study.rows[name].digest != frozen.get(name) for name in tables)

    def retired(self) -> list[str]:
        """Directories that runs made, of samples that no source has any more. Raises: RowtuiError.

        Without those of samples that lists have added, as long as their run is not looked at.
        """
        _, study, growth, _ = self._known()
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

    def _guess(self, running: Running) -> Estimate | None:
        """When a run will be done; None if it is over, or nothing can be told."""
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
        states: Collection[JobState] = (),
        offset: int = 0,
        limit: int = 100,
        name: str | None = None,
        *,
        frozen: bool = True,
        asked: ListAsked = AS_IS,
        find: str = "",
        go_on: Callable[[], bool] = lambda: True,
    ) -> SamplesPage:
        """Some samples of a source or node; `frozen`: as in `view`; `find`: see `Samples.page`.

        Raises: RowtuiError for one that is not there, or a filter that cannot be used.
        """
        running = self.running(name) if frozen else None
        growth = self._known()[2] if running is None else running.growth
        if node not in growth.flow.numbers:
            raise RowtuiError(f"the network has no source or node '{visible(node)}'")
        which = Which(node, tuple(states), asked, go_on)
        return self._samples.page(growth, which, offset, limit, find=find)

    def waits(self, job: int) -> Waits:
        """What a job of the newest run waits for. Raises: RowtuiError."""
        running = self.running()
        growth = self._known()[2] if running is None else running.growth
        return waits_of(growth, job)

    def _known(self) -> tuple[tuple[object, ...], Study, Growth, Facts]:
        """What network.toml and the tables that it names say, read again when one has changed."""
        had = self._study
        network = None if had is None else had[1].network
        if had is None or had[0] != self._stamps(network):
            study = read_study(self.project)
            growth = Growth(study.flow)
            had = self._study = (self._stamps(study.network), study, growth, Facts(growth))
        return had

    def _stamps(self, network: Network | None) -> tuple[object, ...]:
        root = self.project.root
        tables = [
            it.data.path
            for it in (network.sources if network else ())
            if isinstance(it.data, Table)
        ]
        paths = (NETWORK_FILE, *tables)
        return (
            *(identity_of(root / path) for path in paths),
            identity_of(self.project.workflow.path),
        )

    def _see(self, growth: Growth, facts: Facts) -> None:
        news = facts.news(self.project.state, lambda *_: True)
        growth.graph.reopen(news.gone)
        growth.graph.activate(news.active)
        growth.graph.release(news.back)
        growth.graph.complete(news.complete)
        for failed in news.failed:
            growth.graph.fail(failed.job, failed.failure.reason)

    # What is done

    def begin(
        self,
        limits: Limits | None = None,
        *,
        anew: bool = False,
        name: str | None = None,
        plug_ins: Mapping[str, str] | None = None,
    ) -> Run:
        """The run to go on with: that of this name, the newest that is not over, or a new one.

        `limits`: confirmed by a person, from now on. `anew`: a new one in any case.
        Raises: RowtuiError, also for a limit to a cluster that is not known.
        """
        patterns = limits.destinations if limits is not None else None
        if patterns and (wrong := unknown_clusters(patterns, self.clusters)):
            raise RowtuiError(wrong, "write the name of a cluster, or CLUSTER/PARTITION")
        run = None if anew else self.run(name)
        if run is None or (name is None and run.status.is_over):
            study = read_study(self.project)
            return self.store.create(
                study.network,
                study.rows.values(),
                limits=limits,
                cluster=self.project.cluster_name or "",
                plug_ins=plug_ins,
            )
        if limits is not None:
            run.confirm(limits, time.time())
        return run

    async def drive(
        self,
        run: Run,
        ask: Ask | None = None,
        *,
        by_step: bool = False,
        turn: asyncio.Lock | None = None,
        ask_queues: Callable[[], Awaitable[None]] | None = None,
    ) -> AsyncGenerator[Told, None]:
        """Drive a run until it is over, or a person has to decide. Raises: RowtuiError.

        Without `ask`, what limits do not allow pauses it. `turn`, `ask_queues`: see `Autopilot`.
        """
        turn = turn or asyncio.Lock()
        with run.hold():
            async with turn:
                running = await asyncio.to_thread(Running, self.project, run)
            self.driving = Autopilot(
                running, ask or _nobody, by_step=by_step, turn=turn, ask_queues=ask_queues
            )
            try:
                async with aclosing(self.driving.drive()) as telling:
                    async for told in telling:
                        yield told
            finally:
                self.driving = None
                self._running = None

    async def next_plan(self, run: Run) -> tuple[Plan | None, tuple[str, ...]]:
        """What a run would submit now, for a person to confirm; and why something cannot be.

        Raises: PlanError; RowtuiError; RunHeldError.
        """
        with run.hold():
            running = await asyncio.to_thread(Running, self.project, run)
            await asyncio.to_thread(running.begin)
            found = await find_execution(running.execution).plan(Work(running))
            if running.graph.is_over:
                await asyncio.to_thread(running.finish)
            self._running = None
        return found.plan, found.blocked

    def note_submitted(self, run: Run, plan: Plan) -> None:
        """Write down that a plan of a run is about to be carried out. Raises: RowtuiError."""
        run.append(*submitted_events(plan.id, units_of(plan, money_of(plan))))
        self._running = None

    def note_unsent(self, run: Run, plan: Plan) -> None:
        """Write down what of it was not sent after all: it costs nothing. Raises: RowtuiError."""
        unsent = unsent_of(plan, self.project.jobs.journal)
        if free := not_sent_events(plan.id, tuple(units_of(plan, money_of(plan))), unsent):
            run.append(*free)
        self._running = None

    def retry(self, jobs: Sequence[int], name: str | None = None) -> Change:
        """Try failed jobs again. Raises: RowtuiError, RunHeldError."""
        return self._decide(name, lambda running: running.retry(jobs))

    def give_up(self, jobs: Sequence[int], why: str = "", name: str | None = None) -> Change:
        """Give jobs up, with what depends on them. Raises: RowtuiError, RunHeldError."""
        return self._decide(name, lambda running: running.cancel(jobs, why))

    def stale(self, name: str | None = None) -> list[Stale]:
        """Results of a run that were made from other members than now. Raises: RowtuiError."""
        running = self.running(name)
        return [] if running is None else stale_results(running)

    def redo(self, jobs: Sequence[int], name: str | None = None) -> Redone:
        """Have complete jobs run again, and all that was made from their results.

        Their products go to the trash. Raises: RowtuiError, RunHeldError.
        """
        return self._decide(name, lambda it: redo(it, with_what_follows(it, jobs)))

    def _decide(self, name: str | None, what: Callable[[Running], T]) -> T:
        if self.driving is not None:
            return what(self.driving.running)
        run = self.run(name)
        if run is None:
            raise RowtuiError("there is no run of this network", "'rowtui network run' starts one")
        with run.hold():
            running = Running(self.project, run)
            running.look()
            self._running = None
            done = what(running)
            if running.status.is_over and not running.graph.is_over:
                run.append(Paused(time.time(), "jobs are to run again"))
            return done


async def _nobody(_: Plan, __: tuple[Breach, ...]) -> Answer:
    return Answer()
