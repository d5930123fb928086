"""An unknown login node describes itself: the partitions of a real Slurm and their limits."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.command_log import CommandResult, Trouble
from rowtui.core.clusters.commands import run_briefly
from rowtui.core.clusters.model import Partition
from rowtui.core.clusters.schedulers.slurm.describe import (
    PartitionNodes,
    describe_over,
    describe_slurm,
    describe_this_machine,
    gpus_of,
    largest_array,
    read_nodes,
    read_partition,
    why_no_slurm,
)
from rowtui.core.clusters.transports.asyncssh_transport import AsyncsshTransport
from rowtui.core.clusters.transports.login import NoUser, SshTarget

from tests.rig.login import LoginNode
from tests.rig.slurm import SlurmCluster


@pytest.mark.slurm
def test_a_real_cluster_is_described_by_its_partitions_default_first(
    slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_CONF", str(slurm.conf))
    monkeypatch.setenv("SINFO_FORMAT", "%n")
    cluster = describe_this_machine()
    assert cluster is not None
    assert (cluster.name, cluster.scheduler, cluster.source) == ("alpha", "slurm", "sinfo")
    assert cluster.partitions == (
        Partition(
            "cpu",
            maximum_cpus_per_job=32,
            cpus_per_node=16,
            maximum_gpus_per_job=0,
            maximum_walltime_seconds=86400,
            nodes=2,
        ),
        Partition(
            "gpu",
            maximum_cpus_per_job=32,
            cpus_per_node=32,
            minimum_gpus_per_job=1,
            maximum_gpus_per_job=4,
            gpus_per_node=4,
            maximum_walltime_seconds=43200,
            nodes=1,
        ),
        Partition(
            "highmem", maximum_cpus_per_job=64, cpus_per_node=64, maximum_gpus_per_job=0, nodes=1
        ),
        Partition(
            "shared",  # MaxCPUsPerNode=8, and only one of its three nodes has GPUs
            maximum_cpus_per_job=24,
            cpus_per_node=8,
            maximum_gpus_per_job=4,
            gpus_per_node=4,
            maximum_walltime_seconds=3600,
            nodes=3,
        ),
        Partition(
            "closed",
            maximum_cpus_per_job=16,
            cpus_per_node=16,
            maximum_gpus_per_job=0,
            prevent_auto_select=True,
            maximum_walltime_seconds=3600,
            nodes=1,
        ),
    )


@pytest.mark.slurm
async def test_a_cluster_behind_a_login_node_describes_itself_as_on_the_node(
    login: LoginNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    transport = AsyncsshTransport(SshTarget(login.name, config=(login.ssh_config,)), NoUser())
    try:
        described = await describe_over(transport)
        login.kill()
        login.cut()
        await transport.close()
        with pytest.raises(RowtuiError) as caught:
            await describe_over(transport)
    finally:
        await transport.close()
    monkeypatch.setenv("SLURM_CONF", str(login.cluster.conf))
    assert described == describe_slurm()
    assert described is not None
    assert described.maximum_array_size == 1001
    assert "Slurm does not answer" in caught.value.message


@pytest.mark.slurm
def test_the_largest_array_is_taken_and_one_with_a_task_more_is_refused(
    slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_CONF", str(slurm.conf))
    cluster = describe_slurm()
    assert cluster is not None
    most = cluster.maximum_array_size
    assert most is not None

    def submit(tasks: int) -> CommandResult:
        array = f"--array=0-{tasks - 1}"
        return run_briefly(
            ["sbatch", "--parsable", "--hold", "--wrap=true", "-o", "/dev/null", array], timeout=60
        )

    taken, refused = submit(most), submit(most + 1)
    run_briefly(["scancel", taken.stdout.decode().strip()], timeout=60)
    assert taken.exit_status == 0
    assert b"Invalid job array specification" in refused.stderr


@pytest.mark.parametrize(
    ("words", "tasks"),
    [
        ({}, None),
        ({"MaxArraySize": "1001", "MaxJobCount": "10000"}, 1001),
        ({"MaxArraySize": "10001", "MaxJobCount": "5000"}, 5000),
        ({"MaxArraySize": "0", "MaxJobCount": "10000"}, 0),
        ({"MaxArraySize": "1001", "SchedulerParameters": "x,max_array_tasks=7,y=9"}, 7),
        ({"MaxArraySize": "(null)"}, None),
    ],
)
def test_the_least_of_the_limits_of_an_array_holds(
    words: dict[str, str], tasks: int | None
) -> None:
    assert largest_array(words) == tasks


class Says:
    """A transport whose commands all end in the same way."""

    def __init__(self, **fields: object) -> None:
        self.fields = fields

    async def run(self, argv: Sequence[str], **_: object) -> CommandResult:
        return CommandResult(tuple(argv), **self.fields)  # type: ignore[arg-type]


async def test_a_node_without_slurm_is_told_from_one_that_cannot_be_asked() -> None:
    assert await describe_over(Says(exit_status=127)) is None
    for trouble in Trouble:
        with pytest.raises(RowtuiError) as caught:
            await describe_over(Says(exit_status=None, trouble=trouble, detail="\x1b[2J"))
        assert "Slurm does not answer" in caught.value.message
        assert "\x1b" not in caught.value.message


@pytest.mark.slurm
def test_a_cluster_that_does_not_answer_is_an_error_not_a_machine_without_slurm(
    slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_CONF", str(slurm.conf))
    slurm.stop_controller()
    try:
        with pytest.raises(RowtuiError) as caught:
            describe_slurm(lambda argv: run_briefly(argv, timeout=0.5))
    finally:
        slurm.continue_controller()
    assert "scontrol gave no answer" in caught.value.message
    assert "--cluster local" in caught.value.hint


def test_without_the_commands_there_is_no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert describe_slurm() is None
    assert describe_this_machine() is None
    assert "not on PATH" in why_no_slurm()


def test_commands_that_know_of_no_cluster_are_no_cluster() -> None:
    stderr = (
        b"scontrol: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host\n"
        b"scontrol: error: fetch_config: DNS SRV lookup failed\n"
        b"scontrol: error: _establish_config_source: failed to fetch config\n"
        b"scontrol: fatal: Could not establish a configuration source\n"
    )

    def run(argv: Sequence[str]) -> CommandResult:
        return CommandResult(tuple(argv), 1, stderr=stderr)

    assert describe_slurm(run) is None
    assert "no slurm.conf" in why_no_slurm(run)


def test_an_error_from_slurm_shows_no_control_characters() -> None:
    def run(argv: Sequence[str]) -> CommandResult:
        return CommandResult(tuple(argv), 1, stderr=b"slurm says \x1b[2J\n")

    with pytest.raises(RowtuiError) as caught:
        describe_slurm(run)
    assert "\x1b" not in caught.value.message


@pytest.mark.parametrize(
    ("gres", "gpus"),
    [
        ("(null)", 0),
        ("gpu:4", 4),
        ("gpu:a100:4(S:0-1)", 4),
        ("gpu:a100:4(S:0,2),gpu:v100:2(S:1),tmpdisk:100", 6),
        ("gpu:1g.5gb:7(S:0)", 7),
        ("shard:8", 0),
        ("gpu:no_consume:1K", 1024),
        ("gpu", 0),
    ],
)
def test_gpus_of_a_node(gres: str, gpus: int) -> None:
    assert gpus_of(gres) == gpus


def test_nodes_that_can_not_be_read_are_left_out() -> None:
    text = "cpu|2|16|(null)\ncpu|1|32+|gpu:2\n\nnoise\ncpu|x|1|(null)\nempty|0|16|(null)\n"
    assert read_nodes(text) == {"cpu": (PartitionNodes(2, 16, 0), PartitionNodes(1, 32, 2))}


def test_the_largest_job_is_that_of_the_largest_nodes_that_one_job_may_have() -> None:
    kinds = [PartitionNodes(10, 16, 0), PartitionNodes(2, 64, 4), PartitionNodes(1, 128, 8)]
    limited = read_partition({"PartitionName": "p", "MaxNodes": "2"}, kinds)
    unlimited = read_partition({"PartitionName": "p", "MaxNodes": "UNLIMITED"}, kinds)
    assert (limited.maximum_cpus_per_job, limited.maximum_gpus_per_job) == (192, 12)
    assert (unlimited.maximum_cpus_per_job, unlimited.maximum_gpus_per_job) == (416, 16)
    assert (limited.cpus_per_node, limited.gpus_per_node) == (16, 4)
    assert limited.minimum_gpus_per_job is None


@pytest.mark.parametrize("state", ["DOWN", "DRAIN", "INACTIVE"])
def test_a_partition_that_is_not_up_or_has_no_nodes_is_only_taken_by_name(state: str) -> None:
    nodes = [PartitionNodes(1, 16, 0)]
    assert read_partition({"PartitionName": "p", "State": state}, nodes).prevent_auto_select
    assert read_partition({"PartitionName": "p", "State": "UP"}, []).prevent_auto_select
    assert not read_partition({"PartitionName": "p", "State": "UP"}, nodes).prevent_auto_select


def test_describing_needs_no_event_loop() -> None:
    code = (
        "import sys; from rowtui.core.clusters.schedulers.slurm.describe import describe_slurm;"
        "describe_slurm(); sys.exit('asyncio' in sys.modules)"
    )
    result = run_briefly([sys.executable, "-c", code], timeout=30, env={"PATH": "/nonexistent"})
    assert (result.exit_status, result.stderr) == (0, b"")
