"""The script of a pilot, and of a request that is sent to one.

The input is a pilot's allocation and destination. The result is bash text (4.2 or later, with
coreutils): a header, tables, a way to start a job (`script.py`), the functions of a bundle's driver
(`shell.py`) and those of a pilot. The pilot takes requests from a folder and runs each: a request
that was taken is a lane of its own with one job, and ends as a bundle's jobs do.

The folder is `.row/rowtui/pilot/<token>/`:
- `<number>.new`: a request, created whole by a rename. Line 1: CPUs, memory in MB or `-`, GPUs,
  seconds, processes, whether the job starts steps itself; line 2: its token; lines 3 and 4: its
  log and its name, as words of bash; line 5: empty; then its script, complete but for the first
  lines.
- `<number>.taken`: a request that was taken, also by a rename, and runs; removed when it ended.
- `<number>.refused`: a request that does not fit into the remaining capacity or time; its fence is
  closed, so that its directories are free at once.
- `closed`: the pilot takes no further request. A sender checks for this file after its rename.
- `state`: epoch seconds; free CPUs, memory (or `-`) and GPUs; seconds left for a request; number
  of running requests; number of waiting requests.

A pilot ends when no request ran or came for its idle seconds, when the remaining time is too
short for any request, at the warning before its limit, and on SIGTERM. It is never started again.
"""

from __future__ import annotations

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import header_value, visible
from rowtui.core.clusters.model import Cluster
from rowtui.core.clusters.schedulers.kind import kind_of
from rowtui.core.submission.bundles.bundles import SCRIPT_MB, WATCH_MB
from rowtui.core.submission.bundles.pilot_model import Allocation
from rowtui.core.submission.bundles.script import BEGAN, WARN_SECONDS, job_size, launch_text
from rowtui.core.submission.bundles.shell import DRIVER
from rowtui.core.submission.plan.model import PlannedJob
from rowtui.core.submission.scripts.parts import FIXED, quote, split_script
from rowtui.core.workflow.model import SubmitOptions

# Seconds at a pilot's end in which no request runs: for reports, and because Slurm may warn early.
END_SECONDS = 45
# The age of a pilot's last report is at most this: the pilot refuses a request that comes too late.
REPORT_SECONDS = 12
# A request that does not fit while others do blocks these others after this many seconds.
PASSED_SECONDS = 120

PILOT = r"""
# Which CPUs and GPUs of the pilot's this lane keeps to. Slurm chooses those of steps.
rowtui_choose() {
    local word number devices='' slot
    local -a allowed=() all=()
    rowtui_pin='' rowtui_first_device=0 rowtui_all_devices=()
    [ -n "${rowtui_no_steps-no}" ] || return
    for ((number = 0; number < rowtui_gpus; number++)); do devices+=",$number"; done
    IFS=, read -ra all <<<"${CUDA_VISIBLE_DEVICES:-${devices#,}}"
    for slot in ${rowtui_gpu_slots[$1]}; do rowtui_all_devices+=("${all[slot]}"); done
    for word in $(LC_ALL=C taskset -cp "$BASHPID" 2>/dev/null | sed 's/.*: //;s/,/ /g'); do
        for ((number = ${word%-*}; number <= ${word#*-}; number++)); do allowed+=("$number"); done
    done
    if [ "${#allowed[@]}" -eq "$rowtui_cpus" ]; then
        for slot in ${rowtui_cpu_slots[$1]}; do rowtui_pin+=",${allowed[slot]}"; done
        rowtui_pin=${rowtui_pin#,}
    fi
}

# Where cores have several threads, Slurm gives steps whole cores.
rowtui_count_threads() {
    local node
    rowtui_threads=1
    [ -n "${SLURMD_NODENAME-}" ] || return
    node=$(scontrol -o show node "$SLURMD_NODENAME" 2>/dev/null </dev/null)
    case $node in *ThreadsPerCore=[0-9]*) ;; *) return ;; esac
    node=${node##*ThreadsPerCore=}
    rowtui_threads=${node%%[!0-9]*}
}

rowtui_pilot_lane() {
    exec 8>&-
    rowtui_lane "$1"
    printf 'news\n' 1<>"$rowtui_dir/lane.0"
}

# The first so many numbers below a limit that are not among the words given, in rowtui_slots.
rowtui_free_slots() {
    local number count=$1 limit=$2
    shift 2
    rowtui_slots=''
    for ((number = 0; number < limit && count > 0; number++)); do
        case " $* " in *" $number "*) continue ;; esac
        rowtui_slots+=" $number"
        count=$((count - 1))
    done
}

rowtui_left() {
    echo $((rowtui_seconds - SECONDS - ROWTUI_END_SECONDS))
}

# Take what fits. Others wait; what can never run here any more is refused.
rowtui_take() {
    local file name number sizes token log title cpus memory gpus seconds rest need left count
    local -a files=("$rowtui_spool"/*.new)
    rowtui_waiting=0
    [ -e "${files[0]}" ] || return
    left=$(rowtui_left)
    count=${#files[@]}
    for file in "${files[@]}"; do
        if [ "$rowtui_free_cpus" -lt 1 ]; then # to read many takes longer than short ones run
            rowtui_waiting=$((rowtui_waiting + count))
            break
        fi
        count=$((count - 1))
        name=${file##*/} name=${name%.new}
        case $name in '*' | '' | *[!0-9]*) continue ;; esac
        number=$((10#$name))
        if [ -n "${rowtui_seen[number]-}" ]; then
            rm -f "$file"
            continue
        fi
        { read -r sizes && read -r token && read -r log && read -r title; } \
            2>/dev/null <"$file" || continue
        read -r cpus memory gpus seconds rest <<<"$sizes"
        need=$(((cpus + rowtui_threads - 1) / rowtui_threads * rowtui_threads))
        [ "$memory" != - ] && [ "$rowtui_memory_mb" != - ] || memory=0
        if [ "$need" -gt "$rowtui_cpus" ] || [ "$gpus" -gt "$rowtui_gpus" ] ||
            [ "$seconds" -gt "$left" ] || [ "$memory" -gt "${rowtui_memory_mb/#-/0}" ]; then
            rowtui_turn_away "$file" "$number" "$token"
            continue
        fi
        if [ "$need" -gt "$rowtui_free_cpus" ] || [ "$gpus" -gt "$rowtui_free_gpus" ] ||
            [ "$memory" -gt "${rowtui_free_mb/#-/0}" ]; then
            rowtui_waiting=$((rowtui_waiting + 1))
            : "${rowtui_passed[number]:=$SECONDS}"
            [ $((SECONDS - rowtui_passed[number])) -lt ROWTUI_PASSED_SECONDS ] || break
            continue
        fi
        mv -T "$file" "$rowtui_spool/$name.taken" 2>/dev/null || continue
        rowtui_seen[number]=$name
        rowtui_tokens[number]=$token rowtui_sizes[number]=$sizes
        eval "rowtui_logs[number]=$log rowtui_names[number]=$title"
        rowtui_places[number]='6,$p'
        rowtui_lanes[number]=$number
        rowtui_free_slots "$need" "$rowtui_cpus" ${rowtui_cpu_slots[*]}
        rowtui_cpu_slots[number]=$rowtui_slots
        rowtui_free_slots "$gpus" "$rowtui_gpus" ${rowtui_gpu_slots[*]}
        rowtui_gpu_slots[number]=$rowtui_slots
        rowtui_takes[number]="$need $memory $gpus"
        rowtui_free_cpus=$((rowtui_free_cpus - need))
        rowtui_free_gpus=$((rowtui_free_gpus - gpus))
        [ "$rowtui_free_mb" = - ] || rowtui_free_mb=$((rowtui_free_mb - memory))
        mkfifo "$rowtui_dir/lane.$number"
        rowtui_script=$rowtui_spool/$name.taken
        rowtui_pilot_lane "$number" &
        rowtui_running[number]=$!
    done
}

# A request that is not to begin: whoever settles it sees that at once.
rowtui_turn_away() {
    local rowtui_number=$2
    mv -T "$1" "${1%.new}.refused" 2>/dev/null || return
    rowtui_tokens[rowtui_number]=$3
    rowtui_refuse
    unset "rowtui_tokens[$2]"
}

rowtui_reap() {
    local rowtui_number number cpus memory gpus result line
    for number in "${!rowtui_running[@]}"; do
        if kill -0 "${rowtui_running[number]}" 2>/dev/null; then
            # Bash 5.2 may miss that a child has ended: then it stays a zombie, which takes signals.
            read -r line 2>/dev/null <"/proc/${rowtui_running[number]}/stat" || line=''
            case ${line##*)} in ' Z'*) ;; *) continue ;; esac
        fi
        read -r cpus memory gpus <<<"${rowtui_takes[number]}"
        rowtui_free_cpus=$((rowtui_free_cpus + cpus))
        rowtui_free_gpus=$((rowtui_free_gpus + gpus))
        [ "$rowtui_free_mb" = - ] || rowtui_free_mb=$((rowtui_free_mb + memory))
        result='not begun'
        [ ! -e "$rowtui_dir/$number.result" ] || read -r result <"$rowtui_dir/$number.result"
        printf 'rowtui: %s: %s\n' "${rowtui_names[number]}" "$result"
        rowtui_number=$number
        rowtui_refuse # if it never began
        rm -f "$rowtui_dir/lane.$number" "$rowtui_dir/$number.result" \
            "$rowtui_spool/${rowtui_seen[number]}.taken"
        unset "rowtui_running[$number]" "rowtui_lanes[$number]" "rowtui_cpu_slots[$number]" \
            "rowtui_gpu_slots[$number]" "rowtui_sizes[$number]" "rowtui_tokens[$number]" \
            "rowtui_logs[$number]" "rowtui_names[$number]" "rowtui_places[$number]" \
            "rowtui_takes[$number]"
    done
}

rowtui_tell() {
    local said
    said="$rowtui_free_cpus $rowtui_free_mb $rowtui_free_gpus ${#rowtui_running[@]} $rowtui_waiting"
    if [ "$said" = "$rowtui_said" ] && [ $((SECONDS - rowtui_said_at)) -lt 10 ]; then return; fi
    rowtui_said=$said rowtui_said_at=$SECONDS
    printf '%(%s)T\n%s\n%s\n%s\n%s\n%s\n%s\n' -1 "$rowtui_free_cpus" "$rowtui_free_mb" \
        "$rowtui_free_gpus" "$(rowtui_left)" "${#rowtui_running[@]}" "$rowtui_waiting" \
        >"$rowtui_spool/state.tmp" && mv -f "$rowtui_spool/state.tmp" "$rowtui_spool/state"
}

rowtui_close() {
    local file name token
    : >"$rowtui_spool/closed"
    for file in "$rowtui_spool"/*.new; do
        name=${file##*/} name=${name%.new}
        case $name in '*' | '' | *[!0-9]*) continue ;; esac
        { read -r && read -r token; } 2>/dev/null <"$file" || continue
        rowtui_turn_away "$file" "$((10#$name))" "$token"
    done
}

rowtui_pilot() {
    local idle_since before pause=1 cause=exit signal='' ended=.row/rowtui/ended/$rowtui_token
    local -a rowtui_running=() rowtui_seen=() rowtui_passed=() rowtui_takes=()
    local -a rowtui_cpu_slots=() rowtui_gpu_slots=()
    local rowtui_slots rowtui_waiting=0 rowtui_said='' rowtui_said_at=0 rowtui_threads
    local rowtui_free_cpus=$rowtui_cpus rowtui_free_mb=$rowtui_memory_mb
    local rowtui_free_gpus=$rowtui_gpus
    if ! [ -e workflow.toml ]; then
        printf >&2 'rowtui: %q is not the folder of the project: nothing was run.\n' "$PWD"
        exit 3
    fi
    rowtui_spool=.row/rowtui/pilot/$rowtui_token
    mkdir -p "$rowtui_spool" .row/rowtui/fence .row/rowtui/ended
    if ! ln -sT "$rowtui_job" ".row/rowtui/fence/$rowtui_token" 2>/dev/null; then
        echo >&2 "rowtui: nothing was run: this pilot was started before, or given up."
        exit 0
    fi
    rowtui_open
    rowtui_start=.row/rowtui/fence/$rowtui_token+$rowtui_id
    rowtui_survey
    rowtui_count_threads
    exec 8<>"$rowtui_dir/lane.0"
    trap rowtui_warn USR1
    trap 'rowtui_forward TERM' TERM
    trap 'rowtui_forward INT' INT
    trap 'rowtui_forward HUP' HUP
    idle_since=$SECONDS
    while [ ! -e "$rowtui_dir/closed" ]; do
        before=${rowtui_running[*]}
        rowtui_reap
        rowtui_take
        rowtui_tell
        # After news soon, else once a second.
        pause=$((pause * 2 < 10 ? pause * 2 : 10))
        [ "$before" = "${rowtui_running[*]}" ] || pause=1
        if [ "${#rowtui_running[@]}" -gt 0 ]; then
            idle_since=$SECONDS
        elif [ $((SECONDS - idle_since)) -ge "$rowtui_idle" ] || [ "$(rowtui_left)" -le 0 ]; then
            break
        fi
        read -r -t "$((pause / 10)).$((pause % 10))" <&8
    done
    before=${#rowtui_running[@]}
    rowtui_close
    while rowtui_reap && [ "${#rowtui_running[@]}" -gt 0 ]; do
        rowtui_tell
        read -r -t 1 <&8
    done
    trap '' USR1 TERM INT HUP
    # A signal only ends a pilot well that has nothing to run: it is not needed any more.
    if [ -e "$rowtui_dir/stop" ] && [ "$before" -gt 0 ]; then
        read -r signal <"$rowtui_dir/stop"
        cause="signal ${signal:-TERM}"
    fi
    [ ! -e "$rowtui_dir/warned" ] || cause='time limit'
    printf '%s\n%s\n%s\n%(%s)T\n\n\n' 0 "$cause" "$rowtui_job" -1 >"$ended.tmp" &&
        sync "$ended.tmp" && mv -f "$ended.tmp" "$ended"
}

rowtui_pilot
exit
""".replace("ROWTUI_END_SECONDS", str(END_SECONDS)).replace(
    "ROWTUI_PASSED_SECONDS", str(PASSED_SECONDS)
)


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
    refuse_pilots(cluster)
    kind = kind_of(cluster)
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


def refuse_pilots(cluster: Cluster) -> None:
    """Raise a RowtuiError where pilots cannot run."""
    if not kind_of(cluster).pilots:
        raise RowtuiError(f"there are no pilots on {visible(cluster.name)}, which has no queue")


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
    lines += [
        f"--time={kind_of(cluster).limit(allocation.seconds) // 60}",
        f"--signal=B:USR1@{WARN_SECONDS}",
    ]
    lines += cluster.submit_options
    if options.account is not None:
        lines.append(f"--account={header_value(options.account)}")
    lines += options.custom
    return [f"#SBATCH {line}" for text in lines for line in text.split("\n") if line.strip()]


def request_text(job: PlannedJob) -> str:
    """Return the text of one request in a pilot's folder. See the module docstring."""
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
