"""The node types of a live Slurm cluster, from recorded answers and from real clusters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.command_log import CommandResult, Trouble
from rowtui.core.clusters.commands import LocalTransport
from rowtui.core.clusters.config.load import load_clusters
from rowtui.core.clusters.config.show import node_types_toml
from rowtui.core.clusters.model import NodeType
from rowtui.core.clusters.schedulers.slurm.nodes import (
    FoundKind,
    FoundNodes,
    read_node_types,
    slurm_node_types,
    unseen_nodes,
)
from rowtui.core.clusters.schedulers.slurm.nodes_parse import node_names

from tests.rig.slurm import Node, SlurmCluster, start_slurm

SAMPLES = Path(__file__).parents[1] / "samples"
NODES = (SAMPLES / "scontrol_nodes.txt").read_text()
PARTITIONS = (SAMPLES / "scontrol_partitions.txt").read_text()
CONFIG = "ClusterName = alpha\nResumeTimeout           = 300 sec\nSelectType = select/cons_tres\n"
# One line for each partition; the node is in two of them.
SLEEPER = "0|0|0|0|(null)\n1|8|32000|50000|(null)\n0|0|0|0|(null)\n1|8|32000|50000|(null)\n"
ONE = "NodeName={} CPUTot=4 RealMemory=8000 TmpDisk=0 State={} Gres={} Partitions=p\n"
P = "PartitionName=p Default=YES MaxTime=UNLIMITED State=UP Nodes=x\n"


def by_name(found: FoundNodes) -> dict[str, FoundKind]:
    names = {each.kind.name: each for each in found.kinds}
    assert len(names) == len(found.kinds), "names are all different"
    return names


def one(nodes: str, partition: str = P, config: str = CONFIG) -> FoundKind:
    (found,) = read_node_types(config, partition, nodes).kinds
    return found


def test_a_recorded_cluster_has_these_types_the_default_partitions_first() -> None:
    found = by_name(read_node_types(CONFIG, PARTITIONS, NODES))
    assert list(found) == [
        "cpu-12c-59g",
        "gpu-32c-250g-4xa100",
        "highmem-64c-1855g",
        "shared-8c-59g",
        "shared-8c-250g-4xa100",
        "closed-12c-59g",
        "cloud-8c-31g",
        "whole-10c-49g",
        "user-12c-12g",
        "mixed-8c-31g",
        "mixed-12c-59g",
        "mixed-64c-1953g",
        "mixed-32c-250g-4xa100",
    ]
    assert found["gpu-32c-250g-4xa100"].kind == NodeType(
        name="gpu-32c-250g-4xa100",
        partition="gpu",
        cpus=32,
        memory_mb=256000,
        gpus=4,
        disk_mb=10000,
        at_most=1,
        longest_seconds=43200,
        source="sinfo",
    )


def test_cores_and_memory_that_a_node_keeps_for_itself_are_not_for_jobs() -> None:
    kind = by_name(read_node_types(CONFIG, PARTITIONS, NODES))["cpu-12c-59g"].kind
    assert (kind.cpus, kind.memory_mb) == (16 - 2 * 2, 64000 - 4000)
    before_21_08 = NODES.replace("CPUEfctv=12 ", "")
    assert "cpu-12c-59g" in by_name(read_node_types(CONFIG, PARTITIONS, before_21_08))


def test_what_a_partition_allows_on_a_node_is_all_that_counts() -> None:
    found = by_name(read_node_types(CONFIG, PARTITIONS, NODES))
    assert found["shared-8c-59g"].kind.cpus == 8  # MaxCPUsPerNode
    assert found["highmem-64c-1855g"].kind.memory_mb == 1900000  # MaxMemPerNode
    assert found["user-12c-12g"].kind.memory_mb == 12 * 1000  # MaxMemPerCPU


def test_only_exclusive_partitions_give_whole_nodes_unless_the_cluster_does() -> None:
    found = read_node_types(CONFIG, PARTITIONS, NODES)
    linear = read_node_types("SelectType = select/linear\n", PARTITIONS, NODES)
    assert {it.kind.partition for it in found.kinds if it.kind.whole_node} == {"whole"}
    assert all(it.kind.whole_node for it in linear.kinds)


def test_nodes_that_are_down_count_and_it_is_said() -> None:
    found = by_name(read_node_types(CONFIG, PARTITIONS, NODES))["cpu-12c-59g"]
    assert (found.kind.at_most, found.nodes, found.down) == (2, 2, 1)
    assert found.remarks == ("2 nodes such as n1; 1 down or drained now",)


@pytest.mark.parametrize(
    ("state", "down", "asleep"),
    [
        ("IDLE", 0, 0),
        ("MIXED+PLANNED", 0, 0),
        ("ALLOCATED+COMPLETING", 0, 0),
        ("IDLE*", 1, 0),
        ("DOWN", 1, 0),
        ("DOWN*+DRAIN", 1, 0),
        ("IDLE+DRAIN", 1, 0),
        ("MIXED+DRAIN", 1, 0),
        ("IDLE+MAINT", 1, 0),
        ("IDLE+NOT_RESPONDING", 1, 0),
        ("IDLE+POWERED_DOWN", 0, 1),
        ("IDLE~", 0, 1),
        ("", 0, 0),
    ],
)
def test_states_of_nodes(state: str, down: int, asleep: int) -> None:
    found = one(ONE.format("n1", state, "(null)"))
    assert (found.nodes, found.down, found.asleep) == (1, down, asleep)


def test_cloud_nodes_take_at_most_the_partitions_time_to_resume_else_the_clusters() -> None:
    found = by_name(read_node_types(CONFIG, PARTITIONS, NODES))
    assert found["cloud-8c-31g"].kind.boot_seconds == 120
    assert found["mixed-8c-31g"].kind.boot_seconds == 300
    assert found["mixed-12c-59g"].kind.boot_seconds == 0
    assert found["cloud-8c-31g"].remarks == (
        "20 nodes such as c001; 20 asleep now",
        "boot_time is the longest that Slurm waits for one (ResumeTimeout)",
    )


def test_cloud_nodes_that_slurm_hides_are_asked_for_by_the_name_of_one() -> None:
    hidden = "".join(line for line in NODES.splitlines(True) if "=c0" not in line)
    assert unseen_nodes(PARTITIONS, NODES) == ["f1"]
    assert unseen_nodes(PARTITIONS, hidden) == ["c001", "f1"]

    found = read_node_types(CONFIG, PARTITIONS, hidden, {"c001": SLEEPER, "f1": ""})

    assert found == read_node_types(CONFIG, PARTITIONS, NODES)
    # Nodes of the state FUTURE are not there yet.
    assert found.notices == ("mixed: Slurm does not report 3 nodes, the first: f1",)


def test_hidden_nodes_that_cannot_be_all_alike_are_doubted() -> None:
    hidden = "".join(line for line in NODES.splitlines(True) if "=c0" not in line)
    found = read_node_types(CONFIG, PARTITIONS, hidden, {"c001": SLEEPER.replace("|8|", "|4|")})
    assert found.notices[0] == (
        "cloud: its sleeping nodes are not all like c001: it has 160 CPUs, not 80"
    )


def test_a_partition_that_is_closed_is_listed_and_it_is_said() -> None:
    found = by_name(read_node_types(CONFIG, PARTITIONS, NODES))["closed-12c-59g"]
    assert found.remarks[-1] == "the partition is INACTIVE now"
    root = one(ONE.format("n", "IDLE", "(null)"), P.replace("MaxTime", "RootOnly=YES MaxTime"))
    assert root.remarks[-1] == "the partition is RootOnly now"


@pytest.mark.parametrize(
    ("gres", "gpus", "name"),
    [
        ("(null)", 0, "p-4c-8g"),
        ("gpu:2", 2, "p-4c-8g-2gpu"),
        ("gpu:a100:4(S:0-1),gpu:v100:2(S:1),tmpdisk:9", 6, "p-4c-8g-4xa100-2xv100"),
        ("gpu:1g.5gb:7", 7, "p-4c-8g-7x1g.5gb"),
        ("gpu:a/b'c:1", 1, "p-4c-8g-1xa_b_c"),
    ],
)
def test_gpus_count_and_are_in_the_name(gres: str, gpus: int, name: str) -> None:
    kind = one(ONE.format("n", "IDLE", gres)).kind
    assert (kind.gpus, kind.name) == (gpus, name)


def test_names_do_not_depend_on_how_many_nodes_there_are_or_on_their_order() -> None:
    lines = [line for line in NODES.splitlines(True) if "=g1 " not in line]
    other = read_node_types(CONFIG, PARTITIONS, "".join(reversed(lines)))
    usual = by_name(read_node_types(CONFIG, PARTITIONS, NODES))
    assert [it.kind.name for it in other.kinds] == [it for it in usual if "4xa100" not in it]


def test_types_that_would_have_one_name_are_told_apart_by_what_they_have() -> None:
    nodes = ONE.format("a", "IDLE", "(null)")
    nodes += nodes.replace("=8000", "=8001") + nodes.replace("TmpDisk=0", "TmpDisk=7")
    found = read_node_types(CONFIG, P, nodes)
    assert list(by_name(found)) == ["p-4c-8g-8000m", "p-4c-8g-8000m-7m", "p-4c-8g-8001m"]


def test_free_text_of_a_node_is_not_taken_for_its_figures() -> None:
    line = ONE.format("n", "IDLE", "(null)").strip()
    line += " Reason=x CPUTot=999 State=DOWN Comment= Partitions=q\n"
    found = one(line)
    assert (found.kind.cpus, found.down, found.kind.partition) == (4, 0, "p")


@pytest.mark.parametrize(
    "line",
    [
        "NodeName=x",
        ONE.format("x", "IDLE", "").replace("=8000", "=lots"),
        ONE.format("x", "IDLE", "").replace("CPUTot=4", "CPUTot=0"),
        ONE.format("x", "IDLE", "").replace("CPUTot=4", "CPUTot=" + "9" * 30),
        ONE.format("x", "IDLE", "").replace("CPUTot=4", "CPUTot=99999999"),
        ONE.format("x", "IDLE", "").replace("State", "MemSpecLimit=9000 State"),
        ONE.format("x\x1b[2J", "IDLE", "").replace("CPUTot", "x"),
    ],
)
def test_a_node_that_cannot_be_read_is_passed_over_with_a_notice(line: str) -> None:
    found = read_node_types(CONFIG, P, line + "\n" + ONE.format("n", "IDLE", "(null)"))
    assert [it.kind.name for it in found.kinds] == ["p-4c-8g"]
    assert found.notices[0].startswith("1 node could not be read, the first: NodeName=x")
    assert "\x1b" not in found.notices[0]


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_no_answer_breaks_the_reading(config: str, partition: str, node: str) -> None:
    read_node_types(config, f"{P}PartitionName={partition}", f"NodeName={node}", {"x": node})
    unseen_nodes(f"PartitionName=p Nodes={partition}", node)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a", ["a"]),
        ("a,b-1", ["a", "b-1"]),
        ("c[001-003,7],d", ["c001", "c002", "c003", "c7", "d"]),
        ("r[1-2]n[08-10]", ["r1n08", "r1n09", "r1n10", "r2n08", "r2n09", "r2n10"]),
        ("q-dy-c5-[9-10]", ["q-dy-c5-9", "q-dy-c5-10"]),
        ("", []),
    ],
)
def test_lists_of_nodes_are_spelled_out(text: str, names: list[str]) -> None:
    assert list(node_names(text)) == names


def test_an_endless_list_of_nodes_ends() -> None:
    assert sum(1 for _ in node_names("a[1-999999999999]b[1-999999999999]")) == 200_000


# -- real clusters -------------------------------------------------------------------------------


def configured(found: FoundNodes, tmp_path: Path) -> tuple[NodeType, ...]:
    """What our clusters.toml gives back when all that was found is pasted into it."""
    names = sorted({it.kind.partition for it in found.kinds})
    text = '[[cluster]]\nname = "t"\nscheduler = "slurm"\nidentify.always = false\n'
    text += "partition = [" + ", ".join(f'{{ name = "{name}" }}' for name in names) + "]\n"
    text += node_types_toml(
        [it.kind for it in found.kinds], remarks={it.kind.name: it.remarks for it in found.kinds}
    )
    file = tmp_path / "rowtui" / "clusters.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    loaded = load_clusters({"XDG_CONFIG_HOME": str(tmp_path)})
    assert loaded.problems == ()
    return tuple(kind._replace(source="sinfo") for kind in loaded.clusters[0].node_types)


@pytest.mark.slurm
async def test_a_real_cluster_tells_its_node_types(slurm: SlurmCluster, tmp_path: Path) -> None:
    found = await slurm_node_types(LocalTransport({"SLURM_CONF": str(slurm.conf)}))
    assert found.notices == ()
    assert [(it.kind.name, it.kind.at_most) for it in found.kinds] == [
        ("cpu-16c-62g", 2),
        ("gpu-32c-250g-4xa100", 1),
        ("highmem-64c-1855g", 1),
        ("shared-8c-62g", 2),
        ("shared-8c-250g-4xa100", 1),
        ("closed-16c-62g", 1),
    ]
    assert configured(found, tmp_path) == tuple(it.kind for it in found.kinds)


@pytest.fixture(scope="module")
def elastic() -> Iterator[SlurmCluster]:
    """A cluster with nodes that exist only while they are needed; till then Slurm hides them."""
    rig = start_slurm(
        nodes=(Node("k1", 8, 16000, feature="x MemSpecLimit=1000 CoreSpecCount=2"),),
        partitions=(
            "NodeName=c-[01-12] CPUs=4 RealMemory=9000 Gres=gpu:a100:1 TmpDisk=7000 State=CLOUD",
            "NodeName=d-[1-3] CPUs=2 RealMemory=4000 State=CLOUD",
            "PartitionName=fixed Nodes=k1 Default=YES OverSubscribe=EXCLUSIVE",
            "PartitionName=spot Nodes=c-[01-12],d-[1-3] MaxTime=60",
        ),
        settings={
            "ResumeProgram": "/bin/true",
            "SuspendProgram": "/bin/true",
            "SuspendTime": 86400,
            "ResumeTimeout": 240,
            "TreeWidth": 1000,
        },
    )
    yield rig.cluster
    rig.close()


@pytest.mark.slurm
async def test_a_real_elastic_cluster_tells_of_nodes_that_sleep_unseen(
    elastic: SlurmCluster, tmp_path: Path
) -> None:
    assert "c-01" not in elastic.run("scontrol -o -a show node").stdout

    found = await slurm_node_types(LocalTransport({"SLURM_CONF": str(elastic.conf)}))

    assert found.notices == ()
    fixed, small, large = (it.kind for it in found.kinds)
    assert (fixed.cpus, fixed.memory_mb, fixed.whole_node) == (6, 15000, True)
    assert small == NodeType(
        "spot-2c-4g", "spot", 2, 4000, at_most=3, boot_seconds=240, longest_seconds=3600,
        source="sinfo",
    )  # fmt: skip
    assert large == NodeType(
        "spot-4c-9g-1xa100", "spot", 4, 9000, 1, 7000, at_most=12, boot_seconds=240,
        longest_seconds=3600, source="sinfo",
    )  # fmt: skip
    assert [it.asleep for it in found.kinds] == [0, 3, 12]
    assert configured(found, tmp_path) == (fixed, small, large)


@pytest.mark.slurm
async def test_a_job_as_large_as_a_type_is_taken_and_a_larger_one_refused(
    elastic: SlurmCluster,
) -> None:
    found = await slurm_node_types(LocalTransport({"SLURM_CONF": str(elastic.conf)}))
    for kind in (each.kind for each in found.kinds):
        words = f"sbatch --test-only -N1 -n1 -p {kind.partition} --wrap=true"
        whole = f"{words} -c{kind.cpus} --mem={kind.memory_mb} --gpus-per-node={kind.gpus}"
        taken = elastic.run(whole, check=False)
        more = elastic.run(whole.replace(f"-c{kind.cpus}", "-c9"), check=False)
        assert "to start at" in taken.stderr, (whole, taken.stderr)
        assert "to start at" not in more.stderr


class Says:
    """A transport whose commands all end in the same way."""

    def __init__(self, **fields: object) -> None:
        self.fields = fields

    async def run(self, argv: Sequence[str], **_: object) -> CommandResult:
        return CommandResult(tuple(argv), **self.fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"exit_status": 127}, "there is no Slurm"),
        ({"exit_status": None, "trouble": Trouble.NOT_STARTED}, "there is no Slurm"),
        ({"exit_status": None, "trouble": Trouble.LOST}, "the connection broke"),
        ({"exit_status": 1, "stderr": b"slurm says \x1b[2J\n"}, "slurm says \\x1b[2J"),
        ({"exit_status": 0, "truncated": True}, "more than can be read"),
    ],
)
async def test_no_answer_is_an_error_not_a_cluster_without_nodes(
    fields: dict[str, object], words: str
) -> None:
    with pytest.raises(RowtuiError) as caught:
        await slurm_node_types(Says(**fields))
    assert words in caught.value.message
