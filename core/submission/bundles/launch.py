"""Ways in which a bundle's driver starts a job: as a Slurm step, or as a process with limits.

Each text defines `rowtui_survey`, which is called once; `rowtui_choose LANE`, called in each lane;
`rowtui_launch SCRIPT`, called in the process that becomes the job; and `rowtui_given_up`, which
returns whether the scheduler has restarted the bundle, or will. These functions use
`rowtui_number`, `rowtui_share` (CPUs), `rowtui_memory` (MB, or `-` if not stated), `rowtui_devices`
(GPUs), `rowtui_processes` and `rowtui_steps` of the job, and the tables of `bundle_script.py`.
Source: srun's manual; measurements on Slurm 22.05 (docs/background/submission.md).
"""

from __future__ import annotations

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
