"""View 9: charts at every size, one at a time or all at once, and words where there are none."""

from __future__ import annotations

import pytest
from rowtui.core.base.errors import RowtuiError

from tests.tui.hand import Hand, opened
from tests.tui.sample import SampleEngine
from tests.tui.sample_past import columns_of, ended_jobs

SIZES = [(40, 12), (80, 24), (120, 36), (200, 60), (100, 29), (99, 40), (20, 6)]


@pytest.fixture
def engine() -> SampleEngine:
    """The sample project with 600 jobs that have ended on ten nodes, one of which is bad."""
    engine = SampleEngine()
    engine.past_jobs = columns_of(ended_jobs(engine.now))
    return engine


async def at_past(hand: Hand[SampleEngine]) -> None:
    await hand.until(lambda: hand.app.session.snapshot, "the project")
    await hand.press("9")
    await hand.until(lambda: hand.app.view and hand.app.view.ready, "the view")
    await hand.rests()


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_every_chart_can_be_seen_at_every_size(
    engine: SampleEngine, size: tuple[int, int]
) -> None:
    signs = {"jobs per", "CPUs in use", "wait ", "share of jobs", "4599"}
    async with opened(engine, size=size) as hand:
        await at_past(hand)
        seen = hand.text()
        for _ in range(4):
            await hand.press("right")
            await hand.rests()
            seen += hand.text()
        if size[0] >= 40:
            assert {sign for sign in signs if sign in seen} == signs
            assert "n07" in seen
            assert "stands out" in seen


async def test_charts_go_round_in_both_directions(engine: SampleEngine) -> None:
    async with opened(engine, size=(80, 24)) as hand:
        await at_past(hand)
        await hand.sees("[jobs]", "Jobs that ended", "600 jobs")
        await hand.press("left")
        await hand.sees("[newest]", "Newest jobs")
        await hand.press("right", "right")
        await hand.sees("[CPUs]")


async def test_all_charts_are_on_a_large_screen_and_a_key_says_so(engine: SampleEngine) -> None:
    async with opened(engine, size=(120, 36)) as hand:
        await at_past(hand)
        await hand.sees("Jobs that ended", "CPUs in use", "Waits in queues", "Newest jobs")
        await hand.sees("n07 stands out")
        await hand.press("right")
        await hand.sees("all charts are on the screen")


async def test_the_period_and_the_action_choose_the_jobs(engine: SampleEngine) -> None:
    async with opened(engine, size=(80, 24)) as hand:
        await at_past(hand)
        await hand.sees("600 jobs", "all the time", "all actions")
        await hand.press("t")
        await hand.sees("the last hour")
        await hand.sees_no("600 jobs")
        await hand.press("t", "t", "t")
        await hand.sees("all the time", "600 jobs")
        await hand.press("right_square_bracket")
        await hand.sees("equilibrate")
        await hand.sees_no("600 jobs")
        await hand.press("right_square_bracket")
        await hand.sees("· sample")
        await hand.press("right_square_bracket")
        await hand.sees("all actions", "600 jobs")


async def test_a_period_without_jobs_says_what_to_press(engine: SampleEngine) -> None:
    engine.past_jobs = columns_of(ended_jobs(engine.now - 40_000))
    async with opened(engine, size=(80, 24)) as hand:
        await at_past(hand)
        await hand.press("t")
        await hand.sees("No job ended in the last hour: t chooses longer.")


async def test_where_no_longer_period_can_be_chosen_none_is_offered(engine: SampleEngine) -> None:
    engine.past_jobs = columns_of(
        [job._replace(end=job.end._replace(ended_at=0)) for job in ended_jobs(engine.now)]
    )
    async with opened(engine, size=(80, 24)) as hand:
        await at_past(hand)
        await hand.sees("When the jobs of the records ended is not known.")


async def test_before_the_first_end_the_view_says_what_will_fill_it() -> None:
    async with opened(size=(80, 24)) as hand:
        await at_past(hand)
        await hand.sees("No job has ended yet. Each job of this project that ends is recorded")


async def test_records_that_cannot_be_read_are_an_explained_error(engine: SampleEngine) -> None:
    engine.past_error = RowtuiError("cannot read what jobs used", "look at its permissions")
    async with opened(engine, size=(80, 24)) as hand:
        await at_past(hand)
        await hand.sees("cannot read what jobs used", "look at its permissions")


async def test_names_from_outside_cannot_control_the_terminal(engine: SampleEngine) -> None:
    jobs = ended_jobs(engine.now, 60)
    engine.past_jobs = columns_of(
        [
            job._replace(
                kind=job.kind._replace(action="a\x1b[2J", partition="p\x07"),
                used=job.used._replace(node="n\x1b]0;x"),
            )
            for job in jobs
        ]
    )
    async with opened(engine, size=(120, 36)) as hand:
        await at_past(hand)
        await hand.press("right_square_bracket")
        await hand.rests()
        assert "\x1b" not in hand.text()
        assert "\x07" not in hand.text()
