"""The fixed part of a bundle's script: parallel lanes, and in each lane one job after another.

The text is plain bash (4.2 or later) and coreutils, as in `fixed_part.py`. A script defines
before it the tables that `script.py` writes, and one of the ways to start a job there.

- Each lane is a subshell that sleeps in `read` on its own pipe. A line in the pipe only wakes the
  lane; files hold the content: `closed` (no further job begins), `warned`, `stop` (with the signal)
  and `<number>.code` (a job has ended). The reason is that bash may lose data when a signal
  interrupts `read`.
- When a job starts, `sed` assembles its own script. The script begins with a few lines that
  redirect output to its log, publish its process id, and stop it if the bundle is `closed`.
- A job that depends on others of its bundle begins only if these ended well. Otherwise its fence is
  closed, so that its directories are free while the bundle continues.
- Signals are sent to the process itself: srun would pass SIGUSR1 to every process of the command,
  and would turn SIGTERM into SIGKILL for all of them. A job near its own time limit is warned
  (SIGUSR1), then stopped (SIGTERM), and killed with its step if it does not stop.
- On SIGUSR1, the warning before the bundle's limit, all running jobs are warned and no further job
  begins. SIGTERM (SIGINT, SIGHUP) is passed to all running jobs, and their reports are awaited.
- If a job was killed before it could write its end, the driver writes `.row/rowtui/ended/<token>`.
  A job that never began leaves no file.

Exit code: 0 if all jobs ended well, else 1. Source: measured behaviour of srun 22.05 and of bash.
"""

from __future__ import annotations

from rowtui.core.submission.scripts.fixed_part import NOT_READY

# Seconds between SIGTERM and SIGKILL for jobs of a bundle. A job needs `shell.STOP_SECONDS` and
# time to report; Slurm kills the bundle itself after 30 s (KillWait).
KILL_SECONDS = 15
# Seconds before the second and third try of a step that Slurm did not start.
PAUSES = (2, 10)

DRIVER = (
    r"""
# -- a lane ------------------------------------------------------------------------------------

# One job after another. Everything here goes on when signals come, as they come to all processes
# of a job that must end; what it starts has its own ways with them.
rowtui_lane() {
    local rowtui_number rowtui_share rowtui_memory rowtui_devices rowtui_seconds rowtui_processes
    local rowtui_steps rowtui_file rowtui_log try pause
    trap ': >"$rowtui_dir/closed"' TERM INT HUP
    trap : USR1 USR2
    exec 9<>"$rowtui_dir/lane.$1"
    rowtui_choose "$1"
    for rowtui_number in ${rowtui_lanes[$1]}; do
        [ ! -e "$rowtui_dir/closed" ] || break
        [ ! -L "$rowtui_start+$((rowtui_restarts + 1))" ] || break
        rowtui_file=$rowtui_dir/$rowtui_number
        ! rowtui_over_before || continue
        rowtui_may_begin || continue
        read -r rowtui_share rowtui_memory rowtui_devices rowtui_seconds rowtui_processes \
            rowtui_steps <<<"${rowtui_sizes[rowtui_number]}"
        rowtui_log=${rowtui_logs[rowtui_number]//%j/$rowtui_id}
        if ! rowtui_prepare; then
            printf 'not begun: cannot write its log\n' >"$rowtui_file.result"
            continue
        fi
        try=0
        for pause in 0 ROWTUI_PAUSES; do
            if [ "$pause" -gt 0 ]; then
                read -r -t "$pause" <&9
                [ ! -e "$rowtui_dir/closed" ] || break
            fi
            rowtui_see_through
            # Only what never came as far as the first line of its script is tried again.
            [ ! -e "$rowtui_file.pid" ] && [ ! -e "$rowtui_dir/closed" ] || break
        done
        # When a whole job must end, its steps may hear of it before the driver does.
        if [ "${rowtui_code:-0}" -gt 128 ] && [ -z "$rowtui_stopped" ]; then sleep 1; fi
        rowtui_judge
        rm -f "$rowtui_file.sh" "$rowtui_file.pid" "$rowtui_file.child" "$rowtui_file.began" \
            "$rowtui_file.code"
    done
}

# Whether all that a job depends on has ended well. Else it never begins, here or elsewhere.
rowtui_may_begin() {
    local token code cause
    for token in ${rowtui_after[rowtui_number]-}; do
        code='' cause=''
        { read -r code && read -r cause; } 2>/dev/null <".row/rowtui/ended/$token"
        [ "$code:$cause" != 0:exit ] || continue
        rowtui_refuse
        echo 'not begun: what it depends on did not end well' >"$rowtui_file.result"
        return 1
    done
}

# Close the fence of a job that is not to begin: whoever settles it sees that at once.
rowtui_refuse() {
    mkdir -p .row/rowtui/fence
    ln -sT abandoned ".row/rowtui/fence/${rowtui_tokens[rowtui_number]}" 2>/dev/null
}

# Write the script of a job, which is complete without ours.
rowtui_prepare() {
    if [ -n "$rowtui_log" ]; then
        case $rowtui_log in */*) mkdir -p -- "${rowtui_log%/*}" ;; esac
        : >"$rowtui_log" || return
    fi
    {
        [ -z "$rowtui_log" ] || printf 'exec </dev/null >>%q 2>&1\n' "$rowtui_log"
        # Its step may be one of the next start, on another node.
        printf '[ "${SLURMD_NODENAME-}" = %q ] || { : >%q; exit 0; }\n' \
            "${SLURMD_NODENAME-}" "$rowtui_dir/closed"
        printf 'trap : USR1\necho "$$" >%q\n[ ! -e %q ] || exit 0\nrowtui_began=%q\n' \
            "$rowtui_file.pid" "$rowtui_dir/closed" "$rowtui_file.began"
        LC_ALL=C sed -n "${rowtui_places[rowtui_number]}" "$rowtui_script"
    } >"$rowtui_file.sh"
}

# Run a program in a process group of its own, and tell the lane when it has ended, and how.
rowtui_run() {
    local child code=0
    trap : TERM INT HUP USR1 USR2
    set -m
    (
        exec 9>&-
        if [ -n "$rowtui_log" ]; then exec >>"$rowtui_log" 2>&1; fi
        rowtui_launch "$1"
    ) </dev/null &
    child=$!
    # From here on nothing may end a `wait`: bash may lose the exit code by that.
    trap '' TERM INT HUP USR1 USR2
    set +m
    echo "$child" >"$rowtui_file.child"
    wait "$child" || code=$?
    while [ "$code" -gt 128 ] && kill -0 "$child" 2>/dev/null; do # it was only stopped
        code=0
        wait "$child" || code=$?
    done
    echo "$code" >"$rowtui_file.code"
    echo news >&9
}

# Start a job and see it to its end: its code in rowtui_code, why it was stopped in rowtui_stopped.
rowtui_see_through() {
    local pid='' stage=starting now next warn_at=0 stop_at=0 kill_at=0 signal=TERM
    local before=$((rowtui_seconds < 4 ? 1 : rowtui_seconds / 4))
    rowtui_code='' rowtui_stopped=''
    before=$((before < 10 ? before : rowtui_seconds / 10 < 10 ? 10 : rowtui_seconds / 10))
    before=$((before < 60 ? before : 60))
    rm -f "$rowtui_file.code"
    rowtui_run "$rowtui_file.sh" &
    while [ -z "$rowtui_code" ]; do
        now=$SECONDS
        if [ -z "$pid" ] && [ -e "$rowtui_file.pid" ]; then
            read -r pid <"$rowtui_file.pid"
            if [ -n "$pid" ] && [ "$stage" = starting ]; then
                stage=running warn_at=$((now + rowtui_seconds - before))
                stop_at=$((now + rowtui_seconds))
            fi
        fi
        if [ -e "$rowtui_dir/stop" ] && [ -z "$rowtui_stopped" ]; then
            read -r signal <"$rowtui_dir/stop"
            rowtui_stopped="signal ${signal:=TERM}"
            [ ! -e "$rowtui_dir/warned" ] || rowtui_stopped='time limit'
        elif [ "$stage" = warned ] && [ "$now" -ge "$stop_at" ]; then
            rowtui_stopped='time limit'
        fi
        if [ "$stage" = running ] && { [ "$now" -ge "$warn_at" ] || [ -e "$rowtui_dir/warned" ]; }
        then
            stage=warned
            kill -USR1 "$pid" 2>/dev/null
            sleep 0.5 # of two signals at once bash may take SIGTERM first
        fi
        next=$((now + 10))
        case $stage in
        starting | running | warned)
            if [ -n "$rowtui_stopped" ]; then
                stage=stopped kill_at=$((now + ROWTUI_KILL_SECONDS))
                rowtui_signal "$signal" "$pid"
                next=$kill_at
            elif [ "$stage" = starting ]; then
                next=$((now + 1))
            elif [ "$stage" = running ]; then
                next=$((warn_at < next ? warn_at : next))
            else
                next=$((stop_at < next ? stop_at : next))
            fi
            ;;
        stopped)
            next=$kill_at
            if [ "$now" -ge "$kill_at" ]; then
                rowtui_kill "$pid"
                next=$((now + 1))
            fi
            ;;
        esac
        if [ "$next" -le "$now" ]; then continue; fi
        read -r -t "$((next - now))" <&9
        [ ! -e "$rowtui_file.code" ] || read -r rowtui_code <"$rowtui_file.code"
    done
    # What started it may have ended before it: let it write its report.
    [ -n "$pid" ] || read -r pid 2>/dev/null <"$rowtui_file.pid"
    while [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; do
        if [ "$kill_at" -eq 0 ]; then kill_at=$((SECONDS + ROWTUI_KILL_SECONDS)); fi
        if [ "$SECONDS" -ge "$kill_at" ]; then rowtui_kill "$pid"; fi
        read -r -t 0.2 <&9
    done
}

# To the job's bash and what it runs in the foreground (a setup); the command has its own group,
# which that bash stops. As long as it is not there: to what starts it.
rowtui_signal() {
    local child=''
    if [ -n "$2" ]; then
        kill "-$1" -- "-$2" 2>/dev/null || kill "-$1" "$2" 2>/dev/null
    else
        read -r child 2>/dev/null <"$rowtui_file.child"
        [ -z "$child" ] || kill "-$1" -- "-$child" 2>/dev/null
    fi
}

# A step dies with its srun, at once; else it is all processes that come from these.
rowtui_kill() {
    local child='' line pid found word
    local -a kin=() field
    read -r child 2>/dev/null <"$rowtui_file.child"
    for word in "$1" "$child"; do [ -z "$word" ] || kin+=("$word"); done
    found=-1
    while [ "$found" -ne "${#kin[@]}" ]; do
        found=${#kin[@]}
        for line in /proc/[0-9]*/stat; do
            read -r line 2>/dev/null <"$line" || continue
            pid=${line%% *}
            read -ra field <<<"${line##*) }"
            case " ${kin[*]} " in
            *" $pid "*) ;;
            *" ${field[1]} "* | *" ${field[2]} "*) kin+=("$pid") ;;
            esac
        done
    done
    kill -KILL "${kin[@]}" 2>/dev/null
}

# What became of a job, by its own word, in one line.
rowtui_judge() {
    local token=${rowtui_tokens[rowtui_number]} ended code='' cause='' job='' told
    ended=.row/rowtui/ended/$token
    if [ -e "$rowtui_file.began" ] && [ ! -e "$ended" ]; then
        # It was killed, and could not say so; or it ended by itself on a disk that was full.
        read -r job <"$rowtui_file.began"
        cause=${rowtui_stopped:-signal KILL}
        if [ -z "$rowtui_stopped" ] && [ "$rowtui_code" -le 128 ]; then cause=exit; fi
        if [ -z "$rowtui_stopped" ] && rowtui_had_no_memory; then cause='out of memory'; fi
        if [ -z "$rowtui_stopped" ] && rowtui_given_up; then : >"$rowtui_dir/closed"; fi
        for told in {1..20}; do # a disk that is full may have room again
            printf '%s\n%s\n%s\n%(%s)T\n\n\n' "$rowtui_code" "$cause" "$job" -1 >"$ended.tmp" &&
                sync "$ended.tmp" && mv -f "$ended.tmp" "$ended" && break
            sleep 3
        done 2>/dev/null
    fi
    if [ -e "$rowtui_file.began" ]; then
        { read -r code && read -r cause; } 2>/dev/null <"$ended"
    fi
    told=$cause
    # Maybe only its command was killed, and it could say so.
    if [ "$cause" = exit ] && [ "$code" -gt 0 ] && rowtui_had_no_memory; then
        cause='out of memory'
    elif [ "$cause" = 'signal TERM' ] && [ "$rowtui_stopped" = 'time limit' ]; then
        cause=$rowtui_stopped code=138 # as if it had heard the warning, which came too early
    fi
    if [ "$cause" != "$told" ]; then
        sed "1s/.*/$code/; 2s/.*/$cause/" "$ended" >"$ended.tmp" && mv -f "$ended.tmp" "$ended"
    fi
    case $code:$cause in
    0:exit) echo 'ended well' ;;
    ROWTUI_NOT_READY:exit) echo 'not begun: what it needs of other jobs is not there' ;;
    *:exit) echo "failed (exit code $code)" ;;
    *:'time limit') echo 'ran out of time' ;;
    *:?*) echo "stopped ($cause)" ;;
    *)
        if [ -L ".row/rowtui/fence/$token" ]; then
            echo 'not begun: it was taken out, or runs elsewhere'
        elif [ -n "$rowtui_code" ] && [ "$rowtui_code" -gt 0 ] && [ -z "$rowtui_stopped" ]; then
            echo "not begun (exit code $rowtui_code)"
        else
            echo 'not begun'
        fi
        ;;
    esac >"$rowtui_file.result"
}

# Whether Slurm killed a step for its memory, which srun says in the job's log: what the kernel did
# in the cgroup, or what the accounting saw.
rowtui_had_no_memory() {
    [ -n "$rowtui_log" ] && tail -n 20 -- "$rowtui_log" |
        grep -qE '^(slurmstepd|srun)\S*: error: .*(oom[_-]kill|Out Of Memory|memory limit)'
}

# Whether a job was over before, in this bundle, which was started again: its result. What rowtui
# takes for over while the bundle goes on (`ending.OVER`), it may have given to another job since.
rowtui_over_before() {
    local ended=.row/rowtui/ended/${rowtui_tokens[rowtui_number]} code='' cause='' result
    [ -e "$ended" ] && { read -r code && read -r cause; } <"$ended" || return
    case $code:$cause in
    0:exit) result='ended well (before)' ;;
    *:exit) result="failed (before, exit code $code)" ;;
    *:'time limit') result='ran out of time (before)' ;;
    *:'out of memory') result='stopped (before, out of memory)' ;;
    *) return 1 ;;
    esac
    echo "$result" >"$rowtui_file.result"
}

# -- all of them -------------------------------------------------------------------------------

rowtui_news() {
    local pipe
    : >"$rowtui_dir/closed"
    for pipe in "$rowtui_dir"/lane.*; do printf 'news\n' 1<>"$pipe"; done
}

rowtui_warn() {
    : >"$rowtui_dir/warned"
    rowtui_news
}

rowtui_forward() {
    [ -e "$rowtui_dir/stop" ] || echo "$1" >"$rowtui_dir/stop"
    rowtui_news
}

rowtui_open() {
    local folder lane
    local -a pipes
    rowtui_script=$0
    [ -r "$rowtui_script" ] || rowtui_script=/proc/$$/fd/255
    if [ ! -r "$rowtui_script" ]; then
        echo >&2 "rowtui: this script must be run from a file: nothing was run."
        exit 3
    fi
    for folder in "${TMPDIR-}" /tmp /dev/shm "$PWD/.row/rowtui"; do
        case $folder in /*) ;; *) continue ;; esac
        rowtui_dir=$(mktemp -d "$folder/rowtui.XXXXXXXX" 2>/dev/null) || continue
        trap 'rm -rf "$rowtui_dir"' EXIT
        pipes=()
        for lane in "${!rowtui_lanes[@]}"; do pipes+=("$rowtui_dir/lane.$lane"); done
        mkfifo "${pipes[@]}" && return
    done
    echo >&2 "rowtui: no folder for temporary files: nothing was run."
    exit 3
}

rowtui_report() {
    local number result well=0
    for number in "${!rowtui_names[@]}"; do
        result=''
        [ ! -e "$rowtui_dir/$number.result" ] || read -r result <"$rowtui_dir/$number.result"
        case $result in 'ended well'*) well=$((well + 1)) ;; esac
        printf 'rowtui: %s: %s\n' "${rowtui_names[number]}" "${result:-not begun}"
    done
    echo "rowtui: $well of ${#rowtui_names[@]} ended well."
    [ "$well" -eq "${#rowtui_names[@]}" ] || return 1
}

rowtui_main() {
    local lane pid
    local -a lanes=()
    if ! [ -e workflow.toml ]; then
        printf >&2 'rowtui: %q is not the folder of the project: nothing was run.\n' "$PWD"
        exit 3
    fi
    rowtui_open
    export rowtui_dir # for products that stay here
    # Where a node was given up that goes on, what it has not begun by now is left to this start.
    rowtui_start=.row/rowtui/fence/${rowtui_tokens[0]%~*}+$rowtui_id
    if [ "$rowtui_restarts" -gt 0 ]; then
        mkdir -p .row/rowtui/fence
        ln -sT "$rowtui_id" "$rowtui_start+$rowtui_restarts" 2>/dev/null
    fi
    rowtui_survey
    trap rowtui_warn USR1
    trap 'rowtui_forward TERM' TERM
    trap 'rowtui_forward INT' INT
    trap 'rowtui_forward HUP' HUP
    for lane in "${!rowtui_lanes[@]}"; do
        rowtui_lane "$lane" &
        lanes+=("$!")
    done
    for pid in "${lanes[@]}"; do
        while kill -0 "$pid" 2>/dev/null; do wait "$pid"; done
    done
    trap '' USR1 TERM INT HUP
    rowtui_report
}

rowtui_main
exit
""".replace("ROWTUI_NOT_READY", str(NOT_READY))
    .replace("ROWTUI_KILL_SECONDS", str(KILL_SECONDS))
    .replace("ROWTUI_PAUSES", " ".join(map(str, PAUSES)))
)
