"""`rowtui queue` on two real clusters over SSH and on this machine."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from rowtui.core.clusters.config.load import load_clusters
from rowtui.core.clusters.polling.cache import KnownQueue, PollCache, cache_name
from rowtui.core.clusters.polling.policy import PollHistory
from rowtui.core.clusters.schedulers.base import Job, JobState, QueueSnapshot

from tests.cli.conftest import Shell
from tests.cli.on_clusters import BOTH, OnClusters, configure
from tests.cli.terminal import Terminal
from tests.eventually import eventually
from tests.rig.faults import Prompt
from tests.rig.faulty import faulty_login
from tests.rig.login import LoginNode

WORKFLOW = """\
[[action]]
name = "wait"
command = "while ! [ -e finish ]; do sleep 0.1; done; touch workspace/{directory}/out"
products = ["out"]
group.maximum_size = 1

[action.submit_options.beta]
custom = ["--begin=now+1hour"]
"""


def ask_until(here: OnClusters, state: str, cluster: str) -> dict[str, Any]:
    """The queues as soon as a job on this cluster has come to this state."""
    return eventually(
        here.json, lambda found: any(job["state"] == state for job in found[cluster]["jobs"])
    )


def test_all_queues_are_in_one_table_and_one_json(
    two: tuple[LoginNode, ...], here: OnClusters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given a project with jobs on two clusters and on this machine, and a job of no project
    alpha = two[0].cluster
    root = alpha.work / tmp_path.name
    for name in "abcd":
        (root / "workspace" / name).mkdir(parents=True)
    (root / "workflow.toml").write_text(WORKFLOW)
    other = alpha.submit("#!/bin/sh\nsleep 60\n", "--hold -J 'my\x1b[31m job' -p gpu")
    monkeypatch.chdir(root)
    for where, *names in (("alpha", "a"), ("beta", "b", "c"), ("local", "d")):
        assert here("submit", "--cluster", where, "--yes", "--detach", *names).code == 0
    try:
        beta = two[1].cluster  # it says why a job waits once it has looked at it
        told = lambda: "BeginTime" in beta.run("squeue -h -o %r").stdout  # noqa: E731
        eventually(told, what="the reason", every=0.1)
        ask_until(here, "running", "local")
        # when they are asked for as values
        found = ask_until(here, "running", "alpha")
        # then each job has its cluster, action and directories, and why it waits
        assert sorted(found) == ["alpha", "beta", "local"]
        assert [found[name]["where"] for name in sorted(found)] == ["alpha", "beta", "here"]
        assert {found[name]["scheduler"] for name in found} == {"slurm", "local"}
        assert [cluster["error"] for cluster in found.values()] == [None] * 3
        ours, held = found["alpha"]["jobs"]
        assert (ours["ours"], ours["action"], ours["directories"]) == (True, "wait", ["a"])
        assert (ours["state"], ours["partition"]) == ("running", "cpu")
        assert ours["walltime_seconds"] == 3600
        assert ours["nodes"]
        assert ours["token"]
        assert (held["id"], held["ours"], held["action"]) == (str(other), False, None)
        assert (held["state"], held["reason"], held["needs_person"]) == (
            "held", "JobHeldUser", True,
        )  # fmt: skip
        assert held["explanation"].startswith("It was held")
        tasks = found["beta"]["jobs"]
        array = tasks[0]["id"].removesuffix("_0")
        assert [(job["id"], job["directories"]) for job in tasks] == [
            (f"{array}_0", ["b"]), (f"{array}_1", ["c"]),
        ]  # fmt: skip
        assert {(job["state"], job["reason"]) for job in tasks} == {("pending", "BeginTime")}
        starts = datetime.fromisoformat(tasks[0]["starts_at"]).timestamp()
        assert 3000 < starts - time.time() <= 3600
        (local,) = found["local"]["jobs"]
        assert (local["state"], local["directories"], local["nodes"]) == (
            "running", ["d"], os.uname().nodename,
        )  # fmt: skip
        # and for people as tables
        text = here("queue").out
        first, second, third = text.split("\n\n")
        lines = first.splitlines()
        assert lines[0] == "alpha  1 running, 1 held"
        assert re.split(r" {2,}|(?<=\w) (?=\w)", lines[1]) == [
            "ID", "State", "Action", "Dirs", "Partition", "Elapsed", "Limit", "Nodes", "or",
            "reason",
        ]  # fmt: skip
        # Slurm may not know the elapsed time within the first second.
        assert re.search(r"running wait +1 cpu +(\d\d:\d\d:\d\d )?01:00:00 \w+$", lines[2])
        assert r"my\x1b[31m job" in lines[3]
        assert lines[3].endswith("JobHeldUser")
        assert lines[4].startswith("  JobHeldUser: It was held")
        assert second.splitlines()[0] == "beta  2 pending"
        assert re.match(
            rf"{array}_\[0-1\] pending wait +2 batch +01:00:00 BeginTime, in (59|60) min$",
            second.splitlines()[2],
        )
        assert third.splitlines()[0] == "local  this machine  1 running"
        # and outside of the project the same jobs, of which nothing more is known
        monkeypatch.chdir(here.home)
        outside = here.json()
        for name, cluster in outside.items():
            ids = [(job["id"], job["state"]) for job in cluster["jobs"]]
            assert ids == [(it["id"], it["state"]) for it in found[name]["jobs"]]
            assert not any(job["ours"] or job["directories"] for job in cluster["jobs"])
        assert outside["alpha"]["jobs"][0]["name"] == "wait-a"
        assert [*here.json("--cluster", "beta", "--cluster", "local")] == ["beta", "local"]
        # and what has ended is shown on demand
        (root / "finish").touch()
        alpha.wait_for(int(ours["id"]), "COMPLETED")
        assert [job["id"] for job in here.json()["alpha"]["jobs"]] == [str(other)]
        ended = here.json("--ended", "--cluster", "alpha")["alpha"]["jobs"]
        assert ended[0]["id"] == str(other)
        assert (ours["id"], "completed") in [(job["id"], job["state"]) for job in ended]
    finally:
        (root / "finish").touch()


def test_a_login_node_that_is_down_leaves_the_others(
    two: tuple[LoginNode, ...], here: OnClusters
) -> None:
    alpha, _ = two
    alpha.kill()

    done = here("queue")

    assert done.code == 0
    first, second, third = done.out.split("\n\n")
    assert re.match(r"alpha  no answer now: .*refused", first)
    assert second == "beta  no jobs"
    assert third == "local  this machine  no jobs\n"
    only = here.json("--cluster", "alpha", code=1)["alpha"]
    assert "refused" in only["error"]
    assert (only["as_of"], only["age_seconds"], only["jobs"], only["login"]) == (
        None, None, [], None,
    )  # fmt: skip


def test_of_a_controller_that_is_down_the_last_known_queue_is_shown_with_its_age(
    two: tuple[LoginNode, ...], here: OnClusters, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given what another command learnt a while ago
    monkeypatch.setenv("ROWTUI_POLL", "60")
    cluster = load_clusters(os.environ).named("alpha")
    assert cluster is not None
    then = time.time() - 850
    jobs = (Job(7, JobState.RUNNING, name="mine", partition="cpu", elapsed=60, nodes="n1"),)
    cache = PollCache(here.home / ".cache/rowtui/queues", cache_name(cluster, os.environ))
    cache.folder.mkdir(parents=True)
    assert cache.write(
        KnownQueue(PollHistory(then, then + 1, 0.1), QueueSnapshot("alpha", then, jobs), then)
    )
    # when its controller answers nobody
    two[0].cluster.stop_controller()
    try:
        done = here("queue", "--cluster", "alpha")
        found = here.json("--cluster", "alpha", code=1)["alpha"]
    finally:
        two[0].cluster.continue_controller()
    # then nothing is lost, and nobody takes it for new
    assert done.code == 1
    heading, _, job = done.out.splitlines()
    assert re.match(
        r"alpha  1 running  14 min ago; no answer now: .*timed out.*; again in ", heading
    )
    assert job.startswith("7  running mine cpu")
    assert [job["id"] for job in found["jobs"]] == ["7"]
    assert found["age_seconds"] > 840
    assert "imed out" in found["error"]
    assert datetime.fromisoformat(found["next_at"]).timestamp() > time.time()


def test_a_cluster_that_cannot_be_asked_is_not_taken_for_another(
    two: tuple[LoginNode, ...], here: OnClusters
) -> None:
    done = here("queue", "--cluster", "gamma")
    assert done.code == 1
    assert "cluster 'gamma' cannot be asked from here" in done.err
    assert "alpha, beta, local" in done.err


def test_a_broken_workflow_hides_no_queue(here: OnClusters) -> None:
    (here.home / "workflow.toml").write_text("[[action]]\nname = 1\n")
    done = here("queue")
    assert (done.code, done.out) == (0, "local  this machine  no jobs\n")
    assert "workflow.toml:2" in done.err
    assert "without their actions" in done.err


async def test_where_a_login_is_needed_a_person_is_asked_and_a_program_is_told(
    slurm_env: dict[str, str], empty_folder: Shell, tmp_path: Path
) -> None:
    rounds = [[Prompt("Password: ", "right"), Prompt("Code: ", "123", echo=True)]]
    options: dict[str, Any] = {"keys": False, "rounds": rounds, "env": slurm_env}
    async with faulty_login(tmp_path / "node", **options) as node:
        text = BOTH.format(config=node.ssh_config).replace(
            'host = "alpha"', f'host = "{node.name}"'
        )
        configure(tmp_path / "home", text[: text.index("[[cluster]]", 1)])
        empty_folder.environment |= {"ROWTUI_POLL": "0", "ROWTUI_CLUSTER": "local"}

        words = ("queue", "--no-login", "--json")
        told = await asyncio.to_thread(empty_folder, *words, cluster=None)
        assert told.returncode == 0, told.stderr
        cluster = json.loads(told.stdout)["clusters"][0]
        assert (cluster["name"], cluster["jobs"]) == ("alpha", [])
        assert cluster["login"] == cluster["error"] is not None

        terminal = Terminal(empty_folder, "queue")
        await asyncio.to_thread(terminal.answer, b"Password: ", b"right\n")
        await asyncio.to_thread(terminal.answer, b"Code: ", b"123\n")
        assert await asyncio.to_thread(terminal.end) == 0
        assert b"no answer" not in terminal.seen
        assert b"jobs" in terminal.seen or b"running" in terminal.seen
        assert b"right" not in terminal.seen


@pytest.fixture
def slurm_env(slurm: Any) -> dict[str, str]:
    return {**os.environ, **slurm.env}


def test_it_is_shown_once_and_then_what_changes_until_somebody_stops_it(here: OnClusters) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "rowtui.cli.main", "queue", "--watch", "1"],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        shown = [process.stdout.readline() for _ in range(2)]
        time.sleep(1.5)  # it looks again, and there is nothing to tell
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert [re.sub(r"\d", "0", line) for line in shown] == [
        "00:00:00\n", "local  this machine  no jobs\n",
    ]  # fmt: skip
    assert rest.strip() == ""
    assert process.returncode == 130
