"""View 8: the network as a graph or a list, its run with its limits, failures and samples.

The feed polls the network; this view loads only pages of samples, when they are shown. The time for
a frame depends on the number of nodes, not on the number of samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, partialmethod
from typing import ClassVar

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.filter import parse_filter
from rowtui.core.base.text import plural, visible
from rowtui.core.runs.views import NetworkView, NodeView
from rowtui.tui.commands.network import may_mark_sample
from rowtui.tui.commands.registry import bindings_for
from rowtui.tui.line.field import LineScreen
from rowtui.tui.line.parse import Completion
from rowtui.tui.views.network.graph import NetworkGraph
from rowtui.tui.views.network.pane import NetworkPane
from rowtui.tui.views.network.picture.boxes import key_of
from rowtui.tui.views.network.run_text import NO_NETWORK, failure_cells, failure_columns, run_lines
from rowtui.tui.views.network.samples import SamplePane, SampleTable
from rowtui.tui.views.network.state import STATE_FILTERS, NetworkLook, StateFilter
from rowtui.tui.views.network.texts import node_lines, product_lines, sample_lines
from rowtui.tui.views.network.verbs import NetworkVerbs
from rowtui.tui.widgets.cells import Line, line, wrapped
from rowtui.tui.widgets.chrome import OneLine, Panel, set_titles
from rowtui.tui.widgets.short_text import age
from rowtui.tui.widgets.table.engine_rows import MemoryRows
from rowtui.tui.widgets.table.list_table import ListTable
from rowtui.tui.widgets.table.virtual_table import VirtualTable
from rowtui.tui.widgets.text_lines import LaidOut
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

MOST_OFFERED = 12
"""The number of names that are offered while the user types."""

TALL_FROM = 30
"""Lines of the screen from which on all information about the run is shown."""


class NetworkScreen(NetworkVerbs):
    """The view of the network. The objects under its cursors are stored in `session.network`, for
    the commands.
    """

    MODE = "network"
    PRESSED = "network.open"
    BINDINGS = bindings_for("network")
    AUTO_FOCUS: ClassVar[str | None] = "#graph"

    def __init__(self) -> None:
        super().__init__()
        self._net = NetworkPane(self, self._node_chosen)
        self._samples = SamplePane(self, self._samples_arrived)

    def body(self) -> ComposeResult:
        """Compose the run, the failures, the network, and the samples beside the chosen node."""
        yield Panel("Run", name="run")
        yield ListTable(name="failures", kept_as="network-failures")
        yield NetworkGraph(name="graph")
        yield ListTable(name="nodes", kept_as="network-nodes")
        with Horizontal(id="lower"):
            with Vertical(id="listed"):
                yield OneLine(name="states")
                yield SampleTable(
                    name="samples", can_mark=True, may_mark=lambda: may_mark_sample(self.session)
                )
            yield LaidOut(name="node")

    @property
    def look(self) -> NetworkLook:
        """The state of this view."""
        return self.session.network

    @property
    def failures(self) -> ListTable:
        """The failures."""
        return self.query_one("#failures", ListTable)

    @property
    def _below(self) -> tuple[Widget, ...]:
        """The panes that replace the network if the screen has few lines."""
        return self._samples.table, self.query_one("#node")

    # Display

    async def on_screen_resume(self) -> None:
        """Poll the network while the view is shown; the base class shows the view itself again."""
        self.look.wanted = True
        self.dashboard.feed.look_at_network()

    def on_screen_suspend(self) -> None:
        """Stop the polls, because the view is hidden."""
        self.look.wanted = False

    def show_body(self) -> None:
        """Show everything from the last poll."""
        view = self.look.view
        self.set_class(view is None, "-none")
        self.set_class(bool(view and view.failures), "-failures")
        self._show_run(view)
        self._show_failures(view)
        self._net.show(view)
        self._samples.show(view)
        self._show_node(view)

    def show_header(self) -> None:
        """Update the ages, which change with time."""
        super().show_header()
        if self.ready and self.look.view is not None:
            self._title_run(self.look.view)

    def _show_run(self, view: NetworkView | None) -> None:
        look, panel = self.look, self.query_one("#run", Panel)
        width = panel.size.width
        if view is None:
            panel.show(part for one in self._instead() for part in wrapped(one, width))
            set_titles(panel, "Network")
            return
        brief = self.size.height < TALL_FROM
        lines = run_lines(view, max(1, width), frozen=look.frozen, busy=look.busy, brief=brief)
        if look.error is not None:
            lines = [
                line(("✗ ", "failed"), (": ".join(filter(None, look.error)), "failed")),
                *lines,
            ]
        lines += [line(("▲ ", "warning"), text) for text in (*view.problems, *view.notices)]
        panel.show(lines, stale=look.error is not None or self.session.stale)
        self._title_run(view)

    def _title_run(self, view: NetworkView) -> None:
        old = age(max(0.0, self.session.clock() - view.at))
        seen = "as of now" if old == "now" else f"as of {old} ago"
        set_titles(self.query_one("#run", Panel), f"Network {view.name}", seen)

    def _instead(self) -> tuple[Line, ...]:
        """Return the text that is shown if there is no network."""
        if self.look.error is not None:
            message, hint = self.look.error
            lines = [line(("✗ ", "failed"), (text, "failed")) for text in message.splitlines()]
            return (*lines, line((hint, "dim")))
        return NO_NETWORK if self.look.known else (line(("Reading the network…", "dim")),)

    def _show_failures(self, view: NetworkView | None) -> None:
        failures = view.failures if view else ()
        table = self.failures
        if not failures and table.has_focus:
            self._net.focus()
        table.show(
            MemoryRows(failures, lambda one: one.job, lambda _, one: failure_cells(one)),
            failure_columns(failures),
            stale=self.look.error is not None,
        )
        lost = sum(one.lost for one in failures)
        more = f", {plural(lost, 'other')} blocked" if lost else ""
        count = plural(self.look.failed, "sample")
        below = " · ".join(filter(None, (table.tally, "R retry  Enter log")))
        title = f"Failed: {count}{more}{table.filter_named}"
        set_titles(table, title if failures else "", below)
        self._point()

    def _samples_arrived(self) -> None:
        """Update the view after a page of samples has arrived."""
        self._point()
        self._show_node(self.look.view)

    def _show_node(self, view: NetworkView | None) -> None:
        look, widget = self.look, self.query_one("#node", LaidOut)
        sample, node = look.sample, look.node
        found = self._samples.product(node)
        product = product_lines(found) if found is not None else []
        if view is None or node is None:
            widget.show_made(lambda _: ())
            set_titles(widget, "")
        elif self._samples.table.has_focus and sample is not None:
            widget.show_made(
                lambda width: [*product, *[()] * bool(product), *sample_lines(sample, width)]
            )
            waits = sample.state in ("waiting", "cancelled", "blocked", "skipped")
            set_titles(widget, "Sample", "Enter log" + "  w dependencies" * waits)
        else:
            widget.show_made(lambda width: [*node_lines(view, node, width), (), *product])
            kind = "" if node.kind == "node" else f" ({node.kind})"
            into = "Enter files" if widget.has_focus and sample is not None else "Enter samples"
            set_titles(widget, f"{node.name}{kind}", into)

    # Positions of the cursors

    def _point(self) -> None:
        """Store the objects of the commands."""
        look = self.look
        look.failure = next(
            (one for one in (look.view.failures if look.view else ())
             if one.job == self.failures.cursor_key), None
        )  # fmt: skip
        look.sample = self._samples.sample
        under = "graph"
        if self.failures.has_focus_within:
            under = "failures"
        elif self._samples.table.has_focus_within:
            under = "samples"
        look.under = under

    def on_virtual_table_cursor_moved(self, event: VirtualTable.CursorMoved) -> None:
        """Choose the failure, node or sample under the cursor."""
        if event.table is self._net.nodes and self._net.listed:
            # The cursor may have moved on since the message.
            self._net.moved(self._net.nodes.cursor_key)
        self._point()
        if event.table is self._samples.table:
            self._show_node(self.look.view)
        self.show_bottom()

    def on_list_table_rearranged(self, event: ListTable.Rearranged) -> None:
        """Update the frames after another filter or other marks."""
        if event.table is self._samples.table:
            self._samples.remember_marks()
            self._samples.show_titles()
        elif event.table is self.failures:
            self._show_failures(self.look.view)
        else:
            self._net.show_titles()

    def on_descendant_focus(self) -> None:
        """Store the object under the cursor of the pane that has the focus, for the commands."""
        self.set_class(any(pane.has_focus_within for pane in self._below), "-samples")
        self._point()
        self._show_node(self.look.view)
        self.show_bottom()

    def _node_chosen(self) -> None:
        """Show the samples of the node under the cursor."""
        self._samples.show(self.look.view)
        self._show_node(self.look.view)
        self.query_one("#node", LaidOut).action_first()
        self.show_bottom()

    def on_network_graph_chosen(self) -> None:
        """Show the samples of another node."""
        # The cursor may have moved on since the message.
        self._net.moved(self._net.picture.chosen)

    def on_network_graph_wanted(self) -> None:
        """Ask for the name of a node; any other text filters the samples of the chosen node."""
        nodes = self.look.view.nodes if self.look.view else ()

        def candidates(text: str) -> Sequence[Completion]:
            names = [(visible(it.name), it.kind) for it in _that_fit(nodes, text)]
            found = [Completion(name, name, kind) for name, kind in names]
            if text.strip():
                about = f"samples of {self.look.samples_of} that fit"
                found.append(Completion(text, visible(text), about))
            return found

        def go(text: str) -> str:
            if not text.strip():
                return ""
            if fit := _that_fit(nodes, text):
                self._net.choose(key_of(fit[0]))
                self._enter(self._net.widget)
                return ""
            try:
                parse_filter(text)
            except RowtuiError as error:
                return f"no node is called so, and it is no filter of samples: {error.message}"
            self._samples.filter(text)
            self._enter(self._samples.table)
            return ""

        self.app.push_screen(LineScreen(candidates, go, (), sign="/"))

    async def on_network_graph_opened(self) -> None:
        """Open the node with a second click."""
        await self.dashboard.action_command("network.open")

    # Commands

    def copyable(self) -> str:
        """The directory under the cursor, or the node's name."""
        look = self.look
        if look.under == "failures" and look.failure:
            return look.failure.directory
        if look.under == "samples" and look.sample:
            return look.sample.directory
        return look.chosen[1] if look.chosen else ""

    def directory_here(self) -> str:
        """The directory under the cursor; in the pane of a node, that of its sample."""
        if self.look.under == "graph" and self.look.sample and self.query_one("#node").has_focus:
            return self.look.sample.directory
        return self.copyable() if self.look.under != "graph" else ""

    def back(self) -> bool:
        """Drop the filter and the marks, then go to the network."""
        tables = (self.failures, self._net.nodes, self._samples.table)
        if any(table.has_focus_within and table.clear_filter() for table in tables):
            return True
        if self.look.marked:
            self._samples.table.set_marks(everything=False)
            return True
        if self.look.view is not None and not self._net.has_focus:
            self._enter(self._net.widget)
            return True
        return False

    def forget_marks(self) -> None:
        """Remove the marks after the marked jobs were retried, or cancelled."""
        self._samples.forget_marks()

    async def command_open(self) -> None:
        """Go from a node to its samples; from a sample or a failure to the log of its job; and from
        the pane of a node to the files of its sample.
        """
        look = self.look
        if self.query_one("#node").has_focus:
            await self.dashboard.action_command("app.files")
        elif look.under == "graph":
            self._enter(self._samples.table)
        elif look.under == "failures" and look.failure is not None:
            self.open_log(look.failure.node, look.failure.directory)
        elif look.sample is not None:
            self.open_log(look.samples_of, look.sample.directory)

    def command_pane(self) -> None:
        """Move to the next pane."""
        panes: list[Widget] = [self._net.widget, self._samples.table]
        if self.failures.display:
            panes.insert(0, self.failures)
        if (node := self.query_one("#node")).display:
            panes.append(node)
        at = next((n for n, one in enumerate(panes) if one.has_focus_within), -1)
        self._enter(panes[(at + 1) % len(panes)])

    def _enter(self, pane: Widget) -> None:
        """Move to a pane; if only one of the two fits, the pane replaces the other one."""
        self.set_class(pane in self._below, "-samples")
        self.call_after_refresh(pane.focus)

    def on_one_line_pressed(self, event: OneLine.Pressed) -> None:
        """Show the samples in the state that was pressed."""
        self._list_state(next(one for one in STATE_FILTERS if one.word == event.value))

    def _step_filter(self, step: int) -> None:
        """Show the samples in the next state that occurs."""
        look, node = self.look, self._samples.node
        filters = STATE_FILTERS[::step]
        at = filters.index(look.filter)
        later = [*filters[at + 1 :], *filters[: at + 1]]
        self._list_state(next(
            one for one in later if not one.states or (node and node.counts and any(
                node.counts[state] for state in one.states))
        ))  # fmt: skip

    def _list_state(self, chosen: StateFilter) -> None:
        """Show the samples in this state."""
        undo = partial(self._list_state, self.look.filter)
        self.session.can_undo(self.MODE, f"listed samples: {chosen.word}", undo)
        self.look.filter = chosen
        self._samples.show(self.look.view)
        self.show_bottom()

    command_filter = partialmethod(_step_filter, 1)
    command_filter_before = partialmethod(_step_filter, -1)

    def command_mark_all(self) -> None:
        """Mark all samples that are listed, or remove the marks."""
        if self.look.marked:
            self._samples.table.set_marks(everything=False)
        else:
            self._samples.table.mark_matching()

    def command_mark(self) -> None:
        """Mark this sample."""
        if self.look.under == "samples":
            self._samples.table.toggle_mark()
            self._samples.remember_marks()

    def command_arrange(self) -> None:
        """Show the network as a graph, or as a list."""
        self._net.arrange()

    def command_as_now(self) -> None:
        """Show the current network.toml, or the run again."""
        self.look.frozen = not self.look.frozen
        self.dashboard.feed.look_at_network()


def _that_fit(nodes: Sequence[NodeView], text: str) -> list[NodeView]:
    """Return the nodes whose names contain this text; names that begin with it come first."""
    word = text.strip().lower()
    fit = [node for node in nodes if word in node.name.lower()]
    return sorted(fit, key=lambda node: not node.name.lower().startswith(word))[:MOST_OFFERED]
