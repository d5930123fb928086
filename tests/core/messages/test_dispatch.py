"""Events are sent once: across calls, processes and kills; within the limits of each channel."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from rowtui.core.messages import channels
from rowtui.core.messages.dispatch import Messages, SendingMeans
from rowtui.core.messages.model import (
    DAY,
    Delivery,
    Outcome,
    Outgoing,
    StudyEvent,
    StudyEventKind,
    study_event,
)
from rowtui.core.messages.record import LARGEST, MessageRecord
from rowtui.core.messages.settings import ChannelSettings, MessageSettings

from tests.eventually import eventually

START = 1_700_000_000.0
SENT = Delivery(Outcome.SENT)


class Clock:
    now = START

    def __call__(self) -> float:
        return self.now


class Post:
    """Takes the place of the channels: keeps what is sent, and answers as told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sent: list[Outgoing] = []
        self.answers: list[Delivery] = []
        monkeypatch.setattr(channels, "deliver", self.deliver)

    def deliver(self, channel: ChannelSettings, message: Outgoing, by: Any) -> Delivery:
        self.sent.append(message)
        return self.answers.pop(0) if self.answers else SENT

    @property
    def texts(self) -> list[list[str]]:
        return [[event.text for event in message.events] for message in self.sent]


@pytest.fixture
def post(monkeypatch: pytest.MonkeyPatch) -> Post:
    return Post(monkeypatch)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def messages(root: Path, clock: Clock, *channels: ChannelSettings, notices: Any = None) -> Messages:
    every = channels or (ChannelSettings("one", "command"),)
    said = notices.append if notices is not None else lambda _: None
    return Messages(root, MessageSettings(None, every), SendingMeans({}), said, clock)


def event(text: str, clock: Clock, *, again: float = 0.0, key: str = "") -> StudyEvent:
    kind = StudyEventKind.FIRST_FAILURE
    return study_event(kind, "p", text, key or text, clock.now, again_after=again)


def test_an_event_is_sent_once_also_by_other_processes(
    tmp_path: Path, post: Post, clock: Clock
) -> None:
    for _ in range(3):
        messages(tmp_path, clock).send([event("a", clock), event("a", clock)])
        clock.now += 1000
    assert post.texts == [["a"]]


def test_an_event_that_may_happen_again_is_sent_again_after_its_time(
    tmp_path: Path, post: Post, clock: Clock
) -> None:
    ours = messages(tmp_path, clock)
    for _ in range(4):
        ours.send([event("a", clock, again=DAY)])
        clock.now += DAY / 2
    assert post.texts == [["a"], ["a"]]


def test_within_the_interval_events_wait_and_become_one_digest(
    tmp_path: Path, post: Post, clock: Clock
) -> None:
    ours = messages(tmp_path, clock)
    assert ours.send([event("a", clock)]) is None
    clock.now += 100
    assert ours.send([event("b", clock)]) == 200
    clock.now += 100
    assert ours.send([event("c", clock)]) == 100
    clock.now += 100
    assert messages(tmp_path, clock).send([]) is None  # another process
    assert post.texts == [["a"], ["b", "c"]]
    assert post.sent[1].title == "p: c, and 1 more event"


def test_a_process_that_ends_sends_one_message_more_and_no_two(
    tmp_path: Path, post: Post, clock: Clock
) -> None:
    for name in "abcd":
        messages(tmp_path, clock).send([event(name, clock)], closing=True)
        clock.now += 1
    assert post.texts == [["a"], ["b"]]
    clock.now += 300
    messages(tmp_path, clock).send([])
    assert post.texts[2:] == [["c", "d"]]


def test_a_large_digest_names_some_events_and_counts_the_others(
    tmp_path: Path, post: Post, clock: Clock
) -> None:
    messages(tmp_path, clock).send([event(f"e{number}", clock) for number in range(500)])
    assert len(post.sent) == 1
    assert post.sent[0].more == 480
    assert "and 480 more events" in post.sent[0].body


def test_each_channel_gets_only_what_it_is_told_of(
    tmp_path: Path, post: Post, clock: Clock
) -> None:
    deaf = ChannelSettings("deaf", "command", frozenset({StudyEventKind.BUDGET}))
    messages(tmp_path, clock, deaf).send([event("a", clock)])
    assert post.sent == []


def test_what_may_have_arrived_is_sent_once_more_and_marked(
    tmp_path: Path, post: Post, clock: Clock
) -> None:
    post.answers = [Delivery(Outcome.UNKNOWN, "x")] * 5
    for _ in range(5):
        messages(tmp_path, clock).send([event("a", clock)])
        clock.now += 1000
    assert [message.repeated for message in post.sent] == [False, True]
    assert "(may be a repetition)" in post.sent[1].title


def test_what_certainly_did_not_arrive_is_tried_three_times_without_a_mark(
    tmp_path: Path, post: Post, clock: Clock
) -> None:
    notices: list[str] = []
    post.answers = [Delivery(Outcome.FAILED, "no server")] * 9
    ours = messages(tmp_path, clock, notices=notices)
    for _ in range(6):
        ours.send([event("a", clock)])
        clock.now += 1000
    assert [message.repeated for message in post.sent] == [False] * 3
    assert notices == ["no message by one: no server"]


def test_old_news_is_not_sent(tmp_path: Path, post: Post, clock: Clock) -> None:
    post.answers = [Delivery(Outcome.FAILED, "x")]
    messages(tmp_path, clock).send([event("a", clock)])
    clock.now += 30 * DAY
    messages(tmp_path, clock).send([])
    assert len(post.sent) == 1


KILLED = """
import sys, time
from pathlib import Path
from rowtui.core.messages import channels
from rowtui.core.messages.dispatch import Messages, SendingMeans
from rowtui.core.messages.model import StudyEventKind, study_event
from rowtui.core.messages.settings import ChannelSettings, MessageSettings

def deliver(*_):
    print("at the send", flush=True)
    time.sleep(600)

channels.deliver = deliver
settings = MessageSettings(None, (ChannelSettings("one", "command"),))
ours = Messages(Path(sys.argv[1]), settings, SendingMeans({}), print)
ours.send([study_event(StudyEventKind.RUN_FINISHED, "p", "a", "a", time.time())])
"""


def killed_at_the_send(root: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(root)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "at the send\n"
        process.send_signal(signal.SIGKILL)
        assert process.wait(30) == -signal.SIGKILL


def test_a_kill_between_the_record_and_the_send_repeats_a_message_once_and_says_so(
    tmp_path: Path, post: Post, clock: Clock
) -> None:
    import time

    clock.now = time.time()
    killed_at_the_send(tmp_path)
    clock.now += 1000
    for _ in range(3):
        messages(tmp_path, clock).send([])
        clock.now += 1000
    assert [message.repeated for message in post.sent] == [True]
    assert post.texts == [["a"]]


def test_two_kills_end_the_attempts(tmp_path: Path, post: Post, clock: Clock) -> None:
    import time

    clock.now = time.time() + 1000
    killed_at_the_send(tmp_path)
    record = MessageRecord(tmp_path)
    with record.locked():
        record.begin("one", ["a"], clock.now - 500)  # the second process, killed there as well
    messages(tmp_path, clock).send([])
    assert post.sent == []


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_line_half_written_by_a_killed_process_loses_no_other(
    tmp_path: Path, post: Post, clock: Clock, cut: int
) -> None:
    messages(tmp_path, clock).send([event("a", clock)])
    path = MessageRecord(tmp_path).path
    with path.open("ab") as file:
        file.write(b'{"event":{"kind":"first_failure","project":"p","text":"x","det'[:cut])
    clock.now += 1000
    messages(tmp_path, clock).send([event("b", clock)])
    clock.now += 1000
    messages(tmp_path, clock).send([event("a", clock), event("b", clock)])
    assert post.texts == [["a"], ["b"]]


@pytest.mark.parametrize(
    "line", ["null", "[]", "7", '{"event": 3}', '{"sending": [[]], "channel": "one", "at": 1}',
             '{"ended": ["a"], "channel": [], "at": "x"}']
)  # fmt: skip
def test_a_damaged_record_is_read_as_far_as_possible(
    tmp_path: Path, post: Post, clock: Clock, line: str
) -> None:
    messages(tmp_path, clock).send([event("a", clock)])
    path = MessageRecord(tmp_path).path
    path.write_text(f"{line}\n{path.read_text()}{line}\n")
    messages(tmp_path, clock).send([event("a", clock)])
    assert post.texts == [["a"]]


def test_a_large_record_loses_its_old_lines_and_no_new_ones(
    tmp_path: Path, post: Post, clock: Clock
) -> None:
    ours = messages(tmp_path, clock)
    old = json.dumps({"sending": ["x" * 1000], "channel": "one", "at": clock.now - 90 * DAY})
    ours.send([event("a", clock)])
    path = ours.record.path
    path.write_text(f"{old}\n" * (LARGEST // 1000 + 1) + path.read_text())
    ours.send([])
    assert path.stat().st_size < 2000
    clock.now += 1000
    ours.send([event("a", clock)])
    assert post.texts == [["a"]]


def test_a_folder_that_cannot_be_written_is_a_notice_and_nothing_is_sent(
    tmp_path: Path, post: Post, clock: Clock
) -> None:
    (tmp_path / ".row").write_text("no folder")
    notices: list[str] = []
    ours = messages(tmp_path, clock, notices=notices)
    ours.notify(event("a", clock))
    ours.close()
    assert post.sent == []
    assert notices
    assert "cannot be recorded" in notices[0]


def test_the_caller_never_waits_for_a_channel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    entered, release = threading.Event(), threading.Event()

    def deliver(*_: object) -> Delivery:
        entered.set()
        release.wait(30)
        return SENT

    monkeypatch.setattr(channels, "deliver", deliver)
    ours = messages(tmp_path, clock)
    ours.notify(event("a", clock))
    assert entered.wait(30)
    for number in range(5_000):  # more than the queue takes
        ours.notify(event(f"b{number}", clock))
    release.set()
    ours.close()


def test_a_defect_in_a_channel_does_not_end_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    out = tmp_path / "out"
    good = ChannelSettings("good", "command", command=("/bin/sh", "-c", f"cat > {out}"))
    bad = ChannelSettings("bad", "mail")  # without its settings
    environment: Mapping[str, str] = dict(os.environ)
    ours = Messages(
        tmp_path,
        MessageSettings(None, (bad, good)),
        SendingMeans(environment),
        lambda _: None,
        clock,
    )
    ours.notify(event("a", clock))
    eventually(lambda: out.exists() and out.read_text(), lambda text: "p: a" in str(text))
    ours.close()
