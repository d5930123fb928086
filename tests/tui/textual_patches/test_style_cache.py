"""Widgets that are not styled again look as if they were."""

from __future__ import annotations

import pytest
import rowtui.tui.shell.app
from rowtui.tui.shell.app import RowtuiApp
from rowtui.tui.textual_patches.style_cache import KeptStylesheet
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode

from tests.tui.sample import SampleEngine


def rules(node: DOMNode) -> tuple[object, ...]:
    parts = {name: dict(part.base._rules) for name, part in node._component_styles.items()}
    return dict(node.styles.base._rules), parts


async def test_whatever_a_person_did_each_widget_has_the_rules_that_textual_gives_it() -> None:
    app = RowtuiApp(SampleEngine())
    async with app.run_test(size=(120, 36)) as pilot:
        for step in ("2", "6", "tab", "theme", "1", "low", "2", "d", "high", "5", "@"):
            if step == "theme":
                app.theme = "rowtui-light"
            elif step in ("low", "high"):
                await pilot.resize_terminal(*((70, 7) if step == "low" else (170, 50)))
            else:
                await pilot.press(step)
            await pilot.pause()
            for node in [app, *app.screen.walk_children(with_self=True)]:
                ours = rules(node)
                app.stylesheet.__class__ = Stylesheet  # as if there were none of ours
                try:
                    app.stylesheet.apply(node)
                finally:
                    app.stylesheet.__class__ = KeptStylesheet
                assert rules(node) == ours, (step, node)


async def test_a_view_that_is_shown_again_is_not_styled_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rowtui.tui.shell.app, "LOAD_SECONDS", 0.0)
    async with RowtuiApp(SampleEngine()).run_test(size=(120, 36)) as pilot:
        sheet = pilot.app.stylesheet
        assert isinstance(sheet, KeptStylesheet)
        # the looks of all views are read, and both views were on the screen since
        await pilot.app.workers.wait_for_complete(
            [worker for worker in pilot.app.workers if worker.group == "views"]
        )
        for key in "2121":
            await pilot.press(key)
            await pilot.pause()
        before = sheet.styled
        for key in "21":
            await pilot.press(key)
            await pilot.pause()
        assert sheet.styled - before <= 8  # where the focus comes from and goes to
