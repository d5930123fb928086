"""A project's mapper: its mapping files, the known facts about clusters, and jobs as requests.

The input is an open project. The result is placements for planning and decisions to be shown. Files
are read when they are first needed and again after a change; without mapping files, the partitions
of the cluster are the destinations.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from rowtui.core.base.errors import Problem, RowtuiError
from rowtui.core.base.lazy import asyncio
from rowtui.core.clusters.model import Cluster, ClusterLoad
from rowtui.core.clusters.partition import job_totals
from rowtui.core.clusters.schedulers.kind import is_this_machine, kind_of
from rowtui.core.clusters.schedulers.local.machine import machine_capacity
from rowtui.core.groups.form import job_requests
from rowtui.core.groups.model import Group, JobRequest
from rowtui.core.mapping.engine.explain import decide
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.files.load import load_mapping
from rowtui.core.mapping.files.places import FoundSources, user_places
from rowtui.core.mapping.files.sources import find_sources
from rowtui.core.mapping.model.cluster_destinations import destinations_of
from rowtui.core.mapping.model.configuration import Configuration
from rowtui.core.mapping.model.decision import Decision, Placement
from rowtui.core.mapping.model.origin import FilePosition
from rowtui.core.mapping.model.request import (
    NOTHING_KNOWN,
    Amounts,
    ClusterFacts,
    MappingRequest,
    Person,
    WhatIf,
)
from rowtui.core.project.context.credentials import this_person
from rowtui.core.project.input_size import input_gigabytes
from rowtui.core.submission.plan.apply_placement import placed
from rowtui.core.submission.plan.planner import job_memory_mb
from rowtui.core.workflow.model import Resources

if TYPE_CHECKING:
    from rowtui.core.project.project import Project
    from rowtui.core.state.model import Directories

_LOAD_SECONDS = 10.0
_VALUES_FOR = 10_000  # most directories of one job whose values are passed to expressions
_INPUTS = frozenset({"input_size", "job", "helpers"})  # names whose values depend on input files


class ProjectMapping:
    """Computes where a project's jobs go. `person`: who submits, this process's user."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.person = this_person()
        self.facts = NOTHING_KNOWN
        self.loads_at = 0.0
        self._asked_at = float("-inf")
        self._found: FoundSources | None = None
        self._key: tuple[str, ...] = ()
        self._mapper: Mapper | None = None

    @property
    def sources(self) -> FoundSources:
        """Return the mapping files as they were last read."""
        if self._found is None:
            self.read()
        assert self._found is not None
        return self._found

    def known_places(self) -> tuple[str, ...]:
        """Return the absolute paths of the files that were read last, without reading."""
        sources = () if self._found is None else self._found.sources
        return tuple(source.place for source in sources if source.place.startswith("/"))

    def read(self) -> None:
        """Read the mapping files again; unchanged files are not loaded again."""
        environment = self.project.environment
        found = find_sources(self.project.root, places=user_places(environment), now=time.time())
        key = tuple(f"{source.digest} {source.trusted}" for source in found.sources)
        if self._found is None or key != self._key or found.problems != self._found.problems:
            self._mapper = None
        self._found, self._key = found, key
        known = self.__dict__.pop("clusters", None)
        if known is not None and known != self.clusters:
            self._mapper = None

    @property
    def exists(self) -> bool:
        """Whether any mapping file takes part in the placement of jobs."""
        return bool(self.sources.sources or self.sources.problems)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Return the problems of the files, as far as they were loaded."""
        return self._mapper.configuration.problems if self._mapper is not None else ()

    @property
    def configuration(self) -> Configuration:
        """Return the combined content of the files."""
        return self.mapper.configuration

    @property
    def mapper(self) -> Mapper:
        """Return the mapper for this project on the chosen cluster. Raises: RowtuiError."""
        if self._mapper is None:
            cluster = self.project.cluster
            clusters = {each.name: each for each in self.project.configured.clusters}
            clusters.update(self.clusters)
            configuration = load_mapping(self.sources.sources, self.sources.problems)
            added = () if configuration.of_kind("destinations") else destinations_of(cluster)
            self._mapper = Mapper(configuration, clusters=clusters, added=added)
        return self._mapper

    def place_of(self, field: str, value: object) -> FilePosition:
        """Return where the files set a field to this value, or, if code computes it, to any."""
        found = [
            said
            for entities in self.configuration.entities.values()
            for entity in entities.values()
            for holder in (entity, *entity.rules.values())
            for said in holder.said.get(field, ())
        ]
        found.sort(key=lambda said: said.value != value)
        return found[0].origin.place if found else FilePosition("")

    def know(self, loads: Sequence[ClusterLoad]) -> None:
        """Store the loads that clusters reported."""
        known = {
            (load.cluster, each.partition): each
            for load in loads
            if not load.error
            for each in load.partitions
        }
        if known != self.facts.loads:
            self.facts = self.facts._replace(generation=self.facts.generation + 1, loads=known)
        self.loads_at = max((load.at for load in loads if not load.error), default=self.loads_at)

    @cached_property
    def clusters(self) -> Mapping[str, Cluster]:
        """Return the clusters to which jobs can be sent from here, by name. Raises: RowtuiError.

        These are the default cluster of jobs and all clusters that are reached over SSH.
        """
        connections = self.project.connections
        found = {}
        for each in connections.remote():
            try:
                found[each.name] = connections.described(each, ask=False)
            except RowtuiError:
                # its partitions are not known: mapping files may define them
                found[each.name] = each
        return {**found, self.project.cluster.name: self.project.cluster}

    def cluster_of(self, placement: Placement) -> Cluster:
        """Return the cluster to which a job goes. Raises: RowtuiError."""
        cluster = self.clusters.get(placement.runner)
        return self.project.cluster if cluster is None else cluster

    async def ask_loads(self, patience: float = 0.0) -> None:
        """Ask the clusters for their loads, unless they were asked at most `patience` seconds ago.

        Loads that are not reported within a few seconds stay unknown. Only the default cluster of
        jobs may prompt the user for a login.
        """
        if time.monotonic() - self._asked_at < patience:
            return
        self._asked_at = time.monotonic()
        try:
            await asyncio.to_thread(lambda: self.project.cluster)
        except RowtuiError:
            return
        mine = self.project.cluster.name
        loads = await asyncio.gather(
            *(
                self._load(each) if each.name == mine else self._load_of_other(each)
                for each in self.clusters.values()
            )
        )
        self.know([load for load in loads if load is not None])

    async def _load_of_other(self, cluster: Cluster) -> ClusterLoad | None:
        """Return the load of a cluster that is not the default.

        The cluster's login never prompts the user.
        """
        with self.project.connections.asking_nobody(cluster.name):
            try:
                async with asyncio.timeout(_LOAD_SECONDS):
                    return await self._load(cluster)
            except TimeoutError:
                return None

    async def _load(self, cluster: Cluster) -> ClusterLoad | None:
        transport = self.project.connections.transport(cluster)
        return await kind_of(cluster).load(transport, cluster.name, _LOAD_SECONDS)

    def ask_loads_if_read(self) -> None:
        """Ask for the loads now, if an expression reads them. Not for use in an event loop."""
        if self.mapper.reads_loads:
            self.project.wait(self.ask_loads())

    def _facts(self) -> ClusterFacts:
        return self.facts._replace(reachable=frozenset(self.clusters), machines=self._machines)

    @cached_property
    def _machines(self) -> Mapping[str, Amounts]:
        """Return the most that a job can have on clusters that are this machine, by name.

        Raises: RowtuiError.
        """
        found = {}
        for each in self.clusters.values():
            if is_this_machine(each):
                has = machine_capacity()
                found[each.name] = Amounts(len(has.gpus), has.cores, has.memory_mb / 1024)
        return found

    def count_in_use(self) -> None:
        """Compute what this user's submitted jobs hold in each pool."""
        if self.mapper.configuration.of_kind("pools"):
            self.facts = self.facts._replace(in_use=in_use(self))

    def hold(self, job: MappingRequest) -> None:
        """Count a job that is about to be submitted in its pools."""
        if self.mapper.configuration.of_kind("pools"):
            held = with_job(self.facts.in_use, self.mapper, job)
            self.facts = self.facts._replace(in_use=held)

    # Requests

    def request(
        self,
        job: JobRequest,
        *,
        what_if: WhatIf | None = None,
        person: Person | None = None,
        directories: Directories | None = None,
    ) -> MappingRequest:
        """Return a job as mapping files see it.

        Sizes of inputs are read only for expressions that use them.

        `directories`: the ones that the job's group indexes, if not those of the workspace.
        """
        plain = self._plain(job, what_if, person)
        reads = self.mapper.reads(plain)
        if directories is None:
            directories = self.project.state.directories
        if reads & {"directories", "group"}:
            names = tuple(map(directories.name, job.group.indices))
            plain = plain._replace(directories=names)
        if "values" in reads:
            some = job.group.indices[:_VALUES_FOR]
            plain = plain._replace(values=tuple(map(directories.value, some)))
        if "app" in reads:
            plain = plain._replace(jobs=_submitted(self.project, self.person.name))
        if reads & _INPUTS:
            inputs = self.mapper.inputs_of(plain)
            size = input_gigabytes(self.project, job, inputs, directories)
            plain = plain._replace(input_size=size)
        return plain

    def reads_directories(self, job: JobRequest) -> bool:
        """Whether two jobs of an action, on equally many directories, may be placed differently."""
        reads = self.mapper.reads(self._plain(job))
        return bool(reads & (_INPUTS | {"directories", "group", "values"}))

    def expected(self, job: JobRequest, directories: Directories | None = None) -> Placement:
        """Return where a job would go if no other job held anything in a pool. See `request`."""
        request = self.request(job, directories=directories)
        return self.mapper.place(request, self._facts()._replace(in_use={}))

    def _plain(
        self, job: JobRequest, what_if: WhatIf | None = None, person: Person | None = None
    ) -> MappingRequest:
        """Return a job without the values that only some expressions read."""
        action, size = job.action, len(job.group.indices)
        cluster = self.project.cluster.name
        options = action.submit_options.get(cluster)
        return MappingRequest(
            tool_id=action.name,
            user=person or self.person,
            declared=declared(action.resources, job),
            assumed=Amounts(gpus=job.gpus or None, cores=job.cpus),
            attempt=job.attempt,
            cluster=cluster,
            totals=job_totals(action.resources, size),
            partition=options.partition if options else None,
            what_if=what_if,
        )

    def place(
        self, job: JobRequest, *, what_if: WhatIf | None = None, person: Person | None = None
    ) -> Placement:
        """Return where a job goes."""
        request = self.request(job, what_if=what_if, person=person)
        return self.mapper.place(request, self._facts())

    def placed(self, request: MappingRequest) -> tuple[Decision | None, Placement]:
        """Return where a job goes, with the decision if mapping again might give another result."""
        if self.mapper.remembers(request):
            return None, self.mapper.place(request, self._facts())
        decision = decide(self.mapper, request, self._facts(), changes=False)
        return decision, decision.chosen

    def decide(
        self, job: JobRequest, *, what_if: WhatIf | None = None, person: Person | None = None
    ) -> Decision:
        """Return where a job goes, and why; with the memory that its script asks for."""
        decision = self.decided(self.request(job, what_if=what_if, person=person))
        if decision.chosen.chosen:
            with suppress(RowtuiError):  # a plan reports values that cannot be written
                place = placed(job, decision.chosen, self.cluster_of(decision.chosen))
                if memory := job_memory_mb(place.request, place.partition):
                    decision = decision._replace(job=decision.job._replace(mem=memory / 1024))
        return decision

    def decided(self, request: MappingRequest) -> Decision:
        """Return the decision for a job in the form that mapping files see."""
        return decide(self.mapper, request, self._facts())


def declared(resources: Resources, job: JobRequest) -> Amounts:
    """Return an action's stated amounts: memory if stated, CPUs except Row's default of 1."""
    memory = None
    if job.gpus and resources.memory_per_gpu_mb is not None:
        memory = resources.memory_per_gpu_mb * job.gpus / 1024
    elif not job.gpus and resources.memory_per_cpu_mb is not None:
        memory = resources.memory_per_cpu_mb * job.cpus / 1024
    stated = (
        resources.threads_per_process is not None
        or resources.processes.per_directory
        or resources.processes.value != 1
    )
    return Amounts(
        gpus=job.gpus if resources.gpus_per_process is not None else None,
        cores=job.cpus if stated else None,
        mem=memory,
    )


def _submitted(project: Project, user: str) -> tuple[tuple[str, str], ...]:
    """Return the action and the user of each job of this project that is submitted now."""
    return tuple(
        (action, user)
        for action, jobs in sorted(project.state.submitted.items())
        for _ in {(job.cluster, job.job_id, job.token) for job in jobs.values()}
    )


def in_use(mapping: ProjectMapping) -> Mapping[str, Amounts]:
    """Return the amounts that the user's submitted jobs hold in each pool, by pool name.

    Each job of this project that is submitted now is mapped again, because its tags determine its
    pools. Jobs of other projects are not counted.
    """
    project = mapping.project
    held: Mapping[str, Amounts] = {}
    for action in project.workflow.actions:
        jobs: dict[tuple[str, int, str], list[int]] = {}
        for position, job in sorted(project.state.submitted.get(action.name, {}).items()):
            jobs.setdefault((job.cluster, job.job_id, job.token), []).append(position)
        if any(other.name == action.name for other in project.workflow.actions[: action.index]):
            continue  # several elements with the same name share their jobs
        for request in job_requests(Group(action, tuple(each)) for each in jobs.values()):
            held = with_job(held, mapping.mapper, mapping.request(request))
    return held


def with_job(
    held: Mapping[str, Amounts], mapper: Mapper, job: MappingRequest
) -> Mapping[str, Amounts]:
    """Return the held amounts after one more job counts in its pools."""
    asked, pools = mapper.pools_of(job)
    return {**held, **{pool: _added(held.get(pool, Amounts()), asked) for pool in pools}}


def _added(one: Amounts, other: Amounts) -> Amounts:
    return Amounts(*((a or 0) + (b or 0) for a, b in zip(one, other, strict=True)))
