"""The sources of a table's rows: a list in memory, or pages that arrive later.

A row has a key that stays the same after a refresh (a name, a token); its index may change. Cursor
and marks are stored by key.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from rowtui.tui.widgets.cells import Cell

Item = TypeVar("Item")

PAGE = 100
"""Rows in one request: two or three screens."""

KEPT_PAGES = 64
"""Pages held in memory; more than a user scrolls back at a time."""


class RowSource(Protocol):
    """The rows of a table. Every call returns at once."""

    @property
    def row_count(self) -> int:
        """The number of rows."""

    def row(self, index: int) -> Mapping[str, Cell] | None:
        """Return the cells of a row by column id; None until its page is loaded."""

    def key(self, index: int) -> Hashable | None:
        """Return the key of a row, independent of its index; None until its page is loaded."""

    def index_of(self, key: Hashable) -> int | None:
        """Return the current index of the row with that key, if it is known."""

    def want(self, first: int, last: int) -> None:
        """Note that rows `first` to `last` (inclusive) are on the screen."""


class ListRows(Generic[Item]):
    """Rows of a list in memory; cells are created on access."""

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
        """The number of items."""
        return len(self.items)

    def row(self, index: int) -> Mapping[str, Cell] | None:
        """Return the cells of an item."""
        return self._cells_of(index, self.items[index])

    def key(self, index: int) -> Hashable | None:
        """Return the key of an item."""
        return self._key_of(self.items[index])

    def index_of(self, key: Hashable) -> int | None:
        """Return the index of the item with that key."""
        if self._indices is None:
            self._indices = {self._key_of(item): at for at, item in enumerate(self.items)}
        return self._indices.get(key)

    def want(self, first: int, last: int) -> None:
        """Do nothing: all rows are in memory."""


class PagedRows(Generic[Item]):
    """Rows that are fetched by the page: the pages on the screen first, then the page after them.

    `fetch(start, length)` returns (total, items). One fetch runs at a time, started with `spawn`.
    After `reload` the old rows stay on the screen until the new ones arrive.
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
        self._run_id = 0  # A run with an older id ends at its next step.
        self._window = (0, 0)
        self.loaded = False  # The first page has arrived, so `row_count` is valid.

    @property
    def row_count(self) -> int:
        """The number of rows according to the last page."""
        return self._total

    def item(self, index: int) -> Item | None:
        """Return the item itself, if its page is loaded."""
        page = self._pages.get(index // PAGE)
        at = index % PAGE
        return page[at] if page is not None and at < len(page) else None

    def row(self, index: int) -> Mapping[str, Cell] | None:
        """Return the cells of a row, or None until its page is loaded."""
        item = self.item(index)
        return None if item is None else self._cells_of(item)

    def key(self, index: int) -> Hashable | None:
        """Return the key of a row, or None until its page is loaded."""
        item = self.item(index)
        return None if item is None else self._key_of(item)

    def index_of(self, key: Hashable) -> int | None:
        """Return the index of a row on a loaded page, if there is one; fresh pages go first."""
        for number in sorted(self._pages, key=lambda page: page not in self._fresh):
            for at, item in enumerate(self._pages[number]):
                if self._key_of(item) == key:
                    return number * PAGE + at
        return None

    def loaded_items(self) -> list[Item]:
        """Return all items of the loaded pages; they determine the columns."""
        return [item for page in self._pages.values() for item in page]

    def want(self, first: int, last: int) -> None:
        """Fetch the missing pages for these rows."""
        self._window = (first, last)
        self._start()

    def reload(self) -> None:
        """Fetch the rows on the screen again, because all rows may have changed."""
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
                        # The page is requested again after the next reload, not for ever.
                        self._fresh.add(number)
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
    """The marked rows, by key; or all rows with exceptions."""

    def __init__(self) -> None:
        self.everything = False
        # Key -> index at the time of the mark; with `everything`, the exceptions.
        self.keys: dict[Hashable, int] = {}
        # The weights of `keys`, where they are known.
        self.weights: dict[Hashable, tuple[float, ...]] = {}

    def __contains__(self, key: object) -> bool:
        """Whether the row is marked."""
        return (key in self.keys) != self.everything

    def toggle(self, key: Hashable, index: int) -> None:
        """Mark the row, or remove its mark."""
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
        """Return the sums of the weights of the marked rows. `whole` has the sums of all rows."""
        sums = tuple(map(sum, zip(*self.weights.values(), strict=True)))
        if not self.everything:
            return sums
        return tuple(a - b for a, b in zip(whole, sums, strict=True)) if sums else whole

    def copy(self) -> Marks:
        """Return the same marks, to be restored with `restore`."""
        other = Marks()
        other.restore(self)
        return other

    def restore(self, other: Marks) -> None:
        """Mark the same rows as there."""
        self.everything, self.keys, self.weights = (
            other.everything,
            {**other.keys},
            {**other.weights},
        )

    def set_all(self, marked: bool) -> None:
        """Mark everything, or nothing."""
        self.everything = marked
        self.keys.clear()
        self.weights.clear()

    def count(self, total: int) -> int:
        """Return the number of marked rows, of `total`."""
        return max(0, total - len(self.keys)) if self.everything else len(self.keys)
