"""An engine that records its answers, for reports of defects and for tests.

Takes any `Engine` and a file; gives an `Engine` with the same answers. Names are masked
(`Masks`); the user's answers to a login are never written. The file is written in a thread of
its own, and a full disk ends the recording, not the dashboard.
"""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import hashlib
import inspect
import os
import re
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from functools import cache
from pathlib import Path
from typing import Any, cast

from rowtui.core.base.errors import RowtuiError
from rowtui.core.engine.api.engine import SERVICES, Engine, engine_methods
from rowtui.core.engine.recording.codec import Masked, TextField, encode
from rowtui.core.engine.recording.tape import Tape
from rowtui.core.project.queue.views import QueueRequest

# Replace names, paths and values in a recording by stable pseudonyms.
#
# Each word is decided separately. A word is kept if rowtui's own program text contains it (so that
# states, reasons and errors can still be read), or if it is part of the name of an action. Names of
# directories and users, values, scripts, logs and paths are replaced completely. The pseudonyms of
# two recordings are unrelated, because their random key is not stored.


WORD = re.compile("(?:[^\\W_]|[\udc80-\udcff])+")
_CHUNK = re.compile(r"[^\s'\"`,:;()\[\]<>=|]+")  # a possible name in a sentence
_SHORT_NUMBER = re.compile(r"\d{1,4}")
_STEPS = ("", ".", "..", "~")
_LETTERS = 4  # of a pseudonym, more where two would be the same

DIRECTORIES = frozenset({"directories", "directory", "first", "bad"})
USERS = frozenset({"user", "users", "roles", "owner", "account", "email", "holder"})
PATHS = frozenset({
    "root", "path", "log_path", "place", "where", "file", "files", "host", "machine", "products",
    "folder", "there", "requires", "home", "pointers",
})  # fmt: skip
TEXTS = frozenset({
    "script", "command", "commands", "what", "said", "written", "diff", "basis", "line",
})  # fmt: skip
VALUES = frozenset({"value", "values", "sort_key", "params", "previous_params", "resubmit", "env"})
ACTIONS = frozenset({"action", "previous_actions"})
KINDS = {
    ("ActionSummary", "name"): "action",
    ("Contribution", "value"): "",
    ("DirectoryRow", "name"): "dir",
    ("DirectoryRow", "fields"): "value",
    ("Job", "name"): "text",
    ("JobRecord", "name"): "text",
    ("LogRow", "text"): "text",
    ("LogTail", "lines"): "text",
    ("MappingReview", "lines"): "text",
    ("Person", "name"): "user",
    ("PlannedJob", "name"): "text",
    ("QueueRow", "name"): "text",
}
"""The kind of a class's field, where the field's name is not sufficient."""

FREE_NUMBERS = frozenset({"SampleView", "MappingRequest", "Placement"})
"""Classes whose numbers in value fields are the user's own, not counts by rowtui."""


class Masks:
    """The pseudonyms of one recording. `hash_actions`: names of actions are replaced as well."""

    def __init__(
        self,
        *,
        hash_actions: bool = False,
        secret_words: Iterable[str] = (),
        vocabulary: Callable[[], frozenset[str]] | None = None,
    ) -> None:
        self._key = os.urandom(32)
        self._hash_actions = hash_actions
        self._vocabulary = vocabulary or own_words
        self._made: dict[str, str] = {}
        self._taken: set[str] = set()
        self._counts: dict[str, int] = {}
        self._actions: set[str] = set()
        self._names: set[str] = set()  # names of directories and users found so far
        self._secret: set[str] = set()
        for word in secret_words:
            self._secret.update(found.lower() for found in WORD.findall(word))

    def __call__(self, value: Any, field: TextField) -> Any:
        """Return the text or number that replaces this one in this field."""
        kind = kind_of(field)
        if not isinstance(value, str):
            free = field.owner.rpartition(".")[2] in FREE_NUMBERS
            return self._of(str(value), "value") if kind == "value" and free else value
        if kind == "action" and not self._hash_actions:
            self._actions.update(WORD.findall(value))
            return value
        if not kind:
            return _CHUNK.sub(lambda found: self._chunk(found[0]), value)
        if kind == "text":
            return WORD.sub(lambda found: self._in_text(found[0]), value)
        if kind == "path":
            parts = value.split("/")
            return "/".join(part if part in _STEPS else self._of(part, kind) for part in parts)
        if kind != "value":
            self._names.add(value)
            self._secret.update(word.lower() for word in WORD.findall(value))
        return self._of(value, kind) if WORD.search(value) else value

    def _in_text(self, word: str) -> str:
        return word if word in self._actions else self._of(word, "text")

    def _chunk(self, chunk: str) -> str:
        """Mask a part of a sentence: a known name, a path, or words."""
        if chunk in self._names:
            return self._made.get(chunk, chunk)
        if chunk.startswith(("/", "~/")):  # a path, or a pointer to a value
            parts = chunk.split("/")
            return "/".join(it if it in _STEPS else self._of(it, "path") for it in parts)
        if "/" in chunk:
            return "/".join(self._chunk(part) if part else "" for part in chunk.split("/"))
        return WORD.sub(lambda found: self._word(found[0]), chunk)

    def _word(self, word: str) -> str:
        small = word.lower()
        if word in self._actions or _SHORT_NUMBER.fullmatch(word):
            return word
        stays = small not in self._secret and small in self._vocabulary()
        return word if stays else self._of(word, "word")

    def _of(self, word: str, kind: str) -> str:
        """Return the constant pseudonym of a word; its first use determines the prefix."""
        made = self._made.get(word)
        if made is not None:
            return made
        if kind == "user":
            self._counts[kind] = self._counts.get(kind, 0) + 1
            made = f"user-{self._counts[kind]}"
        else:
            data = word.encode(errors="surrogateescape")
            digest = hashlib.blake2s(data, key=self._key).hexdigest()
            made = f"{kind}-{digest[:_LETTERS]}"
            for length in range(_LETTERS + 1, len(digest)):
                if made not in self._taken:
                    break
                made = f"{kind}-{digest[:length]}"
        self._taken.add(made)
        self._made[word] = made
        return made


def kind_of(field: TextField) -> str:
    """Return a field's kind: action, dir, user, path, text, value; "" for sentences and names."""
    special = KINDS.get((field.owner.rpartition(".")[2], field.name))
    if special is not None:
        return special
    for kind, names in _BY_NAME:
        if field.name in names:
            return kind
    return ""


_BY_NAME = (
    ("action", ACTIONS),
    ("dir", DIRECTORIES),
    ("user", USERS),
    ("path", PATHS),
    ("text", TEXTS),
    ("value", VALUES),
)


def words_of_this_person() -> list[str]:
    """Return the names of this user and machine, and the path of the home folder."""
    found = [socket.gethostname(), str(Path.home())]
    try:
        found.append(getpass.getuser())
    except (OSError, KeyError):
        pass
    return found


@cache
def own_words() -> frozenset[str]:
    """Return every word of rowtui's own program text, in lower case."""
    root = Path(__file__).parents[2]
    words: set[str] = set()
    for path in root.rglob("*.py"):
        if "demo" not in path.parts:
            words.update(word.lower() for word in re.findall(r"[A-Za-z]+", path.read_text()))
    return frozenset(word for word in words if len(word) > 1) | frozenset("adhms")


UNWRITTEN = frozenset({"clusters.answer", "clusters.questions", "changes", "close"})
"""Not recorded: the user's answers, and announcements of changes."""

PASSING = frozenset({"now", "full", "clear", "find"})
"""Arguments that do not change the request: where the cursor should go, and how urgent it is."""


class RecordingEngine:
    """A recorder in front of another `Engine`. Use `recording` to get one with the right type."""

    def __init__(
        self,
        engine: Engine,
        path: Path,
        *,
        masks: Masked | None = None,
        hash_actions: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Create a recorder. Raises: RowtuiError if the file exists already or cannot be made."""
        self._engine = engine
        self._mask = masks or Masks(hash_actions=hash_actions, secret_words=words_of_this_person())
        self._clock = clock
        self._began = clock()
        self._tape = Tape(path, self._began)
        self._pen = ThreadPoolExecutor(1, "recording")
        self.trouble = ""  # why the recording ended early

    def __getattr__(self, name: str) -> Any:
        """Return a service of the engine, or a method, that records its answers."""
        part = getattr(self._engine, name)
        return RecordedService(self, name, part) if name in SERVICES else self.recorded(name, part)

    def recorded(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method of the engine that records its answers. `name`: such as "queue.page"."""
        if name in UNWRITTEN or name not in engine_methods():
            return method
        if inspect.iscoroutinefunction(engine_methods()[name]):
            return self._answering(name, method)
        return self._yielding(name, method)

    def _answering(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        async def ask(*args: Any, **options: Any) -> Any:
            try:
                answer = await method(*args, **options)
            except RowtuiError as error:
                self._note(name, args, options, error=error)
                raise
            self._note(name, args, options, answer=answer)
            return answer

        return ask

    def _yielding(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        async def ask(*args: Any, **options: Any) -> AsyncIterator[Any]:
            async with aclosing(method(*args, **options)) as items:
                async for item in items:
                    self._note(name, args, options, answer=item)
                    yield item

        return ask

    def _note(self, name: str, args: Any, options: Any, **outcome: Any) -> None:
        self._pen.submit(self._write, self._clock() - self._began, name, args, options, outcome)

    def _write(
        self, at: float, name: str, args: Any, options: Any, outcome: dict[str, Any]
    ) -> None:
        if self.trouble:
            return
        try:
            entry: dict[str, Any] = {"t": round(max(0.0, at), 3), "call": name}
            entry["with"] = asked(name, args, options, self._mask)
            if "error" in outcome:
                error = outcome["error"]
                field = TextField("RowtuiError", "message")
                entry["error"] = [self._mask(part, field) for part in (error.message, error.hint)]
            else:
                entry["answer"] = encode(outcome["answer"], self._mask, TextField(name, "answer"))
            self._tape.add(entry)
            if self._tape.full:
                self.trouble = "the recording is full: what came later is not in it"
        except OSError as error:
            self.trouble = f"the recording ended early: {error.strerror or error}"
        except Exception as error:  # a defect of the recorder must not affect the dashboard
            self.trouble = f"the recording ended early: {type(error).__name__}: {error}"

    async def close(self) -> None:
        """Close the engine, then the file."""
        try:
            await self._engine.close()
        finally:
            await asyncio.to_thread(self._pen.shutdown)
            with contextlib.suppress(OSError):
                self._tape.close()


class RecordedService:
    """A recorder in front of one service."""

    def __init__(self, recorder: RecordingEngine, name: str, service: Any) -> None:
        self._recorder = recorder
        self._name = name
        self._service = service

    def __getattr__(self, name: str) -> Any:
        """Return a method of the service that records its answers."""
        return self._recorder.recorded(f"{self._name}.{name}", getattr(self._service, name))


def recording(engine: Engine, path: Path, **options: Any) -> Engine:
    """Return the engine with a recorder in front. Raises: RowtuiError."""
    return cast(Engine, RecordingEngine(engine, path, **options))


def asked(name: str, args: Any, options: Any, mask: Masked) -> dict[str, Any]:
    """Return the arguments of a call by the names of parameters, without defaults."""
    bound = _signature(name).bind(None, *args, **options)
    defaults = _signature(name).parameters
    return {
        parameter: encode(_plain(value), mask, TextField(name, parameter))
        for parameter, value in bound.arguments.items()
        if parameter not in ("self", *PASSING) and value != defaults[parameter].default
    }


def _plain(value: Any) -> Any:
    """Return equal requests in the same form: any sequence as a tuple, and no cursor."""
    if isinstance(value, QueueRequest):
        return value._replace(follow=None)
    return tuple(value) if isinstance(value, list | range | set | frozenset) else value


@cache
def _signature(name: str) -> inspect.Signature:
    return inspect.signature(engine_methods()[name])
