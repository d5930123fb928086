"""What rowtui processes of one user say to each other over the socket of a shared connection.

A frame is the lengths of its head and body, a head of JSON and a body of bytes. Takes values
(a request, a result, a question, what is known of a login) and gives frames, and the other way
round; whatever is not as it should be is a `ProtocolError`, never a guess. Strings keep bytes
that are no text (JSON's escapes carry the lone surrogates of os.fsdecode).

The greeting (`rowtui`, `protocol`, `wish`, and `error` in its answer) must never change: it is how
another version is told that it cannot be served, and how it looks and ends all the same.
"""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from rowtui.core import __version__
from rowtui.core.clusters.commands import OUTPUT_LIMIT, CommandResult, Trouble
from rowtui.core.clusters.transports.login import LoginError, LoginTrouble, Prompt, UnknownHostKey
from rowtui.core.errors import RowtuiError
from rowtui.core.text import visible

PROTOCOL = 1
HEAD_LIMIT = 4 << 20  # bytes; a remote command line has at most 120 kB, an escaped byte 6
BODY_LIMIT = 2 * OUTPUT_LIMIT  # both streams of a result
_LENGTHS = struct.Struct("!II")

_Value = TypeVar("_Value")


class ProtocolError(RowtuiError):
    """The other end does not speak as agreed."""


class Wish(Enum):
    """What a process wants that connects."""

    COMMANDS = "commands"
    STREAM = "stream"
    LOOK = "look"
    LOGIN = "login"
    END = "end"


class State(Enum):
    """Of the login that a process holds. `SILENT`: it gives no answer."""

    LOGGING_IN = "logging in"
    CONNECTED = "connected"
    LOST = "lost"
    SILENT = "no answer"


class Frame(NamedTuple):
    """One message."""

    head: dict[str, Any]
    body: bytes = b""


class SharedLogin(NamedTuple):
    """What is known of one shared connection. Times: epoch seconds; `idle`: seconds.

    `running`: commands under way. `version`: of the rowtui that holds it.
    """

    cluster: str
    host: str = ""  # safe to show
    user: str = ""
    state: State = State.SILENT
    since: float = 0.0
    until: float = 0.0
    idle: float = 0.0
    running: int = 0
    pid: int = 0
    version: str = ""


class Request(NamedTuple):
    """A command that another process wants to be run. See `Transport.run`."""

    number: int
    argv: tuple[str, ...]
    stdin: bytes
    timeout: float
    cwd: Path | None
    env: dict[str, str | None]


# Frames


def send(writer: asyncio.StreamWriter, head: Mapping[str, Any], *body: bytes) -> None:
    """Write a frame. Raises: ValueError, before anything is written, if it is too long."""
    words = json.dumps(head, separators=(",", ":")).encode()
    length = sum(map(len, body))
    if len(words) > HEAD_LIMIT:
        raise ValueError("the command is too long")
    if length > BODY_LIMIT:
        raise ValueError(f"the input has {length:,} bytes, more than {BODY_LIMIT:,}")
    writer.write(_LENGTHS.pack(len(words), length) + words)
    for part in body:
        if part:
            writer.write(part)


async def receive(reader: asyncio.StreamReader) -> Frame | None:
    """The next frame; None at the end, also in the middle of one. Raises: ProtocolError."""
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
    return Frame(head, body)


def field(head: Mapping[str, Any], name: str, *kinds: type[_Value]) -> _Value:
    """A value of a message, of one of these types. Raises: ProtocolError."""
    value = head.get(name)
    if isinstance(value, bool) and bool not in kinds:
        value = None
    if not isinstance(value, kinds):
        raise ProtocolError(f"a message has no {name}")
    return value


# The greeting


def greeting(wish: Wish) -> dict[str, Any]:
    """What who connects says first."""
    return {"rowtui": __version__, "protocol": PROTOCOL, "wish": wish.value}


def wish_in(frame: Frame | None) -> Wish | None:
    """What they want; None if it is nothing that can be wanted."""
    try:
        return Wish(frame.head.get("wish")) if frame is not None else None
    except ValueError:
        return None


def same_version(frame: Frame) -> bool:
    """Whether the other end is of this very version."""
    return (frame.head.get("rowtui"), frame.head.get("protocol")) == (__version__, PROTOCOL)


def version_in(frame: Frame) -> str:
    """The other end's version, safe to show."""
    version = frame.head.get("rowtui")
    return visible(version[:40]) if isinstance(version, str) else "of an unknown version"


def login_head(login: SharedLogin) -> dict[str, Any]:
    """What is known of a login, as values."""
    return {**login._asdict(), "state": login.state.value}


def read_login(head: Mapping[str, Any]) -> SharedLogin:
    """The same, read again; what is missing has its default: the other may be of any version."""
    values = SharedLogin("")._asdict()
    for name, default in values.items():
        given = head.get(name)
        if name == "state":
            values[name] = next((s for s in State if s.value == given), State.SILENT)
        elif isinstance(default, float) and isinstance(given, int):
            values[name] = float(given)
        elif type(given) is type(default):
            values[name] = visible(given) if isinstance(given, str) else given
    return SharedLogin(**values)


# Commands


def request_head(
    number: int,
    argv: Sequence[str],
    timeout: float,
    cwd: Path | None,
    env: Mapping[str, str | None] | None,
) -> dict[str, Any]:
    """A command; its standard input is the body."""
    return {
        "run": number,
        "argv": list(argv),
        "timeout": timeout,
        "cwd": None if cwd is None else str(cwd),
        "env": dict(env or {}),
    }


def read_request(frame: Frame) -> Request:
    """The command that is wanted. Raises: ProtocolError."""
    head = frame.head
    argv = field(head, "argv", list)
    env = field(head, "env", dict)
    cwd = head.get("cwd")
    if not all(isinstance(word, str) for word in argv) or not isinstance(cwd, str | None):
        raise ProtocolError("a command is not made of text")
    if not all(isinstance(value, str | None) for value in env.values()):
        raise ProtocolError("a variable is no text")
    return Request(
        field(head, "run", int),
        tuple(argv),
        frame.body,
        float(field(head, "timeout", int, float)),
        None if cwd is None else Path(cwd),
        env,
    )


def result_head(number: int, result: CommandResult) -> dict[str, Any]:
    """What came of a command; standard output and error together are the body."""
    return {
        "result": number,
        "exit_status": result.exit_status,
        "stdout": len(result.stdout),
        "seconds": result.seconds,
        "trouble": result.trouble.value if result.trouble is not None else None,
        "detail": result.detail,
        "truncated": result.truncated,
    }


def read_result(argv: Sequence[str], frame: Frame) -> CommandResult:
    """What came of a command. Raises: ProtocolError."""
    head = frame.head
    trouble = head.get("trouble")
    status = None if head.get("exit_status") is None else field(head, "exit_status", int)
    length = field(head, "stdout", int)
    try:
        known = None if trouble is None else Trouble(trouble)
    except ValueError:
        raise ProtocolError("a result has an unknown trouble") from None
    if not 0 <= length <= len(frame.body):
        raise ProtocolError("a result is shorter than it says")
    return CommandResult(
        tuple(argv),
        status,
        frame.body[:length],
        frame.body[length:],
        float(field(head, "seconds", int, float)),
        known,
        field(head, "detail", str),
        field(head, "truncated", bool),
    )


# Questions of a login


def prompts_head(number: int, prompts: Sequence[Prompt]) -> dict[str, Any]:
    """Questions for a person."""
    return {"ask": number, "prompts": [list(prompt) for prompt in prompts]}


def read_prompts(frame: Frame) -> list[Prompt]:
    """The questions. Raises: ProtocolError."""
    prompts = field(frame.head, "prompts", list)
    try:
        return [Prompt(str(text), bool(echo), str(machine)) for text, echo, machine in prompts]
    except (TypeError, ValueError):
        raise ProtocolError("a question is not as it should be") from None


def host_key_head(number: int, key: UnknownHostKey) -> dict[str, Any]:
    """Shall this key be believed?"""
    return {"host_key": number, "key": list(key)}


def read_host_key(frame: Frame) -> UnknownHostKey:
    """The key. Raises: ProtocolError."""
    key = field(frame.head, "key", list)
    if len(key) != len(UnknownHostKey._fields) or not all(isinstance(text, str) for text in key):
        raise ProtocolError("a host key is not as it should be")
    return UnknownHostKey(*key)


def failure_head(error: LoginError) -> dict[str, Any]:
    """Why there is no connection."""
    return {
        "failed": error.trouble.value,
        "message": error.message,
        "hint": error.hint,
        "tried": list(error.tried),
    }


def read_failure(frame: Frame) -> LoginError:
    """Why there is no connection. Raises: ProtocolError."""
    try:
        trouble = LoginTrouble(frame.head.get("failed"))
    except ValueError:
        raise ProtocolError("a failed login has an unknown reason") from None
    tried = field(frame.head, "tried", list)
    return LoginError(
        trouble,
        field(frame.head, "message", str),
        field(frame.head, "hint", str),
        tried=tuple(map(str, tried)),
    )
