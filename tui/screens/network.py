"""View 8: the network as a graph, its run and what the run may spend, what failed, and samples.

The network is asked for by the feed; here only pages of samples are, when they are looked at. What
a frame costs depends on how many nodes there are, not on how many samples.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from rowtui.core.engine import JobState, NetworkView
from rowtui.core.runs.views import NodeView, SampleView
from rowtui.core.text import plural
from rowtui.tui.actions import bindings_for
from rowtui.tui.network import STATE_FILTERS, NetworkLook
from rowtui.tui.render.cells import Line, line, wrapped
from rowtui.tui.render.network import (
    NO_NETWORK,
    failure_cells,
    failure_columns,
    node_lines,
    run_lines,
    sample_cells,
    sample_columns,
    sample_lines,
)
from rowtui.tui.render.network_boxes import LEAST
from rowtui.tui.render.network_picture import Graph, Outline, Picture, graph
from rowtui.tui.screens.view import View, set_titles
from rowtui.tui.widgets.chrome import Panel
from rowtui.tui.widgets.network_graph import NetworkGraph
from rowtui.tui.widgets.rows import ListRows, PagedRows
from rowtui.tui.widgets.text_lines import LaidOut
from rowtui.tui.widgets.virtual_table import VirtualTable
from rowtui.tui.work import start
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widget import Widget

GRAPH_FROM = 100
"""Columns of the screen from which on the network is drawn as a graph."""

TALL_FROM = 30
"""Lines of the screen from which on everything is said of the run."""

MOST_BOXES = 60
"""A network of more nodes is a list at first."""

ROOMY = (18, 15, LEAST)
"""Columns inside a box, if all of the graph is seen with that."""


class NetworkScreen(View):
    """What is under a cursor is kept in `session.network`, for the commands."""

    MODE = "network"
    BINDINGS = bindings_for("network")
    AUTO_FOCUS: ClassVar[str | None] = "#graph"

    def __init__(self) -> None:
        super().__init__()
        self._graph: Graph | None = None
        self._outline: Outline | None = None
        self._of: tuple[NetworkView, int] | None = None
        self._listed: bool | None = None  # None: as the width and the network suggest
        self._rows: PagedRows[SampleView] | None = None
        self._rows_of: tuple[str, str, bool] | None = None
        self._generation: tuple[int, str] | None = None

    def body(self) -> ComposeResult:
        """The run, what failed, the graph, and the samples beside the chosen node."""
        yield Panel("Run", name="run")
        yield VirtualTable(name="failures")
        yield NetworkGraph(name="graph")
        with Horizontal(id="lower"):
            yield VirtualTable(name="samples", can_mark=True)
            yield LaidOut(name="node")

    @property
    def look(self) -> NetworkLook:
        """The state of this view."""
        return self.session.network

    @property
    def picture(self) -> NetworkGraph:
        """The graph."""
        return self.query_one("#graph", NetworkGraph)

    @property
    def samples(self) -> VirtualTable:
        """The samples of the chosen node."""
        return self.query_one("#samples", VirtualTable)

    @property
    def failures(self) -> VirtualTable:
        """What failed."""
        return self.query_one("#failures", VirtualTable)

    @property
    def _below(self) -> tuple[Widget, ...]:
        """The panes that come in the place of the graph where there are few lines."""
        return self.samples, self.query_one("#node")

    # Showing

    def on_screen_resume(self) -> None:
        """Somebody looks: follow the network. (The view itself is shown again by its base.)"""
        self.look.wanted = True
        self.dashboard.look_at_network()

    def on_screen_suspend(self) -> None:
        """Nobody looks."""
        self.look.wanted = False

    def show_body(self) -> None:
        """Everything as it was last seen."""
        view = self.look.view
        self.set_class(view is None, "-none")
        self.set_class(bool(view and view.failures), "-failures")
        self._show_run(view)
        self._show_failures(view)
        self._show_graph(view)
        self._show_samples(view)
        self._show_node(view)

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
        panel.show(lines, stale=look.error is not None)
        set_titles(panel, f"Network {view.name}")

    def _instead(self) -> tuple[Line, ...]:
        """What stands there without a network."""
        if self.look.error is not None:
            message, hint = self.look.error
            lines = [line(("✗ ", "failed"), (text, "failed")) for text in message.splitlines()]
            return (*lines, line((hint, "dim")))
        return NO_NETWORK if self.look.known else (line(("Reading the network…", "dim")),)

    def _show_failures(self, view: NetworkView | None) -> None:
        failures = view.failures if view else ()
        table = self.failures
        if not failures and table.has_focus:
            self.picture.focus()
        table.show(
            ListRows(failures, lambda one: one.job, lambda _, one: failure_cells(one)),
            failure_columns(failures),
        )
        lost = sum(one.lost for one in failures)
        more = f", for which {plural(lost, 'job')} cannot run" if lost else ""
        count = plural(self.look.failed, "job")
        set_titles(table, f"Failed: {count}{more}" if failures else "", "R retry  Enter log")
        self._point()

    def _show_graph(self, view: NetworkView | None) -> None:
        widget = self.picture
        if view is None:
            widget.show(None, None)
            return
        width = max(1, self.size.width - 3)  # without its frame and the scroll bar
        if self._of is None or self._of[0] is not view or self._of[1] != width:
            self._of = (view, width)
            self._graph = self._outline = None
        picture = self._picture(view, width)
        widget.show(picture, self.look.chosen)
        arranged = "o graph" if self._is_listed(view) else "o list"
        nodes = sum(1 for one in view.nodes if one.kind == "node")
        title = f"{plural(nodes, 'node')} · {plural(view.jobs, 'job')}"
        if picture.size[0] > width:
            title += " · goes on to the side"
        set_titles(
            widget,
            title,
            f"✓ complete ▶ active ○ ready · waiting ✗ failed ⊘ cancelled   {arranged}",
        )

    def _is_listed(self, view: NetworkView) -> bool:
        if self._listed is not None:
            return self._listed
        return self.size.width < GRAPH_FROM or len(view.nodes) > MOST_BOXES

    def _picture(self, view: NetworkView, width: int) -> Picture:
        if self._is_listed(view):
            if self._outline is None:
                self._outline = Outline(view, width)
            return self._outline
        if self._graph is None:
            for least in ROOMY:
                made = graph(view, least, self._last_graph)
                if made.size[0] <= width or least == ROOMY[-1]:
                    break
            self._graph = self._last_graph = made
        return self._graph

    _last_graph: Graph | None = None

    def _show_samples(self, view: NetworkView | None) -> None:
        look, table = self.look, self.samples
        if view is None or not look.samples_of:
            table.show_nothing()
            return
        of = (look.samples_of, look.filter.word, look.frozen)
        run = view.run.id if view.run else ""
        if of != self._rows_of:
            self._rows_of = of
            self._rows = PagedRows(
                partial(self._fetch, *of),
                lambda one: one.job if one.job >= 0 else one.directory,
                sample_cells,
                spawn=lambda work: start(self, work, "samples"),
                arrived=self._samples_arrived,
                failed=lambda error: self.dashboard.report("samples cannot be listed", error),
            )
            self._generation = (view.generation, run)
            table.start_over()
            self._remember_marks()
        elif self._generation != (view.generation, run) and self._rows is not None:
            self._generation = (view.generation, run)
            self._rows.reload()
        self._samples_arrived()

    async def _fetch(
        self, node: str, word: str, frozen: bool, first: int, length: int
    ) -> tuple[int, tuple[SampleView, ...]]:
        states = next(one.states for one in STATE_FILTERS if one.word == word)
        page = await self.session.engine.network_samples(node, states, first, length, frozen=frozen)
        return page.total, page.samples

    def _samples_arrived(self) -> None:
        rows, look = self._rows, self.look
        if rows is None or not self.ready:
            return
        if not rows.loaded:
            text = "Reading samples…"
        elif look.filter.states:
            text = f"No sample is {look.filter.word}."
        else:
            text = "There are no samples yet."
        self.samples.say_if_empty(line((text, "dim")))
        self.samples.show(rows, sample_columns(self._node_of_samples(), rows.loaded_items()))
        self._sample_titles()
        self._point()
        if self.samples.has_focus:
            self._show_node(look.view)

    def _node_of_samples(self) -> NodeView | None:
        nodes = self.look.view.nodes if self.look.view else ()
        name = self.look.samples_of
        return next((one for one in nodes if one.name == name and one.kind != "sink"), None)

    def _sample_titles(self) -> None:
        look, rows = self.look, self._rows
        total = rows.row_count if rows and rows.loaded else 0
        below = plural(total, "sample")
        if look.marked:
            below = f"{len(look.marked):,} of {below} marked"
        set_titles(self.samples, f"{look.samples_of} · {look.filter.word}", below)

    def _show_node(self, view: NetworkView | None) -> None:
        look, widget = self.look, self.query_one("#node", LaidOut)
        sample, node = look.sample, look.node
        if view is None or node is None:
            widget.show_made(lambda _: ())
            set_titles(widget, "")
        elif self.samples.has_focus and sample is not None:
            widget.show_made(partial(sample_lines, sample))
            set_titles(widget, "Sample", "Enter log")
        else:
            widget.show_made(partial(node_lines, view, node))
            kind = "" if node.kind == "node" else f" ({node.kind})"
            set_titles(widget, f"{node.name}{kind}", "Enter samples")

    # What the cursors are on

    def _point(self) -> None:
        """Write down what commands are about."""
        look = self.look
        look.failure = next(
            (one for one in (look.view.failures if look.view else ())
             if one.job == self.failures.cursor_key), None
        )  # fmt: skip
        rows = self._rows
        look.sample = rows.item(self.samples.cursor) if rows and rows.row_count else None
        under = "graph"
        if self.failures.has_focus:
            under = "failures"
        elif self.samples.has_focus:
            under = "samples"
        look.under = under

    def on_virtual_table_cursor_moved(self, event: VirtualTable.CursorMoved) -> None:
        """Another failure or sample is the chosen one."""
        self._point()
        if event.table is self.samples:
            self._show_node(self.look.view)
        self.show_bottom()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Commands are about what is under the cursor with the focus."""
        self.set_class(event.widget in self._below, "-samples")
        self._point()
        self._show_node(self.look.view)
        self.show_bottom()

    def on_network_graph_chosen(self, event: NetworkGraph.Chosen) -> None:
        """The samples of another node."""
        self.look.chosen = event.key
        self._show_samples(self.look.view)
        self._show_node(self.look.view)
        self.query_one("#node", LaidOut).action_first()
        self.show_bottom()

    async def on_network_graph_opened(self) -> None:
        """A second click opens."""
        await self.dashboard.action_command("network.open")

    async def on_virtual_table_row_pressed(self) -> None:
        """A second click opens."""
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

    def back(self) -> bool:
        """Drop the marks, then to the graph."""
        if self.look.marked:
            self.forget_marks()
            return True
        if self.look.view is not None and not self.picture.has_focus:
            self._enter(self.picture)
            return True
        return False

    def forget_marks(self) -> None:
        """The marked jobs were retried, or given up."""
        self.samples.marks.set_all(False)
        self.samples.marks_changed()
        self._remember_marks()

    def _remember_marks(self) -> None:
        rows, marks = self._rows, self.samples.marks
        items = {one.job: one.state for one in rows.loaded_items()} if rows else {}
        self.look.marked = {
            key: items.get(key, self.look.marked.get(key, ""))
            for key in marks.keys
            if isinstance(key, int)
        }
        self._sample_titles()
        self.show_bottom()

    def command_open(self) -> None:
        """From a node to its samples; from a sample or a failure to the log of its job."""
        look = self.look
        if look.under == "graph":
            self._enter(self.samples)
            return
        node, directory = "", ""
        if look.under == "failures" and look.failure is not None:
            node, directory = look.failure.node, look.failure.directory
        elif look.sample is not None:
            node, directory = look.samples_of, look.sample.directory
        self._open_log(node, directory)

    def _open_log(self, node: str, directory: str) -> None:
        view = self.look.view
        action = next((one.action for one in (view.nodes if view else ())
                       if one.name == node and one.kind == "node"), "")  # fmt: skip
        if action:
            start(self, partial(self._find_log, action, directory), "log", exclusive=True)
        else:
            self.app.notify("A source runs no job.", markup=False)

    async def _find_log(self, action: str, directory: str) -> None:
        try:
            job = await self.session.engine.find_job(action, directory)
        except Exception as error:
            self.dashboard.report("the job cannot be found", error)
            return
        if job is None:
            self.app.notify(f"No job has run {action} in {directory} yet.", markup=False)
            return
        self.session.known_job = job
        self.session.job_token = self.session.job_to_show = job.record.token
        self.dashboard.go("log")

    def command_pane(self) -> None:
        """The next pane."""
        panes: list[Widget] = [self.picture, self.samples]
        if self.failures.display:
            panes.insert(0, self.failures)
        if (node := self.query_one("#node")).display:
            panes.append(node)
        at = next((n for n, one in enumerate(panes) if one.has_focus), -1)
        self._enter(panes[(at + 1) % len(panes)])

    def _enter(self, pane: Widget) -> None:
        """Go to a pane; where there is room for only one of them, it comes in the other's place."""
        self.set_class(pane in self._below, "-samples")
        self.call_after_refresh(pane.focus)

    def command_filter(self) -> None:
        """The samples in the next state of which there are any."""
        look, node = self.look, self._node_of_samples()
        at = STATE_FILTERS.index(look.filter)
        later = [*STATE_FILTERS[at + 1 :], *STATE_FILTERS[: at + 1]]
        look.filter = next(
            one for one in later if not one.states or (node and node.counts and any(
                node.counts[state] for state in one.states))
        )  # fmt: skip
        self._show_samples(look.view)
        self.show_bottom()

    def command_mark(self) -> None:
        """Mark this sample."""
        if self.look.under == "samples":
            self.samples.toggle_mark()
            self._remember_marks()

    def command_arrange(self) -> None:
        """As a graph, or as a list."""
        if self.look.view is not None:
            self._listed = not self._is_listed(self.look.view)
            self._show_graph(self.look.view)

    def command_as_now(self) -> None:
        """What network.toml says now, or the run again."""
        self.look.frozen = not self.look.frozen
        self.dashboard.look_at_network()

    def command_start(self) -> None:
        """Let it run by itself, or allow more."""
        self.dashboard.network.start()

    def command_new_run(self) -> None:
        """A new run, of what network.toml says now."""
        self.dashboard.network.start(anew=True)

    def command_stop(self) -> None:
        """Stop the autopilot."""
        self.dashboard.network.stop()

    def command_step(self) -> None:
        """One step, to be confirmed."""
        self.dashboard.network.step()

    def command_retry(self) -> None:
        """Try the marked jobs, this failure, or all that failed again."""
        look = self.look
        state = JobState.FAILED.name.lower()
        chosen = {job: was for job, was in look.pointed.items() if was in (state, "cancelled")}
        self.dashboard.network.retry(chosen if look.marked or look.under == "failures" else {})

    def command_give_up(self) -> None:
        """Give the marked jobs up, or this one."""
        self.dashboard.network.give_up(self.look.pointed)
