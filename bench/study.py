"""A study that nobody watches: `python -m bench.study [--seeds 1-6] [--directories 150]`.

150 directories with two actions, 300 jobs, on two real Slurm clusters behind real sshds on this
machine: the first action goes to one, the second to the other. 15 % of the jobs fail for a reason
of their own: too little memory, too little time, an exit code that a rule retries. Meanwhile nodes
are lost, and urgent jobs preempt others. In every third seed the driver is killed, and begins again
three minutes later. `rowtui run` drives the study; a line for each seed says how it went. The exit
code is 1 if a job was lost or ran twice at the same time, if the run's journal does not explain a
retry, if the run exceeded its limit, or took more than 15 minutes. A job that is killed in the
moment in which its command ends cannot report that end, and runs again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bench.machine import machine
from tests.rig.login import LoginNode
from tests.rig.processes import Keeper
from tests.rig.slurm import Munge, Node, SlurmCluster

MOST_SECONDS = 15 * 60
GONE_SECONDS = 180  # of the driver
SHARE = 0.15
KINDS = ("memory",) * 3 + ("time",) + ("exit",) * 3
NAMES = ("alpha", "beta")
ACTIONS = ("first", "second")
URGENT = "urgent"
CLUSTER = """\
[[cluster]]
name = "{name}"
scheduler = "slurm"
poll = 2
partition = [{{ name = "cpu" }}]
[cluster.ssh]
host = "{name}"
config = ["{config}"]
paths = [{{ local = "/", remote = "/" }}]
"""
MAPPING = """\
tools:
  first: {scheduling: {require: [alpha]}}
  second: {scheduling: {require: [beta]}}
destinations:
  one: {runner: alpha, scheduling: {accept: [alpha]}, params: {partition: cpu}}
  two: {runner: beta, scheduling: {accept: [beta]}, params: {partition: cpu}}
"""
WORKFLOW = """\
[default.action]
group.maximum_size = 1
[default.action.resources]
threads_per_process = 1
memory_per_cpu_mb = 100
walltime.per_submission = "00:01:00"
[[action]]
name = "first"
command = "bash work.sh {directory} first"
products = ["first"]
[[action]]
name = "second"
command = "bash work.sh {directory} second"
products = ["second"]
previous_actions = ["first"]
"""
# What a job needs does not change with its attempts; only an exit code passes by itself.
WORK = """\
cd "workspace/$1" || exit
if read -r before 2>/dev/null < "$2.pid" && kill -0 "$before" 2>/dev/null; then
    echo "$SLURM_JOB_ID" >> "$2.both"
fi
echo "$$" > "$2.pid"
echo "$SLURM_JOB_ID" >> "$2.begun"
case $(cat "$2.kind" 2>/dev/null) in
memory) PYTHON -S -c 'import time; x = bytearray(150 << 20); time.sleep(3)' || exit ;;
time) sleep 75 ;;
exit) [ "$(wc -l < "$2.begun")" -gt 1 ] || exit 75 ;;
esac
sleep 4
echo "$SLURM_JOB_ID" >> "$2.ended"
touch "$2"
"""
RULES = """\
[[retry]]
on = ["exit 75"]
[[retry]]
on = ["node failure", "preempted"]
attempts = 20
wait = "00:00:02"
"""


class Result(NamedTuple):
    """How one seed went. `faults`: what is not as it should be.

    `again`: jobs that were killed as their command ended, and ran to their end twice.
    """

    seconds: float
    runs: int
    again: int
    retried: int
    cpu_hours: float
    limit: float
    faults: tuple[str, ...]


class Study:
    """One seed: a project, its faults, and its driver."""

    def __init__(self, logins: list[LoginNode], seed: int, directories: int) -> None:
        self.logins = logins
        self.seed = seed
        self.chance = random.Random(seed)
        self.root = logins[0].cluster.work / f"study-{seed}"
        self.jobs = [
            (f"d{number:03}", action) for number in range(directories) for action in ACTIONS
        ]
        for name, _ in self.jobs:
            (self.root / "workspace" / name).mkdir(parents=True, exist_ok=True)
        for name, action in self.chance.sample(self.jobs, round(SHARE * len(self.jobs))):
            kind = self.chance.choice(KINDS)
            (self.root / "workspace" / name / f"{action}.kind").write_text(kind)
        (self.root / "workflow.toml").write_text(WORKFLOW)
        (self.root / "work.sh").write_text(WORK.replace("PYTHON", sys.executable))
        (self.root / "rowtui.toml").write_text(RULES)
        home = self.root.parent / f"home-{seed}"
        config = home / ".config/rowtui"
        (config / "mapping").mkdir(parents=True)
        (config / "mapping/mine.yml").write_text(MAPPING)
        ssh_config = logins[0].ssh_config
        texts = (CLUSTER.format(name=name, config=ssh_config) for name in NAMES)
        (config / "clusters.toml").write_text("".join(texts))
        self.environment = {**os.environ, "HOME": str(home), "PYTHONUNBUFFERED": "1"}
        self.environment.pop("SLURM_CONF", None)
        self.log = self.root / "driver.log"

    def begin(self, *words: str) -> subprocess.Popen[bytes]:
        """Start a driver, in a group of its own."""
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "rowtui", "--cluster", "alpha", "run", *words],
                cwd=self.root,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def done(self) -> int:
        """How many jobs are complete."""
        return sum((self.root / "workspace" / name / action).exists() for name, action in self.jobs)

    def faults(self) -> Iterator[None]:
        """Hurt the clusters, once each time this is continued."""
        while True:
            for hurt in self.chance.sample([self.lose_a_node, self.preempt], 2):
                hurt(self.chance.choice(self.logins).cluster)
                yield

    def lose_a_node(self, cluster: SlurmCluster) -> None:
        node = self.chance.choice(["c1", "c2"])
        cluster.run(f"scontrol update nodename={node} state=down reason=lost", check=False)
        time.sleep(3)
        cluster.run(f"scontrol update nodename={node} state=resume", check=False)

    def preempt(self, cluster: SlurmCluster) -> None:
        script = "#!/bin/bash\nsleep 2\n"
        options = f"-p {URGENT} -N 1 -n 8 -o /dev/null -J urgent"
        cluster.run(f"sbatch {options}", stdin=script, check=False)

    def run(self) -> Result:
        """Drive the study to its end."""
        began = time.monotonic()
        driver = self.begin("--yes")
        faults, next_fault = self.faults(), time.monotonic() + 8
        is_killed, back_at = self.seed % 3 != 0, 0.0
        while time.monotonic() - began < MOST_SECONDS:
            time.sleep(1)
            if not is_killed and self.done() > len(self.jobs) / 3:
                os.killpg(driver.pid, signal.SIGKILL)
                driver.wait()
                is_killed, back_at = True, time.monotonic() + GONE_SECONDS
            if back_at and time.monotonic() >= back_at:
                driver, back_at = self.begin("--resume"), 0.0
            if not back_at and driver.poll() is not None:
                break
            if time.monotonic() >= next_fault and self.done() < 0.9 * len(self.jobs):
                next(faults)
                next_fault = time.monotonic() + self.chance.uniform(6, 12)
        took = time.monotonic() - began
        if driver.poll() is None:
            os.killpg(driver.pid, signal.SIGKILL)
            driver.wait()
        return self.result(took, driver.returncode)

    def result(self, took: float, code: int) -> Result:
        """Compare what ran with what should have."""
        wrong = []
        if code:
            wrong.append(f"the driver ended with {code}: {self.log.read_text()[-600:]}")
        shown = self.shown()
        retried = Counter(
            (name, event["action"]) for event in shown["retried"] for name in event["directories"]
        )
        runs = again = 0
        for name, action in self.jobs:
            folder = self.root / "workspace" / name
            begun, ended = (_jobs_in(folder / f"{action}.{what}") for what in ("begun", "ended"))
            runs += begun
            if not (folder / action).exists():
                wrong.append(f"{action} in {name} is lost")
            if (folder / f"{action}.both").exists():
                wrong.append(f"{action} in {name} ran in two jobs at the same time")
            again += ended > 1
            if begun - 1 > retried[name, action]:
                wrong.append(f"{action} in {name} ran {begun} times: no reason in the journal")
        limit = next(
            float(text.split()[2].replace(",", "")) for text in shown["limits"] if "CPU" in text
        )
        if shown["cpu_hours"] > limit:
            wrong.append("the run exceeded its limit")
        return Result(took, runs, again, retried.total(), shown["cpu_hours"], limit, tuple(wrong))

    def shown(self) -> dict[str, Any]:
        """What `run --status` prints."""
        words = ["--cluster", "alpha", "run", "--status", "--json"]
        done = subprocess.run(
            [sys.executable, "-m", "rowtui", *words],
            cwd=self.root,
            env=self.environment,
            capture_output=True,
            check=True,
            timeout=60,
        )
        return dict(json.loads(done.stdout))


def _jobs_in(path: Path) -> int:
    """How many jobs wrote their ids into a file."""
    return len(set(path.read_text().split())) if path.exists() else 0


def clusters(keeper: Keeper) -> list[LoginNode]:
    """Two clusters of two nodes each, whose partition `urgent` preempts the other."""
    munge = Munge(keeper)
    settings = {
        "SlurmdTimeout": 20,
        "PreemptType": "preempt/partition_prio",
        "PreemptMode": "CANCEL",
        "KillWait": 10,
        "JobRequeue": 0,  # what a lost node ends is rowtui's to repeat
        "AuthInfo": f"socket={munge.socket},cred_expire=20",
    }
    partitions = [
        "PartitionName=cpu Nodes=c[1-2] Default=YES DefaultTime=10",
        f"PartitionName={URGENT} Nodes=c[1-2] PriorityTier=9 PreemptMode=OFF",
    ]
    nodes = (Node("c1", 8, 64000), Node("c2", 8, 64000))
    return [
        LoginNode(
            keeper,
            SlurmCluster(
                keeper, munge, name=name, nodes=nodes, partitions=partitions, settings=settings
            ),
        )
        for name in NAMES
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.study", description=__doc__)
    parser.add_argument("--seeds", default="1-6", help="a number, or first-last")
    parser.add_argument("--directories", type=int, default=150)
    given = parser.parse_args()
    first, _, last = given.seeds.partition("-")
    keeper = Keeper()
    failed = False
    try:
        logins = clusters(keeper)
        print(machine())
        for seed in range(int(first), int(last or first) + 1):
            found = Study(logins, seed, given.directories).run()
            gone = ", driver gone for 3 minutes" if seed % 3 == 0 else ""
            print(
                f"seed {seed}: {2 * given.directories} jobs in {found.seconds:.0f} s{gone}; "
                f"{found.runs} runs ({found.again} again although done), {found.retried} retries "
                f"explained, {found.cpu_hours:.2f} of {found.limit:.2f} CPU-hours; "
                f"{len(found.faults)} faults",
                flush=True,
            )
            for fault in found.faults[:10]:
                print(f"    {fault}", flush=True)
            failed = failed or bool(found.faults)
            for login in logins:
                login.cluster.clean()
    finally:
        keeper.close()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
