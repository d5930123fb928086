"""The Network view on real projects with the local queue: driven to the end, paused, mended."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from rowtui.cli.demo.command import RealDemo, make_study
from rowtui.core.engine.local import InProcessEngine
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.views.views import Played
from rowtui.tui.shell.app import RowtuiApp

from tests.tui.hand import Hand, hand_on
from tests.tui.test_real_engine import processes_in, wait_for_the_end_of

STUDY = Path(__file__).parents[2] / "examples" / "study"

WORKFLOW = """\
[workspace]
value_file = "v.json"

[[action]]
name = "make"
command = "sh make.sh {directory}"
products = ["x"]
[action.resources]
walltime.per_directory = "00:01:00"
[action.group]
maximum_size = 1
[[action.group.include]]
condition = ["/node", "==", "state"]

[[action]]
name = "sum"
command = "touch workspace/{directory}/sum"
products = ["sum"]
[action.resources]
walltime.per_directory = "00:01:00"
[[action.group.include]]
condition = ["/node", "==", "sum"]
"""
SCRIPT = """\
test -e "bad-$1" && echo "no forces" && exit 3
touch "workspace/$1/x"
"""
NETWORK = """\
name = "small"
[[source]]
name = "state"
[source.values]
t = { range = 3 }

[[node]]
name = "make"
from = "state"

[[node]]
name = "sum"
from = "make"
output = "x"
collapse = ["t"]

[[sink]]
name = "out"
from = "sum"
output = "sum"
publish = "results/sum"
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "project"
    (root / "workspace").mkdir(parents=True)
    (root / "workflow.toml").write_text(WORKFLOW)
    (root / "network.toml").write_text(NETWORK)
    (root / "make.sh").write_text(SCRIPT)
    monkeypatch.setenv("ROWTUI_LOCAL_DIR", str(tmp_path / "queue"))
    monkeypatch.setenv("ROWTUI_LOCAL_CORES", "4")
    return root


@asynccontextmanager
async def opened(
    root: Path, size: tuple[int, int] = (120, 36), played: Played | None = None
) -> AsyncIterator[Hand[InProcessEngine]]:
    environment = {"HOME": str(root.parent), "PATH": os.environ["PATH"]}
    engine = InProcessEngine(OpenProject.open(root, cluster="local", environment=environment))
    try:
        async with hand_on(RowtuiApp(engine, played=played), engine, size) as hand:
            yield hand
    finally:
        await engine.close()
        left = processes_in(root.parent)
        for pid, words in left.items():
            if b"local_supervisor" in words:  # it would wait a while for more jobs
                os.kill(pid, signal.SIGTERM)
        for pid in left:
            wait_for_the_end_of(pid)


async def on_the_network(hand: Hand[InProcessEngine]) -> None:
    await hand.sees("local ●")
    await hand.press("8")
    await hand.sees("no run yet", "that ask for at most")


async def start(hand: Hand[InProcessEngine]) -> None:
    await hand.press("S")
    await hand.sees("Type yes")
    await hand.press(*"yes", "enter")


async def test_from_no_network_over_a_broken_one_and_an_empty_workspace_to_its_result(
    root: Path,
) -> None:
    (root / "network.toml").unlink()
    async with opened(root) as hand:
        # without a network the view says what one is
        await hand.sees("local ●")
        await hand.press("8")
        await hand.sees("This project has no network.", "rowtui network init")
        await hand.press("S")
        await hand.sees("run: the project has no network.toml")
        # a broken one is told, and comes back when it is mended
        (root / "network.toml").write_text(NETWORK.replace('from = "make"', 'from = "mkae"'))
        await hand.press("r")
        await hand.sees("network.toml:", "mkae")
        (root / "network.toml").write_text(NETWORK)
        await hand.press("r")
        await hand.sees("no run yet", "that ask for at most")
        # the default answer starts nothing
        hand.app.clear_notifications()
        await hand.press("S")
        await hand.sees(
            "Start a new run?", "4 samples, which ask for at most", "CPU-hours", "local"
        )
        await hand.press("escape")
        await hand.sees("Nothing was started.")
        await hand.press("S", "escape")
        await hand.rests()
        assert not list((root / "workspace").iterdir())
        assert "no run yet" in hand.text()
        hand.app.clear_notifications()
        await hand.sees("2 nodes · 4 samples", "○ 3 eligible", "over t", "0 of 1")
        await start(hand)
        await hand.sees("✓ finished", "✓ 3 completed", "1 of 1")
        assert (root / "results" / "sum").is_file()
        # The cursor of a user who only watched is on the result, which is shown.
        assert hand.app.session.network.chosen == ("sink", "out")
        await hand.sees("out (sink)")
        await hand.press("s")
        await hand.sees("the run is over: S starts a new one")


async def test_the_first_steps_of_the_network_demo_lead_to_a_run(
    tmp_path: Path, root: Path
) -> None:
    make_study(study := tmp_path / "demo")
    async with opened(study, (80, 24), RealDemo(list, "rowtui demo network", "network")) as hand:
        # An empty workspace is no study whose steps are over.
        await hand.sees("local ●", "The workspace has no directories yet")
        await hand.sees("DEMO", "Next: 8 how samples flow")
        await hand.press("8")
        await hand.sees("no run yet", "Next: S let it run by itself; it asks for limits first")
        await start(hand)
        await hand.sees("▶ runs by itself", "Next: h l from node to node")
        await hand.press("x")
        await hand.sees("○ stopped", "Next: S let it run by itself")


async def test_a_failed_job_is_seen_with_what_it_costs_and_retried(root: Path) -> None:
    (root / "bad-state,t=1").touch()
    async with opened(root) as hand:
        await on_the_network(hand)
        await start(hand)
        await hand.sees("✗ failed", "Failed: 1 sample, 1 other blocked", "1 other")
        await hand.press("tab", "tab", "tab", "enter")
        await hand.sees("[7 Log]", "no forces")
        await hand.press("8")
        (root / "bad-state,t=1").unlink()
        await hand.press("R")
        await hand.sees("Retry 1 failed sample?")
        await hand.press(*"yes", "enter")
        await hand.sees("jobs are to run again")
        await start(hand)
        await hand.sees("✓ finished", "1 of 1")


async def test_a_run_that_reaches_its_limits_asks_and_goes_on_with_more(root: Path) -> None:
    async with opened(root) as hand:
        await on_the_network(hand)
        await hand.press("S")
        await hand.sees("Type yes")
        await hand.press("tab", "ctrl+a", "ctrl+k", *"0.034", "enter")
        screen = hand.app.screen
        while getattr(screen.focused, "id", "") != "allow-answer":
            await hand.press("down")
        await hand.press(*"yes", "enter")
        await hand.sees("▲ paused", "of 0.03 confirmed", "S goes on")
        await hand.press("1")
        await hand.sees("network small:")
        await hand.press("8")
        await start(hand)
        await hand.sees("✓ finished")


async def test_a_run_that_was_stopped_goes_on_and_its_jobs_meanwhile(root: Path) -> None:
    (root / "make.sh").write_text("while test ! -e go; do sleep 0.2; done\n" + SCRIPT)
    async with opened(root) as hand:
        await on_the_network(hand)
        await start(hand)
        await hand.sees("▶ 3 submitted")
        await hand.press("enter", "c")
        await hand.sees("Cancel 1 sample?", "1 further sample needs the results")
        await hand.press("escape", "x")
        await hand.sees("○ stopped")
        (root / "go").touch()
        await hand.sees("✓ 3 completed", "○ 1 eligible")
        await start(hand)
        await hand.sees("✓ finished")


async def test_one_step_is_a_plan_that_is_confirmed(root: Path) -> None:
    (root / "make.sh").write_text(SCRIPT.replace("touch", "echo energy -0.25 >"))
    async with opened(root) as hand:
        await on_the_network(hand)
        await hand.press("s")
        await hand.sees("[5 Submit]", "3 jobs")
        await hand.press("s", "3", "enter")
        await hand.sees("3 of 3 jobs accepted")
        await hand.press("8")
        await hand.sees("✓ 3 completed", "nothing drives it now")
        await hand.sees("energy -0.25")  # the product of the first sample
        await hand.press("tab", "tab")
        await hand.sees("Enter files")
        await hand.press("enter")
        await hand.sees("Files of state,t=0", "product")
        await hand.press("escape", "escape")
        await hand.press("s")
        await hand.sees("[5 Submit]", "1 job")
        await hand.press("s", *"yes", "enter")
        await hand.sees("1 of 1 job accepted")
        await hand.press("8")
        await hand.sees("1 of 1")


async def test_the_example_runs_to_its_plot_from_a_narrow_screen(
    root: Path, tmp_path: Path
) -> None:
    study = tmp_path / "study"
    shutil.copytree(STUDY, study)
    network = (STUDY / "network.toml").read_text()
    for many, few in (
        ("[1.0, 2.0, 3]", "[1.0, 2.0, 2]"),
        ("[0.5, 1.0]", "[0.5]"),
        ("[8, 16]", "[8]"),
    ):
        assert many in network
        network = network.replace(many, few)
    (study / "network.toml").write_text(network)
    async with opened(study, size=(80, 24)) as hand:
        await on_the_network(hand)
        await hand.sees("over pressure, size", "○ 4 eligible")
        await start(hand)
        await hand.sees("✓ finished")
        await hand.sees("✓ 4 completed", "1 of 1")
    assert (study / "results" / "slopes.svg").is_file()
