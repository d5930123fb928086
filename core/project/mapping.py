"""A project's mapper: its mapping files, what is known of the clusters, and its jobs as requests.

Takes an open project; gives placements for planning and decisions for people. Files are read when
they are first needed and again when one has changed; where there are none, the partitions of the
cluster are the destinations.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from rowtui.core.clusters.model import Cluster, ClusterLoad
from rowtui.core.clusters.partition import job_totals
from rowtui.core.errors import Problem, RowtuiError
from rowtui.core.grouping.model import JobRequest
from rowtui.core.mapping.configuration import Configuration
from rowtui.core.mapping.decision import Decision, Placement
from rowtui.core.mapping.explain import decide
from rowtui.core.mapping.from_clusters import destinations_of
from rowtui.core.mapping.load import load_mapping
from rowtui.core.mapping.mapper import Mapper
from rowtui.core.mapping.request import (
    NOTHING_KNOWN,
    Amounts,
    Facts,
    MappingRequest,
    Person,
    WhatIf,
)
from rowtui.core.mapping.sources import Found, find_sources, user_places
from rowtui.core.project.persons import this_person
from rowtui.core.workflow.model import Resources

if TYPE_CHECKING:
    from rowtui.core.project.project import Project

_LOAD_SECONDS = 10.0
_VALUES_FOR = 10_000  # directories of one job whose values expressions see


class ProjectMapping:
    """Where a project's jobs go. `person`: who submits; this process's user unless given."""

    def __init__(self, project: Project, person: Person | None = None) -> None:
        self.project = project
        self.person = person or this_person()
        self.facts = NOTHING_KNOWN
        self.loads_at = 0.0
        self._asked_at = float("-inf")
        self._found: Found | None = None
        self._key: tuple[str, ...] = ()
        self._mapper: Mapper | None = None

    @property
    def sources(self) -> Found:
        """The mapping files as they were last read."""
        if self._found is None:
            self.read()
        assert self._found is not None
        return self._found

    def known_places(self) -> tuple[str, ...]:
        """The absolute paths of the files that were read last; reads nothing."""
        sources = () if self._found is None else self._found.sources
        return tuple(source.place for source in sources if source.place.startswith("/"))

    def read(self) -> None:
        """Read the mapping files again; what has not changed is not loaded again."""
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
        """Whether any mapping file has a say."""
        return bool(self.sources.sources or self.sources.problems)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong in the files, as far as they were loaded."""
        return self._mapper.configuration.problems if self._mapper is not None else ()

    @property
    def configuration(self) -> Configuration:
        """What the files say together."""
        return self.mapper.configuration

    @property
    def mapper(self) -> Mapper:
        """The mapper for this project on the cluster that jobs go to. Raises: RowtuiError."""
        if self._mapper is None:
            cluster = self.project.cluster
            clusters = {each.name: each for each in self.project.configured.clusters}
            clusters.update(self.clusters)
            configuration = load_mapping(self.sources.sources, self.sources.problems)
            added = () if configuration.of_kind("destinations") else destinations_of(cluster)
            self._mapper = Mapper(configuration, clusters=clusters, added=added)
        return self._mapper

    def know(self, loads: Sequence[ClusterLoad]) -> None:
        """Take what clusters said about how busy they are."""
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
        """The clusters that jobs can be sent to from here, by name. Raises: RowtuiError.

        The one that jobs go to where nothing is said, and all that are reached over SSH.
        """
        reach = self.project.reach
        found = {}
        for each in reach.remote():
            try:
                found[each.name] = reach.described(each, ask=False)
            except RowtuiError:
                found[each.name] = each  # its partitions are not known: mapping files may say
        return {**found, self.project.cluster.name: self.project.cluster}

    def cluster_of(self, placement: Placement) -> Cluster:
        """The cluster that a job goes to. Raises: RowtuiError."""
        cluster = self.clusters.get(placement.runner)
        return self.project.cluster if cluster is None else cluster

    async def ask_loads(self, patience: float = 0.0) -> None:
        """Ask the clusters how busy they are, unless asked `patience` seconds ago or less.

        What they do not answer in a few seconds stays unknown. Only the cluster that jobs go to may
        ask the user for a login.
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
        """The load of a cluster that jobs do not go to by themselves; its login asks no user."""
        with self.project.reach.asking_nobody(cluster.name):
            try:
                async with asyncio.timeout(_LOAD_SECONDS):
                    return await self._load(cluster)
            except TimeoutError:
                return None

    async def _load(self, cluster: Cluster) -> ClusterLoad | None:
        if cluster.scheduler == "slurm":
            from rowtui.core.clusters.schedulers.slurm_load import slurm_load

            transport = self.project.reach.transport(cluster)
            return await slurm_load(transport, timeout=_LOAD_SECONDS, cluster=cluster.name)
        if cluster.scheduler == "local":
            from rowtui.core.clusters.schedulers.local_load import local_load

            return await asyncio.to_thread(local_load, cluster=cluster.name)
        return None

    def ask_loads_if_read(self) -> None:
        """The same, at once and only where an expression reads the answer. Not in an event loop."""
        if self.mapper.reads_loads:
            self.project.wait(self.ask_loads())

    def _facts(self) -> Facts:
        return self.facts._replace(reachable=frozenset(self.clusters))

    def count_in_use(self) -> None:
        """Find out what this user's submitted jobs hold in each pool."""
        if self.mapper.configuration.of_kind("pools"):
            from rowtui.core.project.budgets import in_use

            self.facts = self.facts._replace(in_use=in_use(self))

    def hold(self, job: MappingRequest) -> None:
        """Count a job that is about to be submitted in its pools."""
        if self.mapper.configuration.of_kind("pools"):
            from rowtui.core.project.budgets import with_job

            held = with_job(self.facts.in_use, self.mapper, job)
            self.facts = self.facts._replace(in_use=held)

    # Requests

    def request(
        self, job: JobRequest, *, what_if: WhatIf | None = None, person: Person | None = None
    ) -> MappingRequest:
        """A job as mapping files see it. Reads sizes of inputs only where an expression asks."""
        action, size = job.action, len(job.group.indices)
        cluster = self.project.cluster.name
        options = action.submit_options.get(cluster)
        plain = MappingRequest(
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
        reads = self.mapper.reads(plain)
        directories = self.project.state.directories
        if reads & {"directories", "group"}:
            names = tuple(map(directories.name, job.group.indices))
            plain = plain._replace(directories=names)
        if "values" in reads:
            some = job.group.indices[:_VALUES_FOR]
            plain = plain._replace(values=tuple(map(directories.value, some)))
        if "app" in reads:
            plain = plain._replace(jobs=_submitted(self.project, self.person.name))
        if reads & {"input_size", "job", "helpers"}:
            from rowtui.core.project.inputs import input_gigabytes

            inputs = self.mapper.inputs_of(plain)
            plain = plain._replace(input_size=input_gigabytes(self.project, job, inputs))
        return plain

    def place(
        self, job: JobRequest, *, what_if: WhatIf | None = None, person: Person | None = None
    ) -> Placement:
        """Where a job goes."""
        request = self.request(job, what_if=what_if, person=person)
        return self.mapper.place(request, self._facts())

    def placed(self, request: MappingRequest) -> tuple[Decision | None, Placement]:
        """Where a job goes; with the decision where asking again might give another answer."""
        if self.mapper.remembers(request):
            return None, self.mapper.place(request, self._facts())
        decision = decide(self.mapper, request, self._facts(), changes=False)
        return decision, decision.chosen

    def decide(
        self, job: JobRequest, *, what_if: WhatIf | None = None, person: Person | None = None
    ) -> Decision:
        """Where a job goes, and why."""
        return self.decided(self.request(job, what_if=what_if, person=person))

    def decided(self, request: MappingRequest) -> Decision:
        """The same for a job as mapping files see it."""
        return decide(self.mapper, request, self._facts())


def declared(resources: Resources, job: JobRequest) -> Amounts:
    """What an action says itself: memory where it is stated, cores unless they are Row's one."""
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
    """The action and the user of each job of this project that is submitted now."""
    return tuple(
        (action, user)
        for action, jobs in sorted(project.state.submitted.items())
        for _ in {(job.cluster, job.job_id, job.token) for job in jobs.values()}
    )
