"""The script of a pilot, and of a request that is sent to one.

The input is a pilot's allocation and destination. The result is bash text: a header, tables, a way
to start jobs, the functions of a bundle's driver and those of a pilot (`pilot_shell.py`, which
documents the format of a request).
"""

from __future__ import annotations

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import header_value, visible
from rowtui.core.clusters.model import Cluster
from rowtui.core.submission.bundles.bundles import SCRIPT_MB, WATCH_MB
from rowtui.core.submission.bundles.header import WARN_SECONDS
from rowtui.core.submission.bundles.pilot_model import Allocation
from rowtui.core.submission.bundles.pilot_shell import PILOT
from rowtui.core.submission.bundles.script import BEGAN, job_size, launch_text
from rowtui.core.submission.bundles.shell import DRIVER
from rowtui.core.submission.plan.model import PlannedJob
from rowtui.core.submission.scripts.quote import quote
from rowtui.core.submission.scripts.script_parts import FIXED, split_script
from rowtui.core.workflow.model import SubmitOptions

LOG_NAME = "rowtui-pilot-%j.out"
_FUNCTIONS = DRIVER.removesuffix("rowtui_main\nexit\n").strip("\n")


def pilot_script(
    token: str,
    allocation: Allocation,
    cluster: Cluster,
    partition: str,
    options: SubmitOptions,
) -> str:
    """Return the script.

    Raises: RowtuiError where pilots cannot run.
    """
    kind = cluster.kind
    if not kind.pilots:
        raise RowtuiError(f"there are no pilots on {visible(cluster.name)}, which has no queue")
    head = ["#!/bin/bash"]
    if kind.starts_steps:
        head += _header(allocation, cluster, partition, options)
    memory = "-" if allocation.memory_mb is None else allocation.memory_mb
    tables = [
        f"rowtui_token={quote(token)}",
        f"rowtui_id={kind.bundle_id} rowtui_restarts=0",
        f"rowtui_job={kind.name}:$rowtui_id",
        f"rowtui_cpus={allocation.cpus} rowtui_gpus={allocation.gpus} rowtui_memory_mb={memory}",
        f"rowtui_seconds={allocation.seconds} rowtui_idle={allocation.idle_seconds}",
        "rowtui_lanes=([0]='') rowtui_sizes=() rowtui_places=() rowtui_tokens=() rowtui_names=()",
        "rowtui_logs=()",
    ]
    texts = [*head, "", *tables, launch_text(kind), _FUNCTIONS, PILOT.strip("\n")]
    return "\n".join(texts) + "\n"


def _header(
    allocation: Allocation, cluster: Cluster, partition: str, options: SubmitOptions
) -> list[str]:
    lines = ["--job-name=pilot", f"--output={header_value(LOG_NAME)}"]
    if partition:
        lines.append(f"--partition={header_value(partition)}")
    lines += ["--nodes=1", "--ntasks=1", f"--cpus-per-task={allocation.cpus}", "--no-requeue"]
    if allocation.gpus:
        lines.append(f"{cluster.slurm_gpus_per_task}{allocation.gpus}")
    if allocation.memory_mb is not None:
        # The memory for starting and watching requests is added to the pilot's.
        own = SCRIPT_MB + WATCH_MB * allocation.cpus
        lines.append(f"--mem={allocation.memory_mb + own}M")
    lines += [f"--time={-(-allocation.seconds // 60)}", f"--signal=B:USR1@{WARN_SECONDS}"]
    lines += cluster.submit_options
    if options.account is not None:
        lines.append(f"--account={header_value(options.account)}")
    lines += options.custom
    return [f"#SBATCH {line}" for text in lines for line in text.split("\n") if line.strip()]


def request_text(job: PlannedJob) -> str:
    """Return the text of one request in a pilot's folder. See `pilot_shell.py`."""
    parts = split_script(job.script)
    assert parts is not None
    log, name = quote(job.log_path), quote(visible(job.name))
    lines = [
        job_size(job),
        job.token,
        log,
        name,
        "",
        parts.own,
        FIXED,
        BEGAN,
        parts.rest.strip("\n"),
    ]
    return "\n".join(lines) + "\n"
