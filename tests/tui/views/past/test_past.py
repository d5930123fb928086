"""View 9: charts at every size, one at a time or all at once, and words where there are none."""

from __future__ import annotations

import re

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.project.queue.throughput import ActionThroughput
from rowtui.core.submission.plan.outcome import read_old_end
from rowtui.core.usage.past import PastRequest
from rowtui.core.usage.past_intervals import DAY
from rowtui.tui.shell.terminal import NO_COLOURS, Manner
from rowtui.tui.views.past.job_charts import (
    budget_words,
    completed_by_hour,
    of_completed,
    throughput,
)
from rowtui.tui.widgets.cells import plain
from rowtui.tui.widgets.chart import Chart, ChartArea

from tests.tui.hand import Hand, opened
from tests.tui.sample import SampleEngine
from tests.tui.sample_past import columns_of, ended_jobs, running_jobs

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
    signs = {"jobs per", "CPUs", "half of the jobs", "failed jobs", "4599", "exit code 1", "alpha"}
    async with opened(engine, size=size) as hand:
        await at_past(hand)
        seen = hand.text()
        for _ in range(8):
            await hand.press("right")
            await hand.rests()
            seen += hand.text()
        if size[0] >= 40:
            assert {sign for sign in signs if sign in seen} == signs
            assert "n07" in seen
            assert "jobs by the share" in seen


async def test_charts_go_round_in_both_directions(engine: SampleEngine) -> None:
    async with opened(engine, size=(80, 24)) as hand:
        await at_past(hand)
        await hand.sees("[ended]", "Jobs that ended", "600 jobs", "1 of 8; → the next")
        await hand.press("left")
        await hand.sees("[CPUs]", "CPUs in use")
        await hand.press("right", "right")
        await hand.sees("[used]")


async def test_all_charts_are_on_a_large_screen_and_a_key_enlarges_each(
    engine: SampleEngine,
) -> None:
    async with opened(engine, size=(120, 36)) as hand:
        await at_past(hand)
        await hand.sees(
            "[all]", "Jobs that ended", "Wait from submission to start", "When the newest jobs ran"
        )
        await hand.sees("n07 stands out")
        await hand.press("right")
        await hand.sees("[ended]", "1 of 8", "Most failures: ")
        await hand.sees_no("Wait from submission to start")
        assert hand.app.screen.query_one("#past-ended").size.width > 110
        await hand.press("left")
        await hand.sees("[all]", "Wait from submission to start")


async def test_the_parts_of_a_column_are_drawn_as_they_are(engine: SampleEngine) -> None:
    """Of 40 jobs, 2 failed: that is 5 % of the column, not a whole cell."""
    engine.past_jobs = columns_of(
        [
            job._replace(end=read_old_end(int(at < 2), "exit code 1" if at < 2 else "", engine.now))
            for at, job in enumerate(ended_jobs(engine.now, 40))
        ]
    )
    view = await engine.past_view(PastRequest(intervals=10))
    lines = throughput(view, ChartArea(40, 13))
    low = [span.text for span in lines[-3] if span.style == "failed on completed"]
    assert low
    assert set("".join(low)) == {"▄"}  # 2 of 40 jobs on 10 cells
    assert not any(span.style == "failed" for spans in lines[1:] for span in spans)


async def test_without_a_budget_a_sentence_names_what_is_missing(engine: SampleEngine) -> None:
    async with opened(engine, size=(80, 24)) as hand:
        await at_past(hand)
        await hand.press("right", "right", "right", "right")
        await hand.sees("[budget]", "no cluster has a budget")


async def test_running_jobs_reach_up_to_their_limits(engine: SampleEngine) -> None:
    engine.past_running = running_jobs(engine.now)
    async with opened(engine, size=(120, 36)) as hand:
        await at_past(hand)
        await hand.sees("4600 equilibrate", "up to its limit", "2 running")


async def test_the_period_and_the_action_choose_the_jobs(engine: SampleEngine) -> None:
    async with opened(engine, size=(80, 24)) as hand:
        await at_past(hand)
        await hand.sees("600 jobs", "since 18 November", "all actions")
        await hand.press("t")
        await hand.sees("the last hour")
        await hand.sees_no("600 jobs")
        await hand.press("t", "t", "t")
        await hand.sees("since 18 November", "600 jobs")
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
        await hand.sees("No job has ended yet; 6 shows those that run.")


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


def test_the_last_24_hours_name_their_actions_and_failures() -> None:
    throughputs = (
        ActionThroughput("sample", (0,) * 23 + (48,)),
        ActionThroughput("analyze", (80,) + (0,) * 23, failed=(0,) * 20 + (3, 0, 0, 0)),
    )
    area = ChartArea(100, 12)
    texts = [plain(spans) for spans in completed_by_hour(throughputs, 1_790_000_000.0, area)]
    assert all(len(text) <= 100 for text in texts)
    assert "directories per hour   █ completed   █ failed" in texts[0]
    beside = [text[-24:].split() for text in texts]
    assert [row for row in beside if row and row[0] in ("sample", "analyze", "all", "failed")] == [
        ["sample", "48"], ["analyze", "80"], ["all", "128"], ["failed", "3"],
    ]  # fmt: skip
    assert texts[-1].rstrip().endswith("now")
    assert of_completed(throughputs) == "128 directories"
    (nothing,) = completed_by_hour((), 0.0, area)
    assert plain(nothing) == "no directory completed in the last 24 hours"


async def test_a_budget_is_said_to_last_as_at_its_rate(engine: SampleEngine) -> None:
    engine.past_budget = 2_000.0
    past = await engine.past_view(PastRequest(period=3 * DAY))
    spent = past.budgets[0].left[0] - past.budgets[0].left[-1]
    assert spent > 0
    assert re.fullmatch(r"At \d+ CPU-hours a day the rest lasts \d+ d \d+ h\.", budget_words(past))
    assert budget_words(past._replace(budgets=())) == ""
    used_up = past.budgets[0]._replace(left=(1.0, -2.0))
    assert budget_words(past._replace(budgets=(used_up,))) == "The budget of alpha is used up."


async def test_the_colours_of_a_cell_with_two_parts_are_those_of_the_theme(
    engine: SampleEngine,
) -> None:
    async with opened(engine, size=(80, 24)) as hand:
        await at_past(hand)
        palette = hand.app.screen.query_one("#past-ended", Chart).palette
        both = palette["failed on completed"]
        assert (both.color, both.bgcolor) == (palette["failed"].color, palette["completed"].color)
        ground = palette["ground on failed"]
        assert (ground.color, ground.reverse) == (palette["failed"].color, True)


@pytest.mark.parametrize("how", [Manner(ascii_only=True), Manner(colours=NO_COLOURS)])
async def test_without_colours_figures_stand_below_the_columns(
    engine: SampleEngine, how: Manner
) -> None:
    async with opened(engine, size=(80, 24), how=how) as hand:
        await at_past(hand)
        await hand.sees("all ", "failed ", "x failed" if how.ascii_only else "▒ failed")
