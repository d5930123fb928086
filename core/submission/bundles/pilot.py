"""Starting a pilot, and sending requests to one: two kinds of plans, carried out like any other.

For a start, the input is what the pilot holds and where; the result is a plan of one scheduler job.
For requests, the input is the ready jobs of a plan; the result is requests of a pilot
(`Setting.pack`), each with its token `<pilot>~<number>`, its own fence, log and end. A job that the
pilot cannot take is sent alone. Source: Fastr's documentation, ExecutionPlugin (pilot jobs).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import Cost, plural, visible
from rowtui.core.clusters.model import Cluster
from rowtui.core.submission.bundles.bundles import as_member
from rowtui.core.submission.bundles.pilot_model import Allocation, pilot_token
from rowtui.core.submission.bundles.pilot_script import LOG_NAME, pilot_script
from rowtui.core.submission.bundles.pilot_shell import END_SECONDS
from rowtui.core.submission.plan.dependencies import with_new_tokens
from rowtui.core.submission.plan.json import plan_id
from rowtui.core.submission.plan.model import Destination, InBundle, Plan, PlannedJob
from rowtui.core.submission.plan.plan import PackedJobs
from rowtui.core.submission.plan.sharing import cannot_share
from rowtui.core.workflow.model import SubmitOptions

NO_OPTIONS = SubmitOptions()


def start_pilot(
    allocation: Allocation,
    cluster: Cluster,
    partition: str = "",
    *,
    created: str,
    user: str,
    nonce: str,
    options: SubmitOptions = NO_OPTIONS,
) -> Plan:
    """Return the plan that starts a pilot.

    `nonce` is new each time; `options`: account and custom options. Raises: RowtuiError where
    pilots cannot run, or for a time limit in which no request could run.
    """
    least = END_SECONDS + 1
    if allocation.seconds < least:
        raise RowtuiError(
            f"a pilot of {allocation.seconds} s has no time for any job",
            f"give it more than {END_SECONDS} s",
        )
    if allocation.cpus < 1:
        raise RowtuiError("a pilot needs a core")
    token = pilot_token(nonce)
    hours = allocation.seconds / 3600
    cost = Cost(0.0 if allocation.gpus else hours * allocation.cpus, hours * allocation.gpus)
    job = PlannedJob(
        token=token,
        name="pilot",
        action="",
        action_index=-1,
        directories=(),
        destination=Destination(cluster.name, partition),
        script=pilot_script(token, allocation, cluster, partition, options),
        log_path=LOG_NAME,
        processes=1,
        cpus=allocation.cpus,
        gpus=allocation.gpus,
        memory_mb=allocation.memory_mb,
        walltime_seconds=allocation.seconds,
        cost=cost,
    )
    plan = Plan("", created, user, cluster.name, cluster.scheduler, (job,), cost)
    return replace(plan, id=plan_id(plan))


@dataclass(frozen=True, slots=True)
class IntoPilot:
    """The value of `Setting.pack` that makes jobs requests of a pilot.

    `pilot` is the pilot's planned job. `left`: seconds that a request may take, from the pilot's
    last report (None: the pilot has not begun). `numbers` returns the given count of new numbers.
    """

    pilot: PlannedJob
    numbers: Callable[[int], range]
    left: int | None = None

    def __call__(self, jobs: tuple[PlannedJob, ...]) -> PackedJobs:
        """Return the jobs; the ones that the pilot can take become its requests.

        Raises: RowtuiError.
        """
        refused: Counter[str] = Counter()
        taken: list[int] = []
        for at, job in enumerate(jobs):
            if why := self.refusal(job):
                refused[why] += 1
            else:
                taken.append(at)
        numbers = dict(zip(taken, self.numbers(len(taken)) if taken else (), strict=True))
        made = [self._request(job, numbers[at]) for at, job in enumerate(jobs) if at in numbers]
        tokens = {jobs[at].token: one.token for at, one in zip(taken, made, strict=True)}
        alone = [job for at, job in enumerate(jobs) if at not in numbers]
        warnings = tuple(
            f"pilot: {plural(count, 'job goes', 'jobs go')} alone: {why}"
            for why, count in refused.items()
        )
        return PackedJobs(with_new_tokens([*made, *alone], tokens), warnings=warnings)

    def refusal(self, job: PlannedJob) -> str:
        """Return why the pilot cannot take a job, "" if it can."""
        pilot = self.pilot
        left = pilot.walltime_seconds - END_SECONDS if self.left is None else self.left
        if why := cannot_share(job):
            return why
        if job.destination.cluster != pilot.destination.cluster:
            return f"the pilot is on {visible(pilot.destination.cluster)}"
        if job.cpus > pilot.cpus:
            return f"the pilot has {plural(pilot.cpus, 'core')}"
        if job.gpus > pilot.gpus:
            return f"the pilot has {plural(pilot.gpus, 'GPU')}"
        if pilot.memory_mb is not None and (job.memory_mb or 0) > pilot.memory_mb:
            return f"the pilot has {pilot.memory_mb:,} MB of memory"
        if job.walltime_seconds > left:
            return f"the pilot has {max(0, left):,} s left"
        return ""

    def _request(self, job: PlannedJob, number: int) -> PlannedJob:
        pilot = self.pilot
        place = InBundle(
            token=pilot.token,
            node_type="",
            cpus=pilot.cpus,
            memory_mb=pilot.memory_mb,
            gpus=pilot.gpus,
            seconds=pilot.walltime_seconds,
            whole_node=False,
            lane=number,
            own_seconds=max(1, job.walltime_seconds),
        )
        return replace(as_member(job, place, number), destination=pilot.destination)
