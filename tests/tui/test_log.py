"""View 7 on the sample project: follow, read back, find, and what looks like an error."""

from __future__ import annotations

from rowtui.core.usage.running import UsageNow
from rowtui.tui.widgets.log_rows import LogRows

from tests.tui.hand import Hand, opened
from tests.tui.sample import SampleEngine


def long_log(engine: SampleEngine, rows: int = 3000) -> str:
    """The newest job's log, with an error in the middle of what is known at first."""
    token = max(engine.jobs_by_token, key=lambda it: engine.jobs_by_token[it].record.submitted_at)
    job = engine.jobs_by_token[token]
    job.started = job.started or engine.now
    job.log[:] = [f"step {number:>9,}  E -5.412" for number in range(rows)]
    job.log[rows - 500] = "FloatingPointError: NaN in forces"
    return token


def rows_in_sight(hand: Hand[SampleEngine]) -> LogRows:
    return hand.app.screen.query_one(LogRows)


async def test_a_log_is_followed_until_somebody_reads_back() -> None:
    engine = SampleEngine()
    token = long_log(engine)
    async with opened(engine) as hand:
        await hand.sees("Workflow")
        hand.app.session.job_token = token
        await hand.press("7")
        await hand.sees("step     2,999", "following the end", "▲ 1 line looks like an error")
        engine.jobs_by_token[token].log.append("and one more")
        await hand.sees("and one more")

        await hand.press("pageup")
        await hand.sees_no("and one more")
        before = hand.text().splitlines()[5]
        engine.jobs_by_token[token].log.append("a last word")
        await hand.until(lambda: rows_in_sight(hand).pages.state.rows == 1002)
        assert hand.text().splitlines()[5] == before
        await hand.press("g")
        await hand.sees("step         0", "    1 ")
        assert rows_in_sight(hand).pages.state.rows == 3002
        await hand.press("p")
        await hand.sees("a last word")


async def test_finding_goes_round_and_errors_have_a_key() -> None:
    engine = SampleEngine()
    token = long_log(engine)
    async with opened(engine, size=(80, 24)) as hand:
        await hand.sees("Workflow")
        hand.app.session.job_token = token
        await hand.press("7")
        await hand.sees("step     2,999")
        await hand.press("n")
        await hand.sees("FloatingPointError: NaN in forces")
        assert "following" not in hand.text()
        await hand.press("slash", *"2,10", "enter")
        await hand.sees("find '2,10'", "step     2,10")
        first = rows_in_sight(hand).pages.hit
        await hand.press("n")
        await hand.until(lambda: rows_in_sight(hand).pages.hit == (first or 0) + 1)
        await hand.press("N")
        await hand.until(lambda: rows_in_sight(hand).pages.hit == first)
        await hand.press("slash", *"nowhere", "enter")
        await hand.sees("nowhere, g reads the rest")
        await hand.press("escape")
        await hand.sees_no("find '")
        await hand.press("slash", "escape", "z")
        await hand.sees("long lines broken")


async def test_one_enormous_line_and_control_signs_are_rows_like_others() -> None:
    engine = SampleEngine()
    token = long_log(engine)
    engine.jobs_by_token[token].log[:] = ["\x1b[2J\x00\u202e" + "x" * 50_000]
    async with opened(engine) as hand:
        await hand.sees("Workflow")
        hand.app.session.job_token = token
        await hand.press("7")
        await hand.sees("↪", "xxxxx")
        await hand.press("g")
        await hand.sees("\\x1b[2J\\x00")
        assert "\x1b" not in hand.text()
        await hand.press("z")
        await hand.sees("long lines broken")
        await hand.press("right", "left", "G", "pageup")


async def test_the_jobs_of_the_list_are_a_key_apart_and_no_job_is_said() -> None:
    async with opened(SampleEngine()) as hand:
        await hand.sees("Workflow")
        await hand.press("7")
        await hand.sees("job ")
        jobs = hand.app.session.jobs
        assert jobs is not None
        await hand.press("right_square_bracket")
        await hand.until(lambda: hand.app.session.job_token == jobs.jobs[1].token)
        await hand.press("left_square_bracket")
        await hand.until(lambda: hand.app.session.job_token == jobs.jobs[0].token)
    async with opened(SampleEngine(fresh=True)) as hand:
        await hand.sees("Workflow")
        await hand.press("7")
        await hand.sees("There are no jobs yet", "Log")


async def test_the_log_shows_what_its_job_uses_of_its_limits() -> None:
    engine = SampleEngine()
    token = long_log(engine, 600)
    gb = 1 << 20
    engine.used = UsageNow(engine.now, 7200.0, 43_200.0, 54_720.0, 8, int(3.7 * gb), 4 * gb)
    async with opened(engine, size=(80, 24)) as hand:
        hand.app.session.job_token = token
        await hand.press("7")
        await hand.sees("step       599", "near its limit of memory: memory 3.7 of 4 GB (92%)")
        assert len(engine.asked_used) == 1
