"""The `#SBATCH` header of a bundle: one task on one node with room for all lanes.

The input is the bundle's jobs; the result is lines. Options that all jobs share (partition,
account, additions of the site or the user) stay unchanged; sizes are replaced by those of the
bundle. Source: sbatch's manual, and measurements on Slurm 22.05: Slurm sends a warning signal up to
30 s earlier than requested and never later; a job that has a node for itself still only gets the
memory that it asks for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from rowtui.core.base.text import header_value, visible
from rowtui.core.submission.plan.dependencies import header_lines, shared_options
from rowtui.core.submission.plan.model import InBundle, PlannedJob

LOG_NAME = "rowtui-bundle-%j.out"
# Seconds before the limit. The signal comes at most 45 s before the limit, which is less than the
# reserve in a bundle's time (`bundles.START_SECONDS`), and is enough to report finished jobs.
WARN_SECONDS = 15
_OWN = (
    "--job-name=", "--output=", "--partition=", "--ntasks=", "--cpus-per-task=", "--nodes=",
    "--mem-per-", "--time=", "--signal=",
)  # fmt: skip


def bundle_header(jobs: Sequence[PlannedJob], bundle: InBundle) -> list[str]:
    """Return the lines of the header, each with its `#SBATCH `.

    The memory is the sum over the lanes even if the bundle has a whole node, because it selects
    nodes with enough memory. If no memory is stated, the site's rule per CPU applies, else all
    memory of a whole node.
    """
    shared = shared_options(jobs[0])
    log = PurePosixPath(jobs[0].log_path).parent / LOG_NAME
    lines = [
        f"--job-name={header_value(visible(bundle_name(jobs)))}",
        f"--output={header_value(str(log))}",
        *(line for line in shared if line.startswith("--partition=")),
        "--nodes=1",
        "--ntasks=1",
        f"--cpus-per-task={bundle.cpus}",
        *_gpus(jobs, bundle.gpus),
        *_memory(jobs, bundle),
    ]
    if bundle.whole_node:
        lines.append("--exclusive")
    lines.append(f"--time={-(-bundle.seconds // 60)}")
    lines.append(f"--signal=B:USR1@{WARN_SECONDS}")
    lines += (line for line in shared if not line.startswith("--partition="))
    return [f"#SBATCH {line}" for line in lines]


def _gpus(jobs: Sequence[PlannedJob], gpus: int) -> list[str]:
    """Return the options for all GPUs of the one task, in the form of `slurm_gpus_per_task`."""
    if not gpus:
        return []
    shared = shared_options(jobs[0])
    for job in jobs:
        if not job.gpus:
            continue
        for line in header_lines(job):
            words = re.fullmatch(r"(.*?)[0-9]+", line)
            if words and not line.startswith(_OWN) and line not in shared:
                return [f"{words[1]}{gpus}"]
    return [f"--gpus-per-task={gpus}"]


def _memory(jobs: Sequence[PlannedJob], bundle: InBundle) -> list[str]:
    if bundle.memory_mb is not None:
        return [f"--mem={bundle.memory_mb}M"]
    stated = [[line for line in header_lines(job) if line.startswith("--mem-per-")] for job in jobs]
    if stated[0] and all(lines == stated[0] for lines in stated):
        return stated[0]
    return ["--mem=0"] if bundle.whole_node else []


def bundle_name(jobs: Sequence[PlannedJob]) -> str:
    """Return a name for users and the scheduler: the first job, and the number of the others."""
    more = len(jobs) - 1
    return f"pack {jobs[0].name}" + (f" and {more:,} more" if more else "")
