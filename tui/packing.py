"""What the Pack view is about, and how a person wants it packed: the choices behind the picture.

A picture is kept until the next one is here; `before` is what it is compared with.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.engine import PackChoice

if TYPE_CHECKING:
    from rowtui.core.project.pack_views import NodeTypeView
    from rowtui.tui.render.bundles import Look, Picture, Row
    from rowtui.tui.render.packing import Figures
    from rowtui.tui.render.plan import Wanted

QUICK_SECONDS = 1.0
"""What the engine may spend on a packing at first: a change of a choice shows soon."""

LONGER = 5
"""How many times as long it may look when a better packing is asked for."""

MOST_SECONDS = 25.0
"""No packing is looked for any longer; the engine answers nothing else meanwhile."""

START = PackChoice(budget=QUICK_SECONDS)


class Asked(NamedTuple):
    """What a packing was asked for, and of which generation of the project."""

    wanted: Wanted
    choice: PackChoice
    generation: int


class Compared(NamedTuple):
    """What one packer makes of the same jobs. `idle`: a share of the cores, None: not known."""

    packer: str
    figures: Figures
    idle: float | None


AXES = ("time", "cores", "memory")
"""What the lanes of a bundle are drawn over."""


@dataclass
class Packing:
    """The state of the Pack view. `asked` is the newest question, `shown` the newest answer."""

    wanted: Wanted | None = None
    choice: PackChoice = START
    asked: Asked | None = None
    shown: Picture | None = None
    answered: Asked | None = None  # the question that `shown` answers
    before: Picture | None = None  # what the last change of the choice is compared with
    change: str = ""  # what that was, in words
    computing: bool = False
    error: tuple[str, str] | None = None  # message and hint
    at: int = 0  # the destination on the screen, a position
    row: Row | None = None  # under the cursor
    axis: str = AXES[0]
    comparing: str = ""  # the packer whose answer is awaited
    compared: tuple[Compared, ...] = ()
    compared_of: Asked | None = None  # what they were asked for, whatever the packer
    known: dict[str, tuple[NodeTypeView, ...]] = field(default_factory=dict)  # by destination

    def want(self, wanted: Wanted) -> None:
        """Pack these groups; others than before begin without a picture."""
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
    def look(self) -> Look | None:
        """The packing at the destination on the screen."""
        if self.shown is None or not self.shown.looks:
            return None
        return self.shown.looks[min(self.at, len(self.shown.looks) - 1)]

    def compare_what(self) -> Asked | None:
        """What packers are compared for: all is as chosen but for the packer."""
        asked = self.asked
        if asked is None:
            return None
        return asked._replace(choice=asked.choice._replace(packer="", budget=QUICK_SECONDS))

    @property
    def still_compared(self) -> tuple[Compared, ...]:
        """What packers came to, as long as nothing else was chosen since."""
        return self.compared if self.compared_of == self.compare_what() else ()

    @property
    def node_types(self) -> tuple[str, ...]:
        """The names of all node types at the destination on the screen."""
        return tuple(one.name for one in self.look.known) if self.look else ()

    @property
    def chosen_types(self) -> tuple[str, ...]:
        """The names of those that jobs may be packed on."""
        return self.choice.node_types or self.node_types

    @property
    def chosen(self) -> bool:
        """Something is not as configured."""
        return self.choice._replace(budget=QUICK_SECONDS) != START

    @property
    def settled(self) -> bool:
        """The picture shows what is chosen."""
        return self.shown is not None and not self.computing and self.error is None
