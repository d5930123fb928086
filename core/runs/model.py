"""The events of the journal of a network run.

Takes lines of `events.jsonl` and gives typed events, and back. An event is written before its
effect is visible to other processes. `sample` is always a directory's name. Times are epoch
seconds.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from rowtui.core.base.codec import record
from rowtui.core.base.errors import RowtuiError
from rowtui.core.runs.limits.limits import RunLimits

VERSION = 1


class RunStatus(enum.Enum):
    """The status of a run, by its journal."""

    NEW = "new"
    RUNNING = "running"  # begun or resumed; the lock shows whether a process drives it now
    PAUSED = "paused"
    FINISHED = "finished"
    FAILED = "failed"
    STOPPED = "stopped"

    @property
    def is_over(self) -> bool:
        """Whether the run has nothing left to do."""
        return self in (RunStatus.FINISHED, RunStatus.FAILED)


class MadeEntry(NamedTuple):
    """One entry of a list that a job made: a sample with one more dimension.

    `value` is the value of that dimension, `more` holds further keys of the value file, and
    `position` is the index in the list.
    """

    value: Any
    more: Mapping[str, Any]
    position: int


class RunStarted(NamedTuple):
    """The run began."""

    at: float


class Resumed(NamedTuple):
    """The user resumed the run, after a pause or after the end of the process that drove it."""

    at: float


class Paused(NamedTuple):
    """The run waits for the user. `why` is a sentence."""

    at: float
    why: str = ""


class Stopped(NamedTuple):
    """The user stopped the run permanently."""

    at: float
    why: str = ""


class LimitsConfirmed(NamedTuple):
    """The user confirmed these limits."""

    at: float
    limits: RunLimits
    user: str = ""


class PlanSubmitted(NamedTuple):
    """A plan is about to be submitted; written before the first job is submitted.

    `jobs` are the tokens of the jobs to submit. Amounts are what they ask for; `money` is in
    `currency`. `retries`: how many of the jobs are attempts after the first.
    """

    at: float
    plan_id: str
    jobs: tuple[str, ...]
    cpu_hours: float
    gpu_hours: float = 0.0
    money: float = 0.0
    currency: str = ""
    retries: int = 0


class NotSent(NamedTuple):
    """Jobs of a plan that were not submitted or were refused: their amounts are refunded.

    The fields are as in the `PlanSubmitted` event of the plan.
    """

    at: float
    plan_id: str
    jobs: tuple[str, ...]
    cpu_hours: float
    gpu_hours: float = 0.0
    money: float = 0.0
    currency: str = ""
    retries: int = 0


class JobFailed(NamedTuple):
    """The job of a node's sample failed."""

    at: float
    node: str
    sample: str
    reason: str = ""
    token: str = ""


class Retried(NamedTuple):
    """Failed samples of a node are to be tried again. `why`: the cause and the rule, if a rule did.

    In a run without a network, `node` is the action and `samples` are its directories. `continues`:
    their jobs did not fail; the same attempt goes on.
    """

    at: float
    node: str
    samples: tuple[str, ...]
    why: str = ""
    continues: bool = False


# The reason of a `Cancelled` event after the user cancelled a job; a retry of all failed jobs
# includes the sample.
BY_HAND = "cancelled"


class Cancelled(NamedTuple):
    """Samples of a node that the run will not process."""

    at: float
    node: str
    samples: tuple[str, ...]
    why: str = ""


class Grew(NamedTuple):
    """A list was read, with the samples that it adds. `digest`: SHA-256 of the file, in hex.

    The product `output` belongs to `sample` of `node`; `dimension` is the dimension that the list
    adds.
    """

    at: float
    node: str
    sample: str
    output: str
    dimension: str
    digest: str
    entries: tuple[MadeEntry, ...]


class Published(NamedTuple):
    """A sink's product was copied out. `path` is relative to the project."""

    at: float
    sink: str
    sample: str
    path: str


class Finished(NamedTuple):
    """The run has nothing left to do. `why`: how many directories are complete, and why others are
    not.
    """

    at: float
    success: bool
    why: str = ""


Event = (
    RunStarted
    | Resumed
    | Paused
    | Stopped
    | LimitsConfirmed
    | PlanSubmitted
    | NotSent
    | JobFailed
    | Retried
    | Cancelled
    | Grew
    | Published
    | Finished
)

_KINDS: dict[str, type[Event]] = {
    "started": RunStarted,
    "resumed": Resumed,
    "paused": Paused,
    "stopped": Stopped,
    "limits confirmed": LimitsConfirmed,
    "submitted": PlanSubmitted,
    "not sent": NotSent,
    "job failed": JobFailed,
    "retried": Retried,
    "cancelled": Cancelled,
    "grew": Grew,
    "published": Published,
    "finished": Finished,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


class RunHeader(NamedTuple):
    """The content of run.json. `created`: epoch seconds; `limits_at`: when limits were confirmed.

    `cluster` is the chosen cluster, "" for the cluster of this machine. `plug_ins`: the chosen
    plug-ins for `priority`, `execution`, ...
    """

    created: float
    user: str
    name: str = ""
    cluster: str = ""
    plug_ins: Mapping[str, str] = {}
    limits: RunLimits = RunLimits()
    limits_at: float | None = None


def about_bytes(about: RunHeader) -> bytes:
    """Return the bytes of run.json."""
    fields = about._asdict() | {"limits": limits_fields(about.limits)}
    return json_line({"version": VERSION, **fields}) + b"\n"


def about_of(data: bytes) -> RunHeader:
    """Parse run.json. Raises: RowtuiError for another version and for invalid content."""
    try:
        fields = json.loads(data)
        version = fields.pop("version", None)
    except (ValueError, AttributeError, RecursionError):
        raise RowtuiError("its run.json is invalid", "it was damaged or edited") from None
    if version != VERSION:
        raise RowtuiError(
            f"its run.json has version {json.dumps(version)}, rowtui supports {VERSION}",
            "use the version of rowtui that began the run",
        )
    try:
        return record(RunHeader, fields)
    except (KeyError, TypeError, ValueError):
        raise RowtuiError("its run.json is invalid", "it was damaged or edited") from None


def line_of(event: Event) -> bytes:
    """Return an event as a line of the journal. Raises: RowtuiError for NaN and other non-JSON."""
    fields = event._asdict()
    if isinstance(event, LimitsConfirmed):
        fields["limits"] = limits_fields(event.limits)
    return json_line({"v": VERSION, "event": _NAMES[type(event)], **fields}) + b"\n"


def event_of(line: bytes) -> Event | None:
    """Parse a line of the journal; return None for a truncated line.

    Raises: RowtuiError for a line of another version of rowtui.
    """
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return None  # truncated by a crash: the effect of the event had not happened yet
    if not isinstance(fields, dict):
        return None
    kind = _KINDS.get(str(fields.pop("event", "")))
    if fields.pop("v", None) != VERSION or kind is None:
        raise RowtuiError("it was written by another version of rowtui", "use that version for it")
    try:
        return record(kind, fields)
    except (AttributeError, TypeError, ValueError):
        raise RowtuiError(
            f"its journal has an invalid line: {line[:80].decode('ascii', 'replace')}",
            "the file was damaged or edited; begin a new run, which keeps completed work",
        ) from None


def limits_fields(limits: RunLimits) -> dict[str, Any]:
    """Return limits as a JSON object; limits that are not set are omitted."""
    fields = limits._asdict()
    return {k: it for k, it in fields.items() if it not in (None, "") and it is not False}


def json_line(value: Any) -> bytes:
    r"""Return compact ASCII JSON. Lone surrogates (bytes that are not UTF-8) are kept as `\udcff`.

    Raises: RowtuiError for NaN, infinities and values that are not JSON.
    """
    try:
        text = json.dumps(value, separators=(",", ":"), allow_nan=False, default=_plain)
    except (ValueError, TypeError, RecursionError) as error:
        raise RowtuiError(f"a value cannot be written as JSON: {error}") from None
    return text.encode()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "tolist"):
        return value.tolist()  # a numpy array or scalar
    raise TypeError(f"{type(value).__name__} is not JSON")
