"""Rows that can be filtered and sorted: by the engine, page by page, or here in memory.

`Arranged` is what a `ListTable` asks of its rows beyond those of any table. `AskedRows` lets the
engine do it; `MemoryRows` does it for a list that is here already, for some thousands of rows.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Hashable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

from rowtui.core.engine import AS_IS, ListAsked
from rowtui.core.errors import RowtuiError
from rowtui.core.row_filter import (
    FilterError,
    RowFilter,
    parse_filter,
    row_matches,
    with_known_fields,
)
from rowtui.core.values import Kind, kind_of
from rowtui.tui.render.cells import Cell, Choice, Number, plain
from rowtui.tui.widgets.rows import ListRows, PagedRows

Item = TypeVar("Item")

LOADED = 1000
"""Rows asked for at a time where all of them are wanted: for marks and files."""


class Loaded(NamedTuple):
    """A row as marks and files want it: its key, what it weighs, and its values by column."""

    key: Hashable
    weight: tuple[float, ...]
    values: Mapping[str, Any]


def read_filter(text: str, names: Mapping[str, str]) -> tuple[RowFilter | None, str]:
    """What was typed, or why it cannot be used. `names`: of columns -> id."""
    try:
        return with_known_fields(parse_filter(text), names), ""
    except FilterError as error:
        return None, " ".join(filter(None, (error.message + ".", error.hint)))


@runtime_checkable
class Arranged(Protocol):
    """Rows that can be filtered and sorted. `problem`: why the newest question was refused."""

    asked: ListAsked  # what the rows are now, or will be
    problem: str
    of: int  # rows without the filter
    settled: bool  # the rows are those that `asked` asks for

    def arrange(self, asked: ListAsked, key: Hashable | None, names: Mapping[str, str]) -> None:
        """Other rows, or another order. `key`: the row to keep; `names`: of columns -> id."""
        ...

    def weight(self, index: int) -> tuple[float, ...]:
        """What a row adds to the sums of marked rows, as far as its page is here."""
        ...

    async def load(self, start: int, stop: int) -> list[Loaded]:
        """These rows, at most `LOADED` of them. Raises: whatever the engine raises."""
        ...


class Answer(NamedTuple, Generic[Item]):
    """A page: of `total` rows that fit, of `of`. `found`: where the row looked for stands."""

    total: int
    items: Sequence[Item]
    of: int
    found: int | None = None


Ask = Callable[[ListAsked, int, int, str], Awaitable[Answer[Item]]]


class AskedRows(PagedRows[Item]):
    """Rows of the engine. `ask(asked, start, length, find)` gives an `Answer`.

    `values_of`: for files, by column; `weight_of`: for the sums of marks.
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
        asked: ListAsked = AS_IS,
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
        self._answered = AS_IS  # the last question that was answered
        self.settled = True  # False: rows of another question are still here
        self._find = ""
        self._found: tuple[Hashable, int] | None = None

    def arrange(self, asked: ListAsked, key: Hashable | None, names: Mapping[str, str]) -> None:
        """Ask anew, at once: a question that is under way is overtaken."""
        self.asked = asked
        self.problem = ""
        self.settled = False
        self._run_id += 1
        self._running = False
        self.reload_near(key)

    def reload_near(self, key: Hashable | None) -> None:
        """Everything may be another now, and the row of that key may stand elsewhere."""
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
        """Where the row is: as the engine said, else on a page that is here."""
        if self._found is not None and self._found[0] == key:
            return self._found[1]
        return super().index_of(key)

    def weight(self, index: int) -> tuple[float, ...]:
        """What a row weighs."""
        item = self.item(index)
        return () if item is None else self._weight_of(item)

    async def load(self, start: int, stop: int) -> list[Loaded]:
        """Rows, asked for again: their pages may be gone."""
        return [self._loaded(item) for item in await self._items(start, stop)]

    async def _items(self, start: int, stop: int) -> Sequence[Item]:
        answer = await self._ask(self.asked, start, min(LOADED, stop - start), "")
        return answer.items

    def _loaded(self, item: Item) -> Loaded:
        return Loaded(self._key_of(item), self._weight_of(item), self._values_of(item))


class MemoryRows(ListRows[Item]):
    """A list in memory that can be filtered and sorted; values are those of the cells by default.

    Everything is done at once: for some thousands of rows, not for a million.
    """

    def __init__(
        self,
        items: Sequence[Item],
        key_of: Callable[[Item], Hashable],
        cells_of: Callable[[int, Item], Mapping[str, Cell]],
        values_of: Callable[[Item], Mapping[str, Any]] | None = None,
        weight_of: Callable[[Item], tuple[float, ...]] = lambda _: (),
    ) -> None:
        super().__init__(items, key_of, cells_of)
        self.everything = items
        self.settled = True
        self.asked = AS_IS
        self.problem = ""
        self._values_of = values_of
        self._weight_of = weight_of

    @property
    def of(self) -> int:
        """How many rows there are without the filter."""
        return len(self.everything)

    def _values(self, item: Item) -> Mapping[str, Any]:
        if self._values_of is not None:
            return self._values_of(item)
        return {name: _value_of(cell) for name, cell in self._cells_of(0, item).items()}

    def arrange(self, asked: ListAsked, key: Hashable | None, names: Mapping[str, str]) -> None:
        """Other rows, or another order; a filter that cannot be used changes nothing."""
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
            having.sort(key=lambda pair: _sort_key(pair[1][asked.sort]), reverse=asked.descending)
            pairs = having + lacking
        self.items = [item for item, _ in pairs]
        self._indices = None

    def weight(self, index: int) -> tuple[float, ...]:
        """What a row weighs."""
        return self._weight_of(self.items[index])

    async def load(self, start: int, stop: int) -> list[Loaded]:
        """Rows."""
        return [
            Loaded(self._key_of(item), self._weight_of(item), self._values(item))
            for item in self.items[start : min(stop, start + LOADED)]
        ]


def _value_of(cell: Cell) -> Any:
    """What a cell says, as a text or a number."""
    if isinstance(cell, Number):
        return cell.value
    if isinstance(cell, Choice):
        return plain(cell.texts[0])
    return plain(cell) if isinstance(cell, tuple) else plain(cell.at(40))


def _sort_key(value: Any) -> tuple[int, Any]:
    kind = kind_of(value)
    return kind, value if kind is Kind.NUMBER else str(value).lower()
