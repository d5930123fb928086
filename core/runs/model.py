"""What the journal of a network run says: its events.

Takes lines of `events.jsonl` and gives typed events, and back. An event is written down before
others can see what it tells of. `sample` is always a directory's name. Times are epoch seconds.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.errors import RowtuiError
from rowtui.core.runs.limits import Limits

if TYPE_CHECKING:
    from rowtui.core.network.spec import JSON

VERSION = 1


class RunStatus(enum.Enum):
    """Where a run stands, by its journal."""

    NEW = "new"
    RUNNING = "running"  # begun or resumed; that a process drives it now, its lock says
    PAUSED = "paused"
    FINISHED = "finished"
    FAILED = "failed"
    STOPPED = "stopped"

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do in it."""
        return self in (RunStatus.FINISHED, RunStatus.FAILED)


class Entry(NamedTuple):
    """One entry of a list that a job made: a sample with one more dimension.

    `value` is of that dimension, `more` are further keys of the value file, `position` in the list.
    """

    value: JSON
    more: Mapping[str, JSON]
    position: int


class Started(NamedTuple):
    """The run began."""

    at: float


class Resumed(NamedTuple):
    """Somebody went on with it, after a pause or after the process that drove it had ended."""

    at: float


class Paused(NamedTuple):
    """It waits for a person. `why` is a sentence."""

    at: float
    why: str = ""


class Stopped(NamedTuple):
    """A person ended it for good."""

    at: float
    why: str = ""


class LimitsConfirmed(NamedTuple):
    """A person allowed this."""

    at: float
    limits: Limits
    user: str = ""


class PlanSubmitted(NamedTuple):
    """A plan is about to be carried out: what of it is sent. Written before the first job is.

    `jobs` are tokens. Amounts are what they ask for; `money` is in `currency`.
    """

    at: float
    plan_id: str
    jobs: tuple[str, ...]
    core_hours: float
    gpu_hours: float = 0.0
    money: float = 0.0
    currency: str = ""


class NotSent(NamedTuple):
    """Jobs of a plan that were not sent after all, or were refused: what they asked for is free.

    As in the `PlanSubmitted` that they were in.
    """

    at: float
    plan_id: str
    jobs: tuple[str, ...]
    core_hours: float
    gpu_hours: float = 0.0
    money: float = 0.0
    currency: str = ""


class JobFailed(NamedTuple):
    """The job of a node's sample failed."""

    at: float
    node: str
    sample: str
    reason: str = ""
    token: str = ""


class Retried(NamedTuple):
    """Failed samples of a node are to be tried again."""

    at: float
    node: str
    samples: tuple[str, ...]


class Cancelled(NamedTuple):
    """Samples of a node will not be worked on."""

    at: float
    node: str
    samples: tuple[str, ...]
    why: str = ""


class Grew(NamedTuple):
    """A list came: the samples that it makes. `digest`: SHA-256 of the file, in hex.

    `node` and `sample` are whose product `output` is; `dimension` is the one that it adds.
    """

    at: float
    node: str
    sample: str
    output: str
    dimension: str
    digest: str
    entries: tuple[Entry, ...]


class Published(NamedTuple):
    """A sink's product was copied out. `path` is relative to the project."""

    at: float
    sink: str
    sample: str
    path: str


class Finished(NamedTuple):
    """Nothing is left to do."""

    at: float
    success: bool


Event = (
    Started
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
    "started": Started,
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
_TUPLES = ("jobs", "samples")


class About(NamedTuple):
    """What run.json says of a run. `created`: epoch seconds; `limits_at`: when they were confirmed.

    `cluster` is the one that was chosen, "" for whichever is here. `plug_ins`: what was chosen
    for `priority`, `execution`, ...
    """

    created: float
    user: str
    name: str = ""
    cluster: str = ""
    plug_ins: Mapping[str, str] = {}
    limits: Limits = Limits()
    limits_at: float | None = None


def about_bytes(about: About) -> bytes:
    """run.json."""
    fields = about._asdict() | {"limits": limits_fields(about.limits)}
    return json_line({"version": VERSION, **fields}) + b"\n"


def about_of(data: bytes) -> About:
    """The reverse. Raises: RowtuiError for another version, and for what makes no sense."""
    try:
        fields = json.loads(data)
        version = fields.pop("version", None)
    except (ValueError, AttributeError, RecursionError):
        raise RowtuiError("its run.json makes no sense", "it was damaged or edited") from None
    if version != VERSION:
        raise RowtuiError(
            f"its run.json has version {json.dumps(version)}, and this rowtui knows {VERSION}",
            "use the version of rowtui that began the run",
        )
    try:
        fields["limits"] = limits_of(fields["limits"])
        return About(**fields)
    except (KeyError, TypeError, ValueError):
        raise RowtuiError("its run.json makes no sense", "it was damaged or edited") from None


def line_of(event: Event) -> bytes:
    """An event as a line of the journal. Raises: RowtuiError for what JSON cannot say (NaN)."""
    fields = event._asdict()
    if isinstance(event, LimitsConfirmed):
        fields["limits"] = limits_fields(event.limits)
    if isinstance(event, Grew):
        fields["entries"] = [[entry.value, entry.more, entry.position] for entry in event.entries]
    return json_line({"v": VERSION, "event": _NAMES[type(event)], **fields}) + b"\n"


def event_of(line: bytes) -> Event | None:
    """The event of a line; None for one that was cut off.

    Raises: RowtuiError for a line of another version of rowtui.
    """
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return None  # cut off by a crash: what it would have said had not happened yet
    if not isinstance(fields, dict):
        return None
    kind = _KINDS.get(str(fields.pop("event", "")))
    if fields.pop("v", None) != VERSION or kind is None:
        raise RowtuiError("it was written by another version of rowtui", "use that version for it")
    try:
        return kind(**_typed(fields))
    except (KeyError, TypeError, ValueError):
        raise RowtuiError(
            f"its journal has a line that makes no sense: {line[:80].decode('ascii', 'replace')}",
            "the file was damaged or edited; begin a new run, which finds what is done already",
        ) from None


def _typed(fields: dict[str, Any]) -> dict[str, Any]:
    fields["at"] = float(fields["at"])
    for name in _TUPLES:
        if name in fields:
            fields[name] = tuple(map(str, fields[name]))
    if "limits" in fields:
        fields["limits"] = limits_of(fields["limits"])
    if "entries" in fields:
        fields["entries"] = tuple(
            Entry(value, dict(more), int(position)) for value, more, position in fields["entries"]
        )
    return fields


def limits_fields(limits: Limits) -> dict[str, Any]:
    """Limits as JSON has them: only those that there are."""
    return {key: value for key, value in limits._asdict().items() if value not in (None, "")}


def limits_of(fields: Mapping[str, Any]) -> Limits:
    """The reverse. Raises: TypeError, ValueError."""
    known = dict(fields)
    for name in ("core_hours", "gpu_hours", "money", "until"):
        if name in known:
            known[name] = float(known[name])
    for name in ("jobs_in_queue", "failures", "failures_in_a_row"):
        if name in known:
            known[name] = int(known[name])
    if "destinations" in known:
        known["destinations"] = tuple(map(str, known["destinations"]))
    return Limits(**known)


def json_line(value: Any) -> bytes:
    r"""Compact ASCII JSON: lone surrogates (bytes that are not UTF-8) survive as `\udcff`.

    Raises: RowtuiError for NaN, infinities and what is no JSON at all.
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
        return value.tolist()  # numpy's
    raise TypeError(f"{type(value).__name__} is not JSON")
