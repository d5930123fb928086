"""The one table: flat in the number of rows, calm in what it repaints, true to its cursor."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from rowtui.tui.shell.app import RowtuiApp
from rowtui.tui.widgets.cells import Cell, line
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.table.rows import PAGE, ListRows, PagedRows
from rowtui.tui.widgets.table.virtual_table import VirtualTable
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from tests.tui.hand import screen_text

LOOKS = 400

COLUMNS = (
    TableColumn("number", "Number", 9, align="right"),
    TableColumn("name", "Name", 10, grow=1),
)


class Million:
    """A million rows that count how often they are looked at."""

    def __init__(self, count: int = 1_000_000) -> None:
        self.row_count = count
        self.looks = 0
        self.names: dict[int, str] = {}

    def row(self, index: int) -> dict[str, Cell]:
        self.looks += 1
        return {"number": line(str(index)), "name": line(self.names.get(index, f"row {index}"))}

    def key(self, index: int) -> int:
        return index

    def index_of(self, key: object) -> int | None:
        return key if isinstance(key, int) and key < self.row_count else None

    def want(self, first: int, last: int) -> None:
        pass


class Bench(App[None]):
    """One table on a screen, with the dashboard's colours."""

    def __init__(self, source: object, *, can_mark: bool = False) -> None:
        super().__init__()
        self.source = source
        self.table = VirtualTable(name="table", can_mark=can_mark)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return RowtuiApp.get_theme_variable_defaults(self)  # type: ignore[arg-type]

    def compose(self) -> ComposeResult:
        yield self.table

    def on_mount(self) -> None:
        self.table.focus()
        self.table.show(self.source, COLUMNS)  # type: ignore[arg-type]


async def settled(pilot: Pilot[None], app: Bench) -> None:
    """Everything that the start wanted to paint is painted."""
    same = 0
    painted = -1
    for _ in range(LOOKS):
        await pilot.pause(0.01)
        screen = app.screen
        waits = screen._layout_required or screen._repaint_required or screen._dirty_widgets
        same = same + 1 if not waits and app.table.painted_lines == painted else 0
        painted = app.table.painted_lines
        if same == 8:
            return


async def test_a_million_rows_cost_no_more_than_a_screen_of_them() -> None:
    source = Million()
    app = Bench(source)
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        assert "row 18" in screen_text(app)
        first_paint = source.looks
        assert app.table.painted_lines <= 3 * 19
        await pilot.press("G")
        await pilot.pause()
        assert "row 999999" in screen_text(app)
        await pilot.press("pageup", "g", "j")
        await pilot.pause()
        assert "› " in screen_text(app)
        assert source.looks < 40 * first_paint  # nothing walks over all rows
        assert app.table.painted_lines < 200


async def test_moving_the_cursor_repaints_two_lines() -> None:
    app = Bench(Million())
    async with app.run_test(size=(60, 20)) as pilot:
        await settled(pilot, app)
        before = app.table.painted_lines
        await pilot.press("j")
        await settled(pilot, app)
        assert app.table.painted_lines == before + 2


async def test_a_refresh_repaints_only_the_lines_that_differ() -> None:
    source = Million()
    app = Bench(source)
    async with app.run_test(size=(60, 20)) as pilot:
        await settled(pilot, app)
        before = app.table.painted_lines
        app.table.show(source, COLUMNS)
        await settled(pilot, app)
        assert app.table.painted_lines == before
        source.names[5] = "another"
        source.names[500_000] = "out of sight"
        app.table.show(source, COLUMNS)
        await settled(pilot, app)
        assert app.table.painted_lines == before + 1
        assert "another" in screen_text(app)


async def test_a_flash_touches_its_line_twice_and_no_other() -> None:
    app = Bench(Million())
    async with app.run_test(size=(60, 20)) as pilot:
        await settled(pilot, app)
        before = app.table.painted_lines
        app.table.flash([(3, "name")])
        await settled(pilot, app)
        assert app.table.painted_lines == before + 1
        app.table._set_flashing(frozenset())
        await settled(pilot, app)
        assert app.table.painted_lines == before + 2


def rows(names: Sequence[str]) -> ListRows[str]:
    return ListRows(names, lambda name: name, lambda _, name: {"name": line(name)})


async def test_the_cursor_follows_its_row_and_its_row_stays_where_it_is_on_the_screen() -> None:
    names = [f"n{at:03d}" for at in range(100)]
    app = Bench(rows(names))
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        for _ in range(3):
            await pilot.press("pagedown")
        await pilot.pause()
        key = app.table.cursor_key
        assert key == "n057"
        [before] = [at for at, text in enumerate(screen_text(app).splitlines()) if "n057" in text]
        app.table.show(rows(names[10:]), COLUMNS)
        await pilot.pause()
        assert app.table.cursor_key == "n057"
        assert app.table.cursor == 47
        [after] = [at for at, text in enumerate(screen_text(app).splitlines()) if "n057" in text]
        assert after == before


async def test_the_cursor_is_seen_when_a_short_list_becomes_a_long_one() -> None:
    app = Bench(rows(["row 90"]))
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("G")
        await settled(pilot, app)
        app.table.show(rows([f"row {n:02}" for n in range(100)]), COLUMNS)
        await settled(pilot, app)
        assert app.table.cursor == 90
        assert "row 90" in screen_text(app)


async def test_a_cursor_that_was_never_moved_stays_at_the_top() -> None:
    app = Bench(rows(["running 1", "running 2"]))
    async with app.run_test(size=(60, 20)) as pilot:
        await settled(pilot, app)
        app.table.show(rows([f"running {n}" for n in (2, *range(3, 50), 1)]), COLUMNS)
        await settled(pilot, app)
        assert (app.table.cursor, app.table.cursor_key) == (0, "running 2")
        assert "running 3" in screen_text(app)
        await pilot.press("j", "k")  # from now on it is on a row
        app.table.show(rows([f"running {n}" for n in (*range(3, 50), 1, 2)]), COLUMNS)
        await settled(pilot, app)
        assert app.table.cursor_key == "running 2"


async def test_when_its_row_is_gone_the_cursor_takes_the_nearest() -> None:
    app = Bench(rows(["a", "b", "c"]))
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("G")
        await pilot.pause()
        app.table.show(rows(["a", "b"]), COLUMNS)
        await pilot.pause()
        assert app.table.cursor_key == "b"
        app.table.show(rows([]), COLUMNS)
        await pilot.pause()
        assert app.table.cursor_key is None


async def test_marks_are_seen_without_colour_and_survive_a_refresh() -> None:
    app = Bench(rows(["a", "b", "c"]), can_mark=True)
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        app.table.toggle_mark()
        await pilot.pause()
        assert "●" in screen_text(app).splitlines()[1]
        app.table.show(rows(["x", "a", "b"]), COLUMNS)
        await pilot.pause()
        lines = screen_text(app).splitlines()
        assert "●" in lines[2]
        assert "●" not in lines[1]


async def test_everything_but_one_is_marked() -> None:
    source = rows(["a", "b", "c"])
    app = Bench(source, can_mark=True)
    async with app.run_test(size=(60, 20)) as pilot:
        app.table.marks.set_all(True)
        app.table.toggle_mark()
        await pilot.pause()
        assert app.table.marks.count(3) == 2
        assert "a" not in app.table.marks
        assert "c" in app.table.marks


async def test_scrolling_leaves_the_cursor_where_it_is() -> None:
    app = Bench(Million())
    async with app.run_test(size=(24, 10)) as pilot:
        await pilot.pause()
        app.table.scroll_to(y=50, animate=False)
        await pilot.pause()
        assert "row 50" in screen_text(app)
        assert app.table.cursor == 0


class Pages:
    """A fetch that answers only when it is told to."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.asked: list[int] = []
        self.let = asyncio.Event()
        self.word = "row"
        self.fail = False

    async def __call__(self, start: int, length: int) -> tuple[int, list[str]]:
        self.asked.append(start)
        await self.let.wait()
        if self.fail:
            raise OSError("no page today")
        names = [f"{self.word} {at}" for at in range(start, min(start + length, self.total))]
        return self.total, names


class Paged(Bench):
    def __init__(self, fetch: Pages) -> None:
        self.failures: list[Exception] = []
        super().__init__(
            PagedRows(
                fetch,
                lambda name: name,
                lambda name: {"name": line(name)},
                spawn=lambda work: self.run_worker(work),  # type: ignore[arg-type]
                arrived=lambda: self.table.rows_changed(),
                failed=self.failures.append,
            )
        )


async def until(pilot: object, true: object) -> None:
    for _ in range(LOOKS):
        await pilot.pause()  # type: ignore[attr-defined]
        if true():  # type: ignore[operator]
            return
    raise AssertionError("never came")


async def test_pages_are_fetched_for_what_is_on_the_screen_and_placeholders_wait() -> None:
    fetch = Pages(1_000_000)
    fetch.let.set()
    app = Paged(fetch)
    async with app.run_test(size=(60, 20)) as pilot:
        await until(pilot, lambda: "row 10" in screen_text(app))
        fetch.let.clear()
        await pilot.press("G")
        await until(pilot, lambda: 1_000_000 - PAGE in fetch.asked)
        assert "row" not in screen_text(app)
        assert "·" in screen_text(app)  # rows that are on their way
        fetch.let.set()
        await until(pilot, lambda: "row 999999" in screen_text(app))
        assert len(fetch.asked) <= 4  # not a page in between


async def test_old_rows_stay_until_the_new_ones_are_here() -> None:
    fetch = Pages(30)
    fetch.let.set()
    app = Paged(fetch)
    async with app.run_test(size=(60, 20)) as pilot:
        await until(pilot, lambda: "row 10" in screen_text(app))
        fetch.let.clear()
        fetch.word = "new"
        app.source.reload()  # type: ignore[attr-defined]
        await pilot.pause()
        assert "row 10" in screen_text(app)
        fetch.let.set()
        await until(pilot, lambda: "new 10" in screen_text(app))


async def test_a_page_that_fails_is_reported_once_and_asked_for_at_the_next_reload() -> None:
    fetch = Pages(30)
    fetch.let.set()
    fetch.fail = True
    app = Paged(fetch)
    async with app.run_test(size=(60, 20)) as pilot:
        await until(pilot, lambda: app.failures)
        await pilot.pause()
        assert len(app.failures) == 1
        fetch.fail = False
        app.source.reload()  # type: ignore[attr-defined]
        await until(pilot, lambda: "row 10" in screen_text(app))


@pytest.mark.parametrize("name", ["a\x1b[31mred", "new\nline", "caf\udce9", "日本語の名前", "‮evil"])
async def test_hostile_names_stay_in_their_cell(name: str) -> None:
    app = Bench(rows(["before", name, "after"]))
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        lines = screen_text(app).splitlines()
        assert lines[1].split()[-1] == "before"
        assert lines[3].split()[-1] == "after"
        assert "\x1b" not in lines[2]
        assert "\n" not in lines[2]
