"""`rowtui submit` over SSH, where the login shell starts slowly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.on_clusters import OnClusters, configure
from tests.rig.login import LoginNode
from tests.rig.slurm import SlurmRig

pytestmark = pytest.mark.slurm

WORKFLOW = """\
[[action]]
name = "one"
command = "touch workspace/{directory}/one"
products = ["one"]
"""
CLUSTERS = """\
[[cluster]]
name = "slow"
scheduler = "slurm"
partition = [{{ name = "cpu" }}]
[cluster.ssh]
host = "slow"
config = ["{config}"]
transport = "{transport}"
"""


@pytest.fixture(scope="module")
def slow(slurm_rig: SlurmRig) -> Iterator[LoginNode]:
    node = LoginNode(
        slurm_rig.keeper,
        slurm_rig.cluster,
        name="slow",
        bashrc='echo start >> "$HOME/starts"; sleep 0.7; PATH=$HOME/bin:$PATH',
    )
    yield node
    node.kill()
    node.cut()


@pytest.mark.parametrize("transport", ["asyncssh", "openssh"])
def test_jobs_and_their_files_are_sent_with_one_login_shell(
    slow: LoginNode,
    here: OnClusters,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    transport: str,
) -> None:
    root = tmp_path / f"project-{transport}"
    for name in "ab":
        (root / "workspace" / name).mkdir(parents=True)
    (root / "workflow.toml").write_text(WORKFLOW)
    configure(here.home, CLUSTERS.format(config=slow.ssh_config, transport=transport))
    monkeypatch.chdir(root)
    starts = slow.home / "starts"
    starts.write_text("")

    done = here("submit", "--cluster", "slow", "--yes")

    assert done.code == 0, done.err
    assert "Row submitted job" in done.out + done.err
    assert len(starts.read_text().splitlines()) == 1


def test_a_queue_that_answers_slowly_is_given_the_time_that_the_user_sets(
    slow: LoginNode, here: OnClusters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "project-slow-queue"
    (root / "workspace" / "a").mkdir(parents=True)
    (root / "workflow.toml").write_text(WORKFLOW)
    text = CLUSTERS.format(config=slow.ssh_config, transport="asyncssh")
    monkeypatch.chdir(root)
    program = slow.home / "bin/squeue"
    program.parent.mkdir(exist_ok=True)
    program.write_text('#!/bin/sh\nPATH=${PATH#*:}\nsleep 1.5\nexec squeue "$@"\n')
    program.chmod(0o755)
    try:
        configure(here.home, text.replace("[cluster.ssh]", "query_timeout = 1\n[cluster.ssh]"))
        refused = here("submit", "--cluster", "slow", "--yes")
        configure(here.home, text.replace("[cluster.ssh]", "query_timeout = 30\n[cluster.ssh]"))
        sent = here("submit", "--cluster", "slow", "--yes")
    finally:
        program.unlink()

    assert refused.code == 1
    assert "squeue gave no answer within 1 s" in refused.err
    assert "`query_timeout`" in refused.err
    assert "The records are new or were lost" in refused.err
    assert sent.code == 0, sent.err
