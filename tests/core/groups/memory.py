"""A real `Directories` that lives in memory, and the slow, plain reading of Row's rules."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st
from rowtui.core.base.errors import IncomparableError
from rowtui.core.base.values import MISSING, compare, compare_sequences, resolve
from rowtui.core.groups.form import cut_groups
from rowtui.core.groups.model import Group
from rowtui.core.groups.order import ActionOrder, Members
from rowtui.core.state.columns import RankColumn, build_column
from rowtui.core.state.model import Directories, DirectorySet, bit_set
from rowtui.core.workflow.model import Action, Condition, GroupRule, Selector


class MemoryDirectories:
    """Names and their values; columns are built when asked for and kept."""

    def __init__(self, values: Mapping[str, Any], bad: Mapping[str, str] | None = None) -> None:
        self._names = sorted(values, key=lambda name: name.encode("utf-8", "surrogateescape"))
        self._values = [values[name] for name in self._names]
        self._columns: dict[str, RankColumn] = {}
        self._bad = {self._names.index(name): why for name, why in (bad or {}).items()}

    @property
    def bad(self) -> Mapping[int, str]:
        return self._bad

    def __len__(self) -> int:
        return len(self._names)

    def name(self, position: int) -> str:
        return self._names[position]

    def names(self) -> Sequence[str]:
        return self._names

    def position(self, name: str) -> int | None:
        return self._names.index(name) if name in self._names else None

    def value(self, position: int) -> Any:
        return self._values[position]

    def column(self, pointer: str) -> RankColumn:
        if pointer not in self._columns:
            self._columns[pointer] = build_column(pointer, self._values)
        return self._columns[pointer]

    @property
    def everything(self) -> DirectorySet:
        return ((1 << len(self)) - 1) & ~bit_set(self._bad)


def numbered(values: Sequence[Any]) -> MemoryDirectories:
    """Directories d000, d001, ... with these values."""
    return MemoryDirectories({f"d{i:03d}": value for i, value in enumerate(values)})


def action(name: str = "x", **rule: Any) -> Action:
    """An action with this group rule; everything else is as it is by default."""
    return Action(index=0, name=name, command="true {directory}", group=GroupRule(**rule))


def selector(*conditions: tuple[str, str, Any]) -> Selector:
    return Selector(tuple(Condition(*condition) for condition in conditions))


# Values of every kind. Of the integers that one double stands for there is at most one: where
# there are more, Row's relation contradicts itself and no order is right.
_NUMBERS = (0, 1, 2, -1, 0.0, -0.0, 1.0, 0.5, 2.0)
_WIDE = (2**53 + 1, 2.0**53, 2**63 - 1, 2**63, 2**63 + 1, 2.0**63, -(2**60), -(2.0**60))
_STRINGS = ("", "a", "b", "ab", "a\0", "é", "😀")
scalars: st.SearchStrategy[Any] = st.sampled_from([None, False, True, *_NUMBERS, *_WIDE, *_STRINGS])
json_values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=1)
    ),
    max_leaves=3,
)


def of_one_kind(draw: Any) -> st.SearchStrategy[Any]:
    """One strategy, so that whole columns are comparable more often than by chance."""
    return draw(
        st.sampled_from(
            [
                st.sampled_from([0, 1, 2, 0.0, 1.0, 0.5]),
                st.sampled_from([0, 2**53 + 1, 2.0**53, 2**63, 2**63 + 1, 2.0**63]),
                st.sampled_from(["", "a", "b", "a\0"]),
                st.booleans(),
                st.none(),
                st.lists(st.sampled_from([0, 1, 1.0, 2.0**53, 2**53 + 1]), min_size=2, max_size=2),
                st.lists(st.sampled_from([0, 1, "a"]), min_size=2, max_size=2),
                json_values,
            ]
        )
    )


@st.composite
def workspaces(draw: Any, max_size: int = 8, missing: bool = True) -> MemoryDirectories:
    """Directories whose values have keys a and b, or not."""
    a, b = of_one_kind(draw), of_one_kind(draw)
    optional = {"a": a, "b": b} if missing and not draw(st.integers(0, 3)) else {}
    required = {} if optional else {"a": a, "b": b}
    shape = st.fixed_dictionaries(required, optional=optional)
    size = draw(st.sampled_from([max_size, max_size, max_size, 3, 1, 0]))
    return numbered(draw(st.lists(shape, min_size=size, max_size=size)))


class NoAnswerError(Exception):
    """The plain reading met a missing pointer or a pair without order."""


def plainly_holds(condition: Condition, value: Any) -> bool:
    found = resolve(value, condition.pointer)
    if found is MISSING:
        raise NoAnswerError
    order = compare(found, condition.operand)
    if order is None:
        raise NoAnswerError
    return {
        "<": order < 0,
        "<=": order <= 0,
        "==": order == 0,
        "!=": order != 0,
        ">=": order >= 0,
        ">": order > 0,
    }[condition.operator]


def plainly_included(action: Action, value: Any) -> bool:
    """One directory, by the letter: any selector, all conditions, both with short circuit."""
    if not action.group.include:
        return True
    return any(
        all(plainly_holds(condition, value) for condition in selector.conditions)
        for selector in action.group.include
    )


def plainly_grouped(
    action: Action, directories: MemoryDirectories, listed: Sequence[int]
) -> list[tuple[int, ...]]:
    """Sort by name, stably by key with the exact comparison, reverse, split, chunk."""
    rule = action.group
    order = sorted(listed)

    def key(position: int) -> list[Any]:
        found = [resolve(directories.value(position), pointer) for pointer in rule.sort_by]
        if MISSING in found:
            raise NoAnswerError
        return found

    def by_key(a: int, b: int) -> int:
        result = compare_sequences(key(a), key(b))
        if result is None:
            raise NoAnswerError
        return result

    if rule.sort_by:
        for position in order:
            key(position)
        order.sort(key=functools.cmp_to_key(by_key))
    if rule.reverse_sort:
        order.reverse()
    groups: list[list[int]] = []
    for position in order:
        split = rule.split_by_sort_key and rule.sort_by
        full = groups and len(groups[-1]) == rule.maximum_size
        if not groups or full or (split and by_key(groups[-1][-1], position)):
            groups.append([])
        groups[-1].append(position)
    return [tuple(group) for group in groups]


def is_incomparable(error: IncomparableError) -> bool:
    return "cannot compare" in error.message


def form_groups(
    action: Action, directories: Directories, members: Members, order: ActionOrder | None = None
) -> tuple[Group, ...]:
    """All groups of these members, in order."""
    return cut_groups(action, directories, members, order).page()
