"""Count instances against the limits of each type and of all types.

Sets of node types are bits of a `Catalogue`.
"""

from __future__ import annotations

from collections.abc import Sequence

from rowtui.core.base.text import plural, visible
from rowtui.core.packing.model import NodeType
from rowtui.core.packing.suitable import Catalogue

_NAMED = 3  # number of node types that a reason names


class Quotas:
    """Counts the instances in use against the limits.

    `usable`: the types whose limit is not 0; `open`: the types that allow one more instance.
    `reopened`: whether a type has become open that was not open before; the engine resets this flag
    when no waiting job can use an open type.
    """

    def __init__(self, node_types: Sequence[NodeType], catalogue: Catalogue, most: int | None):
        """`most`: the limit of instances of all types together, or None."""
        self._node_types, self._catalogue, self._most = node_types, catalogue, most
        self._in_use = [0] * len(node_types)
        self._all_in_use = 0
        self.usable = 0
        for each, bit in zip(node_types, catalogue.bits, strict=True):
            if each.at_most is None or each.at_most > 0:
                self.usable |= bit
        self._not_used_up = self.usable
        self.open = self.usable
        self.reopened = False

    @property
    def all_in_use(self) -> bool:
        """Whether no further instance of any type is allowed."""
        return self._most is not None and self._all_in_use >= self._most

    def take(self, node_type: int) -> None:
        """Count one more instance."""
        self._in_use[node_type] += 1
        self._all_in_use += 1
        at_most = self._node_types[node_type].at_most
        if at_most is not None and self._in_use[node_type] >= at_most:
            self._not_used_up &= ~self._catalogue.bits[node_type]
        self.open = 0 if self.all_in_use else self._not_used_up

    def give_back(self, node_type: int) -> None:
        """Count one instance less."""
        self._in_use[node_type] -= 1
        self._all_in_use -= 1
        at_most = self._node_types[node_type].at_most
        if at_most is not None and self._in_use[node_type] < at_most:
            self._not_used_up |= self._catalogue.bits[node_type]
        before = self.open
        self.open = 0 if self.all_in_use else self._not_used_up
        self.reopened = self.reopened or self.open != before

    def why_none(self, types: int) -> str:
        """Return why no further instance of these types is allowed."""
        if self._most is not None and self.all_in_use:
            return f"all {plural(self._most, 'instance')} that there may be are in use"
        named: list[str] = []
        more = 0
        while types:
            number = self._catalogue.cheapest(types)
            types &= ~self._catalogue.bits[number]
            if len(named) < _NAMED:
                named.append(f"{self._in_use[number]:,} {visible(self._node_types[number].name)}")
            else:
                more += 1
        if more:
            named.append(f"those of {plural(more, 'other type')}")
        return f"all that there may be are in use: {', '.join(named)}"
