"""The Explain view on a real project with a real mapping file, which nobody trusts at first."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from rowtui.core.clusters.schedulers.measured import MeasuredBy, Used
from rowtui.core.engine.local import InProcessEngine
from rowtui.core.mapping.files.places import user_places
from rowtui.core.mapping.files.trust import TrustStore
from rowtui.core.project.open_project import OpenProject
from rowtui.core.submission.plan.outcome import read_old_end
from rowtui.core.usage.model import JobUsage, UsageKind
from rowtui.core.usage.store import UsageStore
from rowtui.tui.shell.app import RowtuiApp

from tests.tui.hand import Hand, hand_on

WORKFLOW = """\
[workspace]
value_file = "v.json"

[[action]]
name = "relax"
command = "touch {workspace_path}/{directory}/x"
products = ["x"]
[action.group]
sort_by = ["/v"]
maximum_size = 2
[action.resources]
processes.per_submission = 4
walltime.per_submission = "02:00:00"
"""

MAPPING = """\
tools:
  relax:
    mem: cores * 4
destinations:
  here:
    runner: local
    max_accepted_cores: 8
    max_accepted_mem: 20
  small:
    runner: local
    max_accepted_cores: 2
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))  # where trust is remembered
    monkeypatch.setenv("ROWTUI_LOCAL_CORES", "8")
    root = tmp_path / "project"
    for number in range(5):
        (root / "workspace" / f"d{number}").mkdir(parents=True)
        (root / "workspace" / f"d{number}" / "v.json").write_text(json.dumps({"v": number}))
    (root / "workflow.toml").write_text(WORKFLOW)
    return root


@asynccontextmanager
async def opened(
    root: Path, size: tuple[int, int] = (120, 36)
) -> AsyncIterator[tuple[Hand[InProcessEngine], dict[str, str]]]:
    environment = {
        "HOME": str(root.parent),
        "PATH": "/usr/bin:/bin",
        "ROWTUI_LOCAL_CORES": "8",
    }
    engine = InProcessEngine(OpenProject.open(root, cluster="local", environment=environment))
    app = RowtuiApp(engine)
    try:
        async with hand_on(app, engine, size) as hand:
            yield hand, environment
    finally:
        await engine.close()


def trust(root: Path, environment: dict[str, str]) -> None:
    """What `rowtui mapping trust mapping.yml` does after a yes."""
    path = root / "mapping.yml"
    TrustStore(user_places(environment).trust).trust(str(path), path.read_bytes(), 0.0)


def explained(root: Path, environment: dict[str, str]) -> dict[str, Any]:
    """What `rowtui explain relax --json` says."""
    words = [sys.executable, "-m", "rowtui.cli.main"]
    words += ["explain", "--cluster", "local", "--json", "relax"]
    done = subprocess.run(words, cwd=root, env=environment, capture_output=True, check=False)
    data: dict[str, Any] = json.loads(done.stdout)
    return data


async def test_without_a_mapping_file_the_cluster_alone_counts(root: Path) -> None:
    async with opened(root) as (hand, _):
        await hand.sees("5 eligible")
        await hand.press("3")
        await hand.sees("Group 1 of 3 of relax, eligible", "✓ goes to local", "4 CPUs")
        await hand.sees("none: the cluster's partitions alone count")
        await hand.press("right_square_bracket", "right_square_bracket")
        await hand.sees("Group 3 of 3", "1 directory, first d4")


async def test_a_mapping_file_counts_once_it_is_trusted_and_what_if_asks_it(root: Path) -> None:
    (root / "mapping.yml").write_text(MAPPING)
    async with opened(root) as (hand, environment):
        await hand.sees("5 eligible")
        await hand.press("3")
        await hand.sees("mapping.yml is not trusted yet", "rowtui mapping trust mapping.yml")
        trust(root, environment)
        await hand.press("r")
        await hand.sees("✓ goes to here on local", "4 CPUs   16 GB", "1 accepts it, 1 refuses it")
        await hand.press(
            "colon", *"copy JSON", "enter"
        )  # as the command line has it, but for how many groups are alike
        copied, typed = json.loads(hand.app.clipboard), explained(root, environment)
        for decision in (*copied["decisions"], *typed["decisions"]):
            decision.pop("groups")
        assert copied == typed
        await hand.press("y")
        assert "1. here" in hand.app.clipboard
        await hand.press("enter")
        await hand.sees("Values that decided about here", "max_accepted", "mapping.yml:")
        await hand.press("escape", "z")
        await hand.sees("1 refuses it (hidden: z)")
        await hand.press("z", "j")
        await hand.sees("4 CPUs  accepts at most 2", "2 CPUs instead of 4")
        await hand.press("tab", "enter")
        await hand.sees("WHAT IF", "2 CPUs instead of 4", "2 accept it")
        await hand.press("u", "e", "6")
        await hand.sees("✗ nowhere to go", "2 refuse it", "asks 24 GB, accepts at most 20 GB")


async def test_the_plan_says_why_an_untrusted_file_leaves_it_empty(root: Path) -> None:
    workflow = root / "workflow.toml"  # several processes would need a launcher
    workflow.write_text(
        WORKFLOW.replace("processes.per", "threads_per_process = 4\nprocesses.per").replace(
            "= 4\nwall", "= 1\nwall"
        )
    )
    (root / "mapping.yml").write_text(MAPPING)
    async with opened(root, (80, 24)) as (hand, _):
        await hand.sees("5 eligible")
        await hand.press("2")
        await hand.sees("3 groups")
        await hand.press("s")
        await hand.sees("There is nothing to send", "relax: 1 job left out", "read it and trust it")
        await hand.sees("then Enter on it")
        assert "left out: relax" not in hand.text()


async def test_edits_of_the_mapping_file_and_trust_are_seen_without_a_key(root: Path) -> None:
    (root / "mapping.yml").write_text(MAPPING)
    async with opened(root) as (hand, environment):
        await hand.sees("5 eligible")
        await hand.press("3")
        await hand.sees("mapping.yml is not trusted yet")
        trust(root, environment)
        await hand.sees("✓ goes to here on local", "16 GB")
        (root / "mapping.yml").write_text(MAPPING.replace("    mem:", "\tmem:"))
        await hand.sees("a tab is used for indentation")
        (root / "mapping.yml").write_text(MAPPING)
        await hand.sees("✓ goes to here on local", "16 GB")
        (root / "mapping.yml").unlink()
        await hand.sees("none: the cluster's partitions alone count")


@pytest.fixture
def mapped(root: Path) -> Path:
    """Of four threads, so that no launcher is needed, with a mapping file."""
    text = WORKFLOW.replace("processes.per_submission", "threads_per_process")
    (root / "workflow.toml").write_text(text.replace("= 4", "= 4  # of 8"))
    (root / "mapping.yml").write_text("destinations:\n  here:\n    runner: local\n")
    return root


async def test_a_what_if_is_written_after_a_yes_and_taken_back(mapped: Path) -> None:
    file = mapped / "workflow.toml"
    before = file.read_bytes()
    async with opened(mapped, (80, 24)) as (hand, environment):
        trust(mapped, environment)
        await hand.sees("5 eligible")
        await hand.press("3")
        await hand.sees("✓ goes to here on local")
        await hand.press("W")
        await hand.sees("write: there is no what-if")
        await hand.press("e", "8", "tab", "tab", "tab", "3", "h", "escape")
        await hand.sees("8 CPUs instead of 4, 3 h instead")

        # cancel is the default
        await hand.press("W")
        await hand.sees("Write to workflow.toml for relax?", "+threads_per_process = 8  # of 8")
        await hand.press("escape")
        await hand.sees("Nothing was written.", "WHAT IF")
        assert file.read_bytes() == before

        # what is shown is written, and the what-if is over
        await hand.press("W")
        await hand.sees("-threads_per_process = 4  # of 8", "All 3 eligible groups of relax")
        await hand.press("right", "enter")
        await hand.sees("wrote CPUs, limit of relax to workflow.toml", "8 CPUs", " 3 h")
        await hand.sees_no("WHAT IF")
        now = before.replace(b"= 4  #", b"= 8  #").replace(b"02:00", b"03:00")
        assert file.read_bytes() == now
        assert explained(mapped, environment)["decisions"][0]["job"]["cpus"] == 8

        # and back
        await hand.press("U")
        await hand.sees("wrote CPUs, limit of relax to workflow.toml…", "Enter undoes 1 step")
        await hand.press("escape", "u")
        await hand.sees("Take the last write to workflow.toml back?", "+threads_per_process = 4")
        await hand.press("right", "enter")
        await hand.sees("took the last write to workflow.toml back", "4 CPUs")
        assert file.read_bytes() == before

        # as long as nobody else changes it
        file.write_bytes(before + b"# mine\n")
        await hand.until(lambda: not hand.app.session.written)
        await hand.press("colon", *"undo write", "enter")
        await hand.sees("or it was changed since")


async def test_what_cannot_be_written_is_lines_to_copy_with_the_reason(mapped: Path) -> None:
    (mapped / "mapping.yml").write_text(MAPPING)
    async with opened(mapped) as (hand, environment):
        trust(mapped, environment)
        await hand.sees("5 eligible")
        await hand.press("3")
        await hand.sees("✓ goes to here on local")
        await hand.press("e", "tab", "5", "escape")
        await hand.sees("5 GB instead of 16")
        await hand.press("W")
        await hand.sees("Nothing can be written: mem is decided by the mapping files", "mem: 5")
        await hand.press("escape", "u", "e", *["tab"] * 4, *"+big", "escape")
        await hand.sees("with the tag big")
        await hand.press("W")
        await hand.sees("Nothing of this belongs in workflow.toml", "In mapping.yml:")
        await hand.press("escape", "e", "2", "escape")
        await hand.sees("not part of the plan: 2 CPUs instead of 4")
        await hand.press("W")  # the tag stays wondered about
        await hand.sees("+threads_per_process = 2")
        await hand.press("right", "enter")
        await hand.sees("wrote CPUs of relax", "WHAT IF", "not part of the plan: with the tag big")
        assert "threads_per_process = 2" in (mapped / "workflow.toml").read_text()


GROWING = WORKFLOW.replace("processes.per_submission = 4", "processes.per_directory = 4")

FOUR = """\
tools:
  relax:
    mem: 4
destinations:
  here:
    runner: local
  small:
    runner: local
    max_accepted_cores: 4
"""


async def test_at_80_columns_a_refusal_is_in_words_and_only_what_would_admit_the_job_is_offered(
    root: Path,
) -> None:
    (root / "workflow.toml").write_text(GROWING)
    (root / "mapping.yml").write_text(FOUR)
    async with opened(root, (80, 24)) as (hand, environment):
        await hand.sees("5 eligible")
        trust(root, environment)
        await hand.press("r", "3")
        await hand.sees("✗  small", "asks 8 CPUs, accepts at most 4")
        await hand.press("G")
        await hand.sees("✗ It refuses the job", "8 CPUs  accepts at most 4")
        # 2 directories with 4 processes each cannot do with 4 CPUs: only fewer of them can
        await hand.sees("at most 1 directory fits: maximum_size = 1")
        assert "4 CPUs instead of 8" not in hand.text()
        # what a what-if would take is written where the tool is
        await hand.press("e", "9")
        await hand.sees("WHAT IF")
        await hand.press("enter", "colon", *"lines to add", "enter")
        await hand.sees("In mapping.yml:2:")


async def test_what_measured_jobs_need_is_tried_by_name(mapped: Path) -> None:
    async with opened(mapped, (80, 24)) as (hand, environment):
        trust(mapped, environment)
        await hand.sees("5 eligible")
        await hand.press("3")
        await hand.sees("✓ goes to here on local", "4 CPUs")
        await hand.press("colon", *"as measured", "enter")
        await hand.sees("as measured: fewer than 5")

        # when: jobs of two CPUs and 10 minutes were measured
        kind = UsageKind("relax", "local", "", "me", 1, 4, 0, None, 7200)
        script = MeasuredBy.SCRIPT
        used = Used(590.0, 1100.0, 2 << 20, node="n", wall_by=script, cpu_by=script)
        end = read_old_end(0, "", 1e9)
        UsageStore(mapped).append(
            JobUsage(f"p-{at}", kind, at, 2, end, 1.0, used, True) for at in range(120)
        )
        await hand.press("escape", "r", "right_square_bracket")
        await hand.sees("Group 2 of 3")
        await hand.until(lambda: hand.app.session.explanation.measured_jobs == 120)
        await hand.press("colon", *"as measured", "enter")
        await hand.sees("WHAT IF", "2 CPUs instead of 4", "2 CPUs   2 GB", "10 min")
        await hand.sees("tried what is recommended from 120 measured jobs")
        await hand.press("u")
        await hand.sees_no("WHAT IF")
