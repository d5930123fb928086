"""The origin of every value in an entity."""

from __future__ import annotations

from typing import NamedTuple

from rowtui.core.base.text import visible
from rowtui.core.mapping.model.place import Place


class Origin(NamedTuple):
    """The entity (and its rule) that a value comes from, and the place of the value.

    `kind`: tool, role, user, rule, destination, pool, global, request (values of the action itself
    in workflow.toml), or what-if. `sealed`: the file is not trusted.
    """

    kind: str
    id: str
    place: Place = Place("")
    rule: str = ""
    sealed: bool = False

    def __str__(self) -> str:
        """Return `rule R of tool T in F:L`."""
        text = f"{self.kind} {visible(self.id)}" if self.id else self.kind
        if self.rule:
            text = f"rule {visible(self.rule)} of {text}"
        return f"{text} in {self.place}" if self.place.file else text
