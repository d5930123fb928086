"""What the Network view is about: the network as last seen, and what the person looks at in it.

The view writes down where its cursors are, so that commands know what they are about.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.engine import JobState
from rowtui.tui.render.network_boxes import key_of

if TYPE_CHECKING:
    from rowtui.core.engine import NetworkView
    from rowtui.core.runs.views import FailureView, NodeView, SampleView
    from rowtui.tui.render.network_boxes import NodeKey


class StateFilter(NamedTuple):
    """Which samples of a node are listed."""

    word: str
    states: tuple[JobState, ...]


STATE_FILTERS = (
    StateFilter("all", ()),
    StateFilter("failed", (JobState.FAILED,)),
    StateFilter("active", (JobState.ACTIVE,)),
    StateFilter("ready", (JobState.READY,)),
    StateFilter("waiting", (JobState.WAITING,)),
    StateFilter("cancelled", (JobState.CANCELLED,)),
    StateFilter("complete", (JobState.COMPLETE,)),
    StateFilter("missing", (JobState.MISSING,)),
)


@dataclass
class NetworkLook:
    """The state of the Network view. `view` None with `known`: there is no network.toml."""

    view: NetworkView | None = None
    known: bool = False
    error: tuple[str, str] | None = None  # message and hint: why it cannot be shown
    frozen: bool = True  # the run, not what network.toml says now
    wanted: bool = False  # the view is on the screen
    chosen: NodeKey | None = None
    filter: StateFilter = STATE_FILTERS[0]
    marked: Mapping[int, str] = field(default_factory=dict)  # job -> its state
    sample: SampleView | None = None  # under the cursor
    failure: FailureView | None = None  # under the cursor
    under: str = "graph"  # which pane has the cursor: graph, failures or samples
    busy: str = ""  # what the engine was asked to do, and has not answered yet

    def take(self, view: NetworkView | None) -> None:
        """Keep what the network is now; the cursor stays on its node if that is there."""
        self.view, self.known, self.error = view, True, None
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

    @property
    def node(self) -> NodeView | None:
        """The node under the cursor of the graph."""
        for node in self.view.nodes if self.view else ():
            if key_of(node) == self.chosen:
                return node
        return None

    @property
    def samples_of(self) -> str:
        """Whose samples are listed: of a sink those of the node whose results it takes."""
        node = self.node
        return "" if node is None else node.home if node.kind == "sink" else node.name

    @property
    def failed(self) -> int:
        """How many jobs failed by themselves."""
        nodes = self.view.nodes if self.view else ()
        return sum(node.counts[JobState.FAILED] for node in nodes if node.counts)

    @property
    def left(self) -> int:
        """How many jobs have not been sent yet."""
        nodes = self.view.nodes if self.view else ()
        open_states = (JobState.WAITING, JobState.READY)
        return sum(node.counts[state] for node in nodes if node.counts for state in open_states)

    @property
    def pointed(self) -> dict[int, str]:
        """The jobs that a command is about: those marked, or the one under the cursor; states."""
        return dict(self.marked) or self.under_cursor

    @property
    def under_cursor(self) -> dict[int, str]:
        """The job under the cursor with its state, whatever is marked; empty if there is none."""
        if self.under == "failures" and self.failure is not None:
            return {self.failure.job: "failed"}
        if self.under == "samples" and self.sample is not None and self.sample.job >= 0:
            return {self.sample.job: self.sample.state}
        return {}
