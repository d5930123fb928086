"""Send a project's events on the user's channels, in a thread of its own.

`notify` only puts an event into a queue, so the caller neither waits nor fails. The thread notes
each event once, and sends what waits on each channel: one event as it is, several as one digest,
and at most one message in the channel's interval. Problems become notices of the project.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.messages.model import (
    MOST_IN_DIGEST,
    Delivery,
    Outcome,
    Outgoing,
    StudyEvent,
    StudyEventKind,
    study_event,
)
from rowtui.core.messages.record import (
    STALE_SECONDS,
    Attempts,
    ChannelRecord,
    MessageRecord,
    RecordView,
)
from rowtui.core.messages.settings import ChannelSettings, MessageSettings
from rowtui.core.secrets.model import Secret, SecretError
from rowtui.core.secrets.service import SecretService, open_service

CLOSE_SECONDS = 35.0  # at the end of a process, for what waits to be sent
LONGEST_REST = 60.0  # seconds between two looks at what waits
MOST_QUEUED = 1_000  # events that wait for the thread; more than these are dropped


class SendingMeans(NamedTuple):
    """What a process gives to its channels. `terminal`: writes to the terminal, if it has one."""

    environment: Mapping[str, str]
    terminal: Callable[[str], None] | None = None

    def show(self, sequence: str) -> bool:
        """Write a sequence to the terminal; False if there is none."""
        if self.terminal is None:
            return False
        self.terminal(sequence)
        return True

    def password(self, machine: str, user: str) -> Secret | None:
        """Return a password of the user's own places; the user is not asked."""
        return asyncio.run(_look_up(dict(self.environment), machine, user))


async def _look_up(environment: dict[str, str], machine: str, user: str) -> Secret | None:
    service: SecretService = await open_service(environment)
    try:
        return await service.find_password_for_user(machine, user)
    except SecretError:
        return None


class Messages:
    """The messages of one project, sent by one process.

    `notice`: called, in another thread, with a problem that the user should see. `clock`: epoch
    seconds.
    """

    def __init__(
        self,
        root: Path,
        settings: MessageSettings,
        sending: SendingMeans,
        notice: Callable[[str], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.root = root
        self.settings = settings
        self.record = MessageRecord(root)
        self._sending = sending
        self._notice = notice
        self._clock = clock
        self._queue: queue.Queue[StudyEvent | None] = queue.Queue(MOST_QUEUED)
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._said: set[str] = set()
        self._wanted = frozenset(kind for one in settings.channels for kind in one.on)

    def wants(self, kind: StudyEventKind) -> bool:
        """Whether any channel reports events of this kind."""
        return kind in self._wanted

    def notify(self, event: StudyEvent) -> None:
        """Send an event, unless it was noted before. Returns at once and raises nothing."""
        if not self.wants(event.kind):
            return
        self._begin()
        with contextlib.suppress(queue.Full):
            self._queue.put_nowait(event)

    def resume(self) -> None:
        """Send what an earlier process left, if there is anything."""
        if self.record.path.exists():
            self._begin()

    def close(self) -> None:
        """Send what waits, as far as the limits allow, and wait a bounded time for it."""
        with self._starting:
            thread, self._thread = self._thread, None
        if thread is not None:
            with contextlib.suppress(queue.Full):
                self._queue.put_nowait(None)
                thread.join(CLOSE_SECONDS)

    def _begin(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="rowtui-messages", daemon=True
                )
                self._thread.start()

    # In the thread

    def _work(self) -> None:
        rest = 0.01  # the first time, what an earlier process left is looked at
        while True:
            events: list[StudyEvent] = []
            closing = False
            with contextlib.suppress(queue.Empty):
                item = self._queue.get(timeout=rest) if rest else self._queue.get()
                while True:
                    closing = closing or item is None
                    if item is not None:
                        events.append(item)
                    item = self._queue.get_nowait()
            try:
                wait = self.send(events, closing=closing)
            except (OSError, RowtuiError) as error:
                self._tell(f"messages cannot be recorded, so none are sent: {_why(error)}")
                wait = None
            except Exception as error:  # reported, because nothing waits for this thread
                self._tell(f"messages cannot be sent: {type(error).__name__}")
                wait = None
            if closing:
                return
            rest = 0.0 if wait is None else max(0.05, min(wait, LONGEST_REST))

    def send(self, events: list[StudyEvent], *, closing: bool = False) -> float | None:
        """Note these events, and send what is due; return the seconds until more is due, or None.

        `closing`: the process ends, so a second message within the interval is allowed. Raises:
        OSError, RowtuiError if the record cannot be written.
        """
        with self.record.locked():
            view = self.record.read()
            for event in events:
                if not view.is_new(event):
                    continue
                names = [it.name for it in self.settings.channels if event.kind in it.on]
                self.record.note(event, names)
                view.events[event.key] = event
                for name in names:
                    view.channel(name).waiting[event.key] = Attempts()
            waits = [
                self._send_on(channel, view, closing=closing) for channel in self.settings.channels
            ]
            self.record.shorten(self._clock())
        known = [seconds for seconds in waits if seconds is not None]
        return min(known) if known else None

    def _send_on(
        self, channel: ChannelSettings, view: RecordView, *, closing: bool
    ) -> float | None:
        """Send what waits on a channel; return the seconds until it is due."""
        record, now = view.channel(channel.name), self._clock()
        due = [
            key for key in record.waiting if 0 <= now - view.events[key].at + 60 <= STALE_SECONDS
        ]
        if not due:
            return None
        wait = self._interval(channel, record, now, closing=closing)
        if wait > 0:
            return wait
        # A message that may be a repetition is sent on its own, so that its mark is true.
        again = [key for key in due if record.waiting[key].uncertain]
        chosen = again or due
        shown = chosen[-MOST_IN_DIGEST:]
        message = Outgoing(
            tuple(view.events[key] for key in shown), bool(again), len(chosen) - len(shown)
        )
        # Imported here: mail and HTTP take longer to import than the other modules of a command.
        from rowtui.core.messages.channels import deliver

        self.record.begin(channel.name, chosen, now)
        delivery = deliver(channel, message, self._sending)
        self.record.end(channel.name, chosen, self._clock(), delivery)
        if delivery.outcome is not Outcome.SENT:
            self._tell(f"no message by {visible(channel.name)}: {delivery.reason}")
        if delivery.outcome is Outcome.SENT and len(chosen) == len(due):
            return None
        return max(channel.interval, 1.0)

    @staticmethod
    def _interval(
        channel: ChannelSettings, record: ChannelRecord, now: float, *, closing: bool
    ) -> float:
        """Return how long a channel has to wait: one message in an interval, two if closing."""
        recent = sorted(at for at in record.attempts_at if 0 <= now - at < channel.interval)
        most = 2 if closing else 1
        return 0.0 if len(recent) < most else channel.interval - (now - recent[-most])

    def _tell(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._notice(text)


def send_test(
    channel: ChannelSettings,
    sending: SendingMeans,
    project: str,
    clock: Callable[[], float] = time.time,
) -> Delivery:
    """Send a test message now; it is neither limited nor recorded."""
    from rowtui.core.messages.channels import deliver

    kind = StudyEventKind.RUN_FINISHED
    text = "this is a test message of rowtui"
    details = ("rowtui notify --test sent it. Nothing has happened to your jobs.",)
    event = study_event(kind, project, text, "test", clock(), details=details)
    return deliver(channel, Outgoing((event,)), sending)


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return str(error)
