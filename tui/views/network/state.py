"""The state of the Network view: the last known network, and what the user looks at in it.

The view stores the position of its cursors here, so that commands have their subject.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.runs.model import RunStatus
from rowtui.tui.views.network.picture.boxes import key_of

if TYPE_CHECKING:
    from rowtui.core.runs.views import FailureView, NetworkView, NodeView, SampleView
    from rowtui.tui.views.network.picture.boxes import NodeKey


class StateFilter(NamedTuple):
    """A filter for the listed samples of a node."""

    word: str
    states: tuple[GraphJobState, ...]


STATE_FILTERS = (
    StateFilter("all", ()),
    StateFilter("failed", (GraphJobState.FAILED,)),
    StateFilter("submitted", (GraphJobState.SUBMITTED,)),
    StateFilter("eligible", (GraphJobState.ELIGIBLE,)),
    StateFilter("waiting", (GraphJobState.WAITING,)),
    StateFilter("cancelled", (GraphJobState.CANCELLED,)),
    StateFilter("blocked", (GraphJobState.BLOCKED,)),
    StateFilter("completed", (GraphJobState.COMPLETED,)),
    StateFilter("skipped", (GraphJobState.SKIPPED,)),
)


def _finished(view: NetworkView | None) -> bool:
    run = view.run if view is not None else None
    return run is not None and run.status is RunStatus.FINISHED


@dataclass
class NetworkLook:
    """The state of the Network view. `view` None with `known` True: there is no network.toml."""

    view: NetworkView | None = None
    known: bool = False
    error: tuple[str, str] | None = None  # Message and hint: why the network cannot be shown.
    frozen: bool = True  # True shows the run; False shows the current network.toml.
    wanted: bool = False  # Whether the view is on the screen.
    chosen: NodeKey | None = None
    moved: bool = False  # Whether the user has chosen a node.
    filter: StateFilter = STATE_FILTERS[0]
    marked: Mapping[int, str] = field(default_factory=dict)  # Job -> state of the job.
    sample: SampleView | None = None  # The sample under the cursor.
    failure: FailureView | None = None  # The failure under the cursor.
    under: str = "graph"  # The pane that has the cursor: graph, failures or samples.
    busy: str = ""  # The operation that the engine was asked for and has not answered yet.

    def take(self, view: NetworkView | None) -> None:
        """Store the new state of the network; the cursor stays on its node while it exists."""
        before, self.view, self.known, self.error = self.view, view, True, None
        keys = [key_of(node) for node in view.nodes] if view else []
        if self.chosen not in keys:
            failed = {one.node for one in view.failures} if view else set()
            nodes = (
                [key for key, node in zip(keys, view.nodes, strict=True) if node.kind == "node"]
                if view
                else []
            )
            wanted = [key for key in nodes if key[1] in failed]
            self.chosen = next(iter((*wanted, *nodes, *keys)), None)
        if _finished(view) and not self.moved and not _finished(before):
            # The study ends on its result, for a user who only watched.
            self.chosen = next((key for key in keys[::-1] if key[0] == "sink"), self.chosen)

    @property
    def node(self) -> NodeView | None:
        """The node under the cursor of the graph."""
        for node in self.view.nodes if self.view else ():
            if key_of(node) == self.chosen:
                return node
        return None

    @property
    def samples_of(self) -> str:
        """The node whose samples are listed; for a sink, the node whose results the sink takes."""
        node = self.node
        return "" if node is None else node.home if node.kind == "sink" else node.name

    @property
    def failed(self) -> int:
        """The number of jobs that failed by themselves."""
        nodes = self.view.nodes if self.view else ()
        return sum(node.counts[GraphJobState.FAILED] for node in nodes if node.counts)

    @property
    def left(self) -> int:
        """The number of jobs that have not been submitted yet."""
        nodes = self.view.nodes if self.view else ()
        open_states = (GraphJobState.WAITING, GraphJobState.ELIGIBLE)
        return sum(node.counts[state] for node in nodes if node.counts for state in open_states)

    @property
    def pointed(self) -> dict[int, str]:
        """The jobs that a command applies to, with their states: the marked ones, or the one under
        the cursor.
        """
        return dict(self.marked) or self.under_cursor

    @property
    def under_cursor(self) -> dict[int, str]:
        """The job under the cursor with its state, also if others are marked; empty if none."""
        if self.under == "failures" and self.failure is not None:
            return {self.failure.job: "failed"}
        if self.under == "samples" and self.sample is not None and self.sample.job >= 0:
            return {self.sample.job: self.sample.state}
        return {}
