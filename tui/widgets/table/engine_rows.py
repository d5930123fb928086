"""Rows that can be filtered and sorted: by the engine, page by page, or in memory.

`Arranged` is the interface that a `ListTable` needs in addition to that of any table. In
`EngineRows`, the engine filters and sorts; `MemoryRows` does it for a list in memory, of some
thousands of rows.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Hashable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.filter import (
    FilterError,
    RowFilter,
    parse_filter,
    row_matches,
    with_known_fields,
)
from rowtui.core.base.values import JsonKind, kind_of
from rowtui.core.project.views.views import AS_IS, ListRequest
from rowtui.tui.widgets.cells import Cell, FirstThatFits, Number, plain
from rowtui.tui.widgets.table.rows import ListRows, PagedRows

Item = TypeVar("Item")

LOADED = 1000
"""Rows in one request if all of them are needed: for marks and files."""


class LoadedRow(NamedTuple):
    """A row for marks and files: its key, its weight, and its values by column."""

    key: Hashable
    weight: tuple[float, ...]
    values: Mapping[str, Any]


def read_filter(text: str, names: Mapping[str, str]) -> tuple[RowFilter | None, str]:
    """Return the filter, or why the text cannot be used. `names`: name of a column -> id."""
    try:
        return with_known_fields(parse_filter(text), names), ""
    except FilterError as error:
        return None, " ".join(filter(None, (error.message + ".", error.hint)))


@runtime_checkable
class Arranged(Protocol):
    """Rows that can be filtered and sorted. `problem` is why the newest request was refused."""

    asked: ListRequest  # The request of the rows now, or soon.
    problem: str
    of: int  # The number of rows without the filter.
    settled: bool  # Whether the rows are those of `asked`.

    def arrange(self, asked: ListRequest, key: Hashable | None, names: Mapping[str, str]) -> None:
        """Change filter and order. `key`: the row to keep; `names`: name of a column -> id."""

    def weight(self, index: int) -> tuple[float, ...]:
        """Return what a row adds to the sums of marked rows, if its page is loaded."""

    async def load(self, start: int, stop: int) -> list[LoadedRow]:
        """Return these rows, at most `LOADED`. Raises: every error of the engine."""


class RowPage(NamedTuple, Generic[Item]):
    """A page of the `total` rows that match, out of `of`. `found`: the place of the row `find`."""

    total: int
    items: Sequence[Item]
    of: int
    found: int | None = None


Ask = Callable[[ListRequest, int, int, str], Awaitable[RowPage[Item]]]


class EngineRows(PagedRows[Item]):
    """Rows of the engine. `ask(asked, start, length, find)` returns an `RowPage`.

    `values_of` returns the values for files, by column; `weight_of` those for the sums of marks.
    """

    def __init__(
        self,
        ask: Ask[Item],
        key_of: Callable[[Item], Hashable],
        cells_of: Callable[[Item], Mapping[str, Cell]],
        values_of: Callable[[Item], Mapping[str, Any]],
        *,
        weight_of: Callable[[Item], tuple[float, ...]] = lambda _: (),
        spawn: Callable[[Callable[[], Coroutine[Any, Any, None]]], object],
        arrived: Callable[[], None],
        failed: Callable[[Exception], None],
        asked: ListRequest = AS_IS,
    ) -> None:
        super().__init__(
            self._fetch_asked, key_of, cells_of, spawn=spawn, arrived=arrived, failed=failed
        )
        self._ask = ask
        self._values_of = values_of
        self._weight_of = weight_of
        self.asked = asked
        self.problem = ""
        self.of = 0
        self._answered = AS_IS  # The last request that was answered.
        self.settled = True  # False while rows of another request are still loaded.
        self._find = ""
        self._found: tuple[Hashable, int] | None = None

    def arrange(self, asked: ListRequest, key: Hashable | None, names: Mapping[str, str]) -> None:
        """Send the request at once; a request that is under way is ignored."""
        self.asked = asked
        self.problem = ""
        self.settled = False
        self._run_id += 1
        self._running = False
        self.reload_near(key)

    def reload_near(self, key: Hashable | None) -> None:
        """Load all rows again, and find the new position of the row with that key."""
        self._find = key if isinstance(key, str) else ""
        self._found = None
        self.reload()

    async def _fetch_asked(self, start: int, length: int) -> tuple[int, Sequence[Item]]:
        asked, find = self.asked, self._find
        try:
            answer = await self._ask(asked, start, length, find)
        except RowtuiError as error:
            if asked in (self._answered, AS_IS) or asked != self.asked:
                raise
            self.problem = " ".join(filter(None, (error.message + ".", error.hint)))
            self.asked, self.settled = self._answered, True
            answer = await self._ask(self.asked, start, length, find)
        if asked == self.asked or self.problem:
            self._answered = self.asked
            self.of = answer.of
            self._find = ""
            if answer.found is not None:
                self._found = (find, answer.found)
                first, last = self._window
                self._window = (answer.found, answer.found + last - first)
        return answer.total, answer.items

    def _keep(self, number: int, total: int, items: Sequence[Item]) -> None:
        if not self.settled:
            self.settled = True
            self._pages.clear()
            self._fresh.clear()
        super()._keep(number, total, items)

    def index_of(self, key: Hashable) -> int | None:
        """Return the position of a row: the engine's answer, or the position on a loaded page."""
        if self._found is not None and self._found[0] == key:
            return self._found[1]
        return super().index_of(key)

    def weight(self, index: int) -> tuple[float, ...]:
        """Return the weight of a row."""
        item = self.item(index)
        return () if item is None else self._weight_of(item)

    async def load(self, start: int, stop: int) -> list[LoadedRow]:
        """Return rows with a new request, because their pages may no longer be loaded."""
        return [self._loaded(item) for item in await self._items(start, stop)]

    async def _items(self, start: int, stop: int) -> Sequence[Item]:
        answer = await self._ask(self.asked, start, min(LOADED, stop - start), "")
        return answer.items

    def _loaded(self, item: Item) -> LoadedRow:
        return LoadedRow(self._key_of(item), self._weight_of(item), self._values_of(item))


class MemoryRows(ListRows[Item]):
    """A list in memory that can be filtered and sorted; by default the values are those of the
    cells.

    Everything is computed at once: suitable for some thousands of rows, not for a million.
    """

    def __init__(
        self,
        items: Sequence[Item],
        key_of: Callable[[Item], Hashable],
        cells_of: Callable[[int, Item], Mapping[str, Cell]],
        values_of: Callable[[Item], Mapping[str, Any]] | None = None,
    ) -> None:
        super().__init__(items, key_of, cells_of)
        self.everything = items
        self.settled = True
        self.asked = AS_IS
        self.problem = ""
        self._values_of = values_of

    @property
    def of(self) -> int:
        """The number of rows without the filter."""
        return len(self.everything)

    def _values(self, item: Item) -> Mapping[str, Any]:
        if self._values_of is not None:
            return self._values_of(item)
        return {name: _value_of(cell) for name, cell in self._cells_of(0, item).items()}

    def arrange(self, asked: ListRequest, key: Hashable | None, names: Mapping[str, str]) -> None:
        """Use another filter, or another order; a filter that cannot be parsed changes nothing."""
        wanted, self.problem = read_filter(asked.filter, names)
        if wanted is None:
            return
        self.asked = asked
        pairs = [(item, self._values(item)) for item in self.everything]
        if wanted.terms:
            pairs = [pair for pair in pairs if row_matches(wanted, pair[1])]
        if asked.sort:
            having = [pair for pair in pairs if pair[1].get(asked.sort, "") != ""]
            lacking = [pair for pair in pairs if pair[1].get(asked.sort, "") == ""]
            having.sort(key=lambda pair: sort_key(pair[1][asked.sort]), reverse=asked.descending)
            pairs = having + lacking
        self.items = [item for item, _ in pairs]
        self._indices = None

    def weight(self, index: int) -> tuple[float, ...]:
        """Return (), because nothing is summed."""
        return ()

    async def load(self, start: int, stop: int) -> list[LoadedRow]:
        """Return rows."""
        return [
            LoadedRow(self._key_of(item), (), self._values(item))
            for item in self.items[start : min(stop, start + LOADED)]
        ]


def _value_of(cell: Cell) -> Any:
    """Return the content of a cell as a text or a number."""
    if isinstance(cell, Number):
        return cell.value
    if isinstance(cell, FirstThatFits):
        return plain(cell.texts[0])
    return plain(cell) if isinstance(cell, tuple) else plain(cell.at(40))


def sort_key(value: Any) -> tuple[int, Any]:
    """Return the key by which values of several kinds are sorted."""
    kind = kind_of(value)
    return kind, value if kind is JsonKind.NUMBER else str(value).lower()
