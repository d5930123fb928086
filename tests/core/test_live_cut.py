"""Groups that follow their directories are the groups that are formed anew."""

from __future__ import annotations

from itertools import pairwise
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.engine.local import live_cut
from rowtui.core.engine.local.live_cut import Bins, LiveCut
from rowtui.core.groups.form import cut_groups
from rowtui.core.groups.order import action_order
from rowtui.core.state.model import DirectorySet, bit_set

from tests.core.groups.memory import action, numbered

COUNT = 60
DIRECTORIES = numbered([{"a": at * 7 % 4, "b": at * 5 % 3} for at in range(COUNT)])
members = st.one_of(
    st.frozensets(st.integers(0, COUNT - 1)).map(bit_set),
    st.sampled_from([0, (1 << COUNT) - 1]),
)
rules = st.fixed_dictionaries({
    "sort_by": st.sampled_from([(), ("/a",), ("/a", "/b")]),
    "split_by_sort_key": st.booleans(),
    "reverse_sort": st.booleans(),
    "maximum_size": st.sampled_from([None, 1, 2, 7]),
})  # fmt: skip


@given(rules, st.lists(members, min_size=1, max_size=4), st.integers(1, 70), st.integers(0, 20))
def test_groups_that_follow_their_directories_are_those_that_are_formed_anew(
    rule: dict[str, object], events: list[DirectorySet], size: int, start: int
) -> None:
    with patch.object(live_cut, "BIN", size):
        the_action = action(**rule)
        sort_by = the_action.group.sort_by
        order = action_order(sort_by, DIRECTORIES) if sort_by else None
        bins = Bins(COUNT, order, the_action.group.split_by_sort_key, the_action.group.reverse_sort)
        live = LiveCut(the_action, bins, events[0])
        for now in events:
            live = live.moved(now)
            fresh = cut_groups(the_action, DIRECTORIES, now, order)
            assert (len(live), live.directories) == (len(fresh), fresh.directories)
            assert live.positions.tolist() == fresh.positions.tolist()
            assert live.begins.tolist() == fresh.begins.tolist()
            assert live.page() == live.page(0, COUNT) == fresh.page()
            assert live.page(start, 3) == fresh.page(start, 3)
            assert (
                live.span(start, start + 9).tolist() == fresh.positions[start : start + 9].tolist()
            )
            assert live.sizes() == fresh.sizes()
            counted = {one: fresh.sizes().count(one) for one in fresh.sizes()}
            assert live.counted_sizes == tuple(sorted(counted.items()))
            begins = [int(fresh.positions[begin]) for begin, _ in pairwise(fresh.begins)]
            assert live.firsts(range(len(live))) == list(zip(begins, fresh.sizes(), strict=True))
            found = [live.number_of(at) for at in range(COUNT)]
            assert found == [begins.index(at) if at in begins else None for at in range(COUNT)]
