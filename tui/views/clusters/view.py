"""Clusters: connection, polls and parts of each one. This view has no number.

The view shows the engine's last answer. While the view is on the screen, it asks the engine again
after each poll of the queues, and never waits for the answer.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from rowtui.core.base.text import plural
from rowtui.core.project.context.clusters import ClusterDetail
from rowtui.core.project.views.views import JobsView
from rowtui.tui.commands.clusters import may_ask_nodes
from rowtui.tui.commands.registry import bindings_for
from rowtui.tui.shell.session import describe
from rowtui.tui.shell.work import start
from rowtui.tui.views.clusters.details import (
    cluster_cells,
    cluster_columns,
    detail_lines,
    problem_lines,
)
from rowtui.tui.views.view import ScreenView
from rowtui.tui.widgets.cells import Line, line
from rowtui.tui.widgets.chrome import set_titles
from rowtui.tui.widgets.table.rows import ListRows
from rowtui.tui.widgets.table.virtual_table import VirtualTable
from rowtui.tui.widgets.text_lines import LaidOut
from textual.app import ComposeResult


class ClustersScreen(ScreenView):
    """The list, and below it the cluster under the cursor."""

    MODE = "clusters"
    PRESSED = "clusters.jobs"
    BINDINGS = bindings_for("clusters")
    AUTO_FOCUS: ClassVar[str | None] = "#clusters-list"

    def __init__(self) -> None:
        super().__init__()
        self._asking = False
        self._again = False
        self._asked_after: JobsView | None = None

    def body(self) -> ComposeResult:
        """Compose the list, and the details of one cluster."""
        yield VirtualTable(name="clusters-list")
        yield LaidOut(name="cluster")

    @property
    def table(self) -> VirtualTable:
        """The list of clusters."""
        return self.query_one("#clusters-list", VirtualTable)

    async def on_screen_resume(self) -> None:
        """Ask the engine again, because the answer may be old; the base class shows the view."""
        self._asked_after = None

    def show_header(self) -> None:
        """Show the line at the top, and the ages."""
        super().show_header()
        if self.ready and self.is_current:
            self._show_rows()

    def show_body(self) -> None:
        """Show everything, and ask the engine again if the queues were polled since."""
        self._show_rows()
        self._show_cluster()
        if not self.is_current:
            return
        if self._asked_after is None or self._asked_after is not self.session.jobs:
            self._ask()

    def _ask(self) -> None:
        if self._asking:
            self._again = True
            return
        self._asking = True
        self._asked_after = self.session.jobs
        start(self, self._learn, "clusters")

    async def _learn(self) -> None:
        look = self.session.clusters
        try:
            look.view = await self.session.engine.clusters.view()
            look.error = None
        except Exception as error:
            look.error = describe(error)
        finally:
            self._asking = False
        again, self._again = self._again, False
        if again:
            self._ask()
        if self.ready:
            self._show_rows()
            self.show_header()
            self._show_cluster()
            self.show_bottom()

    def _show_rows(self) -> None:
        look, now = self.session.clusters, self.session.clock()
        clusters = look.view.clusters if look.view else ()
        parts = ("Asking…", "dim")
        if look.error is not None:
            parts = (f"The clusters cannot be listed: {look.error[0]}", "failed")
        self.table.empty = line(parts)
        connecting = self.session.connecting

        def cells(_: int, cluster: ClusterDetail) -> object:
            return cluster_cells(cluster, now, connecting)

        rows = ListRows(clusters, lambda one: one.name, cells)  # type: ignore[arg-type]
        self.table.show(rows, cluster_columns(), stale=look.error is not None)
        if any(one.name == look.to_show for one in clusters):
            self.table.move_to_key(look.to_show)
            look.name, look.to_show = look.to_show, ""
        wrong = look.view.problems if look.view else ()
        below = plural(len(clusters), "cluster") if look.view else ""
        if wrong:
            below += f" · ▲ {plural(len(wrong), 'problem')} in clusters.toml"
        set_titles(self.table, "Clusters", below)

    def _show_cluster(self) -> None:
        look = self.session.clusters
        cluster, view = look.chosen, look.view
        page = self.query_one("#cluster", LaidOut)
        if cluster is None or view is None:
            page.show_made(lambda _: ())
            set_titles(page, "Cluster")
            return
        show = partial(
            detail_lines,
            cluster,
            self.session.clock(),
            connecting=frozenset(self.session.connecting),
            nodes=look.nodes.get(cluster.name),
            refused=look.refused.get(cluster.name, ""),
            asking=cluster.name in look.asking,
        )

        def lines(width: int) -> list[Line]:
            wrong = problem_lines(view.problems, width)
            return [*wrong, (), *show(width)] if wrong else show(width)

        page.show_made(lines)
        set_titles(page, cluster.name, "Tab scrolls")

    def on_virtual_table_cursor_moved(self, event: VirtualTable.CursorMoved) -> None:
        """Choose the cluster under the cursor."""
        if event.key is not None:
            self.session.clusters.name = str(event.key)
        self.show_header()
        self._show_cluster()
        self.show_bottom()

    def copyable(self) -> str:
        """The name of the cluster under the cursor."""
        cluster = self.session.clusters.chosen
        return cluster.name if cluster else ""

    @property
    def crumbs(self) -> tuple[str, ...]:
        """The word "clusters", and the cluster under the cursor."""
        cluster = self.session.clusters.chosen
        return ("clusters", cluster.name) if cluster else ("clusters",)

    @property
    def login(self) -> str:
        """The cluster to which `L` logs in in this view."""
        cluster = self.session.clusters.chosen
        return cluster.name if cluster and cluster.connected is False else ""

    def command_nodes(self) -> None:
        """Poll the queues, and ask this cluster for its nodes."""
        cluster = self.session.clusters.chosen
        self.dashboard.feed.refresh_now(queues=True)
        if reason := may_ask_nodes(self.session):
            self.dashboard.warn(f"nodes: {reason}")
        elif cluster is not None:
            self.session.clusters.asking.add(cluster.name)
            start(self, partial(self._ask_nodes, cluster.name), "nodes")
            self._show_cluster()

    async def _ask_nodes(self, name: str) -> None:
        look = self.session.clusters
        try:
            look.nodes[name] = await self.session.engine.clusters.nodes(name)
            look.refused.pop(name, None)
        except Exception as error:
            message, hint = describe(error)
            look.refused[name] = f"{message}; {hint}" if hint else message
        finally:
            look.asking.discard(name)
        if self.ready:
            self._show_cluster()

    def command_jobs(self) -> None:
        """Show the jobs on this cluster."""
        cluster = self.session.clusters.chosen
        if cluster is not None:
            self.dashboard.go("queue")
            self.dashboard.call_after_refresh(self.dashboard.show_about, cluster.name)

    def command_why(self) -> None:
        """Read the details of this cluster."""
        self.query_one("#cluster", LaidOut).focus()

    def command_pane(self) -> None:
        """Go from the list to the details, or back."""
        page = self.query_one("#cluster", LaidOut)
        (self.table if page.has_focus else page).focus()
