"""The stages between an output and a node: the seven stages of Fastr's sample flow.

Output -> SubOutput (selects in the cardinality) -> Link (collapse, expand) -> SubInput -> Input
(links one after another in the cardinality) -> InputGroup (inputs matched) -> NodeRun (groups
combined): one job for each sample of a NodeRun.

Each stage has its samples as columns, and for each sample the rows of its sources, so that a
million samples are a few arrays. A list of unknown length is an *open* sample: it is in no column,
but is passed on, so that a later collapse has the jobs to wait for.

Source: Fastr's documentation, "Sample flow".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rowtui.core.base.lazy import np
from rowtui.core.network.samples.columns import Codes
from rowtui.core.network.samples.combine import Combination, Combined, broadcast, cross, only_grows
from rowtui.core.network.samples.link import SubInput
from rowtui.core.network.samples.model import DimensionError, dimensions_text
from rowtui.core.network.samples.output import UNKNOWN, NodeOutput, counted
from rowtui.core.network.samples.stage import Stage, opens_of, origins_of


def together(sources: Sequence[Stage], how: Combination) -> Combined:
    """Return the known samples, combined.

    Combinations by position have to wait until all samples are known. Raises: DimensionError.
    """
    tables = [source.columns for source in sources]
    more_may_come = any(source.opens.number for source in sources)
    if more_may_come and how is broadcast:
        return broadcast(tables, more_may_come=True)
    if more_may_come and not only_grows(how):
        tables = [table.take(np.zeros(0, dtype=np.int64)) for table in tables]
    return how(tables)


class InputStage(Stage):
    """An input: the values of its links one after another. A single sample goes with all others."""

    def __init__(self, name: str, parts: Sequence[SubInput]) -> None:
        """Create an input. Raises: DimensionError if the links' samples cannot be matched."""
        self.name = name
        combined = together(parts, broadcast)
        table = combined.columns
        for part in parts:
            if len(part.columns.axes) < len(table.axes) and not part.columns.is_single:
                raise DimensionError(
                    f"the links into '{name}' bring [{dimensions_text(table.dimensions)}] and "
                    f"[{dimensions_text(part.columns.dimensions)}]: they must have the same "
                    "dimensions, or one sample"
                )
        super().__init__(parts, table, origins_of(combined.rows, parts), opens_of(table, parts))

    @property
    def cards(self) -> int | Codes:
        """Return the sum over the links."""
        every = []
        for part, origin in zip(self.sources, self.origins, strict=True):
            cards = counted(part.cards, part.columns.count)
            every.append(cards if origin.rows is None else cards[origin.rows])
        unknown = np.any([cards == UNKNOWN for cards in every], axis=0)
        return np.where(unknown, UNKNOWN, np.sum(every, axis=0)).astype(np.int32)


class InputGroup(Stage):
    """Matched inputs: each sample of the group has one sample of every input."""

    def __init__(
        self, name: str, inputs: Sequence[InputStage], how: Combination = broadcast
    ) -> None:
        """Create a group. Raises: DimensionError if the inputs cannot be matched."""
        self.name = name
        combined = together(inputs, how)
        self.left_over = combined.left_over
        opens = opens_of(combined.columns, inputs, by_position=not only_grows(how))
        super().__init__(inputs, combined.columns, origins_of(combined.rows, inputs), opens)


class NodeRun(Stage):
    """A node in a run: its combined groups of inputs. Each sample has one job."""

    def __init__(
        self, number: int, name: str, groups: Sequence[InputGroup], how: Combination = cross
    ) -> None:
        """Create a node run.

        `number`: the node's number for outputs and edges. Raises: DimensionError.
        """
        self.number = number
        self.name = name
        combined = together(groups, how)
        self.left_over = combined.left_over
        opens = opens_of(combined.columns, groups, by_position=not only_grows(how))
        super().__init__(groups, combined.columns, origins_of(combined.rows, groups), opens)

    def output(self, name: str = "", **facts: Any) -> NodeOutput:
        """Return an output with a sample for each job. `facts`: see `NodeOutput`."""
        return NodeOutput(self.columns, self.number, name=name, opens=self.opens, **facts)
