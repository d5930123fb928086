"""What can be undone: each step goes back to exactly the state before it, in its own view."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rowtui.tui.shell.undo import MOST_STEPS, UndoList, UndoStep
from rowtui.tui.views.groups.view import GroupsView
from rowtui.tui.widgets.table.rows import Marks

from tests.tui.hand import Hand, opened
from tests.tui.sample import SampleEngine
from tests.tui.sample_clusters import with_clusters
from tests.tui.sample_network import with_network


def marks_of(hand: Hand[SampleEngine]) -> Marks:
    view = hand.app.view
    assert isinstance(view, GroupsView)
    return view.table.marks


async def test_marks_filter_order_and_state_of_a_list_are_undone_one_by_one() -> None:
    async with opened() as hand:
        await hand.press("2")
        await hand.sees("all 8 groups")
        await hand.press("u")
        await hand.sees("undo: nothing was done that can be undone")
        await hand.press("space", "space", "a", "slash", *"number>3", "enter", "o", "f")
        await hand.sees("[failed 3]")
        await hand.press("u")
        await hand.sees("[eligible 78]", "Undone: listed directories: failed", "all 8 groups")
        await hand.press("u")  # another state resets the order: it is undone as well
        await hand.sees("Undone: order by number ▲")


async def test_marks_are_undone_and_the_filter_as_a_whole() -> None:
    async with opened() as hand:
        await hand.press("2")
        await hand.sees("all 8 groups")
        await hand.press("space", "space")
        marked = set(marks_of(hand).keys)
        assert len(marked) == 2
        await hand.press("a")
        await hand.sees("8 of 8 groups marked")
        await hand.press("slash", *"number>3", "enter")
        await hand.sees("/ number>3", "Groups of equilibrate · / number>3")
        await hand.press("u")
        await hand.sees("Undone: filter number>3", "8 of 8 groups marked")
        await hand.press("u")
        assert set(marks_of(hand).keys) == marked
        assert not marks_of(hand).everything
        await hand.press("u", "u")
        assert not marks_of(hand).keys


async def test_the_list_of_steps_undoes_down_to_the_chosen_one_in_their_views() -> None:
    async with opened() as hand:
        await hand.press("2")
        await hand.sees("all 8 groups")
        await hand.press("space", "6")
        await hand.sees("5 jobs")
        await hand.press("f")
        await hand.press("1", "U")
        await hand.sees("What can be undone", "Queue     listed jobs: active", "Groups    marked ")
        await hand.press("down")
        await hand.sees("Enter undoes 2 steps")
        await hand.press("enter")
        await hand.sees("Groups of equilibrate", "Undone: marked ")
        assert not marks_of(hand).keys
        await hand.press("6")
        await hand.sees("[all 5]")


async def test_jobs_that_were_switched_off_and_the_plan_itself_are_undone() -> None:
    async with opened() as hand:
        await hand.press("2")
        await hand.sees("all 8 groups")
        await hand.press("a", "s")
        await hand.sees("Nothing is sent yet")
        await hand.press("space", "space")
        await hand.sees("2 jobs are switched off")
        await hand.press("u")
        await hand.sees("Undone: switched 1 job off", "1 job is switched off")
        await hand.press("u", "u")
        await hand.sees("Undone: planned 8 jobs", "Groups of equilibrate")
        assert hand.app.session.sending is None
        assert "submit" not in hand.engine.calls


async def test_a_key_that_is_pressed_more_often_than_there_are_steps_does_no_harm() -> None:
    async with opened() as hand:
        await hand.press("2")
        await hand.sees("all 8 groups")
        await hand.press("space", "1")
        for _ in range(3):  # before the first of them has gone to the view of the step
            hand.app.command_undo()
        await hand.sees("[2 Groups]", "Undone: marked ")
        assert not marks_of(hand).keys


async def test_a_what_if_is_undone_step_by_step() -> None:
    async with opened() as hand:
        await hand.press("3")
        await hand.sees("✓ goes to")
        await hand.press("e", "8", "escape")
        await hand.sees("8 CPUs instead of 16")
        await hand.press("e", *["backspace"] * 2, "4", "escape")
        await hand.sees("4 CPUs instead of 16")
        await hand.press("u")
        await hand.sees("8 CPUs instead of 16")
        await hand.press("u")
        await hand.sees_no("WHAT IF")


async def test_a_hold_is_undone_by_a_release_that_asks() -> None:
    async with opened(with_clusters()) as hand:
        await hand.press("6")
        await hand.sees("5 jobs")
        await hand.press("j", "j", "H")
        await hand.sees("Hold 1 job?")
        await hand.press("y", "e", "s", "enter")
        await hand.sees("1 job held", "· held")
        await hand.press("1", "u")
        await hand.sees("Release 1 job?")


async def test_a_retry_that_is_not_yet_sent_is_undone_by_a_question() -> None:
    async with opened(with_network()) as hand:
        await hand.press("8")
        await hand.sees("Failed: 2 samples")
        await hand.press("R", "2", "enter")
        await hand.sees_no("Failed: 2 samples")
        await hand.press("1", "u")
        await hand.sees("Cancel 2 samples?", "2 jobs (2 retried)")


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), max_size=30), st.integers(0, 40)
)
def test_undoing_restores_each_value_before(changes: list[tuple[str, int]], many: int) -> None:
    """A step for each change; changes in a row of one thing are one step."""
    undo, now = UndoList(), {"a": 0, "b": 0, "c": 0}
    states, last = [dict(now)], None
    for name, value in changes:
        before = now[name]
        undo.add(UndoStep(0.0, name, "", lambda n=name, v=before: now.__setitem__(n, v), of=name))
        now[name] = value
        if name != last:
            states.append(dict(now))
        states[-1], last = dict(now), name
    assert len(undo.steps) == len(states) - 1 <= MOST_STEPS
    for _ in range(min(many, len(undo.steps))):
        states.pop()
        step = undo.take()
        assert step is not None
        assert not undo.undo(step)
        assert now == states[-1]
