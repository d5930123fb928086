"""The values of one dimension, wherever in the network it occurs: each has one position in it.

Samples of two outputs belong together where their dimensions have the same values: so these are
told apart once, here, and are small integers everywhere else.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

from rowtui.core.network.names import text_of, value_of
from rowtui.core.network.sources import value_key


class Domain:
    """The distinct values of a dimension, in order. Only ever replaced by a longer one."""

    __slots__ = ("_codes", "_codes_of_labels", "_labels", "name", "values")

    def __init__(self, name: str, values: Iterable[Any], labels: Iterable[str] | None = None):
        """`labels`: how each value is written in ids, all different; as in names of directories
        if they are not given.
        """
        self.name = name
        self.values = tuple(values)
        self._labels = None if labels is None else tuple(labels)
        self._codes: Mapping[Hashable, int] | None = None
        self._codes_of_labels: Mapping[str, int] | None = None

    def __len__(self) -> int:
        """How many values there are."""
        return len(self.values)

    def __repr__(self) -> str:
        """Name and size."""
        return f"Domain({self.name!r}, {len(self)})"

    @property
    def labels(self) -> tuple[str, ...]:
        """How each value is written in ids."""
        return tuple(map(text_of, self.values)) if self._labels is None else self._labels

    def label(self, code: int) -> str:
        """How one value is written in ids."""
        return text_of(self.values[code]) if self._labels is None else self._labels[code]

    def code(self, value: Any) -> int:
        """The position of a value. Raises: KeyError."""
        return self._positions()[value_key(value)]

    def codes(self, values: Iterable[Any]) -> Iterable[int]:
        """The position of each value. Raises: KeyError."""
        return map(self._positions().__getitem__, _keys(tuple(values)))

    def code_of_label(self, label: str) -> int:
        """The position of what is written so. Raises: KeyError."""
        if self._labels is not None:
            if self._codes_of_labels is None:
                self._codes_of_labels = {each: at for at, each in enumerate(self._labels)}
            return self._codes_of_labels[label]
        try:
            code = self.code(value_of(label))
        except ValueError:
            raise KeyError(label) from None
        if self.label(code) != label:  # 1.0 is here, but it is written 1
            raise KeyError(label)
        return code

    def extended(self, values: Iterable[Any], text: Callable[[Any], str] = text_of) -> Domain:
        """With these values behind its own; itself if it has them all.

        `text` makes labels of new values, where this domain has labels of its own.
        """
        known = dict(self._positions())
        new = []
        values = _distinct(tuple(values))
        for key, value in zip(_keys(values), values, strict=True):
            if key not in known:
                known[key] = len(known)
                new.append(value)
        if not new:
            return self
        labels = None if self._labels is None else (*self._labels, *map(text, new))
        longer = Domain(self.name, (*self.values, *new), labels)
        longer._codes = known
        return longer

    def codes_in(self, other: Domain) -> list[int] | None:
        """For each value its position in another domain; None if they are where they are here.

        Those that it has not are numbered behind its last one.
        """
        shorter = min(len(self), len(other))
        if other is self or all(
            map(operator.is_, self.values[:shorter], other.values[:shorter])
        ):  # what comes after the shorter one's end is not in it, and has its number already
            return None
        known = other._positions()
        behind = len(other)
        codes = []
        for key in _keys(self.values):
            code = known.get(key)
            if code is None:
                code, behind = behind, behind + 1
            codes.append(code)
        return codes

    def _positions(self) -> Mapping[Hashable, int]:
        if self._codes is None:
            self._codes = dict(zip(_keys(self.values), range(len(self.values)), strict=True))
        return self._codes


def _keys(values: tuple[Any, ...]) -> Iterable[Hashable]:
    """`value_key` of each: most are their own, and nobody waits for a million of them."""
    return values if set(map(type, values)) <= _OWN_KEYS else map(value_key, values)


def _distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Each value once, where it is first, if that is told quickly."""
    return tuple(dict.fromkeys(values)) if set(map(type, values)) <= _OWN_KEYS else values


_OWN_KEYS = {int, float, str}


def natural(value: Any) -> tuple[int, Any]:
    """By which values are put in order: none, truth, numbers, texts."""
    if value is None:
        return (0, 0)
    if isinstance(value, bool):
        return (1, value)
    return (2, value) if isinstance(value, (int, float)) else (3, str(value))
