"""The Pack view with the keys people press: choices, races, states, and on to the submission."""

from __future__ import annotations

import asyncio

from rowtui.core.base.errors import RowtuiError
from rowtui.core.project.planning.pack_views import PackChoice
from rowtui.tui.views.pack.view import PackView
from rowtui.tui.widgets.table.virtual_table import VirtualTable

from tests.tui.hand import Hand, opened
from tests.tui.sample import SampleEngine
from tests.tui.sample_packing import PatchedEngine, SpreadEngine, with_awkward_jobs, with_many


async def packed(hand: Hand[SampleEngine]) -> None:
    await hand.sees("78 eligible")
    await hand.press("4")
    await hand.sees(
        "8 jobs on 1 node ─", "✓ 16.00 EUR instead of 70.40 EUR for one node per job: 77 % less"
    )


async def all_packed(hand: Hand[SampleEngine]) -> None:
    await packed(hand)
    await hand.press("left_square_bracket")
    await hand.sees("all actions", "24 jobs on 4 nodes ─", "✓ 192.00 EUR")


def row(hand: Hand[SampleEngine], text: str) -> str:
    """The line of the table with that text."""
    [found] = [one for one in hand.text().splitlines() if one[:1] in "┃│" and text in one]
    return found


async def test_the_first_line_has_the_cost_and_the_slots_of_a_node_run_over_time() -> None:
    async with opened() as hand:
        await packed(hand)
        await hand.sees("The least possible cost, proven.")
        await hand.press("left_square_bracket")
        await hand.sees(
            "441.10 EUR for one node per job: 56 % less", "At most 4.4 % above the least"
        )
        await hand.sees("CPUs 95 % used, memory 61 %.", "4 nodes, 24 jobs, 12 h at most")
        assert "● large           4     24" in row(hand, "● large")
        assert "3     12  █████████ 100%" in row(hand, "4 slots")
        assert "not needed: 64 CPUs, 128 GB, 2.20 EUR an hour" in row(hand, "○ medium")
        assert "4     24" in row(hand, "  all ")

        # the slots of the node under the cursor
        await hand.sees("One of 3 nodes with 4 slots: 128", "▐ sample T0.9-rho0.1-s1 and 4 more")
        await hand.press("j")
        await hand.sees(
            "The node with 5 slots", "▐ equilibrate T1.0-rho", "▌▐ equilibrate T1.1-rho"
        )
        await hand.sees("   3  64–79      24 GB", "idle: 248 CPU-hours of 1,536 are paid for")
        await hand.press("tab", "G")
        await hand.sees("   5         8 h  8 h 15 min  analyze", "12 GB")
        await hand.press("escape", "g")
        await hand.sees("Node type large", "128 CPUs, 256 GB", "4.00 EUR an hour")


async def test_a_packer_is_another_packing_at_once_and_the_head_says_what_changed() -> None:
    async with opened() as hand:
        await all_packed(hand)
        await hand.press("e", *"fill", "enter")
        await hand.sees("fill ▾", "packer fill: nodes 4 → 5, cost 192.00 → 208.00  ▲ dearer")
        await hand.press("e", *["backspace"] * 4, *"seed", "enter")
        await hand.sees("seed ▾", "packer seed: nodes 5 → 10, cost 208.00 → 202.95  ✓ cheaper")
        await hand.press("u")
        await hand.sees("fill ▾", "packer fill: nodes 10 → 5")
        await hand.press("u")
        await hand.sees("best ▾", "packer as configured: nodes 5 → 4")
        assert hand.engine.packings[-1].packer == ""
        await hand.press("colon", *"as configured", "enter")
        await hand.sees("as configured: it is packed as configured")


async def test_node_types_are_switched_off_and_on_but_never_the_last_one() -> None:
    async with opened() as hand:
        await all_packed(hand)
        await hand.press("space")
        await hand.sees("the cursor is not on a node type")
        await hand.press("g", "space")
        await hand.sees("without large: nodes 4 → 10", "24 jobs on 10 nodes ─")
        assert "switched off: Space uses it again" in row(hand, "✗ large")
        await hand.press("g", "space")
        await hand.sees("without medium: cost 202.95 → ")
        await hand.press("g", "space")
        await hand.sees("without highmem: nodes", "● gpu ")
        assert hand.engine.packings[-1].node_types == ("gpu",)
        await hand.press("g", "space")
        await hand.sees("it is the only node type that is left")
        await hand.press("colon", *"as configured", "enter")
        await hand.sees("24 jobs on 4 nodes ─")
        assert hand.engine.packings[-1].node_types == ()


async def test_limits_count_while_they_are_typed_and_half_typed_ones_change_nothing() -> None:
    async with opened() as hand:
        await all_packed(hand)
        await hand.press("e", *"sod")
        await hand.sees("▲ packer: sod is none of ")
        await hand.press(*["backspace"] * 3, "tab", "2")
        await hand.sees("at most 2 on a node: nodes 4 → 12", " jobs on a node 2")
        await hand.press("tab", "1", "0")
        await hand.sees("▲ time: 10 is not like 04:00:00, 4h or 30m")
        assert hand.engine.packings[-1].longest_seconds is None
        await hand.press("h")
        await hand.sees("14 jobs are not packed", "at most 10 h")
        await hand.press("tab", "2")
        await hand.sees("times × 2", "factor 2.0")
        await hand.press("enter")
        await hand.sees_no("Esc close")
        assert hand.engine.packings[-1] == PackChoice("", 2, 36_000, (), 2.0, 1.0)
        await hand.press("e")
        await hand.sees("Esc close", "10:00:00")
        await hand.press("escape", "u")
        await hand.sees("24 jobs on 4 nodes ─", "✓ 192.00 EUR")


async def test_an_answer_to_an_older_choice_is_dropped_and_the_old_picture_stays_marked() -> None:
    slow, go_on = asyncio.Event(), asyncio.Event()

    async def gate(choice: PackChoice) -> None:
        if choice.packer == "fill":
            slow.set()
            await go_on.wait()

    async with opened() as hand:
        await all_packed(hand)
        hand.engine.pack_gate = gate
        await hand.press("e", *"fill", "enter")
        await slow.wait()
        await hand.sees("◐ packing (packer fill)…; this is the packing before")
        assert "24 jobs on 4 nodes ─" in hand.text()
        await hand.press("s")
        await hand.sees("submit: the jobs are being packed")
        await hand.press("e", *["backspace"] * 4, *"seed", "enter")
        await hand.sees("packer fill, packer seed")
        go_on.set()
        await hand.sees("24 jobs on 10 nodes ─", "packer seed: nodes 4 → 10")
        assert [choice.packer for choice in hand.engine.packings[-2:]] == ["fill", "seed"]


async def test_a_choice_made_while_a_changed_project_is_packed_is_compared_too() -> None:
    slow, go_on = asyncio.Event(), asyncio.Event()

    async def gate(choice: PackChoice) -> None:
        slow.set()
        await go_on.wait()

    async with opened() as hand:
        await packed(hand)
        hand.engine.pack_gate = gate
        hand.engine.complete("equilibrate", hand.engine.names[-30:])
        await slow.wait()
        await hand.press("e", *"fill", "enter")
        await hand.sees("◐ packing (packer fill)…")
        go_on.set()
        await hand.sees("5 jobs on ", "packer fill: jobs packed 8 → 5")


async def test_submitting_shows_the_plan_with_the_cost_before_and_after() -> None:
    async with opened() as hand:
        await all_packed(hand)
        await hand.press("s")
        await hand.sees("Jobs to submit", "packed: 441.10 → 192.00 EUR (56 % less)")
        await hand.sees("24 jobs in 4 bundles", "bundle of 12", "# One scheduler job on a node")
        await hand.press("j")
        await hand.sees("Script of request 0 of bundle 1", "#SBATCH --ntasks=32")
        assert "submit" not in hand.engine.calls
        await hand.press("s")
        await hand.sees("Send 24 jobs in 4 bundles", "Type 24 and press Enter")
        await hand.press("4", "enter")
        await hand.sees("'4' is not '24': nothing was sent")
        await hand.press("s", "2", "4", "enter")
        await hand.sees("24 of 24 jobs accepted")
        [plan] = hand.engine.submitted_plans
        assert len({job.bundle.token for job in plan.jobs if job.bundle}) == 4
        assert plan.packed


async def test_a_bundle_that_has_an_answer_answers_for_all_of_its_requests() -> None:
    from rowtui.tui.views.submit.plan import Sending

    from tests.tui.sample_packing import packed as pack_plan

    plan = pack_plan(await SampleEngine().plans_make(1, None, None), PackChoice()).plan
    sending = Sending(plan)
    tokens = {job.token for job in plan.jobs}
    assert set(sending.sent_with(plan.jobs[3].token)) == tokens
    assert sending.sent_with("") == ()
    assert sending.sent_with("another") == ("another",)


async def test_leaving_the_plan_leads_back_to_the_packing_and_then_to_the_groups() -> None:
    async with opened() as hand:
        await packed(hand)
        await hand.press("s")
        await hand.sees("Jobs to submit")
        await hand.press("escape")
        await hand.sees("left the plan: nothing was sent", "Settings")
        await hand.press("escape")
        await hand.sees("Groups of equilibrate")
        assert hand.engine.submitted_plans == []


async def test_only_the_marked_groups_are_packed() -> None:
    async with opened() as hand:
        await hand.press("2")
        await hand.sees("8 groups")
        await hand.press("space", "space", "space")
        await hand.sees("3 of 8 groups marked")
        await hand.press("4")
        await hand.sees("equilibrate, 3 groups, on local", "3 jobs on 1 node ─")
        await hand.press("2", "a", "4")
        await hand.sees("all eligible groups", "8 jobs on 1 node ─")


async def test_marks_that_were_submitted_packed_are_forgotten() -> None:
    async with opened() as hand:
        await hand.press("2")
        await hand.sees("8 groups")
        await hand.press("space", "space", "4")
        await hand.sees("2 jobs on 1 node ─")
        await hand.press("s")
        await hand.sees("2 jobs in 1 bundle")
        await hand.press("s", "2", "enter")
        await hand.sees("2 of 2 jobs accepted")
        await hand.press("2")
        await hand.sees("6 groups ·")


async def test_a_plan_in_review_is_packed_with_the_same_groups() -> None:
    async with opened() as hand:
        await hand.press("2")
        await hand.sees("8 groups")
        await hand.press("space", "space", "s")
        await hand.sees("2 jobs", "4 packs these jobs on as few nodes")
        await hand.press("4")
        await hand.sees("equilibrate, 2 groups", "2 jobs on 1 node ─")
        await hand.press("s")
        await hand.sees("2 jobs in 1 bundle")
        assert "4 packs them" not in hand.text()


async def test_marked_groups_that_became_others_are_not_packed() -> None:
    async with opened() as hand:
        await hand.press("2")
        await hand.sees("8 groups")
        await hand.press("j", "space", "space", "4")
        await hand.sees("2 jobs on 1 node ─")
        hand.engine.complete("equilibrate", hand.engine.names[170:175])
        await hand.sees("the project changed meanwhile", "is the packing before")
        await hand.press("s")
        await hand.sees("submit: the shown packing does not match the choice")


async def test_the_project_changes_and_so_does_the_packing() -> None:
    async with opened() as hand:
        await packed(hand)
        await hand.press("e", *"fill", "enter")
        await hand.sees("packer fill: ")
        hand.engine.complete("equilibrate", hand.engine.names[-30:])
        await hand.sees("5 jobs on ")
        await hand.sees_no("packer fill: ")  # it would not be what made the difference


async def test_destinations_one_at_a_time_and_one_without_node_types_says_how_to_find_them() -> (
    None
):
    async with opened(SpreadEngine()) as hand:
        await hand.sees("78 eligible")
        await hand.press("4")
        await hand.sees("equilibrate, all eligible groups, on local")
        await hand.press("left_square_bracket")
        await hand.sees("all actions, on local (1 of 3: ])")
        await hand.press("right_square_bracket")
        await hand.sees("all actions, on pilot", "14 jobs on 7 nodes ─")
        await hand.press("g", "space")
        await hand.sees("the jobs go to several destinations")
        await hand.press("right_square_bracket")
        await hand.sees("all actions, on old", "▲ 2 jobs are not packed: old has no node types")
        await hand.sees("rowtui doctor --node-types old", "scheduler jobs of their own")
        await hand.press("left_square_bracket")
        await hand.sees("on pilot (2 of 3: ])")
        await hand.press("right_square_bracket", "right_square_bracket")
        await hand.sees("equilibrate, all eligible groups, on local")


async def test_what_is_left_alone_says_why() -> None:
    async with opened(with_awkward_jobs()) as hand:
        await hand.sees("78 eligible")
        await hand.press("4", "left_square_bracket")
        await hand.sees("▲ 2 jobs are not packed: it waits for other jobs")
        await hand.press("j", "j")
        await hand.sees("2 jobs not packed: asks 512 CPUs, large has 128")
        await hand.sees("they are sent as scheduler jobs of their own")
        await hand.press("j")
        await hand.sees("2 jobs not packed: it waits for other jobs")


async def test_nothing_eligible_says_so_and_an_error_comes_with_its_hint() -> None:
    async with opened() as hand:
        await hand.sees("78 eligible")
        await hand.press("k", "4")
        await hand.sees(
            "✗ there is nothing to submit. no directory is eligible", "Nothing is packed."
        )
        await hand.press("s")
        await hand.sees("submit: ")
        await hand.press("1", "j", "4")
        await hand.sees("8 jobs on 1 node ─")
        hand.engine.pack_error = RowtuiError("the cluster is on fire", "run")
        await hand.press("e", *"fill", "enter")
        await hand.sees("✗ the cluster is on fire. run", "This is the packing before")
        hand.engine.pack_error = None
        await hand.press("u")
        await hand.sees_no("✗ the cluster")


async def test_no_actions_and_no_directories() -> None:
    async with opened(SampleEngine(actions=())) as hand:
        await hand.press("4")
        await hand.sees("There is no action yet.")
        await hand.press(
            "right_square_bracket", "i", "s", "space", "right_square_bracket", "tab", "escape"
        )
        await hand.rests()
    async with opened(SampleEngine(directories=0)) as hand:
        await hand.sees("no directory belongs to this action")
        await hand.press("4")
        await hand.sees("there is nothing to submit")


async def test_a_thousand_bundles_are_a_few_rows_and_few_lines_are_drawn() -> None:
    async with opened(with_many(), size=(120, 36)) as hand:
        await hand.sees("eligible")
        await hand.press("4", "left_square_bracket")
        await hand.sees("on 932 nodes ─", "    597 ", "    333 ")
        table = hand.app.screen.query_one("#bundles", VirtualTable)
        assert table.source.row_count < 20


async def test_looking_longer_asks_with_more_time() -> None:
    async with opened() as hand:
        await packed(hand)
        await hand.press("colon", *"look longer", "enter")
        await hand.sees("of 5 s", "looked for up to 5 s: = the same nodes and cost")
        assert hand.engine.packings[-1].budget == 5.0


async def test_packers_are_compared_side_by_side_and_the_settings_choose_one() -> None:
    async with opened() as hand:
        await all_packed(hand)
        await hand.press("equals_sign")
        await hand.sees("packer       nodes  idle    cost", "fill           5", "seed          10")
        assert hand.engine.packings[-1].budget == 1.0
        many = len(hand.engine.packings)
        await hand.press("e", *"fill", "enter")
        await hand.sees("› fill", "packer fill: nodes 4 → 5")
        await hand.press("e", *["backspace"] * 4, "enter")
        await hand.sees("best ▾", "packer as configured: nodes 5 → 4")
        assert len(hand.engine.packings) == many + 2
        await hand.press("e", "tab", "2", "enter")  # another question: those answers are not of it
        await hand.sees_no("packer       nodes")


async def test_the_slots_stand_over_time_cpus_or_memory_and_rows_can_be_filtered() -> None:
    async with opened() as hand:
        await all_packed(hand)
        await hand.press("i")
        await hand.sees("CPUs of large: a column is", "AAAA", "slot 2")
        await hand.press("i")
        await hand.sees("memory of large: a column is", "256 GB")
        await hand.press("i")
        await hand.sees("▐ sample T0.9-rho0.1-s1")
        await hand.press("slash", *"jobs>11", "enter")
        await hand.sees("rows · 4 nodes")
        await hand.press("escape", "o")
        await hand.sees("Node type ▲")


async def test_it_is_there_at_any_size() -> None:
    async with opened(size=(180, 45)) as hand:
        await packed(hand)
        await hand.press("left_square_bracket")
        for size in ((180, 45), (120, 36), (80, 24), (70, 20), (50, 14)):
            await hand.pilot.resize_terminal(*size)
            await hand.sees("✓ 192.00 EUR instead of", "● large", "4 slots")
            await hand.press("e", "tab", "2", "enter")
            packing = hand.app.session.packing
            await hand.until(lambda packing=packing: packing.look.of.packed.bundles == 12)
            await hand.press("u")
            await hand.sees("✓ 192.00 EUR instead of")  # the cursor follows its row
            await hand.press("g")
    async with opened(size=(20, 5)) as hand:  # so low that a list needs every line
        await hand.until(lambda: hand.app.session.snapshot, "the project")
        for view in ("status", "groups", "explain", "queue"):
            hand.app.go(view)
            await hand.until(lambda: hand.app.screen.has_class("-low"), "no frames")
            tables = hand.app.screen.query(VirtualTable)
            high = lambda tables=tables: max(one.size.height for one in tables)  # noqa: E731
            await hand.until(lambda high=high: high() == 3, "a heading and two rows")
        await hand.press("4", "left_square_bracket")
        await hand.until(lambda: hand.app.session.packing.shown, "it is packed")


async def test_read_only_packs_but_submits_nothing() -> None:
    async with opened(read_only=True) as hand:
        await packed(hand)
        await hand.press("s")
        await hand.sees("submit: the project was opened read-only")
        assert isinstance(hand.app.screen, PackView)


NASTY = "evil\x1b]0;owned\x07 [b]bold[/b] ‮name"


async def test_hostile_names_steer_nothing_and_are_no_markup() -> None:
    engine = PatchedEngine(lambda job: job._replace(name=NASTY, action=NASTY))
    async with opened(engine, size=(160, 50)) as hand:
        await hand.sees("78 eligible")
        await hand.press("4")
        await hand.sees("▐ evil\\x1b]0;owned\\x07 [b]bold[/b] \\u202ename")
        await hand.press("s")
        await hand.sees("Jobs to submit")
        await hand.rests()
        for bad in ("\x1b", "\x07", "‮"):
            assert bad not in hand.text()


async def test_copying_takes_the_first_directory_or_the_node_type() -> None:
    async with opened() as hand:
        await packed(hand)
        await hand.press("y")
        await hand.sees("Copied T1.0-rho0.7-s1")
        await hand.press("k", "y")
        await hand.sees("Copied large")
