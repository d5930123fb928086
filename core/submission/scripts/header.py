"""The `#SBATCH` header of a job script, in Row's order.

The input is an action, the totals of a job and the chosen partition; the result is lines. A value
that sbatch would split, or that would end its line, is quoted or made visible. The format follows
the output of Row 1.1.
"""

from __future__ import annotations

from collections.abc import Sequence

from rowtui.core.base.text import visible
from rowtui.core.clusters.model import Cluster, Partition
from rowtui.core.groups.model import JobRequest
from rowtui.core.submission.scripts.quote import file_name_part, header_value
from rowtui.core.workflow.model import Action, SubmitOptions


def options_for(action: Action, cluster: str) -> SubmitOptions:
    """Return the action's options for this cluster; all are unset if the action has none."""
    return action.submit_options.get(cluster, SubmitOptions())


def job_name(action: Action, names: Sequence[str]) -> str:
    """Return `<action>-<first directory>`, and `+<others>` if there are more; safe to show."""
    name = f"{action.name}-{names[0]}" if names else action.name
    return visible(name + (f"+{len(names) - 1}" if len(names) > 1 else ""))


def log_path(action: Action, cluster: str) -> str:
    """Return the path of a job's output, relative to the project; `%j` is the job id.

    The action's name cannot move the log to another folder, but an option of the user can.
    """
    options = options_for(action, cluster)
    name = file_name_part(action.name)
    path = f"{name}-%j.out"
    if options.output_file_name is not None:
        path = options.output_file_name.replace("{action_name}", name)
    if options.output_file_path is not None:
        folder = options.output_file_path.replace("{action_name}", name)
        path = f"{folder.rstrip('/') or '/'}/{path}" if folder else path
    return path


def memory_option(request: JobRequest, partition: Partition | None) -> str:
    """Return `--mem-per-gpu=...` or `--mem-per-cpu=...`; "" if no memory is stated."""
    resources = request.action.resources
    if request.gpus:
        stated = _memory(
            resources.memory_per_gpu_mb,
            partition.memory_per_gpu_mb if partition else None,
            partition.memory_per_gpu if partition else None,
        )
        return f"--mem-per-gpu={stated}" if stated else ""
    stated = _memory(
        resources.memory_per_cpu_mb,
        partition.memory_per_cpu_mb if partition else None,
        partition.memory_per_cpu if partition else None,
    )
    return f"--mem-per-cpu={stated}" if stated else ""


def _memory(of_action: int | None, of_partition: int | None, as_written: str | None) -> str:
    megabytes = of_action if of_action is not None else of_partition
    return f"{megabytes}M" if megabytes is not None else as_written or ""


def name_line(action: Action, names: Sequence[str]) -> str:
    """Return the first line, the only one that depends on the directories of a job."""
    return f"#SBATCH --job-name={header_value(job_name(action, names))}"


def shared_header(request: JobRequest, cluster: Cluster, partition: Partition | None) -> list[str]:
    """Return all other lines, which are the same for equal requests."""
    from rowtui.core.clusters.schedulers.slurm.scheduler import time_limit_signal_option

    action, resources = request.action, request.action.resources
    options = options_for(action, cluster.name)
    lines = [f"--output={header_value(log_path(action, cluster.name))}"]
    if partition is not None:
        lines.append(f"--partition={header_value(partition.name)}")
    lines.append(f"--ntasks={request.processes}")
    if resources.threads_per_process is not None:
        lines.append(f"--cpus-per-task={resources.threads_per_process}")
    if request.gpus:
        lines.append(f"{cluster.slurm_gpus_per_task}{resources.gpus_per_process}")
    nodes = _nodes(request, partition)
    if nodes is not None:
        lines.append(f"--nodes={nodes}")
    memory = memory_option(request, partition)
    if memory:
        lines.append(memory)
    lines.append(f"--time={-(-request.walltime_seconds // 60)}")
    written = [*cluster.submit_options, *options.custom]
    if not any(option.lstrip().startswith("--signal") for option in written):
        lines.append(time_limit_signal_option(request.walltime_seconds))
    lines += cluster.submit_options
    if options.account is not None:
        suffix = partition.account_suffix if partition else None
        lines.append(f"--account={header_value(options.account + (suffix or ''))}")
    lines += options.custom
    # User options may have several lines; each line belongs to the header.
    return [f"#SBATCH {line.removeprefix('#SBATCH ')}" for text in lines for line in _lines(text)]


def _lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()] or [text]


def _nodes(request: JobRequest, partition: Partition | None) -> int | None:
    if partition is None:
        return None
    size = partition.gpus_per_node if request.gpus else partition.cpus_per_node
    return -(-(request.gpus or request.cpus) // size) if size else None
