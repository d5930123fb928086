"""What people really do, with the keys they press."""

from __future__ import annotations

import asyncio

import pytest
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.tui.views.groups.view import GroupsView
from rowtui.tui.views.status.view import StatusView
from rowtui.tui.widgets.table.virtual_table import VirtualTable

from tests.tui.hand import opened
from tests.tui.sample import SampleEngine
from tests.tui.sample_past import columns_of, ended_jobs


async def test_from_status_to_a_followed_job_and_out() -> None:
    async with opened() as hand:
        await hand.sees("Workflow", "equilibrate", "78 eligible")

        await hand.press("enter")  # the cursor starts on the first action with work to do
        await hand.sees("Groups of equilibrate", "8 groups", "T1.1-rho0.3-s3")
        await hand.press("space", "space", "space")
        await hand.sees("3 of 8 groups marked")

        await hand.press("s")
        await hand.sees("Jobs to submit", "3 jobs", "192 CPU-hours at most", "#!/bin/bash")
        await hand.sees("Nothing is sent yet")
        assert "submit" not in hand.engine.calls

        await hand.press("s")
        await hand.sees("Type 3 and press Enter")
        await hand.press("3", "enter")
        await hand.sees("3 of 3 jobs accepted")
        [plan] = hand.engine.submitted_plans
        firsts = [job.directories[0] for job in plan.jobs]
        assert firsts == ["T1.0-rho0.7-s1", "T1.1-rho0.3-s3", "T1.1-rho0.5-s5"]

        await hand.press("6")
        await hand.sees("8 jobs", "▶ running", "· pending", "Resources")
        await hand.sees("›  · pending    4717")  # the first of those that were just sent
        await hand.press("k", "k", "k", "k", "enter")
        await hand.sees("logs/sample-4713.out", "following the end")
        hand.engine.advance(20)
        await hand.sees("step   200,000")

        await hand.press("q")
        await hand.until(lambda: hand.app.return_code == 0)


async def test_marked_groups_are_forgotten_once_they_are_submitted() -> None:
    async with opened() as hand:
        await hand.press("2")
        await hand.sees("8 groups")
        await hand.press("space", "s")
        await hand.sees("Nothing is sent yet")
        await hand.press("s", "y", "e", "s", "enter")
        await hand.sees("1 of 1 job accepted")
        await hand.press("2")
        await hand.sees("7 groups · 68 directories")


async def test_anything_but_the_number_of_jobs_sends_nothing() -> None:
    async with opened() as hand:
        await hand.press("2")
        await hand.sees("8 groups")
        await hand.press("a", "s")
        await hand.sees("8 jobs")
        for answer in ("escape", "9", "yes", "1", "88"):
            hand.app.clear_notifications()
            await hand.sees_no("othing was sent")
            await hand.press("s")
            await hand.sees("Type 8 and press Enter")
            await hand.press(*(["escape"] if answer == "escape" else [*answer, "enter"]))
            await hand.sees("Nothing was" if answer == "escape" else "nothing was sent")
            await hand.sees("Nothing is sent yet")
            assert hand.engine.submitted_plans == []


async def test_leaving_the_plan_sends_nothing() -> None:
    async with opened() as hand:
        await hand.sees("78 eligible")
        await hand.press("s")
        await hand.sees("Jobs to submit")
        await hand.press("escape")
        await hand.sees("Groups of equilibrate")
        await hand.rests()
        assert "submit" not in hand.engine.calls
        assert hand.app.session.sending is None


async def test_the_question_takes_its_keys_for_itself() -> None:
    async with opened() as hand:
        await hand.press("2")
        await hand.sees("8 groups")
        await hand.press("a", "s")
        await hand.sees("8 jobs")
        await hand.press("s", "6", "q")
        await hand.sees("Type 8", "6q")
        assert hand.app.view_name == "submit"


async def test_sending_can_be_stopped_between_two_jobs() -> None:
    engine = SampleEngine()
    third, go_on = asyncio.Event(), asyncio.Event()

    async def gate(number: int) -> None:
        if number == 3:
            third.set()
            await go_on.wait()

    engine.gate = gate
    async with opened(engine) as hand:
        await hand.press("2")
        await hand.sees("8 groups")
        await hand.press("a", "s")
        await hand.sees("8 jobs")
        await hand.press("s", "8", "enter")
        await third.wait()
        await hand.sees("sending: 2 of 8", "2 accepted", "▶ sending ", "· not sent")

        await hand.press("q")  # not while jobs are being sent
        await hand.sees("Jobs are being sent. Stop and leave?")
        await hand.press("escape", "x")
        await hand.sees("stopping after this job")
        go_on.set()
        await hand.sees("3 of 8 jobs accepted", "5 not sent (stopped)")
        assert len([one for one in engine.calls if one == "submit"]) == 1


async def test_a_change_on_disk_appears_by_itself_and_stands_out() -> None:
    async with opened() as hand:
        await hand.sees("150")
        names = [name for name in hand.engine.names if name >= "T1.1-rho0.5"][:5]
        hand.engine.complete("equilibrate", names)
        await hand.sees("155", "equilibrate: 5 more completed")
        table = hand.app.screen.query_one("#actions", VirtualTable)
        assert (("equilibrate", 1), "completed") in table._flashing


async def test_the_next_action_becomes_eligible_while_one_watches() -> None:
    async with opened(SampleEngine(fresh=True)) as hand:
        await hand.sees("initialize: 240 eligible")
        await hand.press("s")
        await hand.sees("6 jobs")
        await hand.press("s", "6", "enter")
        await hand.sees("6 of 6 jobs accepted")
        await hand.press("1")
        for _ in range(3):
            hand.engine.advance(61)
            await hand.rests()
        await hand.sees("equilibrate: 240 eligible")


async def test_news_between_a_key_and_what_it_leads_to_do_not_undo_the_key() -> None:
    async with opened() as hand:
        await hand.sees("78 eligible")
        view = hand.app.screen
        assert isinstance(view, StatusView)
        table = view.query_one("#actions", VirtualTable)
        before = table.cursor

        table.action_line_down()
        table.action_line_down()
        view.show_body()  # its message that the cursor moved is still on the way
        await hand.until(lambda: view.session.action_index != before)
        view.show_body()

        assert table.cursor == before + 2
        assert view.session.action_index == before + 2


async def test_a_running_job_is_cancelled_only_after_yes() -> None:
    async with opened() as hand:
        await hand.press("6")
        await hand.sees("5 jobs")
        await hand.sees("›  ▶ running    4713")  # what runs is on top
        await hand.press("c")
        await hand.sees("Cancel 1 job?")
        await hand.press("escape")
        await hand.sees("Nothing was cancelled")
        assert "cancel" not in hand.engine.calls

        await hand.press("c")
        await hand.sees("Cancel 1 job?")
        await hand.press("y", "e", "s", "enter")
        await hand.sees("⊘ cancelled")
        states = [job.state for job in hand.engine.jobs_by_token.values()]
        assert states.count(JobState.CANCELLED) == 1


async def test_several_jobs_are_cancelled_after_their_number() -> None:
    async with opened() as hand:
        await hand.press("6")
        await hand.sees("5 jobs")
        await hand.press("a")
        await hand.sees("3 of 5 jobs marked")
        await hand.press("c")
        await hand.sees("Cancel 3 jobs?", "Type 3")
        await hand.press("3", "enter")
        await hand.sees("3 jobs cancelled")


async def test_a_job_that_ended_cannot_be_cancelled_and_says_so() -> None:
    async with opened() as hand:
        await hand.press("6")
        await hand.sees("5 jobs")
        await hand.press("G", "c")
        await hand.sees("cancel: the job has ended")


async def test_read_only_has_no_verbs_and_says_so() -> None:
    async with opened(read_only=True) as hand:
        await hand.sees("READ ONLY", "equilibrate")
        await hand.press("s")
        await hand.sees("opened read-only")
        await hand.press("2")
        await hand.sees("8 groups")
        await hand.press("a", "s")
        await hand.rests()
        assert "plan" not in hand.engine.calls


async def test_failed_directories_are_one_key_away_and_are_not_submitted_as_if_new() -> None:
    async with opened() as hand:
        await hand.sees("3 failed")
        await hand.press("d")
        await hand.sees("[failed 3]", "3 directories", "exit code 2")
        await hand.press("s")
        await hand.sees("only eligible groups can be submitted")
        await hand.press("f", "space")
        await hand.sees("[submitted 12]", "only eligible or failed groups can be marked")
        await hand.press(*["f"] * 3)
        await hand.sees("[eligible 78]")


async def test_eligible_directories_of_groups_in_all_can_be_marked_and_submitted() -> None:
    async with opened() as hand:
        await hand.press("2")
        await hand.sees("[eligible 78]  (failed 3) ")
        await hand.press("F")
        await hand.sees("[all 240]", "240 directories")
        await hand.press("s")
        await hand.sees("No directory there is eligible.")
        await hand.press("G", "space", "s")  # the last group, which is not yet begun
        await hand.sees("Nothing is sent yet", "equilibrate: 4 directories", "1 job ")


async def test_the_filter_shows_the_other_statuses_too() -> None:
    async with opened() as hand:
        await hand.press("2", "F")
        await hand.sees("[all 240]", "240 directories")
        await hand.press("right_square_bracket")
        await hand.sees("Groups of sample")
        await hand.press("left_square_bracket", "left_square_bracket")
        await hand.sees("Groups of initialize")


async def test_marks_and_cursor_stay_on_their_groups_when_others_go() -> None:
    async with opened() as hand:
        await hand.press("2")
        await hand.sees("8 groups")
        await hand.press("j", "j", "space")  # marks T1.1-rho0.5-s5, cursor on the one after it
        view = hand.app.screen
        assert isinstance(view, GroupsView)
        assert view.table.cursor_key == "T1.1-rho0.8-s2"
        gone = [name for name in hand.engine.names if "T1.0-rho0.7" <= name < "T1.1-rho0.1"]
        hand.engine.complete("equilibrate", gone)
        await hand.sees("1 of 7 groups marked")
        assert view.table.cursor_key == "T1.1-rho0.8-s2"
        assert view.table.cursor == 2
        assert "T1.1-rho0.5-s5" in view.table.marks
        await hand.press("s")
        await hand.sees("Script · equilibrate-T1.1-rho0.5-s5")


async def test_pause_stops_following_until_it_is_taken_back() -> None:
    async with opened() as hand:
        await hand.sees("150")
        await hand.press("p")
        await hand.sees("PAUSED")
        hand.engine.complete("equilibrate", [hand.engine.names[-1]])
        await hand.rests()
        assert "151" not in hand.text()
        await hand.press("p")
        await hand.sees("151")
        await hand.sees_no("PAUSED")


async def test_copy_takes_the_name_under_the_cursor() -> None:
    async with opened() as hand:
        await hand.press("2")
        await hand.sees("8 groups")
        await hand.press("j", "y")
        await hand.sees("Copied T1.1-rho0.3-s3")
        assert hand.app.clipboard == "T1.1-rho0.3-s3"


async def test_the_palette_runs_what_the_registry_has() -> None:
    async with opened() as hand:
        await hand.sees("equilibrate")
        await hand.press("ctrl+p")
        await hand.sees("In 1 Status", "Everywhere")
        await hand.press(*"next theme")
        await hand.sees("1 of ", "next theme")
        await hand.press("enter")
        await hand.until(lambda: hand.app.theme != "rowtui-dark")


async def test_the_mouse_chooses_opens_and_presses_hints() -> None:
    async with opened() as hand:
        await hand.sees("analyze")
        await hand.pilot.click("#actions", offset=(5, 4))
        await hand.sees("╭─ sample ─")
        await hand.pilot.click("#tabs", offset=(16, 0))
        await hand.sees("Groups of sample")


async def test_sorting_by_a_heading_keeps_the_cursor_on_its_job() -> None:
    async with opened() as hand:
        await hand.press("6")
        await hand.sees("5 jobs")
        table = hand.app.screen.query_one("#queue", VirtualTable)
        before = table.cursor_key
        await hand.press("o")
        await hand.sees("▲")
        assert table.cursor_key == before
        await hand.press("o")
        await hand.sees("▼")
        assert table.cursor_key == before


async def test_the_status_shows_what_the_jobs_of_an_action_used() -> None:
    engine = SampleEngine()
    engine.past_jobs = columns_of(ended_jobs(engine.now))
    async with opened(engine, size=(160, 45)) as hand:
        await hand.sees("used      CPUs 25%, memory 41%, time 98% of what ")


@pytest.mark.parametrize("size", [(120, 36), (80, 24), (40, 12)], ids=str)
async def test_a_pane_takes_the_whole_screen_and_gives_it_back(size: tuple[int, int]) -> None:
    async with opened(size=size) as hand:
        await hand.sees("equilibrate")
        await hand.press("2")
        await hand.sees("T1.0-rho0.7-s1")
        await hand.rests()
        before = hand.text()
        table = hand.app.screen.query_one("#groups", VirtualTable)
        await hand.press("plus")
        await hand.until(lambda: table.region.y == 2)
        assert table.region.height >= size[1] - 4
        assert "[eligible" not in hand.text()
        await hand.press("down")
        assert table.cursor == 1
        await hand.press("up", "escape")
        await hand.rests()
        assert hand.text() == before


async def test_the_palette_has_what_is_impossible_last_and_does_not_run_it() -> None:
    async with opened() as hand:
        await hand.press("6", "ctrl+p", *"release")
        await hand.sees("Not now", "not now: ")
        await hand.press("enter", "escape")
        await hand.sees_no("Commands")
        assert "release" not in hand.engine.calls


async def test_actions_are_filtered_and_sorted_and_the_sums_follow() -> None:
    async with opened(size=(80, 24)) as hand:
        await hand.sees("all 4 actions")
        await hand.press("slash", *"done<100", "enter")
        await hand.sees("all 2 actions", "Workflow · / done<100")
        await hand.sees_no("initialize    ")
        await hand.press("g", "w")
        await hand.sees("of sample")
        await hand.press("1", "escape", "o")
        await hand.sees("Action ▲", "all 4 actions")


async def test_the_mouse_rests_on_a_key_or_a_heading_and_its_meaning_is_shown() -> None:
    async with opened(size=(80, 24)) as hand:
        await hand.sees("Done")
        keys = hand.app.screen.query_one("#keys")
        await hand.pilot.hover(keys, offset=(1, 0))
        assert keys.tooltip == "groups of this action; or the next step of the list"
        table = hand.app.screen.query_one("#actions")
        await hand.pilot.hover(table, offset=(hand.text().splitlines()[3].index("Done"), 1))
        assert table.tooltip == "Completed"
        await hand.pilot.hover(table, offset=(4, 3))
        assert table.tooltip is None


async def test_everything_eligible_is_planned_from_the_groups_too() -> None:
    async with opened() as hand:
        await hand.press("2")
        await hand.sees("all 8 groups")
        await hand.press("S")
        await hand.sees("[5 Submit]", "Nothing is sent yet")
        plan = hand.app.session.sending.plan
        assert {job.action for job in plan.jobs} > {"equilibrate"}
