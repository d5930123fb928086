"""Read messages.toml: the channels that messages are sent on, and the events that each reports.

The file is the user's own, `~/.config/rowtui/messages.toml`. Every mistake is reported with its
line and column; a channel with a mistake is left out, and the others are used.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from rowtui.core.base.errors import InvalidFileError, Problem, RowtuiError
from rowtui.core.base.files import own_config_folder
from rowtui.core.base.text import visible
from rowtui.core.messages.model import ORDINARY, StudyEventKind
from rowtui.core.workflow.toml_file import TomlTable, did_you_mean, open_toml
from rowtui.core.workflow.toml_keys import Key, TableKeys

FILE = "messages.toml"
MOST_CHANNELS = 20

DEFAULT_INTERVAL = 300.0  # seconds
TERMINAL_INTERVAL = 10.0
_LONGEST_INTERVAL = 7 * 86_400.0
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_COMMAND_HINT = 'a program and its arguments, without a shell: command = ["ntfy", "publish", "me"]'
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_ADDRESS = r"(?!-)[A-Za-z0-9_.+=%-]+(@[A-Za-z0-9.-]+)?"
_NAME = r"[A-Za-z0-9_.-]{1,40}"
_HOST = r"[A-Za-z0-9.:-]*"
_INTERVAL = r"([0-9]{1,7})([smhd])"

_URL = {"url": Key("string", "The address that messages are sent to.", 'url = "https://..."')}
_COMMAND = Key(
    "strings",
    "A program of your own, with its arguments.",
    _COMMAND_HINT,
    hint=_COMMAND_HINT,
    words={"minItems": 1, "prefixItems": [{"type": "string", "minLength": 1}]},
)
_ADDRESSES = Key("texts", form=_ADDRESS, words={"minItems": 1})
_MAIL = {
    "to": Key("any", "The addresses of the mail.", "", either=(_ADDRESSES,)),
    "from": Key("string", "The sender.", form=f"({_ADDRESS})?"),
    "host": Key("string", "The mail server, if not sendmail.", form=_HOST),
    "port": Key("integer", "The port of the mail server.", least=1, most=65_535),
    "user": Key("string", "Your name on the mail server."),
    "starttls": Key("boolean", "Whether the connection is encrypted."),
}
_KEYS: dict[str, dict[str, Key]] = {
    "command": {"command": _COMMAND},
    "webhook": _URL,
    "slack": _URL,
    "mattermost": _URL,
    "mail": _MAIL,
    "desktop": {},
    "terminal": {},
}
KINDS = tuple(_KEYS)
_KIND = Key("string", "How messages are sent.", f"one of {', '.join(KINDS)}", choices=KINDS)
_EVENTS = [kind.value for kind in StudyEventKind]
_TIMES = (Key("number", most=_LONGEST_INTERVAL), Key("string", form=_INTERVAL))
_COMMON = {
    "name": Key("string", "The channel's name.", form=_NAME),
    "on": Key("strings", "The events to report.", words={"items": {"enum": _EVENTS}}),
    "min_interval": Key("any", "The least time between two messages.", either=_TIMES),
}
_NEEDS_HOST = {"dependentRequired": {key: ["host"] for key in ("port", "user", "starttls")}}
_CHANNELS = {
    kind: TableKeys(
        {"kind": _KIND._replace(choices=(kind,)), **_COMMON, **keys},
        subject="" if kind == "mail" else "the channel",
        words=_NEEDS_HOST if kind == "mail" else {},
    )
    for kind, keys in _KEYS.items()
}
_ANY_CHANNEL = TableKeys({"kind": _KIND}, Key("any"), subject="the channel")
MESSAGE_KEYS = TableKeys(
    {
        "channel": Key(
            "tables",
            "A way to reach you.",
            keys=_ANY_CHANNEL,
            either=tuple(Key("table", keys=keys) for keys in _CHANNELS.values()),
        )
    }
)


class MailSettings(NamedTuple):
    """How mail is sent. Without a `host`, the program `sendmail` of this machine sends it.

    `user`: the name for the SMTP server; its password is the secret of `host` and `user`.
    """

    to: tuple[str, ...]
    sender: str = ""
    host: str = ""
    port: int = 587
    user: str = ""
    starttls: bool = True


class ChannelSettings(NamedTuple):
    """One channel. `interval`: least seconds between two messages. `url` may be a secret."""

    name: str
    kind: str
    on: frozenset[StudyEventKind] = ORDINARY
    interval: float = DEFAULT_INTERVAL
    command: tuple[str, ...] = ()
    url: str = ""
    mail: MailSettings | None = None

    @property
    def target(self) -> str:
        """Where messages go, without a secret: of a URL only the machine is shown."""
        if self.url:
            parts = urlsplit(self.url)
            port = f":{parts.port}" if parts.port else ""
            return visible(f"{parts.scheme}://{parts.hostname}{port}/…")
        if self.mail is not None:
            by = self.mail.host or "sendmail"
            return visible(f"{', '.join(self.mail.to)} by {by}")
        return visible(self.command[0]) if self.command else ""


DASHBOARD_TERMINAL = ChannelSettings("terminal", "terminal", interval=TERMINAL_INTERVAL)
"""The channel that the dashboard has if messages.toml has none of this kind."""


class MessageSettings(NamedTuple):
    """The channels of the user, and the problems of the file. `path`: None without a home."""

    path: Path | None
    channels: tuple[ChannelSettings, ...] = ()
    problems: tuple[Problem, ...] = ()

    def named(self, name: str) -> ChannelSettings:
        """Return a channel. Raises: RowtuiError."""
        for channel in self.channels:
            if channel.name == name:
                return channel
        names = [channel.name for channel in self.channels]
        shown = f"there are {', '.join(map(visible, names))}" if names else "there is none"
        hint = did_you_mean(name, names) or shown
        raise RowtuiError(f"there is no channel '{visible(name)}'", hint)


def messages_file(environ: Mapping[str, str]) -> Path | None:
    """Return the path of messages.toml, which need not exist; None without a home folder."""
    folder = own_config_folder(environ)
    return None if folder is None else folder / FILE


def load_messages(environ: Mapping[str, str]) -> MessageSettings:
    """Return the user's channels; a missing file has none."""
    path = messages_file(environ)
    return MessageSettings(None) if path is None else read_messages(path)


def read_messages(path: Path) -> MessageSettings:
    """Return the channels of this file; a missing file has none."""
    try:
        file = open_toml(path, MESSAGE_KEYS)
    except InvalidFileError as error:
        return MessageSettings(path, (), error.problems)
    if file is None:
        return MessageSettings(path)
    channels: list[ChannelSettings] = []
    for table in file.top.tables("channel") or ():
        channel = _channel(table, {channel.name for channel in channels})
        if channel is None:
            continue
        if len(channels) == MOST_CHANNELS:
            table.problem((), f"there are more than {MOST_CHANNELS} channels")
            break
        channels.append(channel)
    if any(channel.url for channel in channels):
        _check_mode(path, file.problems)
    return MessageSettings(path, tuple(channels), file.in_order)


def _check_mode(path: Path, problems: list[Problem]) -> None:
    """Warn if others can read a file with the address of a webhook, which works as a password."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    if mode & (stat.S_IRGRP | stat.S_IROTH):
        text = "others can read this file, and who has the url of a webhook can write to it"
        hint = f"chmod 600 {visible(str(path))}"
        problems.append(Problem(visible(str(path)), 0, 0, text, hint, "warning"))


def _channel(table: TomlTable, taken: set[str]) -> ChannelSettings | None:
    """Return the channel of one table; None if it has a mistake."""
    before = len(table.file.problems)
    kind = table.string("kind")
    if kind is None:
        return None
    table = table.with_keys(_CHANNELS[kind])
    table.check()
    found = ChannelSettings(
        _name(table, kind, taken),
        kind,
        _on(table),
        _interval(table, TERMINAL_INTERVAL if kind == "terminal" else DEFAULT_INTERVAL),
        _command(table) if kind == "command" else (),
        _url(table) if "url" in _KEYS[kind] else "",
        _mail(table) if kind == "mail" else None,
    )
    return found if len(table.file.problems) == before else None


def _name(table: TomlTable, kind: str, taken: set[str]) -> str:
    name = table.string("name")
    if name is not None:
        if not re.fullmatch(_NAME, name):
            hint = "use at most 40 letters, digits, `_`, `.` and `-`"
            table.problem("name", f"`name` cannot be '{visible(name)}'", hint)
        elif name in taken:
            table.problem("name", f"another channel is called '{name}'", "use another name")
        return name
    name, number = kind, 1
    while name in taken:
        number += 1
        name = f"{kind}-{number}"
    return name


def _on(table: TomlTable) -> frozenset[StudyEventKind]:
    if "on" not in table:
        return ORDINARY
    known = [kind.value for kind in StudyEventKind]
    chosen = set()
    for at, word in enumerate(table.strings("on") or ()):
        if word in known:
            chosen.add(StudyEventKind(word))
        else:
            hint = did_you_mean(word, known) or f"the events are {', '.join(known)}"
            table.problem(("on", at), f"there is no event '{visible(word)}'", hint)
    return frozenset(chosen)


def _interval(table: TomlTable, default: float) -> float:
    value = table.values.get("min_interval")
    if value is None:
        return default
    hint = 'write seconds, or a time as "30s", "5m" or "1h"'
    if isinstance(value, str) and (match := re.fullmatch(_INTERVAL, value)):
        value = int(match[1]) * _UNITS[match[2]]
    if not isinstance(value, int | float) or isinstance(value, bool):
        table.problem("min_interval", "`min_interval` is no time", hint)
    elif not 0 <= value <= _LONGEST_INTERVAL:
        table.problem("min_interval", "`min_interval` must be between 0 and 7 days", hint)
    else:
        return float(value)
    return default


def _command(table: TomlTable) -> tuple[str, ...]:
    command = table.strings("command")
    if command is None:
        return ()
    if not command or not command[0]:
        table.problem("command", "`command` is empty", _COMMAND_HINT)
    elif any("\0" in word for word in command):
        table.problem("command", "`command` has a NUL character")
    return (os.path.expanduser(command[0]), *command[1:]) if command else ()


def _url(table: TomlTable) -> str:
    """Return the address. Problems never repeat it, because it often holds a secret."""
    url = table.string("url")
    if url is None:
        return ""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        host = ""
    if not host or not url.isascii() or not url.isprintable() or " " in url:
        table.problem("url", "`url` is no address", 'url = "https://..."')
    elif parts.username is not None:
        table.problem("url", "`url` must have no user and no password before the machine")
    elif parts.scheme != "https" and not (parts.scheme == "http" and host in LOOPBACK):
        table.problem("url", "`url` must begin with https://", "http only reaches this machine")
    return url


def _mail(table: TomlTable) -> MailSettings:
    to = table.values.get("to")
    if isinstance(to, str):
        to = [to]
    if not isinstance(to, list) or not to or not all(isinstance(it, str) for it in to):
        table.problem("to" if "to" in table else (), "the mail needs `to`", 'to = "me@example.org"')
        to = []
    sender = table.string("from") or ""
    for key, address in (*(("to", it) for it in to), ("from", sender)):
        if address and not re.fullmatch(_ADDRESS, address):
            table.problem(key, f"'{visible(address)}' is no mail address", "as me@example.org")
    host, user = table.string("host") or "", table.string("user") or ""
    if not re.fullmatch(_HOST, host):
        table.problem("host", f"`host` cannot be '{visible(host)}'")
    starttls, port = table.boolean("starttls"), table.integer("port")
    if not host:
        for key in ("port", "user", "starttls"):
            if key in table:
                table.problem(key, f"`{key}` needs `host`", "without it, sendmail sends the mail")
    plain = starttls is False or (starttls is None and host in LOOPBACK and not user)
    if user and plain:
        hint = "remove `starttls = false`, or `user`"
        table.problem("user", "a password is sent only over an encrypted connection", hint)
    return MailSettings(tuple(to), sender, host, port or 587, user, not plain)


EXAMPLE = """\
# rowtui sends a message when a study needs you, or has ended. `rowtui notify --test` tries it out.
# Remove the `#` before the lines of the channels that you want.
#
# Every channel may have:
#   name = "phone"           for `rowtui notify --test phone`; otherwise the kind
#   min_interval = "5m"      at most one message in this time; later events are sent together
#   on = ["run_finished", "run_paused", "first_failure", "budget", "login_needed"]
#                            these five by default; there are also "job_started" and "job_failed"

# [[channel]]
# kind = "mail"              # by the program sendmail of this machine
# to = "me@example.org"
#
# [[channel]]
# kind = "mail"              # by a mail server; `rowtui secrets set smtp.example.org me` asks for
# name = "server"            # the password and keeps it in your key ring
# to = ["me@example.org"]
# from = "me@example.org"
# host = "smtp.example.org"
# port = 587
# user = "me"

# [[channel]]
# kind = "slack"             # or "mattermost", or "webhook" for plain JSON
# url = "https://hooks.slack.com/services/..."

# [[channel]]
# kind = "command"           # your own program: the message on stdin and in ROWTUI_MESSAGE_*
# command = ["curl", "--silent", "--data-binary", "@-", "https://ntfy.sh/my-secret-topic"]

# [[channel]]
# kind = "desktop"           # notify-send

# [[channel]]
# kind = "terminal"          # the dashboard does this without an entry; on = [] turns it off
# on = []
"""
"""What `rowtui notify --init` writes."""
