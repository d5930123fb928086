"""The node types of a running Slurm cluster: equal nodes of one partition.

The input is scontrol's output about the configuration, the partitions and the nodes, and sinfo's
output about sleeping nodes; the result is a `NodeType` for each kind, with its number of nodes and
their state. Parsing is pure, never raises, and skips unreadable data with a notice. Only resources
that jobs may use count: without the cores and memory that nodes reserve for themselves, and at most
what the partition allows on a node. Source: the manual pages of scontrol, sinfo and slurm.conf;
measured answers of Slurm 22.05.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.command_log import CommandResult, Trouble
from rowtui.core.clusters.commands import Transport
from rowtui.core.clusters.config.cluster_keys import LARGEST_COUNT, LONGEST_BOOT
from rowtui.core.clusters.model import NodeType
from rowtui.core.clusters.schedulers.kind import FoundKind, FoundNodes
from rowtui.core.clusters.schedulers.slurm.describe import gpus_of
from rowtui.core.clusters.schedulers.slurm.nodes_parse import (
    SLEEPER_FORMAT,
    SlurmNode,
    SlurmPartition,
    node_names,
    number_of,
    read_each_node,
    read_each_partition,
    read_sleeper,
)

SOURCE = "sinfo"
QUERY_SECONDS = 30.0  # for each command; a frozen controller takes 10
_LONGEST_NAME = 120  # of a type; names of partitions are hardly longer than twenty characters
MOST_ASKED = 32  # kinds of sleeping nodes that are queried, with one command each

_CONFIGURATION = ("scontrol", "show", "config")
_PARTITIONS = ("scontrol", "-o", "show", "partition")
_NODES = ("scontrol", "-o", "show", "node")
_SLEEPER = ("sinfo", "-h", "-o", SLEEPER_FORMAT, "-n")


async def slurm_node_types(
    transport: Transport,
    *,
    timeout: float = QUERY_SECONDS,  # noqa: ASYNC109
) -> FoundNodes:
    """Query a cluster for its node types: three commands, and one for each hidden sleeping kind.

    Raises: RowtuiError if there is no answer.
    """

    async def ask(argv: Sequence[str]) -> str:
        return _text(await transport.run(argv, timeout=timeout))

    configuration = await ask(_CONFIGURATION)
    partitions, nodes = await ask(_PARTITIONS), await ask(_NODES)
    asked = unseen_nodes(partitions, nodes)[:MOST_ASKED]
    sleepers = {name: await ask((*_SLEEPER, name)) for name in asked}
    return read_node_types(configuration, partitions, nodes, sleepers)


def _text(result: CommandResult) -> str:
    if result.trouble is Trouble.NOT_STARTED or result.exit_status == 127:
        raise RowtuiError("there is no Slurm: its commands are not on PATH")
    if result.exit_status != 0:
        raise RowtuiError(f"Slurm does not answer: {visible(result.complaint)}")
    if result.truncated:
        raise RowtuiError(f"{' '.join(result.argv)} printed more than can be read")
    return result.stdout.decode("utf-8", "surrogateescape")


# -- reading -------------------------------------------------------------------------------------


def unseen_nodes(partitions: str, nodes: str) -> list[str]:
    """Return one node for each kind of a partition's nodes that scontrol does not show.

    Slurm hides cloud nodes while they sleep, and shows such a node only by its name. Nodes whose
    names differ only in numbers count as one kind.
    """
    seen = {node.name for node, _ in read_each_node(nodes, [])}
    found: dict[str, str] = {}
    for partition in read_each_partition(partitions):
        for name in _hidden(partition, seen):
            found.setdefault(_stem(name), name)
    return list(found.values())


def read_node_types(
    configuration: str, partitions: str, nodes: str, sleepers: Mapping[str, str] | None = None
) -> FoundNodes:
    """Return the node types from the output of scontrol, and of sinfo for sleeping nodes."""
    notices: list[str] = []
    words = dict(_CONFIGURED.findall(configuration))
    members: dict[str, list[SlurmNode]] = {}
    seen = set()
    for node, of in read_each_node(nodes, notices):
        seen.add(node.name)
        for name in of:
            members.setdefault(name, []).append(node)
    like = {_stem(name): read_sleeper(name, text) for name, text in (sleepers or {}).items()}
    found = []
    for partition in read_each_partition(partitions):
        there = members.get(partition.name, [])
        there += _sleeping(partition, _hidden(partition, seen), like, notices)
        _doubt(partition, there, notices)
        found += _kinds(partition, there, words)
    return FoundNodes(tuple(_with_names(found)), tuple(notices))


_CONFIGURED = re.compile(r"^(ResumeTimeout|SelectType)\s*=\s*(\S+)", re.MULTILINE)
# -- hidden sleeping nodes -----------------------------------------------------------------------


def _hidden(partition: SlurmPartition, seen: set[str]) -> list[str]:
    """Return the nodes of a partition that scontrol does not show."""
    names = partition.words.get("Nodes", "")
    if names in ("", "(null)"):
        return []
    return [name for name in node_names(names) if name not in seen]


def _stem(name: str) -> str:
    return re.sub(r"[0-9]+", "#", name)


def _sleeping(
    partition: SlurmPartition,
    hidden: Sequence[str],
    like: Mapping[str, SlurmNode | None],
    notices: list[str],
) -> list[SlurmNode]:
    """Return the hidden nodes, each with the facts of the queried node of its kind."""
    stems: dict[str, list[str]] = {}
    for name in hidden:
        stems.setdefault(_stem(name), []).append(name)
    found = []
    unknown: list[str] = []
    for stem, names in stems.items():
        node = like.get(stem)
        if node is None:
            unknown += names
        else:
            found.append(node._replace(name=names[0], number=len(names)))
    if unknown:
        nodes = plural(len(unknown), "node")
        text = f"{partition.name}: Slurm does not report {nodes}, the first: {unknown[0]}"
        notices.append(visible(text))
    return found


def _doubt(partition: SlurmPartition, nodes: Sequence[SlurmNode], notices: list[str]) -> None:
    """Add a notice if the hidden nodes cannot all be equal to the queried ones."""
    hidden = [node for node in nodes if node.hidden]
    total = number_of(partition.words.get("TotalCPUs", ""))
    known = sum(node.number for node in nodes)
    if not hidden or total is None or str(known) != partition.words.get("TotalNodes"):
        return
    here = sum(node.all_cpus * node.number for node in nodes)
    if here != total:
        names = ", ".join(node.name for node in hidden)
        text = f"{partition.name}: its sleeping nodes are not all like {names}: it has"
        notices.append(visible(f"{text} {total:,} CPUs, not {here:,}"))


# -- kinds ---------------------------------------------------------------------------------------


def _kinds(
    partition: SlurmPartition, nodes: Sequence[SlurmNode], words: Mapping[str, str]
) -> list[FoundKind]:
    """Return the equal nodes as kinds, the smallest first."""
    alike: dict[tuple[str, NodeType], list[SlurmNode]] = {}
    for node in nodes:
        cpus = min(node.cpus, partition.cpus or node.cpus)
        memory = min(node.memory_mb, partition.memory_mb or node.memory_mb)
        if partition.memory_per_cpu_mb is not None:
            memory = min(memory, cpus * partition.memory_per_cpu_mb)
        kind = NodeType(
            name="",
            partition=partition.name,
            cpus=cpus,
            memory_mb=memory,
            gpus=min(gpus_of(node.gres), LARGEST_COUNT),
            disk_mb=node.disk_mb or None,
            longest_seconds=partition.longest_seconds,
            whole_node=partition.exclusive or words.get("SelectType") == "select/linear",
            source=SOURCE,
        )
        alike.setdefault((_gpu_models(node.gres), kind), []).append(node)
    found = []
    for (models, kind), group in alike.items():
        number = sum(node.number for node in group)
        asleep = sum(node.number for node in group if node.asleep)
        boot = _boot(partition, words) if any(it.cloud or it.asleep for it in group) else 0
        found.append(
            FoundKind(
                kind._replace(
                    name=_name(kind, models),
                    at_most=min(number, LARGEST_COUNT),
                    boot_seconds=boot,
                ),
                nodes=number,
                down=sum(node.number for node in group if node.down),
                asleep=asleep,
                example=group[0].name,
                closed=partition.closed,
            )
        )
    return sorted(found, key=_size)


def _size(found: FoundKind) -> tuple[int, int, int, int, str]:
    kind = found.kind
    return kind.gpus, kind.cpus, kind.memory_mb or 0, kind.disk_mb or 0, kind.name


def _boot(partition: SlurmPartition, words: Mapping[str, str]) -> int:
    """Return the longest time that Slurm waits for a node that it has started."""
    own = number_of(partition.words.get("ResumeTimeout", ""))
    usual = number_of(words.get("ResumeTimeout", ""))
    return min(own or usual or 0, LONGEST_BOOT)


def _gpu_models(gres: str) -> str:
    """Return `4xa100`, `4gpu` for GPUs without a model name, "" without GPUs."""
    parts = []
    for item in re.sub(r"\([^)]*\)", "", gres).split(","):
        kind, *rest = item.split(":")
        number = gpus_of(item)
        if kind == "gpu" and number:
            parts.append(f"{number}x{rest[0]}" if len(rest) > 1 else f"{number}gpu")
    return "-".join(parts)


def _name(kind: NodeType, models: str) -> str:
    """Return a name such as `gpu-32c-250g-4xa100`, which depends only on the nodes themselves."""
    memory = kind.memory_mb or 0
    words = [kind.partition, f"{kind.cpus}c"]
    words.append(f"{round(memory / 1024)}g" if memory >= 1024 else f"{memory}m")
    words += [models] if models else []
    return re.sub(r"[^A-Za-z0-9._-]", "_", "-".join(words))[:_LONGEST_NAME]


def _with_names(found: Sequence[FoundKind]) -> Iterator[FoundKind]:
    """Make the names of kinds unique, first by their exact memory and disk, then by a number."""
    clashes = _repeated(each.kind.name for each in found)
    longer = []
    for each in found:
        kind = each.kind
        if kind.name in clashes:
            name = f"{kind.name}-{kind.memory_mb}m" + (f"-{kind.disk_mb}m" if kind.disk_mb else "")
            kind = kind._replace(name=name)
        longer.append(each._replace(kind=kind))
    clashes = _repeated(each.kind.name for each in longer)
    number: dict[str, int] = {}
    for each in longer:
        name = each.kind.name
        if name in clashes:
            number[name] = number.get(name, 0) + 1
            name = f"{name}-{number[name]}"
        yield each._replace(kind=each.kind._replace(name=name))


def _repeated(names: Iterable[str]) -> set[str]:
    seen: set[str] = set()
    return {name for name in names if name in seen or seen.add(name)}  # type: ignore[func-returns-value]
