"""The fixed part of every job script: the fence, the report of completion, and the signals.

The text is plain bash (4.2 or later) and coreutils, because other programs may be missing on a
compute node. Before it, a script defines the variables that `script.py` documents. The fixed part
sets the environment that it needs itself, because a user's setup may have changed anything.

- The fence `.row/rowtui/fence/<token>` is a link to `<scheduler>:<job id>`: only the job that makes
  it may run. A second job with the same token, or one that was abandoned, ends at once without
  running. `fence/<token>+<n>` is made as well if the scheduler counts how often it started a job.
- The report is Row's staged file `.row/completed/<32 hex>.postcard` (postcard: counts and byte
  lengths as LEB128), and `<32 hex>.names` (action and names, each ended by NUL, then NUL) for
  names that are not UTF-8, which Row's format cannot hold.
- On SIGUSR1, the scheduler's warning before the time limit, the finished directories are reported
  and the work continues: Slurm may warn half a minute early. SIGTERM, which comes at the limit,
  stops the command and reports again.
- The script does not block in `wait` while its command runs, because bash loses the exit code if a
  trapped signal arrives while bash collects it from the system. The script blocks in `read`, on a
  pipe whose other end only the command has. When that end is closed, bash has the exit code, and
  `wait` merely returns it. At intervals the script also checks for a command that closes its end
  early, or leaves a process behind that keeps the end open.
- SIGTERM may reach a command before its script. A command that died of SIGTERM (or SIGKILL) counts
  as failed only if the script does not receive a stop signal within a second either.
- A job of a list may leave products on its machine (`rowtui_scratch`), for later jobs of the list.
- A job that needs products of others (`rowtui_requires`) runs nothing while these are missing.
- `.row/rowtui/ended/<token>` records how the job ended, one item on a line: exit code; `exit`,
  `time limit`, `cancelled`, `unfinished` or `signal NAME`; the job; epoch seconds; the command's
  own exit code, or empty; the index of the directory that it failed in, or empty. Two more lines
  hold what the job used: words `name=value` (`read_script_words` reads them), and `children=` with
  the peak memory in KiB of the largest process, which the kernel tells only to the parent of that
  process: at its very end the script becomes a tiny program that asks. Without perl and python3,
  and of processes that the script is not the parent of, only the sampled memory is known.
- All of this adds less than 20 ms to a job, of which measuring is 5 ms. While a command runs, the
  memory and CPU time of its processes are sampled where the script wakes up anyway: about twelve
  times up to the third second, then every four seconds, and the more seldom the more processes
  there are. Measuring takes less than 20 ms of CPU time in a job of 40 seconds (`bench.usage`).

Source: bash 5.2's `wait` as measured (a code was lost in 1 of 3 tries that signalled as the command
ended).
"""

from __future__ import annotations

from rowtui.core.submission.scripts.gpu_part import GPU_PART

# Seconds that a command may take to stop. The script needs time to report before the scheduler
# kills it: the local scheduler does so after 5 seconds, Slurm after 30 (KillWait).
STOP_SECONDS = 3
# Seconds by which a script may receive a stop signal later than its command.
HEAR_SECONDS = 1
# The last line of a script.
FINISHED = "rowtui_finished=1"
# The exit code of a job that did nothing because products of other jobs are missing.
NOT_READY = 4
# The folder of products that stay on the machine of a list, in the list's own temporary folder.
SCRATCH_FOLDER = "rowtui-scratch"
# Programs whose work is no child of theirs: in the job's control group on this node (steps, new
# sessions), or in no group of the job. `rowtui_outside` is `tree` or `group` where one was seen.
OUTSIDE_TREE = ("srun", "setsid")
OUTSIDE_GROUP = ("ssh", "rsh", "qrsh", "docker", "podman", "nerdctl", "systemd-run")

PRELUDE = (
    r"""
rowtui_root=$PWD rowtui_path=$PATH rowtui_reason=exit rowtui_pid='' rowtui_code='' rowtui_index=''
rowtui_near='' rowtui_finished='' rowtui_reader='' rowtui_writer='' rowtui_pages=0 rowtui_skip=0
rowtui_mailbox='' rowtui_ticks=0 rowtui_seen=0 rowtui_seen_at=0 rowtui_whole=0
read -r rowtui_up rowtui_idle </proc/uptime

# Whatever the setup changed (options, words, locale, search path): back to what is known.
rowtui_calm() {
    set +eufC
    shopt -u nullglob failglob
    IFS=$' \t\n' LC_ALL=C PATH=$rowtui_path
}

rowtui_begin() {
    local there
    if ! [ -e workflow.toml ]; then
        printf >&2 'rowtui: %q is not the folder of the project: nothing was run.\n' "$PWD"
        exit 3
    fi
    [ -d .row/rowtui/fence ] && [ -d .row/rowtui/ended ] && [ -d .row/completed ] ||
        mkdir -p .row/rowtui/fence .row/rowtui/ended .row/completed
    if ! ln -sT "$rowtui_job" ".row/rowtui/fence/$rowtui_token" 2>/dev/null; then
        there=$(readlink ".row/rowtui/fence/$rowtui_token")
        if [ -z "$there" ]; then
            echo >&2 "rowtui: cannot write in .row/rowtui/fence: nothing was run."
            exit 3
        elif [ "$there" != "$rowtui_job" ]; then
            echo >&2 "rowtui: nothing was run: this job was already run or given up ($there)."
            exit 0
        fi
    fi
    rowtui_once
    [ ! -e ".row/rowtui/ended/$rowtui_token" ] || rm -f ".row/rowtui/ended/$rowtui_token"
    : & wait "$!"
    rowtui_last=$!
    rowtui_traps
    rowtui_needs
    [ -n "${rowtui_scratch:+${rowtui_dir-}}" ] || { rowtui_scratch=''; return 0; }
    export ROWTUI_SCRATCH=$rowtui_dir/ROWTUI_FOLDER # it ends with the list of this job
    mkdir -p "$ROWTUI_SCRATCH" && cd "$ROWTUI_SCRATCH" &&
        mkdir -p -- "${rowtui_directories[@]}" && cd "$rowtui_root" || exit 3
}

# Give a product in that folder its place in the workspace, as a whole: a link if only jobs of the
# list need it, else a copy.
rowtui_bring() {
    local from=$ROWTUI_SCRATCH/$1 to=$rowtui_workspace/$1 part=$rowtui_workspace/$1.$rowtui_token
    [ -e "$from" ] || { [ -e "$to" ]; return; }
    ! [ "$from" -ef "$to" ] || return 0
    mkdir -p -- "${to%/*}" && rm -rf -- "$part" || return
    case $rowtui_scratch in
    link) ln -sT -- "$from" "$part" ;;
    copy) cp -RpT -- "$from" "$part" ;;
    esac && mv -fT -- "$part" "$to"
}

# What other jobs make for this one must be there: a scheduler that crashed may have forgotten what
# this job was to wait for. A file server may show it only after a look into its folder.
rowtui_needs() {
    local path pause missing
    for pause in 0 1 2; do
        [ "$pause" -eq 0 ] || sleep "$pause"
        missing=''
        for path in "${rowtui_requires[@]}"; do
            path=$rowtui_workspace/$path
            [ ! -e "$path" ] || continue
            ls -- "${path%/*}" >/dev/null 2>&1
            [ -e "$path" ] || { missing=$path; break; }
        done
        [ -n "$missing" ] || return 0
    done
    printf >&2 'rowtui: nothing was run: %q, which this job needs, is not there.\n' "$missing"
    exit ROWTUI_NOT_READY
}

# A scheduler that crashed may start a job again that it started before, or that has ended. It may
# if it says so itself (requeued: `rowtui_run` is another number), and the job did not end.
rowtui_once() {
    local run=.row/rowtui/fence/$rowtui_token+$rowtui_run
    [ -n "$rowtui_run" ] || return 0
    if [ "$(sed -n 2p ".row/rowtui/ended/$rowtui_token" 2>/dev/null)" = exit ]; then
        echo >&2 "rowtui: nothing was run: this job has ended already."
        exit 0
    elif ! ln -sT "$rowtui_job" "$run" 2>/dev/null; then
        if [ -L "$run" ]; then
            echo >&2 "rowtui: nothing was run: the scheduler started this job twice."
            exit 0
        fi
        echo >&2 "rowtui: cannot write in .row/rowtui/fence: nothing was run."
        exit 3
    fi
}

# That of EXIT comes last: bash runs it also where a signal without a trap ends the script, and then
# as if all had gone well.
rowtui_traps() {
    trap rowtui_warned USR1
    trap 'rowtui_terminated' TERM
    trap 'rowtui_stop "signal INT" 2' INT
    trap 'rowtui_stop "signal HUP" 1' HUP
    trap rowtui_end EXIT
}

# The time limit is near, but maybe half a minute away: report the directories that are finished,
# and go on. Not the one that the command is at: its products may be half written.
rowtui_warned() {
    rowtui_near=1
    [ -n "$rowtui_index" ] || return 0
    (
        trap '' USR1 TERM INT HUP
        rowtui_calm
        rowtui_directories=("${rowtui_directories[@]:0:rowtui_index}")
        rowtui_report
    )
}

rowtui_terminated() {
    if [ -n "$rowtui_near" ]; then rowtui_stop "time limit" 10; fi
    rowtui_stop "signal TERM" 15
}

ROWTUI_GPU_PART

# Before a command is started: open a pipe of which it gets one end. If that cannot be, the script
# does without. A shell that keeps to POSIX knows no such pipes, and would end for the attempt.
rowtui_listen() {
    rowtui_watch_gpus
    if [ -z "$rowtui_reader" ] && ! [ -o posix ]; then
        eval 'exec {rowtui_reader}< <(:)'
        rowtui_last=$!
    fi 2>/dev/null
    if [ -z "$rowtui_reader" ]; then
        exec {rowtui_reader}</dev/null
    elif [ -p "/proc/self/fd/$rowtui_reader" ]; then
        exec {rowtui_writer}>"/proc/self/fd/$rowtui_reader"
    fi
}

# Until the command is gone, or nothing can be heard of it.
rowtui_hear() {
    local pause=8 seconds status line rowtui_news
    [ -n "$rowtui_writer" ] || return
    exec {rowtui_writer}>&-
    rowtui_writer=''
    while kill -0 "$rowtui_pid" 2>/dev/null; do
        # Bash 5.2 may miss that a child has ended, if that happens at a certain moment of a `read`:
        # the child stays a zombie, which takes signals, until `wait` asks for it.
        read -r line 2>/dev/null <"/proc/$rowtui_pid/stat" || line=''
        case ${line##*)} in ' Z'*) break ;; esac
        rowtui_sample
        printf -v seconds '%d.%03d' "$((pause / 1000))" "$((pause % 1000))"
        pause=$((pause < 667 ? pause + pause / 2 : 1000)) status=0
        LC_ALL=C read -r -t "$seconds" rowtui_news <&"$rowtui_reader" || status=$?
        if [ "$status" -eq 1 ]; then
            # Its end of the pipe is closed: it is about to be gone, or goes on without.
            [ -z "$rowtui_writer" ] || break
            exec {rowtui_writer}>"/proc/self/fd/$rowtui_reader" || break
            pause=8
        fi
    done
    [ -z "$rowtui_writer" ] || exec {rowtui_writer}>&-
    rowtui_writer=''
}

# The memory that all processes of the command have now, in pages, and the CPU time that they and
# their ended children have used, in hundredths of a second; the most of both is kept. A process
# that dies with its parent takes its CPU time along: `times` of this shell never has it.
rowtui_sample() {
    local line name children pages=0 ticks=0 at pause=${pause:-0} IFS=' '
    local -a part kin=("$$" "$rowtui_pid")
    if [ "$rowtui_skip" -gt 0 ]; then
        rowtui_skip=$((rowtui_skip - 1))
        return
    fi
    for ((at = 0; at < ${#kin[@]} && at < 256; at++)); do
        line='' children=''
        {
            read -r line <"/proc/${kin[at]}/stat"
            [ "$at" -eq 0 ] || read -r children <"/proc/${kin[at]}/task/${kin[at]}/children"
        } 2>/dev/null || : # it ends without a newline
        name=${line#*(} line=${line##*)}
        case $line in *[!0-9A-Za-z\ -]*) line='' ;; esac
        part=($line)
        ticks=$((ticks + part[13] + part[14]))
        [ "$at" -gt 0 ] || continue # of this shell only what its children used
        pages=$((pages + part[21])) ticks=$((ticks + part[11] + part[12]))
        case ${name%)*} in
        scp | sftp | rsync | git*) continue ;; # the ssh that they start only copies
        ROWTUI_OUTSIDE_TREE) rowtui_outside=${rowtui_outside:-tree} ;;
        ROWTUI_OUTSIDE_GROUP) rowtui_outside=group ;;
        esac
        kin+=($children)
    done
    rowtui_skip=$((at / 8 + (pause < 1000 ? 0 : 3))) rowtui_ticks=$ticks
    rowtui_pages=$((pages > rowtui_pages ? pages : rowtui_pages))
    [ "$ticks" -lt "$rowtui_seen" ] || rowtui_seen=$ticks rowtui_seen_at=$SECONDS
}

# Wait for the command that was just started; its exit code.
rowtui_wait() {
    local before
    rowtui_pid=$! rowtui_code=0
    rowtui_hear
    wait "$rowtui_pid" || rowtui_code=$?
    # Over 128 either the command or only this `wait` was ended by a signal: asked again, it knows.
    while [ "$rowtui_code" -gt 128 ]; do
        before=$rowtui_code rowtui_code=0
        wait "$rowtui_pid" 2>/dev/null || rowtui_code=$?
        if [ "$rowtui_code" -eq 127 ]; then
            rowtui_code=$before # it was told before
            break
        elif [ "$rowtui_code" -eq "$before" ] && ! kill -0 "$rowtui_pid" 2>/dev/null; then
            break
        fi
    done
    rowtui_last=$rowtui_pid
    rowtui_pid=''
    case $rowtui_code in
    137 | 143) PATH=$rowtui_path sleep ROWTUI_HEAR_SECONDS ;;
    esac
    return "$rowtui_code"
}

# Stop the running command (it has a process group of its own), then end: the trap on EXIT reports.
rowtui_stop() {
    local tick
    trap '' USR1 TERM INT HUP
    rowtui_calm
    rowtui_reason=$1
    if [ -z "$rowtui_pid" ] && [ "$!" != "$rowtui_last" ]; then
        rowtui_pid=$!
    fi
    if [ -n "$rowtui_pid" ]; then
        # Less CPU time than before: processes have ended already, and their time is lost.
        rowtui_skip=0
        rowtui_sample
        rowtui_whole=$((rowtui_ticks < rowtui_seen ? 0 : 1))
        kill -TERM -- "-$rowtui_pid" 2>/dev/null
        kill -CONT -- "-$rowtui_pid" 2>/dev/null
        for ((tick = 0; tick < ROWTUI_STOP_TICKS; tick++)); do
            kill -0 -- "-$rowtui_pid" 2>/dev/null || break
            sleep 0.1
            rowtui_skip=0
            rowtui_sample
        done
        kill -KILL -- "-$rowtui_pid" 2>/dev/null
    fi
    echo >&2 "rowtui: stopped: $rowtui_reason."
    exit $((128 + $2))
}

# A new name for a staged file, in rowtui_staged.
rowtui_stage() {
    local id='' i
    read -r id 2>/dev/null </proc/sys/kernel/random/uuid
    id=${id//-/}
    if [ "${#id}" -ne 32 ]; then
        printf -v id '%08x' "$$"
        for ((i = 0; i < 6; i++)); do printf -v id '%s%04x' "$id" "$RANDOM"; done
    fi
    rowtui_staged=$rowtui_root/.row/completed/$id
}

# A length as LEB128, as a format for printf, in rowtui_leb.
rowtui_leb128() {
    local rest=$1 byte
    rowtui_leb=''
    while [ "$rest" -gt 127 ]; do
        printf -v byte '\\x%02x' $((rest & 127 | 128))
        rowtui_leb+=$byte
        rest=$((rest >> 7))
    done
    printf -v byte '\\x%02x' "$rest"
    rowtui_leb+=$byte
}

# The names in `text`. They are no parameters: bash up to 4.4 copies a caller's at each call.
rowtui_write_postcard() {
    local name
    printf "$rowtui_head" || return
    rowtui_leb128 "${#text[@]}"
    printf "$rowtui_leb" || return
    for name in "${text[@]}"; do
        rowtui_leb128 "${#name}"
        printf "$rowtui_leb%s" "$name" || return
    done
}

rowtui_write_names() {
    printf "$rowtui_action\\0" && printf '%s\0' "$@" && printf '\0'
}

# Move what was written to its final name once it is on the disk.
rowtui_publish() {
    sync "$rowtui_staged.tmp" && mv -f "$rowtui_staged.tmp" "$rowtui_staged.$1"
}

# Write down which directories have all products. No process for each directory: 10,000 take
# a second, not a minute.
rowtui_report() {
    local i path product rowtui_staged rowtui_leb status=0
    local -a text=() bytes=()
    [ "${#rowtui_products[@]}" -gt 0 ] || return 0
    for i in "${!rowtui_directories[@]}"; do
        path=$rowtui_workspace/${rowtui_directories[i]}
        for product in "${rowtui_products[@]}"; do
            [ -z "${rowtui_scratch-}" ] || rowtui_bring "${path##*/}/$product" || continue 2
            [ -e "$path/$product" ] || [ -L "$path/$product" ] || continue 2
        done
        if [ -z "${rowtui_not_utf8[i]-}" ]; then
            text+=("${rowtui_directories[i]}")
        else
            bytes+=("${rowtui_directories[i]}")
        fi
    done
    if [ "${#text[@]}" -gt 0 ]; then
        rowtui_stage
        rowtui_write_postcard >"$rowtui_staged.tmp" && rowtui_publish postcard || status=1
    fi
    if [ "${#bytes[@]}" -gt 0 ]; then
        rowtui_stage
        rowtui_write_names "${bytes[@]}" >"$rowtui_staged.tmp" && rowtui_publish names || status=1
    fi
    return "$status"
}

# What the job used, in rowtui_used. `$1` is a file for a moment.
rowtui_measure() {
    local up idle user system name own size lag page group path=''
    read -r up idle </proc/uptime
    rowtui_used="used began=$rowtui_up ended=$up node=${SLURMD_NODENAME:-${HOSTNAME-}}"
    times >"$1" && { read -r user system && read -r user system; } <"$1" &&
        rowtui_used+=" user=$user system=$system"
    if [ "$rowtui_pages" -gt 0 ]; then
        if [ -e "/proc/$$/task/$$/children" ]; then
            lag=$((rowtui_whole ? 0 : SECONDS - rowtui_seen_at + 1))
            rowtui_used+=" seen=$rowtui_seen lag=$lag"
        fi
        # A page has 4, 16 or 64 KiB: as many as this shell's own memory says, told in both units.
        read -r _ own _ </proc/self/statm
        while read -r name size _; do
            [ "$name" != VmRSS: ] || break
        done </proc/self/status
        page=$((${size:-4} / ${own:-1}))
        page=$((page < 10 ? 4 : page < 40 ? 16 : 64))
        rowtui_used+=" sampled=$((rowtui_pages * page))"
    fi
    rowtui_measure_gpus
    if [ -n "${rowtui_outside-}" ]; then
        # What a bundle or another node runs for this job is in other control groups.
        case $rowtui_token=${SLURM_JOB_NUM_NODES:-1} in
        *'~'* | *=[!1] | *=??*) rowtui_outside=group ;;
        esac
        rowtui_used+=" outside=$rowtui_outside"
    fi
    # Only a group that a scheduler made for this job, or this step of a bundle, holds nothing else.
    while IFS=: read -r _ group path; do
        case $path in
        */job_[0-9]*) ;;
        *) continue ;;
        esac
        case $rowtui_token in
        *'~'*) case $path in */step_[0-9]*) ;; *) continue ;; esac ;;
        *) path=${path%%/step_*} ;;
        esac
        rowtui_group "$group" "$path"
    done </proc/self/cgroup
} 2>/dev/null

# Peak memory in bytes and CPU time of a control group: of version 2 (no controllers), or 1; and the
# cached files that it still holds.
rowtui_group() {
    local name value root=/sys/fs/cgroup
    case ,$1, in
    ,,)
        { read -r value <"$root$2/memory.peak" && rowtui_used+=" group_memory=$value"; }
        while read -r name value; do
            [ "$name" != usage_usec ] || rowtui_used+=" group_cpu=${value}000"
        done <"$root$2/cpu.stat"
        ;;
    *,memory,*)
        read -r value <"$root/memory$2/memory.max_usage_in_bytes" &&
            rowtui_used+=" group_memory=$value"
        ;;
    *,cpuacct,*)
        read -r value <"$root/cpuacct$2/cpuacct.usage" && rowtui_used+=" group_cpu=$value"
        ;;
    esac
    while read -r name value; do
        case $name in file | total_cache) rowtui_used+=" group_file=$value" ;; esac
    done <"$root${1:+/memory}$2/memory.stat"
}

# The last step: become a program that adds the peak of the largest process to the marker. That it
# works is tried first, because this exit code is the job's.
rowtui_become() {
    local call='' status=$1 ended=$2
    shopt -s execfail
    unset LD_PRELOAD LD_LIBRARY_PATH PERL5OPT PERL5LIB
    case ${HOSTTYPE-} in
    x86_64) call=98 ;;
    aarch64 | riscv64) call=165 ;;
    powerpc64* | s390x) call=77 ;;
    esac
    if [ -n "$call" ] && [ "$(/usr/bin/perl -e 'print 7')" = 7 ]; then
        exec /usr/bin/perl -e '
            my ($call, $file, $status) = @ARGV;
            my $used = "\0" x 512;
            if (syscall($call + 0, -1, $used) == 0 && open(my $out, ">>", $file)) {
                print $out "children=", (unpack "q9", $used)[4], "\n";
                close $out;
            }
            exit $status;' "$call" "$ended" "$status"
    elif [ "$(/usr/bin/python3 -I -S -c 'print(7)')" = 7 ]; then
        exec /usr/bin/python3 -I -S -c '
import sys
try:
    import resource
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    with open(sys.argv[1], "ab") as out:
        out.write(b"children=%d\n" % peak)
finally:
    sys.exit(int(sys.argv[2]))' "$ended" "$status"
    fi
} 2>/dev/null

rowtui_end() {
    local status=$? rowtui_used='' ended=$rowtui_root/.row/rowtui/ended/$rowtui_token
    trap - EXIT
    trap '' USR1 TERM INT HUP
    rowtui_calm
    # A signal without a trap, or `exit` in the setup, ends the script as if all had gone well.
    if [ "$status$rowtui_reason$rowtui_finished" = 0exit ]; then
        status=255 rowtui_reason=unfinished
        echo >&2 "rowtui: the script stopped before its end."
    fi
    # Not where no command ran, nor behind the directory in which one failed, nor that in which one
    # was stopped: the products there may be half written, by this job or an earlier one.
    case $status:$rowtui_index:$rowtui_reason:$((${rowtui_code:-0} > 128)) in
    0:*) ;;
    *::exit:*) [ -n "$rowtui_code" ] || rowtui_directories=() ;;
    *::*) ;;
    *:exit:0) rowtui_directories=("${rowtui_directories[@]:0:rowtui_index+1}") ;;
    *) rowtui_directories=("${rowtui_directories[@]:0:rowtui_index}") ;;
    esac
    if ! rowtui_report; then
        echo >&2 "rowtui: cannot write in .row/completed which directories are complete."
        status=3
    fi
    rowtui_measure "$ended.tmp"
    printf '%s\n%s\n%s\n%(%s)T\n%s\n%s\n%s\n' "$status" "$rowtui_reason" "$rowtui_job" -1 \
        "$rowtui_code" "$rowtui_index" "$rowtui_used" >"$ended.tmp" &&
        sync "$ended.tmp" && mv -f "$ended.tmp" "$ended" && rowtui_become "$status" "$ended"
    exit "$status"
}

rowtui_begin
""".replace("ROWTUI_STOP_TICKS", str(STOP_SECONDS * 10))
    .replace("ROWTUI_HEAR_SECONDS", str(HEAR_SECONDS))
    .replace("ROWTUI_NOT_READY", str(NOT_READY))
    .replace("ROWTUI_FOLDER", SCRATCH_FOLDER)
    .replace("ROWTUI_GPU_PART", GPU_PART)
    .replace("ROWTUI_OUTSIDE_TREE", " | ".join(OUTSIDE_TREE))
    .replace("ROWTUI_OUTSIDE_GROUP", " | ".join(OUTSIDE_GROUP))
)
