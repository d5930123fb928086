"""Ways out of an explanation: to the files that decided, to the clipboard, to lines to write."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING

from rowtui.core.text import visible
from rowtui.tui.screens.page import PageScreen

if TYPE_CHECKING:
    from rowtui.core.mapping.decision import Decision
    from rowtui.tui.render.explain import Row
    from rowtui.tui.screens.explain import ExplainView


_AROUND = 8  # columns: a page is not as wide as the screen, and has a frame
_NARROWEST = 20


def show_sources(view: ExplainView, row: Row | None) -> None:
    """A page with everything that decided; `row`: the destination whose sources come first."""
    from rowtui.tui.render.sources import source_rows
    from rowtui.tui.screens.sources import SourcesScreen

    found, snapshot = view.session.explanation, view.session.snapshot
    if found is None or found.decision is None or snapshot is None:
        return
    name = visible(row.name) if row is not None else "this job"
    title = f"What decided about {name}, and where it is written"
    view.app.push_screen(SourcesScreen(title, source_rows(row, found.decision), snapshot.root))


def show_lines(view: ExplainView, plain: Decision | None, why: str = "") -> None:
    """A page with what to write so that the what-if becomes so; `why` nothing else writes it."""
    from rowtui.tui.render.explain_text import lines_to_add

    asked, action = view.session.what_if, view.session.action
    if asked is None or action is None:
        return
    lines = [
        *textwrap.wrap(
            f"{why}." if why else "Nothing of this is written; y copies the page.",
            max(_NARROWEST, view.size.width - _AROUND),
        ),
        "",
        *lines_to_add(asked, action.name, plain),
    ]
    view.app.push_screen(PageScreen(f"What would make it so for {action.name}", lines))


def copy_json(view: ExplainView) -> None:
    """The decision as `rowtui explain --json` writes it, to the clipboard."""
    from rowtui.core.project.explaining import explanation_data

    found, action = view.session.explanation, view.session.action
    if found is None or action is None:
        return
    data = explanation_data(found, action.name, view.session.filter.word)
    view.dashboard.copy_text(json.dumps(data, indent=2))
