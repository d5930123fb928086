"""Where a table gets its rows from: a list in memory, or pages that arrive later.

A row has a key that outlives a refresh (a name, a token); its index does not. Cursor and marks
are kept by key.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from rowtui.tui.render.cells import Cell

Item = TypeVar("Item")

PAGE = 100
"""Rows asked for at a time: two or three screens."""

KEPT_PAGES = 64
"""Pages held in memory; more than anybody scrolls back in one breath."""


class RowSource(Protocol):
    """What a table shows. Every call returns at once."""

    @property
    def row_count(self) -> int:
        """How many rows there are."""
        ...

    def row(self, index: int) -> Mapping[str, Cell] | None:
        """The cells of a row by column id; None while its page is on the way."""
        ...

    def key(self, index: int) -> Hashable | None:
        """What the row is, whatever its index; None while its page is on the way."""
        ...

    def index_of(self, key: Hashable) -> int | None:
        """Where the row with that key is now, as far as is known."""
        ...

    def want(self, first: int, last: int) -> None:
        """Rows `first` to `last` (inclusive) are on the screen."""
        ...


class ListRows(Generic[Item]):
    """Rows of a list in memory; cells are made when they are looked at."""

    def __init__(
        self,
        items: Sequence[Item],
        key_of: Callable[[Item], Hashable],
        cells_of: Callable[[int, Item], Mapping[str, Cell]],
    ) -> None:
        self.items = items
        self._key_of = key_of
        self._cells_of = cells_of
        self._indices: dict[Hashable, int] | None = None

    @property
    def row_count(self) -> int:
        """How many items there are."""
        return len(self.items)

    def row(self, index: int) -> Mapping[str, Cell] | None:
        """The cells of an item."""
        return self._cells_of(index, self.items[index])

    def key(self, index: int) -> Hashable | None:
        """The key of an item."""
        return self._key_of(self.items[index])

    def index_of(self, key: Hashable) -> int | None:
        """Where the item with that key is."""
        if self._indices is None:
            self._indices = {self._key_of(item): at for at, item in enumerate(self.items)}
        return self._indices.get(key)

    def want(self, first: int, last: int) -> None:
        """Everything is here already."""


class PagedRows(Generic[Item]):
    """Rows that are fetched by the page: what is on the screen first, then the page after it.

    `fetch(start, length)` gives (total, items). One fetch runs at a time, started with `spawn`.
    After `reload` the old rows stay on the screen until the new ones are here.
    """

    def __init__(
        self,
        fetch: Callable[[int, int], Awaitable[tuple[int, Sequence[Item]]]],
        key_of: Callable[[Item], Hashable],
        cells_of: Callable[[Item], Mapping[str, Cell]],
        *,
        spawn: Callable[[Callable[[], Coroutine[Any, Any, None]]], object],
        arrived: Callable[[], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._fetch = fetch
        self._key_of = key_of
        self._cells_of = cells_of
        self._spawn = spawn
        self._arrived = arrived
        self._failed = failed
        self._pages: OrderedDict[int, Sequence[Item]] = OrderedDict()
        self._fresh: set[int] = set()
        self._total = 0
        self._generation = 0
        self._running = False
        self._run_id = 0  # a run with an older one ends at its next step
        self._window = (0, 0)
        self.loaded = False  # the first page has arrived, so `row_count` means something

    @property
    def row_count(self) -> int:
        """How many rows the last page said there are."""
        return self._total

    def item(self, index: int) -> Item | None:
        """The item itself, if its page is here."""
        page = self._pages.get(index // PAGE)
        at = index % PAGE
        return page[at] if page is not None and at < len(page) else None

    def row(self, index: int) -> Mapping[str, Cell] | None:
        """The cells of a row, or None while its page is on the way."""
        item = self.item(index)
        return None if item is None else self._cells_of(item)

    def key(self, index: int) -> Hashable | None:
        """The key of a row, or None while its page is on the way."""
        item = self.item(index)
        return None if item is None else self._key_of(item)

    def index_of(self, key: Hashable) -> int | None:
        """Where the row is, if it is on a page that is here; fresh pages are looked at first."""
        for number in sorted(self._pages, key=lambda page: page not in self._fresh):
            for at, item in enumerate(self._pages[number]):
                if self._key_of(item) == key:
                    return number * PAGE + at
        return None

    def loaded_items(self) -> list[Item]:
        """All items whose page is here (their look decides the columns)."""
        return [item for page in self._pages.values() for item in page]

    def want(self, first: int, last: int) -> None:
        """Fetch what is missing for these rows."""
        self._window = (first, last)
        self._start()

    def reload(self) -> None:
        """Everything may be another now: fetch the rows on the screen again."""
        self._generation += 1
        self._fresh.clear()
        self._start()

    def _start(self) -> None:
        if not self._running and self._next_page() is not None:
            self._running = True
            self._spawn(self._run)

    def _next_page(self) -> int | None:
        first, last = self._window
        numbers = list(range(first // PAGE, last // PAGE + 1))
        after = last // PAGE + 1
        if self.loaded and after * PAGE < self._total:
            numbers.append(after)
        for number in numbers:
            inside = not self.loaded or number == 0 or number * PAGE < self._total
            if inside and number not in self._fresh:
                return number
        return None

    async def _run(self) -> None:
        mine = self._run_id
        try:
            while mine == self._run_id and (number := self._next_page()) is not None:
                generation = self._generation
                try:
                    total, items = await self._fetch(number * PAGE, PAGE)
                except Exception as error:
                    if mine == self._run_id:
                        self._failed(error)
                        self._fresh.add(number)  # asked again with the next reload, not for ever
                    continue
                if generation != self._generation:
                    continue
                self._keep(number, total, items)
        finally:
            if mine == self._run_id:
                self._running = False

    def _keep(self, number: int, total: int, items: Sequence[Item]) -> None:
        self.loaded = True
        self._total = total
        self._pages[number] = items
        self._pages.move_to_end(number)
        self._fresh.add(number)
        while len(self._pages) > KEPT_PAGES:
            old, _ = self._pages.popitem(last=False)
            self._fresh.discard(old)
        for old in [old for old in self._pages if old and old * PAGE >= total]:
            del self._pages[old]
            self._fresh.discard(old)
        self._arrived()


class Marks:
    """Which rows are marked, by key; or all of them but some."""

    def __init__(self) -> None:
        self.everything = False
        self.keys: dict[Hashable, int] = {}  # key -> index when it was marked; or the exceptions
        self.weights: dict[Hashable, tuple[float, ...]] = {}  # of `keys`, where they are known

    def __contains__(self, key: object) -> bool:
        """Whether the row is marked."""
        return (key in self.keys) != self.everything

    def toggle(self, key: Hashable, index: int) -> None:
        """Mark the row, or take its mark away."""
        self.weights.pop(key, None)
        if key in self.keys:
            del self.keys[key]
        else:
            self.keys[key] = index

    def add(self, key: Hashable, index: int, weight: tuple[float, ...] = ()) -> None:
        """Mark the row, if it is not marked."""
        if key not in self:
            self.toggle(key, index)
        if key in self.keys and weight:
            self.weights[key] = weight

    def sums(self, whole: tuple[float, ...] = ()) -> tuple[float, ...]:
        """The weights of the marked rows, added up. `whole`: those of all rows."""
        sums = tuple(map(sum, zip(*self.weights.values(), strict=True)))
        if not self.everything:
            return sums
        return tuple(a - b for a, b in zip(whole, sums, strict=True)) if sums else whole

    def set_all(self, marked: bool) -> None:
        """Mark everything, or nothing."""
        self.everything = marked
        self.keys.clear()
        self.weights.clear()

    def count(self, total: int) -> int:
        """How many of `total` rows are marked."""
        return max(0, total - len(self.keys)) if self.everything else len(self.keys)
