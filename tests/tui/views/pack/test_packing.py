"""A packing as rows, bars, lanes and sentences, whatever it looks like."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.text import Cost
from rowtui.core.packing.model import ResourceAmounts
from rowtui.core.project.planning.pack_views import (
    BundleView,
    LaneView,
    LeftAlone,
    PackChoice,
    PackedDestination,
    PackedPlan,
)
from rowtui.core.submission.plan.model import (
    Packed,
    Plan,
    PlannedDestination,
    PlannedJob,
    count_jobs,
)
from rowtui.tui.views.pack.bundle_cells import (
    ShareBar,
    bundle_cells,
    bundle_columns,
    bundle_values,
    total_cells,
)
from rowtui.tui.views.pack.bundles import BundleRow, Picture, Share, TypeRow, picture_of
from rowtui.tui.views.pack.choice import limit_texts, next_packer, read_limits, what_changed
from rowtui.tui.views.pack.packing import change_line, head_lines
from rowtui.tui.views.pack.slots import row_lines
from rowtui.tui.views.questions import is_yes, word_for
from rowtui.tui.views.submit.plan_rows import plan_rows
from rowtui.tui.widgets.cells import fit, line, plain, width_of

from tests.tui.sample import SampleEngine
from tests.tui.sample_packing import MEDIUM, TYPES, packed

HERE = PlannedDestination("local")
LARGE = TYPES["local"][0]


def job(number: int, seconds: int = 60, action: int = 0) -> PlannedJob:
    return PlannedJob(
        f"t{number}", f"name{number}", f"action{action}", action, (f"d{number}",), HERE,
        "#!/bin/bash\n", "", 1, 1, 0, None, seconds, Cost(),
    )  # fmt: skip


def plan(jobs: tuple[PlannedJob, ...]) -> Plan:
    return Plan("id", "", "me", "local", "local", jobs, Cost())


lanes_strategy = st.lists(
    st.tuples(
        st.integers(0, 3),  # cores
        st.integers(0, 3000),  # memory
        st.lists(st.integers(1, 100_000), min_size=1, max_size=30),
    ),
    min_size=1,
    max_size=12,
)


def picture(bundles: list[list[tuple[int, int, list[int]]]]) -> Picture:
    """A picture of bundles on `large`, each with its lanes (cores, memory, seconds of its jobs)."""
    jobs: list[PlannedJob] = []
    views = []
    for lanes in bundles:
        made = []
        for cores, memory, seconds in lanes:
            first = len(jobs)
            jobs += [job(first + at, each) for at, each in enumerate(seconds)]
            those = tuple(range(first, len(jobs)))
            made.append(LaneView(ResourceAmounts(cores, memory), those, tuple(seconds)))
        used = ResourceAmounts(sum(one[0] for one in lanes), sum(one[1] for one in lanes))
        longest = max(sum(one[2]) for one in lanes)
        views.append(BundleView("", 0, used, longest, 1.0, tuple(made)))
    done = Packed(HERE, "best", len(jobs), len(views), 9.0, float(len(views)), 1.0, "EUR")
    there = PackedDestination(HERE, done, (LARGE, MEDIUM), tuple(views))
    return picture_of(PackedPlan(plan(tuple(jobs)), (there,)), {})


@given(st.lists(lanes_strategy, min_size=1, max_size=5), st.integers(20, 200))
def test_every_bundle_is_counted_once_and_every_line_fits(
    bundles: list[list[tuple[int, int, list[int]]]], width: int
) -> None:
    shown = picture(bundles)
    [look] = shown.looks
    rows = [row for row in look.rows if isinstance(row, BundleRow)]
    assert sum(row.times for row in rows) == len(bundles)
    assert sum(row.jobs for row in rows) == len(shown.packed.plan.jobs)
    assert len({row.key for row in look.rows}) == len(look.rows)
    for row in look.rows:
        cells = bundle_cells(row, "EUR")
        for column in bundle_columns(look.rows, "EUR"):
            assert column.id in total_cells(look) or column.id in cells
            assert width_of(fit(cells.get(column.id, ()), column.minimum)) == column.minimum
        if isinstance(row, BundleRow):
            chart = row_lines(row, shown.packed.plan.jobs, "EUR", width)
            slots = [one for one in chart if one and one[0].text.lstrip()[:1].isdigit()]
            for one in slots[: len(row.bundle.lanes)]:
                assert width_of(one) <= max(width, 40)


def test_bundles_that_look_alike_are_one_row_whatever_their_directories() -> None:
    shown = picture([[(2, 8, [60, 60])], [(2, 8, [60, 60])], [(2, 8, [60, 61])]])
    rows = [row for row in shown.looks[0].rows if isinstance(row, BundleRow)]
    assert [row.times for row in rows] == [2, 1]


def test_the_jobs_of_a_lane_stand_one_after_another_and_what_is_free_is_seen() -> None:
    shown = picture([[(1, 0, [3600, 3600]), (1, 0, [3600])]])
    [row] = [one for one in shown.looks[0].rows if isinstance(one, BundleRow)]
    lines = [plain(one) for one in row_lines(row, shown.packed.plan.jobs, "", 60)]
    text = "\n".join(lines)
    first = next(one for one in lines if "action0 d0" in one)
    assert "▐ action0 d0" in first
    assert "▌▐ action0 d1" in first
    assert next(one for one in lines if "▐ action0 d2" in one).endswith("····")
    assert "··· idle: 253 CPU-hours of 256 are paid for and not used" in text
    assert "   1   1 h   2 h  action0 d1" in text


def test_many_short_jobs_of_a_lane_are_drawn_together() -> None:
    shown = picture([[(1, 0, [10] * 200)]])
    [row] = [one for one in shown.looks[0].rows if isinstance(one, BundleRow)]
    lines = [plain(one) for one in row_lines(row, shown.packed.plan.jobs, "", 80)]
    text = next(one for one in lines if "jobs of actio" in one)
    assert text.count("▐") < 10


def test_a_bar_tells_what_is_used_from_what_is_only_held() -> None:
    text = plain(ShareBar(Share(0.5, 0.75)).at(13))
    assert text == "████▒▒░░  50%"
    assert plain(ShareBar(Share(0.55, 0.55)).at(13)) == "████▍░░░  55%"
    assert "100%" not in plain(ShareBar(Share(0.9999, 1.0)).at(13))


async def test_a_change_is_told_in_nodes_and_cost_and_its_absence_too() -> None:
    whole = await SampleEngine().plans_make(None, None, None)
    best = picture_of(packed(whole, PackChoice()), {})
    seed = picture_of(packed(whole, PackChoice("seed")), {})
    told = plain(change_line("packer seed", best, seed))
    assert told == "  packer seed: nodes 4 → 10, cost 192.00 → 202.95  ▲ dearer"
    assert plain(change_line("nothing", best, best)) == "  nothing: = the same nodes and cost"


def test_the_head_says_when_nothing_is_packed_and_when_all_is_free() -> None:
    done = Packed(HERE, "best", 1, 1, 0.0, 0.0, 0.0, "")
    left = (LeftAlone((0,), "it waits for other jobs"),)
    lanes = (LaneView(ResourceAmounts(1), (0,), (60,)),)
    free = PackedDestination(
        HERE, done, (LARGE,), (BundleView("", 0, ResourceAmounts(1), 60, 0.0, lanes),)
    )
    none = free._replace(packed=done._replace(jobs=0, bundles=0), bundles=(), left_alone=left)
    one = plan((job(0),))
    for there, text in (
        (free, "The least possible cost, proven."),
        (none, "▲ 1 job is not packed: it waits"),
    ):
        [look] = picture_of(PackedPlan(one, (there,)), {}).looks
        assert text in "\n".join(plain(line) for line in head_lines(look))


def test_node_types_that_are_off_or_not_used_are_rows_too() -> None:
    done = Packed(HERE, "best", 0, 0, 0.0, 0.0, 0.0, "")
    there = PackedDestination(HERE, done, (MEDIUM,), ())
    known = {str(HERE): (LARGE, MEDIUM)}
    [look] = picture_of(PackedPlan(plan(()), (there,)), known).looks
    rows = {row.node_type.name: row.on for row in look.rows if isinstance(row, TypeRow)}
    assert rows == {"large": False, "medium": True}


def test_packers_go_round_and_what_changed_has_words() -> None:
    packers = (("best", ""), ("fill", ""), ("seed", ""))
    names = [""]
    for _ in packers:
        names.append(next_packer(names[-1], packers))
    assert names == ["", "fill", "seed", "best"]
    assert next_packer("best", packers) == ""
    assert next_packer("gone", packers) == "fill"
    known = ("large", "medium", "gpu")
    plain_choice = PackChoice()
    assert what_changed(plain_choice, PackChoice(node_types=("large", "gpu")), known) == (
        "without medium"
    )
    assert what_changed(PackChoice(node_types=("large",)), plain_choice, known) == (
        "only on large, medium, gpu"
    )
    assert what_changed(plain_choice, PackChoice(budget=9.0), known) == "looked for up to 9 s"


@pytest.mark.parametrize(
    ("texts", "wrong"),
    [
        ({"largest": "0"}, "largest"),
        ({"largest": "-1"}, "largest"),
        ({"largest": "9" * 40}, "largest"),
        ({"longest": "soon"}, "longest"),
        ({"longest": "0m"}, "longest"),
        ({"factor": "nan"}, "factor"),
        ({"factor": "0"}, "factor"),
        ({"factor": "1e9"}, "factor"),
    ],
)
def test_limits_that_make_no_sense_are_said_to_and_change_nothing(
    texts: dict[str, str], wrong: str
) -> None:
    choice = PackChoice("", 7, 3600, (), 1.5)
    typed = read_limits({**limit_texts(choice), **texts}, choice)
    assert [field for field, _ in typed.wrong] == [wrong]
    assert typed.choice == choice


def test_limits_are_read_as_people_write_them() -> None:
    typed = read_limits({"largest": "1,000", "longest": "2d", "factor": "x1.5"}, PackChoice())
    assert typed.choice == PackChoice("", 1000, 172_800, (), 1.5)
    assert read_limits(limit_texts(typed.choice), PackChoice()).choice == typed.choice


async def test_a_plan_with_bundles_lists_each_with_its_requests_and_counts_jobs_to_send() -> None:
    whole = packed(await SampleEngine().plans_make(None, None, None), PackChoice()).plan
    rows = plan_rows(whole)
    headings = [row for row in rows if row.bundle]
    assert len(headings) == 4
    assert [one for row in rows if row.job for one in row.jobs] == list(whole.jobs)
    assert [row.number for row in headings] == [1, 2, 3, 4]
    assert len({row.key for row in rows}) == len(rows)
    assert str(count_jobs(whole.jobs)) == "24 jobs in 4 bundles"
    assert word_for(len(whole.jobs)) == "24"


async def test_a_plan_of_one_bundle_is_confirmed_with_its_number_of_jobs() -> None:
    whole = packed(await SampleEngine().plans_make(1, [0, 1], None), PackChoice()).plan
    assert str(count_jobs(whole.jobs)) == "2 jobs in 1 bundle"
    assert is_yes(word_for(len(whole.jobs)), "2")
    assert not is_yes(word_for(len(whole.jobs)), "1")


@given(
    st.lists(lanes_strategy, min_size=1, max_size=3),
    st.sampled_from(["cores", "memory"]),
    st.integers(12, 200),
)
def test_a_node_is_drawn_over_its_cores_and_memory_in_its_width(
    bundles: list[list[tuple[int, int, list[int]]]], axis: str, width: int
) -> None:
    shown = picture(bundles)
    for row in shown.looks[0].rows:
        bundle_values(row)
        if isinstance(row, BundleRow):
            lines = row_lines(row, shown.packed.plan.jobs, "EUR", width, axis=axis)
            bar = max(map(plain, lines), key=lambda text: text.count("A") + text.count("·"))
            assert width_of(line(bar)) <= max(width, 40)
