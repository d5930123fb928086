"""The pane with the nodes of the network: drawn as a graph, or listed if a graph does not fit."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import TYPE_CHECKING, cast

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.filter import parse_filter
from rowtui.core.base.text import plural, visible
from rowtui.tui.line.field import LineScreen
from rowtui.tui.line.parse import Completion
from rowtui.tui.shell.work import start
from rowtui.tui.views.network.picture.boxes import LEAST, NodeKey, key_of
from rowtui.tui.views.network.picture.list import (
    NodeRow,
    changed_nodes,
    node_cells,
    node_columns,
    node_rows,
    node_values,
)
from rowtui.tui.views.network.picture.picture import Graph, graph
from rowtui.tui.widgets.chrome import set_titles
from rowtui.tui.widgets.table.engine_rows import MemoryRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowtui.core.runs.views import NetworkView, NodeView
    from rowtui.tui.views.network.view import NetworkScreen
    from textual.widget import Widget


GRAPH_FROM = 100
"""Columns of the screen from which on the network is drawn as a graph."""

MOST_BOXES = 60
"""A network of more nodes is a list at first."""

ROOMY = (18, 15, LEAST)
"""Columns inside a box, from wide to narrow; the first with which the whole graph fits is used."""

LEGEND = "✓ completed ▶ submitted ○ eligible · waiting ✗ failed ⊘ cancelled ╳ blocked"


class NetworkPane:
    """The pane of one Network view."""

    def __init__(self, view: NetworkScreen) -> None:
        self._view = view
        self._graph: Graph | None = None
        self._last_graph: Graph | None = None
        self._of: tuple[NetworkView, int] | None = None
        self._rows: list[NodeRow] = []
        self._chosen_arrangement: bool | None = None  # None: the width and the network decide.

    @property
    def listed(self) -> bool:
        """Whether the nodes are a list, not a graph."""
        if self._chosen_arrangement is not None:
            return self._chosen_arrangement
        nodes = self._view.look.view.nodes if self._view.look.view else ()
        return self._view.size.width < GRAPH_FROM or len(nodes) > MOST_BOXES

    @property
    def widget(self) -> Widget:
        """The graph, or the list."""
        return self._view.nodes if self.listed else self._view.picture

    @property
    def has_focus(self) -> bool:
        """Whether this pane has the focus."""
        return self.widget.has_focus_within

    def focus(self) -> None:
        """Move the focus to this pane."""
        self.widget.focus()

    def show(self, network: NetworkView | None) -> None:
        """Show the current nodes."""
        view, listed = self._view, self.listed
        other = view.picture if listed else view.nodes
        inside = other.has_focus_within
        view.set_class(listed, "-listed")
        if network is None:
            view.picture.show(None, None)
            view.nodes.show_nothing()
            self._rows = []
            return
        if inside:
            view.call_after_refresh(self.focus)
        before, self._rows = self._rows, node_rows(network)
        changed = changed_nodes(before, self._rows)
        if listed:
            self._show_list(network)
            view.nodes.flash((key, name) for key, names in changed.items() for name in names)
        else:
            self._show_graph(network)
            if changed:
                view.picture.flash(changed)
        self.show_titles()

    def _show_list(self, network: NetworkView) -> None:
        table = self._view.nodes
        rows = MemoryRows(self._rows, lambda row: row.key, lambda _, row: node_cells(row),
                          node_values)  # fmt: skip
        stale = self._view.look.error is not None or self._view.session.stale
        table.show(rows, node_columns(self._rows), stale=stale)
        if self._view.look.chosen is not None:
            table.choose(self._view.look.chosen)

    def _show_graph(self, network: NetworkView) -> None:
        width = self._room
        if self._of is None or self._of[0] is not network or self._of[1] != width:
            self._of = (network, width)
            for least in ROOMY:
                made = graph(network, least, self._last_graph)
                if made.size[0] <= width or least == ROOMY[-1]:
                    break
            self._graph = self._last_graph = made
        self._view.picture.show(self._graph, self._view.look.chosen)

    @property
    def _room(self) -> int:
        # The frame and the scroll bar need the other columns.
        return max(1, self._view.size.width - 3)

    def show_titles(self) -> None:
        """Show the number of nodes, the meaning of marks, and the key of the other arrangement."""
        network = self._view.look.view
        if network is None:
            return
        nodes = sum(1 for one in network.nodes if one.kind == "node")
        title = f"{plural(nodes, 'node')} · {plural(network.jobs, 'sample')}"
        if self.listed:
            below = " · ".join(filter(None, (self._view.nodes.tally, "m graph")))
            set_titles(self._view.nodes, title + self._view.nodes.filter_named, below)
            return
        if self._graph is not None and self._graph.size[0] > self._room:
            title += " · goes on to the side"
        set_titles(self._view.picture, title, f"{LEGEND}   m list")

    # User actions

    def moved(self, key: Hashable | None) -> None:
        """Choose the node under the cursor of the graph, or of the list."""
        look = self._view.look
        if key is None or key == look.chosen:
            return
        look.chosen = cast(NodeKey, key)
        if self.listed:
            self._view.nodes.choose(key)
        else:
            self._view.picture.show(self._graph, look.chosen)
        self._view.node_chosen()

    def choose(self, key: NodeKey) -> None:
        """Put the cursor on this node."""
        if self.listed:
            self._view.nodes.clear_filter()
            self._view.nodes.move_to_key(key)
        else:
            self._view.picture.choose(key)

    def arrange(self) -> None:
        """Show the network as a graph, or as a list."""
        if self._view.look.view is None:
            return
        inside = self.has_focus
        self._chosen_arrangement = not self.listed
        self.show(self._view.look.view)
        if inside:
            self._view.call_after_refresh(self.focus)


# Searches and logs


MOST_OFFERED = 12
"""The number of names that are offered while the user types."""


def open_find(screen: NetworkScreen) -> None:
    """Ask for the name of a node; any other text filters the samples of the chosen node."""
    nodes = screen.look.view.nodes if screen.look.view else ()

    def candidates(text: str) -> Sequence[Completion]:
        names = [(visible(it.name), it.kind) for it in that_fit(nodes, text)]
        found = [Completion(name, name, kind) for name, kind in names]
        if text.strip():
            about = f"samples of {screen.look.samples_of} that fit"
            found.append(Completion(text, visible(text), about))
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
        job = await session.engine.jobs.find(action, directory)
    except Exception as error:
        screen.dashboard.report("the job cannot be found", error)
        return
    if job is None:
        screen.app.notify(f"No job has run {action} in {directory} yet.", markup=False)
        return
    session.known_job = job
    session.job_token = session.job_to_show = job.token
    screen.dashboard.go("log")
