"""What the dashboard knows at one moment: the engine's last answers and the person's choices.

One owner: the app. Views read it and ask the app to change it; nothing here draws or waits.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.errors import RowtuiError
from rowtui.core.grouping.model import Status
from rowtui.tui.clusters import ClustersLook
from rowtui.tui.network import NetworkLook
from rowtui.tui.packing import Packing
from rowtui.tui.render.chrome import STALE_AFTER, Freshness

if TYPE_CHECKING:
    from rowtui.core.clusters.schedulers.base import JobState
    from rowtui.core.engine import (
        ActionSummary,
        ClusterView,
        Engine,
        Explanation,
        JobsView,
        JobView,
        MarkedRow,
        QueueRow,
        RowKey,
        Snapshot,
        WhatIfAsked,
    )
    from rowtui.core.mapping.decision import Refusal
    from rowtui.core.project.played_views import Played
    from rowtui.tui.render.needs import Need
    from rowtui.tui.render.plan import Sending

MOST_ACTIVITY = 1000
"""Lines of activity that are kept."""


class Activity(NamedTuple):
    """One thing that happened. `source`: you, project, jobs, submit, error."""

    at: float
    source: str
    text: str
    style: str = ""


class Filter(NamedTuple):
    """Which directories the groups are formed from."""

    word: str
    statuses: tuple[Status, ...]


FILTERS = (
    Filter("eligible", (Status.ELIGIBLE,)),
    Filter("all", tuple(Status)),
    Filter("failed", (Status.FAILED,)),
    Filter("submitted", (Status.SUBMITTED,)),
    Filter("waiting", (Status.WAITING,)),
    Filter("completed", (Status.COMPLETED,)),
    Filter("not reached", (Status.NOT_REACHED,)),
    Filter("cancelled", (Status.CANCELLED,)),
)


@dataclass
class Session:
    """The state behind all views. `clock` gives epoch seconds."""

    engine: Engine
    read_only: bool = False
    clock: Callable[[], float] = time.time
    snapshot: Snapshot | None = None
    changed: frozenset[tuple[int, str]] = frozenset()
    broken: Exception | None = None
    engine_away: bool = False  # its process was lost, and is being started again
    jobs: JobsView | None = None
    paused: bool = False
    age_step: float = 1.0  # seconds by which the age of the data is told
    action_index: int | None = None
    filter: Filter = FILTERS[0]
    marked_groups: int = 0
    need: Need | None = None  # under the cursor of what needs the person, if that has the focus
    chosen_group: tuple[int, Filter, int] | None = None  # action index, filter, group from 0
    explanation: Explanation | None = None  # the latest answer
    destination: str = ""  # of the explanation, under the cursor
    what_if: WhatIfAsked | None = None
    written: str = ""  # names the last write to workflow.toml, as long as it can be taken back
    packing: Packing = field(default_factory=Packing)
    network: NetworkLook = field(default_factory=NetworkLook)
    clusters: ClustersLook = field(default_factory=ClustersLook)
    keys: Mapping[str, str] = field(default_factory=dict)  # of commands that a person changed
    played: Played | None = None  # a demo or a recording, not the real world
    first_steps: bool = True  # are shown where `played` wants them
    has_submitted: bool = False  # a plan was confirmed since the dashboard was opened
    sending: Sending | None = None
    planning: bool = False
    job_token: str = ""
    job_to_show: str = ""  # where the cursor of the queue goes as soon as the job is listed
    known_job: JobView | None = None  # the chosen job, which may be none of the newest
    queue_row: QueueRow | None = None  # under the cursor of the queue
    queue_marks: dict[RowKey, MarkedRow] = field(default_factory=dict)
    connecting: set[str] = field(default_factory=set)  # clusters whose login is under way
    activity: deque[Activity] = field(default_factory=lambda: deque(maxlen=MOST_ACTIVITY))

    def note(self, source: str, text: str, style: str = "") -> None:
        """Write a line of activity."""
        self.activity.append(Activity(self.clock(), source, text, style))

    @property
    def project(self) -> str:
        """The project's folder name."""
        return PurePath(self.snapshot.root).name if self.snapshot else "project"

    @property
    def action(self) -> ActionSummary | None:
        """The action that the person chose; the first one until they choose."""
        if self.snapshot is None or not self.snapshot.actions:
            return None
        for action in self.snapshot.actions:
            if action.index == self.action_index:
                return action
        return self.snapshot.actions[0]

    def next_filter(self) -> None:
        """Form the groups from the directories of the next status."""
        self.filter = FILTERS[(FILTERS.index(self.filter) + 1) % len(FILTERS)]

    @property
    def group(self) -> int:
        """The group of the action that the person chose, from 0; the first until they choose."""
        action, chosen = self.action, self.chosen_group
        if action is None or chosen is None or chosen[:2] != (action.index, self.filter):
            return 0
        return chosen[2]

    def choose_group(self, group: int) -> None:
        """Look at this group (from 0) of the action and filter at hand."""
        if self.action is not None:
            self.chosen_group = (self.action.index, self.filter, max(0, group))

    @property
    def refusal(self) -> Refusal | None:
        """The destination under the cursor of the explanation, if it refuses the job."""
        decision = self.explanation.decision if self.explanation else None
        for refusal in decision.refusals if decision else ():
            if refusal.destination == self.destination:
                return refusal
        return None

    @property
    def job(self) -> JobView | None:
        """The job that the person chose, the newest until they choose."""
        jobs = self.jobs.jobs if self.jobs is not None else ()
        for job in jobs:
            if job.record.token == self.job_token:
                return job
        if self.known_job is not None and self.known_job.record.token == self.job_token:
            return self.known_job
        return jobs[0] if jobs else None

    @property
    def other_job(self) -> bool:
        """The cursor of the queue is on a job that is not of this project."""
        return self.queue_row is not None and not self.queue_row.ours

    @property
    def marked_jobs(self) -> int:
        """How many jobs the marked rows of the queue stand for."""
        return sum(self._marked_states().values())

    def _marked_states(self) -> Counter[JobState]:
        states: Counter[JobState] = Counter()
        for key, row in self.queue_marks.items():
            if key.parent not in self.queue_marks:  # with its array it is marked already
                states.update(dict(row.counts))
        return states

    @property
    def chosen_states(self) -> Mapping[JobState, int]:
        """How many of the marked jobs, or of those under the cursor, are in which state."""
        if self.queue_marks:
            return self._marked_states()
        if self.queue_row is not None:
            return dict(self.queue_row.counts) if self.queue_row.ours else {}
        return {self.job.state: 1} if self.job else {}

    @property
    def logins(self) -> tuple[ClusterView, ...]:
        """The clusters that somebody could log in to now."""
        clusters = self.jobs.clusters if self.jobs else ()
        return tuple(
            one
            for one in clusters
            if (one.login or one.connected is False) and one.name not in self.connecting
        )

    @property
    def freshness(self) -> Freshness:
        """How old the snapshot is, and the word for why it may be out of date."""
        if self.snapshot is None:
            return Freshness(0.0, "✗ NOT LOADED" if self.broken else "")
        seconds = max(0.0, self.clock() - self.snapshot.at)
        seconds -= seconds % self.age_step
        if self.engine_away:
            return Freshness(seconds, "▲ ENGINE AWAY")
        if self.broken is not None:
            return Freshness(seconds, "▲ STALE")
        if self.paused:
            return Freshness(seconds, "PAUSED")
        return Freshness(seconds, "▲ STALE" if seconds > STALE_AFTER else "")

    @property
    def stale(self) -> bool:
        """The numbers on the screen may be out of date: draw them dim."""
        return self.freshness.word.endswith(("STALE", "AWAY"))


def describe(error: BaseException) -> tuple[str, str]:
    """An error as (what is wrong, what to do), for people: no traceback, no class of ours."""
    if isinstance(error, RowtuiError):
        return error.message, error.hint
    text = str(error) or "no more is known"
    return f"{type(error).__name__}: {text}", ""
