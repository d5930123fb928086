"""The jobs of a plan before they are written, and their scripts.

`draft_jobs` finds how each request runs and every reason that stops a job, before any job is sent:
what depends only on the size of a group is found once for each size, and scripts that a name or a
value may make invalid are written at once. Row reports these errors in the middle of a submission.
`Draft.scripts` yields scripts one after another, so that a million scripts need no million objects;
`make_plan` writes all jobs. The module uses no clock or random numbers.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.base.lazy import np
from rowtui.core.base.text import Cost
from rowtui.core.clusters.schedulers.kind import kind_of
from rowtui.core.groups.form import FirstRequests
from rowtui.core.state.directories import StoredDirectories
from rowtui.core.submission.plan.model import LaunchMethod, PlanRefusal, RefusedWork
from rowtui.core.submission.plan.planner import (
    Named,
    PlanError,
    Planner,
    Setting,
    applied_limit,
)
from rowtui.core.submission.scripts.parts import NameLines

if TYPE_CHECKING:
    from rowtui.core.clusters.model import Cluster
    from rowtui.core.groups.model import JobRequest
    from rowtui.core.state.model import Directories, LastEnd
    from rowtui.core.submission.plan.apply_placement import PlacedRequest
    from rowtui.core.workflow.model import Workflow


ALL_NAMES_FROM = 8
"""If at least one in this many directories is needed, all names are decoded at once."""


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
    return bool(filled.values or filled.arithmetic or kind_of(way.cluster).header_refuses)


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
        self.planner = planner

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return the warnings of all jobs, each once for an action."""
        return (*self.planner.setting.warnings, *self.planner.warnings())

    @property
    def cluster(self) -> Cluster:
        """Return the cluster for which jobs are planned that no mapping file places."""
        return self.planner.setting.cluster

    @property
    def sent_together(self) -> bool:
        """Whether jobs may become arrays or bundles, so that scripts need the whole plan."""
        setting = self.planner.setting
        return setting.pack is not None or any(map(setting.array_tasks, self.clusters.values()))

    @property
    def directory_count(self) -> int:
        """Return the number of directories of all jobs."""
        return sum(len(job.request.group.indices) for job in self.jobs)

    def totals(self) -> dict[str, tuple[int, Cost]]:
        """Return the number of jobs, and their cost, by the name of their action."""
        totals: dict[str, tuple[int, Cost]] = {}
        for job in self.jobs:
            request = job.request
            _, own = applied_limit(kind_of(job.way.cluster), request.walltime_seconds, request.cost)
            count, cost = totals.get(request.action.name, (0, Cost()))
            totals[request.action.name] = count + 1, cost.plus(own)
        return totals

    def scripts(self) -> Iterator[str]:
        """Yield the scripts of the jobs in order; each is made when it is asked for."""
        planner = self.planner
        for job in self.jobs:
            script = job.script
            if script is None:
                names = _names_of(planner.directories, job.requests, job.number)
                script = planner.script(job.request, job.way, planner.token(job.at), names, ())
            assert script is not None  # checked before
            yield script

    @property
    def clusters(self) -> dict[str, Cluster]:
        """Return the clusters of the jobs by name, and the default one."""
        default = self.planner.setting.cluster
        others = (it.place.cluster for it in self.jobs if it.place is not None)
        return {default.name: default} | {cluster.name: cluster for cluster in others}


def _names_of(directories: Named, requests: Sequence[JobRequest], number: int) -> Sequence[str]:
    """Return the names of a request's directories, as `NameLines` where they come as one block."""
    positions: Any
    if isinstance(requests, FirstRequests):
        positions = requests.positions(number)
    else:
        positions = requests[number].group.indices
    numpy_has_them = not isinstance(positions, (array, tuple))
    if numpy_has_them and isinstance(directories, StoredDirectories) and directories.table.width:
        width = directories.table.width
        table = np.frombuffer(directories.table.blob, dtype=np.uint8).reshape(-1, width)
        lines = np.empty((len(positions), width + 1), dtype=np.uint8)
        lines[:, :width] = table.take(positions, axis=0)
        lines[:, width] = ord("\n")
        found = NameLines.of(lines.tobytes(), len(positions))
        if found is not None:
            return found
    if isinstance(directories, StoredDirectories):
        decode_names(directories, len(positions))
    return tuple(map(directories.name, positions))


def decode_names(directories: Directories, count: int) -> None:
    """Decode all names at once if so many of them will be needed."""
    if count * ALL_NAMES_FROM > len(directories):
        directories.names()  # caches the names
