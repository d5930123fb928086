"""The other side of the bench: runs in the terminal, and writes its figures to a file.

`python -m bench.tui.inside MODE FILE ARGUMENTS...`: a long list of ours (`list`), the same in
Textual's own `DataTable` (`datatable`), or rows that change ten times a second (`updates`).
Make-believe rows, so that nothing but the screen is in the figures.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

from bench.tui.callbacks import quantile

VISIBLE = 46
UPDATES_A_SECOND = 10
STEPS = 60
"""Of each kind; the least CPU and the quantiles of the wall clock count."""

COLUMNS = ("name", "state", "c0", "c1", "c2", "c3")


class Figures:
    """What was measured so far; the file appears when it is whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.found: dict[str, Any] = {}

    def write(self) -> None:
        part = self._path.with_suffix(".part")
        part.write_text(json.dumps(self.found))
        part.rename(self._path)


async def timed(step: Callable[[], object], painted: asyncio.Event) -> tuple[float, float]:
    """Seconds until the next paint after the step, and CPU seconds by then."""
    painted.clear()
    began, cpu = time.perf_counter(), time.process_time()
    step()
    await painted.wait()
    return time.perf_counter() - began, time.process_time() - cpu


async def many(
    step: Callable[[], object], painted: asyncio.Event, steps: int = STEPS
) -> list[float]:
    """[least CPU ms, wall ms p50, p95] of so many steps, each with a pause before it."""
    walls, cpus = [], []
    for _ in range(steps):
        await asyncio.sleep(0.02)
        wall, cpu = await timed(step, painted)
        walls.append(1000 * wall)
        cpus.append(1000 * cpu)
    return [min(cpus), quantile(walls, 0.5), quantile(walls, 0.95)]


async def ours(figures: Figures, rows: int, seconds: float) -> None:
    """Our table; with `seconds` rows that change for so long, else a person who moves in it."""
    from rowtui.tui.shell.app import RowtuiApp
    from rowtui.tui.widgets.cells import Number, line
    from rowtui.tui.widgets.columns import TableColumn
    from rowtui.tui.widgets.table.rows import ListRows
    from rowtui.tui.widgets.table.virtual_table import VirtualTable
    from textual.screen import Screen

    from tests.tui.sample import SampleEngine

    columns = (
        TableColumn("name", "Directory", 16, 30),
        TableColumn("state", "State", 12),
        *(TableColumn(name, name, 8, 12, "right") for name in COLUMNS[2:]),
    )
    version = 0

    def cells(at: int, row: int) -> dict[str, object]:
        new = version if at < VISIBLE + 2 else 0
        return {
            "name": line(f"directory-{row:07d}"),
            "state": line(("○ eligible", "eligible") if row % 3 else ("✓ completed", "completed")),
            **{name: Number(row * 7 + at + new) for name in COLUMNS[2:]},
        }

    class Computed(ListRows[int]):
        """Rows without an index of a million keys."""

        def index_of(self, key: object) -> int | None:
            return key if isinstance(key, int) else None

    class Wide(Screen[None]):
        def compose(self):  # type: ignore[no-untyped-def]
            yield VirtualTable(name="wide")

    painted = asyncio.Event()

    class Measured(RowtuiApp):
        CSS_PATH = [str(files("rowtui.tui.shell") / "app.tcss")]
        MODES = {**RowtuiApp.MODES, "wide": Wide}  # as a view: not over one that changes as well

        def on_ready(self) -> None:
            self.run_worker(measure())

        def post_display_hook(self) -> None:
            painted.set()

    def source(numbers: object) -> Computed:
        return Computed(numbers, lambda row: row, cells)  # type: ignore[arg-type]

    async def measure() -> None:
        nonlocal version
        await asyncio.sleep(1.0)
        await app.switch_mode("wide")
        table = app.screen.query_one(VirtualTable)
        table.focus()
        await asyncio.sleep(0.5)
        figures.found["load"] = await timed(
            lambda: table.show(source(range(rows)), columns), painted
        )
        await asyncio.sleep(0.5)
        if seconds:
            figures.write()
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                at = time.perf_counter()
                version += 1
                table.rows_changed()
                await asyncio.sleep(max(0.0, 1 / UPDATES_A_SECOND - (time.perf_counter() - at)))
            await asyncio.sleep(3600)
        figures.found["down"] = await many(table.action_line_down, painted)
        figures.found["page"] = await many(table.action_page_down, painted)
        ends = iter([table.action_last, table.action_first] * STEPS)
        figures.found["jump"] = await many(lambda: next(ends)(), painted)
        orders = iter([range(rows - 1, -1, -1), range(rows)] * STEPS)
        # The engine sorts; the screen gets the first page of another order.
        figures.found["sort"] = await many(
            lambda: (table.start_over(), table.show(source(next(orders)), columns)), painted, 20
        )
        some = iter([range(0, rows, 3), range(rows)] * STEPS)
        figures.found["filter"] = await many(
            lambda: (table.start_over(), table.show(source(next(some)), columns)), painted, 20
        )
        figures.write()
        await asyncio.sleep(3600)

    app = Measured(SampleEngine())
    await app.run_async()
    if app.defect is not None:
        raise app.defect


async def floor(figures: Figures, rows: int) -> None:
    """A view that draws one text a line: what Textual takes at the least."""
    from rich.segment import Segment
    from textual.app import App
    from textual.geometry import Size
    from textual.scroll_view import ScrollView
    from textual.strip import Strip

    painted = asyncio.Event()

    class Lines(ScrollView):
        def render_line(self, y: int) -> Strip:
            number = y + int(self.scroll_offset.y)
            return Strip([Segment(f"directory-{number:07d} {number * 7:>150,}".ljust(198))], 198)

    class Bare(App[None]):
        def compose(self):  # type: ignore[no-untyped-def]
            yield Lines()

        def on_ready(self) -> None:
            self.run_worker(measure())

        def post_display_hook(self) -> None:
            painted.set()

    async def measure() -> None:
        lines = app.query_one(Lines)
        lines.virtual_size = Size(198, rows)
        await asyncio.sleep(0.5)
        figures.found["down"] = await many(lambda: lines.scroll_down(animate=False), painted)
        figures.found["page"] = await many(lambda: lines.scroll_page_down(animate=False), painted)
        figures.write()
        await asyncio.sleep(3600)

    app = Bare()
    await app.run_async()


async def textuals(figures: Figures, rows: int) -> None:
    """Textual's own table with the same rows."""
    from textual.app import App
    from textual.widgets import DataTable

    painted = asyncio.Event()

    class Plain(App[None]):
        def compose(self):  # type: ignore[no-untyped-def]
            yield DataTable(cursor_type="row")

        def on_ready(self) -> None:
            self.run_worker(measure())

        def post_display_hook(self) -> None:
            painted.set()

    def cells(row: int) -> list[object]:
        state = "○ eligible" if row % 3 else "✓ completed"
        return [f"directory-{row:07d}", state, *(row * 7 + at for at in range(4))]

    def fill(numbers: range) -> None:
        table = app.query_one(DataTable)
        table.clear()
        table.add_rows(cells(row) for row in numbers)

    async def measure() -> None:
        table = app.query_one(DataTable)
        table.add_columns(*COLUMNS)
        await asyncio.sleep(0.5)
        figures.found["load"] = await timed(lambda: fill(range(rows)), painted)
        await asyncio.sleep(1.0)
        figures.found["down"] = await many(table.action_cursor_down, painted, 30)
        figures.found["page"] = await many(table.action_page_down, painted, 30)
        ends = iter([table.action_scroll_bottom, table.action_scroll_top] * STEPS)
        figures.found["jump"] = await many(lambda: next(ends)(), painted, 20)
        few = 4 if rows <= 20_000 else 1
        keys = iter(list(table.columns)[2:] * few)
        figures.found["sort"] = await many(
            lambda: table.sort(next(keys), key=lambda value: -value), painted, few
        )
        some = iter([range(0, rows, 3), range(rows)] * few)
        figures.found["filter"] = await many(lambda: fill(next(some)), painted, few)
        figures.write()
        await asyncio.sleep(3600)

    app = Plain()
    await app.run_async()


def main() -> None:
    mode, path, rows, seconds = sys.argv[1:]
    figures = Figures(Path(path))
    if mode == "datatable":
        asyncio.run(textuals(figures, int(rows)))
    elif mode == "floor":
        asyncio.run(floor(figures, int(rows)))
    else:
        asyncio.run(ours(figures, int(rows), float(seconds)))


if __name__ == "__main__":
    main()
