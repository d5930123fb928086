"""What the first frame and a page of a list cost, counted in work and not in time."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import rowtui.tui.views
from rich.segment import Segment
from rowtui.tui.shell.app import RowtuiApp
from rowtui.tui.textual_patches.framed_lines import FramedLines
from rowtui.tui.views.view_classes import VIEW_CLASSES, looks_of, view_class
from rowtui.tui.widgets.cells import line
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.table.rows import ListRows
from rowtui.tui.widgets.table.virtual_table import VirtualTable
from textual._styles_cache import StylesCache
from textual.strip import Strip
from textual.widget import Widget

from tests.tui.sample import SampleEngine

NOT_YET = (
    "network.definition.spec",
    "submission.sending.carry_out",
    "packing.model",
    "mapping.model.decision",
)


def test_the_app_is_loaded_without_the_other_views_and_what_only_they_need() -> None:
    code = "import sys, rowtui.tui.shell.app, rowtui.tui.views.status.view; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    loaded = set(done.stdout.split())
    assert "rowtui.tui.views.status.view" in loaded, done.stderr
    others = {f"rowtui.tui.views.{name}.view" for name in VIEW_CLASSES if name != "status"}
    assert not loaded & (others | {f"rowtui.core.{name}" for name in NOT_YET})


def test_every_view_has_its_looks_beside_it() -> None:
    for name in VIEW_CLASSES:
        assert name == view_class(name).MODE
        assert looks_of(name).is_file()
        assert looks_of(name).name == view_class(name).CSS_PATH


def test_every_style_is_for_a_widget_that_exists() -> None:
    for module in pkgutil.walk_packages(rowtui.tui.views.__path__, "rowtui.tui.views."):
        importlib.import_module(module.name)
    importlib.import_module("rowtui.tui.home.screen")
    known = {"App"}
    found: list[type] = [Widget]
    while found:
        one = found.pop()
        known.add(one.__name__)
        found += one.__subclasses__()
    for path in (Path(inspect.getfile(RowtuiApp)).parents[1]).rglob("*.tcss"):
        text = re.sub(r"/\*.*?\*/|\{[^}]*\}", "{", path.read_text(), flags=re.DOTALL)
        named = set(re.findall(r"\b([A-Z]\w+)(?=[.#\s:,>{])", text))
        assert named <= known, (path.name, named - known)


def test_the_styles_of_a_view_which_are_read_when_it_is_opened_change_no_other() -> None:
    for name in VIEW_CLASSES:
        text = looks_of(name).read_text()
        rules = re.sub(r"/\*.*?\*/|\{[^}]*\}", ",", text, flags=re.DOTALL).split(",")
        assert not [it for it in rules if not re.match(r"\s*([A-Z]|$)", it)], name


def picture(strips: list[Strip]) -> list[list[Segment]]:
    return [Segment.simplify(strip) and list(Segment.simplify(strip)) for strip in strips]


async def test_a_page_is_drawn_once_as_textual_draws_it_and_without_the_scroll_bar() -> None:
    columns = (TableColumn("name", "Directory", 16, 30), TableColumn("state", "State", 12))

    def cells(_: int, row: int) -> dict[str, object]:
        return {"name": line(f"directory-{row:07}"), "state": line(("○ eligible", "eligible"))}

    class Numbers(ListRows[int]):
        def index_of(self, key: object) -> int | None:
            return key if isinstance(key, int) else None

    async with RowtuiApp(SampleEngine()).run_test(size=(100, 36)) as pilot:
        await pilot.press("2")
        await pilot.pause()
        table = VirtualTable(name="wide")
        await pilot.app.screen.mount(table, before=0)
        table.styles.height = 20
        table.show(Numbers(range(1_000_000), lambda row: row, cells), columns)  # type: ignore[arg-type]
        table.focus()
        await pilot.pause()

        # the frame is Textual's, with and without the focus
        whole = table.region.size.region
        for focused in (True, False):
            if not focused:
                pilot.app.screen.set_focus(None)
                await pilot.pause()
            assert table.has_focus is focused
            ours = FramedLines().render_widget(table, whole)
            assert picture(ours) == picture(StylesCache().render_widget(table, whole))

        # a page draws each of its lines once, and the thumb stays where it is
        drawn: list[object] = []
        bar = table.vertical_scrollbar
        bar.refresh = lambda *_, **__: drawn.append(bar) or bar  # type: ignore[method-assign]
        before = table.painted_lines
        table.action_page_down()
        await pilot.pause()
        table.action_page_down()
        await pilot.pause()
        assert table.cursor > 10
        assert table.painted_lines - before <= 2 * table.size.height
        assert drawn == []
        table.action_last()
        await pilot.pause()
        assert drawn


async def test_every_widget_that_is_drawn_in_a_frame_of_ours_looks_as_textual_draws_it() -> None:
    async with RowtuiApp(SampleEngine()).run_test(size=(120, 40)) as pilot:
        compared = set()
        for key in "126358":
            await pilot.press(key)
            await pilot.pause()
            for widget in pilot.app.screen.walk_children(Widget):
                whole = widget.region.size.region
                if isinstance(widget._styles_cache, FramedLines) and whole.area:
                    ours = FramedLines().render_widget(widget, whole)
                    theirs = StylesCache().render_widget(widget, whole)
                    assert picture(ours) == picture(theirs), widget
                    compared.add(type(widget).__name__)
        assert {"VirtualTable", "Panel", "OneLine", "TextLines"} <= compared
