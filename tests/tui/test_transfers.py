"""What a plan copies to clusters first, in the Submit view: before the yes, and while it goes."""

from __future__ import annotations

import asyncio

from rowtui.core.base.errors import RowtuiError
from rowtui.core.project.views.views import ClusterView, TransferView

from tests.tui.hand import Hand, opened
from tests.tui.sample import SampleEngine

VIEW = TransferView(
    "alpha", "/scratch/me/lj-fluid-1a2b3c4d", 12, 3_400_000, ("workflow.toml",), 3, (), ("out",)
)


async def planned(hand: Hand[SampleEngine]) -> None:
    await hand.press("2")
    await hand.sees("8 groups")
    await hand.press("space", "s")
    await hand.sees("Nothing is sent yet")


async def test_what_is_copied_first_stands_beside_the_costs() -> None:
    engine = SampleEngine()
    engine.transfer_views = (VIEW,)
    async with opened(engine) as hand:
        await planned(hand)
        await hand.sees(
            "copied first: 12 files (3 MB) to alpha",
            "/scratch/me/lj-fluid",
            "back come out, the logs",
        )
    async with opened(engine, size=(80, 24)) as hand:
        await planned(hand)
        await hand.sees("copies 12 files (3 MB)")


async def test_nothing_is_said_where_every_cluster_sees_the_project() -> None:
    async with opened() as hand:
        await planned(hand)
        await hand.until(lambda: "transfers" in hand.engine.calls)
        await hand.rests()
        assert "copied first" not in hand.text()


async def test_until_it_is_known_there_are_three_dots_and_the_yes_is_possible() -> None:
    engine = SampleEngine()
    engine.remote["local"] = ClusterView("local", "slurm", "me@alpha")
    engine.transfers_gate = asyncio.Event()
    engine.transfer_views = (VIEW,)
    async with opened(engine) as hand:
        await hand.press("6")
        await hand.sees("pending")
        await planned(hand)
        await hand.sees("copied first: …")
        engine.transfers_gate.set()
        await hand.sees("copied first: 12 files")
        await hand.press("s")
        await hand.sees("Type yes")


async def test_a_conflict_keeps_the_plan_from_being_confirmed() -> None:
    engine = SampleEngine()
    engine.transfer_views = (VIEW._replace(conflicts=("tools/run\x1b.sh", "b")),)
    async with opened(engine) as hand:
        await planned_with_conflict(hand)
        await hand.sees("✗ conflict: tools/run\\x1b.sh", "✗ conflict: b")
        await hand.types("syes\n")
        await hand.rests()
        assert "Type yes" not in hand.text()
        assert hand.engine.submitted_plans == []


async def planned_with_conflict(hand: Hand[SampleEngine]) -> None:
    await hand.press("2")
    await hand.sees("8 groups")
    await hand.press("space", "s")
    await hand.sees("changed here and on alpha: tools/run\\x1b.sh and 1 more")
    await hand.sees("'rowtui mirror alpha' decides")


async def test_a_conflict_that_is_found_while_the_yes_is_typed_counts() -> None:
    engine = SampleEngine()
    engine.transfers_gate = asyncio.Event()
    engine.transfer_views = (VIEW._replace(conflicts=("run.sh",)),)
    async with opened(engine) as hand:
        await planned(hand)
        await hand.press("s", "y", "e", "s")
        engine.transfers_gate.set()
        await hand.sees("changed here and on alpha: run.sh")
        await hand.press("enter")
        await hand.rests()
        assert hand.engine.submitted_plans == []


async def test_why_nothing_is_known_is_said_and_sending_may_be_tried() -> None:
    engine = SampleEngine()
    engine.transfers_error = RowtuiError("alpha refused the connection")
    async with opened(engine) as hand:
        await planned(hand)
        await hand.sees("unknown: alpha refused the")
        await hand.press("s")
        await hand.sees("Type yes")


async def test_while_files_are_copied_one_line_says_how_far_it_is() -> None:
    engine = SampleEngine()
    engine.transfer_views = (VIEW,)
    gate = asyncio.Event()

    async def wait(number: int) -> None:
        if number == 0:
            await gate.wait()

    engine.gate = wait
    async with opened(engine) as hand:
        await planned(hand)
        await hand.press("s", "y", "e", "s", "enter")
        await hand.sees("copying to alpha: 1 of 12 files and folders")
        gate.set()
        await hand.sees("1 of 1 job accepted")
        assert "copying to alpha" not in hand.text()


async def test_who_stops_while_files_are_copied_sends_no_job() -> None:
    engine = SampleEngine()
    engine.transfer_views = (VIEW, VIEW)
    gate = asyncio.Event()

    async def wait(number: int) -> None:
        if number == 0:
            await gate.wait()

    engine.gate = wait
    async with opened(engine) as hand:
        before = len(engine.jobs_by_token)
        await planned(hand)
        await hand.press("s", "y", "e", "s", "enter")
        await hand.sees("copying to alpha: 1 of 12 files and folders")
        await hand.press("x")
        await hand.sees("stopping; copied files are kept")
        gate.set()
        await hand.sees("0 of 1 job accepted", "1 not sent (stopped)")
        assert len(engine.jobs_by_token) == before
