"""One-line descriptions of an action's resources and grouping, for screens."""

from __future__ import annotations

from rowtui.core.base.text import plural
from rowtui.core.workflow.duration import format_duration
from rowtui.core.workflow.model import Condition, GroupRule, Resources


def describe_resources(resources: Resources) -> str:
    """Describe resources, for example `4 processes per directory, 2 threads each, 01:00:00 per
    directory`.
    """
    processes = plural(resources.processes.value, "process", "processes")
    if resources.processes.per_directory:
        processes += " per directory"
    parts = [processes]
    if resources.threads_per_process:
        parts.append(f"{plural(resources.threads_per_process, 'thread')} each")
    if resources.gpus_per_process:
        parts.append(f"{plural(resources.gpus_per_process, 'GPU')} each")
    if resources.memory_per_cpu_mb:
        parts.append(f"{resources.memory_per_cpu_mb:,} MB per CPU")
    if resources.memory_per_gpu_mb:
        parts.append(f"{resources.memory_per_gpu_mb:,} MB per GPU")
    limit = format_duration(resources.walltime.seconds)
    parts.append(limit + (" per directory" if resources.walltime.per_directory else " per job"))
    return ", ".join(parts)


def describe_grouping(group: GroupRule) -> str:
    """Describe a group rule, for example `if /T < 2.5, sorted by /T, split by it, at most 100,
    whole groups only`.
    """
    parts = []
    if group.include:
        parts.append(
            "if " + " or ".join(_conditions(selector.conditions) for selector in group.include)
        )
    if group.sort_by:
        parts.append("sorted by " + ", ".join(group.sort_by))
        if group.split_by_sort_key:
            parts.append("split where it changes")
    if group.reverse_sort:
        parts.append("reversed")
    if group.maximum_size is not None:
        parts.append(f"at most {group.maximum_size} in a group")
    if group.submit_whole:
        parts.append("whole groups only")
    return ", ".join(parts) or "all directories in one group"


def _conditions(conditions: tuple[Condition, ...]) -> str:
    from rowtui.core.base.values import compact

    if not conditions:
        return "always"
    return " and ".join(
        f"{condition.pointer or 'value'} {condition.operator} {compact(condition.operand)}"
        for condition in conditions
    )
