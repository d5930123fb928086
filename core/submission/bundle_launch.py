"""How a bundle's driver starts one of its jobs: as a step of Slurm, or as a process with limits.

Each text defines `rowtui_choose LANE`, called once in each lane, and `rowtui_launch SCRIPT`, called
in the process that becomes the job. They know `rowtui_number`, `rowtui_share` (CPUs),
`rowtui_memory` (MB, or `-` if nobody states it), `rowtui_devices` (GPUs), `rowtui_processes` and
`rowtui_steps` of the job, and the tables of `bundle_script.py`.
Source: srun's manual; measured on 22.05 (docs/architecture.md).
"""

from __future__ import annotations

# The step gets its share of the job and no more (--exact), and must ask for its memory: without,
# it takes all of the job's, and the steps run one by one. 0: all of it, but shared.
STEPS = r"""
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
        # Its launcher makes the steps. They take what a job of this size would give them.
        export SLURM_EXACT=1 SLURM_NTASKS=$rowtui_processes SLURM_NPROCS=$rowtui_processes
        export SLURM_TASKS_PER_NODE=$rowtui_processes SLURM_MEM_PER_NODE=${rowtui_memory/#-/0}
        export SLURM_CPUS_PER_TASK=$((rowtui_share / rowtui_processes))
        export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK
        export SLURM_CPUS_ON_NODE=$rowtui_share SLURM_JOB_CPUS_PER_NODE=$rowtui_share
        if [ "$rowtui_gpus" -gt 0 ] && [ "$rowtui_devices" -eq 0 ]; then
            export SLURM_GPUS=0 CUDA_VISIBLE_DEVICES=
        elif [ "$rowtui_gpus" -gt 0 ]; then
            export SLURM_GPUS_PER_TASK=$((rowtui_devices / rowtui_processes))
        fi
        exec "$BASH" "$1"
    fi
    # A command that starts steps all the same has them share its own, instead of waiting for it.
    set -- env SLURM_OVERLAP=1 "$BASH" "$1"
    if [ "$rowtui_gpus" -gt 0 ]; then set -- "--gpus=$rowtui_devices" "$@"; fi
    exec srun --exact --nodes=1 --ntasks=1 --cpus-per-task="$rowtui_share" \
        --mem="${rowtui_memory/#-/0}" --mpi=none --export=ALL --input=none \
        --job-name="${rowtui_names[rowtui_number]}" "$@"
}
rowtui_choose() { :; }
"""

# A lane keeps to CPUs of its own only where all that this job may use are the bundle's: elsewhere
# other jobs use them too, and others may be free.
PROCESSES = r"""
rowtui_launch() {
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

# What this lane keeps to: the CPUs and GPUs behind those of the lanes before it.
rowtui_choose() {
    local lane number cpus gpus most_cpus most_gpus first_cpu=0 word devices=
    local -a allowed=() size
    rowtui_first_device=0 rowtui_pin=''
    for ((number = 0; number < rowtui_gpus; number++)); do devices+=",$number"; done
    IFS=, read -ra rowtui_all_devices <<<"${CUDA_VISIBLE_DEVICES:-${devices#,}}"
    for ((lane = 0; lane <= $1; lane++)); do
        first_cpu=$((first_cpu + ${most_cpus:-0}))
        rowtui_first_device=$((rowtui_first_device + ${most_gpus:-0}))
        most_cpus=0 most_gpus=0
        for number in ${rowtui_lanes[lane]}; do
            read -ra size <<<"${rowtui_sizes[number]}"
            cpus=${size[0]} gpus=${size[2]}
            most_cpus=$((cpus > most_cpus ? cpus : most_cpus))
            most_gpus=$((gpus > most_gpus ? gpus : most_gpus))
        done
    done
    for word in $(LC_ALL=C taskset -cp "$BASHPID" 2>/dev/null | sed 's/.*: //;s/,/ /g'); do
        for ((number = ${word%-*}; number <= ${word#*-}; number++)); do allowed+=("$number"); done
    done
    if [ "${#allowed[@]}" -eq "$rowtui_cpus" ]; then
        rowtui_pin=$(rowtui_slice "$first_cpu" "$most_cpus" "${allowed[@]}")
    fi
}
"""
