"""The Explain view with the keys people press: the real mapper, a small mapping file."""

from __future__ import annotations

import asyncio

from rowtui.core.base.errors import RowtuiError
from rowtui.core.mapping.model.request import Amounts, WhatIf
from rowtui.core.project.views.views import WhatIfRequest
from rowtui.tui.views.explain.view import ExplainView
from rowtui.tui.widgets.table.virtual_table import VirtualTable

from tests.tui.hand import Hand, opened
from tests.tui.sample import ACTIONS, SampleAction, SampleEngine


def row(hand: Hand[SampleEngine], destination: str) -> str:
    """The line of a destination in the table."""
    view = hand.app.screen
    assert isinstance(view, ExplainView)
    lines = [text.split("┃")[1] if "┃" in text else text for text in hand.text().splitlines()]
    found = [text for text in lines if f"  {destination} " in text]
    assert found, hand.text()
    return found[0]


async def explained(hand: Hand[SampleEngine]) -> None:
    await hand.sees("78 eligible")
    await hand.press("3")
    await hand.sees("✓ goes to wholenode on anvil")


async def test_the_group_under_the_cursor_is_explained_and_one_comes_back_to_it() -> None:
    async with opened() as hand:
        await hand.sees("78 eligible")
        await hand.press("2")
        await hand.sees("8 groups")
        await hand.press("j", "j", "w")
        await hand.sees("Group 3 of 8", "first T1.1-rho0.5-s5", "✓ goes to wholenode on anvil")
        await hand.press("right_square_bracket")
        await hand.sees("Group 4 of 8")
        await hand.press("left_square_bracket", "left_square_bracket")
        await hand.sees("Group 2 of 8")
        await hand.press("escape")
        await hand.sees("Groups of equilibrate")
        await hand.press("3")
        await hand.sees("Group 3 of 8")


async def test_candidates_refused_ones_reasons_and_the_story_are_there_at_any_size() -> None:
    async with opened(size=(200, 36)) as hand:
        await explained(hand)
        await hand.sees("3 accept it, 3 refuse it")
        assert "1 ▲  highmem" in row(hand, "highmem")
        assert "highmem takes jobs of 500 GB" in row(hand, "highmem")
        assert "2 ✓  wholenode" in row(hand, "wholenode")
        assert "chosen" in row(hand, "wholenode")
        assert "3 ○  standby" in row(hand, "standby")
        assert "would accept it; wholenode comes first" in row(hand, "standby")
        assert "  ✗  shared" in row(hand, "shared")
        assert "asks 16 CPUs, accepts at most 8" in row(hand, "shared")
        table = hand.app.screen.query_one("#destinations", VirtualTable)
        assert table.cursor_key == "wholenode"  # one begins where the job goes

        # reasons follow the cursor
        await hand.pilot.resize_terminal(120, 36)
        await hand.sees("wholenode on anvil: chosen", "16 CPUs      of at most 128")
        await hand.press("k")
        await hand.sees("It accepts the job, but passed it on: highmem takes")
        await hand.press("G")
        await hand.sees("old-cluster on local: refused", "tag offline  the job rejects it")
        await hand.sees("more than one change is needed")

        # so is the story
        await hand.press("g", "j")
        for size in [(80, 24), (180, 45), (50, 20), (70, 12)]:
            await hand.pilot.resize_terminal(*size)
            await hand.sees("goes to wholenode")
            await hand.press("i")
            await hand.sees("Values of the job", "mapping.yml:6")
            await hand.press("i")
            await hand.sees("Scores, tag by tag")
            await hand.press("i")
            await hand.sees("It accepts the job")
            await hand.press("escape")
            await hand.until(lambda: hand.app.screen.query_one("#destinations").has_focus)
            await hand.sees("✓  wholenode")


async def test_what_is_typed_ranks_again_and_undoing_it_gives_the_job_back() -> None:
    async with opened() as hand:
        await explained(hand)
        await hand.press("e", "8", "tab", "6", "4")
        await hand.sees(
            "WHAT IF", "not part of the plan: 8 CPUs instead of 16, 64 GB instead of 96"
        )
        await hand.sees("8 CPUs   64 GB")
        await hand.press("tab", "tab", "tab", *"-highmem")
        await hand.sees("without the tag highmem", "4 accept it, 2 refuse it")
        assert "○  shared" in row(hand, "shared")
        await hand.press("escape")
        await hand.sees_no("Esc close")
        await hand.sees("WHAT IF")
        await hand.press("u")
        await hand.sees_no("WHAT IF")
        await hand.sees("16 CPUs   96 GB", "3 accept it, 3 refuse it")
        assert hand.engine.wondered[-1] is None


async def test_a_change_that_would_admit_the_job_is_a_row_that_enter_tries() -> None:
    async with opened() as hand:
        await explained(hand)
        await hand.sees(
            "What it takes to go elsewhere", "› shared on anvil  8 CPUs, 64 GB, without"
        )
        await hand.press("tab", "j", "enter")
        await hand.sees("WHAT IF", "with the tag gpu")
        await hand.press("u", "escape", "colon", *"try change", "enter")
        await hand.sees("try change: this destination takes")
        await hand.press("escape", "j", "j")
        await hand.sees("What it takes to go there")
        await hand.press("tab", "enter")
        await hand.sees("WHAT IF", "3 ○  shared", "4 accept it")
        assert hand.engine.wondered[-1] == WhatIfRequest(
            WhatIf(Amounts(cores=8, mem=64), drop_tags=("highmem",))
        )
        await hand.press("e")
        await hand.sees("Esc close", "-highmem")


async def test_half_typed_fields_are_marked_and_the_others_count() -> None:
    async with opened() as hand:
        await explained(hand)
        await hand.press("e", "8", "x")
        await hand.sees("▲ CPUs: 8x is not a number")
        await hand.press("tab", "2", "0")
        await hand.sees("WHAT IF", "20 GB instead of 96")
        assert hand.engine.wondered[-1] == WhatIfRequest(WhatIf(Amounts(mem=20)))


async def test_an_answer_to_an_older_question_is_dropped() -> None:
    slow, go_on = asyncio.Event(), asyncio.Event()

    async def gate(asked: WhatIfRequest | None) -> None:
        if asked is not None and asked.change.amounts.cores == 7:
            slow.set()
            await go_on.wait()

    async with opened() as hand:
        await explained(hand)
        hand.engine.explain_gate = gate
        await hand.press("e", "7")
        await slow.wait()
        await hand.press("backspace", "9")
        await hand.sees("9 CPUs instead of 16")
        assert "9 CPUs   96" not in hand.text()
        go_on.set()
        await hand.sees("9 CPUs   96 GB")
        assert [asked.change.amounts.cores for asked in hand.engine.wondered if asked][-2:] == [
            7,
            9,
        ]


async def test_a_user_of_another_role_is_another_job() -> None:
    async with opened() as hand:
        await explained(hand)
        await hand.press("e", *["tab"] * 5, *"bob", "tab", "-", "enter")
        await hand.sees("as user bob, roles none", "bob · no roles")
        await hand.press("i")
        await hand.sees("Where the values come from")
        assert "role physics" not in hand.text()


async def test_a_what_if_never_reaches_a_plan_and_another_action_begins_without_it() -> None:
    async with opened() as hand:
        await explained(hand)
        await hand.press("e", "8", "enter")
        await hand.sees("WHAT IF", "8 CPUs")
        await hand.press("2")
        await hand.sees("8 groups")
        await hand.press("s")
        await hand.sees("Jobs to submit", "#SBATCH --ntasks=16")
        await hand.press("3")
        await hand.sees("WHAT IF")
        await hand.press("2")
        await hand.sees("8 groups")
        await hand.press("right_square_bracket", "3")
        await hand.sees("of sample, eligible", "goes to gpu", "2 GPUs")
        await hand.sees_no("WHAT IF")


async def test_a_job_that_a_rule_fails_says_which_rule() -> None:
    async with opened() as hand:
        await hand.sees("78 eligible")
        await hand.press("j", "j", "3")
        await hand.sees(
            "of analyze, eligible", "directories are too many", "rule not-on-mondays of"
        )
        await hand.sees("A rule stopped the job before destinations were", "✓  not-on-mondays")


async def test_an_untrusted_file_says_how_to_trust_it() -> None:
    engine = SampleEngine()
    engine.trusted = False
    async with opened(engine) as hand:
        await hand.press("3")
        await hand.sees("mapping.yml is not trusted yet", "rowtui mapping trust mapping.yml")


async def test_a_status_without_groups_says_so_and_another_has_some() -> None:
    async with opened() as hand:
        await hand.sees("78 eligible")
        await hand.press("k", "3")
        await hand.sees("initialize, eligible", "No directory is eligible; f shows others. Why")
        await hand.press("right_square_bracket", "e")
        await hand.sees("next group: there is no other group", "there is no group to explain")
        await hand.press("f")
        await hand.sees("Group 1 of 6 of initialize, completed")
        await hand.press("f")
        await hand.sees("Group 1 of 6 of initialize", "goes to")
        await hand.press("f")  # no directory is in another state, and this one is not chosen again
        await hand.sees("Group 1 of 6 of initialize, completed")


async def test_groups_that_are_gone_leave_one_on_the_last_and_others_are_announced() -> None:
    async with opened() as hand:
        await explained(hand)
        await hand.press("left_square_bracket")
        await hand.sees("Group 8 of 8")
        hand.engine.complete("equilibrate", hand.engine.names[-4:])
        await hand.sees("Group 7 of 7")
        await hand.press("right_square_bracket")
        await hand.sees("Group 1 of 7")
        first = next(name for name in hand.engine.names if name == "T1.0-rho0.7-s1")
        hand.engine.complete("equilibrate", [first])
        await hand.sees("The groups changed: group 1 now begins with T1.0-rho0.7-s2")


async def test_an_engine_that_fails_is_asked_again_with_r() -> None:
    engine = SampleEngine()
    engine.explain_error = RowtuiError("the cluster is on fire", "run")
    async with opened(engine) as hand:
        await hand.press("3")
        await hand.sees("the job cannot be explained: the cluster is on fire", "r asks again")
        engine.explain_error = None
        await hand.press("r")
        await hand.sees("✓ goes to wholenode")


async def test_no_actions_and_no_directories() -> None:
    async with opened(SampleEngine(actions=())) as hand:
        await hand.press("3")
        await hand.sees("There is no action yet.")
    async with opened(SampleEngine(directories=0)) as hand:
        await hand.sees("no directory belongs to this action")
        await hand.press("3")
        await hand.sees("No directory is eligible")


NASTY = "evil\x1b]0;owned\x07 [b]bold[/b] ‮name"


async def test_hostile_mapping_files_steer_nothing_and_are_no_markup() -> None:
    quoted = NASTY.replace("\x1b", "\\e").replace("\x07", "\\a").replace("‮", "\\u202e")
    engine = SampleEngine(actions=[SampleAction("act", "x", (), "p", 10, 4, 60)])
    engine.mapping_text = f"""
tools:
  act:
    scheduling: {{require: ["{quoted}"]}}
    params: {{"{quoted}": "{quoted}"}}
    rules:
      - id: "{quoted}"
        if: "True"
        mem: 9
destinations:
  "{quoted}": {{runner: "{quoted}", max_accepted_cores: 2}}
  "b{quoted}": {{runner: local, scheduling: {{accept: ["{quoted}"]}}}}
"""
    async with opened(engine, size=(160, 50)) as hand:
        await hand.press("3")
        await hand.sees("goes to bevil\\x1b]0;owned\\x07 [b]bold[/b] \\u202ename on local")
        await hand.press("j")
        await hand.sees("asks 4 CPUs, accepts at most 2", "What it takes to go there")
        await hand.press("e")
        view = hand.app.screen
        assert isinstance(view, ExplainView)
        view.form.field("tags").value = "-'evil\\x1b]0;owned\\x07 [b]bold[/b] \\u202ename'"
        await hand.sees("WHAT IF", "without the tag evil\\x1b")
        assert hand.engine.wondered[-1] == WhatIfRequest(WhatIf(drop_tags=(NASTY,)))
        await hand.rests()
        for bad in ("\x1b", "\x07", "‮"):
            assert bad not in hand.text()


async def test_problems_of_the_files_are_told_with_their_place() -> None:
    engine = SampleEngine()
    engine.mapping_text = (
        "tools:\n  equilibrate:\n    coers: 4\n    mem: 3 +\ndestinations: {d: {}}\n"
    )
    async with opened(engine) as hand:
        await hand.press("3")
        await hand.sees("Wrong in the mapping files", "mapping.yml:3:", "in the mapping files")


def test_the_sample_has_the_actions_that_these_tests_speak_of() -> None:
    assert [action.name for action in ACTIONS] == ["initialize", "equilibrate", "sample", "analyze"]
