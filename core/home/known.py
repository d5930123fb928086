"""The files of known projects in the user's state folder, and the stored summary of each project.

`projects/<hash>.json` has the folder of a project and when it was opened last. Only processes that
open the project write it. `projects/<hash>.summary.json` has the last answer of a reader. Files are
replaced atomically, and a damaged file is left out. No function looks at a project itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import platformdirs
from rowtui.core.base.codec import record
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import read_bounded, replace_file
from rowtui.core.project.queue.needs import QueueNeed
from rowtui.core.project.views.needs import FailureCause

VERSION = 1

MOST_KNOWN = 200
"""Projects whose files are stored; the project that was opened the longest time ago is removed."""

MOST_BYTES = 100_000
"""Bytes of one file; a longer file is not read."""

LONGEST_TEXT = 1_000
"""Characters of a stored reason."""

MOST_NAMES = 20
"""Names in a stored list, for example of clusters."""

MOST_ACTIONS = 50
"""Actions whose counts are stored."""

HOURS_EACH, HOURS = 2, 24
"""Hours of one number of `lately`, and of all of them."""


class ActionCounts(NamedTuple):
    """The directories of one action by status, and its remaining cost.

    `failed`, `not_reached` and `cancelled` are part of `eligible`. `problem`: why the directories
    of the action cannot be determined, or "".
    """

    action_index: int
    name: str
    completed: int = 0
    submitted: int = 0
    eligible: int = 0
    waiting: int = 0
    failed: int = 0
    not_reached: int = 0
    cancelled: int = 0
    cpu_hours: float = 0.0
    gpu_hours: float = 0.0
    problem: str = ""


class ProjectSummary(NamedTuple):
    """The state of a project, by its records. Counts are of pairs of an action and a directory.

    `gone`: the folder has no workflow.toml any more. `problem`: why the project cannot be read, or
    "". `bad`: directories that are set aside. `jobs`: submitted jobs; `running`, `pending`: how
    many of them ran, or waited, when their queues were last polled; None if a queue is not known.
    `stuck`: jobs that do not start before the user acts. `cpu_hours`, `gpu_hours`: the remaining
    cost. `paused`: why a run does not go on; `driver`: what drives it; or "". `silent`: clusters
    with jobs of the project whose last poll failed, because they need a login or do not answer.
    `actions`: the first ones; `failures`: of their directories. `lately`: directories that jobs
    completed in each two hours of the last day, as far as records of ended jobs exist; else empty.
    """

    gone: bool = False
    problem: str = ""
    directories: int = 0
    bad: int = 0
    total: int = 0
    completed: int = 0
    submitted: int = 0
    eligible: int = 0
    waiting: int = 0
    failed: int = 0
    jobs: int = 0
    running: int | None = None
    pending: int | None = None
    stuck: tuple[QueueNeed, ...] = ()
    cpu_hours: float = 0.0
    gpu_hours: float = 0.0
    paused: str = ""
    driver: str = ""
    silent: tuple[str, ...] = ()
    actions: tuple[ActionCounts, ...] = ()
    failures: tuple[FailureCause, ...] = ()
    lately: tuple[int, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether the counts are valid."""
        return not (self.gone or self.problem)


class KnownProject(NamedTuple):
    """A project. Times are in epoch seconds, 0 for never.

    `opened`: when the project was opened last; 0 if it was only found. `summary`: the last answer,
    and `read` its time. `no_answer_since`: when the first of the reads since then did not end.
    """

    root: str
    opened: float = 0.0
    summary: ProjectSummary | None = None
    read: float = 0.0
    no_answer_since: float = 0.0

    @property
    def name(self) -> str:
        """The name of the folder."""
        return os.path.basename(self.root) or self.root

    @property
    def needs(self) -> tuple[str, ...]:
        """Return what needs the user, the most important item first."""
        summary = self.summary
        if summary is None or not summary.usable:
            return ()
        found = [f"{summary.failed:,} failed"] if summary.failed else []
        stuck = sum(it.jobs for it in summary.stuck)
        found += [f"{stuck:,} unable to start"] if stuck else []
        found += ["run paused"] if summary.paused else []
        found += [f"login to {name}?" for name in summary.silent]
        ready = sum(it.eligible for it in summary.actions if it.eligible > it.failed)
        return (*found, f"{ready:,} eligible") if ready else tuple(found)

    @property
    def state(self) -> str:
        """`ok`, `no answer`, `gone`, `broken`, or `unread` before the first answer."""
        if self.no_answer_since:
            return "no answer"
        if self.summary is None:
            return "unread"
        return "gone" if self.summary.gone else "broken" if self.summary.problem else "ok"


class KnownProjects:
    """The known projects of one user. `notice` is why the last change was not stored, or ""."""

    notice = ""

    def __init__(self, state: Path | None = None) -> None:
        """Create the object. `state`: the user's state folder by default."""
        self.folder = (state or platformdirs.user_state_path("rowtui")) / "projects"

    def load(self) -> list[KnownProject]:
        """Return at most `MOST_KNOWN` projects, the one that was opened last first."""
        found = []
        for name in self._names():
            with contextlib.suppress(OSError, ValueError, RowtuiError, RecursionError):
                found.append(self._read(name))
        found.sort(key=lambda one: (-one.opened, one.root))
        return found[:MOST_KNOWN]

    def add(self, root: str, opened: float) -> None:
        """Store that this project was opened; with 0, that it was found."""
        path = self._path(root)
        if not opened and path.exists():
            return
        self._write(path, {"root": root, "opened": opened})
        names = self._names()
        if len(names) > MOST_KNOWN:
            self._remove_old(names)

    def store(self, project: KnownProject) -> None:
        """Store the answer of a reader, unless the project was forgotten since."""
        if self._path(project.root).exists():
            content = {
                "summary": None if project.summary is None else project.summary._asdict(),
                "read": project.read,
                "no_answer_since": project.no_answer_since,
            }
            self._write(self._path(project.root, ".summary"), content)

    def forget(self, root: str) -> bool:
        """Remove a project from the list; return whether it was there. The project is unchanged.

        Raises: OSError.
        """
        with contextlib.suppress(FileNotFoundError):
            self._path(root, ".summary").unlink()
        try:
            self._path(root).unlink()
        except FileNotFoundError:
            return False
        return True

    def _path(self, root: str, what: str = "") -> Path:
        digest = hashlib.sha256(os.fsencode(root)).hexdigest()[:24]
        return self.folder / f"{digest}{what}.json"

    def _names(self) -> list[str]:
        try:
            names = os.listdir(self.folder)
        except OSError:
            return []
        return [name for name in names if len(name) == 29 and name.endswith(".json")]

    def _read(self, name: str) -> KnownProject:
        """Return one project. Raises: OSError, ValueError, RowtuiError, RecursionError."""
        content = _table(read_bounded(self.folder / name, MOST_BYTES))
        root = content.get("root")
        if not isinstance(root, str) or not root.startswith("/") or "\0" in root:
            raise ValueError("it has no folder")
        if self._path(root).name != name:
            raise ValueError("it is of another project")
        known = KnownProject(root, _time(content.get("opened")))
        try:
            kept = _table(read_bounded(self._path(root, ".summary"), MOST_BYTES))
            summary = None if kept["summary"] is None else summary_of(kept["summary"])
            times = _time(kept["read"]), _time(kept["no_answer_since"])
        except (OSError, ValueError, KeyError, RowtuiError, RecursionError):
            return known  # The project is read again.
        return known._replace(summary=summary, read=times[0], no_answer_since=times[1])

    def _write(self, path: Path, content: dict[str, Any]) -> None:
        data = json.dumps({"version": VERSION, **content}).encode("ascii")
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(path, data, 0o600)
        except OSError as error:
            self.notice = f"the list of projects could not be stored: {error}"

    def _remove_old(self, names: list[str]) -> None:
        kept = {self._path(one.root).name for one in self.load()}
        for name in names:
            if name not in kept:
                for path in (self.folder / name, self.folder / f"{name[:24]}.summary.json"):
                    with contextlib.suppress(OSError):
                        path.unlink()


def summary_of(content: Any) -> ProjectSummary:
    """Return the summary of a JSON object. Raises: ValueError if it is of another form."""
    if not isinstance(content, dict) or set(content) != set(ProjectSummary._fields):
        raise ValueError("it has other fields")
    try:
        found = record(ProjectSummary, content)
    except TypeError as error:
        raise ValueError(f"it has {error}") from None
    if not all(0 <= each < 1 << 53 for each in _numbers(found)):
        raise ValueError("it has a number that is out of range")
    return found._replace(
        problem=found.problem[:LONGEST_TEXT],
        paused=found.paused[:LONGEST_TEXT],
        driver=found.driver[:LONGEST_TEXT],
        silent=tuple(name[:LONGEST_TEXT] for name in found.silent[:MOST_NAMES]),
    )


def _numbers(value: Any) -> Iterator[float]:
    """Yield all numbers in a record."""
    if isinstance(value, int | float):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from _numbers(each)


def _table(data: bytes) -> dict[str, Any]:
    content = json.loads(data)
    if not isinstance(content, dict) or content.get("version") != VERSION:
        raise ValueError(f"it is not of version {VERSION}")
    return content


def _time(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value < math.inf:
        raise ValueError("it has no number where one is expected")
    return float(value)
