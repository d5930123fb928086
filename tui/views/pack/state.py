"""The state of the Pack view: what is packed, and the user's choices for the packing.

A picture is kept until the next one arrives; `before` is the picture for the comparison.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.project.planning.pack_views import PackChoice

if TYPE_CHECKING:
    from rowtui.core.clusters.model import NodeType
    from rowtui.tui.views.pack.bundles import BundleLook, Picture, Row
    from rowtui.tui.views.submit.plan import PlanRequest

QUICK_SECONDS = 1.0
"""Seconds that the engine may first spend on a packing, so that a changed choice shows soon."""

LONGER = 5
"""The factor by which the time grows when the user asks for a better packing."""

MOST_SECONDS = 25.0
"""Seconds that a search may take at most; the engine answers no other request during the search."""

START = PackChoice(budget=QUICK_SECONDS)


class PackingRequest(NamedTuple):
    """The request for a packing, and the generation of the project at that time."""

    wanted: PlanRequest
    choice: PackChoice
    generation: int


class Figures(NamedTuple):
    """A packing in numbers, over all destinations."""

    jobs: int
    nodes: int
    cost: float
    unit: str


class PackerResult(NamedTuple):
    """The result of one packer for the same jobs. `idle`: share of the CPUs; None: unknown."""

    packer: str
    figures: Figures
    idle: float | None


AXES = {"time": "which times", "cores": "which CPUs", "memory": "which memory"}
"""The axes over which the slots of a node can be drawn, in words."""


@dataclass
class PackingState:
    """The state of the Pack view. `asked` is the newest request, `shown` the newest answer."""

    wanted: PlanRequest | None = None
    choice: PackChoice = START
    asked: PackingRequest | None = None
    shown: Picture | None = None
    answered: PackingRequest | None = None  # The request that `shown` answers.
    # The picture before the last change of the choice, for the comparison.
    before: Picture | None = None
    change: str = ""  # The last change of the choice, in words.
    computing: bool = False
    error: tuple[str, str] | None = None  # Message and hint.
    at: int = 0  # The destination on the screen, as a position.
    row: Row | None = None  # The row under the cursor.
    axis: str = "time"
    comparing: str = ""  # The packer whose answer is awaited.
    compared: tuple[PackerResult, ...] = ()
    compared_of: PackingRequest | None = (
        None  # The request that all packers got, without the packer.
    )
    # The node types, by destination.
    known: dict[str, tuple[NodeType, ...]] = field(default_factory=dict)

    def want(self, wanted: PlanRequest) -> None:
        """Pack these groups; if they differ from the previous ones, discard the picture."""
        if wanted != self.wanted:
            self.wanted = wanted
            self.asked = self.shown = self.before = self.error = self.row = None
            self.answered = None
            self.change, self.computing = "", False
            self.compared, self.compared_of = (), None
            self.known = {}
            self.choice = self.choice._replace(node_types=(), budget=QUICK_SECONDS)
            self.at = 0

    @property
    def look(self) -> BundleLook | None:
        """The packing at the destination on the screen."""
        if self.shown is None or not self.shown.looks:
            return None
        return self.shown.looks[min(self.at, len(self.shown.looks) - 1)]

    def compare_what(self) -> PackingRequest | None:
        """Return the request for which packers are compared: the current one without the packer."""
        asked = self.asked
        if asked is None:
            return None
        return asked._replace(choice=asked.choice._replace(packer="", budget=QUICK_SECONDS))

    @property
    def still_compared(self) -> tuple[PackerResult, ...]:
        """The results of the packers, unless another choice was made since."""
        return self.compared if self.compared_of == self.compare_what() else ()

    @property
    def node_types(self) -> tuple[str, ...]:
        """The names of all node types at the destination on the screen."""
        return tuple(one.name for one in self.look.known) if self.look else ()

    @property
    def chosen_types(self) -> tuple[str, ...]:
        """The names of the node types on which jobs may be packed."""
        return self.choice.node_types or self.node_types

    @property
    def chosen(self) -> bool:
        """Whether any choice differs from the configuration."""
        return self.choice._replace(budget=QUICK_SECONDS) != START

    @property
    def settled(self) -> bool:
        """Whether the picture shows the current choice."""
        return self.shown is not None and not self.computing and self.error is None
