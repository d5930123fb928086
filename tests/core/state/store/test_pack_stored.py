"""What is kept from the last packing gives the same bytes as packing everything."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.state.model import State
from rowtui.core.state.store.pack_stored import PackedSets, pack_stored
from rowtui.core.state.store.stored import RowFiles, Stored

from tests.core.state.building import built

DIRECTORIES = [built({b"%03d" % at: {} for at in range(count)}) for count in (9, 40)]
# More bits than small integers, which are one object each; some equal but not the same.
SETS = [0, 1, 511, int("300"), int("300"), 256, int("256"), int("511")]


@given(
    st.lists(
        st.tuples(
            st.integers(0, 1), st.lists(st.sampled_from(range(len(SETS))), min_size=4, max_size=4)
        ),
        min_size=1,
        max_size=6,
    )
)
def test_kept_sets_are_packed_as_if_they_were_new(commits: list[tuple[int, list[int]]]) -> None:
    known = PackedSets()
    for generation, (which, (one, two, aside, row)) in enumerate(commits, 1):
        completed = {"one": SETS[one], "two": SETS[two]}
        stored = Stored(
            State(generation, DIRECTORIES[which], completed),
            "lineage",
            aside={"gone": SETS[aside]},
            row=RowFiles(completed={"one": SETS[row]}),
            workflow=b"compiled",
        )

        assert pack_stored(stored, generation, known) == pack_stored(stored, generation)
