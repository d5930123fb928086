"""What docs/packing.md says is what the code does and prints."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rowtui.cli.main import main
from rowtui.cli.parser import build_parser
from rowtui.core.clusters.load import load_clusters
from rowtui.core.clusters.schedulers.local import GRACE_SECONDS
from rowtui.core.packing.model import Amounts, Demand, NodeType, Problem
from rowtui.core.packing.pack import pack, packers
from rowtui.core.packing.simulate import usual_policies
from rowtui.core.submission.bundle_header import WARN_SECONDS
from rowtui.core.submission.bundle_shell import KILL_SECONDS
from rowtui.core.submission.bundles import SCRIPT_MB, START_SECONDS, STEP_SECONDS, WATCH_MB
from rowtui.core.submission.shell import STOP_SECONDS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "packing.md").read_text(encoding="utf-8")
FORMAT = (DOCS / "formats.md").read_text(encoding="utf-8").partition(
    "## `pack --json`\n"
)[2].partition("\n## ")[0]  # fmt: skip
WORKFLOW = """\
[default.action.group]
maximum_size = 1

[[action]]
name = "simulate"
command = "./simulate {directory}"
products = ["trajectory"]
[action.resources]
threads_per_process = 6
memory_per_cpu_mb = 2000
walltime.per_submission = "02:00:00"

[[action]]
name = "describe"
command = "./describe {directory}"
products = ["description"]
[action.resources]
memory_per_cpu_mb = 4000
walltime.per_submission = "00:10:00"

[[action]]
name = "render"
command = "./render {directories}"
products = ["picture"]
[action.group]
maximum_size = 100
[action.resources]
threads_per_process = 64
walltime.per_submission = "01:00:00"
"""
CLUSTERS = """\
[[cluster]]
name = "alpha"
scheduler = "slurm"
currency = "EUR"
ssh.host = "nowhere.invalid"
[[cluster.partition]]
name = "cpu"

[[cluster.node_type]]
name = "c16"
partition = "cpu"
cpus = 16
memory = "64G"
price_per_hour = 0.60
boot_time = "00:02:00"
maximum_walltime = "12:00:00"

[[cluster.node_type]]
name = "c32"
partition = "cpu"
cpus = 32
memory = "128G"
price_per_hour = 1.15
boot_time = "00:02:00"
maximum_walltime = "12:00:00"
"""


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def shown(command: str) -> list[str]:
    """The lines of the page after a command, without their numbers."""
    text = PAGE.partition(f"$ {command}\n")[2].partition("```")[0].partition("\n$ ")[0]
    return bare(text)


def bare(text: str) -> list[str]:
    """Words that stay whatever is packed how: without amounts, times, bars and bundles."""
    kept = [line for line in text.splitlines() if line.strip() and "×" not in line]
    words = [re.findall(r"[A-Za-z][A-Za-z0-9-]*(?:/[a-z]+)?", line) for line in kept]
    return [
        " ".join(word for word in line if not re.fullmatch("h|min|s|d", word)) for line in words
    ]


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project of the page."""
    for number in range(40):
        (tmp_path / "study" / "workspace" / f"run-{number:02}").mkdir(parents=True)
    (tmp_path / "study" / "workflow.toml").write_text(WORKFLOW)
    file = tmp_path / ".config" / "rowtui" / "clusters.toml"
    file.parent.mkdir(parents=True)
    file.write_text(CLUSTERS)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("ROWTUI_CLUSTER", "alpha")
    monkeypatch.chdir(tmp_path / "study")
    return tmp_path / "study"


def test_what_is_shown_is_what_is_printed(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert study.is_dir()
    for look in ("", " --compare", " --simulate"):
        words = f"pack --longest 02:30:00{look}"
        page = shown(f"rowtui {words}")
        assert main([*words.split(), "--search", "0"]) == 0
        printed = bare(capsys.readouterr().out)
        assert page[0] == printed[0]
        assert [line for line in page if line not in printed] == [], words


def test_all_keys_of_the_json_are_explained_and_no_others(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert study.is_dir()
    page = FORMAT.partition("With `--compare`")[0]
    tables = page.split("A destination:")
    told = json_of("pack", capsys)
    assert keys(tables[0]) == set(told)
    there = told["destinations"][0]
    assert keys(tables[1].partition("A lane has")[0]) == set(there)
    for name in ("node_types", "bundles", "alone"):
        (row,) = re.findall(rf"^\| `{name}` \| (.*) \|$", page, re.MULTILINE)
        assert set(there[name][0]) <= set(re.findall(r"`(\w+)`", row)), name
    lane = there["bundles"][0]["lanes"][0]
    words = set(re.findall(r"`(\w+)`", tables[1].partition("A lane has")[2]))
    assert words == {*lane, *lane["jobs"][0]}
    for option, inner in (("compare", "packers"), ("simulate", "policies")):
        words = set(
            re.findall(r"`(\w+)`", FORMAT.partition(f"With `--{option}`")[2].split("\n\n")[0])
        )
        told = json_of(f"pack --{option}", capsys)
        there = told["destinations"][0]
        there["node_types"] = there[inner][-1].get("node_types", [{}])
        assert words == {*told, *there, *there[inner][-1], *there["node_types"][0]} - (
            {"node_types"} if option == "compare" else set()
        )


def json_of(words: str, capsys: pytest.CaptureFixture[str]) -> Any:
    assert main([*words.split(), "--search", "0", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def keys(table: str) -> set[str]:
    """What stands in backticks in the first column."""
    cells = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    return {key for cell in cells for key in re.findall(r"`([^`]+)`", cell)}


def test_every_option_of_the_command_is_explained() -> None:
    (found,) = (it for it in build_parser()._actions if isinstance(it, argparse._SubParsersAction))
    own = {it for one in found.choices["pack"]._actions for it in one.option_strings}
    common = {it for one in found.choices["scan"]._actions for it in one.option_strings}
    assert [it for it in sorted(own - common) if f"`{it}" not in PAGE] == []


def test_the_packers_and_policies_are_those_that_there_are() -> None:
    rows = re.findall(r"^\| `([a-z]+)` \|", section("Packers"), re.MULTILINE)
    assert rows == [name for name, _ in packers()]
    told = section("Simulation")
    node_type = NodeType("n", Amounts(1, 1), 1.0, boot_seconds=1)
    for name in usual_policies([node_type], []):
        assert f"| {name} |" in told


def test_margins_are_those_of_the_code() -> None:
    told = section("Time and memory")
    assert f"gets {START_SECONDS} s more" in told
    assert f"{STEP_SECONDS} s for each job" in told
    assert f"takes {SCRIPT_MB} MB, and each lane {WATCH_MB} MB" in told
    limits = section("Bundles and lanes")
    assert f"SIGKILL {STOP_SECONDS} s later" in limits
    assert f"killed {KILL_SECONDS} s later" in limits
    assert f"on Slurm at least {WARN_SECONDS} s, in the local queue {GRACE_SECONDS:g} s" in limits


def test_the_entry_for_clusters_toml_is_read(tmp_path: Path) -> None:
    (entry,) = re.findall(r"```toml\n(.*?)```", section("Submitting"), re.DOTALL)
    file = tmp_path / "rowtui" / "clusters.toml"
    file.parent.mkdir()
    file.write_text(
        f'[[cluster]]\nname = "alpha"\nssh.host = "h"\n{entry.partition("alpha")[2][2:]}'
    )
    loaded = load_clusters({"XDG_CONFIG_HOME": str(tmp_path)})
    assert loaded.problems == ()
    assert loaded.clusters[0].packing is not None
    assert loaded.clusters[0].packing.largest_bundle == 200


def test_the_packer_of_the_page_packs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    packer = names["OneEach"]()
    problem = Problem(
        (
            NodeType("n", Amounts(4, 100), 1.0, longest_seconds=60),
            NodeType("m", Amounts(4, 99), 2.0),
        ),
        (Demand(Amounts(1, 1), 10), Demand(Amounts(1, 1), 100), Demand(Amounts(1, 1), 10, "m")),
        (3, 2, 1),
    )
    result = pack(problem, "one-each", packers={"one-each": packer})
    assert result.packer == "one-each"
    assert [(it.node_type, it.times) for it in result.bundles] == [(0, 3), (1, 2), (1, 1)]
