"""Which partition a job goes to, and why not to the others.

Takes a cluster, an action's resources and the number of directories; gives the first partition
that passes every check, or the one that the user named, with a typed refusal for each that does
not. Pure. Source: Row A7.2; unlike Row, a manual partition is taken when it is named, a warning
about CPUs does not skip the checks of GPUs, and too much memory refuses one partition, not all.
"""

from __future__ import annotations

import re

from rowtui.core.clusters.model import Cluster, Partition, PartitionChoice, PartitionRefusal
from rowtui.core.text import visible
from rowtui.core.workflow.duration import format_duration
from rowtui.core.workflow.model import Resources
from rowtui.core.workflow.toml_file import did_you_mean


def choose_partition(
    cluster: Cluster, resources: Resources, directories: int, named: str | None
) -> PartitionChoice:
    """The partition for one job on that many directories; `named` is the user's own choice.

    Without Slurm there are no partitions to choose from: the cluster's first is taken unchecked.
    """
    if cluster.scheduler != "slurm":
        first = cluster.partitions[0] if cluster.partitions else Partition(cluster.name)
        return PartitionChoice(first)
    candidates: tuple[Partition, ...] = cluster.partitions
    if named is not None:
        candidates = tuple(p for p in cluster.partitions if p.name == named)[:1]
        if not candidates:
            return PartitionChoice(None, (), (_no_such_partition(cluster, named),))
    job = _Job(resources, directories)
    refusals: list[PartitionRefusal] = []
    for partition in candidates:
        refusal = job.refusal(partition, cluster.name, by_name=named is not None)
        if refusal is None:
            return PartitionChoice(partition, job.warnings(partition), tuple(refusals))
        refusals.append(refusal)
    return PartitionChoice(None, (), tuple(refusals))


def memory_mb(text: str) -> int | None:
    """MB of Slurm's `2000`, `1970M`, `5G`, `1T`, `512K`; None if it is anything else."""
    match = re.fullmatch(r"([0-9]+)([KMGT]?)B?", text, re.IGNORECASE)
    if match is None:
        return None
    number, unit = int(match[1]), match[2].upper()
    if unit == "K":
        return -(-number // 1024)
    return number * {"": 1, "M": 1, "G": 1024, "T": 1024 * 1024}[unit]


def partition_memory_mb(partition: Partition, gpus: bool) -> int | None:
    """What a partition has for each GPU (`gpus`) or CPU, in MB, in either spelling."""
    number = partition.memory_per_gpu_mb if gpus else partition.memory_per_cpu_mb
    text = partition.memory_per_gpu if gpus else partition.memory_per_cpu
    return number if number is not None or text is None else memory_mb(text)


class _Job:
    """One job's totals against one partition after the other."""

    def __init__(self, resources: Resources, directories: int) -> None:
        self.resources = resources
        self.directories = directories
        self.cpus = resources.total_cpus(directories)
        self.gpus = resources.total_gpus(directories)
        self.seconds = resources.walltime.total_seconds(directories)

    def refusal(self, p: Partition, cluster: str, by_name: bool) -> PartitionRefusal | None:
        """The first check that fails, in Row's order."""
        if p.prevent_auto_select and not by_name:
            hint = f'name it: submit_options.{cluster}.partition = "{visible(p.name)}"'
            return _refuse(p, "prevent_auto_select", "no partition named", "true", hint)
        if p.maximum_cpus_per_job is not None and self.cpus > p.maximum_cpus_per_job:
            hint = self.fewer_directories(p.maximum_cpus_per_job, self.resources.total_cpus(1))
            return self.refuse_cpus(p, "maximum_cpus_per_job", p.maximum_cpus_per_job, hint)
        if p.require_cpus_multiple_of and self.cpus % p.require_cpus_multiple_of:
            hint = _nearest(self.cpus, p.require_cpus_multiple_of, "CPUs")
            return self.refuse_cpus(p, "require_cpus_multiple_of", p.require_cpus_multiple_of, hint)
        if p.minimum_gpus_per_job is not None and self.gpus < p.minimum_gpus_per_job:
            hint = "ask for GPUs: gpus_per_process"
            return self.refuse_gpus(p, "minimum_gpus_per_job", p.minimum_gpus_per_job, hint)
        if p.maximum_gpus_per_job is not None and self.gpus > p.maximum_gpus_per_job:
            hint = self.fewer_directories(p.maximum_gpus_per_job, self.resources.total_gpus(1))
            return self.refuse_gpus(p, "maximum_gpus_per_job", p.maximum_gpus_per_job, hint)
        if p.require_gpus_multiple_of and not _multiple(self.gpus, p.require_gpus_multiple_of):
            hint = _nearest(self.gpus, p.require_gpus_multiple_of, "GPUs")
            return self.refuse_gpus(p, "require_gpus_multiple_of", p.require_gpus_multiple_of, hint)
        return self.memory_refusal(p) or self.walltime_refusal(p)

    def memory_refusal(self, p: Partition) -> PartitionRefusal | None:
        """An action may ask for less than the partition gives, not for as much or more (Row)."""
        key, asked, offered = self.memory(p)
        if asked is None or offered is None or asked < offered:
            return None
        hint = f"ask for less than {offered} MB, or omit `{key}` to get it all"
        return _refuse(p, key, f"{asked} MB", f"{offered} MB", hint)

    def memory(self, p: Partition) -> tuple[str, int | None, int | None]:
        """The key that counts, what the action asks for and what the partition gives, in MB."""
        with_gpus = self.resources.gpus_per_process is not None
        key = "memory_per_gpu_mb" if with_gpus else "memory_per_cpu_mb"
        return key, getattr(self.resources, key), partition_memory_mb(p, with_gpus)

    def walltime_refusal(self, p: Partition) -> PartitionRefusal | None:
        limit = p.maximum_walltime_seconds
        if limit is None or self.seconds <= limit:
            return None
        one = self.resources.walltime.total_seconds(1)
        hint = "ask for less walltime"
        if self.resources.walltime.per_directory and 0 < one <= limit:
            hint = f"at most {limit // one} directories fit: maximum_size = {limit // one}"
        return _refuse(
            p, "maximum_walltime", format_duration(self.seconds), format_duration(limit), hint
        )

    def warnings(self, p: Partition) -> tuple[str, ...]:
        """What is allowed but costs more than it needs to."""
        name = visible(p.name)
        found = []
        if p.warn_cpus_not_multiple_of and self.cpus % p.warn_cpus_not_multiple_of:
            hint = _nearest(self.cpus, p.warn_cpus_not_multiple_of, "CPUs")
            found.append(f"{name}: CPUs ({self.cpus}) not a preferred multiple: {hint}")
        if p.warn_gpus_not_multiple_of and not _multiple(self.gpus, p.warn_gpus_not_multiple_of):
            hint = _nearest(self.gpus, p.warn_gpus_not_multiple_of, "GPUs")
            found.append(f"{name}: GPUs ({self.gpus}) not a preferred multiple: {hint}")
        key, asked, offered = self.memory(p)
        if asked is not None and offered is not None:
            found.append(f"{name}: omit `{key}` to request more memory at no cost")
        return tuple(found)

    def refuse_cpus(self, p: Partition, key: str, limit: int, hint: str) -> PartitionRefusal:
        return _refuse(p, key, f"{self.cpus} CPUs", str(limit), hint)

    def refuse_gpus(self, p: Partition, key: str, limit: int, hint: str) -> PartitionRefusal:
        return _refuse(p, key, f"{self.gpus} GPUs", str(limit), hint)

    def fewer_directories(self, limit: int, each: int) -> str:
        if self.resources.processes.per_directory and 0 < each <= limit:
            return f"at most {limit // each} directories fit: maximum_size = {limit // each}"
        return f"ask for at most {limit}" if limit else "do not ask for any"


def _refuse(p: Partition, key: str, asked: str, offered: str, hint: str) -> PartitionRefusal:
    return PartitionRefusal(p.name, key, asked, offered, hint)


def _no_such_partition(cluster: Cluster, named: str) -> PartitionRefusal:
    names = [partition.name for partition in cluster.partitions]
    shown = ", ".join(visible(name) for name in names) or "no partition"
    hint = did_you_mean(named, names) or f"cluster {visible(cluster.name)} does not have it"
    return PartitionRefusal(named, "name", visible(named), shown, hint)


def _multiple(number: int, of: int) -> bool:
    """Row's rule for GPUs: none at all is not a multiple."""
    return number != 0 and number % of == 0


def _nearest(number: int, of: int, noun: str) -> str:
    below = number // of * of
    if below == 0:
        return f"ask for {of} {noun}"
    return f"ask for {below} or {below + of} {noun}"
