"""Many short tasks in four ways: `python -m bench.pool [--tasks N] [--ways W,...] [--json FILE]`.

Tasks of 0.1 to 10 s, of one CPU each, become ready at once on a real Slurm of two nodes with eight
CPUs each, on this machine. They run as plain jobs, as arrays, in packed bundles and in a pool; each
way is driven by `rowtui run`. After a quarter of the tasks a node is lost, and comes back some
seconds later (`--calm`: none is lost). The figures: how many seconds of a CPU each task costs
besides its own, the node-hours that were held, and which share of them was used. For the pool also
what its own loop predicts for the same tasks without any overhead and without a lost node.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import os
import random
import shutil
import threading
import time
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

from rowtui.core.packing.arriving import OpenNode, not_needed, schedule
from rowtui.core.packing.model import Demand, InstanceType, ResourceAmounts
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning.pack_views import PackChoice
from rowtui.core.project.retry_policy import load_policy
from rowtui.core.runs.execution.project_run import ProjectRun
from rowtui.core.runs.limits.limits import RunLimits
from rowtui.core.runs.store import PROJECT_RUNS, RunStore

from bench.machine import machine
from bench.measured import Measured, write
from tests.rig.processes import Keeper
from tests.rig.slurm import Munge, Node, SlurmCluster

HEAD = (
    "| way | tasks | wall s | overhead s/task | node-hours | used % | lost node | ran twice |\n"
    "|---|--:|--:|--:|--:|--:|---|--:|"
)
WAYS = ("jobs", "arrays", "bundles", "pool")
NODES, CPUS = 2, 8
LIMIT_SECONDS = 60  # that each task asks for
CLUSTER = f"""\
[[cluster]]
name = "alpha"
scheduler = "slurm"
identify.always = true
poll = 1
partition = [{{ name = "cpu", memory_per_cpu = "60M", maximum_walltime = "02:00:00" }}]
[[cluster.node_type]]
name = "eight"
partition = "cpu"
cpus = {CPUS}
memory = "2G"
"""
WORKFLOW = """\
[workspace]
value_file = "value.json"
[[action]]
name = "task"
command = "cd workspace/{directory}; echo x >> ran; sleep {/seconds}; touch done"
products = ["done"]
group.maximum_size = 1
resources = { walltime.per_submission = "00:01:00" }
"""
RULES = '[[retry]]\non = ["node failure"]\nattempts = 10\nwait = "00:00:01"\n'


def durations(tasks: int) -> list[float]:
    """Seconds of each task, the same for the same number of tasks: 0.1 to 10, even in logarithm."""
    chance = random.Random(tasks)
    return [round(10 ** chance.uniform(-1, 1), 2) for _ in range(tasks)]


def predicted(seconds: Sequence[float]) -> float:
    """The node-hours that the pool's own loop needs for these tasks, which are ready at once."""
    kind = InstanceType("eight", ResourceAmounts(CPUS), 1.0)
    waiting = list(range(len(seconds)))
    free: dict[int, int] = {}
    opened: dict[int, float] = {}
    running: list[tuple[float, int]] = []  # when it ends, and where
    now = held = 0.0
    while waiting or running:
        there = list(free)
        nodes = [OpenNode("eight", ResourceAmounts(free[at])) for at in there]
        found = schedule(
            nodes, [Demand(ResourceAmounts(1))] * len(waiting), [kind], NODES - len(there)
        )
        for _ in found.opened:
            there.append(len(opened))
            opened[there[-1]], free[there[-1]] = now, CPUS
        for number, place in found.places.items():
            free[there[place]] -= 1
            heapq.heappush(running, (now + seconds[waiting[number]], there[place]))
        waiting = [waiting[at] for at in found.waiting]
        empty = [at for at in free if free[at] == CPUS]
        for at in not_needed(
            [nodes[0]] * len(empty) if nodes else [], [Demand(ResourceAmounts(1))] * len(waiting)
        ):
            held += now - opened[empty[at]]
            del free[empty[at]]
        if running:
            now, at = heapq.heappop(running)
            free[at] += 1
    held += sum(now - opened[at] for at in free)
    return held / 3600


def made(folder: Path, seconds: Sequence[float]) -> None:
    """A project of a directory for each task."""
    for number, each in enumerate(seconds):
        directory = folder / f"workspace/t{number:05}"
        directory.mkdir(parents=True)
        (directory / "value.json").write_text(f'{{"seconds": {each}}}')
    (folder / "workflow.toml").write_text(WORKFLOW)
    (folder / "rowtui.toml").write_text(RULES)


def done_in(folder: Path) -> int:
    return sum(1 for _ in folder.glob("workspace/*/done"))


def lose_a_node(cluster: SlurmCluster, folder: Path, tasks: int, over: threading.Event) -> None:
    """After a quarter of the tasks, for five seconds."""
    while done_in(folder) < tasks / 4:
        if over.wait(0.5):
            return
    cluster.run("scontrol update nodename=c2 state=down reason=lost")
    over.wait(5)
    cluster.run("scontrol update nodename=c2 state=resume", check=False)


async def driven(cluster: SlurmCluster, folder: Path, way: str, *, tasks: int, calm: bool) -> float:
    """Drive the project to its end; the seconds that it took."""
    project = OpenProject.open(folder, cluster="alpha")
    project.arrays = way == "arrays"
    project.packing = PackChoice(largest_bundle=tasks // (4 * NODES)) if way == "bundles" else False
    limits = RunLimits(allocations=NODES if way == "pool" else None)
    run = RunStore(folder, PROJECT_RUNS).create(None, limits=limits, cluster="alpha")
    driver = ProjectRun(project, run, load_policy(folder))
    over = threading.Event()
    losing = threading.Thread(target=lose_a_node, args=(cluster, folder, tasks, over))
    if not calm:
        losing.start()
    began = time.monotonic()
    last = None
    try:
        async with aclosing(driver.drive()) as messages:
            async for message in messages:
                last = message
    finally:
        over.set()
    took = time.monotonic() - began
    if not calm:
        losing.join()
    await project.let_go()
    if last is None or not last.success:
        raise SystemExit(f"{way}: {last and last.sentence}")
    return took


def held(log: Path, since: int) -> float:
    """CPU-seconds that the jobs of Slurm's own record of ended jobs held, from a line on."""
    total = 0.0
    for line in log.read_text().splitlines()[since:]:
        words = dict(word.partition("=")[::2] for word in line.split())
        begin, end = words["StartTime"], words["EndTime"]
        if "Unknown" in (begin, end):
            continue
        form = "%Y-%m-%dT%H:%M:%S"
        took = time.mktime(time.strptime(end, form)) - time.mktime(time.strptime(begin, form))
        total += took * int(words["ProcCnt"])
    return total


def measured(cluster: SlurmCluster, way: str, tasks: int, *, calm: bool) -> Measured:
    """One row."""
    folder = cluster.work / way
    seconds = durations(tasks)
    made(folder, seconds)
    log = cluster.folder / "ended"
    since = len(log.read_text().splitlines()) if log.exists() else 0
    took = asyncio.run(driven(cluster, folder, way, tasks=tasks, calm=calm))
    late = time.monotonic() + 60
    while cluster.run("squeue --noheader").stdout.strip() and time.monotonic() < late:
        time.sleep(1)
    useful, cpus = sum(seconds), held(log, since)
    runs = [len(path.read_text().split()) for path in folder.glob("workspace/*/ran")]
    if len(runs) != tasks:
        raise SystemExit(f"{way}: {len(runs)} of {tasks} tasks ran")
    figures = {
        "wall s": took,
        "overhead s/task": max(0.0, took * NODES * CPUS - useful) / tasks,
        "node-hours": cpus / CPUS / 3600,
        "used %": 100 * useful / cpus if cpus else 0.0,
        "ran twice": float(sum(count > 1 for count in runs)),
    }
    shutil.rmtree(folder)
    return Measured(way, tasks, best=figures, variant="" if calm else "a node is lost")


def line(row: Measured) -> str:
    """One line of the table."""
    best = row.best
    return (
        f"| {row.what} | {row.size:,} | {best['wall s']:.0f} | {best['overhead s/task']:.2f} | "
        f"{best['node-hours']:.3f} | {best['used %']:.0f} | {'no' if not row.variant else 'yes'} | "
        f"{best['ran twice']:.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.pool", description=__doc__)
    parser.add_argument("--tasks", type=int, default=2_000)
    parser.add_argument("--ways", default=",".join(WAYS), help="of jobs,arrays,bundles,pool")
    parser.add_argument("--calm", action="store_true", help="lose no node")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows: list[Measured] = []
    keeper = Keeper()
    try:
        settings = {
            "SlurmdTimeout": 20,
            "JobCompType": "jobcomp/filetxt",
            "JobCompLoc": keeper.folder / "alpha/ended",
        }
        nodes = [Node(f"c{number + 1}", CPUS, 64000) for number in range(NODES)]
        cluster = SlurmCluster(
            keeper,
            Munge(keeper),
            nodes=nodes,
            partitions=["PartitionName=cpu Nodes=c[1-2] Default=YES DefaultTime=10"],
            settings=settings,
        )
        home = keeper.folder / "home/.config/rowtui"
        home.mkdir(parents=True)
        (home / "clusters.toml").write_text(CLUSTER)
        os.environ |= {"HOME": str(home.parents[1]), "SLURM_CONF": str(cluster.conf)}
        print(machine(), HEAD, sep="\n")
        for way in given.ways.split(","):
            rows.append(measured(cluster, way, given.tasks, calm=given.calm))
            print(line(rows[-1]), flush=True)
    finally:
        keeper.close()
    hours = predicted(durations(given.tasks))
    rows.append(Measured("pool", given.tasks, "floor", {"node-hours": hours}))
    print(f"\nThe pool's own loop predicts {hours:.3f} node-hours.")
    if given.json:
        write(given.json, rows)


if __name__ == "__main__":
    main()
