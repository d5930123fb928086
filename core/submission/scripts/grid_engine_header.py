"""The `#$` header of a job script, and the script's handling of Grid Engine's notices.

The input is a job request and the chosen queue; the result is lines. The job's name, log, folder
and hold are given on qsub's command line, which overrides the header. A job of several slots gets
them from the parallel environment that the partition names; memory is requested by slot, GPUs by
job. Source: the manual pages of 8.1 (submit, queue_conf), and its measured behaviour: options with
quotes need a line of their own; a soft limit (s_rt) keeps 8.1.9 from enforcing the hard one, so
`-notify` takes the role of a warning before the limit.
"""

from __future__ import annotations

import re

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.clusters.model import Cluster, Partition
from rowtui.core.clusters.partition import partition_memory_mb
from rowtui.core.groups.model import JobRequest
from rowtui.core.submission.scripts.header import options_for
from rowtui.core.submission.scripts.quote import header_value

# The expression for the job's id; task numbers start from 1 there. A job can detect that it was
# restarted, but not how often: the first restart counts, and later ones do not run.
RUNNER = (
    '${JOB_ID:-BY_HAND}$(case ${SGE_TASK_ID-} in [1-9]*) echo "_$((SGE_TASK_ID - 1))" ;; esac)',
    "${JOB_ID:+${RESTARTED:-0}}",
)


def grid_engine_header(
    request: JobRequest, cluster: Cluster, partition: Partition | None
) -> list[str]:
    """Return the lines of the header, each with its `#$ `.

    Raises: RowtuiError if the job needs several slots and no parallel environment is configured.
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
    """Return the memory for one slot, from the values used for Slurm; "" if no memory is stated."""
    resources = request.action.resources
    gpus = bool(request.gpus)
    each = resources.memory_per_gpu_mb if gpus else resources.memory_per_cpu_mb
    if each is None and partition is not None:
        each = partition_memory_mb(partition, gpus)
        if each is None:  # a form that only the site interprets
            return (partition.memory_per_gpu if gpus else partition.memory_per_cpu) or ""
    if each is None:
        return ""
    return f"{-(-each * request.gpus // request.cpus) if gpus else each}M"


def ear_for_notices(walltime_seconds: int) -> str:
    """Return lines of bash, after the fixed part, that handle Grid Engine's notices.

    SIGUSR2 comes some time before SIGKILL (`notify` of the queue, a minute by default), because the
    job was deleted or its time is over; SIGUSR1 comes before SIGSTOP.
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
