"""The protocol between rowtui processes of one user over the socket of a shared connection.

A frame is the lengths of its head and body, a head of JSON and a body of bytes. The module encodes
values (a request, a result, a question, the state of a login) as frames, and decodes frames; an
invalid frame is a `ProtocolError`, never a guess. Strings keep bytes that are not UTF-8 (JSON's
escapes hold the lone surrogates of os.fsdecode).

The greeting (`rowtui`, `protocol`, `wish`, and `error` in its answer) must never change: through it
a process of another version learns that it cannot be served, and can still query and end the
connection.
"""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple, TypeVar

from rowtui.core import __version__
from rowtui.core.base.codec import record
from rowtui.core.base.document import document
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.clusters.command_log import CommandResult, Trouble
from rowtui.core.clusters.commands import OUTPUT_LIMIT
from rowtui.core.clusters.transports.login import LoginError, LoginTrouble, Prompt

PROTOCOL = 1
HEAD_LIMIT = 4 << 20  # bytes; a remote command line has at most 120 kB, an escaped byte takes 6
BODY_LIMIT = 2 * OUTPUT_LIMIT  # both streams of a result
_LENGTHS = struct.Struct("!II")

_Record = TypeVar("_Record")
_Value = TypeVar("_Value")


class ProtocolError(RowtuiError):
    """The other end violates the protocol."""


class ClientRequest(Enum):
    """The request of a process that connects."""

    COMMANDS = "commands"
    STREAM = "stream"
    LOOK = "look"
    LOGIN = "login"
    END = "end"


class LoginState(Enum):
    """State of the login that a process holds. `SILENT`: the process does not answer."""

    LOGGING_IN = "logging in"
    CONNECTED = "connected"
    LOST = "lost"
    SILENT = "no answer"


class Message(NamedTuple):
    """One message."""

    head: dict[str, Any]
    body: bytes = b""


class SharedLogin(NamedTuple):
    """The state of one shared connection. Times: epoch seconds; `idle`: seconds.

    `running`: number of running commands. `version`: of the rowtui that holds the connection.
    """

    cluster: str
    host: str = ""  # safe to show
    user: str = ""
    state: LoginState = LoginState.SILENT
    since: float = 0.0
    until: float = 0.0
    idle: float = 0.0
    running: int = 0
    pid: int = 0
    version: str = ""


class Request(NamedTuple):
    """The head of a command to run, see `Transport.run`; its standard input is the body."""

    run: int
    argv: tuple[str, ...]
    timeout: float
    cwd: str | None
    env: Mapping[str, str | None]


class ResultHead(NamedTuple):
    """The head of a result. `stdout`: how many bytes of the body are standard output."""

    result: int
    exit_status: int | None
    stdout: int
    seconds: float
    trouble: Trouble | None
    detail: str
    truncated: bool


class FailureHead(NamedTuple):
    """The head of a failed login."""

    failed: LoginTrouble
    message: str
    hint: str
    tried: tuple[str, ...]


Head = Mapping[str, Any] | Request | ResultHead | FailureHead
"""What `send` writes as the head of a frame."""


# Frames


def send(writer: asyncio.StreamWriter, head: Head, *body: bytes) -> None:
    """Write a frame. Raises: ValueError, before anything is written, if it is too long."""
    words = json.dumps(document(head), separators=(",", ":")).encode()
    length = sum(map(len, body))
    if len(words) > HEAD_LIMIT:
        raise ValueError("the command is too long")
    if length > BODY_LIMIT:
        raise ValueError(f"the input has {length:,} bytes, more than {BODY_LIMIT:,}")
    writer.write(_LENGTHS.pack(len(words), length) + words)
    for part in body:
        if part:
            writer.write(part)


async def receive(reader: asyncio.StreamReader) -> Message | None:
    """Read the next frame; None at the end, also within a frame. Raises: ProtocolError."""
    try:
        words, length = _LENGTHS.unpack(await reader.readexactly(_LENGTHS.size))
        if words > HEAD_LIMIT or length > BODY_LIMIT:
            raise ProtocolError("a message is longer than any should be")
        text = await reader.readexactly(words)
        body = await reader.readexactly(length)
    except (asyncio.IncompleteReadError, OSError):
        return None
    try:
        head = json.loads(text)
    except (ValueError, RecursionError):
        head = None
    if not isinstance(head, dict):
        raise ProtocolError("a message has no head")
    return Message(head, body)


def field(head: Mapping[str, Any], name: str, *kinds: type[_Value]) -> _Value:
    """Return a field of a message if it has one of these types. Raises: ProtocolError."""
    value = head.get(name)
    if isinstance(value, bool) and bool not in kinds:
        value = None
    if not isinstance(value, kinds):
        raise ProtocolError(f"a message has no {name}")
    return value


# The greeting


def greeting(wish: ClientRequest) -> dict[str, Any]:
    """Return the first message of a process that connects."""
    return {"rowtui": __version__, "protocol": PROTOCOL, "wish": wish.value}


def wish_in(frame: Message | None) -> ClientRequest | None:
    """Return the request of a greeting; None if it is invalid."""
    try:
        return ClientRequest(frame.head.get("wish")) if frame is not None else None
    except ValueError:
        return None


def same_version(frame: Message) -> bool:
    """Whether the other end has exactly this version."""
    return (frame.head.get("rowtui"), frame.head.get("protocol")) == (__version__, PROTOCOL)


def version_in(frame: Message) -> str:
    """Return the other end's version, safe to show."""
    version = frame.head.get("rowtui")
    return visible(version[:40]) if isinstance(version, str) else "of an unknown version"


def read_login(head: Mapping[str, Any]) -> SharedLogin:
    """Read the state of a login; missing values get defaults, as the versions may differ."""
    values = SharedLogin("")._asdict()
    for name, default in values.items():
        given = head.get(name)
        if name == "state":
            values[name] = next((s for s in LoginState if s.value == given), LoginState.SILENT)
        elif isinstance(default, float) and isinstance(given, int):
            values[name] = float(given)
        elif type(given) is type(default):
            values[name] = visible(given) if isinstance(given, str) else given
    return SharedLogin(**values)


# Commands and questions


def read(kind: type[_Record], value: Any) -> _Record:
    """Read a record. Raises: ProtocolError."""
    try:
        return record(kind, value, extra=True)
    except (TypeError, ValueError) as error:
        raise ProtocolError(f"a message is not as it should be: {error}") from None


def result_head(number: int, result: CommandResult) -> ResultHead:
    """Return the head of a result; standard output and error together are the body."""
    return ResultHead(
        number,
        result.exit_status,
        len(result.stdout),
        result.seconds,
        result.trouble,
        result.detail,
        result.truncated,
    )


def read_result(argv: Sequence[str], frame: Message) -> CommandResult:
    """Read the result of a command. Raises: ProtocolError."""
    head, body = read(ResultHead, frame.head), frame.body
    if not 0 <= head.stdout <= len(body):
        raise ProtocolError("a result is shorter than its stated length")
    return CommandResult(
        tuple(argv),
        head.exit_status,
        body[: head.stdout],
        body[head.stdout :],
        head.seconds,
        head.trouble,
        head.detail,
        head.truncated,
    )


def read_prompts(frame: Message) -> list[Prompt]:
    """Read questions for the user. Raises: ProtocolError."""
    return [read(Prompt, each) for each in field(frame.head, "prompts", list)]


def read_failure(frame: Message) -> LoginError:
    """Read the reason of a failed login. Raises: ProtocolError."""
    head = read(FailureHead, frame.head)
    return LoginError(*head[:3], tried=head.tried)
