"""A million rows that are scrolled, sorted, filtered, marked and changed as ten are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from rowtui.core.base.filter import FilterError, number_of, parse_filter
from rowtui.core.project.views.views import ListRequest
from rowtui.tui.shell.app import RowtuiApp
from rowtui.tui.shell.column_choice import KeptFields
from rowtui.tui.shell.work import start
from rowtui.tui.widgets.cells import Cell, line
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.table.engine_rows import EngineRows, MemoryRows, RowPage
from rowtui.tui.widgets.table.list_table import ListTable
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from tests.tui.hand import screen_text

COUNT = 1_000_000
HEIGHT = 20
COLUMNS = (
    TableColumn("number", "Number", 9, align="right"),
    TableColumn("name", "Name", 10, grow=1),
)


class Numbers:
    """Rows 0.. as an engine has them: `number<N`, any order, one page at a time."""

    def __init__(self) -> None:
        self.asked: list[tuple[ListRequest, int]] = []
        self.version = 0
        self.gate: asyncio.Event | None = None

    async def ask(self, asked: ListRequest, begin: int, length: int, find: str) -> RowPage[int]:
        self.asked.append((asked, begin))
        if self.gate is not None and asked.filter == "number<500":
            await self.gate.wait()
        total = COUNT
        for term in parse_filter(asked.filter).terms:
            if term.field != "number":
                raise FilterError(f"this list has no column '{term.field}'", "It has number")
            total = min(total, int(number_of(term.text) or 0))
        found = int(find) if find and int(find) < total else None
        numbers = range(begin, max(begin, min(begin + length, total)))
        if asked.descending:
            numbers = range(total - 1 - begin, max(-1, total - 1 - begin - length), -1)
            found = None if found is None else total - 1 - found
        return RowPage(total, numbers, COUNT, found)

    def cells(self, number: int) -> dict[str, Cell]:
        return {"number": line(str(number)), "name": line(f"row {number} v{self.version} " * 9)}


class Bench(App[None]):
    """One table on a screen, with the dashboard's colours."""

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__()
        self.numbers = Numbers()
        self.table = ListTable(name="table", can_mark=True)
        self.told: list[str] = []
        self.kept_fields = KeptFields(folder, self.told.append)
        self.rows: EngineRows[int] = EngineRows(
            self.numbers.ask,
            str,
            self.numbers.cells,
            lambda number: {"number": number, "name": f"=row {number}"},
            weight_of=lambda number: (float(number),),
            spawn=self.spawn,
            arrived=lambda: self.table.show(self.rows, COLUMNS),
            failed=lambda error: self.told.append(str(error)),
        )

    def spawn(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        start(self, work, "pages")

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return RowtuiApp.get_theme_variable_defaults(self)  # type: ignore[arg-type]

    def compose(self) -> ComposeResult:
        yield self.table

    def on_mount(self) -> None:
        self.table.focus()
        self.table.show(self.rows, COLUMNS)


async def until(pilot: Pilot[None], true: Callable[[], object]) -> None:
    for _ in range(500):
        if true():
            return
        await pilot.pause(0.01)
    raise AssertionError(screen_text(pilot.app))


@pytest.mark.usefixtures("enter_at_once")
async def test_a_million_rows_are_filtered_sorted_and_marked_by_pages(tmp_path: Path) -> None:
    app = Bench(tmp_path)
    table, numbers = app.table, app.numbers
    async with app.run_test(size=(60, HEIGHT)) as pilot:
        text = lambda: screen_text(app)  # noqa: E731
        await until(pilot, lambda: "row 0" in text())

        # scrolling, and a change while one scrolls: some screens are drawn, not a million rows
        table.action_last()
        await until(pilot, lambda: "row 999999" in text())
        for _ in range(10):
            table.action_page_up()
            numbers.version += 1
            app.rows.reload_near(table.cursor_key)
            await pilot.pause(0.01)
        here = table.cursor_key
        await until(pilot, lambda: f"row {here} v{numbers.version}" in text())
        assert table.painted_lines < 60 * HEIGHT
        assert len(numbers.asked) < 100

        # an order: the cursor stays on its row, wherever that is then
        await pilot.press("o")
        await until(pilot, lambda: "Number ▲" in text())
        await pilot.press("o")
        await until(pilot, lambda: "Number ▼" in text() and f"row {here} " in text())
        assert table.cursor_key == here
        assert table.cursor == COUNT - 1 - int(str(here))

        # a filter: what is newer overtakes what is slow; what cannot be used changes nothing
        numbers.gate = asyncio.Event()
        table.action_filter()
        await pilot.pause()
        await pilot.press(*"number<500")
        await until(pilot, lambda: any(one.filter == "number<500" for one, _ in numbers.asked))
        await pilot.press("0")
        await until(pilot, lambda: table.tally == "5,000 of 1,000,000")
        numbers.gate.set()
        await until(pilot, lambda: "row 4999 " in text())
        await pilot.press(*" x")
        await until(pilot, lambda: "no column ''" in text())
        assert table.tally == "5,000 of 1,000,000"
        await pilot.press("enter")  # a refused filter stays, with the reason
        await pilot.pause()
        assert table.query("FilterBar")
        assert "no column ''" in text()
        await pilot.press("backspace", "backspace", "enter")
        await until(pilot, lambda: not table.query("FilterBar"))
        assert table.has_focus
        assert table.asked.filter == "number<5000"

        # marks: a range, all that match, and they stay when the filter goes
        await pilot.press("v", "j", "j", "v")
        await until(pilot, lambda: table.marks.count(COUNT) == 3)
        assert table.marks.sums() == (4999.0 + 4998 + 4997,)
        table.mark_matching()
        await pilot.pause()
        await until(pilot, lambda: table.marks.count(COUNT) == 5000)
        assert table.marks.sums() == (4999 * 5000 / 2,)
        assert table.clear_filter()
        await until(pilot, lambda: table.tally == "" and app.rows.row_count == COUNT)
        assert table.marks.count(COUNT) == 5000
        assert table.cursor_key == "4997"
        await until(pilot, lambda: "row 4997 " in text())

        # Enter before the engine's no: what was typed comes back, with the reason
        await pilot.press("slash", *"zzz=1", "enter")
        await until(pilot, lambda: "no column 'zzz'" in text() and "zzz=1" in text())
        assert table.query("FilterBar")
        await pilot.press("escape")
        await until(pilot, lambda: not table.query("FilterBar"))

        # the end of a long text
        assert "…" in text()
        await pilot.press("right")
        await until(pilot, lambda: "…" + f"row 4997 v{numbers.version} "[11:] in text())
        await pilot.press("left")

        # columns: chosen, moved, kept
        await pilot.press("vertical_line", "J", "space", "enter")
        await until(pilot, lambda: "Number" not in text() and "Name" in text())
        assert KeptFields(tmp_path, app.told.append).of("table").order == ("name", "number")
        await pilot.press("vertical_line", "u", "enter")
        await until(pilot, lambda: "Number" in text())

        # a file
        await pilot.press("slash", *"number<3", "enter")
        await until(pilot, lambda: table.tally == "3 of 1,000,000")
        path = tmp_path / "it's.csv"
        await pilot.press("E")
        await until(pilot, lambda: "A file that ends" in text())
        box = app.screen.query_one("#path")
        box.value = str(tmp_path / "nowhere" / "a.csv")  # type: ignore[attr-defined]
        await pilot.press("enter")
        await until(pilot, lambda: "no such folder" in text())
        box.value = str(path)  # type: ignore[attr-defined]
        await pilot.press("enter")
        await until(pilot, path.exists)
        written = path.read_text().splitlines()
        assert written == ["Number,Name", "2,'=row 2", "1,'=row 1", "0,'=row 0"]
        await until(pilot, lambda: len(app.screen_stack) == 1)
        await pilot.press("E")
        await until(pilot, lambda: "A file that ends" in text())
        app.screen.query_one("#path").value = str(path)  # type: ignore[attr-defined]
        await pilot.press("enter")
        await until(pilot, lambda: "There is such a file" in text())
        await pilot.press("escape")
        assert app.told == []

        # a list in memory is filtered and sorted the same way
        items = ["b", "a", "Ca"]
        memory = MemoryRows(items, str, lambda _, one: {"name": line(one), "number": line("")})
        table.start_over()
        table.show(memory, COLUMNS)
        table.ask(ListRequest("a", "name", True))
        assert [memory.key(at) for at in range(memory.row_count)] == ["Ca", "a"]
        assert table.tally == "2 of 3"
        table.show(MemoryRows([*items, "ax"], str, memory._cells_of), COLUMNS)
        assert table.tally == "3 of 4"
        table.ask(ListRequest("nosuch=1"))
        assert "no column 'nosuch'" in getattr(table.source, "problem", "")
        assert (table.tally, table.asked.filter) == ("3 of 4", "a")
