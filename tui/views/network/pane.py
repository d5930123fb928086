"""The pane with the nodes of the network: drawn as a graph, or listed if a graph does not fit."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, cast

from rowtui.core.base.text import plural
from rowtui.tui.views.network.graph import NetworkGraph
from rowtui.tui.views.network.picture.boxes import LEAST, NodeKey
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
from rowtui.tui.widgets.table.list_table import ListTable

if TYPE_CHECKING:
    from rowtui.core.runs.views import NetworkView
    from rowtui.tui.views.view import ScreenView
    from textual.widget import Widget


GRAPH_FROM = 100
"""Columns of the screen from which on the network is drawn as a graph."""

MOST_BOXES = 60
"""A network of more nodes is a list at first."""

ROOMY = (18, 15, LEAST)
"""Columns inside a box, from wide to narrow; the first with which the whole graph fits is used."""

LEGEND = "✓ completed ▶ submitted ○ eligible · waiting ✗ failed ⊘ cancelled ╳ blocked"


class NetworkPane:
    """The pane of one Network view. `node_chosen` is called with another node under the cursor."""

    def __init__(self, view: ScreenView, node_chosen: Callable[[], None]) -> None:
        self._view = view
        self._look = view.session.network
        self._node_chosen = node_chosen
        self._graph: Graph | None = None
        self._last_graph: Graph | None = None
        self._of: tuple[NetworkView, int] | None = None
        self._rows: list[NodeRow] = []
        self._chosen_arrangement: bool | None = None  # None: the width and the network decide.

    @property
    def picture(self) -> NetworkGraph:
        """The graph."""
        return self._view.query_one("#graph", NetworkGraph)

    @property
    def nodes(self) -> ListTable:
        """The nodes as a list."""
        return self._view.query_one("#nodes", ListTable)

    @property
    def listed(self) -> bool:
        """Whether the nodes are a list, not a graph."""
        if self._chosen_arrangement is not None:
            return self._chosen_arrangement
        nodes = self._look.view.nodes if self._look.view else ()
        narrow = self._view.size.width < GRAPH_FROM or self._view.dashboard.how.plain
        return narrow or len(nodes) > MOST_BOXES

    @property
    def widget(self) -> Widget:
        """The graph, or the list."""
        return self.nodes if self.listed else self.picture

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
        other = self.picture if listed else self.nodes
        inside = other.has_focus_within
        view.set_class(listed, "-listed")
        if network is None:
            self.picture.show(None, None)
            self.nodes.show_nothing()
            self._rows = []
            return
        if inside:
            view.call_after_refresh(self.focus)
        before, self._rows = self._rows, node_rows(network)
        changed = changed_nodes(before, self._rows)
        if listed:
            self._show_list(network)
            self.nodes.flash((key, name) for key, names in changed.items() for name in names)
        else:
            self._show_graph(network)
            if changed:
                self.picture.flash(changed)
        self.show_titles()

    def _show_list(self, network: NetworkView) -> None:
        table = self.nodes
        rows = MemoryRows(self._rows, lambda row: row.key, lambda _, row: node_cells(row),
                          node_values)  # fmt: skip
        stale = self._look.error is not None or self._view.session.stale
        table.show(rows, node_columns(self._rows), stale=stale)
        if self._look.chosen is not None:
            table.choose(self._look.chosen)

    def _show_graph(self, network: NetworkView) -> None:
        width = self._room
        if self._of is None or self._of[0] is not network or self._of[1] != width:
            self._of = (network, width)
            for least in ROOMY:
                made = graph(network, least, self._last_graph)
                if made.size[0] <= width or least == ROOMY[-1]:
                    break
            self._graph = self._last_graph = made
        self.picture.show(self._graph, self._look.chosen)

    @property
    def _room(self) -> int:
        # The frame and the scroll bar need the other columns.
        return max(1, self._view.size.width - 3)

    def show_titles(self) -> None:
        """Show the number of nodes, the meaning of marks, and the key of the other arrangement."""
        network = self._look.view
        if network is None:
            return
        nodes = sum(1 for one in network.nodes if one.kind == "node")
        title = f"{plural(nodes, 'node')} · {plural(network.jobs, 'sample')}"
        if self.listed:
            below = " · ".join(filter(None, (self.nodes.tally, "i graph")))
            set_titles(self.nodes, title + self.nodes.filter_named, below)
            return
        if self._graph is not None and self._graph.size[0] > self._room:
            title += " · more nodes to the right: →"
        set_titles(self.picture, title, f"{LEGEND}   i list")

    # User actions

    def moved(self, key: Hashable | None) -> None:
        """Choose the node under the cursor of the graph, or of the list."""
        look = self._look
        if key is None or key == look.chosen:
            return
        look.chosen, look.moved = cast(NodeKey, key), True
        if self.listed:
            self.nodes.choose(key)
        else:
            self.picture.show(self._graph, look.chosen)
        self._node_chosen()

    def choose(self, key: NodeKey) -> None:
        """Put the cursor on this node."""
        if self.listed:
            self.nodes.clear_filter()
            self.nodes.move_to_key(key)
        else:
            self.picture.choose(key)

    def arrange(self) -> None:
        """Show the network as a graph, or as a list."""
        if self._look.view is None:
            return
        inside = self.has_focus
        self._chosen_arrangement = not self.listed
        self.show(self._look.view)
        if inside:
            self._view.call_after_refresh(self.focus)
