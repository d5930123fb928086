"""The part of every job script that measures GPUs, where the job requested some (`rowtui_gpus`).

A process beside the script runs `nvidia-smi` about every ten seconds, for at most five seconds. The
process is no child of the script, so that its own CPU time and memory are not counted. Its last
totals are one line in a pipe, which the script reads without waiting at its end; then the script
kills it. It ends by itself after a script that was killed. Only GPUs of CUDA_VISIBLE_DEVICES count;
without that variable, all that the job can see, unless these are more than it requested. Shares of
a GPU (MIG) are not measured.

Source: the manual of nvidia-smi (`--query-gpu`; `[N/A]` or `[Not Supported]` stand for no value).
"""

from __future__ import annotations

GPU_PART = r"""
# Measure the GPUs of a job that requested some, from its first command on.
rowtui_watch_gpus() {
    [ "${rowtui_gpus:-0}" -gt 0 ] && [ -z "$rowtui_mailbox" ] && ! [ -o posix ] || return 0
    rowtui_mailbox=none
    type -P nvidia-smi timeout >/dev/null || return 0
    eval 'exec {rowtui_mailbox}< <(rowtui_gpu_totals "$$" 2>/dev/null &)'
    rowtui_last=$!
} 2>/dev/null

# Put one line into the pipe that is the output, in place of the last: this process, the use of all
# GPUs up to now (percent times seconds / 100), their use now in percent, when (seconds / 100 since
# the machine started), and the most memory in MiB.
rowtui_gpu_totals() {
    local main=$1 box idle now at=0 use=0 percent='' most='' pause=1 sum mib found
    local gpu uuid busy used all some path=$PATH
    trap : TERM INT HUP USR1 USR2
    rowtui_calm
    PATH=$path:$rowtui_path
    exec {box}<>/proc/self/fd/1 {idle}<> <(:)
    echo "$BASHPID"
    while kill -0 "$main"; do
        sum=0 mib='' found=0 all=0 some=''
        while IFS=, read -r gpu uuid busy used _; do
            all=$((all + 1)) busy=${busy# } used=${used# }
            rowtui_is_own_gpu "$gpu" "${uuid# }" || continue
            found=$((found + 1))
            case $busy in [0-9] | [0-9][0-9] | 100) sum=$((sum + busy)) some=1 ;; esac
            case $used in *[!0-9]* | '' | ?????????*) ;; *) mib=$((${mib:-0} + 10#$used)) ;; esac
        done < <(timeout -s KILL 5 nvidia-smi --format=csv,noheader,nounits \
            --query-gpu=index,uuid,utilization.gpu,memory.used </dev/null | head -c 16384)
        read -r now _ </proc/uptime
        now=${now/./}
        if [ "$found" -gt 0 ] && { [ -n "${CUDA_VISIBLE_DEVICES-}" ] ||
            [ "$all" -le "$rowtui_gpus" ]; }; then
            percent=${some:+$sum}
            [ "$at" -eq 0 ] || use=$((use + ${percent:-0} * (now - at)))
            at=$now
            [ "${mib:-0}" -le "${most:--1}" ] || most=$mib
            read -r -t 0.1 _ <&"$box"
            echo "$BASHPID $use ${percent:--} $at ${most:--}"
        fi
        read -r -t "$pause" _ <&"$idle"
        pause=$((pause < 5 ? pause * 2 : 10))
    done
}

# Whether a GPU, by number or UUID, is one of the job's. UUIDs may be abbreviated.
rowtui_is_own_gpu() {
    local word IFS=,
    case $1:$2 in [0-9]*:GPU-*) ;; *) return 1 ;; esac
    [ -n "${CUDA_VISIBLE_DEVICES-}" ] || return 0
    for word in $CUDA_VISIBLE_DEVICES; do
        [ "$word" != "$1" ] || return 0
        case $word in GPU-?*) [ "${2#"$word"}" = "$2" ] || return 0 ;; esac
    done
    return 1
}

# What the process beside the script measured, added to rowtui_used. Then that process is killed.
rowtui_measure_gpus() {
    local pid use percent at most now
    case $rowtui_mailbox in *[!0-9]* | '') return ;; esac
    read -r -t 0.2 pid use percent at most <&"$rowtui_mailbox" || return
    kill -KILL "$pid"
    [ "${most:--}" = - ] || rowtui_used+=" gpu_memory=$most"
    [ "${percent:--}" != - ] || return
    read -r now _ </proc/uptime
    now=$((${now/./} - at))
    # Its last look is at most ten seconds old, and five that the look may have taken.
    use=$((use + percent * (now < 1500 ? now : 1500)))
    printf -v now '%d.%02d' "$((use / 10000))" "$((use / 100 % 100))"
    rowtui_used+=" gpu=$now"
}
""".strip("\n")
