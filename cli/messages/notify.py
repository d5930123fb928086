"""`rowtui notify`: list the channels of messages.toml, test them, or write an example."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.cli.argument_parser import json_option
from rowtui.cli.output.output import Output, TextColumn, table_lines
from rowtui.core.base.document import TextOrNull
from rowtui.core.base.errors import NoProjectError, RowtuiError
from rowtui.core.base.files import publish_new
from rowtui.core.base.text import plural, visible
from rowtui.core.messages.model import Delivery
from rowtui.core.workflow.find import find_project

if TYPE_CHECKING:
    from rowtui.core.messages.record import RecordView
    from rowtui.core.messages.settings import ChannelSettings, MessageSettings

_EXAMPLES = """\
  rowtui notify --init               writes an example file, whose lines you choose from
  rowtui notify --test               sends a test message on each channel
  rowtui notify --test phone         on one of them
  rowtui notify                      the channels, with their last messages of this project
  rowtui notify --json"""


class ListedChannel(NamedTuple):
    """A channel of messages.toml. `target`: where messages go, without secrets.

    `waiting`: events of this project that are not sent yet; `last`: the last attempt of this
    project. `test`: only with `--test`, on tested channels.
    """

    name: str
    kind: str
    target: str
    events: list[str]
    min_interval_seconds: float
    waiting: int
    last: Delivery | None
    test: Delivery | None


class ListedChannels(NamedTuple):
    """`notify`. `file`: the path of messages.toml; `problems`: what is wrong in it."""

    file: TextOrNull
    channels: list[ListedChannel]
    problems: list[str]


def add_notify(commands: Any, add: Any, about: Mapping[str, str]) -> None:
    """Add the command with its options."""
    notify = add(commands, "notify", "messages.notify", about["notify"], _EXAMPLES)
    notify.add_argument(
        "--test",
        nargs="?",
        const="",
        metavar="CHANNEL",
        help="send a test message on this channel, without a name on each one",
    )
    notify.add_argument(
        "--init", action="store_true", help="write a commented example file, after a question"
    )
    notify.add_argument("-y", "--yes", action="store_true", help="answer the question with yes")
    json_option(notify)


def run(args: argparse.Namespace, out: Output) -> int:
    """List, test, or write the file; 1 if the file has a mistake, or a test was not sent."""
    from rowtui.core.messages.settings import load_messages

    if args.init:
        return _write_example(args, out)
    settings = load_messages(os.environ)
    root = _project()
    tests: dict[str, Delivery] = {}
    if args.test is not None:
        chosen = [settings.named(args.test)] if args.test else settings.channels
        for channel in chosen:
            tests[channel.name] = _test(channel, root, out, quiet=args.json)
    view = _record(root, out)
    if args.json:
        out.json(_document(settings, view, tests))
    else:
        out.problems(settings.problems)
        if args.test is None:
            _print(settings, view, out)
        elif not settings.channels:
            _print_none(settings, out)
    wrong = any(it.severity == "error" for it in settings.problems)
    unsent = any(delivery.outcome.value != "sent" for delivery in tests.values())
    none = args.test is not None and not settings.channels
    return 1 if wrong or unsent or none else 0


def _project() -> Path | None:
    try:
        return find_project(Path.cwd())
    except NoProjectError:
        return None


def _record(root: Path | None, out: Output) -> RecordView:
    from rowtui.core.messages.record import MessageRecord, RecordView

    if root is not None:
        try:
            return MessageRecord(root).read()
        except (OSError, RowtuiError) as error:
            why = getattr(error, "strerror", None) or str(error)
            out.warn(f"the record of messages cannot be read: {visible(why)}")
    return RecordView()


def _test(channel: ChannelSettings, root: Path | None, out: Output, *, quiet: bool) -> Delivery:
    from rowtui.cli.project.open import terminal_writer
    from rowtui.core.messages.dispatch import SendingMeans, send_test

    terminal = terminal_writer()
    sending = SendingMeans(dict(os.environ), terminal)
    delivery = send_test(channel, sending, "rowtui" if root is None else root.name)
    if not quiet:
        if delivery.outcome.value == "sent":
            where = f" to {channel.target}" if channel.target else ""
            out.print(f"{channel.name}: sent{where}")
        else:
            where = f" ({channel.target})" if channel.target else ""
            out.error(f"{channel.name}: {delivery.outcome.value}: {delivery.reason}{where}")
    return delivery._replace(at=time.time())


def _print(settings: MessageSettings, view: RecordView, out: Output) -> None:
    if not settings.channels:
        _print_none(settings, out)
        return
    columns = [
        TextColumn("Channel", style="bold"),
        TextColumn("Kind"),
        TextColumn("Sends to"),
        TextColumn("At most every", right=True),
        TextColumn("Last message"),
    ]
    rows = []
    for channel in settings.channels:
        record = view.channel(channel.name)
        last = "–"
        if record.last is not None:
            at = datetime.fromtimestamp(record.last.at, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
            last = f"{at} {record.last.outcome.value}"
            last += f": {record.last.reason}" if record.last.reason else ""
        if record.waiting:
            last += f"; {plural(len(record.waiting), 'event')} to send"
        every = _time(channel.interval)
        rows.append([channel.name, channel.kind, channel.target or "–", every, last])
    out.lines(table_lines(columns, rows, out))
    out.print()
    for channel in settings.channels:
        events = ", ".join(_events(channel)) or "nothing"
        out.print(f"{visible(channel.name)} reports: {events}")
    out.note(f"Settings: {visible(str(settings.path))}; 'rowtui notify --test' tries them out.")


def _print_none(settings: MessageSettings, out: Output) -> None:
    if settings.problems:
        return
    out.print("There is no channel, so no message is sent.")
    out.note(f"'rowtui notify --init' writes an example: {visible(str(settings.path))}")


def _events(channel: ChannelSettings) -> list[str]:
    return sorted(kind.value for kind in channel.on)


def _time(seconds: float) -> str:
    if not seconds:
        return "–"
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds % size == 0:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds:g}s"


def _write_example(args: argparse.Namespace, out: Output) -> int:
    """Write the example, which only its owner can read, as it will hold addresses that are secret.

    Raises: RowtuiError.
    """
    from rowtui.cli.project.open import ask
    from rowtui.core.messages.settings import EXAMPLE, messages_file

    path = messages_file(os.environ)
    if path is None:
        raise RowtuiError("there is no folder for configuration", "set HOME or XDG_CONFIG_HOME")
    shown = visible(str(path))
    if path.exists():
        raise RowtuiError(f"{shown} exists", "edit it; 'rowtui notify' lists its channels")
    if not (args.yes or ask(f"Write {shown}?", out, as_json=args.json)):
        out.warn("Nothing was written.")
        return 1
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        before = os.umask(0o077)
        try:
            written = publish_new(path, EXAMPLE.encode())
        finally:
            os.umask(before)
    except OSError as error:
        raise RowtuiError(f"{shown} cannot be written: {error.strerror}") from None
    if written is None:
        raise RowtuiError(f"{shown} exists", "edit it; 'rowtui notify' lists its channels")
    out.print(f"Wrote {shown}. Remove the # before a channel, then: rowtui notify --test")
    return 0


def _document(
    settings: MessageSettings, view: RecordView, tests: Mapping[str, Delivery]
) -> ListedChannels:
    channels = []
    for channel in settings.channels:
        record = view.channel(channel.name)
        channels.append(
            ListedChannel(
                channel.name,
                channel.kind,
                channel.target,
                _events(channel),
                channel.interval,
                len(record.waiting),
                record.last,
                tests.get(channel.name),
            )
        )
    path = "" if settings.path is None else str(settings.path)
    return ListedChannels(path, channels, [str(problem) for problem in settings.problems])
