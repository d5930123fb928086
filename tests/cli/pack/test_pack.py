"""`rowtui pack`, and `--pack` of plan and submit, in a real project on this machine's queue."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Shell
from tests.cli.in_process import Done, Here, prepared
from tests.cli.terminal import on_a_terminal
from tests.test_imports import Report

WORKFLOW = """\
[[action]]
name = "one"
command = "touch workspace/{directory}/one"
products = ["one"]
group.maximum_size = 1
[action.resources]
threads_per_process = 2
memory_per_cpu_mb = 64
walltime.per_submission = "00:02:00"

[[action]]
name = "wide"
command = "touch workspace/{directories}/wide"
products = ["wide"]
[action.resources]
threads_per_process = 100
"""
THEIRS = """\
from rowtui.core.packing.model import Bundle, Lane, RequestRun

class Alone:
    name = "alone"
    summary = "a node for each"
    def pack(self, problem, go_on):
        return tuple(
            Bundle(0, (Lane((RequestRun(n, 1),)),), there) for n, there in enumerate(problem.counts)
        )
"""
# Nobody is asked: plans are made for it, and packed, without a connection.
CLUSTERS = """\
[[cluster]]
name = "far"
scheduler = "slurm"
currency = "EUR"
[cluster.ssh]
host = "nowhere.invalid"
[[cluster.partition]]
name = "cpu"

[[cluster.node_type]]
name = "large"
cpus = 16
memory = "64G"
price_per_hour = 1.0
count = 2
boot_time = 60
maximum_walltime = "00:10:00"

[[cluster.node_type]]
name = "small"
cpus = 3
memory = "4G"
price_per_hour = 0.25
"""


@pytest.fixture
def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Here:
    here = prepared(tmp_path, monkeypatch, capsys, WORKFLOW)
    monkeypatch.setenv("ROWTUI_LOCAL_CORES", "4")
    monkeypatch.setenv("ROWTUI_LOCAL_MEMORY_MB", "8192")
    return here


def configured(here: Here, text: str = CLUSTERS) -> None:
    file = here.home / ".config/rowtui/clusters.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def pack(here: Here, *words: str, cluster: str = "local") -> Done:
    done = here("pack", "--search", "0", *words, "--cluster", cluster)
    assert done.code == 0, done.err
    return done


def packed(here: Here, *words: str, cluster: str = "local") -> Any:
    return json.loads(pack(here, "--json", *words, cluster=cluster).out)


# -- pack ----------------------------------------------------------------------------------------


def test_what_is_ready_is_packed_and_what_it_costs_is_told(here: Here) -> None:
    done = pack(here)
    lines = done.out.splitlines()
    assert lines[0] == "local: 3 jobs on 1 node"
    assert lines[1].startswith("Cost: 0.2")
    assert "CPU-hours instead of 0.20 CPU-hours for the jobs one by one: 36 % more" in lines[1]
    assert re.search(r"^this-machine +1 +3 [█░]{10} +\d+% [█░]{10} +\d+% +0\.2\d$", done.out, re.M)
    assert re.search(r"^ +×1 this-machine +3 +2 +4 256 MB 00:05:04 +0\.2\d one-a$", done.out, re.M)
    assert "GPUs" not in done.out
    assert "Alone: " not in done.out
    assert "wide: 1 job left out, from a on: local: the job asks for 100 CPUs" in done.err
    assert "'rowtui submit --pack' with the same options submits it, after asking.\n" in done.err


def test_json_tells_every_job_once(here: Here) -> None:
    told = packed(here)
    (there,) = told["destinations"]
    assert there["destination"] == {"cluster": "local", "partition": None}
    lanes = [lane for bundle in there["bundles"] for lane in bundle["lanes"]]
    names = [name for lane in lanes for job in lane["jobs"] for name in job["directories"]]
    assert sorted(names) == ["a", "b", "c"]
    assert there["lower_bound"] <= there["cost"]["cpu_hours"]
    assert there["alone"] == []  # what this machine can never run is in no plan
    tokens = {job["token"] for lane in lanes for job in lane["jobs"]}
    assert {token.partition("~")[0] for token in tokens} == {there["bundles"][0]["token"]}


def test_a_bundle_is_the_same_in_the_packing_and_in_the_plan(here: Here) -> None:
    (there,) = packed(here)["destinations"]
    words = ("plan", "--pack", "--search", "0", "--json", "--cluster", "local")
    plan = json.loads(here(*words).out)
    names = ("node_type", "cpus", "memory_mb", "gpus", "walltime_seconds")
    bundles = [[bundle[name] for name in names] for bundle in plan["bundles"]]
    assert bundles == [[bundle[name] for name in names] for bundle in there["bundles"]]
    (summary,) = plan["packed"]
    assert summary == {name: there[name] for name in summary}


def test_nothing_that_is_ready_is_said(here: Here) -> None:
    for name in "abc":
        (here.folder / "workspace" / name / "one").touch()
        (here.folder / "workspace" / name / "wide").touch()
    assert pack(here).out == pack(here, "--compare").out == "Nothing is eligible.\n"
    assert packed(here)["destinations"] == packed(here, "--compare")["destinations"] == []


def test_options_say_how(here: Here) -> None:
    (there,) = packed(here, "-a", "one", "--largest", "2", "--time-factor", "1.5")["destinations"]
    assert max(sum(len(lane["jobs"]) for lane in it["lanes"]) for it in there["bundles"]) == 2
    lanes = [lane["jobs"] for it in there["bundles"] for lane in it["lanes"]]
    assert {job["walltime_seconds"] for jobs in lanes for job in jobs} == {180}
    (there,) = packed(here, "-a", "one", "--longest", "00:03:20")["destinations"]
    assert {len(lane["jobs"]) for it in there["bundles"] for lane in it["lanes"]} == {1}


def test_a_packer_or_a_node_type_that_does_not_exist_is_refused(here: Here) -> None:
    done = here("pack", "--packer", "bset", "--cluster", "local")
    assert (done.code, done.out) == (1, "")
    assert "there is no packer 'bset'" in done.err
    assert "did you mean 'best'? the packers are best, fill," in done.err
    done = here("pack", "--json", "--node-type", "this-machin", "--cluster", "local")
    assert done.code == 1
    assert "did you mean 'this-machine'?" in done.err


def test_numbers_that_are_none_are_refused_before_anything_is_read(
    here: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (
        ("--longest", "soon"),
        ("--longest", "0"),
        ("--largest", "0"),
        ("--time-factor", "nan"),
        ("--time-factor", "0"),
        ("--search", "-1"),
    ):
        assert here("pack", *words).code == 2, words


def test_options_without_effect_are_refused(here: Here) -> None:
    for words, why in ((("--compare", "--packer", "seed"), "--compare packs by every packer"),):
        done = here("pack", *words)
        assert done.code == 1
        assert why in done.err
    done = here("plan", "--no-pack", "--longest", "04:00:00")
    assert (done.code, done.out) == (1, "")
    assert "--no-pack packs nothing" in done.err


def test_a_partition_without_node_types_says_how_to_find_them(here: Here) -> None:
    configured(here, CLUSTERS[: CLUSTERS.index("[[cluster.node_type]]")])
    done = pack(here, cluster="far")
    assert done.out.splitlines()[0] == "far/cpu: nothing can be packed"
    assert "`rowtui doctor --node-types far` finds them" in done.out
    assert "submit" not in done.err
    assert "finds them" in pack(here, "--compare", cluster="far").out


def test_more_bundles_than_nodes_are_said_to_wait(here: Here) -> None:
    configured(here, CLUSTERS.replace("count = 2", "count = 1"))
    words = ("--largest", "1", "--node-type", "large")
    done = pack(here, *words, cluster="far")
    assert re.search(r"^large +3! ", done.out, re.M)
    assert "! There is 1 of large: the other bundles wait for it." in done.out
    assert re.search(r"^Node type .* Price/h Cost \(EUR\)$", done.out, re.M)


def test_names_that_would_steer_a_terminal_are_shown(here: Here) -> None:
    (here.folder / "workspace" / "e\x1b[2J'\n").mkdir()
    done = pack(here)  # which asserts that no ESC comes out
    assert "4 jobs" in done.out
    assert packed(here)["destinations"][0]["job_count"] == 4
    assert "\\x1b" in here("plan", "--pack", "--scripts", "--cluster", "local").out


def test_alone_the_jobs_cost_what_a_plan_says_of_them(here: Here) -> None:
    planned = json.loads(here("plan", "--json").out)["jobs"]
    (there,) = packed(here)["destinations"]
    names = [
        job["directories"]
        for bundle in there["bundles"]
        for lane in bundle["lanes"]
        for job in lane["jobs"]
    ]

    in_plan = sum(job["cost"]["cpu_hours"] for job in planned if job["directories"] in names)

    # Two seconds for the start of each job come on top.
    assert there["cost_alone"]["cpu_hours"] == pytest.approx(in_plan, abs=0.005)


def test_all_packers_are_compared_on_the_same_jobs(here: Here) -> None:
    done = pack(here, "--compare")
    rows = [line.split() for line in done.out.splitlines()]
    assert [row[0] for row in rows[2:6]] == ["best", "fill", "columns", "seed"]
    assert "No packing of them costs less than" in done.out
    assert "Each packer may search for 0 s" in done.out
    (there,) = packed(here, "--compare")["destinations"]
    costs = {one["name"]: one["cost"]["cpu_hours"] for one in there["packers"]}
    assert there["lower_bound"] <= min(costs.values())
    for one in there["packers"]:
        assert one["gap"] == pytest.approx(costs[one["name"]] / there["lower_bound"] - 1)


# -- plan and submit -----------------------------------------------------------------------------


def test_plan_submit_and_pack_count_jobs_alike(here: Here) -> None:
    words = ("--largest", "2", "--search", "0", "--cluster", "local", "-a", "one")
    counted = "3 jobs in 1 bundle (1 alone)"
    assert f"\n{counted} may cost up to " in here("plan", "--pack", *words).out
    assert f"\nIn all {counted}.\n" in here("pack", *words).out
    asked = here("submit", "--pack", *words)  # which finds no answer to its question
    assert f"Submitting {counted} that may cost up to " in asked.out


def test_a_plan_tells_which_jobs_share_a_bundle(here: Here) -> None:
    words = ("--search", "0", "--cluster", "local")
    done = here("plan", "--pack", *words)
    header, *rows = [line.split() for line in done.out.splitlines()]
    assert header[:4] == ["Job", "Bundle", "Action", "Directories"]
    assert [row[:3] for row in rows[:3]] == [[str(n), "1", "one"] for n in (1, 2, 3)]
    assert rows[3] == []
    assert "wide: 1 job left out" in done.err
    assert "Packed by best: local: 3 jobs on 1 node" in done.out
    assert "Bundle" not in here("plan", "--cluster", "local").out


def test_scripts_are_shown_as_they_would_be_sent(here: Here) -> None:
    words = ("-a", "one", "--search", "0", "--cluster", "local")
    script = here("submit", "--pack", "--dry-run", *words).out
    assert script.count("#!/bin/bash") == 1
    assert "rowtui_lanes=(" in script
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0
    plan = here("plan", "--pack", "--scripts", *words).out
    assert "# Jobs 1-3 of 3, a bundle on this-machine\n#!/bin/bash\n" in plan


def test_a_file_that_says_pack_can_be_overruled(here: Here) -> None:
    configured(here, CLUSTERS + "\n[cluster.packing]\nlargest_bundle = 2\n")
    words = ("--search", "0", "--cluster", "far", "-a", "one")
    assert "Packed by" in here("plan", *words).out
    assert "Packed by" not in here("plan", "--no-pack", *words[2:]).out


def test_who_says_how_long_to_search_wants_jobs_packed(here: Here) -> None:
    assert "Packed by" in here("plan", "--search", "0", "--cluster", "local", "-a", "one").out


def test_an_installed_packer_packs_plans_too(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    (here.home / "their_packers.py").write_text(THEIRS)
    info = here.home / "their_packers-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-packers\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[rowtui.packers]\na = their_packers:Alone\n")
    monkeypatch.syspath_prepend(here.home)
    assert "Packed by alone" in here("plan", "--packer", "alone", "--cluster", "local").out

    words = ("--cluster", "far", "-a", "one")
    configured(here, CLUSTERS + '\n[cluster.packing]\npacker = "alone"\n')
    assert "Packed by alone" in here("plan", *words).out


def test_who_does_not_pack_loads_nothing_of_it(here: Here) -> None:
    (here.folder / "workflow.toml").write_text(WORKFLOW.replace("100", "1"))
    for words in (("plan",), ("plan", "--no-pack"), ("submit", "--dry-run"), ("show", "status")):
        loaded = Report(here.folder, "--cluster", "local", *words)
        assert not {it for it in loaded.modules if it.startswith("rowtui.core.packing")}, words
        assert not {it for it in loaded.modules if it.startswith("rowtui.cli.pack.")} - {
            "rowtui.cli.pack.parser",
        }
        assert "numpy" not in loaded.packages


def test_packed_jobs_run_to_the_end_with_logs_of_their_own(rowtui: Shell) -> None:
    machine = {"ROWTUI_LOCAL_CORES": "2", "ROWTUI_LOCAL_MEMORY_MB": "4096"}
    (rowtui.folder / "workflow.toml").write_text(
        WORKFLOW.replace("touch", "echo I am {directory}; touch", 1)
    )
    words = ("-a", "one", "--pack", "--search", "0", "--yes")
    out = rowtui.succeed("submit", *words, cluster="local", **machine)
    assert "Submitting 10 jobs in 1 bundle that may cost up to" in out
    assert "Packed by" in out
    assert re.search(r"^\[1/10\] Submitting a bundle of 10 jobs on this-machine, from", out, re.M)
    assert "Row submitted job 1: a bundle of 10 jobs." in out
    status = rowtui.succeed("show", "status", "-a", "one", cluster="local")
    assert status.splitlines()[1].split()[:5] == ["one", "10", "0", "0", "0"]
    jobs = json.loads(rowtui.succeed("show", "jobs", "--long", "--json", cluster="local"))["jobs"]
    assert {job["state"] for job in jobs} == {"completed"}
    (name,) = next(job["directories"] for job in jobs if job["id"].endswith(".3"))
    assert rowtui.succeed("logs", "1.3", cluster="local") == f"I am {name}\n"
    assert (rowtui.folder / "one-1.3.out").read_text() == f"I am {name}\n"


def test_tables_fit_a_narrow_terminal_and_work_is_shown(rowtui: Shell) -> None:
    words = ("--cluster", "local", "pack", "--compare", "-a", "one", "--search", "1.6")
    code, seen = on_a_terminal(rowtui, *words, COLUMNS="80")
    assert code == 0
    text = re.sub(r"\x1b\[[0-9;]*[mK]", "", seen.decode())
    lines = re.split(r"[\r\n]+", text)
    (best,) = (line for line in lines if line.startswith("best"))
    assert len(best) == 80
    assert best.endswith("…")


def test_a_bundle_has_one_price_and_a_plan_the_cost_of_its_bundles(here: Here) -> None:
    configured(here)
    plan = here.json("plan", "--pack", "--cluster", "far")
    packed = here.json("pack", "--cluster", "far")
    (first, *_) = packed["destinations"]
    prices = {it["token"]: it["cost"]["price"] for it in first["bundles"] if it["token"]}
    assert len(plan["bundles"]) == len(prices) > 0
    assert sum(it["cost"]["price"] for it in plan["bundles"]) == pytest.approx(sum(prices.values()))
    inside = {token for it in plan["bundles"] for token in it["jobs"]}
    alone = sum(it["cost"]["cpu_hours"] for it in plan["jobs"] if it["token"] not in inside)
    together = sum(it["cost"]["cpu_hours"] for it in plan["bundles"])
    assert plan["cost"]["cpu_hours"] == pytest.approx(alone + together)
    (there,) = plan["packed"]
    every = sum(job["cost"]["cpu_hours"] for job in plan["jobs"])
    assert there["cost_alone"]["cpu_hours"] == pytest.approx(every)
