"""How busy a Slurm cluster is: recorded answers, hostile ones, and a real cluster's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rowtui.core.clusters.command_log import CommandResult, Trouble
from rowtui.core.clusters.commands import LocalTransport
from rowtui.core.clusters.model import ClusterLoad, PartitionLoad
from rowtui.core.clusters.schedulers.slurm.load import read_load, slurm_load

from tests.eventually import eventually_async
from tests.rig.slurm import Node, SlurmCluster, start_slurm

SAMPLES = Path(__file__).parents[1] / "samples"
AT = 1795269296.0  # when the samples were recorded

IDLE = "cpu|up|idle|2|0/32/0/32|(null)|gpu:0|\n"
BUSY = "cpu|up|alloc|2|32/0/0/32|(null)|gpu:0|\n"
HALF = "cpu|up|mix|2|16/16/0/32|(null)|gpu:0|\n"
RUNNING = "RUNNING|16|1|1000|N/A|N/A|cpu|None\n"


def read(sinfo: str, squeue: str = "", at: float = AT) -> ClusterLoad:
    return read_load(sinfo.encode(), squeue.encode(), cluster="c", at=at)


def only(sinfo: str, squeue: str = "", at: float = AT) -> PartitionLoad:
    load = read(sinfo, squeue, at)
    assert load.error == ""
    (partition,) = load.partitions
    return partition


def waiting(
    cores: int = 1,
    *,
    nodes: int = 1,
    start: str = "N/A",
    tasks: str = "N/A",
    gres: str = "N/A",
    partition: str = "cpu",
    reason: str = "Priority",
) -> str:
    return f"PENDING|{cores}|{nodes}|{start}|{tasks}|{gres}|{partition}|{reason}\n"


def test_a_recorded_busy_cluster_is_read_partition_by_partition() -> None:
    load = read_load(
        (SAMPLES / "load_sinfo.txt").read_bytes(),
        (SAMPLES / "load_squeue.txt").read_bytes(),
        cluster="alpha",
        at=AT,
    )
    assert (load.cluster, load.at, load.error, load.notices) == ("alpha", AT, "", ())
    assert load.partitions == (
        # One node in maintenance and one draining; a job of one core waits for room.
        PartitionLoad("cpu", 80, 3, 0, 0, 5, 0, 2, 5, 1 + 1 + 1 + 6 + 34 + 1, 118, 595.0),
        # The two that wait want four GPUs on a node, and no node has more than three.
        PartitionLoad("gpu", 96, 84, 12, 8, 3, 0, 0, 3, 4, 1 + 1 + 1 + 20, 0.0),
        PartitionLoad("all", 176, 87, 12, 8, 8, 0, 2, 0, 0, 0, 0.0),
        PartitionLoad("empty", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, None),
        PartitionLoad("closed", 16, 0, 0, 0, 1, 0, 1, 0, 0, 0, None),
    )


def test_an_idle_partition_without_a_queue_has_no_wait() -> None:
    assert only(IDLE) == PartitionLoad("cpu", 32, 32, 0, 0, 2, 2, 0, 0, 0, 0, 0.0)


@pytest.mark.parametrize(
    "state",
    ["down", "drain", "drng", "fail", "inval", "maint", "resv", "unk", "idle*", "mix$", "boot"],
)
def test_nodes_that_take_no_jobs_are_down_and_nothing_of_them_is_free(state: str) -> None:
    load = only(f"gpu|up|{state}|2|0/64/0/64|gpu:4|gpu:1|\n")
    assert (load.cores, load.gpus, load.nodes, load.down_nodes) == (64, 8, 2, 2)
    assert (load.free_cores, load.free_gpus, load.free_nodes) == (0, 0, 0)
    assert load.expected_wait is None


def test_nodes_that_are_reserved_for_a_job_of_later_are_free_until_then() -> None:
    for state in ("plnd", "idle-"):
        load = only(IDLE.replace("idle", state))
        assert (load.free_cores, load.free_nodes, load.expected_wait) == (32, 2, 0.0)


def test_an_estimate_means_nothing_while_every_node_is_down() -> None:
    queue = waiting(start=str(int(AT) + 60), reason="Resources")
    assert only(IDLE.replace("idle", "down"), queue).expected_wait is None


@pytest.mark.parametrize("available", ["down", "drain", "inact", "inactive"])
def test_nothing_is_free_in_a_partition_that_is_not_up(available: str) -> None:
    load = only(IDLE.replace("|up|", f"|{available}|"))
    assert (load.free_cores, load.free_nodes, load.down_nodes) == (0, 0, 2)
    assert load.expected_wait is None


def test_cores_of_sleeping_nodes_are_free_but_not_at_once() -> None:
    asleep = only(IDLE.replace("idle", "idle~"))
    assert (asleep.free_cores, asleep.free_nodes, asleep.down_nodes) == (32, 2, 0)
    assert asleep.expected_wait is None


@pytest.mark.parametrize(
    "reason",
    ["JobHeldUser", "Dependency", "BeginTime", "JobArrayTaskLimit", "QOSMaxJobsPerUserLimit"],
)
def test_jobs_that_wait_for_something_other_than_room_make_nobody_wait(reason: str) -> None:
    load = only(IDLE, waiting(reason=reason, start=str(int(AT) + 900)))
    assert (load.pending, load.pending_cores, load.expected_wait) == (1, 1, 0.0)


def test_a_job_that_needs_more_than_there_is_leaves_what_there_is() -> None:
    assert only(HALF, RUNNING + waiting(17, reason="Resources")).expected_wait == 0.0
    assert only(HALF, RUNNING + waiting(16, reason="Resources")).expected_wait is None


def test_the_wait_is_the_median_of_the_estimates_for_the_smallest_that_wait_for_room() -> None:
    queue = RUNNING + "".join(
        waiting(cores, start=str(int(AT) + after), reason=reason)
        for cores, after, reason in [
            (1, 100, "Priority"),
            (1, 300, "Priority"),
            (1, 500, "Resources"),
            (1, 9_000, "BeginTime"),
            (8, 5_000, "Priority"),
        ]
    )
    assert only(BUSY, queue).expected_wait == 300
    assert only(BUSY, queue, at=AT + 10_000).expected_wait == 0


def test_without_an_estimate_the_wait_is_unknown_not_invented() -> None:
    assert only(BUSY, RUNNING + waiting()).expected_wait is None
    assert only(BUSY, RUNNING).expected_wait is None


def test_where_every_node_has_gpus_a_small_job_waits_for_one_of_them() -> None:
    full = "gpu|up|mix|2|16/16/0/32|gpu:a100:4(S:0-1)|gpu:a100:4(IDX:0-3)|\n"
    running = RUNNING.replace("cpu", "gpu")
    assert only(full, running).expected_wait is None
    assert only(full.replace("gpu:a100:4(IDX:0-3)", "gpu:a100:3(IDX:0-2)"), running) == (
        PartitionLoad("gpu", 32, 16, 8, 2, 2, 0, 0, 1, 0, 0, 0.0)
    )
    mixed = read(full + HALF.replace("cpu", "gpu"), running).partitions[0]
    assert (mixed.free_gpus, mixed.expected_wait) == (0, 0.0)


def test_a_gpu_on_a_node_without_a_free_core_is_not_free() -> None:
    full = only("gpu|up|alloc|1|32/0/0/32|gpu:4|gpu:1|\n", RUNNING.replace("cpu", "gpu"))
    assert (full.gpus, full.free_gpus) == (4, 0)


@pytest.mark.parametrize(
    ("gres", "wait"),
    [("gres:gpu:a100:2", 0.0), ("gres/gpu:2", 0.0), ("gres/gpu=2", 0.0), ("gres/gpu:1", None)],
)
def test_gpus_that_a_job_asks_for_are_read_in_the_spelling_of_every_release(
    gres: str, wait: float | None
) -> None:
    node = "gpu|up|mix|1|16/16/0/32|gpu:2|gpu:1|\n"
    queue = RUNNING.replace("cpu", "gpu") + waiting(gres=gres, partition="gpu")
    assert only(node, queue).expected_wait == wait


def test_a_job_that_needs_more_gpus_than_all_nodes_have_free_leaves_them() -> None:
    nodes = "gpu|up|mix|2|16/16/0/32|gpu:2|gpu:1|\n"
    for count, wait in [(2, None), (3, 0.0)]:
        queue = waiting(gres="gres/gpu:1", nodes=count, partition="gpu")
        assert only(nodes, RUNNING.replace("cpu", "gpu") + queue).expected_wait == wait


def test_a_job_for_several_partitions_counts_in_each_and_one_for_none_of_them_nowhere() -> None:
    nodes = IDLE + IDLE.replace("cpu", "big")
    queue = waiting(4, partition="cpu,big,cpu") + waiting(8, partition="secret")
    load = read(nodes, queue)
    assert [(it.pending, it.pending_cores) for it in load.partitions] == [(1, 4), (1, 4)]


@pytest.mark.parametrize(
    ("tasks", "number"),
    [
        ("N/A", 1),
        ("7", 1),
        ("0-99", 100),
        ("0-99:3%2", 34),
        ("1-2,5-7,9", 6),
        ("2,9,104,...", 3),
        ("9-2", 1),
        ("0-9:0", 10),
        ("", 1),
    ],
)
def test_every_task_of_a_waiting_array_counts(tasks: str, number: int) -> None:
    load = only(IDLE, waiting(2, tasks=tasks, reason="JobArrayTaskLimit"))
    assert (load.pending, load.pending_cores) == (number, 2 * number)


def test_where_jobs_of_others_are_hidden_the_wait_is_unknown_and_that_is_said() -> None:
    load = read(HALF, "RUNNING|3|1|1000|N/A|N/A|cpu|None\n")
    assert load.partitions[0].expected_wait is None
    assert "16 CPUs in use, but squeue shows jobs on 3" in load.notices[0]
    assert read(HALF, "RUNNING|4|1|1000|N/A|N/A|cpu|None\n").notices == ()


def test_odd_lines_are_skipped_counted_and_shown_harmlessly() -> None:
    sinfo = f"{IDLE}sinfo: \x1b[2J\n\n{'x' * 300}|up|idle|1|0/1/0/1|(null)|gpu:0|\n"
    squeue = waiting() + "PENDING|many|1|N/A|N/A|N/A|cpu|None\n" * 2
    load = read(sinfo, squeue)
    assert [it.partition for it in load.partitions] == ["cpu"]
    assert load.partitions[0].pending == 1
    assert load.notices[0].startswith("sinfo: 2 lines could not be read, the first: sinfo: \\x1b[")
    assert load.notices[1].startswith("squeue: 2 lines could not be read, the first: PENDING|many")
    assert len(load.notices[0]) < 200


@pytest.mark.parametrize(
    ("sinfo", "squeue"), [("", ""), ("noise", ""), (IDLE, "noise\n"), (IDLE, "a|b|c|d|e|f|g|h")]
)
def test_answers_that_can_not_be_read_at_all_are_an_error(sinfo: str, squeue: str) -> None:
    load = read(sinfo, squeue)
    assert load.error
    assert load.partitions == ()


FIELD = st.one_of(
    st.sampled_from(
        "cpu up idle mix~ 2 0/4/0/4 (null) gpu:4 gpu:a:1(IDX:0) N/A PENDING RUNNING 1-9:2%3 "
        f"Priority cpu,gpu {'9' * 5000} gpu:{'9' * 50} ² -1 1e9".split()
    ),
    st.text(max_size=12),
)
LINES = st.lists(st.lists(FIELD, min_size=6, max_size=9).map("|".join)).map("\n".join)
ANSWER = st.one_of(
    st.binary(max_size=200),
    LINES.map(lambda text: text.encode("utf-8", "surrogatepass")),
)


@given(ANSWER, ANSWER)
@example(f"cpu|up|idle|1|0/1/0/1|gpu:{'9' * 50}|gpu:0|".encode(), b"")
@example(f"{IDLE}cpu|up|idle|1|0/1/0/1|gpu:{'9' * 5000}|gpu:0|".encode(), b"")
@example(IDLE.encode(), f"PENDING|1|1|{'9' * 5000}|{'9' * 5000}|N/A|cpu|x".encode())
@example(IDLE.encode(), f"PENDING|1|1|N/A|N/A|gpu:{'9' * 5000}|cpu|x".encode())
def test_whatever_the_commands_print_reading_it_never_raises(sinfo: bytes, squeue: bytes) -> None:
    load = read_load(sinfo, squeue, cluster="c", at=AT)
    assert bool(load.error) != bool(load.partitions)
    for partition in load.partitions:
        assert all(isinstance(value, int) and 0 <= value < 1e40 for value in partition[1:11])
        assert partition.expected_wait is None or partition.expected_wait >= 0


COUNT = st.integers(0, 64)


@given(
    st.lists(st.tuples(COUNT, COUNT, st.sampled_from(["idle", "mix", "down", "drng"])), min_size=1),
    st.lists(st.tuples(st.integers(1, 200), st.booleans(), st.integers(1, 5))),
)
def test_the_figures_are_the_sums_of_what_was_printed(
    nodes: list[tuple[int, int, str]], jobs: list[tuple[int, bool, int]]
) -> None:
    sinfo = "".join(f"p|up|{s}|1|{a}/{i}/0/{a + i}|(null)|gpu:0|\n" for a, i, s in nodes)
    squeue = "".join(
        (waiting(cores, partition="p") if waits else f"RUNNING|{cores}|1|1|N/A|N/A|p|None\n")
        * times
        for cores, waits, times in jobs
    )
    load = only(sinfo, squeue)
    good = [(a, i) for a, i, s in nodes if s in ("idle", "mix")]
    assert load.cores == sum(a + i for a, i, _ in nodes)
    assert load.free_cores == sum(i for _, i in good)
    assert (load.nodes, load.down_nodes) == (len(nodes), len(nodes) - len(good))
    assert load.running == sum(times for _, waits, times in jobs if not waits)
    assert load.pending == sum(times for _, waits, times in jobs if waits)
    assert load.pending_cores == sum(cores * times for cores, waits, times in jobs if waits)


class Answering:
    """A transport that gives these answers, and notes what it was asked."""

    def __init__(self, *answers: CommandResult) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def run(self, argv: Sequence[str], **options: object) -> CommandResult:
        self.asked.append(argv[0])
        return self.answers.pop(0)


GOOD = CommandResult(("sinfo",), 0, IDLE.encode())


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([CommandResult(("sinfo",), None, trouble=Trouble.TIMED_OUT, seconds=5)], "no answer"),
        ([CommandResult(("sinfo",), None, trouble=Trouble.LOST)], "connection broke"),
        ([CommandResult(("sinfo",), 0, b"", b"slurm_load_node: \x1b")], "slurm_load_node: \\x1b"),
        ([CommandResult(("sinfo",), 0, IDLE.encode(), truncated=True)], "more than can be read"),
        ([GOOD, CommandResult(("squeue",), 1, b"", b"slurm_load_jobs error")], "slurm_load_jobs"),
        ([GOOD, CommandResult(("squeue",), 0, b"", b"squeue: error: no")], "squeue: error: no"),
    ],
)
async def test_an_unanswered_command_is_an_error_never_an_idle_cluster(
    answers: list[CommandResult], words: str
) -> None:
    transport = Answering(*answers)
    load = await slurm_load(transport, timeout=5, cluster="c", clock=lambda: AT)
    assert (load.cluster, load.at, load.partitions) == ("c", AT, ())
    assert words in load.error
    assert transport.asked == ["sinfo", "squeue"][: len(answers)]


def transport_to(slurm: SlurmCluster) -> LocalTransport:
    return LocalTransport({"SLURM_CONF": str(slurm.conf)})


async def loads(slurm: SlurmCluster) -> dict[str, PartitionLoad]:
    load = await slurm_load(transport_to(slurm), timeout=60, cluster="alpha")
    assert (load.cluster, load.error, load.notices) == ("alpha", "", ())
    return {partition.partition: partition for partition in load.partitions}


@pytest.mark.slurm
async def test_a_real_idle_cluster_has_everything_free(
    slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm.clean()
    monkeypatch.setenv("SINFO_FORMAT", "%n")
    monkeypatch.setenv("SQUEUE_FORMAT", "%j")
    found = await loads(slurm)
    assert found == {
        "cpu": PartitionLoad("cpu", 32, 32, 0, 0, 2, 2, 0, 0, 0, 0, 0.0),
        "gpu": PartitionLoad("gpu", 32, 32, 4, 4, 1, 1, 0, 0, 0, 0, 0.0),
        "highmem": PartitionLoad("highmem", 64, 64, 0, 0, 1, 1, 0, 0, 0, 0, 0.0),
        "shared": PartitionLoad("shared", 64, 64, 4, 4, 3, 3, 0, 0, 0, 0, 0.0),
        "closed": PartitionLoad("closed", 16, 0, 0, 0, 1, 0, 1, 0, 0, 0, None),
    }


@pytest.mark.slurm
async def test_a_real_busy_cluster_says_what_is_taken_and_who_waits(slurm: SlurmCluster) -> None:
    # given: the CPU nodes full, two of four GPUs taken, a queue, and an array for two partitions
    slurm.clean()
    full = [slurm.submit("sleep 300", "-p cpu -c16 --time=7") for _ in range(2)]
    gpu = slurm.submit("sleep 300", "-p gpu -c4 --gres=gpu:a100:2")
    for job in (*full, gpu):
        slurm.wait_for(job, "RUNNING")
    slurm.submit("true", "-p cpu -c2 --time=1")
    slurm.submit("true", "-p gpu,highmem -c3 --array=0-9:3 --hold")

    # when Slurm has made up its mind about the one that waits for room
    found = await eventually_async(
        lambda: loads(slurm), lambda found: found["cpu"].expected_wait, every=0.1
    )
    slurm.run(f"scancel -u {slurm.user}")

    # then
    assert found["cpu"][:11] == ("cpu", 32, 0, 0, 0, 2, 0, 0, 2, 1, 2)
    assert 300 < (found["cpu"].expected_wait or 0) <= 420  # when the limit of the first is over
    assert found["gpu"] == PartitionLoad("gpu", 32, 28, 4, 2, 1, 0, 0, 1, 4, 12, 0.0)
    assert found["highmem"] == PartitionLoad("highmem", 64, 64, 0, 0, 1, 1, 0, 0, 4, 12, 0.0)
    assert found["shared"] == PartitionLoad("shared", 64, 28, 4, 2, 3, 0, 0, 0, 0, 0, 0.0)


@pytest.fixture
def own() -> Iterator[SlurmCluster]:
    """A cluster for one test: a controller that crashes later may come back to a drained node."""
    rig = start_slurm(
        nodes=[Node(name, 8, 8000, gpus=2) for name in ("g1", "g2", "g3", "g4")],
        partitions=["PartitionName=gpu Nodes=g[1-4] Default=YES DefaultTime=10"],
    )
    yield rig.cluster
    rig.close()


@pytest.mark.slurm
async def test_real_nodes_are_counted_each_by_what_is_taken_and_whether_it_serves(
    own: SlurmCluster,
) -> None:
    # given: a GPU of g1 and one of g2 taken, g3 idle, g4 drained
    jobs = [own.submit("sleep 300", f"-c2 --gres=gpu:1 -w {node}") for node in ("g1", "g2")]
    for job in jobs:
        own.wait_for(job, "RUNNING")
    own.run("scontrol update nodename=g4 state=drain reason=test")
    assert await loads(own) == {"gpu": PartitionLoad("gpu", 32, 20, 8, 4, 4, 1, 1, 2, 0, 0, 0.0)}
    # and when the whole partition takes no jobs, nothing of it is free
    own.run("scontrol update partitionname=gpu state=down")
    assert await loads(own) == {"gpu": PartitionLoad("gpu", 32, 0, 8, 0, 4, 0, 4, 2, 0, 0, None)}


@pytest.mark.slurm
async def test_a_real_controller_that_does_not_answer_is_an_error(slurm: SlurmCluster) -> None:
    slurm.stop_controller()
    try:
        load = await slurm_load(transport_to(slurm), timeout=0.5, cluster="alpha")
    finally:
        slurm.continue_controller()
    assert load.partitions == ()
    assert "sinfo gave no answer" in load.error
