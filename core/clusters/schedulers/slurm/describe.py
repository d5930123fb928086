"""Describe a Slurm cluster from the answers of its own commands.

The description has the partitions, their limits and their order (the default first), and the
maximum size of an array. `describe_slurm` runs at start-up, on a login node that is in no
configuration file: three quick commands, no event loop. `describe_over` runs the same commands over
a connection. Both return a `Cluster` with `source="sinfo"`, or None if there is no Slurm. Source:
the manual pages of sinfo, scontrol and slurm.conf, texts of Slurm 22.05.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import pattern
from rowtui.core.base.text import visible
from rowtui.core.clusters.command_log import CommandResult, Trouble
from rowtui.core.clusters.commands import Transport, run_briefly
from rowtui.core.clusters.model import Cluster, Identify, Partition
from rowtui.core.clusters.schedulers.slurm.parse import seconds_of

Run = Callable[[Sequence[str]], CommandResult]
# Yields the commands of a description one by one, and receives their results.
_Asking = Generator[list[str], CommandResult, Cluster | None]

QUERY_SECONDS = 30.0  # for each command over a connection; a frozen controller takes 10
_UNCONFIGURED = "Could not establish a configuration source"
_CONFIGURATION = ["scontrol", "show", "config"]


class PartitionNodes(NamedTuple):
    """Equal nodes of one partition: their number, and the resources of each."""

    nodes: int
    cpus: int
    gpus: int


def describe_this_machine(run: Run = run_briefly) -> Cluster | None:
    """Return the Slurm cluster that this machine is a login node of. See `describe_slurm`.

    If Slurm is not installed, this only searches the folders of PATH and starts no process.
    """
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    if not any(os.access(os.path.join(folder, "sbatch"), os.X_OK) for folder in folders):
        return None
    return describe_slurm(run)


def describe_slurm(run: Run = run_briefly) -> Cluster | None:
    """Return the Slurm cluster on whose login node `run` runs commands; None if there is none.

    None also if sbatch is installed but has no configuration: see `why_no_slurm`. Raises:
    RowtuiError if there is a cluster that does not answer, so that its login node is not used to
    run jobs.
    """
    asking = _describe(_no_answer_here, root=os.geteuid() == 0)
    try:
        question = next(asking)
        while True:
            question = asking.send(run(question))
    except StopIteration as described:
        return _cluster_of(described)


async def describe_over(
    transport: Transport,
    *,
    timeout: float = QUERY_SECONDS,  # noqa: ASYNC109
) -> Cluster | None:
    """Return the Slurm cluster whose login node a transport reaches; None if there is none.

    Partitions that only root may use count as closed, for every user. Raises: RowtuiError if the
    node cannot be reached, or the cluster does not answer.
    """
    asking = _describe(_no_answer_there, root=False)
    try:
        question = next(asking)
        while True:
            answer = await transport.run(question, timeout=timeout)
            if answer.trouble is not None:  # the transport failed, so nothing is known
                raise _no_answer_there(answer)
            question = asking.send(answer)
    except StopIteration as described:
        return _cluster_of(described)


def _cluster_of(described: StopIteration) -> Cluster | None:
    cluster: Cluster | None = described.value
    return cluster


def _describe(complain: Callable[[CommandResult], RowtuiError], *, root: bool) -> _Asking:
    def text(result: CommandResult) -> str:
        if result.exit_status != 0:
            raise complain(result)
        return result.stdout.decode(errors="replace")

    configuration = yield _CONFIGURATION
    if _absence(configuration):
        return None
    words = dict(_CONFIGURED.findall(text(configuration)))
    shown = text((yield ["scontrol", "-o", "show", "partition"]))
    nodes = read_nodes(text((yield ["sinfo", "-h", "-e", "-o", "%R|%D|%c|%G"])))
    facts = [_facts(line) for line in shown.splitlines() if line.startswith("PartitionName=")]
    facts.sort(key=lambda fact: fact.get("Default") != "YES")  # stable: others keep their order
    return Cluster(
        name=words.get("ClusterName", "slurm"),
        identify=Identify(always=True),
        scheduler="slurm",
        partitions=tuple(
            read_partition(fact, nodes.get(fact["PartitionName"], ()), root=root) for fact in facts
        ),
        source="sinfo",
        maximum_array_size=largest_array(words),
    )


def why_no_slurm(run: Run = run_briefly) -> str:
    """Return a sentence on why `describe_slurm` returns None, for users who expected a cluster."""
    return _absence(run(_CONFIGURATION))


def _absence(result: CommandResult) -> str:
    if result.trouble is Trouble.NOT_STARTED or result.exit_status == 127:
        return "Slurm's commands (sbatch, scontrol) are not on PATH"
    if _UNCONFIGURED.encode() in result.stderr:
        return "Slurm's commands are installed, but no slurm.conf describes a cluster"
    return ""


def _no_answer_here(result: CommandResult) -> RowtuiError:
    return RowtuiError(
        "this is a login node of a Slurm cluster that does not answer: "
        + visible(result.complaint),
        "Try again later, or name a cluster with --cluster (`--cluster local` runs jobs here).",
    )


def _no_answer_there(result: CommandResult) -> RowtuiError:
    return RowtuiError(f"Slurm does not answer: {visible(result.complaint)}")


_CONFIGURED = pattern(
    r"^(ClusterName|MaxArraySize|MaxJobCount|SchedulerParameters)\s*=\s*(\S+)", re.MULTILINE
)


def largest_array(words: Mapping[str, str]) -> int | None:
    """Return how many tasks, numbered from 0, one array may have; None if unknown.

    Tasks also count as jobs once they run, so the limit of the cluster's jobs applies as well.
    """
    parameters = words.get("SchedulerParameters", "").split(",")
    limits = [words.get("MaxArraySize", ""), words.get("MaxJobCount", "")]
    limits += [it.partition("=")[2] for it in parameters if it.startswith("max_array_tasks=")]
    return min((int(limit) for limit in limits if limit.isdecimal()), default=None)


def _facts(line: str) -> dict[str, str]:
    """Parse `Key=value Key=value` of `scontrol -o`. Values of partitions have no spaces."""
    return dict(part.split("=", 1) for part in line.split() if "=" in part)


def read_nodes(sinfo: str) -> dict[str, tuple[PartitionNodes, ...]]:
    """Return partition -> its kinds of nodes, from lines of `partition|nodes|cpus|gres`."""
    found: dict[str, list[PartitionNodes]] = {}
    for line in sinfo.splitlines():
        match line.split("|", 3):
            case [name, nodes, cpus, gres] if nodes.isdigit() and cpus.rstrip("+").isdigit():
                kind = PartitionNodes(int(nodes), int(cpus.rstrip("+")), gpus_of(gres))
                if kind.nodes and kind.cpus:
                    found.setdefault(name, []).append(kind)
    return {name: tuple(kinds) for name, kinds in found.items()}


def gpus_of(gres: str) -> int:
    """Return the number of GPUs of a node, from `gpu:a100:4(S:0-1),gpu:v100:2,tmpdisk:100`."""
    total = 0
    for item in re.sub(r"\([^)]*\)", "", gres).split(","):
        kind, *rest = item.split(":")
        if kind == "gpu" and rest and (match := re.fullmatch(r"(\d+)([kKmM]?)", rest[-1])):
            total += int(match.group(1)) * {"": 1, "k": 1024, "m": 1 << 20}[match.group(2).lower()]
    return total


def read_partition(
    fact: dict[str, str], kinds: Sequence[PartitionNodes], *, root: bool = False
) -> Partition:
    """Return one partition's limits. Memory is left to the site's defaults.

    If nodes differ, `cpus_per_node` and `gpus_per_node` are those of the smallest, so that a job
    asks for enough nodes of any kind.
    """
    most = _number(fact.get("MaxCPUsPerNode", ""))
    capped = [kind._replace(cpus=min(kind.cpus, most or kind.cpus)) for kind in kinds]
    nodes = _number(fact.get("MaxNodes", ""))
    with_gpus = [kind for kind in capped if kind.gpus]
    return Partition(
        name=fact["PartitionName"],
        maximum_cpus_per_job=_largest([(kind.cpus, kind.nodes) for kind in capped], nodes),
        cpus_per_node=min((kind.cpus for kind in capped), default=None),
        # A job without GPUs would block them; it may use the partition if only some nodes have
        # GPUs.
        minimum_gpus_per_job=1 if with_gpus and len(with_gpus) == len(capped) else None,
        maximum_gpus_per_job=_largest([(kind.gpus, kind.nodes) for kind in capped], nodes),
        gpus_per_node=min((kind.gpus for kind in with_gpus), default=None),
        prevent_auto_select=not _open_to_us(fact, root) or not kinds,
        maximum_walltime_seconds=seconds_of(fact.get("MaxTime", "")),
        nodes=sum(kind.nodes for kind in kinds) or None,
    )


def _largest(kinds: list[tuple[int, int]], nodes: int | None) -> int | None:
    """Return the sum over the `nodes` largest nodes (None: all); None if there is no node."""
    if not kinds:
        return None
    left = sum(count for _, count in kinds) if nodes is None else nodes
    total = 0
    for each, count in sorted(kinds, reverse=True):
        total += each * min(left, count)
        left -= min(left, count)
    return total


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() and int(text) > 0 else None


def _open_to_us(fact: dict[str, str], root: bool) -> bool:
    if fact.get("RootOnly") == "YES" and not root:
        return False
    return fact.get("State", "UP") == "UP" and fact.get("ReqResv", "NO") == "NO"
