"""The dashboard's state at one moment: the engine's last answers and the user's choices.

The app is the only owner. Views read the state and ask the app to change it; this module neither
draws nor waits.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.groups.model import Status
from rowtui.tui.shell.undo import UndoList, UndoStep
from rowtui.tui.views.chrome import STALE_AFTER, Freshness
from rowtui.tui.views.network.state import NetworkLook
from rowtui.tui.views.pack.state import PackingState

if TYPE_CHECKING:
    from rowtui.core.clusters.schedulers.base import JobState
    from rowtui.core.engine.api.snapshot import ActionSummary, ProjectSnapshot
    from rowtui.core.engine.engine import Engine
    from rowtui.core.mapping.model.decision import Refusal
    from rowtui.core.project.context.clusters import ClusterDetail, ClusterNodes, ClustersView
    from rowtui.core.project.queue.rows import MarkedRow, QueueRow, RowKey
    from rowtui.core.project.views.views import (
        ClusterView,
        JobsView,
        PlacementExplanation,
        Played,
        WhatIfRequest,
    )
    from rowtui.core.submission.plan.record import JobRecord
    from rowtui.tui.views.status.needs import NeedItem
    from rowtui.tui.views.submit.plan import Sending


@dataclass
class ClustersLook:
    """The state of the view Clusters. `name` is the cluster under the cursor.

    `nodes` has the nodes that a cluster reported; `refused` has the reason why a cluster reported
    none.
    """

    view: ClustersView | None = None
    name: str = ""
    to_show: str = ""  # The cursor moves to this cluster as soon as the cluster is listed.
    error: tuple[str, str] | None = None
    nodes: dict[str, ClusterNodes] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    asking: set[str] = field(default_factory=set)

    @property
    def chosen(self) -> ClusterDetail | None:
        """The cluster under the cursor; the first cluster until the user has chosen one."""
        if self.view is None or not self.view.clusters:
            return None
        for cluster in self.view.clusters:
            if cluster.name == self.name:
                return cluster
        return self.view.clusters[0]


MOST_ACTIVITY = 1000
"""The number of lines of activity that are kept."""


class Activity(NamedTuple):
    """One event. `source` is "you", "project", "jobs", "submit" or "error"."""

    at: float
    source: str
    text: str
    style: str = ""


class Failure(NamedTuple):
    """A failed login, and a hint."""

    cluster: str
    title: str
    message: str
    hint: str = ""


class Filter(NamedTuple):
    """The statuses of the directories from which the groups are formed."""

    word: str
    statuses: tuple[Status, ...]


FILTERS = (
    Filter("eligible", (Status.ELIGIBLE,)),
    Filter("failed", (Status.FAILED,)),
    Filter("not reached", (Status.NOT_REACHED,)),
    Filter("cancelled", (Status.CANCELLED,)),
    Filter("submitted", (Status.SUBMITTED,)),
    Filter("waiting", (Status.WAITING,)),
    Filter("completed", (Status.COMPLETED,)),
    Filter("all", tuple(Status)),
)


@dataclass
class Session:
    """The state behind all views. `clock` returns epoch seconds."""

    engine: Engine
    read_only: bool = False
    clock: Callable[[], float] = time.time
    snapshot: ProjectSnapshot | None = None
    changed: frozenset[tuple[int, str]] = frozenset()
    broken: Exception | None = None
    engine_away: bool = False  # The engine's process was lost, and is being started again.
    jobs: JobsView | None = None
    paused: bool = False
    age_step: float = 1.0  # The resolution, in seconds, of the displayed age of the data.
    action_index: int | None = None
    filter: Filter = FILTERS[0]
    need: NeedItem | None = None  # The need under the cursor, if the list of needs has the focus.
    chosen_group: tuple[int, Filter, int] | None = None  # Action index, filter, group from 0.
    explanation: PlacementExplanation | None = None  # The latest answer.
    destination: str = ""  # The destination of the explanation that is under the cursor.
    what_if: WhatIfRequest | None = None
    # The token of the last write to workflow.toml, until an undo is no longer possible.
    written: str = ""
    packing: PackingState = field(default_factory=PackingState)
    network: NetworkLook = field(default_factory=NetworkLook)
    clusters: ClustersLook = field(default_factory=ClustersLook)
    # The keys of commands for which the user has changed them.
    keys: Mapping[str, str] = field(default_factory=dict)
    played: Played | None = None  # Set in a demo.
    first_steps: bool = True  # Whether the first steps of a demo are shown.
    seen: set[str] = field(default_factory=set)  # The views that the first steps were shown in.
    has_submitted: bool = False  # A plan was confirmed since the dashboard was opened.
    sending: Sending | None = None
    planning: bool = False
    job_token: str = ""
    job_to_show: str = ""  # The cursor of the queue moves to this job as soon as the job is listed.
    known_job: JobRecord | None = None  # The chosen job, which may be older than the newest jobs.
    queue_row: QueueRow | None = None  # The row under the cursor of the queue.
    queue_marks: dict[RowKey, MarkedRow] = field(default_factory=dict)
    connecting: set[str] = field(default_factory=set)  # Clusters whose login is under way.
    activity: deque[Activity] = field(default_factory=lambda: deque(maxlen=MOST_ACTIVITY))
    undo: UndoList = field(default_factory=UndoList)

    def note(self, source: str, text: str, style: str = "") -> None:
        """Add a line of activity."""
        self.activity.append(Activity(self.clock(), source, text, style))

    def can_undo(
        self,
        view: str,
        text: str,
        take_back: Callable[[], object],
        *,
        of: Hashable = None,
        asks: bool = False,
    ) -> None:
        """Add a step to those that can be undone; the parameters are those of `UndoStep`."""
        self.undo.add(UndoStep(self.clock(), view, text, take_back, of, asks))

    @property
    def project(self) -> str:
        """The name of the project's folder."""
        return PurePath(self.snapshot.root).name if self.snapshot else "project"

    @property
    def action(self) -> ActionSummary | None:
        """The action that the user chose; the first action until then."""
        if self.snapshot is None or not self.snapshot.actions:
            return None
        for action in self.snapshot.actions:
            if action.index == self.action_index:
                return action
        return self.snapshot.actions[0]

    def step_action(self, step: int) -> None:
        """Choose the action that is this number of actions further in the list."""
        if self.snapshot is not None and self.action is not None:
            actions = self.snapshot.actions
            self.action_index = actions[(actions.index(self.action) + step) % len(actions)].index

    def choose_filter(self, view: str, chosen: Filter) -> None:
        """Form the groups from directories in this state; the user chose it in that view."""
        self.can_undo(
            view,
            f"listed directories: {chosen.word}",
            partial(setattr, self, "filter", self.filter),
        )
        self.filter = chosen

    def next_filter(self, view: str, step: int = 1) -> None:
        """Form the groups from the directories of the next state that any directory has."""
        shown = [one for one in FILTERS if one == self.filter or self.directories_in(one)]
        self.choose_filter(view, shown[(shown.index(self.filter) + step) % len(shown)])

    def directories_in(self, chosen: Filter) -> int:
        """Return how many directories of the action have one of these states."""
        name = "total" if chosen.word == "all" else chosen.word.replace(" ", "_")
        return getattr(self.action, name, 0)

    @property
    def group(self) -> int:
        """The group of the action that the user chose, from 0; the first group until then."""
        action, chosen = self.action, self.chosen_group
        if action is None or chosen is None or chosen[:2] != (action.index, self.filter):
            return 0
        return chosen[2]

    def choose_group(self, group: int) -> None:
        """Choose this group (from 0) of the current action and filter."""
        if self.action is not None:
            self.chosen_group = (self.action.index, self.filter, max(0, group))

    @property
    def refusal(self) -> Refusal | None:
        """The destination under the cursor of the explanation, if it refuses the job."""
        decision = self.explanation.decision if self.explanation else None
        for refusal in decision.refusals if decision else ():
            if refusal.destination_id == self.destination:
                return refusal
        return None

    @property
    def job(self) -> JobRecord | None:
        """The job that the user chose; the newest job until then."""
        jobs = self.jobs.jobs if self.jobs is not None else ()
        for job in jobs:
            if job.token == self.job_token:
                return job
        if self.known_job is not None and self.known_job.token == self.job_token:
            return self.known_job
        return jobs[0] if jobs else None

    @property
    def other_job(self) -> bool:
        """Whether the cursor of the queue is on a job that is not of this project."""
        return self.queue_row is not None and not self.queue_row.ours

    @property
    def marked_jobs(self) -> int:
        """The number of jobs in the marked rows of the queue."""
        return sum(self._marked_states().values())

    def _marked_states(self) -> Counter[JobState]:
        states: Counter[JobState] = Counter()
        for key, row in self.queue_marks.items():
            if key.parent not in self.queue_marks:  # A row of a marked array is marked already.
                states.update(dict(row.counts))
        return states

    @property
    def chosen_states(self) -> Mapping[JobState, int]:
        """The marked jobs, or those under the cursor, counted by state."""
        if self.queue_marks:
            return self._marked_states()
        if self.queue_row is not None:
            return dict(self.queue_row.counts) if self.queue_row.ours else {}
        return {self.job.state: 1} if self.job else {}

    @property
    def logins(self) -> tuple[ClusterView, ...]:
        """The clusters to which the user could log in now."""
        clusters = self.jobs.clusters if self.jobs else ()
        return tuple(
            one
            for one in clusters
            if (one.login or one.connected is False) and one.name not in self.connecting
        )

    @property
    def freshness(self) -> Freshness:
        """The age of the snapshot, and the word for the reason why it may be out of date."""
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
        """Whether the numbers on the screen may be out of date and are drawn dim."""
        return self.freshness.word.endswith(("STALE", "AWAY"))


def describe(error: BaseException) -> tuple[str, str]:
    """Return an error as (description, hint) for the user: no traceback, and no class of rowtui."""
    if isinstance(error, RowtuiError):
        return error.message, error.hint
    text = str(error) or "no details"
    return f"{type(error).__name__}: {text}", ""
