"""The script and specification of a bundle: a scheduler job that runs many jobs as if alone.

The input is planned jobs of one bundle. The result is bash text: the header, tables of the jobs,
the fixed driver (`shell.py`), which exits before bash reads further, and then the parts of
the jobs' own scripts. When a job starts, `sed` assembles its script from these parts, so that a job
runs exactly what it would run alone, and no process ever reads the scripts of all jobs. Source:
measured behaviour of srun (docs/background/submission.md).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import header_value, visible
from rowtui.core.clusters.schedulers.base import JobSpec
from rowtui.core.clusters.schedulers.kind import SchedulerKind, scheduler_kind
from rowtui.core.submission.bundles.shell import DRIVER
from rowtui.core.submission.plan.dependencies import header_lines, shared_options
from rowtui.core.submission.plan.model import InBundle, PlannedJob
from rowtui.core.submission.scripts.parts import FIXED, ScriptParts, quote, split_script

if TYPE_CHECKING:
    from rowtui.core.submission.plan.dependencies import After
    from rowtui.core.submission.sending.site import Access


# Ways in which a bundle's driver starts a job: as a Slurm step, or as a process with limits.
#
# Each text defines `rowtui_survey`, which is called once; `rowtui_choose LANE`, called in each
# lane; `rowtui_launch SCRIPT`, called in the process that becomes the job; and `rowtui_given_up`,
# which returns whether the scheduler has restarted the bundle, or will. These functions use
# `rowtui_number`, `rowtui_share` (CPUs), `rowtui_memory` (MB, or `-` if not stated),
# `rowtui_devices` (GPUs), `rowtui_processes` and `rowtui_steps` of the job, and the tables of
# `bundle_script`. Source: srun's manual; measurements on Slurm 22.05
# (docs/background/submission.md).


# A lane is bound to its own CPUs only if the bundle owns all CPUs that this job may use: otherwise
# other jobs share these CPUs, and other CPUs may be idle.
_PROCESSES = r"""
rowtui_process() {
    if [ -n "${ROWTUI_LOCAL_CPUS-}" ]; then export ROWTUI_LOCAL_CPUS=$rowtui_share; fi
    if [ "$rowtui_memory" != - ]; then ulimit -d "$((rowtui_memory * 1024))"; fi
    if [ "$rowtui_gpus" -gt 0 ]; then
        export CUDA_VISIBLE_DEVICES=$(rowtui_slice "$rowtui_first_device" "$rowtui_devices" \
            "${rowtui_all_devices[@]}")
    fi
    if [ -n "$rowtui_pin" ]; then exec taskset -c "$rowtui_pin" "$BASH" "$1"; fi
    exec "$BASH" "$1"
}

# Some of the words after the first two, joined by commas: so many, from the first number on.
rowtui_slice() {
    local from=$1 count=$2 IFS=,
    shift 2
    set -- "${@:from+1:count}"
    printf '%s' "$*"
}

# The most CPUs and GPUs that a job of this lane takes, in most_cpus and most_gpus.
rowtui_most() {
    local number
    local -a size=()
    most_cpus=0 most_gpus=0
    for number in ${rowtui_lanes[$1]}; do
        read -ra size <<<"${rowtui_sizes[number]}"
        most_cpus=$((size[0] > most_cpus ? size[0] : most_cpus))
        most_gpus=$((size[2] > most_gpus ? size[2] : most_gpus))
    done
}

# What this lane keeps to: the CPUs and GPUs behind those of the lanes before it.
rowtui_choose() {
    local lane number most_cpus=0 most_gpus=0 first_cpu=0 word devices=
    local -a allowed=()
    rowtui_first_device=0 rowtui_pin=''
    for ((number = 0; number < rowtui_gpus; number++)); do devices+=",$number"; done
    IFS=, read -ra rowtui_all_devices <<<"${CUDA_VISIBLE_DEVICES:-${devices#,}}"
    for ((lane = 0; lane <= $1; lane++)); do
        first_cpu=$((first_cpu + most_cpus))
        rowtui_first_device=$((rowtui_first_device + most_gpus))
        rowtui_most "$lane"
    done
    for word in $(LC_ALL=C taskset -cp "$BASHPID" 2>/dev/null | sed 's/.*: //;s/,/ /g'); do
        for ((number = ${word%-*}; number <= ${word#*-}; number++)); do allowed+=("$number"); done
    done
    if [ "${#allowed[@]}" -eq "$rowtui_cpus" ]; then
        rowtui_pin=$(rowtui_slice "$first_cpu" "$most_cpus" "${allowed[@]}")
    fi
}
"""

PROCESSES = f"""{_PROCESSES}
rowtui_survey() {{ :; }}
rowtui_launch() {{ rowtui_process "$1"; }}
rowtui_given_up() {{ return 1; }}
"""

# The step gets exactly its share of the job (--exact), and must request memory: without a request,
# it takes all memory of the job, and the steps run one by one. 0 means all memory, shared.
_STEPS = r"""
# Where cores have several threads, Slurm gives steps whole cores. Lanes that would not fit so, and
# would wait for each other, are processes of the script's own step.
rowtui_survey() {
    local node threads lane most_cpus most_gpus sum=0
    rowtui_no_steps=''
    node=$(scontrol -o show node "$SLURMD_NODENAME" 2>/dev/null </dev/null)
    case $node in *ThreadsPerCore=[0-9]*) ;; *) return ;; esac
    threads=${node##*ThreadsPerCore=}
    threads=${threads%%[!0-9]*}
    for lane in "${!rowtui_lanes[@]}"; do
        rowtui_most "$lane"
        sum=$((sum + (most_cpus + threads - 1) / threads * threads))
    done
    if [ "$threads" -gt 1 ] && [ "$sum" -gt "${SLURM_CPUS_ON_NODE:-$rowtui_cpus}" ]; then
        echo "rowtui: cores have $threads threads, and not each lane can have whole cores:" \
            "its jobs are no steps of their own."
        rowtui_no_steps=1
    fi
}

rowtui_launch() {
    local name
    for name in "${!SLURM_MEM_@}" "${!SLURM_CPUS_PER_@}" "${!SLURM_NTASKS@}" "${!SRUN_@}" \
        "${!SLURM_GPUS_PER_@}" "${!SLURM_TRES_PER_@}" SLURM_GPUS SLURM_GRES SLURM_NPROCS \
        SLURM_EXACT SLURM_EXCLUSIVE SLURM_OVERLAP SLURM_WHOLE SLURM_OVERCOMMIT SLURM_TIMELIMIT \
        SLURM_EXPORT_ENV
    do
        unset "$name"
    done
    if [ "$rowtui_steps" = 1 ]; then
        # Its launcher makes the steps, which take their share and no more.
        rowtui_as_alone
        export SLURM_EXACT=1
        exec "$BASH" "$1"
    elif [ -n "$rowtui_no_steps" ]; then
        rowtui_as_alone
        export SLURM_OVERLAP=1
        rowtui_process "$1"
    fi
    # A command that starts steps all the same has them share its own, instead of waiting for it.
    set -- env SLURM_OVERLAP=1 "$BASH" "$1"
    if [ "$rowtui_gpus" -gt 0 ]; then set -- "--gpus=$rowtui_devices" "$@"; fi
    # Quiet: that it waits until what ended before is cleared away is nothing for a request's log.
    exec srun --quiet --exact --nodes=1 --ntasks=1 --cpus-per-task="$rowtui_share" \
        --mem="${rowtui_memory/#-/0}" --mpi=none --export=ALL --input=none \
        --job-name="${rowtui_names[rowtui_number]}" "$@"
}

# A node that was taken for dead may go on: its srun would make steps in the job's next start.
rowtui_given_up() {
    local job
    job=$(scontrol -o show job "$SLURM_JOB_ID" 2>/dev/null </dev/null)
    case "$job " in
    *' JobState=RUNNING '*" Restarts=$rowtui_restarts "*) return 1 ;;
    *' JobState='*) return 0 ;;
    esac
    return 1
}

# What Slurm says to a job of this size, and srun takes for granted.
rowtui_as_alone() {
    export SLURM_NTASKS=$rowtui_processes SLURM_NPROCS=$rowtui_processes
    export SLURM_TASKS_PER_NODE=$rowtui_processes SLURM_MEM_PER_NODE=${rowtui_memory/#-/0}
    export SLURM_CPUS_PER_TASK=$((rowtui_share / rowtui_processes))
    export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK
    export SLURM_CPUS_ON_NODE=$rowtui_share SLURM_JOB_CPUS_PER_NODE=$rowtui_share
    if [ "$rowtui_gpus" -gt 0 ] && [ "$rowtui_devices" -eq 0 ]; then
        export SLURM_GPUS=0 CUDA_VISIBLE_DEVICES=
    elif [ "$rowtui_gpus" -gt 0 ]; then
        export SLURM_GPUS_PER_TASK=$((rowtui_devices / rowtui_processes))
    fi
}
"""

STEPS = f"{_PROCESSES}{_STEPS}"


# The `#SBATCH` header of a bundle: one task on one node with room for all lanes.
#
# The input is the bundle's jobs; the result is lines. Options that all jobs share (partition,
# account, additions of the site or the user) stay unchanged; sizes are replaced by those of the
# bundle. Source: sbatch's manual, and measurements on Slurm 22.05: Slurm sends a warning signal up
# to 30 s earlier than requested and never later; a job that has a node for itself still only gets
# the memory that it asks for.


LOG_NAME = "rowtui-bundle-%j.out"
# Seconds before the limit. The signal comes at most 45 s before the limit, which is less than the
# reserve in a bundle's time (`bundles.START_SECONDS`), and is enough to report finished jobs.
WARN_SECONDS = 15
_OWN = (
    "--job-name=", "--output=", "--partition=", "--ntasks=", "--cpus-per-task=", "--nodes=",
    "--mem-per-", "--time=", "--signal=",
)  # fmt: skip


def bundle_header(jobs: Sequence[PlannedJob], bundle: InBundle, kind: SchedulerKind) -> list[str]:
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
    lines.append(f"--time={kind.limit(bundle.seconds) // 60}")
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


# A job has begun when it is past the fence. Variables of the driver are then removed from its
# environment.
BEGAN = 'printf \'%s\\n\' "$rowtui_job" >"$rowtui_began"\nunset rowtui_began'


def bundle_script(jobs: Sequence[PlannedJob], scheduler: str) -> str:
    """Return the script that runs these jobs of one bundle, which may be a part of the bundle.

    The jobs are in the plan's order: within each lane one after another. `scheduler`: the name of
    its kind. Raises: RowtuiError for a scheduler that cannot run several jobs in one.
    """
    kind = scheduler_kind(scheduler)
    if not kind.bundle_id:
        raise RowtuiError(f"jobs cannot share one job of the scheduler {visible(scheduler)}")
    bundle = jobs[0].bundle
    assert bundle is not None
    all_parts = [_parts(job) for job in jobs]
    head = ["#!/bin/bash"]
    if kind.starts_steps:
        head += bundle_header(jobs, bundle, kind)
    # The line numbers of the parts depend on the number of lines before them, not on their content.
    before = [*head, "", *_tables(jobs, bundle, kind, _Places(all_parts, 0).of_jobs)]
    before += [launch_text(kind), DRIVER.strip("\n"), ""]
    places = _Places(all_parts, sum(text.count("\n") + 1 for text in before))
    before[len(head) + 1 : -3] = _tables(jobs, bundle, kind, places.of_jobs)
    return "\n".join([*before, *places.texts]) + "\n"


def bundle_spec(
    jobs: Sequence[PlannedJob], bundle: InBundle, access: Access, after: After
) -> JobSpec:
    """Return the job specification for these jobs, which may be a part of their bundle."""
    first = jobs[0]
    folder = PurePosixPath(first.log_path).parent
    return JobSpec(
        token=bundle.token,
        name=bundle_name(jobs),
        script=bundle_script(jobs, access.scheduler.kind),
        workdir=access.site.workdir,
        log_path=str(folder / LOG_NAME) if first.log_path else "",
        cpus=bundle.cpus,
        gpus=bundle.gpus,
        memory_mb=bundle.memory_mb,
        walltime_seconds=bundle.seconds,
        after=after.jobs,
        after_tasks=after.tasks,
        held=access.scheduler.holds,
    )


def launch_text(kind: SchedulerKind) -> str:
    """Return the bash functions that start the requests of a bundle or a pilot."""
    return (STEPS if kind.starts_steps else PROCESSES).strip("\n")


def _parts(job: PlannedJob) -> ScriptParts:
    parts = split_script(job.script)
    assert parts is not None
    return parts


class _Places:
    """The parts of all scripts in sequence, with each shared rest once, and their line numbers.

    `before`: number of lines above. `of_jobs`: for each job, the `sed` commands that print its own
    part, the fixed part and its rest, and then quit.
    """

    def __init__(self, all_parts: Sequence[ScriptParts], before: int) -> None:
        self.texts: list[str] = []
        self._line = before
        owns = [self._add(parts.own) for parts in all_parts]
        fixed = self._add(f"{FIXED}\n{BEGAN}")
        rests: dict[str, tuple[int, int]] = {}
        self.of_jobs = []
        for own, parts in zip(owns, all_parts, strict=True):
            if parts.rest not in rests:
                rests[parts.rest] = self._add(parts.rest.strip("\n"))
            first, last = rests[parts.rest]
            ranges = f"{own[0]},{own[1]}p;{fixed[0]},{fixed[1]}p;{first},{last}p;{last}q"
            self.of_jobs.append(ranges)

    def _add(self, text: str) -> tuple[int, int]:
        first = self._line + 1
        self._line += text.count("\n") + 1
        self.texts.append(text)
        return first, self._line


def _tables(
    jobs: Sequence[PlannedJob], bundle: InBundle, kind: SchedulerKind, places: Sequence[str]
) -> list[str]:
    lanes: dict[int, list[int]] = {}
    for number, job in enumerate(jobs):
        lanes.setdefault(_place(job).lane, []).append(number)
    return [
        f"rowtui_id={kind.bundle_id} rowtui_restarts={kind.bundle_restarts}",
        f"rowtui_cpus={bundle.cpus} rowtui_gpus={bundle.gpus}",
        *_array("lanes", [f"'{' '.join(map(str, lane))}'" for _, lane in sorted(lanes.items())]),
        *_array("sizes", [f"'{job_size(job)}'" for job in jobs]),
        *_array("places", [f"'{ranges}'" for ranges in places]),
        *_array("tokens", [quote(job.token) for job in jobs]),
        *_array("names", [quote(visible(job.name)) for job in jobs]),
        *_after(jobs),
        *_array("logs", [quote(job.log_path) for job in jobs]),
        "",
    ]


def _after(jobs: Sequence[PlannedJob]) -> list[str]:
    """Return, by job number, the tokens of jobs in the same bundle on which the job depends."""
    waits = []
    for number, job in enumerate(jobs):
        tokens = [it for it in job.depends_on if it.rpartition("~")[0] == _place(job).token]
        if tokens:
            waits.append(f"[{number}]={quote(' '.join(tokens))}")
    return _array("after", waits) if waits else []


def _array(name: str, words: Sequence[str]) -> list[str]:
    return [f"rowtui_{name}=(", *words, ")"]


def job_size(job: PlannedJob) -> str:
    """Return CPUs, MB of memory or `-`, GPUs, seconds, processes, 1 for a job with own steps."""
    memory = "-" if job.memory_mb is None else job.memory_mb
    steps = int(job.starts_steps)
    seconds = _place(job).own_seconds
    return f"{job.cpus} {memory} {job.gpus} {seconds} {job.processes} {steps}"


def _place(job: PlannedJob) -> InBundle:
    assert job.bundle is not None
    return job.bundle
