"""The Network view with the keys people press: looking, choosing, every verb and its question."""

from __future__ import annotations

import asyncio

from rowtui.core.base.errors import RowtuiError
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.runs.limits.limits import RunLimits
from rowtui.core.runs.model import RunStatus
from rowtui.tui.views.network.graph import NetworkGraph
from rowtui.tui.views.network.view import NetworkScreen

from tests.tui.hand import Hand, opened
from tests.tui.sample import SampleEngine
from tests.tui.sample_network import SampleNetwork, big, counts, with_network

RUNNING = {"status": RunStatus.RUNNING, "here": True, "holder": "pid 1 on here"}


def network_of(hand: Hand[SampleEngine]) -> SampleNetwork:
    assert hand.engine.graph is not None
    return hand.engine.graph


async def at_network(hand: Hand[SampleEngine]) -> None:
    await hand.sees("78 eligible")
    await hand.press("8")
    await hand.sees("Network study", "60 samples", "[all ", "Enter samples")
    await hand.rests()


async def test_the_view_shows_run_failures_graph_samples_and_node_and_is_gone_through() -> None:
    async with opened(with_network()) as hand:
        await at_network(hand)
        await hand.press("1")  # among what needs a person
        await hand.sees("network study: 12 more jobs", "14 jobs of the network wait for inputs")
        await hand.press("8")
        await hand.sees(
            "▲ paused   run 2026-11-21T0412", "S goes on",
            "47 of 102 jobs completed", "about 05:17",
            "CPU-hours 96.40 of 120 ████████░░", "Failed: 2 samples, 5 others blocked",
            "exit code 137", "7 nodes · 102 samples", "Samples of simulate", "60 samples",
            "✗ 1 failed",
        )  # fmt: skip

        # arrows move along links, and the panes follow
        await hand.pilot.resize_terminal(200, 50)
        await hand.press("l")
        await hand.sees(
            "Samples of average", "12 samples", "← simulate: energy.json  over replica (4 or more)"
        )
        await hand.press("right")
        await hand.sees("Samples of folds")
        await hand.press("h")
        await hand.sees("Samples of average")
        await hand.press("h")
        await hand.sees("Samples of simulate")
        await hand.press("left")
        await hand.sees("Samples of state", "temperature (6) × pressure (2) × replica (5)")
        await hand.press("G")
        await hand.sees("plot (sink)", "Samples of plot")


async def test_failures_come_first_and_the_samples_can_be_filtered() -> None:
    async with opened(with_network()) as hand:
        await at_network(hand)
        await hand.press("enter")
        await hand.sees("Sample", "exit code 137: out of memory")
        await hand.press("f")
        await hand.sees("[failed 1]", "1 sample")
        await hand.press("f")
        await hand.sees("[submitted 8]", "8 samples")
        await hand.press("f", "f")
        await hand.sees("[completed ", "31 samples", "energy.json", '"energy": -5.412,')
        await hand.press("f")
        await hand.sees("Samples of simulate")
        # where nothing ran this is said, of a source too
        await hand.press("enter")
        await hand.sees("No job has run sample in")
        await hand.press("escape")
        await hand.sees("Enter samples")
        await hand.press("h", "enter", "enter")
        await hand.sees("A source runs no job.")


async def test_enter_on_a_sample_opens_the_log_of_its_job() -> None:
    engine = with_network()
    async with opened(engine) as hand:
        await at_network(hand)
        job = next(one for one in engine.jobs_by_token.values() if one.record.action == "sample")
        graph = network_of(hand)
        sample = graph.samples("simulate", (GraphJobState.FAILED,), 0, 1)
        there = sample.samples[0]._replace(directory=job.record.directories[0])
        graph.samples = lambda *_: sample._replace(samples=(there,), total=1)  # type: ignore[method-assign]
        await hand.press("f", "enter")
        await hand.sees("1 sample")
        await hand.press("enter")
        await hand.sees("[7 Log]", str(job.record.job_id))


async def test_the_autopilot_starts_only_with_yes_and_within_what_was_typed_and_could_be_read() -> (
    None
):
    async with opened(with_network(status=None, failures=())) as hand:
        await at_network(hand)
        await hand.press("S")
        await hand.sees(
            "Start a new run?", "at most 35.6 CPU-hours", "Type yes", "no other cluster"
        )
        await hand.press("S", "o", "enter")
        await hand.sees("Nothing was started.")
        assert not network_of(hand).calls
        await hand.press("S")
        await hand.sees("Type yes")
        await hand.press("tab", "x", "enter")
        await hand.sees("is not a number: write it as 12 or 0.5")
        await hand.press("up", *"yes", "enter")
        await hand.rests()
        assert not network_of(hand).calls
        # a cluster that is not known is refused in its field, with the names that are
        for _ in range(4):
            await hand.press("down")
        await hand.press(*"ly", "enter")
        await hand.sees("there is no cluster 'locally'; choose from ")
        assert not network_of(hand).calls
        hand.app.clear_notifications()
        await hand.press("escape")
        await hand.sees("Nothing was started.")
        await hand.press("S")
        await hand.sees("Type yes")
        await hand.press("up", "up", "5", "enter", "enter", *"yes", "enter")
        await hand.sees("▶ runs by itself, in this dashboard")
        assert any("let the network run" in one.text for one in hand.app.session.activity)
        assert network_of(hand).limits.failures_in_a_row in (3, 35)
        assert network_of(hand).limits.destinations == ("local",)


async def test_a_paused_run_goes_on_with_more_by_one_key_and_one_verb_at_a_time() -> None:
    gate = asyncio.Event()

    async def wait() -> None:
        await gate.wait()

    async with opened(with_network()) as hand:
        await at_network(hand)
        # a verb that is refused is told, and can be tried again
        network_of(hand).refuses = "run 1 is driven by pid 9 on login2"
        await hand.press("S", *"yes", "enter")
        await hand.sees("driven by pid 9", "try again later", "▲ paused")
        network_of(hand).refuses = ""
        network_of(hand).calls.clear()
        network_of(hand).gate = wait
        await hand.press("S")
        await hand.sees("Go on with run 2026-11-21T0412?", "of 120 confirmed", "168")
        await hand.press(*"yes", "enter")
        # while the engine works no second one is taken
        await hand.sees("◐ starting the run…")
        await hand.press("S")
        await hand.sees("starting the run is under way")
        gate.set()
        await hand.sees("▶ runs by itself")
        assert network_of(hand).limits == RunLimits(
            cpu_hours=168.0, jobs_in_queue=10, destinations=("local",), failures_in_a_row=3
        )
        assert network_of(hand).calls == ["start"]


async def test_the_autopilot_is_stopped_by_a_key_and_leaving_while_it_drives_asks() -> None:
    async with opened(with_network(**RUNNING)) as hand:
        await at_network(hand)
        await hand.press("q")
        await hand.sees("Leave, and stop the run?")
        await hand.press("escape")
        await hand.sees("[8 Network]")
        await hand.press("S")
        await hand.sees("it runs by itself already: x stops it")
        await hand.press("x")
        await hand.sees("submitted jobs continue", "○ stopped")
        await hand.press("x")
        await hand.sees("stop: the network does not run by itself")
    async with opened(with_network(**RUNNING)) as hand:
        await at_network(hand)
        await hand.press("q", *"yes", "enter")
        await hand.until(lambda: not hand.app.is_running, "it has ended")


async def test_all_that_failed_is_retried_after_the_number_is_typed_or_one_under_the_cursor() -> (
    None
):
    async with opened(with_network()) as hand:
        await at_network(hand)
        await hand.press("tab", "tab", "tab")
        await hand.press("j", "R")
        await hand.sees("Retry 1 failed sample?")
        await hand.press("escape")
        await hand.sees("Nothing was retried.")
        await hand.press("shift+tab", "shift+tab", "shift+tab", "R")
        await hand.sees("Retry 2 failed samples?", "all samples that failed")
        await hand.press("2", "enter")
        await hand.sees_no("Failed: 2 samples")
        assert network_of(hand).calls == ["retry [17, 101]"]
        await hand.press("R")
        await hand.sees("retry: no sample failed")


async def test_only_the_marked_samples_are_retried_and_the_marks_go() -> None:
    async with opened(with_network()) as hand:
        await at_network(hand)
        await hand.press("enter", "space", "space")
        await hand.sees("2 of 60 samples marked")
        await hand.press("R")
        await hand.sees("Retry 1 failed sample?", "marked samples")
        await hand.press(*"yes", "enter")
        await hand.sees("1 sample will be tried again.")
        await hand.sees_no("marked")
        assert network_of(hand).calls == ["retry [17]"]


async def test_cancelling_says_how_many_jobs_depend_on_it() -> None:
    async with opened(with_network()) as hand:
        await at_network(hand)
        await hand.press("c")
        await hand.sees("the cursor is not on a job")
        await hand.press("enter", "j", "c")
        await hand.sees(
            "Cancel 1 sample?", "1 job (1 submitted)", "5 further samples need the results"
        )
        await hand.press("escape")
        await hand.sees("Nothing was cancelled.")
        await hand.press("c", *"yes", "enter")
        await hand.sees("1 sample cancelled.")
        assert network_of(hand).calls == ["cancel [1001]"]


async def test_a_step_goes_to_the_submission_or_says_why_there_is_none() -> None:
    engine = with_network(blocked=("state,t=1: workflow.toml does not let it run there",))
    async with opened(engine) as hand:
        await at_network(hand)
        await hand.press("s")
        await hand.sees("workflow.toml does not let it run there")
        network_of(hand).plan = await engine.plans.make(1, [0], None)
        await hand.press("s")
        await hand.sees("[5 Submit]", "Nothing is sent yet")
        await hand.press("escape")
        await hand.sees("[8 Network]")


async def test_what_network_toml_says_now_is_a_key_away() -> None:
    async with opened(with_network(changed=True)) as hand:
        await at_network(hand)
        await hand.sees("has changed since")
        await hand.press("equals_sign")
        await hand.sees("network.toml as it is now")
        await hand.press("s")
        await hand.sees("this is network.toml as it is now: = shows the run")
        await hand.press("S")
        await hand.sees("Start a new run?")
        await hand.press(*"yes", "enter")
        await hand.sees("▶ runs by itself")
        assert network_of(hand).calls == ["start anew"]


async def test_read_only_looks_but_does_nothing() -> None:
    async with opened(with_network(), read_only=True) as hand:
        await at_network(hand)
        for key in ("s", "S", "R", "c"):
            await hand.press(key)
            await hand.sees("the project was opened read-only")
            hand.app.clear_notifications()
        assert not network_of(hand).calls


async def test_no_network_says_what_one_is_and_an_error_says_what_is_wrong() -> None:
    async with opened() as hand:
        await hand.sees("78 eligible")
        await hand.press("8")
        await hand.sees("This project has no network.", "rowtui network init")
    engine = with_network()
    async with opened(engine) as hand:
        network_of(hand).error = RowtuiError("network.toml:3:1: no such node", "look again")
        await hand.sees("78 eligible")
        await hand.press("8")
        await hand.sees("network.toml:3:1: no such node", "look again")
        network_of(hand).error = None
        await hand.press("r")
        await hand.sees("60 samples")


async def test_the_list_is_shown_where_it_is_narrow_and_on_demand() -> None:
    async with opened(with_network(), size=(80, 24)) as hand:
        await hand.sees("78 eligible")
        await hand.press("8")
        await hand.sees("7 nodes · 102 samples")
        await hand.rests()
        await hand.sees("›   simulate ◆", "i graph", "51%")
        await hand.press("i")
        await hand.sees("┏ simulate ◆")
        await hand.press("i", "j", "enter")
        await hand.sees("Samples of average", "12 samples")
        await hand.press("escape")
        await hand.sees("›     average ◆")
        # and it is a list like others: what fits a filter, in another order, to the first again
        await hand.press("slash", *"failed>0", "enter")
        await hand.sees("simulate ◆", "train")
        await hand.sees_no("folds")
        await hand.press("escape", "o")
        await hand.sees("Node ▲")
        await hand.press("g")
        await hand.sees("folds")


async def test_a_view_drawn_again_between_a_key_and_its_message_does_not_undo_the_key() -> None:
    async with opened(with_network()) as hand:
        await at_network(hand)
        screen = hand.app.screen
        assert isinstance(screen, NetworkScreen)
        screen._net.picture.action_right()
        screen.show_body()
        await hand.sees("Samples of average")
        assert screen._net.picture.chosen == screen.look.chosen == ("", "average")
        await hand.press("i")
        await hand.sees("i graph", "average ◆")
        screen._net.nodes.action_line_down()
        screen.show_body()
        await hand.sees("Samples of folds")
        assert screen._net.nodes.cursor_key == screen.look.chosen == ("", "folds")


async def test_samples_are_filtered_sorted_marked_and_found() -> None:
    async with opened(with_network()) as hand:
        await at_network(hand)
        # a node by its name, then what is none: a filter of its samples
        await hand.press("slash", *"tra", "enter")
        await hand.sees("Samples of train", "15 samples")
        await hand.press("slash", *"fold=1 !complete", "enter")
        await hand.sees("3 of 15 samples", "temperature")
        await hand.press("a")
        await hand.sees("3 of 15 shown · 3 of 15 samples marked")
        await hand.press("escape", "escape")
        await hand.sees_no("of 15 samples")
        # ranges: from here to there
        await hand.press("g", "v", "j", "j", "v")
        await hand.sees("3 of 15 samples marked")
        await hand.press("R")
        await hand.sees("Retry 1 failed sample?", "marked samples")
        await hand.press("escape", "escape")
        await hand.press("o", "o")
        await hand.sees("State ▼")
        await hand.press("slash", *"nofield<3")
        await hand.sees("nofield")


async def test_the_way_to_the_cause_and_stale_results_are_a_key_away() -> None:
    async with opened(with_network()) as hand:
        await at_network(hand)
        await hand.press("w")
        await hand.sees("why: the cursor is not on a sample")
        await hand.press("l", "enter", "w")
        await hand.sees("Dependencies", "└ ▶ submitted  simulate", "All that it waits for itself")
        await hand.press("escape", "colon", *"redo", "enter")
        await hand.sees("Make 5 results again?", "average 2, train 3", "go to the trash")
        await hand.press("escape")
        await hand.sees("Nothing was put away.")
        await hand.press("colon", *"redo", "enter", "5", "enter")
        await hand.sees("5 samples will run again")
        assert network_of(hand).calls == ["redo [] 5"]
        network_of(hand).refuses = "it would be 7 jobs now, not 5"
        await hand.press("colon", *"redo", "enter", "5", "enter")
        await hand.sees("it would be 7 jobs now, not 5")


async def test_every_size_is_drawn_and_every_pane_is_reached() -> None:
    async with opened(with_network(), size=(20, 5)) as hand:
        await hand.until(lambda: hand.app.session.snapshot, "the project")
        await hand.press("8")
        await hand.until(lambda: hand.app.session.network.view, "the network")
        for size in ((20, 5), (80, 24), (40, 12), (110, 20)):
            await hand.pilot.resize_terminal(*size)
            for _ in range(6):
                await hand.press("tab", "j", "k")
                lines = hand.text().splitlines()
                assert len(lines) <= size[1]
                assert isinstance(hand.app.view, NetworkScreen)
                assert hand.app.view.focused is not None


async def test_a_network_of_many_samples_costs_no_more_than_its_nodes() -> None:
    engine = with_network(nodes=big(200_000))
    async with opened(engine) as hand:
        await at_network(hand)
        await hand.sees("▶ 1,000 submitted")
        picture = hand.app.screen.query_one(NetworkGraph)
        before = picture.painted_lines
        network_of(hand).generation += 1
        engine.tell("network")
        await hand.rests()
        assert picture.painted_lines - before <= 2 * picture.size.height
        await hand.press("enter", "G")
        await hand.sees("200,000 samples", "✓ completed")


async def test_what_did_not_change_is_not_painted_again_and_what_changed_stands_out() -> None:
    engine = with_network()
    async with opened(engine) as hand:
        await at_network(hand)
        picture = hand.app.screen.query_one(NetworkGraph)
        asked = []
        refresh = picture.refresh
        picture.refresh = lambda *a, **k: (asked.append(1), refresh(*a, **k))[1]  # type: ignore[method-assign]
        hand.engine.tell("network")
        await hand.rests()
        assert not asked
        # what changed stands out for a moment
        graph = network_of(hand)
        graph.nodes = tuple(
            node._replace(counts=counts(completed=32, submitted=7, eligible=20, failed=1))
            if node.name == "simulate"
            else node
            for node in graph.nodes
        )
        graph.generation += 1
        engine.tell("network")
        view = hand.app.view
        assert isinstance(view, NetworkScreen)
        await hand.until(
            lambda: view._net.picture.picture and view._net.picture.picture.changed,
            "the node stands out",
        )
        await hand.until(lambda: view._samples.table._flashing, "and the sample that ended")
