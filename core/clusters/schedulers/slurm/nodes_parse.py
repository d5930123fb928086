"""Parse scontrol's and sinfo's output about nodes and partitions, for the node types.

The input is lines of `scontrol -o`, and of sinfo about one node by its name; the result is the
resources of a node that jobs may use, and a partition's limits on it. Parsing never raises;
unreadable data is skipped with a notice. Source: the manual pages of scontrol, sinfo and
slurm.conf; answers of Slurm 22.05.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.config.cluster_keys import LARGEST_COUNT, LARGEST_MB, LONGEST_WALLTIME
from rowtui.core.clusters.schedulers.slurm.parse import seconds_of

SLEEPER_FORMAT = "%D|%c|%m|%d|%G"  # format of sinfo, for `read_sleeper`
MOST_NAMES = 200_000  # of nodes in one partition


class SlurmNode(NamedTuple):
    """One node, or several equal hidden ones: the resources of each that jobs may use."""

    name: str
    cpus: int
    memory_mb: int
    disk_mb: int
    gres: str
    down: bool = False
    asleep: bool = False
    cloud: bool = False
    hidden: bool = False  # Slurm shows only its name
    number: int = 1
    all_cpus: int = 0  # of the whole node, as the partition counts CPUs


class SlurmPartition(NamedTuple):
    """A partition's limits on a node; None: no limit. `words`: all fields of scontrol."""

    name: str
    words: Mapping[str, str]
    cpus: int | None
    memory_mb: int | None
    memory_per_cpu_mb: int | None
    longest_seconds: int | None
    exclusive: bool
    closed: str


_OF_NODE = re.compile(
    r"(?:^| )(NodeName|CPUEfctv|CPUTot|CoreSpecCount|ThreadsPerCore|MemSpecLimit|RealMemory"
    r"|Gres|TmpDisk|State|Partitions)=(\S*)"
)
_FREE_TEXT = re.compile(r" (?:Comment|Extra|Reason)=")  # written by users, at the end of the line
_NUMBER = re.compile(r"[0-9]{1,15}")
_NAME_LIMIT = 256  # characters
_SHOWN = 60  # characters of a line that could not be parsed


def read_each_node(text: str, notices: list[str]) -> Iterator[tuple[SlurmNode, list[str]]]:
    """Yield each node with the names of its partitions, without nodes that are only planned."""
    odd = []
    for line in text.split("\n"):
        if not line.startswith("NodeName="):
            continue
        words: dict[str, str] = {}
        for key, value in _OF_NODE.findall(_FREE_TEXT.split(line, maxsplit=1)[0]):
            words.setdefault(key, value)
        node = _node(words)
        if node is None:
            odd.append(line)
        elif not words.get("State", "").startswith("FUTURE"):
            yield node, [name for name in words.get("Partitions", "").split(",") if name]
    if odd:
        lines = plural(len(odd), "node")
        shown = visible(odd[0][:_SHOWN])
        notices.append(f"{lines} could not be read, the first: {shown}")


def _node(words: Mapping[str, str]) -> SlurmNode | None:
    total = number_of(words.get("CPUTot", ""))
    memory = number_of(words.get("RealMemory", ""))
    if total is None or memory is None or not 0 < len(words["NodeName"]) <= _NAME_LIMIT:
        return None
    kept = (number_of(words.get("CoreSpecCount", "")) or 0) * (
        number_of(words.get("ThreadsPerCore", "")) or 1
    )
    cpus = number_of(words.get("CPUEfctv", "")) or total - kept  # before 21.08 only the latter
    memory -= number_of(words.get("MemSpecLimit", "")) or 0
    if not (0 < cpus <= LARGEST_COUNT and 0 < memory <= LARGEST_MB):
        return None
    state, *flags = words.get("State", "").split("+")
    bare = state.rstrip("*~#!%$@^-")
    return SlurmNode(
        name=words["NodeName"],
        cpus=cpus,
        memory_mb=memory,
        disk_mb=_disk(words.get("TmpDisk", "")),
        gres=words.get("Gres", ""),
        down=bare in _DOWN or "*" in state or bool(_OUT & {flag.strip("*") for flag in flags}),
        asleep="~" in state or bool(_ASLEEP.intersection(flags)),
        cloud="CLOUD" in flags,
        all_cpus=total,
    )


_DOWN = frozenset({"DOWN", "ERROR", "FAIL", "FAILING", "DRAINED", "DRAINING", "UNKNOWN"})
_OUT = frozenset({"DRAIN", "FAIL", "NOT_RESPONDING", "MAINT", "RESERVED", "INVALID_REG"})
_ASLEEP = frozenset({"POWERED_DOWN", "POWERING_DOWN", "POWER_DOWN", "POWER"})


def read_each_partition(text: str) -> list[SlurmPartition]:
    """Return the partitions, the default one first and the others in Slurm's order."""
    found = []
    for line in text.split("\n"):
        words = dict(part.split("=", 1) for part in line.split() if "=" in part)
        name = words.get("PartitionName", "")
        if not line.startswith("PartitionName=") or not 0 < len(name) <= _NAME_LIMIT:
            continue
        state = words.get("State", "UP")
        only = [key for key in ("RootOnly", "ReqResv") if words.get(key) == "YES"]
        longest = seconds_of(words.get("MaxTime", ""))
        found.append(
            SlurmPartition(
                name=name,
                words=words,
                cpus=number_of(words.get("MaxCPUsPerNode", "")) or None,
                memory_mb=number_of(words.get("MaxMemPerNode", "")) or None,
                memory_per_cpu_mb=number_of(words.get("MaxMemPerCPU", "")) or None,
                longest_seconds=min(longest, LONGEST_WALLTIME) if longest else None,
                exclusive=words.get("OverSubscribe") == "EXCLUSIVE",
                closed=state if state != "UP" else ", ".join(only),
            )
        )
    return sorted(found, key=lambda partition: partition.words.get("Default") != "YES")


def read_sleeper(name: str, text: str) -> SlurmNode | None:
    """Return a hidden sleeping node from sinfo's output; None if the output does not have it.

    There is a line for every partition; it has no node if the node is not in the partition.
    """
    for line in text.split("\n"):
        match line.split("|", 4):
            case ["1", cpus, memory, disk, gres]:
                number, megabytes = number_of(cpus.rstrip("+")), number_of(memory.rstrip("+"))
                if number and megabytes and number <= LARGEST_COUNT and megabytes <= LARGEST_MB:
                    return SlurmNode(
                        name,
                        number,
                        megabytes,
                        _disk(disk.rstrip("+")),
                        gres.strip(),
                        asleep=True,
                        cloud=True,
                        hidden=True,
                        all_cpus=number,
                    )
    return None


def node_names(text: str) -> Iterator[str]:
    """Yield the names in `a,c[001-003,7]x[1-2]`, at most `MOST_NAMES`."""
    return itertools.islice(_names(text), MOST_NAMES)


def _names(text: str) -> Iterator[str]:
    for item in re.findall(r"(?:[^,\[\]]|\[[^\]]*\])+", text):
        parts = re.split(r"\[([^\]]*)\]", item)
        choices = [[part] if at % 2 == 0 else _numbers(part) for at, part in enumerate(parts)]
        # Limited before they are multiplied; a name hardly has more than two dimensions.
        for words in itertools.product(*choices):
            yield "".join(words)


def _numbers(text: str) -> list[str]:
    found: list[str] = []
    for item in text.split(","):
        first, dash, last = item.partition("-")
        if not dash or not (_NUMBER.fullmatch(first) and _NUMBER.fullmatch(last)):
            found.append(item)
            continue
        numbers = range(int(first), min(int(last), int(first) + MOST_NAMES) + 1)
        found += [str(number).zfill(len(first)) for number in numbers]
    return found[:MOST_NAMES]


def number_of(text: str) -> int | None:
    """Return a plain number; None for UNLIMITED, GLOBAL, N/A, ..."""
    return int(text) if _NUMBER.fullmatch(text) else None


def _disk(text: str) -> int:
    return min(number_of(text) or 0, LARGEST_MB)
