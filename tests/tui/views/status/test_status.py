"""What the status says, without a terminal."""

from __future__ import annotations

from dataclasses import replace

from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.groups.model import Status
from rowtui.core.submission.plan.model import Plan
from rowtui.tui.views.questions import is_yes, word_for
from rowtui.tui.views.status.status import (
    COUNTS,
    action_cells,
    action_columns,
    action_detail,
    changed_counts,
    total_cells,
)
from rowtui.tui.views.submit.plan import Became, Sending, SentOutcome
from rowtui.tui.views.submit.plan_sending import sending_line
from rowtui.tui.widgets.cells import Number, plain
from rowtui.tui.widgets.short_text import JOB_MARKS, STATUS_MARKS

from tests.tui.sample import SampleEngine


def test_every_state_has_a_glyph_a_word_and_a_colour() -> None:
    assert set(STATUS_MARKS) == set(Status)
    assert set(JOB_MARKS) == set(JobState)
    assert all(mark.glyph and mark.word and mark.style for mark in STATUS_MARKS.values())
    assert len({mark.glyph for mark in STATUS_MARKS.values()}) == len(Status)


async def test_a_row_has_a_cell_for_every_column() -> None:
    snapshot = await SampleEngine().refresh()
    columns = {column.id for column in action_columns(snapshot.actions)}
    assert all(columns <= set(action_cells(action)) for action in snapshot.actions)


async def test_a_part_of_the_eligible_directories_stands_beside_them_with_its_mark() -> None:
    (action, *_) = (await SampleEngine().refresh()).actions
    action = replace(action, eligible=3, failed=1, not_reached=1, cancelled=1)
    titles = [column.title for column in action_columns([action])]
    parts = ["✗ failed", "◌ not reached", "⊘ cancelled"]
    assert titles[3:8] == ["Eligible", *parts, "Waiting"]
    cells = action_cells(action)
    assert [plain(cells[name].at(8)) for name in ("eligible", "failed")] == ["3", "✗1"]


async def test_the_counts_add_up_and_the_last_row_has_their_sums() -> None:
    actions = (await SampleEngine().refresh()).actions
    for cells in (*map(action_cells, actions), total_cells(actions)):
        numbers = [cells[name] for name in (*COUNTS, "total")]
        *parts, total = [one.value if isinstance(one, Number) else 0 for one in numbers]
        assert sum(parts) == total
    total = total_cells(actions)["total"]
    assert isinstance(total, Number)
    assert total.value == sum(action.total for action in actions)


async def test_only_other_numbers_count_as_changed() -> None:
    engine = SampleEngine()
    old = await engine.refresh()
    assert changed_counts(None, old) == frozenset()
    assert changed_counts(old, await engine.refresh()) == frozenset()
    engine.complete("analyze", engine.names[40:44])
    new = await engine.refresh()
    assert changed_counts(old, new) == {(3, "completed"), (3, "eligible")}


async def test_an_action_with_a_problem_says_it_first() -> None:
    action = replace((await SampleEngine().refresh()).actions[0], problem="T is missing in a, b")
    assert plain(action_detail(action, 80)[0]) == "▲ T is missing in a, b"


def confirms(plan: Plan, typed: str) -> bool:
    return is_yes(word_for(len(plan.jobs)), typed)


async def test_only_the_number_of_jobs_confirms_several_and_yes_confirms_one() -> None:
    engine = SampleEngine()
    several = await engine.plans.make(1, [0, 1, 2], None)
    one = await engine.plans.make(1, [0], None)
    assert confirms(several, " 3 ")
    assert not any(confirms(several, typed) for typed in ("", "y", "yes", "2", "33", "3 jobs"))
    assert confirms(one, "yes")
    assert confirms(one, "Y")
    assert not any(confirms(one, typed) for typed in ("", "1", "no", "yess"))


async def test_the_result_counts_what_was_accepted_refused_and_left() -> None:
    plan = await SampleEngine().plans_make(1, [0, 1, 2], None)
    tokens = [job.token for job in plan.jobs]
    sending = Sending(plan, "stopped", done=2)
    sending.note(tokens[0], SentOutcome(Became.ACCEPTED, "job 1"))
    sending.note(tokens[1], SentOutcome(Became.REFUSED, "", "Invalid account"))
    assert (
        plain(sending_line(sending))
        == "▲ 1 of 3 jobs accepted  ✗ 1 refused  · 1 not sent (stopped)"
    )
