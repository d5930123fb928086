"""The events of a study that messages report, the message itself, and the result of sending it."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple

from rowtui.core.base.document import Moment, TextOrNull
from rowtui.core.base.text import plural, visible

LONGEST_TEXT = 300  # characters of an event's line
LONGEST_DETAILS = 2_000  # characters
MOST_IN_DIGEST = 20  # events that one message names; the others are counted

DAY = 86_400.0


class StudyEventKind(enum.Enum):
    """The kind of an event, as in `on = [...]` of messages.toml."""

    RUN_FINISHED = "run_finished"
    RUN_PAUSED = "run_paused"
    FIRST_FAILURE = "first_failure"
    BUDGET = "budget"
    LOGIN_NEEDED = "login_needed"
    JOB_STARTED = "job_started"
    JOB_FAILED = "job_failed"

    @property
    def is_optional(self) -> bool:
        """Whether a channel reports this kind only if the user names it."""
        return self in (StudyEventKind.JOB_STARTED, StudyEventKind.JOB_FAILED)


ORDINARY = frozenset(kind for kind in StudyEventKind if not kind.is_optional)
"""The kinds that a channel reports by default."""


class StudyEvent(NamedTuple):
    """Something that happened to a project. `at`: epoch seconds.

    `text`: one line; `details`: further lines. Both are bounded and have no control characters
    (see `study_event`). Events with the same `key` are one event, except that the same thing may
    happen again after `again_after` seconds; 0 means never.
    """

    kind: StudyEventKind
    project: str
    text: str
    details: str
    key: str
    at: float
    again_after: float = 0.0


def study_event(
    kind: StudyEventKind,
    project: str,
    text: str,
    key: str,
    at: float,
    *,
    details: Sequence[str] = (),
    again_after: float = 0.0,
) -> StudyEvent:
    """Return an event whose texts are bounded and safe to show. `details`: lines."""
    lines = "\n".join(visible(line) for line in details)
    return StudyEvent(
        kind,
        _cut(visible(project), 100),
        _cut(visible(text), LONGEST_TEXT),
        _cut(lines, LONGEST_DETAILS),
        _cut(visible(key), 300),
        at,
        again_after,
    )


class Outgoing(NamedTuple):
    """One message on one channel: an event, or several as a digest.

    `repeated`: an earlier attempt may have arrived. `more`: events that are only counted.
    """

    events: tuple[StudyEvent, ...]
    repeated: bool = False
    more: int = 0

    @property
    def project(self) -> str:
        """The name of the project."""
        return self.events[0].project

    @property
    def title(self) -> str:
        """One line: the project and what happened last."""
        others = len(self.events) + self.more - 1
        what = self.events[-1].text + (f", and {plural(others, 'more event')}" if others else "")
        again = " (may be a repetition)" if self.repeated else ""
        return f"{self.project}: {what}{again}"

    @property
    def body(self) -> str:
        """The lines below the title; "" if the title is everything."""
        lines: list[str] = []
        if len(self.events) + self.more == 1:
            lines += self.events[0].details.splitlines()
        else:
            for event in self.events:
                lines.append(f"- {event.text}")
                lines += [f"    {line}" for line in event.details.splitlines()[:3]]
        if self.more:
            lines.append(f"- and {plural(self.more, 'more event')}")
        if self.repeated:
            lines.append("An earlier attempt to send this message may have arrived.")
        return "\n".join(lines)


class Outcome(enum.Enum):
    """What became of an attempt to send a message."""

    SENT = "sent"
    FAILED = "failed"  # it certainly did not arrive
    UNKNOWN = "unknown"  # it may have arrived


class Delivery(NamedTuple):
    """An attempt to send. `outcome`: `sent`, `failed`, or `unknown` if it may have arrived.

    `reason`: null if it was sent; it contains no secret.
    """

    outcome: Outcome
    reason: TextOrNull = ""
    at: Moment = 0.0


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
