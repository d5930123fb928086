"""Searches in the Network view, and ways out of it: a node by its name, the log of a
sample's job.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.filter import parse_filter
from rowtui.core.base.text import visible
from rowtui.tui.shell.work import start
from rowtui.tui.views.network.picture.boxes import key_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowtui.core.runs.views import NodeView
    from rowtui.tui.line.parse import Candidate
    from rowtui.tui.views.network.view import NetworkScreen

MOST_OFFERED = 12
"""The number of names that are offered while the user types."""


def open_find(screen: NetworkScreen) -> None:
    """Ask for the name of a node; any other text filters the samples of the chosen node."""
    # A late import, because the first paint does not need the module.
    from rowtui.tui.line.page import LineScreen
    from rowtui.tui.line.parse import Candidate

    nodes = screen.look.view.nodes if screen.look.view else ()

    def candidates(text: str) -> Sequence[Candidate]:
        names = [(visible(it.name), it.kind) for it in that_fit(nodes, text)]
        found = [Candidate(name, name, kind) for name, kind in names]
        if text.strip():
            about = f"samples of {screen.look.samples_of} that fit"
            found.append(Candidate(text, visible(text), about))
        return found

    def go(text: str) -> str:
        if not text.strip():
            return ""
        if fit := that_fit(nodes, text):
            screen.find_node(key_of(fit[0]))
            return ""
        try:
            parse_filter(text)
        except RowtuiError as error:
            return f"no node is called so, and it is no filter of samples: {error.message}"
        screen.find_sample(text)
        return ""

    screen.app.push_screen(LineScreen(candidates, go, (), sign="/"))


def that_fit(nodes: Sequence[NodeView], text: str) -> list[NodeView]:
    """Return the nodes whose names contain this text; names that begin with it come first."""
    word = text.strip().lower()
    fit = [node for node in nodes if word in node.name.lower()]
    return sorted(fit, key=lambda node: not node.name.lower().startswith(word))[:MOST_OFFERED]


def open_log(screen: NetworkScreen, node: str, directory: str) -> None:
    """Open the log of the newest job of a sample."""
    view = screen.look.view
    action = next((one.action for one in (view.nodes if view else ())
                   if one.name == node and one.kind == "node"), "")  # fmt: skip
    if action:
        start(screen, partial(_find_log, screen, action, directory), "log", exclusive=True)
    else:
        screen.app.notify("A source runs no job.", markup=False)


async def _find_log(screen: NetworkScreen, action: str, directory: str) -> None:
    session = screen.session
    try:
        job = await session.engine.find_job(action, directory)
    except Exception as error:
        screen.dashboard.report("the job cannot be found", error)
        return
    if job is None:
        screen.app.notify(f"No job has run {action} in {directory} yet.", markup=False)
        return
    session.known_job = job
    session.job_token = session.job_to_show = job.record.token
    screen.dashboard.go("log")
