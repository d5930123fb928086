"""Failed jobs tried again from the dashboard: what is asked, and what is planned."""

from __future__ import annotations

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.project.next_attempt import Amount, AmountChange
from rowtui.core.project.views.views import FailedJob
from rowtui.core.submission.plan.outcome import read_old_end
from rowtui.tui.views.groups.retry import failed_lines, prefilled, read_change
from rowtui.tui.widgets.cells import plain

from tests.tui.hand import Hand, opened
from tests.tui.sample import SampleEngine
from tests.tui.sample_again import with_failures
from tests.tui.sample_clusters import with_clusters


def failed(cause: str, number: int = 1, name: str = "") -> FailedJob:
    return FailedJob(f"token-{number}", name or str(number), "act", cause, 2)


def planned_again(engine: SampleEngine) -> list[str]:
    return [call for call in engine.calls if call.startswith("plan_again")]


async def on_job(hand: Hand[SampleEngine], downs: int) -> None:
    """In the queue: running, running, pending, time limit, out of memory, error, completed."""
    await hand.press("6")
    await hand.sees("7 jobs")
    await hand.press(*["j"] * downs)


@pytest.mark.parametrize(
    ("causes", "texts"),
    [
        (["out of memory", "out of memory"], {"memory": "2x"}),
        (["time limit"], {"walltime": "1.5x"}),
        (["exit code 2", "cancelled"], {}),
        (["out of memory", "time limit"], {}),
    ],
)
def test_only_what_helps_all_of_the_jobs_is_filled_in(
    causes: list[str], texts: dict[str, str]
) -> None:
    assert prefilled([failed(cause) for cause in causes]) == texts


def test_fields_are_read_as_the_command_line_reads_them_and_each_error_has_its_field() -> None:
    typed = read_change({"memory": " 64G", "walltime": "1.5x", "cpus": "8", "partition": "big "})
    assert typed.change == AmountChange(Amount(65536), Amount(1.5, True), Amount(8), "big")
    assert not typed.wrong
    typed = read_change({"memory": "64", "walltime": "", "cpus": "1.5", "cluster": "beta"})
    assert typed.change == AmountChange(cluster="beta")
    assert set(typed.wrong) == {"memory", "cpus"}
    assert "no amount of memory" in typed.wrong["memory"]


def test_many_jobs_are_counted_and_hostile_names_are_visible() -> None:
    jobs = [failed("exit\x1b code", number) for number in range(1, 9)]
    lines = [plain(one) for one in failed_lines(jobs)]
    assert lines[-1] == "and 5 more jobs with 10 directories"
    assert "\x1b" not in "".join(lines)
    [first, second, help_] = failed_lines([failed("out of memory"), failed("exit code 1", 2)])
    assert plain(help_) == "May help: memory 2x for 1 job"
    assert plain(first).endswith("out of memory")
    assert plain(second).endswith("exit code 1")


async def test_a_job_out_of_memory_gets_twice_as_much_with_two_keys_and_a_yes() -> None:
    engine = with_failures()
    async with opened(engine) as hand:
        await on_job(hand, 4)
        await hand.press("R")
        await hand.sees("Retry 1 failed job?", "4717  equilibrate  8 directories", "2x")
        await hand.press("enter")
        await hand.sees("Jobs to submit", "1 job", "Again because", "ran out of memory")
        await hand.sees(
            "attempt 2: job 4717 ran out of memory;",
            "memory 96 GB -> 192 GB",
            "#SBATCH --mem=196608M",
        )
        assert planned_again(engine) == ["plan_again memory 2x"]
        assert "submit" not in engine.calls
        await hand.press("s", "y", "e", "s", "enter")
        await hand.sees("1 of 1 job accepted")
        [plan] = engine.submitted_plans
        assert [job.attempt for job in plan.jobs] == [2]


async def test_leaving_the_plan_leads_back_to_the_queue_and_escape_before_plans_nothing() -> None:
    engine = with_failures()
    async with opened(engine) as hand:
        await on_job(hand, 5)
        await hand.press("R")
        await hand.sees("4716  equilibrate  3 directories  exit code 2")
        await hand.press("escape")
        await hand.sees("Nothing was retried.")
        assert not planned_again(engine)
        await hand.press("R", "enter")
        await hand.sees("failed: exit code 2;", "the same again")
        await hand.press("escape")
        await hand.sees("[6 Queue]")
        assert planned_again(engine) == ["plan_again"]
        assert "submit" not in engine.calls


async def test_what_is_wrong_stands_beneath_its_field_until_it_is_right() -> None:
    engine = with_failures()
    async with opened(engine, size=(80, 24)) as hand:
        await on_job(hand, 4)
        await hand.press("R", "backspace", "backspace", "6", "4")
        assert "no amount of memory" not in hand.text()  # half typed
        await hand.press("tab", "4", "enter")
        await hand.sees("'64' is no amount of memory", "'4' is no time")
        assert not planned_again(engine)
        await hand.press("G")  # the first wrong field is the one to type in
        await hand.sees_no("no amount of memory")
        await hand.press("down", "h", "backspace", "backspace", "2", "x", "tab", "8", "tab", *"big")
        await hand.sees_no("is no time")
        await hand.press("enter")
        await hand.sees("Jobs to submit")
        assert planned_again(engine) == ["plan_again memory 64 GB, time 2x, CPUs 8, partition big"]


async def test_the_marked_jobs_that_failed_are_tried_again_together() -> None:
    engine = with_failures()
    async with opened(engine) as hand:
        await on_job(hand, 0)
        await hand.press("a")
        await hand.sees("3 of 7 jobs marked")
        await hand.press("R")
        await hand.sees("retry: none of these jobs failed")
        await hand.press("a")
        await hand.sees("3 of 7 jobs marked")
        await hand.press("space", "R")
        await hand.sees("Retry 3 failed jobs?", "1 marked did not fail")
        await hand.sees("May help: time 1.5x for 1 job, memory 2x for 1 job")
        await hand.press("enter")
        await hand.sees("3 jobs", "reached its time")
        await hand.press("s", "3", "enter")
        await hand.sees("3 of 3 jobs accepted")
        await hand.press("6")
        await hand.sees("10 jobs")
        assert not hand.app.session.marked_jobs


async def test_jobs_that_did_not_fail_say_so() -> None:
    async with opened(with_failures()) as hand:
        await on_job(hand, 0)
        await hand.press("R")
        await hand.sees("retry: the job has not ended")
        await hand.press("G", "R")
        await hand.sees("retry: the job did not fail")
        assert not planned_again(hand.engine)


async def test_what_was_done_meanwhile_leaves_an_empty_plan_that_says_why() -> None:
    engine = with_failures()
    async with opened(engine) as hand:
        await on_job(hand, 4)
        engine.failed["equilibrate"].clear()
        await hand.press("R", "enter")
        await hand.sees("There is nothing to send", "job 4717: nothing of it is to be tried again")


async def test_an_engine_that_cannot_plan_says_why_and_the_queue_stays() -> None:
    engine = with_failures()
    engine.plan_error = RowtuiError("workflow.toml is broken", "mend it")
    async with opened(engine) as hand:
        await on_job(hand, 4)
        await hand.press("R", "enter")
        await hand.sees("no plan: workflow.toml is broken", "[6 Queue]")


async def test_marked_groups_of_failed_directories_are_tried_again_by_their_jobs() -> None:
    engine = with_failures()
    async with opened(engine) as hand:
        await hand.sees("✗ 19 of them failed")
        await hand.press("2", "R")
        await hand.sees("retry: only failed groups can be retried")
        hand.app.clear_notifications()
        await hand.press("1", "d")
        await hand.sees("3 groups · 19 directories")
        await hand.press("R")
        await hand.sees("Retry 1 failed job?", "4716  equilibrate  3 directories")
        await hand.press("escape")
        hand.app.clear_notifications()
        await hand.press("j", "space", "space")  # of these two, 4718 is in both
        await hand.sees("2 of 3 groups marked")
        await hand.press("R")
        await hand.sees("Retry 2 failed jobs?", "4717  equilibrate  8", "4718  equilibrate  8")
        await hand.press("escape", "escape", "a", "R")
        await hand.sees("Retry 3 failed jobs?")
        await hand.press("2", "x", "enter")
        await hand.sees("Jobs to submit", "3 jobs", "reached its time")
        await hand.press("escape")
        await hand.sees("[failed 19]")


async def test_another_cluster_is_asked_for_only_where_there_are_several() -> None:
    async with opened(with_clusters(with_failures())) as hand:
        await on_job(hand, 4)
        await hand.press("R")
        await hand.sees("Cluster    as before")
        await hand.press(*["down"] * 4, *"anvil", "enter")
        await hand.sees("Jobs to submit")
        assert planned_again(hand.engine) == ["plan_again memory 2x, cluster anvil"]


async def test_read_only_tries_nothing_again() -> None:
    async with opened(with_failures(), read_only=True) as hand:
        await on_job(hand, 4)
        await hand.press("R")
        await hand.sees("retry: the project was opened read-only")


async def test_names_from_outside_are_no_markup_in_the_question() -> None:
    engine = with_failures()
    job = next(
        job for job in engine.jobs_by_token.values() if job.record.end_reason == "out of memory"
    )
    nasty = "[b]bold[/b] \x1b]0;owned\x07"
    job.record = job.record._replace(end=read_old_end(None, nasty))
    async with opened(engine, size=(80, 24)) as hand:
        await on_job(hand, 4)
        await hand.press("R")
        await hand.sees("[b]bold[/b] \\x1b]0;owned\\x07")
        assert "\x1b" not in hand.text()
