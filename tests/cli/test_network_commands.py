"""`rowtui network` but for `run`: writing, checking, showing, making and putting away."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from rowtui.cli.complete import COMPLETERS, Completer
from rowtui.cli.main import main
from rowtui.core.network.definition.load import load_network

from tests.cli.on_clusters import OnClusters
from tests.cli.small_network import NETWORK, STUDY, WORKFLOW, small_network, study

ACTIONS = STUDY.parent / "actions"


@pytest.fixture
def small(here: OnClusters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Inside of the small network's project."""
    folder = small_network(tmp_path / "project")
    monkeypatch.chdir(folder)
    return folder


def shown(here: OnClusters, *words: str, code: int = 0) -> Any:
    done = here("network", *words, "--json")
    assert done.code == code, done.err
    return json.loads(done.out)


# -- init ------------------------------------------------------------------------------------------


def test_the_file_to_begin_with_has_a_node_for_each_action_and_can_be_used(
    here: OnClusters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "actions"
    folder.mkdir()
    shutil.copy(ACTIONS / "workflow.toml", folder)
    monkeypatch.chdir(folder)
    assert here("network", "init").code == 0
    network = load_network(folder).network
    assert [(node.name, node.inputs[0].links[0].source) for node in network.nodes] == [
        ("generate", "state"),
        ("square", "generate"),
        ("total", "square"),
    ]
    done = here("network", "check")
    assert done.code == 0
    assert done.out.startswith("network.toml can be used: 18 samples")


def test_a_network_that_is_there_is_only_replaced_by_force(here: OnClusters, small: Path) -> None:
    done = here("network", "init")
    assert done.code == 1
    assert "--force" in done.err
    assert (small / "network.toml").read_text() == NETWORK
    assert here("network", "init", "--force").code == 0
    assert (small / "network.toml").read_text() != NETWORK


def test_directories_that_are_there_become_the_source(here: OnClusters, small: Path) -> None:
    (small / "network.toml").unlink()
    (small / "workspace" / "a").mkdir(parents=True)
    (small / "workspace" / "a" / "value.json").write_text('{"x": 1}')
    assert here("network", "init").code == 0
    samples = shown(here, "show", "state")
    assert [it["directory"] for it in samples["samples"]] == ["a"]


def test_names_that_no_node_may_have_are_made_plain(here: OnClusters, small: Path) -> None:
    (small / "network.toml").unlink()
    odd = WORKFLOW.replace('name = "sum"', r'name = "a \"b\" \u001b[2J"')
    (small / "workflow.toml").write_text(odd)
    done = here("network", "init")
    assert done.code == 0, done.err
    nodes = load_network(small).network.nodes
    assert {node.action for node in nodes} == {"one", 'a "b" \x1b[2J'}


# -- run -------------------------------------------------------------------------------------------


def test_the_proposed_budget_pays_for_what_a_failure_had_not_reached(
    here: OnClusters, small: Path
) -> None:
    one_job = WORKFLOW.replace("group.maximum_size = 1", "group.maximum_size = 3")
    (small / "workflow.toml").write_text(one_job)
    (small / "network.toml").write_text(NETWORK + "require = 2\n")
    (small / "broken").touch()
    done = here("network", "run", "--yes")
    assert "Paused" not in done.err
    assert "1 sample failed" in done.err
    assert (small / "workspace" / "sum" / "sum").exists()


def test_jobs_that_are_refused_are_named_with_the_reason_everywhere(
    here: OnClusters, small: Path
) -> None:
    (small / "mapping.yml").write_text("tools:\n  one:\n    cores: 1 + 1\n")
    why = "waits for trust: mapping.yml is not trusted yet"

    done = here("network", "run", "--yes")

    assert done.code == 1
    assert "1 sample to send" in done.out
    assert f"one: 3 samples are refused: {why}" in done.err
    assert "Paused: one: 3 jobs left out" in done.err
    shown = " ".join(here("network").out.split())
    assert "why: one: 3 jobs left out" in shown
    assert f"one: 3 samples are refused: {why}" in shown
    view = json.loads(here("network", "show", "--json").out)
    assert why in view["run"]["why"]
    assert [(it["node"], it["jobs"]) for it in view["refused"]] == [("one", 3)]


def test_the_proposed_budget_holds_back_nothing_that_lists_add(
    here: OnClusters, small: Path
) -> None:
    (small / "step.sh").write_text('echo "[1, 2, 3, 4, 5]" > "workspace/$1/one"\n')
    text = NETWORK.replace('collapse = ["x"]', 'expand = "part"').replace("[1, 2, 3]", "[1]")
    (small / "network.toml").write_text(text)
    done = here("network", "run", "--yes")
    assert done.code == 0, done.err
    assert "no limit on CPU-hours, as lists add jobs" in done.out
    assert len(list((small / "workspace").glob("sum,*/sum"))) == 5


# -- check -----------------------------------------------------------------------------------------


def test_everything_that_is_wrong_is_told_at_once_with_its_place(
    here: OnClusters, small: Path
) -> None:
    wrong = NETWORK.replace('output = "one"', 'output = "onee"').replace(
        '[[node]]\nname = "one"', '[[source]]\nname = "t"\ncsv = "t.csv"\n\n[[node]]\nname = "one"'
    )
    (small / "network.toml").write_text(wrong)
    done = here("network", "check")
    assert done.code == 1
    assert "network.toml:17:" in done.err
    assert "onee" in done.err
    assert "t.csv" in done.err
    told = shown(here, "check", code=1)
    assert not told["ok"]
    places = {(it["line"], it["severity"]) for it in told["problems"]}
    assert {(8, "error"), (17, "error")} <= places


def test_check_says_for_each_node_which_directories_it_uses_and_why(
    here: OnClusters, small: Path
) -> None:
    done = here("network", "check")
    assert done.code == 0
    assert "  one: those of s, as its one input, 's', has the same samples\n" in done.out
    assert "  sum: its own, as its link collapses x\n" in done.out
    assert shown(here, "check")["directories"] == [
        {"node": "one", "home": "s", "why": "its one input, 's', has the same samples"},
        {"node": "sum", "home": "sum", "why": "its link collapses x"},
    ]


def test_an_action_without_products_is_refused_by_check_and_by_run(
    here: OnClusters, small: Path
) -> None:
    (small / "workflow.toml").write_text(WORKFLOW.replace('products = ["sum"]\n', ""))
    message = "node 'sum': action 'sum' has no products, so it never completes"

    check = here("network", "check")
    told = shown(here, "check", code=1)
    run = here("network", "run", "--yes")

    assert check.code == run.code == 1
    assert [(it["severity"], it["message"]) for it in told["problems"]] == [("error", message)]
    refused, refused_too = (
        [line for line in done.err.splitlines() if line.startswith("[ERROR") and message in line]
        for done in (check, run)
    )
    assert len(refused) == 1
    assert refused == refused_too
    assert shown(here, "runs")["runs"] == []
    assert [*(small / "workspace").iterdir()] == []


def test_a_broken_workflow_does_not_hide_a_broken_network(here: OnClusters, small: Path) -> None:
    (small / "workflow.toml").write_text("[[action]]\n")
    (small / "network.toml").write_text(NETWORK.replace('from = "s"', 'from = "nobody"'))
    done = here("network", "check")
    assert done.code == 1
    assert "workflow.toml" in done.err
    assert "nobody" in done.err


def test_without_a_network_each_command_says_how_to_begin(here: OnClusters, small: Path) -> None:
    (small / "network.toml").unlink()
    for words in ((), ("show",), ("run", "--yes"), ("make",), ("runs",), ("check",)):
        done = here("network", *words)
        assert done.code == 1
        assert "network init" in done.err


# -- show ------------------------------------------------------------------------------------------


def test_network_alone_shows_nodes_samples_and_links(here: OnClusters, small: Path) -> None:
    done = here("network")
    assert done.code == 0
    assert done.out == here("network", "show").out
    assert "small: 4 samples; no run yet." in done.out
    assert "3 eligible" in done.out
    assert "from one/one, collapse x" in done.out


def test_the_views_are_json_for_programs(here: OnClusters, small: Path) -> None:
    view = shown(here, "show")
    nodes = {node["name"]: node for node in view["nodes"]}
    assert nodes["one"]["states"]["eligible"] == 3
    assert nodes["sum"]["states"]["waiting"] == 1
    assert nodes["s"]["dimensions"] == [{"name": "x", "size": 3}]
    assert view["links"][1]["collapse"] == ["x"]
    assert view["run"] is None


def test_samples_are_chosen_by_state(here: OnClusters, small: Path) -> None:
    ready = shown(here, "show", "one", "--state", "eligible,failed")
    assert [it["values"]["x"] for it in ready["samples"]] == [1, 2, 3]
    assert shown(here, "show", "one", "--state", "failed")["total"] == 0
    done = here("network", "show", "one", "-n", "1")
    assert done.out.splitlines()[1].split() == ["s,x=1", "eligible", "1"]
    assert "2 more" in done.err
    assert here("network", "show", "one", "--state", "odd").code == 2
    assert "no source or node 'two'" in here("network", "show", "two").err


def test_the_graph_for_graphviz_takes_any_name(here: OnClusters, small: Path) -> None:
    text = NETWORK.replace('output = "one"', 'output = "one/\\"a"')
    (small / "network.toml").write_text(text)
    done = here("network", "show", "--dot")
    assert done.code == 0, done.err
    assert '"one" -> "sum" [label="one/\\"a\\ncollapse x"];' in done.out


def test_names_that_steer_terminals_are_shown_and_not_obeyed(here: OnClusters, small: Path) -> None:
    (small / "network.toml").write_text(
        '[[source]]\nname = "s"\nworkspace = true\n[[node]]\nname = "one"\nfrom = "s"\n'
    )
    name = "a\x1b[2J'\n\"b"
    (small / "workspace" / name).mkdir(parents=True)
    (small / "workspace" / name / "value.json").write_text("{}")
    # the fixture holds that nothing of it reaches the terminal
    assert "\\x1b" in here("network", "show", "one").out
    assert here("network").code == 0
    assert shown(here, "show", "one")["samples"][0]["directory"] == name


# -- what waits for inputs -------------------------------------------------------------------------


def test_what_waits_for_inputs_is_told_and_is_no_directory(here: OnClusters, small: Path) -> None:
    here("network", "make")
    assert here("show", "status").out.splitlines()[-1] == (
        "1 job of the network waits for inputs: directories are made when the inputs are complete."
    )
    assert json.loads(here("show", "status", "--json").out)["network"] == {"waiting": 1}
    asked = here("explain", "sum", "sum")
    assert asked.code == 1
    assert asked.out == (
        "sum waits for 3 of 3 inputs: s,x=1 (one, eligible), s,x=2 (one, eligible), "
        "s,x=3 (one, eligible).\n"
    )
    assert json.loads(here("explain", "sum", "sum", "--json").out)["not_there"] == {
        "sum": asked.out.removeprefix("sum ").removesuffix(".\n")
    }
    # given all but one of the inputs
    (small / "broken").touch()
    here("submit", "--yes")
    assert here("explain", "sum", "sum").out == (
        "sum cannot run, as inputs are lost: s,x=2 (one, failed).\n"
    )
    (small / "broken").unlink()
    here("submit", "--yes")
    assert json.loads(here("show", "status", "--json").out)["network"] == {"waiting": 0}
    assert (small / "workspace/sum/inputs.json").exists()
    here("submit", "--yes")
    assert (small / "workspace/sum/sum").exists()
    assert "100%  1 completed" in here("network").out


# -- make, retire, restore -------------------------------------------------------------------------


def test_directories_are_made_once_and_retired_ones_go_and_come_back(
    here: OnClusters, small: Path
) -> None:
    workspace = small / "workspace"
    assert "3 directories would be made" in here("network", "make", "--dry-run").out
    assert [*workspace.iterdir()] == []
    assert here("network", "make").out == (
        "Made 3 directories; 0 were there.\n"
        "1 job waits for inputs: directories are made when the inputs are complete.\n"
    )
    assert here("network", "make").out.startswith("Made 0 directories; 3 were there.")
    assert "Every directory" in here("network", "retire").out
    # given a source with a value less
    (small / "network.toml").write_text(NETWORK.replace("[1, 2, 3]", "[1, 2]"))
    assert here("network", "retire").out.split() == ["s,x=3"]
    assert "1 directory is of samples" in here("network", "make").out
    # nobody is asked here, so nothing goes
    done = here("network", "retire", "--delete")
    assert done.code == 1
    assert "--yes" in done.err
    assert (workspace / "s,x=3").is_dir()
    assert here("network", "retire", "--delete", "--yes").code == 0
    assert not (workspace / "s,x=3").exists()
    trash = here("network", "restore").out.strip()
    assert Completer(COMPLETERS["trash"])(prefix="") == [trash]
    assert here("network", "restore", trash).code == 0
    assert (workspace / "s,x=3" / "value.json").is_file()
    assert "empty" in here("network", "restore").out


def test_a_directory_with_another_value_is_told_and_left_alone(
    here: OnClusters, small: Path
) -> None:
    (small / "workspace" / "s,x=2").mkdir(parents=True)
    (small / "workspace" / "s,x=2" / "value.json").write_text("{}")
    for words in (("make", "--dry-run"), ("make",)):
        done = here("network", *words)
        assert done.code == 1
        assert "s,x=2: it exists already, with another value" in done.err
    assert (small / "workspace" / "s,x=2" / "value.json").read_text() == "{}"


def test_what_a_run_that_is_not_over_needs_is_not_retired(here: OnClusters, small: Path) -> None:
    done = here("network", "run", "--yes", "--max-cpu-hours", "0")
    assert done.code == 1
    (small / "network.toml").write_text(NETWORK.replace("[1, 2, 3]", "[1, 2]"))
    told = shown(here, "retire")
    assert told["retired"] == []
    assert list(told["needed"]) == ["s,x=3"]


def test_clean_leaves_runs_and_the_trash(here: OnClusters, small: Path) -> None:
    assert here("network", "make").code == 0
    assert here("network", "run", "--yes", "--max-cpu-hours", "0").code == 1
    assert here("clean").code == 0
    assert [it["status"] for it in shown(here, "runs")["runs"]] == ["paused"]


# -- runs, and words for the shell -----------------------------------------------------------------


def test_a_run_that_cannot_be_used_is_shown_as_bad_beside_the_others(
    here: OnClusters, small: Path
) -> None:
    for _ in range(2):
        here("network", "run", "--yes", "--new", "--max-cpu-hours", "0")
    first, second = Completer(COMPLETERS["run"])(prefix="")[::-1]
    (small / ".row" / "rowtui" / "network" / first / "run.json").write_text("nonsense")
    done = here("network", "runs")
    assert done.code == 0
    assert [line.split()[:2] for line in done.out.splitlines()[1:]] == [
        [second, "paused"],
        [first, "bad"],
    ]
    assert "run.json is invalid" in done.err
    assert [it["status"] for it in shown(here, "runs")["runs"]] == ["paused", "bad"]


def test_the_shell_completes_nodes(here: OnClusters, small: Path) -> None:
    assert Completer(COMPLETERS["node"])(prefix="") == ["s", "one", "sum"]
    (small / "network.toml").write_text("[")
    assert Completer(COMPLETERS["node"])(prefix="") == []


@pytest.mark.parametrize(
    "words",
    [
        ("network", "show", "--dot", "--json"),
        ("network", "run", "--new", "--run", "x"),
        ("network", "run", "--step", "--yes"),
        ("network", "run", "--max-cpu-hours", "-1"),
        ("network", "run", "--max-cost", "EUR"),
        ("network", "cancel", "one"),
    ],
    ids=" ".join,
)
def test_what_cannot_go_together_is_refused(words: tuple[str, ...]) -> None:
    assert main(list(words)) == 2


def test_the_study_is_shown_in_columns_that_a_narrow_terminal_has(
    here: OnClusters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study(tmp_path / "study"))
    out = here("network").out
    assert "temperature (3) x pressure (2) x size (2) x replica (2)" in out
    assert "41 samples" in out
