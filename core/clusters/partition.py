"""Choose the partition for a job, and explain why other partitions do not accept it.

The input is a cluster, an action's resources and the number of directories; the result is the first
partition that passes every check, or the one that the user named, with a typed refusal for each
partition that fails. `partition_checks` returns all checks of one partition, also for totals that
differ from the action's. The module is pure. Unlike in Row, a manual partition is accepted if it is
named, a warning about CPUs does not skip the checks of GPUs, and too much memory refuses one
partition, not all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.model import (
    Cluster,
    JobTotals,
    Partition,
    PartitionCheck,
    PartitionChoice,
    PartitionRefusal,
)
from rowtui.core.clusters.schedulers.kind import kind_of
from rowtui.core.workflow.duration import format_duration
from rowtui.core.workflow.model import Resources
from rowtui.core.workflow.toml_file import did_you_mean


def choose_partition(
    cluster: Cluster, resources: Resources, directories: int, named: str | None
) -> PartitionChoice:
    """Choose the partition for one job on `directories`; `named` is the user's own choice.

    If the scheduler has no partitions, the first partition is returned without checks.
    """
    if not kind_of(cluster).has_partitions:
        first = cluster.partitions[0] if cluster.partitions else Partition(cluster.name)
        return PartitionChoice(first)
    candidates: tuple[Partition, ...] = cluster.partitions
    if named is not None:
        candidates = tuple(p for p in cluster.partitions if p.name == named)[:1]
        if not candidates:
            return PartitionChoice(None, (), (_no_such_partition(cluster, named),))
    job = job_totals(resources, directories)
    refusals: list[PartitionRefusal] = []
    for partition in candidates:
        rules = _rules(partition, job, cluster.name, by_name=named is not None)
        failed = next((check for check in rules if not check.passed), None)
        if failed is None:
            return PartitionChoice(partition, partition_warnings(partition, job), tuple(refusals))
        constraint, asked, offered, _, hint = failed
        refusals.append(PartitionRefusal(partition.name, constraint, asked, offered, hint))
    return PartitionChoice(None, (), tuple(refusals))


def job_totals(resources: Resources, directories: int) -> JobTotals:
    """Return the totals for a job of this action on `directories`, multiplied as in Row."""
    return JobTotals(
        resources.total_cpus(directories),
        resources.total_gpus(directories),
        resources.walltime.total_seconds(directories),
        resources,
        directories,
    )


def partition_checks(
    partition: Partition, job: JobTotals, *, cluster: str, by_name: bool
) -> tuple[PartitionCheck, ...]:
    """Return every check of a job against the limits of a partition, including passed checks.

    The partition accepts the job if all checks passed. `by_name`: the user named this partition.
    The checks are in Row's order, so the first failed one is the refusal of `choose_partition`.
    `choose_partition` checks nothing if the cluster's scheduler has no partitions.
    """
    return tuple(_rules(partition, job, cluster, by_name))


def partition_warnings(partition: Partition, job: JobTotals) -> tuple[str, ...]:
    """Return warnings about requests that are allowed but cost more than necessary."""
    name = visible(partition.name)
    found = []
    if (of := partition.warn_cpus_not_multiple_of) and job.cpus % of:
        hint = _nearest(job.cpus, of, "CPUs")
        found.append(f"{name}: CPUs ({job.cpus}) not a preferred multiple: {hint}")
    if (of := partition.warn_gpus_not_multiple_of) and not _multiple(job.gpus, of):
        hint = _nearest(job.gpus, of, "GPUs")
        found.append(f"{name}: GPUs ({job.gpus}) not a preferred multiple: {hint}")
    key, asked, offered = _memory(partition, job.resources)
    if asked is not None and offered is not None and _has_own_memory(job):
        found.append(f"{name}: omit `{key}` to request more memory at no cost")
    return tuple(found)


def memory_mb(text: str) -> int | None:
    """Return the MB of Slurm's `2000`, `1970M`, `5G`, `1T`, `512K`; None for any other text."""
    match = re.fullmatch(r"([0-9]+)([KMGT]?)B?", text, re.IGNORECASE)
    if match is None:
        return None
    number, unit = int(match[1]), match[2].upper()
    if unit == "K":
        return -(-number // 1024)
    return number * {"": 1, "M": 1, "G": 1024, "T": 1024 * 1024}[unit]


def partition_memory_mb(partition: Partition, gpus: bool) -> int | None:
    """Return a partition's memory in MB for each GPU (`gpus`) or CPU, from either of its keys."""
    number = partition.memory_per_gpu_mb if gpus else partition.memory_per_cpu_mb
    text = partition.memory_per_gpu if gpus else partition.memory_per_cpu
    return number if number is not None or text is None else memory_mb(text)


def _rules(p: Partition, job: JobTotals, cluster: str, by_name: bool) -> Iterator[PartitionCheck]:
    """Yield a check for every limit that the partition has, in Row's order."""
    if p.prevent_auto_select:
        hint = f'name it: submit_options.{cluster}.partition = "{visible(p.name)}"'
        asked = "the partition named" if by_name else "no partition named"
        yield _check("prevent_auto_select", asked, "true", by_name, hint)
    if (limit := p.maximum_cpus_per_job) is not None:
        fewer = fewer_directories(job, limit, job.cpus, job.resources.total_cpus)
        yield _cpus("maximum_cpus_per_job", job, limit, job.cpus <= limit, fewer)
    if of := p.require_cpus_multiple_of:
        hint = _nearest(job.cpus, of, "CPUs")
        yield _cpus("require_cpus_multiple_of", job, of, job.cpus % of == 0, hint)
    if (least := p.minimum_gpus_per_job) is not None:
        hint = "ask for GPUs: gpus_per_process"
        yield _gpus("minimum_gpus_per_job", job, least, job.gpus >= least, hint)
    if (limit := p.maximum_gpus_per_job) is not None:
        fewer = fewer_directories(job, limit, job.gpus, job.resources.total_gpus)
        yield _gpus("maximum_gpus_per_job", job, limit, job.gpus <= limit, fewer)
    if of := p.require_gpus_multiple_of:
        hint = _nearest(job.gpus, of, "GPUs")
        yield _gpus("require_gpus_multiple_of", job, of, _multiple(job.gpus, of), hint)
    yield from _memory_rule(p, job)
    if (limit := p.maximum_walltime_seconds) is not None:
        yield _check(
            "maximum_walltime",
            format_duration(job.walltime_seconds),
            format_duration(limit),
            job.walltime_seconds <= limit,
            _less_walltime(job, limit),
        )


def _memory_rule(p: Partition, job: JobTotals) -> Iterator[PartitionCheck]:
    """Yield the check of memory; an action must ask for less than the partition gives (Row).

    A job that was given memory other than its action's may use all the memory of its CPUs or GPUs.
    """
    if not _has_own_memory(job):
        key, each = _memory_key(job.gpus > 0), partition_memory_mb(p, job.gpus > 0)
        if job.memory_mb is None or each is None:
            return
        whole = each * (job.gpus or job.cpus)
        hint = f"ask for at most {whole} MB, or for more {'GPUs' if job.gpus else 'CPUs'}"
        passed = job.memory_mb <= whole
        yield _check(key, f"{job.memory_mb} MB in all", f"{whole} MB in all", passed, hint)
        return
    key, asked, offered = _memory(p, job.resources)
    if asked is not None and offered is not None:
        hint = f"ask for less than {offered} MB, or omit `{key}` to get it all"
        yield _check(key, f"{asked} MB", f"{offered} MB", asked < offered, hint)


def _has_own_memory(job: JobTotals) -> bool:
    """Whether the job's memory is the amount that its action asks for."""
    if job.memory_mb is None:
        return True
    with_gpus = job.resources.gpus_per_process is not None
    asked = getattr(job.resources, _memory_key(with_gpus))
    return asked is not None and job.memory_mb == asked * (job.gpus if with_gpus else job.cpus)


def _memory(p: Partition, resources: Resources) -> tuple[str, int | None, int | None]:
    """Return the relevant key, the action's request and the partition's memory, in MB."""
    with_gpus = resources.gpus_per_process is not None
    key = _memory_key(with_gpus)
    return key, getattr(resources, key), partition_memory_mb(p, with_gpus)


def _memory_key(with_gpus: bool) -> str:
    return "memory_per_gpu_mb" if with_gpus else "memory_per_cpu_mb"


def _less_walltime(job: JobTotals, limit: int) -> str:
    walltime = job.resources.walltime
    one = walltime.total_seconds(1)
    own = job.walltime_seconds == walltime.total_seconds(job.directories)
    if own and walltime.per_directory and 0 < one <= limit:
        return _at_most(limit // one)
    return "ask for less walltime"


def fewer_directories(job: JobTotals, limit: int, asked: int, total: Callable[[int], int]) -> str:
    """Return how to meet a limit: fewer directories if the total grows with their number."""
    each = total(1)
    own = asked == total(job.directories)
    if own and job.resources.processes.per_directory and 0 < each <= limit:
        return _at_most(limit // each)
    return f"ask for at most {limit}" if limit else "do not ask for any"


def _at_most(size: int) -> str:
    fit = plural(size, "directory fits", "directories fit")
    return f"at most {fit}: maximum_size = {size}"


def _cpus(key: str, job: JobTotals, limit: int, passed: bool, hint: str) -> PartitionCheck:
    return _check(key, plural(job.cpus, "CPU"), str(limit), passed, hint)


def _gpus(key: str, job: JobTotals, limit: int, passed: bool, hint: str) -> PartitionCheck:
    return _check(key, plural(job.gpus, "GPU"), str(limit), passed, hint)


def _check(key: str, asked: str, offered: str, passed: bool, hint: str) -> PartitionCheck:
    return PartitionCheck(key, asked, offered, passed, "" if passed else hint)


def _no_such_partition(cluster: Cluster, named: str) -> PartitionRefusal:
    names = [partition.name for partition in cluster.partitions]
    shown = ", ".join(visible(name) for name in names) or "no partition"
    hint = did_you_mean(named, names) or f"cluster {visible(cluster.name)} does not have it"
    return PartitionRefusal(named, "name", visible(named), shown, hint)


def _multiple(number: int, of: int) -> bool:
    """Whether a number of GPUs is a multiple of `of`; as in Row, 0 is not."""
    return number != 0 and number % of == 0


def _nearest(number: int, of: int, noun: str) -> str:
    below = number // of * of
    if below == 0:
        return f"ask for {of} {noun}"
    return f"ask for {below} or {below + of} {noun}"


def choice_reasons(cluster: Cluster, choice: PartitionChoice, named: str | None) -> tuple[str, ...]:
    """Return why a job goes to this partition and not to earlier ones.

    `named`: the partition in workflow.toml.
    """
    refusals = tuple(f"not {refusal}" for refusal in choice.refusals)
    if only := kind_of(cluster).only_choice:
        return (only,)
    if choice.partition is None:
        return refusals
    name = visible(choice.partition.name)
    if named is not None:
        return (f"{name}: named in submit_options.{visible(cluster.name)}.partition", *refusals)
    return (f"{name}: the first partition that takes the job", *refusals)
