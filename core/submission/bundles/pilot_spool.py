"""Requests on their way to a pilot: files in the pilot's folder, as the cluster sees the project.

The input is the requests of one transfer and the access to the pilot's cluster; the result is an
answer as from a scheduler. A request is created whole, by a rename, and withdrawn if the pilot
closed in between; a withdrawn request has its fence closed, so that it never runs. Without a clear
answer the outcome is unknown: `settle` then closes the fence of requests that did not begin.
Source: `pilot_shell.py` (the folder).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.clusters.schedulers.base import (
    Accepted,
    Job,
    JobState,
    OutcomeUnknown,
    Rejected,
    SubmitResult,
    Unreachable,
)
from rowtui.core.submission.plan.model import PlannedJob
from rowtui.core.submission.sending.site import Access

_PUT = """\
cd -- "$1" || exit 3
token=$2; shift 2
[ -e workflow.toml ] || exit 3
spool=.row/rowtui/pilot/$token
mkdir -p "$spool" .row/rowtui/fence || exit 3
there=0
while [ "$#" -gt 0 ]; do
    file=$spool/$1
    head -c "$3" >"$file.tmp" || exit 3
    [ "$(wc -c <"$file.tmp")" -eq "$3" ] && sync "$file.tmp" || exit 3
    if [ -e "$spool/closed" ]; then
        rm -f "$file.tmp"
    else
        [ -e "$file.taken" ] || mv -f "$file.tmp" "$file.new" || exit 3
        # What it took, or refused, while it closed is gone by now.
        [ -e "$spool/closed" ] && mv -f "$file.new" "$file.tmp" 2>/dev/null && rm -f "$file.tmp" &&
            closed=1 || closed=
        [ -n "$closed" ] || { there=$((there + 1)); shift 3; continue; }
    fi
    ln -sT abandoned ".row/rowtui/fence/$token~$2" 2>/dev/null
    shift 3
done
echo "put $there"
"""
_LOOK = """\
cd -- "$1" || exit 3
shift
for token; do
    cd ".row/rowtui/pilot/$token" 2>/dev/null || continue
    set -- *.new
    [ -e "$1" ] || shift
    printf 'pilot %s %s %s %s\\n' "$token" "$#" "$([ -e closed ] && echo 1 || echo 0)" \\
        "$(tr '\\n' ' ' 2>/dev/null <state)"
    cd "$OLDPWD" || exit 3
done
echo done
"""
_PLACES = 6  # digits of a number, so that names sort as numbers do


async def hand_over(jobs: Sequence[PlannedJob], access: Access) -> SubmitResult:
    """Put these requests, all of one pilot, into its folder; they get the pilot's job id."""
    from rowtui.core.submission.bundles.pilot_script import request_text

    bundle = jobs[0].bundle
    assert bundle is not None
    found = await access.scheduler.find([bundle.token])
    if found is None:
        return Unreachable("whether the pilot still runs cannot be asked")
    pilot = next((job for job in found.get(bundle.token, ()) if takes_requests(job)), None)
    if pilot is None:
        return Rejected("the pilot has ended")
    words: list[str] = []
    texts: list[bytes] = []
    for job in jobs:
        number = job.token.rpartition("~")[2]
        text = request_text(job).encode("utf-8", "surrogateescape")
        words += [number.zfill(_PLACES), number, str(len(text))]
        texts.append(text)
    try:
        answer = await access.site.shell(_PUT, bundle.token, *words, stdin=b"".join(texts))
    except OSError as error:
        return OutcomeUnknown(error.strerror or str(error))
    word, _, count = answer.decode(errors="replace").strip().partition(" ")
    if word != "put" or not count.isdecimal():
        return OutcomeUnknown("the answer was cut off")
    return Accepted(pilot.id) if int(count) else Rejected("the pilot has ended")


def takes_requests(pilot: Job) -> bool:
    """Whether a pilot may take requests from its folder now, or when it begins."""
    return pilot.state in (JobState.RUNNING, JobState.PENDING)


@dataclass(frozen=True, slots=True)
class PilotState:
    """The last report of a pilot. `free_mb` None: memory is not counted.

    `at`: epoch seconds of the pilot's clock. `left`: seconds that a request may still take.
    `running`: number of running requests; `waiting`: number of requests in the folder that were not
    taken yet.
    """

    at: float
    free_cpus: int
    free_mb: int | None
    free_gpus: int
    left: int
    running: int
    waiting: int
    closed: bool


class Look(NamedTuple):
    """The facts about a pilot: its state, None before its beginning; number of waiting requests."""

    state: PilotState | None
    waiting: int


async def look_at(tokens: Sequence[str], access: Access) -> dict[str, Look]:
    """Return the state of each of these pilots that has a folder. Raises: OSError."""
    if not tokens:
        return {}
    answer = (await access.site.shell(_LOOK, *tokens)).decode(errors="replace").splitlines()
    if not answer or answer[-1] != "done":
        raise OSError("the cluster's answer was cut off")
    found = {}
    for line in answer[:-1]:
        word, token, waiting, closed, *rest = [*line.split(), "", "", ""][: 4 + 7]
        if word == "pilot" and waiting.isdecimal():
            found[token] = Look(_state(rest, int(waiting), closed == "1"), int(waiting))
    return found


def _state(words: Sequence[str], waiting: int, closed: bool) -> PilotState | None:
    try:
        at, cpus, memory, gpus, left, running = words[:6]
        return PilotState(
            at=float(at),
            free_cpus=int(cpus),
            free_mb=None if memory == "-" else int(memory),
            free_gpus=int(gpus),
            left=int(left),
            running=int(running),
            waiting=waiting,
            closed=closed,
        )
    except ValueError:
        return None


def take_numbers(root: Path, token: str, count: int) -> range:
    """Reserve this many numbers that no request of the pilot ever had, safe for concurrency.

    Raises: RowtuiError.
    """
    folder = root / ".row" / "rowtui" / "pilot" / token
    try:
        folder.mkdir(parents=True, exist_ok=True)
        fd = os.open(folder / "next", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(fd, fcntl.LOCK_EX)
            first = int(os.pread(fd, 20, 0) or b"1")
            os.pwrite(fd, b"%019d\n" % (first + count), 0)
            os.fsync(fd)
        finally:
            os.close(fd)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise RowtuiError(f"cannot write in {visible(str(folder))}: {why}") from None
    return range(first, first + count)
