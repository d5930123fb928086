"""`rowtui network run --simulate`: what is printed of the example study."""

from __future__ import annotations

import argparse
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from rowtui.cli.network.parser import simulation_options
from rowtui.cli.network.run import simulate_run as run
from rowtui.cli.network.shared.simulation_text import span
from rowtui.cli.output.output import Output
from rowtui.core.base.errors import RowtuiError

from tests.schemas import fits

EXAMPLE = Path(__file__).parents[2] / "examples/study"
TIMES = ("--seconds", "simulate=120,average=30", "--seconds", "fit=10,plot=30")


class Command:
    """The command in a copy of the example; gives what it printed."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self.capture = capture
        self.run_id = ""

    def __call__(self, *words: str, color: str = "never") -> str:
        parser = argparse.ArgumentParser()
        simulation_options(parser.add_argument_group("Simulation"))
        parser.add_argument("--json", action="store_true")
        args = parser.parse_args(words)
        args.cluster, args.run = "local", self.run_id
        self.capture.readouterr()
        assert run(args, Output(color=color)) == 0
        return self.capture.readouterr().out

    def json(self, *words: str) -> Any:
        return fits("network-simulation", json.loads(self(*words, "--json")))


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    for name in [it for it in os.environ if it.startswith(("XDG_", "SLURM_", "ROW_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    left_out = shutil.ignore_patterns("workspace", ".row", "results")
    shutil.copytree(EXAMPLE, tmp_path / "study", ignore=left_out)
    (tmp_path / "study/workspace").mkdir()
    monkeypatch.chdir(tmp_path / "study")
    return Command(capsys)


def test_each_order_has_a_line_and_the_shortest_is_drawn(command: Command) -> None:
    text = command(*TIMES, "--machines", "4 CPUs 2/h x 2")

    lines = text.splitlines()
    assert lines[0] == "study: 41 jobs left, on 2 x 4 CPUs 2/h"
    assert "simulate   24    1 00:02:00 given" in lines
    for name in ("sample", "sink", "critical-path", "row", "source:+1", "source:-1"):
        assert sum(line.startswith(f"{name} ") for line in lines) == 1
    least = "No order takes less than 00:06:54; the longest way through the network takes 00:03:10."
    assert least in lines
    drawn = [line for line in lines if line.startswith("4 CPUs 2/h ")]
    assert len(drawn) == 2
    assert "AAAA" in drawn[0]
    assert lines[-1] == "A simulate  B average  C fit  D plot"
    assert not list(Path("workspace").iterdir())  # nothing was made


def test_with_colours_a_cell_is_a_block(command: Command) -> None:
    text = command(*TIMES, "--machines", "4 CPUs", color="always")

    assert "\x1b[32m█" in text
    assert text.splitlines()[-1].startswith("\x1b[32m█\x1b[0m simulate")


def test_json_has_every_plug_in_and_the_chart(command: Command) -> None:
    told = command.json(*TIMES, "--machines", "4 CPUs 2/h", "--gantt", "row", "--gantt-by", "nodes")

    assert (told["version"], told["jobs"], told["completed"]) == (1, 41, 0)
    assert told["critical_path_seconds"] == 190
    assert told["machines"][0]["memory_mb"] is None
    assert {it["name"]: it["basis"] for it in told["nodes"]}["fit"] == "given"
    for it in told["plugins"]:
        assert it["error"] is None
        assert it["makespan_seconds"] >= told["least_seconds"]
        assert it["cost"]["price"] == pytest.approx(2 * it["makespan_seconds"] / 3600)
    chart = told["gantt"]
    assert (chart["plugin"], chart["by"]) == ("row", "nodes")
    assert [row["label"] for row in chart["rows"]] == ["simulate", "average", "fit", "plot"]
    assert chart["rows"][0]["cells"][0] == ["simulate", 1.0]
    assert chart["rows"][3]["cells"][0] == [None, 0.0]


def test_jobs_that_fit_nowhere_are_told(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROWTUI_LOCAL_CORES", "64")
    path = Path("workflow.toml")
    path.write_text(
        path.read_text().replace(
            'products = ["slope.json"]\n[action.resources]',
            'products = ["slope.json"]\n[action.resources]\nthreads_per_process = 8',
        )
    )

    text = command("--machines", "4 CPUs")

    assert "! 4 jobs of fit fit on no machine: 8 CPUs." in text
    assert "! 1 job needs one of those." in text


def test_failures_are_begun_anew(command: Command) -> None:
    told = command.json(*TIMES, "--machines", "4 CPUs", "--failures", "0.3")

    assert {it["reruns"] > 0 for it in told["plugins"]} == {True}
    assert len({it["reruns"] for it in told["plugins"]}) == 1  # every order meets the same
    other = command.json(*TIMES, "--machines", "4 CPUs", "--failures", "0.3", "--seed", "2")
    assert other["plugins"][0]["reruns"] != told["plugins"][0]["reruns"]


def test_a_node_type_that_is_not_text_for_a_terminal_is_made_visible(command: Command) -> None:
    with pytest.raises(RowtuiError) as caught:
        command("--machines", "4 \x1b[31mCPUs")
    assert "\x1b" not in caught.value.message


def test_what_does_not_exist_is_refused(command: Command) -> None:
    with pytest.raises(RowtuiError, match="no scheduling plug-in 'fastest'"):
        command("--gantt", "fastest")
    with pytest.raises(RowtuiError, match="no node 'simulat'"):
        command("--seconds", "simulat=3")
    with pytest.raises(SystemExit):
        command("--failures", "1")


def test_when_all_is_done_that_is_said(command: Command) -> None:
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.runs.directories.directories import make_directories
    from rowtui.core.runs.snapshot import read_study, wanted_directories

    project = OpenProject.open(Path.cwd(), cluster="local")
    flow = read_study(project).flow
    make_directories(project, wanted_directories(flow), lambda _: None)
    for action in project.workflow.actions:
        for name in flow.directories(action.name):
            (Path("workspace") / name / action.products[0]).write_text("{}")
    project.synchronise(full=True)

    text = command()

    assert "0 jobs left, 41 completed" in text
    assert text.splitlines()[-1] == "Nothing is left to do."


def test_a_run_is_simulated_as_it_was_frozen(command: Command) -> None:
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.runs.snapshot import read_study
    from rowtui.core.runs.store import RunStore

    study = read_study(OpenProject.open(Path.cwd(), cluster="local"))
    run = RunStore(Path.cwd()).create(study.network, study.rows.values())
    path = Path("network.toml")
    path.write_text(path.read_text().replace("[0.5, 1.0]", "[0.5]"))

    assert command.json()["jobs"] == 12 + 6 + 2 + 1
    command.run_id = run.id
    assert command.json()["jobs"] == 41
    assert [type(it) for it in run.events()] == []  # and nothing of it was touched

    command.run_id = "1999-01-01-1"
    with pytest.raises(RowtuiError, match="no run"):
        command()


def test_times_are_short() -> None:
    assert [span(it) for it in (0, 99, 100, 5999, 6000, 400_000)] == [
        "0 s", "99 s", "2 min", "100 min", "1.7 h", "4.6 d",
    ]  # fmt: skip
