"""A bundle on a node of a real Slurm: its jobs are steps, each with its share and its own fate."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path
from typing import Any

import pytest
from rowtui.core.clusters.model import Cluster, Identify, Partition
from rowtui.core.clusters.schedulers.slurm.scheduler import SlurmScheduler

from tests.core.submission.bundled import Bundled, Member, as_written
from tests.core.submission.conftest import RealProject
from tests.eventually import eventually
from tests.rig.slurm import Node, SlurmCluster, SlurmRig

pytestmark = [pytest.mark.slurm, pytest.mark.slow]

CLUSTER = Cluster(
    "alpha",
    Identify(always=True),
    "slurm",
    (Partition("cpu", memory_per_cpu_mb=60), Partition("gpu", memory_per_cpu_mb=60)),
)
OVER = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT")


@pytest.fixture
def real(slurm: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RealProject:
    monkeypatch.setenv("SLURM_CONF", str(slurm.conf))
    return RealProject(tmp_path / "pro ject", [], SlurmScheduler("alpha"), CLUSTER)


def send(slurm: SlurmCluster, bundled: Bundled, options: str = "") -> int:
    """Hand a bundle over; its id."""
    line = f"sbatch --parsable --requeue -D '{bundled.root}' {options}"
    return int(slurm.run(line, stdin=bundled.script("slurm")).stdout)


def said(bundled: Bundled, job_id: int) -> dict[str, str]:
    """What its log says of each job in the end."""
    log = bundled.root / f"rowtui-bundle-{job_id}.out"
    return bundled.said(log.read_text(errors="replace").splitlines())


def spans(root: Path) -> list[tuple[float, float, int]]:
    """When each job began and ended, and its CPUs, as it wrote it down."""
    begun: dict[str, tuple[float, int]] = {}
    found = []
    for line in (root / "times").read_text().splitlines():
        what, name, at, cpus = line.split()
        if what == "begin":
            begun[name] = float(at), int(cpus)
        else:
            found.append((begun[name][0], float(at), begun[name][1]))
    return found


def busy(running: list[tuple[float, float, int]]) -> tuple[int, int]:
    """The most jobs, and the most CPUs, at any one time."""
    events = [(begin, 1, cpus) for begin, _, cpus in running]
    events += [(end, -1, -cpus) for _, end, cpus in running]
    jobs = most_jobs = used = most = 0
    for _, job, cpus in sorted(events, key=lambda event: (event[0], event[1])):
        jobs, used = jobs + job, used + cpus
        most_jobs, most = max(most_jobs, jobs), max(most, used)
    return most_jobs, most


def test_forty_unequal_jobs_share_a_node_and_keep_apart(
    real: RealProject, slurm: SlurmCluster
) -> None:
    stamp = "echo {0} {1} $(date +%s.%N) $SLURM_CPUS_ON_NODE >>times"
    chance = random.Random(5)

    def member(number: int, cpus: int) -> Member:
        name = f"m{number}"
        run = f"{stamp.format('begin', name)}\nsleep 0.{chance.randint(1, 6)}\n"
        return Member(name, run + stamp.format("end", name), cpus=cpus, memory_mb=50 * cpus)

    # 16 CPUs: two lanes of up to 4, two of 2, four of 1. All lanes meet once, and wait until they
    # were counted, so that it is sure that they run at the same time; then a lane of each kind has
    # something of its own.
    widths = (4, 4, 2, 2, 1, 1, 1, 1)
    all_here = "[ $(ls here.* | wc -l) = 8 ] && [ -e go ]"
    meet = f"touch here.$ACTION_LANE; until {all_here}; do sleep 0.1; done"
    lanes = [
        [
            Member(f"first{lane}", meet.replace("$ACTION_LANE", str(lane)), cpus=width),
            *(member(10 * lane + turn, chance.randint(1, width)) for turn in range(3)),
        ]
        for lane, width in enumerate(widths)
    ]
    ranks = "srun --quiet --ntasks=4 bash -c 'echo rank $SLURM_PROCID of $SLURM_NTASKS'"
    lanes[0].append(Member("launched", ranks, cpus=4, processes=4, starts_steps=True))
    lanes[1].append(Member("nested", "srun --quiet bash -c 'echo nested in $SLURM_JOB_ID'", cpus=2))
    lanes[2].append(Member("fails", "exit 4", cpus=2))
    lanes[3].append(Member("late", "sleep 1000", seconds=1))
    lanes[4].append(Member("killed", "kill -9 $(cut -d' ' -f4 /proc/$PPID/stat); sleep 2; exit 1"))
    lanes[5].append(Member("fat", "head -c 80M /dev/zero | tail -c 80M | sleep 1000"))
    for lane in range(6, 8):
        lanes[lane].append(member(100 + lane, 1))
    bundled = Bundled(real, lanes)
    assert len(bundled.jobs) == 40

    job_id = send(slurm, bundled, "--partition=cpu")
    steps = f"squeue -h -s -j {job_id} -o %i"
    most = 0

    def over() -> bool:
        nonlocal most
        most = max(most, len([s for s in slurm.run(steps).stdout.split() if "batch" not in s]))
        if most == 8:
            (real.root / "go").touch()
        return slurm.state(job_id) in OVER

    eventually(over, what="the bundle to end", every=0.15, within=90)

    assert slurm.state(job_id) == "FAILED"
    result = said(bundled, job_id)
    special = {
        "fails": "failed (exit code 2)",
        "late": "ran out of time",
        "killed": "stopped (signal KILL)",
        "fat": "stopped (out of memory)",
    }
    names = [job.directories[0] for job in bundled.jobs]
    assert result == dict.fromkeys(names, "ended well") | special
    assert most == 8
    assert busy(spans(real.root))[0] <= 8
    assert busy(spans(real.root))[1] <= 16
    assert real.runs() == dict.fromkeys(names, 1)
    complete = {name for name in names if (real.root / "workspace" / name / "out").exists()}
    assert complete == set(names) - special.keys()
    assert bundled.ended("fails")[:2] == ["2", "exit"]
    assert bundled.ended("late")[:2] == ["138", "time limit"]
    assert bundled.ended("killed")[:3] == ["137", "signal KILL", f"slurm:{job_id}"]
    assert {bundled.fence(name) for name in names} == {f"slurm:{job_id}"}
    assert sorted(bundled.log("launched", job_id).split("\n")) == [
        "",
        *(f"rank {rank} of 4" for rank in range(4)),
    ]
    assert bundled.log("nested", job_id) == f"nested in {job_id}\n"


def test_jobs_of_a_cancelled_bundle_say_so_and_the_others_leave_nothing(
    real: RealProject, slurm: SlurmCluster
) -> None:
    lanes = [[Member(f"{a}{b}", f"touch began.{a}{b}; sleep 1000") for b in "12"] for a in "abc"]
    bundled = Bundled(real, lanes)
    job_id = send(slurm, bundled)
    bundled.wait_for("began.a1", "began.b1", "began.c1")

    slurm.run(f"scancel {job_id}")
    slurm.wait_for(job_id, "CANCELLED")
    eventually(lambda: all(bundled.ended(f"{a}1") for a in "abc"), what="their last words")

    for lane in "abc":
        words = bundled.ended(f"{lane}1")
        # The command may be gone before its own script hears of it: what is told is the same.
        assert words[1] == "signal TERM" or (words[1] == "exit" and "143" in words)
        assert (bundled.fence(f"{lane}2"), bundled.ended(f"{lane}2")) == ("", [])
    assert real.runs() == {f"{a}{b}": int(b == "1") for a in "abc" for b in "12"}


def test_at_the_bundles_limit_those_that_run_are_out_of_time(
    real: RealProject, slurm: SlurmCluster
) -> None:
    lanes = [
        [Member("a", "touch began.a; sleep 1000"), Member("b")],
        [
            Member("c", "touch began.c; until [ -e go ]; do sleep 0.2; done; sleep 1.5"),
            Member("d"),
        ],
    ]
    bundled = Bundled(real, lanes)
    job_id = send(slurm, bundled, f"--export=ALL,TMPDIR='{real.root}'")
    bundled.wait_for("began.a", "began.c")

    # As Slurm does it: the warning to the script alone, later SIGTERM to everything.
    slurm.run(f"scancel --signal=USR1 --batch {job_id}")
    eventually(lambda: any(real.root.glob("rowtui.*/warned")), what="the warning")
    (real.root / "go").touch()
    eventually(lambda: bool(bundled.ended("c")), what="the end of one that goes on")
    slurm.run(f"scancel --signal=TERM --full {job_id}")
    slurm.wait_for(job_id, *OVER)

    assert said(bundled, job_id) == {
        "a": "ran out of time",
        "b": "not begun",
        "c": "ended well",
        "d": "not begun",
    }
    assert bundled.ended("a")[:2] == ["138", "time limit"]
    assert (bundled.fence("b"), bundled.fence("d")) == ("", "")


def test_a_requeued_bundle_runs_again_what_had_not_ended(
    real: RealProject, slurm: SlurmCluster
) -> None:
    # It dies of the signal at once, maybe before its script hears that they are to stop.
    wait = "touch began; until [ -e go ]; do sleep 0.2; done"
    lanes = [
        [Member("a", "echo once"), Member("b", wait), Member("c")],
        [Member("late", "sleep 1000", seconds=1)],
    ]
    bundled = Bundled(real, lanes)
    job_id = send(slurm, bundled)
    bundled.wait_for("began")
    eventually(lambda: bool(bundled.ended("late")), what="the end of its time")

    slurm.run(f"scontrol requeue {job_id}")
    slurm.wait_for(job_id, "PENDING", "REQUEUED")
    # A node does not take a job back in the second in which it was told to kill it.
    told = int(time.time())
    eventually(lambda: time.time() >= told + 1, what="the next second")
    (real.root / "go").touch()
    slurm.run(f"scontrol update JobId={job_id} StartTime=now")
    eventually(lambda: bool(bundled.ended("c")), what="the second run")
    slurm.wait_for(job_id, *OVER)

    assert said(bundled, job_id) == {
        "a": "ended well (before)",
        "b": "ended well",
        "c": "ended well",
        "late": "ran out of time (before)",
    }
    assert real.runs() == {"a": 1, "b": 2, "c": 1, "late": 1}
    assert bundled.log("a", job_id) == "once\n"


@pytest.fixture(scope="module")
def pair(slurm_rig: SlurmRig) -> SlurmCluster:
    """A cluster of two nodes, one of which may fail."""
    return SlurmCluster(
        slurm_rig.keeper,
        slurm_rig.munge,
        name="pair",
        nodes=(Node("p1", 4, 64000), Node("p2", 4, 64000)),
        partitions=("PartitionName=cpu Nodes=p[1-2] Default=YES",),
    )


def test_a_node_that_is_taken_for_dead_begins_nothing_that_the_next_one_runs(
    real: RealProject, pair: SlurmCluster
) -> None:
    # given a bundle whose node goes on when nobody hears of it any more
    wait = "touch on.$SLURMD_NODENAME; until [ -e go ]; do sleep 0.2; done"
    rest = [Member(name, "echo $SLURMD_NODENAME") for name in "bcd"]
    bundled = Bundled(real, [[Member("a", wait), *rest]])
    job_id = send(pair, bundled)
    eventually(lambda: any(real.root.glob("on.*")), what="its begin")
    (first,) = (path.suffix[1:] for path in real.root.glob("on.*"))
    pair.nodes[first].kill()
    pair.run(f"scontrol update nodename={first} state=down reason=gone")
    pair.wait_for(job_id, "PENDING")

    # when it has ended what it was at, and waits for the next job step
    (real.root / "go").touch()
    eventually(lambda: bool(bundled.ended("a")), what="the end of what it was at")
    log = real.root / f"one-{job_id}.1.out"
    eventually(log.exists, what="the next one's turn")
    # and it is started again on the other one
    pair.run(f"scontrol update JobId={job_id} StartTime=now", check=False)
    eventually(lambda: bool(bundled.ended("d")), what="the second start")
    pair.wait_for(job_id, *OVER)

    # then all that had not begun ran there, once
    assert real.runs() == dict.fromkeys("abcd", 1)
    second = "p2" if first == "p1" else "p1"
    for name in "cd":
        assert {first, second} & {*bundled.log(name, job_id).split()} == {second}
    assert {bundled.fence(name) for name in "abcd"} == {f"slurm:{job_id}"}
    begun = {path.name.partition("~")[2] for path in real.root.glob(".row/rowtui/fence/*~*+*")}
    assert begun == {"0+0", "1+1", "2+1", "3+1"}


def test_steps_have_gpus_and_memory_of_their_own(real: RealProject, slurm: SlurmCluster) -> None:
    show = "echo gpus=$CUDA_VISIBLE_DEVICES; "
    show += "scontrol show step $SLURM_JOB_ID.$SLURM_STEP_ID | grep TRES"
    meet = "touch here.{0}; until [ -e here.a ] && [ -e here.b ]; do sleep 0.1; done; " + show
    lanes = [
        [Member("a", meet.format("a"), gpus=2, cpus=2, memory_mb=70)],
        [Member("b", meet.format("b"), gpus=1, memory_mb=30), Member("c", show)],
    ]
    real.action = real.action._replace(resources=real.action.resources._replace(gpus_per_process=1))
    bundled = Bundled(real, lanes)
    job_id = send(slurm, bundled, "--partition=gpu")
    slurm.wait_for(job_id, *OVER)

    assert set(said(bundled, job_id).values()) == {"ended well"}
    gpus = {}
    for name in "abc":
        (said_gpus,) = re.findall("^gpus=(.*)$", bundled.log(name, job_id), re.MULTILINE)
        gpus[name] = said_gpus.split(",")
    assert len({*gpus["a"], *gpus["b"]}) == 3
    assert gpus["c"] == [""]
    assert "cpu=2,mem=70M" in bundled.log("a", job_id)
    assert "cpu=1,mem=30M" in bundled.log("b", job_id)


class Threaded(SlurmCluster):
    """A cluster of one node with 4 cores of 2 threads."""

    def _write_configuration(self, *what: Any) -> None:
        super()._write_configuration(*what)
        for conf in (self.conf, self.daemons_conf):
            text = conf.read_text()
            for old, new in (("CoresPerSocket=8", "CoresPerSocket=4"), ("PerCore=1", "PerCore=2")):
                text = as_written(text, old, new)
            conf.write_text(text)


@pytest.fixture(scope="module")
def threaded(slurm_rig: SlurmRig) -> SlurmCluster:
    partitions = ("PartitionName=cpu Nodes=t1 Default=YES",)
    nodes = (Node("t1", 8, 64000),)
    return Threaded(
        slurm_rig.keeper, slurm_rig.munge, name="threads", nodes=nodes, partitions=partitions
    )


@pytest.mark.parametrize(("cpus", "steps"), [(1, 0), (2, 4)])
def test_lanes_that_cannot_have_whole_cores_run_side_by_side_all_the_same(
    real: RealProject, threaded: SlurmCluster, cpus: int, steps: int
) -> None:
    count = 8 // cpus
    meet = f"touch here.{{0}}; until [ $(ls here.* | wc -l) = {count} ]; do sleep 0.1; done"
    wait = "; until [ -e go ]; do sleep 0.1; done; echo cpus=$SLURM_CPUS_PER_TASK"
    lanes = [[Member(f"m{at}", meet.format(at) + wait, cpus=cpus)] for at in range(count)]
    bundled = Bundled(real, lanes)
    job_id = send(threaded, bundled)

    bundled.wait_for(*(f"here.{at}" for at in range(count)))
    there = threaded.run(f"squeue -h -s -j {job_id} -o %i").stdout.split()
    (real.root / "go").touch()
    threaded.wait_for(job_id, *OVER)

    assert len([step for step in there if "batch" not in step]) == steps
    assert set(said(bundled, job_id).values()) == {"ended well"}
    for at in range(count):
        said_cpus = re.findall("^cpus=(.*)$", bundled.log(f"m{at}", job_id), re.MULTILINE)
        assert said_cpus == [str(cpus)]
