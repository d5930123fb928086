"""The `#$` header of a job script, and how the script hears from Grid Engine that it must end.

Takes a job request and the queue that was chosen; gives lines. The job's name, its log, its folder
and whether it is held are given on qsub's command line, which sets them for good.
A job of several slots gets them from the parallel environment that the partition names; memory is
asked for by slot, GPUs by job. Source: the manual pages of 8.1 (submit, queue_conf), and its
measured behaviour: options with quotes need a line of their own; a soft limit (s_rt) keeps 8.1.9
from enforcing the hard one, so that `-notify` does what a warning before the limit would do.
"""

from __future__ import annotations

import re

from rowtui.core.clusters.model import Cluster, Partition
from rowtui.core.clusters.partition import partition_memory_mb
from rowtui.core.errors import RowtuiError
from rowtui.core.grouping.model import JobRequest
from rowtui.core.submission.header import options_for
from rowtui.core.submission.quote import header_value
from rowtui.core.text import visible

# How a job knows its id; tasks are numbered from 1 there. It can tell that it was started again,
# not how often: the second time counts, any more do not run.
RUNNER = (
    '${JOB_ID:-BY_HAND}$(case ${SGE_TASK_ID-} in [1-9]*) echo "_$((SGE_TASK_ID - 1))" ;; esac)',
    "${JOB_ID:+${RESTARTED:-0}}",
)


def grid_engine_header(
    request: JobRequest, cluster: Cluster, partition: Partition | None
) -> list[str]:
    """The lines of the header, each with its `#$ `.

    Raises: RowtuiError if the job needs several slots, and nobody says where they come from.
    """
    options = options_for(request.action, cluster.name)
    written = [*cluster.submit_options, *options.custom]
    lines = ["-S /bin/bash", "-cwd", "-j y", "-notify"]
    if partition is not None:
        lines.append(f"-q {header_value(partition.name)}")
    if request.cpus > 1 and not any(re.match(r"(#\$ )?\s*-pe\s", option) for option in written):
        lines.append(f"-pe {_environment(request, cluster, partition)} {request.cpus}")
    lines.append(f"-l h_rt={request.walltime_seconds}")
    memory = _memory_per_slot(request, partition)
    if memory:
        lines.append(f"-l {cluster.memory_resource}={memory}")
    if request.gpus:
        lines.append(f"-l {cluster.gpu_resource}={request.gpus}")
    lines += cluster.submit_options
    if options.account is not None:
        suffix = partition.account_suffix if partition else None
        lines.append(f"-P {header_value(options.account + (suffix or ''))}")
    lines += options.custom
    return [
        f"#$ {line.strip().removeprefix('#$ ')}"
        for text in lines
        for line in text.split("\n")
        if line.strip()
    ]


def _environment(request: JobRequest, cluster: Cluster, partition: Partition | None) -> str:
    if partition is not None and partition.parallel_environment is not None:
        return partition.parallel_environment
    where = f"{visible(cluster.name)}/{visible(partition.name)}" if partition else cluster.name
    raise RowtuiError(
        f"a job of {request.cpus} slots cannot go to {where}: no parallel environment is named",
        'give the partition a parallel_environment in clusters.toml ("qconf -spl" lists them)',
    )


def _memory_per_slot(request: JobRequest, partition: Partition | None) -> str:
    """What Slurm would be told of the memory, for one slot; "" when nobody states it."""
    resources = request.action.resources
    gpus = bool(request.gpus)
    each = resources.memory_per_gpu_mb if gpus else resources.memory_per_cpu_mb
    if each is None and partition is not None:
        each = partition_memory_mb(partition, gpus)
        if each is None:  # a form that only the administrators know
            return (partition.memory_per_gpu if gpus else partition.memory_per_cpu) or ""
    if each is None:
        return ""
    return f"{-(-each * request.gpus // request.cpus) if gpus else each}M"


def ear_for_notices(walltime_seconds: int) -> str:
    """Lines of bash, after the fixed part: what to do about Grid Engine's notices.

    SIGUSR2 comes some time before SIGKILL (`notify` of the queue, a minute by default), because
    somebody deleted the job or because its time is over; SIGUSR1 comes before SIGSTOP.
    """
    return f"""\
rowtui_notified() {{
    trap '' USR2
    if ((SECONDS + 5 >= {walltime_seconds})); then rowtui_stop "time limit" 10; fi
    rowtui_stop cancelled 15
}}
trap rowtui_notified USR2
rowtui_warned() {{ :; }}
"""
