"""What pointers point to, put together from chunks."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.values import MISSING, resolve
from rowtui.core.state.pointer_values import NOTHING, Pointed, pointed_to
from rowtui.core.workspace.value import NotJSONError, compact_values, parsed_value

scalars = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.5, 1.0, "x", "1"])
values = scalars | st.dictionaries(st.sampled_from("ab"), scalars | st.lists(scalars, max_size=2))
POINTERS = ("", "/a", "/a/0", "/b")


def same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and repr(one) == repr(other)


@given(st.lists(values, max_size=12), st.integers(1, 5), st.randoms())
def test_chunks_in_any_order_tell_what_each_value_says(
    listed: list[Any], size: int, chance: Any
) -> None:
    columns = [Pointed(len(listed)) for _ in POINTERS]
    starts = list(range(0, len(listed), size))
    chance.shuffle(starts)
    for start in starts:
        chunks = pointed_to(listed[start : start + size], POINTERS)
        for column, chunk in zip(columns, chunks, strict=True):
            column.put(start, chunk)

    for pointer, column in zip(POINTERS, columns, strict=True):
        told = [MISSING if code == NOTHING else column.distinct[code] for code in column.codes]
        assert all(map(same, told, [resolve(value, pointer) for value in listed]))
        assert len(set(map(repr, column.distinct))) == len(column.distinct)


@given(st.lists(values, max_size=6), st.booleans())
def test_values_written_together_are_as_they_are_alone(listed: list[Any], deep: bool) -> None:
    if deep:
        nested: Any = 1
        for _ in range(300):
            nested = [nested]
        listed = [*listed, nested]

    together = compact_values(listed)

    assert len(together) == len(listed)
    assert [isinstance(one, NotJSONError) for one in together].count(True) == deep
    for one in together:
        assert isinstance(one, NotJSONError) or compact_values([parsed_value(one)]) == [one]
