"""Recommendations from jobs that really ran here: the promise, what explains them, the file."""

from __future__ import annotations

import json
import random
import sys

import numpy as np
import pytest
from rowtui.core.usage.recommend import right_sizes
from rowtui.core.usage.store import UsageStore

from tests.cli.conftest import Shell
from tests.eventually import eventually

pytestmark = pytest.mark.slow

JOBS = 60
ALLOCATE = """\
import json, sys
with open(f"workspace/{sys.argv[1]}/v.json") as file:
    block = bytearray(json.load(file)["N"] << 20)
block[::4096] = b"x" * len(block[::4096])
open(f"workspace/{sys.argv[1]}/done", "w").close()
"""
WORKFLOW = """\
[workspace]
value_file = "v.json"
[[action]]
name = "allocate"  # some memory
command = "{python} -S -E allocate.py {{directory}}"
products = ["done"]
group.maximum_size = 1
[action.resources]
memory_per_cpu_mb = 300  # too much
walltime.per_submission = "05:00:00"
"""


def measured(shell: Shell) -> None:
    """Run jobs that allocate 1 to 120 MB."""
    chance = random.Random(2)
    for number in range(JOBS):
        folder = shell.folder / "workspace" / f"d{number:02}"
        folder.mkdir(parents=True)
        value = {"N": chance.randint(1, 120), "seed": chance.random()}
        (folder / "v.json").write_text(json.dumps(value))
    (shell.folder / "allocate.py").write_text(ALLOCATE)
    (shell.folder / "workflow.toml").write_text(WORKFLOW.format(python=sys.executable))
    shell.environment["ROWTUI_LOCAL_CORES"] = "6"
    shell.succeed("submit", "--yes", "--detach", "--pack", "--search", "0", cluster="local")
    done = (shell.folder / "workspace").glob
    eventually(lambda: len(list(done("*/done"))) == JOBS, within=50, what="the jobs' products")
    eventually(lambda: ended(shell), within=20, what="the end of the jobs")


def ended(shell: Shell) -> bool:
    status = json.loads(shell.succeed("show", "status", "--all", "--json", cluster="local"))
    return bool(status["actions"][0]["completed"] == JOBS)


def test_real_jobs_keep_the_promise_and_their_recommendation_is_written(
    empty_folder: Shell,
) -> None:
    shell = empty_folder
    measured(shell)

    # The recommendation of one half holds for the other half, within its error.
    shell.succeed("usage", cluster="local")
    columns = UsageStore(shell.folder).columns()
    assert len(columns) == JOBS
    # Always the same jobs, in whichever order they ended.
    numbers = columns.column("number")
    half = np.isin(numbers.argsort().argsort(), np.random.default_rng(1).permutation(JOBS)[::2])
    [size] = [it for it in right_sizes(columns.chosen(half), risk=0.1) if it.resource == "memory"]
    others = columns.chosen(~half).column("memory").astype(float)
    risk, amount = size.found.risk, size.found.amount
    error = 3 * np.sqrt(risk * (1 - risk) * 4 / JOBS)
    assert (others > amount).mean() <= risk + error, (risk, sorted(others), amount)

    # The values of the directories explain the memory: one MB for each N.
    document = json.loads(shell.succeed("usage", "--recommend", "--json", cluster="local"))
    [memory] = [it for it in document["recommended"] if it["resource"] == "memory"]
    assert memory["line"]["size"] == "/N"
    assert memory["line"]["slope"] == pytest.approx(1024, rel=0.05)
    assert memory["line"]["r_squared"] > 0.95
    assert " per /N" in shell.succeed("usage", "--recommend", cluster="local")

    # Nothing is written without a yes, and the write can be undone.
    file = shell.folder / "workflow.toml"
    before = file.read_text()
    options = ("usage", "--recommend", "--write", "--resource", "memory,walltime")
    refused = shell(*options, cluster="local")
    assert refused.returncode == 1
    assert "add --yes" in refused.stderr
    assert file.read_text() == before
    shell.succeed(*options, "--yes", cluster="local")
    most = max(columns.column("memory")) / 1024
    [line] = [it for it in file.read_text().splitlines() if it.startswith("memory_per_cpu_mb")]
    written = int(line.split()[2])
    assert most <= written <= most * 1.06 + 1
    assert line.endswith("# too much")
    shell.succeed("explain", "allocate", "--undo", "--yes", cluster="local")
    assert file.read_text() == before
