"""Actions that leave an explanation: to the source files, to the clipboard, to lines to add."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING

from rowtui.core.base.text import visible
from rowtui.tui.views.page import PageScreen

if TYPE_CHECKING:
    from rowtui.core.mapping.model.decision import Decision
    from rowtui.tui.views.explain.explain import Row
    from rowtui.tui.views.explain.view import ExplainView


_AROUND = 8  # The number of columns by which a page is narrower than the screen, with its frame.
_NARROWEST = 20


def show_sources(view: ExplainView, row: Row | None) -> None:
    """Open a page with all sources of the decision; `row` is the destination whose sources come
    first.
    """
    from rowtui.tui.views.explain.sources import source_rows
    from rowtui.tui.views.explain.sources_page import SourcesScreen

    found, snapshot = view.session.explanation, view.session.snapshot
    if found is None or found.decision is None or snapshot is None:
        return
    name = visible(row.name) if row is not None else "this job"
    title = f"What decided about {name}, and where it is written"
    view.app.push_screen(SourcesScreen(title, source_rows(row, found.decision), snapshot.root))


def show_lines(view: ExplainView, plain: Decision | None, why: str = "") -> None:
    """Open a page with the lines that make the what-if permanent.

    `why` is the reason why the dashboard does not write the lines itself.
    """
    from rowtui.tui.views.explain.explain_text import lines_to_add

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
    """Copy the decision, in the format of `rowtui explain --json`, to the clipboard."""
    from rowtui.core.engine.api.json_views import explanation_of

    found, action = view.session.explanation, view.session.action
    if found is None or action is None:
        return
    data = explanation_of(found, action.name, view.session.filter.word)
    view.dashboard.copy_text(json.dumps(data, indent=2))
