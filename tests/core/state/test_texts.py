from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from rowtui.core.base.values import MISSING, compact, resolve
from rowtui.core.state.merge import merge_directories
from rowtui.core.state.pointer_values import PointerTexts

from tests.core.state.building import POINTERS, built, reading

scalars = (
    st.none()
    | st.booleans()
    | st.sampled_from([0, 1, 2, 1.0, 0.0, -0.0, 1.5, -1.5, 2**53, 2.0**53, 2**53 + 1, "1", "é\n"])
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab~"), inner),
    max_leaves=4,
)


@given(st.lists(values, min_size=1, max_size=8), st.lists(values, max_size=4))
@example([{"a": 1.0}, {"a": 1}], [])
@example([{"a": 0.0}, {"a": -0.0}], [])
@example([{"a": 1}], [{"a": 1.0}])  # columns that are uniform each, but not together
def test_each_directory_has_the_text_of_its_own_value(first: list[Any], later: list[Any]) -> None:
    every = {b"%02d" % at: value for at, value in enumerate([*first, *later])}
    directories = built({name: every[name] for name in list(every)[: len(first)]})
    names = list(every)[len(first) :]
    directories, *_ = merge_directories(
        directories, [], names, reading(every, names), value_file="v.json", pointers=POINTERS
    )

    positions = [*range(len(every)), 0]
    pointers = (*POINTERS, "/b")
    found_texts = PointerTexts(directories, pointers).at(positions)
    for pointer, texts in zip(pointers, found_texts, strict=True):
        found = [resolve(every[b"%02d" % at], pointer) for at in positions]
        assert texts == [None if one is MISSING else compact(one) for one in found]
