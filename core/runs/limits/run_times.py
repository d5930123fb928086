"""How long one directory of each node takes: given by the user, measured, or the walltime limit.

Takes a project and a network; gives a `RunTime` for each node. The measured time is the median over
the newest successful jobs of each action. A job is measured from the creation of its fence until
its end mark, both by the clock of the file system. Where those files are elsewhere (a copy of the
project on a cluster) or were removed (`rowtui clean`), the journal is used: from submission until
the end was noticed, which includes the time in the queue. The time of a job that processed several
directories one after another is divided by their number.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.submission.plan.model import JobRecord, JobStep
from rowtui.core.submission.sending.fence import seconds_of_job
from rowtui.core.workflow.duration import DurationError, parse_duration
from rowtui.core.workflow.toml_file import did_you_mean

if TYPE_CHECKING:
    from rowtui.core.network.definition.spec import Network
    from rowtui.core.project.project import Project
    from rowtui.core.workflow.model import Action


NEWEST = 200  # jobs of each action that are read
_UNKNOWN_SECONDS = 1.0  # for a node whose action is not in workflow.toml


class RunTimeSource(enum.Enum):
    """The origin of a run time."""

    GIVEN = "given"
    MEASURED = "measured"
    QUEUED = "measured, with the time in the queue"
    LIMIT = "walltime limit"  # an upper bound


class RunTime(NamedTuple):
    """How long one directory takes. `jobs`: how many were measured."""

    seconds: float
    basis: RunTimeSource
    jobs: int = 0

    @property
    def measured(self) -> bool:
        """Whether the time is given or measured, and not a limit."""
        return self.basis is not RunTimeSource.LIMIT


def run_times(
    project: Project,
    network: Network,
    given: Mapping[str, float] | None = None,
    measured: Mapping[str, RunTime] | None = None,
) -> dict[str, RunTime]:
    """Return the run time of every node. `given`: seconds by the name of a node or an action.

    `measured`: an earlier result of `measured_times`. Raises: RowtuiError for a name that is
    neither a node nor an action.
    """
    given = given or {}
    _refuse_unknown(network, given)
    known = measured_times(project) if measured is None else measured
    found = {}
    for node in network.nodes:
        said = given.get(node.name, given.get(node.action))
        if said is not None:
            found[node.name] = RunTime(said, RunTimeSource.GIVEN)
        elif node.action in known:
            found[node.name] = known[node.action]
        else:
            actions = project.workflow.named(node.action)
            limit = float(_limit(actions[0], 1)) if actions else _UNKNOWN_SECONDS
            found[node.name] = RunTime(limit, RunTimeSource.LIMIT)
    return found


def measured_times(project: Project) -> dict[str, RunTime]:
    """Return the run times of successful jobs by action. Blocks on the disk."""
    ran: dict[str, list[float]] = {}
    queued: dict[str, list[float]] = {}
    looked: dict[str, int] = {}
    for record in project.jobs.records():  # newest first
        if record.step is not JobStep.ENDED or record.end_reason or not record.directories:
            continue
        actions = project.workflow.named(record.action)
        if not actions or looked.get(record.action, 0) >= NEWEST:
            continue
        looked[record.action] = looked.get(record.action, 0) + 1
        number = one_by_one(actions[0], len(record.directories))
        seconds = seconds_of_job(project.root, record.token)
        if seconds is not None:
            ran.setdefault(record.action, []).append(seconds / number)
        elif (waited := _from_submission(record)) is not None:
            most = min(waited, _limit(actions[0], len(record.directories)))
            queued.setdefault(record.action, []).append(most / number)
    found = {
        action: RunTime(median(every), RunTimeSource.QUEUED, len(every))
        for action, every in queued.items()
    }
    for action, every in ran.items():
        found[action] = RunTime(median(every), RunTimeSource.MEASURED, len(every))
    return found


def one_by_one(action: Action, directories: int) -> int:
    """Return how many directories a job processes one after another."""
    if "{directory}" in action.command or action.resources.walltime.per_directory:
        return directories
    return 1


def parse_seconds(text: str) -> dict[str, float]:
    """Parse `simulate=120,average=00:05:00` into seconds by name. Raises: RowtuiError."""
    found = {}
    for part in text.split(","):
        if not part.strip():
            continue
        name, equals, value = part.rpartition("=")
        seconds = _seconds(value.strip())
        if not equals or not name.strip() or seconds is None:
            raise RowtuiError(
                f"'{visible(part.strip())}' says of no node how long it takes",
                "write NODE=SECONDS or NODE=HH:MM:SS, several with commas between them",
            )
        found[name.strip()] = seconds
    return found


def _seconds(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        try:
            return float(parse_duration(text))
        except DurationError:
            return None
    return number if math.isfinite(number) and number >= 0 else None


def _refuse_unknown(network: Network, given: Mapping[str, float]) -> None:
    names = list(dict.fromkeys(name for it in network.nodes for name in (it.name, it.action)))
    for name in given:
        if name not in names:
            raise RowtuiError(
                f"there is no node '{visible(name)}' whose run time could be given",
                did_you_mean(name, names) or f"there are: {', '.join(map(visible, names))}",
            )


def _limit(action: Action, directories: int) -> int:
    return action.resources.walltime.total_seconds(directories)


def _from_submission(record: JobRecord) -> float | None:
    if not record.ended_at or not record.submitted_at:
        return None
    return max(0.0, record.ended_at - record.submitted_at)
