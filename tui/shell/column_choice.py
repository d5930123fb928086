"""The columns of each list that the user wants to see, and their order; stored in the state folder.

One small JSON file, `lists.json`, serves all lists and projects. An unreadable file is left
unchanged and not used, and one message reports it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import read_bounded, replace_file

if TYPE_CHECKING:
    from rowtui.tui.widgets.columns import TableColumn

VERSION = 1
MOST_BYTES = 1_000_000


class FieldChoice(NamedTuple):
    """Column ids in the chosen order, and the columns that are not shown."""

    order: tuple[str, ...] = ()
    hidden: frozenset[str] = frozenset()

    def arranged(self, columns: Sequence[TableColumn]) -> tuple[TableColumn, ...]:
        """Return all columns in the chosen order; a column not chosen follows its neighbour."""
        if not self.order:
            return tuple(columns)
        rank = {name: at for at, name in enumerate(self.order)}
        keys: list[tuple[int, int]] = []
        last = -1
        for at, column in enumerate(columns):
            last = rank.get(column.id, last)
            keys.append((last, 0 if column.id in rank else at + 1))
        pairs = sorted(zip(keys, columns, strict=True), key=lambda pair: pair[0])
        return tuple(column for _, column in pairs)

    def shown(self, columns: Sequence[TableColumn]) -> tuple[TableColumn, ...]:
        """Return the columns that are shown, in the chosen order; always at least one."""
        arranged = self.arranged(columns)
        return tuple(one for one in arranged if one.id not in self.hidden) or arranged[:1]


class KeptFields:
    """The choices of one user. With `folder` None, they are lost when the dashboard ends."""

    def __init__(self, folder: Path | None, tell: Callable[[str], None]) -> None:
        self._path = folder / "lists.json" if folder else None
        self._tell = tell
        self._choices: dict[str, FieldChoice] | None = None
        self._usable = True  # Whether rowtui may write the file.

    def of(self, name: str) -> FieldChoice:
        """Return the choice for a list."""
        if self._choices is None:
            self._choices = self._read()
        return self._choices.get(name, FieldChoice())

    def choose(self, name: str, choice: FieldChoice) -> None:
        """Set the choice for a list, and store it if possible."""
        self.of(name)
        assert self._choices is not None
        self._choices[name] = choice
        if self._path is None or not self._usable:
            return
        lists = {
            name: {"order": list(one.order), "hidden": sorted(one.hidden)}
            for name, one in sorted(self._choices.items())
        }
        text = json.dumps({"version": VERSION, "lists": lists}, indent=1)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self._path, text.encode())
        except OSError as error:
            self._tell(f"the columns could not be kept: {error}")

    def _read(self) -> dict[str, FieldChoice]:
        if self._path is None:
            return {}
        try:
            return _choices(json.loads(read_bounded(self._path, MOST_BYTES)))
        except FileNotFoundError:
            return {}
        except (RowtuiError, OSError, ValueError, RecursionError) as error:
            self._usable = False
            self._tell(f"{self._path} is not used, and left as it is: {error}")
            return {}


def _choices(stored: Any) -> dict[str, FieldChoice]:
    """Return the choices of a file. Raises: ValueError if the file has another format."""
    if not isinstance(stored, dict) or stored.get("version") != VERSION:
        raise ValueError(f"it is not of version {VERSION}")
    lists = stored.get("lists")
    if not isinstance(lists, dict):
        raise ValueError("it has no lists")
    found = {}
    for name, one in lists.items():
        order, hidden = (one.get("order"), one.get("hidden")) if isinstance(one, dict) else (0, 0)
        if not isinstance(order, list) or not isinstance(hidden, list):
            raise ValueError(f"the columns of {name!r} are not lists")
        found[str(name)] = FieldChoice(tuple(map(str, order)), frozenset(map(str, hidden)))
    return found
