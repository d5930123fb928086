"""Where the dashboard opens: the place of a command line, or the one that the user left last.

`Place` is a row of a view as the options of `rowtui` name it. `StartState` is what a new dashboard
begins with. `Memory` stores it for each project in the user's state folder. A damaged file is
reported and not used; the next end of a dashboard replaces it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import read_bounded, replace_file
from rowtui.tui.commands.command import TITLES, VIEWS

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session

VERSION = 1
MOST_BYTES = 200_000
"""Bytes of one project's file; a longer file is not read and not written."""

MOST_PROJECTS = 200
"""Projects whose files are kept; the file that was not used for the longest time is removed."""

MOST_FILTERS = 100
"""Filters with a name, for each project."""

LONGEST_TEXT = 500
"""Characters of a stored text: of a filter, a name, a directory."""

NOT_RECALLED = frozenset({"submit"})
"""Views that are empty without a plan: the dashboard opens the status in their place."""

LINKED_LISTS = {"groups": "groups", "queue": "queue"}
"""The views that `--filter` can be used with, and the stored name of the list."""


class Place(NamedTuple):
    """A row of a view, or a view. `group` counts from 1; empty fields choose nothing."""

    view: str = ""
    action: str = ""
    status: str = ""
    group: int = 0
    directory: str = ""
    filter: str = ""
    job: str = ""
    cluster: str = ""

    @property
    def words(self) -> list[str]:
        """The options of `rowtui` that open this place."""
        found: list[str] = []
        for name, value in self._asdict().items():
            text = str(value) if value else ""
            if text.startswith("-"):
                found.append(f"--{name}={text}")
            elif text:
                found += [f"--{name}", text]
        return found


def command_for(root: str, place: Place) -> str:
    """Return the line of a shell that opens the dashboard of a project at this place."""
    return f"cd {shlex.quote(root)} && {shlex.join(['rowtui', *place.words])}"


def place_in(view: str, session: Session) -> Place:
    """Return the place of a view without a list: its action, group, job or cluster."""
    action = session.action.name if session.action is not None else ""
    if view == "explain":
        return Place(view, action, session.filter.word, session.group + 1)
    if view in ("status", "pack"):
        return Place(view, action)
    if view == "log" and session.job is not None and session.job.job_id:
        return Place(view, job=session.job.label)
    if view == "clusters" and session.clusters.chosen is not None:
        return Place(view, cluster=session.clusters.chosen.name)
    return Place(view)


def directory_in(view: str, session: Session) -> str:
    """Return the first directory of the job that the view shows; "" if there is none."""
    if view == "explain" and session.explanation is not None:
        return session.explanation.first
    if view == "log" and session.job is not None and session.job.directories:
        return session.job.directories[0]
    return ""


def view_named(text: str) -> str:
    """Return the view with this name, number or key; "" if there is none."""
    numbers = {str(number): name for name, (number, _) in VIEWS.items()}
    word = text.strip().lower()
    return word if word in TITLES else numbers.get(word, "clusters" if text == "C" else "")


class KeptList(NamedTuple):
    """Filter, order and row of one list. `cursor` is the key of the row, or `#3` for the third."""

    filter: str = ""
    sort: str = ""
    descending: bool = False
    cursor: str = ""


@dataclass
class StartState:
    """What a dashboard begins with. `group` counts from 1.

    `linked`: the user named the place on the command line, so that a missing item is reported.
    `directories`: the view Groups lists directories. `whose`, `cluster` and `folding` are those of
    the queue. `filters` are the filters with names: name -> text, by list.
    """

    view: str = "status"
    action: str = ""
    status: str = ""
    group: int = 0
    job: str = ""
    linked: bool = False
    directories: bool = False
    whose: str = ""
    cluster: str = ""
    folding: bool = True
    lists: dict[str, KeptList] = field(default_factory=dict)
    filters: dict[str, dict[str, str]] = field(default_factory=dict)

    def open_at(self, place: Place) -> None:
        """Open this place. The list of its view begins with the filter of the place alone."""
        self.linked = True
        self.view = place.view
        self.action = place.action or self.action
        self.status = place.status or ("all" if place.directory else "")
        self.group, self.job = place.group, place.job
        self.directories = bool(place.directory)
        if place.view in ("queue", "clusters"):
            self.whose, self.cluster, self.folding = "", place.cluster, True
        if place.view in LINKED_LISTS:
            name = "directories" if place.directory else LINKED_LISTS[place.view]
            group = f"#{place.group}" if place.group and not place.filter else ""
            self.lists[name] = KeptList(place.filter, cursor=place.directory or group)


class Memory:
    """The file of one project. `notice` is why the file could not be used, or ""."""

    notice = ""

    def __init__(self, state: Path, root: str) -> None:
        name = hashlib.sha256(os.fsencode(root)).hexdigest()[:24]
        self._folder = state / "sessions"
        self._path = self._folder / f"{name}.json"
        self._root = root

    def load(self) -> StartState:
        """Return what was stored; the defaults if nothing usable was."""
        try:
            return recall_of(json.loads(read_bounded(self._path, MOST_BYTES)))
        except FileNotFoundError:
            pass
        except (RowtuiError, OSError, ValueError, RecursionError) as error:
            self.notice = f"{self._path} is not used: {error}. The dashboard opens as new."
        return StartState()

    def save(self, recall: StartState) -> None:
        """Store it, if possible."""
        stored = {
            "version": VERSION,
            "root": self._root,
            **{name: getattr(recall, name) for name in (*_TEXTS, *_FLAGS, "group")},
            "lists": {name: one._asdict() for name, one in recall.lists.items()},
            "filters": recall.filters,
        }
        data = json.dumps(stored, indent=1).encode("utf-8", "replace")
        if len(data) > MOST_BYTES:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            replace_file(self._path, data)
            self._remove_old()
        except OSError as error:
            self.notice = f"the view could not be stored: {error}"

    def _remove_old(self) -> None:
        with os.scandir(self._folder) as entries:
            files = sorted((one.stat().st_mtime, one.path) for one in entries if one.is_file())
        for _, path in files[:-MOST_PROJECTS]:
            with contextlib.suppress(OSError):
                os.unlink(path)


_TEXTS = ("view", "action", "status", "job", "whose", "cluster")
_FLAGS = ("directories", "folding")


def recall_of(stored: Any) -> StartState:
    """Return the content of a file. Raises: ValueError if the file has another format."""
    if not isinstance(stored, dict) or stored.get("version") != VERSION:
        raise ValueError(f"it is not of version {VERSION}")
    recall = StartState()
    for name in _TEXTS:
        setattr(recall, name, _text(stored.get(name, "")))
    for name in _FLAGS:
        setattr(recall, name, stored.get(name) is True)
    group = stored.get("group", 0)
    recall.group = group if isinstance(group, int) and 0 <= group < 10**9 else 0
    if recall.view not in TITLES or recall.view in NOT_RECALLED:
        recall.view = "status"
    for name, one in _table(stored.get("lists", {})).items():
        kept = _table(one)
        recall.lists[_text(name)] = KeptList(
            _text(kept.get("filter", "")),
            _text(kept.get("sort", "")),
            kept.get("descending") is True,
            _text(kept.get("cursor", "")),
        )
    for name, one in _table(stored.get("filters", {})).items():
        named = [(_text(key), _text(text)) for key, text in _table(one).items()]
        recall.filters[_text(name)] = dict(named[:MOST_FILTERS])
    return recall


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        raise ValueError("it has a text that is too long, or no text")
    return value


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("it has no table where one is expected")
    return value
