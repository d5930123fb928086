"""The parent of every daemon of a rig: starts them on request and outlives nobody.

Run as a program of its own, with a folder as argument. It reads one JSON object a line,
`{"argv": [...], "env": {...}, "log": path}`, starts that program and answers with its pid.
When its input closes or the process that started it is gone (also by SIGKILL), it kills all its
descendants and removes the folder. As a subreaper it inherits what daemons orphan on purpose
(slurmstepd, jobs), so that nothing escapes; no root and no pid namespace is needed.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import shutil
import signal
import sys
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Serve requests until nobody is left to make any."""
    folder = sys.argv[1]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        serve(int(sys.argv[2]))
    finally:
        end_everything()
        shutil.rmtree(folder, ignore_errors=True)


def serve(owner: int) -> None:
    """Start what is asked for, and bury the dead in between."""
    try:
        watched = [0, os.pidfd_open(owner)]
    except OSError:
        return
    pending = b""
    while True:
        ready = select.select(watched, [], [], 0.1)[0]
        bury()
        if 0 in ready:
            data = os.read(0, 1 << 16)
            if not data:
                return
            *lines, pending = (pending + data).split(b"\n")
            for line in lines:
                print(start(**json.loads(line)), flush=True)
        elif ready:
            return


def start(argv: list[str], env: dict[str, str], log: str) -> int:
    """Fork and exec; the child dies with this process."""
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
        os.setsid()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        null = os.open(os.devnull, os.O_RDONLY)
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(null, 0)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.closerange(3, 256)
        os.execvpe(argv[0], argv, env)
    except BaseException as error:
        os.write(2, f"{argv[0]}: {error}\n".encode())
    finally:
        os._exit(127)


def bury() -> None:
    """Reap every child that has ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def end_everything() -> None:
    """Kill all descendants, again and again until none is left: the orphans come to us."""
    give_up = time.monotonic() + 10
    while time.monotonic() < give_up:
        for pid in descendants(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        bury()
        if not descendants(os.getpid()):
            return
        time.sleep(0.005)


def descendants(root: int) -> list[int]:
    """Every process below `root`, from /proc; the dead that are not yet buried count too."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", "rb") as stat:
                    parent = int(stat.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError):
                continue
            children.setdefault(parent, []).append(int(entry))
    found: list[int] = []
    todo = [root]
    while todo:
        todo = [child for pid in todo for child in children.get(pid, ())]
        found += todo
    return found


if __name__ == "__main__":
    main()
