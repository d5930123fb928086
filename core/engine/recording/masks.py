"""Replace names, paths and values in a recording by stable pseudonyms.

Each word is decided separately. A word is kept if rowtui's own program text contains it (so that
states, reasons and errors can still be read), or if it is part of the name of an action. Names of
directories and users, values, scripts, logs and paths are replaced completely. The pseudonyms of
two recordings are unrelated, because their random key is not stored.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from rowtui.core.engine.recording.codec import Field

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

    def __call__(self, value: Any, field: Field) -> Any:
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


def kind_of(field: Field) -> str:
    """Return a field's kind: action, dir, user, path, text, value; "" for sentences and plain
    names.
    """
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
    import getpass
    import socket

    found = [socket.gethostname(), str(Path.home())]
    try:
        found.append(getpass.getuser())
    except (OSError, KeyError):
        pass
    return found


@cache
def own_words() -> frozenset[str]:
    """Return every word of rowtui's own program text, in lower case."""
    import rowtui.core

    root = Path(rowtui.core.__file__).parent
    words: set[str] = set()
    for path in root.rglob("*.py"):
        if "demo" not in path.parts:
            words.update(word.lower() for word in re.findall(r"[A-Za-z]+", path.read_text()))
    return frozenset(word for word in words if len(word) > 1) | frozenset("adhms")
