"""Slurm for the other rooms: the `#SBATCH` header of a job script, and what Slurm can do.

A value that sbatch would split, or that would end its line, is quoted or made visible. The header
follows the output of Row 1.1, with its lines in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rowtui.core.base.text import header_value
from rowtui.core.clusters.model import Cluster, ClusterLoad, Partition
from rowtui.core.clusters.schedulers.kind import (
    USERS_SHELL,
    Allocations,
    Everybody,
    FoundNodes,
    HeaderRequest,
    SchedulerDetail,
    SchedulerKind,
)

if TYPE_CHECKING:
    from rowtui.core.clusters.commands import Transport
    from rowtui.core.clusters.schedulers.base import JobKey, Scheduler
    from rowtui.core.clusters.schedulers.job_terms import WaitingTerms
    from rowtui.core.clusters.schedulers.reason_table import Reasons

_EXCLUDED = re.compile(r"(?:^|\s)(?:--exclude[=\s]\s*|-x\s*)[\"']?([^\s\"']+)")
_CHOSEN_NODES = re.compile(r"(?:^|\s)(?:--node(?:list|file)\b|-[wF])")


class SlurmKind(SchedulerKind):
    """Slurm. Each module that talks to a cluster is imported when it is used."""

    name = "slurm"
    title = "Slurm"
    has_partitions = True
    describes = True
    version_command = ("sbatch", "--version")
    programs = ("sbatch", "squeue", "scancel")
    waits_for_success = True
    array_task = "$SLURM_ARRAY_TASK_ID"
    names_job = True
    keeps_accounts = True
    job_id = (
        "${SLURM_ARRAY_JOB_ID:-${SLURM_JOB_ID:-BY_HAND}}"
        "${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}"
    )
    restarts = "${SLURM_JOB_ID:+${SLURM_RESTART_COUNT:-0}}"
    bundle_id = "$SLURM_JOB_ID"
    bundle_restarts = "${SLURM_RESTART_COUNT:-0}"
    starts_steps = True
    pilots = True
    node_form = r"[A-Za-z0-9][A-Za-z0-9_-]{0,252}"  # sbatch refuses the full name of a host

    def connect(self, cluster: str, transport: Transport | None, query_timeout: float) -> Scheduler:
        from rowtui.core.clusters.schedulers.slurm.scheduler import SlurmScheduler

        return SlurmScheduler(cluster, transport, query_timeout=query_timeout)

    def name_line(self, job_name: str) -> str:
        return f"#SBATCH --job-name={header_value(job_name)}"

    def header(
        self, request: HeaderRequest, cluster: Cluster, partition: Partition | None
    ) -> list[str]:
        resources, options = request.resources, request.options
        lines = [f"--output={header_value(request.log_path)}"]
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
        lines += _memory(request, partition)
        lines.append(f"--time={self.limit(request.walltime_seconds) // 60}")
        written = [*cluster.submit_options, *options.custom]
        if not any(option.lstrip().startswith("--signal") for option in written):
            lines.append(time_limit_signal_option(self.limit(request.walltime_seconds)))
        lines += cluster.submit_options
        if options.account is not None:
            suffix = partition.account_suffix if partition else None
            lines.append(f"--account={header_value(options.account + (suffix or ''))}")
        lines += options.custom
        # User options may have several lines; each line belongs to the header.
        return [
            f"#SBATCH {line.removeprefix('#SBATCH ')}" for text in lines for line in _lines(text)
        ]

    def limit(self, seconds: int) -> int:
        return -(-seconds // 60) * 60  # Slurm counts limits in whole minutes

    def placement_options(self, params: Mapping[str, Any]) -> tuple[list[str], list[str]]:
        from rowtui.core.clusters.schedulers.slurm.options import placement_options

        return placement_options(params)

    def delay_option(self, seconds: int) -> str:
        return f"--begin=now+{seconds}"

    def exclude_option(self, nodes: Sequence[str], written: Sequence[str]) -> str:
        # sbatch takes the last --exclude alone; one with a slash names a file of nodes.
        text = "\n".join(written)
        own = _EXCLUDED.findall(text)[-1:]
        if _CHOSEN_NODES.search(text) or any("/" in names for names in own):
            return ""
        return f"--exclude={','.join((*own, *nodes))}"

    def after_end_option(self, job_id: int) -> str:
        return f"--dependency=afterany:{job_id}"

    def waiting_jobs(self, transport: Transport) -> WaitingTerms:
        from rowtui.core.clusters.schedulers.slurm.change import SlurmWaiting

        return SlurmWaiting(transport)

    def shell_beside(self, job: JobKey, node: str) -> str:
        return (
            'command -v srun >/dev/null || { echo "There is no srun on $(hostname)."; exit 1; }; '
            # A step needs the id that a task of an array has of its own.
            f'job=$(squeue -h -t R -j {job} -o "%A %Z" 2>/dev/null | head -n 1); '
            f'[ "$job" ] || {{ echo "Job {job} does not run any more."; exit 1; }}; '
            'cd "${job#* }"; '
            f"srun --jobid=${{job%% *}} --overlap -N1 -n1 --pty sh -c '{USERS_SHELL}'"
        )

    @property
    def reasons(self) -> Reasons:
        from rowtui.core.clusters.schedulers.slurm.reasons import SLURM

        return SLURM

    async def detail(self, transport: Transport, job: JobKey, *, estimate: bool) -> SchedulerDetail:
        from rowtui.core.clusters.schedulers.slurm.detail import slurm_detail

        return await slurm_detail(transport, job, estimate=estimate)

    async def everybody(self, transport: Transport, most: int) -> Everybody:
        from rowtui.core.clusters.schedulers.slurm.detail import slurm_everybody

        return await slurm_everybody(transport, most)

    async def load(self, transport: Transport, cluster: str, timeout: float) -> ClusterLoad:  # noqa: ASYNC109
        from rowtui.core.clusters.schedulers.slurm.load import slurm_load

        return await slurm_load(transport, timeout=timeout, cluster=cluster)

    async def describe(self, transport: Transport) -> Cluster | None:
        from rowtui.core.clusters.schedulers.slurm.describe import describe_over

        return await describe_over(transport)

    async def node_types(self, transport: Transport) -> FoundNodes:
        from rowtui.core.clusters.schedulers.slurm.nodes import slurm_node_types

        return await slurm_node_types(transport)

    async def allocations(self, transport: Transport, accounts: Collection[str]) -> Allocations:
        from rowtui.core.clusters.schedulers.slurm.accounting import ask_allocations

        return await ask_allocations(transport, accounts)


def _lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()] or [text]


def _nodes(request: HeaderRequest, partition: Partition | None) -> int | None:
    if partition is None:
        return None
    size = partition.gpus_per_node if request.gpus else partition.cpus_per_node
    return -(-(request.gpus or request.cpus) // size) if size else None


def _memory(request: HeaderRequest, partition: Partition | None) -> list[str]:
    """Return the option for memory, of the action or else of the partition, if it is stated."""
    resources = request.resources
    if request.gpus:
        option, of_action = "--mem-per-gpu", resources.memory_per_gpu_mb
        of_partition = partition.memory_per_gpu_mb if partition else None
        as_written = partition.memory_per_gpu if partition else None
    else:
        option, of_action = "--mem-per-cpu", resources.memory_per_cpu_mb
        of_partition = partition.memory_per_cpu_mb if partition else None
        as_written = partition.memory_per_cpu if partition else None
    megabytes = of_action if of_action is not None else of_partition
    stated = f"{megabytes}M" if megabytes is not None else as_written
    return [f"{option}={stated}"] if stated else []


def time_limit_signal_option(limit: int) -> str:
    """Return the sbatch option that sends SIGUSR1 to the script alone before its time limit.

    The signal is sent a tenth of the limit before it, at least 10 s and at most 60 s. Slurm checks
    limits every 30 s and prefers to signal early: up to about 30 s earlier than asked, never later.
    The script receives the signal at once only while it waits with `wait` for a command in the
    background. Source: sbatch's manual (--signal).
    """
    return f"--signal=B:USR1@{min(60, max(10, limit // 10))}"
