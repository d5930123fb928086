"""The values of one dimension, wherever in the network it occurs: each has one position in it.

Samples of two outputs belong together where their dimensions have the same values: so these are
told apart once, here, and are small integers everywhere else.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any


def value_key(value: Any) -> Hashable:
    """What two values of a dimension have in common if they are the same value.

    Numbers are the same if they are equal (1 and 1.0); a bool is no number, a string neither.
    """
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, (list, dict)):
        return ("json", repr(value))
    return value


class Domain:
    """The distinct values of a dimension, in order. Only ever replaced by a longer one."""

    __slots__ = ("_codes", "labels", "name", "values")

    def __init__(self, name: str, values: Iterable[Any], labels: Iterable[str] | None = None):
        """`labels`: how each value is written in ids; its text if they are not given."""
        self.name = name
        self.values = tuple(values)
        self.labels = tuple(map(str, self.values)) if labels is None else tuple(labels)
        self._codes: Mapping[Hashable, int] | None = None

    def __len__(self) -> int:
        """How many values there are."""
        return len(self.values)

    def __repr__(self) -> str:
        """Name and size."""
        return f"Domain({self.name!r}, {len(self)})"

    def code(self, value: Any) -> int:
        """The position of a value. Raises: KeyError."""
        return self._positions()[value_key(value)]

    def code_of_label(self, label: str) -> int:
        """The position of what is written so. Raises: KeyError."""
        try:
            return self.labels.index(label)
        except ValueError:
            raise KeyError(label) from None

    def extended(self, values: Iterable[Any], text: Any = str) -> Domain:
        """With these values behind its own; itself if it has them all. `text` makes labels."""
        known = dict(self._positions())
        new = []
        for value in values:
            key = value_key(value)
            if key not in known:
                known[key] = len(known)
                new.append(value)
        if not new:
            return self
        labels = (*self.labels, *map(text, new))
        return Domain(self.name, (*self.values, *new), labels)

    def _positions(self) -> Mapping[Hashable, int]:
        if self._codes is None:
            self._codes = {value_key(value): at for at, value in enumerate(self.values)}
        return self._codes
