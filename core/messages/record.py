"""The record of a project's messages: what happened, what was sent, and what became of it.

A line of `.row/rowtui/messages/record.jsonl` is an event with its channels, an attempt to send
events on a channel, or the outcome of an attempt. A writer holds the lock beside it from before an
attempt until after its outcome, so an attempt without an outcome was interrupted. Lines only grow;
a writer removes what a killed writer left half written, and replaces a large file by its end.

An event of a channel is sent until one attempt succeeds, within these rules: an attempt that may
have arrived (a crash, a timeout) is followed by at most one other, which is marked as a possible
repetition; one that certainly did not arrive is followed by others, up to three in all.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rowtui.core.base.files import append_lines, read_bounded, replace_file
from rowtui.core.messages.model import DAY, Delivery, Outcome, StudyEvent, StudyEventKind

LARGEST = 1 << 20  # bytes, from which on old events are removed
LIMIT = 64 << 20  # bytes that are read at most
KEPT_SECONDS = 60 * DAY
STALE_SECONDS = 3 * DAY  # after that, an event that was not sent is old news
MOST_ATTEMPTS = 3
FOLDER = ("messages",)


class Attempts:
    """The attempts to send one event on one channel."""

    __slots__ = ("count", "outcome", "uncertain")

    def __init__(self) -> None:
        self.count = 0
        self.uncertain = 0  # attempts that may have arrived
        self.outcome: Outcome | None = None  # of the last one

    @property
    def is_over(self) -> bool:
        """Whether the event is not sent again."""
        return self.outcome is Outcome.SENT or self.count >= MOST_ATTEMPTS or self.uncertain > 1


@dataclass
class ChannelRecord:
    """What a channel still has to send, by key, and its last attempt. Times: epoch seconds."""

    waiting: dict[str, Attempts] = field(default_factory=dict)
    last: Delivery | None = None
    attempts_at: list[float] = field(default_factory=list)


@dataclass
class RecordView:
    """The record as it was read. `events`: by key, the last of each."""

    events: dict[str, StudyEvent] = field(default_factory=dict)
    channels: dict[str, ChannelRecord] = field(default_factory=dict)

    def channel(self, name: str) -> ChannelRecord:
        """Return a channel's part."""
        return self.channels.setdefault(name, ChannelRecord())

    def is_new(self, event: StudyEvent) -> bool:
        """Whether an event was not noted yet, or may happen again."""
        before = self.events.get(event.key)
        if before is None:
            return True
        return bool(event.again_after) and event.at - before.at >= event.again_after


class MessageRecord:
    """The record of one project. Methods other than `read` are called with the lock held."""

    def __init__(self, root: Path) -> None:
        self.folder = root.joinpath(".row", "rowtui", *FOLDER)
        self.path = self.folder / "record.jsonl"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of the senders. Raises: OSError."""
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def read(self) -> RecordView:
        """Return the record; damaged lines are left out. Raises: OSError, RowtuiError."""
        try:
            data = read_bounded(self.path, LIMIT)
        except (FileNotFoundError, NotADirectoryError):
            data = b""
        view = RecordView()
        for line in data.split(b"\n"):
            with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
                _enter(view, json.loads(line))
        for channel in view.channels.values():
            channel.waiting = {
                key: each
                for key, each in channel.waiting.items()
                if not each.is_over and key in view.events
            }
        return view

    def note(self, event: StudyEvent, channels: Sequence[str]) -> None:
        """Record an event that is to be sent on these channels. Raises: OSError."""
        fields = event._asdict() | {"kind": event.kind.value}
        self._append({"event": fields, "channels": list(channels)})

    def begin(self, channel: str, keys: Iterable[str], at: float) -> None:
        """Record that an attempt begins. Raises: OSError."""
        self._append({"sending": list(keys), "channel": channel, "at": at})

    def end(self, channel: str, keys: Iterable[str], at: float, delivery: Delivery) -> None:
        """Record the outcome of the attempt. Raises: OSError."""
        outcome = {"outcome": delivery.outcome.value, "why": delivery.reason}
        self._append({"ended": list(keys), "channel": channel, "at": at, **outcome})

    def remove(self) -> None:
        """Remove the record. Raises: OSError."""
        if self.folder.exists():
            with self.locked(), contextlib.suppress(FileNotFoundError):
                self.path.unlink()

    def shorten(self, now: float) -> None:
        """Remove the lines about old events from a large record. Raises: OSError, RowtuiError."""
        try:
            if self.path.stat().st_size <= LARGEST:
                return
        except FileNotFoundError:
            return
        kept: list[bytes] = []
        for line in read_bounded(self.path, LIMIT).split(b"\n"):
            with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
                value = json.loads(line)
                at = value["event"]["at"] if "event" in value else value["at"]
                if now - at < KEPT_SECONDS:
                    kept.append(line + b"\n")
        size = 0  # of many events of few days, the newest are kept
        for place in range(len(kept) - 1, -1, -1):
            size += len(kept[place])
            if size > LARGEST // 2:
                kept = kept[place + 1 :]
                break
        replace_file(self.path, b"".join(kept))

    def _append(self, value: Mapping[str, Any]) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        fd = os.open(self.path, flags, 0o666)
        try:
            append_lines(fd, json.dumps(value, separators=(",", ":")).encode() + b"\n")
        finally:
            os.close(fd)


def _enter(view: RecordView, value: dict[str, Any]) -> None:
    if "event" in value:
        fields = value["event"]
        event = StudyEvent(**fields | {"kind": StudyEventKind(fields["kind"])})
        view.events[event.key] = event
        for name in value["channels"]:
            view.channel(name).waiting[event.key] = Attempts()
        return
    channel, at = view.channel(value["channel"]), float(value["at"])
    if "sending" in value:
        channel.last = Delivery(Outcome.UNKNOWN, "it was interrupted", at)
        channel.attempts_at = [*channel.attempts_at[-9:], at]
        for key in value["sending"]:
            attempts = channel.waiting.setdefault(key, Attempts())
            attempts.count += 1
            attempts.uncertain += 1
            attempts.outcome = Outcome.UNKNOWN
    else:
        outcome = Outcome(value["outcome"])
        channel.last = Delivery(outcome, str(value["why"]), at)
        for key in value["ended"]:
            attempts = channel.waiting.setdefault(key, Attempts())
            attempts.outcome = outcome
            if outcome is not Outcome.UNKNOWN:
                attempts.uncertain -= 1
