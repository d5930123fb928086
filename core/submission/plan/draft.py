"""The jobs of a plan before they are written, and the plan or the scripts made from them.

`draft_jobs` finds how each request runs and every reason that stops a job, before any job is sent:
what depends only on the size of a group is found once for each size, and scripts that a name or a
value may make invalid are written at once. Row reports these errors in the middle of a submission.
`Draft.plan` writes all jobs; `Draft.scripts` yields scripts one after another, so that a million
scripts need no million objects. The module uses no clock or random numbers.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.base.text import Cost
from rowtui.core.groups.form import FirstRequests
from rowtui.core.state.directories import StoredDirectories
from rowtui.core.submission.plan.arrays import with_arrays
from rowtui.core.submission.plan.charges import applied_limit, charges_of
from rowtui.core.submission.plan.json import plan_id
from rowtui.core.submission.plan.model import PackedJobs, Plan, PlannedJob, PlanRefusal, RefusedWork
from rowtui.core.submission.plan.planner import LaunchMethod, Named, PlanError, Planner, Setting
from rowtui.core.submission.scripts.parts import NameLines, job_name

if TYPE_CHECKING:
    from rowtui.core.clusters.model import Cluster
    from rowtui.core.clusters.schedulers.kind import SchedulerKind
    from rowtui.core.groups.model import JobRequest
    from rowtui.core.state.model import LastEnd
    from rowtui.core.submission.plan.apply_placement import PlacedRequest
    from rowtui.core.workflow.model import Workflow


class JobDraft(NamedTuple):
    """A job that can run: the request `requests[number]`.

    `request` has the same size, and may stand for others where only the size matters. `at`: the
    place among all requests, refused ones included. `script`: None if it is written later.
    """

    requests: Sequence[JobRequest]
    number: int
    request: JobRequest
    way: LaunchMethod
    at: int
    place: PlacedRequest | None
    warnings: tuple[str, ...]
    script: str | None


def draft_jobs(
    workflow: Workflow,
    parts: Sequence[Sequence[JobRequest]],
    directories: Named,
    setting: Setting,
    *,
    ends: Mapping[str, Mapping[int, LastEnd]] | None = None,
    skipped: Sequence[str] = (),
    places: Sequence[PlacedRequest] | None = None,
    refused: Sequence[RefusedWork] = (),
) -> Draft:
    """Return the draft for these requests, in their order.

    `ends` are the state's records of how directories' last jobs ended. `skipped` describes groups
    that were left out before, `refused` jobs. `places`, one for each request, are the mapper's
    placements (without: the first partition that accepts the job). A job that its machine or
    partition cannot run is refused, and the others are planned. Raises: PlanError with every
    problem of the actions that have no job that can be planned.
    """
    planner = Planner(workflow, directories, setting, ends or {})
    jobs: list[JobDraft] = []
    at = 0
    for requests in parts:
        tried: set[int] = set()
        for number, request in enumerate(_alike(requests)):
            place = places[at] if places is not None else None
            draft = _draft_of(
                planner, requests, number, request=request, at=at, place=place, tried=tried
            )
            if draft is not None:
                jobs.append(draft)
            at += 1
    if problems := planner.problems():
        raise PlanError(problems)
    return Draft(planner, jobs, tuple(skipped), tuple(refused))


def _alike(requests: Sequence[JobRequest]) -> Iterator[JobRequest]:
    """Yield the requests; for those that are made on access, one stands for all of its size."""
    if not isinstance(requests, FirstRequests):
        yield from requests
        return
    known: dict[int, JobRequest] = {}
    for size in requests.sizes():
        if size not in known:
            known[size] = requests.of_size(size)
        yield known[size]


def _draft_of(
    planner: Planner,
    requests: Sequence[JobRequest],
    number: int,
    *,
    request: JobRequest,
    at: int,
    place: PlacedRequest | None,
    tried: set[int],
) -> JobDraft | None:
    """Return one job; None with its problems recorded. `tried`: sizes whose script was checked."""
    request = request if place is None else place.request
    way = planner.way_of(request, place)
    if isinstance(way, PlanRefusal):
        planner.refuse(request.action, requests[number].group.indices, way)
    if way is None or isinstance(way, PlanRefusal):
        return None
    size, script = len(request.group.indices), None
    if planner.ends.get(request.action.name) and place is None:
        request = requests[number]  # a warning names the directories that failed
    if place is not None or _may_be_refused(way):
        own = request if place is not None else requests[number]
        names = tuple(map(planner.directories.name, own.group.indices))
        script = planner.script(request, way, planner.token(at), names, own.group.indices)
        if script is None:
            return None
    elif size not in tried:  # check once per size what does not depend on the directories
        tried.add(size)
        checked = len(tried) > 1 or planner.is_simple(request.action, way)
        names = () if checked else tuple(_names_of(planner.directories, requests, number))
        if planner.script(request, way, "", names, ()) is None:
            return None
    warnings = planner.job_warnings(request, way.choice)
    return JobDraft(requests, number, request, way, at, place, warnings, script)


def _may_be_refused(way: LaunchMethod) -> bool:
    """Whether a script may be refused because of its directories."""
    filled = way.recipe.filled
    return bool(filled.values or filled.arithmetic or way.cluster.kind.header_refuses)


class Draft:
    """The jobs of a plan, of which names are read and scripts written when they are needed."""

    def __init__(
        self,
        planner: Planner,
        jobs: Sequence[JobDraft],
        skipped: tuple[str, ...],
        refused: tuple[RefusedWork, ...],
    ) -> None:
        self.jobs = jobs
        self.refused = (*refused, *planner.refused())
        self.skipped = (*skipped, *(each.sentence for each in self.refused))
        self._planner = planner

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return the warnings of all jobs, each once for an action."""
        return (*self._planner.setting.warnings, *self._planner.warnings())

    @property
    def cluster(self) -> Cluster:
        """Return the cluster for which jobs are planned that no mapping file places."""
        return self._planner.setting.cluster

    @property
    def sent_together(self) -> bool:
        """Whether jobs may become arrays or bundles, so that scripts need the whole plan."""
        setting = self._planner.setting
        return setting.pack is not None or any(map(setting.array_tasks, self._clusters().values()))

    def totals(self) -> dict[str, tuple[int, Cost]]:
        """Return the number of jobs, and their cost, by the name of their action."""
        totals: dict[str, tuple[int, Cost]] = {}
        for job in self.jobs:
            request = job.request
            _, own = applied_limit(job.way.cluster.kind, request.walltime_seconds, request.cost)
            count, cost = totals.get(request.action.name, (0, Cost()))
            totals[request.action.name] = count + 1, cost.plus(own)
        return totals

    def scripts(self) -> Iterator[str]:
        """Yield the scripts of the jobs in order; each is made when it is asked for."""
        planner = self._planner
        for job in self.jobs:
            script = job.script
            if script is None:
                names = _names_of(planner.directories, job.requests, job.number)
                script = planner.script(job.request, job.way, planner.token(job.at), names, ())
            assert script is not None  # checked before
            yield script

    def plan(self) -> Plan:
        """Return the plan. Raises: PlanError for a job that cannot be packed as it must be."""
        setting = self._planner.setting
        planned = tuple(map(self._planned, self.jobs))
        packing = PackedJobs(planned) if setting.pack is None else setting.pack(planned)
        clusters = self._clusters()
        planned = tuple(_limited(it, clusters[it.destination.cluster].kind) for it in packing.jobs)
        most = {name: setting.array_tasks(cluster) for name, cluster in clusters.items()}
        if any(most.values()):
            planned = with_arrays(planned, most)
        plan = Plan(
            id="",
            created=setting.created,
            user=setting.user,
            cluster=setting.cluster.name,
            scheduler=setting.cluster.scheduler,
            jobs=planned,
            cost=Cost(),
            warnings=(*self.warnings, *packing.warnings),
            skipped=self.skipped,
            packed=packing.packed,
            refused=self.refused,
        )
        plan = replace(plan, cost=Cost.total(it.cost for it in charges_of(plan)))
        return replace(plan, id=plan_id(plan))

    def _clusters(self) -> dict[str, Cluster]:
        default = self._planner.setting.cluster
        return {default.name: default} | {it.way.cluster.name: it.way.cluster for it in self.jobs}

    def _planned(self, draft: JobDraft) -> PlannedJob:
        planner, way, place, script = self._planner, draft.way, draft.place, draft.script
        request = draft.requests[draft.number] if place is None else place.request
        token, positions = planner.token(draft.at), request.group.indices
        names = tuple(map(planner.directories.name, positions))
        if script is None:
            script = planner.script(request, way, token, names, positions)
        assert script is not None  # checked before
        return PlannedJob(
            token=token,
            name=job_name(request.action, names),
            action=request.action.name,
            action_index=request.action.index,
            directories=names,
            destination=way.destination,
            script=script,
            log_path=way.log_path,
            processes=request.processes,
            cpus=request.cpus,
            gpus=request.gpus,
            memory_mb=way.memory_mb,
            walltime_seconds=request.walltime_seconds,
            cost=request.cost,
            attempt=request.attempt,
            warnings=draft.warnings,
            reasons=way.reasons,
            depends_on=tuple(map(planner.token, request.depends_on)),
            basis="" if place is None else place.basis.text,
            starts_steps=way.starts_steps,
            node_type="" if place is None else place.node_type,
            requires=request.requires,
        )


def _limited(job: PlannedJob, kind: SchedulerKind) -> PlannedJob:
    """Return the job, or its bundle, with the time limit that the scheduler applies."""
    if (bundle := job.bundle) is not None:
        return replace(job, bundle=replace(bundle, seconds=kind.limit(bundle.seconds)))
    seconds, cost = applied_limit(kind, job.walltime_seconds, job.cost)
    same = seconds == job.walltime_seconds
    return job if same else replace(job, walltime_seconds=seconds, cost=cost)


def _names_of(directories: Named, requests: Sequence[JobRequest], number: int) -> Sequence[str]:
    """Return the names of a request's directories, as `NameLines` where they come as one block."""
    positions: Any
    if isinstance(requests, FirstRequests):
        positions = requests.positions(number)
    else:
        positions = requests[number].group.indices
    numpy_has_them = not isinstance(positions, (array, tuple))
    if numpy_has_them and isinstance(directories, StoredDirectories) and directories.table.width:
        from rowtui.core.base.lean_numpy import np

        width = directories.table.width
        table = np.frombuffer(directories.table.blob, dtype=np.uint8).reshape(-1, width)
        lines = np.empty((len(positions), width + 1), dtype=np.uint8)
        lines[:, :width] = table.take(positions, axis=0)
        lines[:, width] = ord("\n")
        found = NameLines.of(lines.tobytes(), len(positions))
        if found is not None:
            return found
    return tuple(map(directories.name, positions))
