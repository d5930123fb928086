"""The pilots of a project: start one, list the open ones, and submit work to one.

The input is a project; the result is plans and views. `Jobs.submit` submits the plans, as any plan.
"""

from __future__ import annotations

import asyncio
import secrets
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.clusters.schedulers.local.machine import user_name
from rowtui.core.submission.bundles.pilot import (
    IntoPilot,
    PilotFacts,
    WantedPilot,
    look_at,
    take_numbers,
)
from rowtui.core.submission.bundles.pilot import start_pilots as pilot_plan
from rowtui.core.submission.bundles.pilot_model import is_pilot
from rowtui.core.submission.bundles.pilot_script import END_SECONDS
from rowtui.core.submission.plan.model import JobStep, Plan, PlannedJob
from rowtui.core.submission.plan.record import JobRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowtui.core.project.open_project import OpenProject


class PilotView(NamedTuple):
    """A pilot that may take requests. `begun`: it runs; before that, all capacity is free.

    `free_memory_mb` is None if memory is not counted. `seconds_left`: the longest time that a
    request may take. `running` and `waiting`: the pilot's requests, as the pilot recorded them
    seconds ago. `reason`: why it waits, as its scheduler reports it.
    """

    job: PlannedJob
    job_id: int
    cluster: str
    partition: str
    begun: bool
    free_cpus: int
    free_memory_mb: int | None
    free_gpus: int
    seconds_left: int
    running: int
    waiting: int
    reason: str = ""

    @property
    def token(self) -> str:
        """Return the pilot's token."""
        return self.job.token


def start_pilots(project: OpenProject, wanted: Sequence[WantedPilot]) -> Plan:
    """Return the plan that starts pilots on their clusters ("": the default cluster of jobs).

    Raises: RowtuiError if there is no such cluster, or pilots cannot run there.
    """
    there = []
    for each in wanted:
        known = project.cluster
        if each.cluster and each.cluster != known.name:
            found = project.connections.known(each.cluster)
            found = found or project.configured.named(each.cluster)
            if found is None:
                raise RowtuiError(f"there is no cluster '{visible(each.cluster)}'")
            known = found
        there.append((each, known))
    return pilot_plan(
        there,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        user=user_name(),
        nonce=secrets.token_hex(8),
    )


def into_pilot(project: OpenProject, view: PilotView) -> IntoPilot:
    """Return the `packing` for `draft_formed` that turns jobs into requests of this pilot."""
    numbers = partial(take_numbers, project.root, view.token)
    return IntoPilot(view.job, numbers)


class OpenPilots(NamedTuple):
    """The pilots that take requests, oldest first; and tokens of those that ended just now."""

    views: tuple[PilotView, ...]
    gone: frozenset[str] = frozenset()


async def open_pilots(project: OpenProject) -> OpenPilots:
    """Return the pilots of a project by their records, asking their schedulers.

    A pilot whose cluster cannot be polled is left out, with a notice.
    """
    records = await asyncio.to_thread(_open, project)
    views: list[PilotView] = []
    gone: set[str] = set()
    for cluster in dict.fromkeys(record.cluster for record in records):
        here = [record for record in records if record.cluster == cluster]
        try:
            access = await project.connections.access(cluster)
            if access is None:
                continue
            found = await access.scheduler.find([record.token for record in here])
            looks = await look_at([record.token for record in here], access)
        except (OSError, RowtuiError) as error:
            project.notice(f"pilots on {visible(cluster)} cannot be seen: {visible(str(error))}")
            continue
        if found is None:
            project.notice(f"pilots on {visible(cluster)} cannot be seen: it does not answer")
            continue
        for record in here:
            states = {job.state for job in found.get(record.token, ())}
            look = looks.get(record.token, PilotFacts(None, 0))
            closed = look.state is not None and look.state.closed
            if not states & {JobState.RUNNING, JobState.PENDING}:
                gone.add(record.token)
            elif not closed:
                view = _view(record, look, JobState.RUNNING in states)
                views.append(view._replace(reason=found[record.token][0].reason))
    return OpenPilots(tuple(views), frozenset(gone))


def _open(project: OpenProject) -> list[JobRecord]:
    return [
        record
        for record in reversed(project.jobs.records())
        if is_pilot(record.token) and record.step is JobStep.ACCEPTED
    ]


def _view(record: JobRecord, look: PilotFacts, running: bool) -> PilotView:
    job, state = record.planned, look.state
    assert job is not None  # a pilot is always planned here
    return PilotView(
        job=job,
        job_id=record.job_id,
        cluster=record.cluster,
        partition=record.partition,
        begun=running and state is not None,
        free_cpus=job.cpus if state is None else state.free_cpus,
        free_memory_mb=job.memory_mb if state is None else state.free_mb,
        free_gpus=job.gpus if state is None else state.free_gpus,
        seconds_left=job.walltime_seconds - END_SECONDS if state is None else state.left,
        running=0 if state is None else state.running,
        waiting=look.waiting,
    )
