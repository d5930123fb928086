"""Starting a pilot, and sending requests to one: two kinds of plans, carried out like any other.

For a start, the input is what the pilot holds and where; the result is a plan of one scheduler job.
For requests, the input is the ready jobs of a plan; the result is requests of a pilot
(`Setting.pack`), each with its token `<pilot>~<number>`, its own fence, log and end. Source:
Fastr's documentation, ExecutionPlugin (pilot jobs).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import Cost, visible
from rowtui.core.clusters.model import Cluster
from rowtui.core.clusters.schedulers.base import (
    Accepted,
    Job,
    JobState,
    OutcomeUnknown,
    Rejected,
    SubmitResult,
    Unreachable,
)
from rowtui.core.clusters.schedulers.kind import kind_of
from rowtui.core.submission.bundles.bundles import as_member
from rowtui.core.submission.bundles.pilot_model import Allocation, pilot_token
from rowtui.core.submission.bundles.pilot_script import (
    END_SECONDS,
    LOG_NAME,
    REPORT_SECONDS,
    pilot_script,
    request_text,
)
from rowtui.core.submission.plan.dependencies import with_new_tokens
from rowtui.core.submission.plan.json import plan_id
from rowtui.core.submission.plan.model import (
    InBundle,
    PackedJobs,
    Plan,
    PlannedDestination,
    PlannedJob,
)
from rowtui.core.submission.sending.site import Access
from rowtui.core.workflow.model import SubmitOptions

# Requests on their way to a pilot: files in the pilot's folder, as the cluster sees the project.
#
# The input is the requests of one transfer and the access to the pilot's cluster; the result is an
# answer as from a scheduler. A request is created whole, by a rename, and withdrawn if the pilot
# closed in between; a withdrawn request has its fence closed, so that it never runs. Without a
# clear answer the outcome is unknown: `settle` then closes the fence of requests that did not
# begin. Source: `pilot_script.py` (the folder).


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

    `at`: epoch seconds of the pilot's clock. `left`: seconds that a request may take which is sent
    now. `running`: number of running requests; `waiting`: number of requests in the folder that
    were not taken yet.
    """

    at: float
    free_cpus: int
    free_mb: int | None
    free_gpus: int
    left: int
    running: int
    waiting: int
    closed: bool


class PilotFacts(NamedTuple):
    """The facts about a pilot: its state, None before its beginning; number of waiting requests."""

    state: PilotState | None
    waiting: int


async def look_at(tokens: Sequence[str], access: Access) -> dict[str, PilotFacts]:
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
            found[token] = PilotFacts(_state(rest, int(waiting), closed == "1"), int(waiting))
    return found


def _state(words: Sequence[str], waiting: int, closed: bool) -> PilotState | None:
    try:
        at, cpus, memory, gpus, left, running = words[:6]
        return PilotState(
            at=float(at),
            free_cpus=int(cpus),
            free_mb=None if memory == "-" else int(memory),
            free_gpus=int(gpus),
            left=int(left) - REPORT_SECONDS,
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


NO_OPTIONS = SubmitOptions()


class WantedPilot(NamedTuple):
    """A pilot that is to be started. `options`: account and custom options.

    `node_type`: the one of clusters.toml that it holds, "" for none.
    """

    allocation: Allocation
    cluster: str = ""
    partition: str = ""
    options: SubmitOptions = NO_OPTIONS
    node_type: str = ""


def start_pilots(
    wanted: Sequence[tuple[WantedPilot, Cluster]], *, created: str, user: str, nonce: str
) -> Plan:
    """Return the plan that starts pilots on these clusters.

    `nonce` is new each time. Raises: RowtuiError where pilots cannot run, or for a time limit in
    which no request could run.
    """
    jobs = tuple(
        _pilot_job(each, cluster, pilot_token(f"{nonce}{number:x}"))
        for number, (each, cluster) in enumerate(wanted)
    )
    first, cost = wanted[0][1], Cost.total(job.cost for job in jobs)
    plan = Plan("", created, user, first.name, first.scheduler, jobs, cost)
    return plan._replace(id=plan_id(plan))


def _pilot_job(wanted: WantedPilot, cluster: Cluster, token: str) -> PlannedJob:
    allocation = wanted.allocation
    least = END_SECONDS + 1
    if allocation.seconds < least:
        raise RowtuiError(
            f"a pilot of {allocation.seconds} s has no time for any job",
            f"give it more than {END_SECONDS} s",
        )
    if allocation.cpus < 1:
        raise RowtuiError("a pilot needs a CPU")
    allocation = allocation._replace(seconds=kind_of(cluster).limit(allocation.seconds))
    hours = allocation.seconds / 3600
    return PlannedJob(
        token=token,
        name="pilot",
        action="",
        action_index=-1,
        directories=(),
        destination=PlannedDestination(cluster.name, wanted.partition),
        script=pilot_script(token, allocation, cluster, wanted.partition, wanted.options),
        log_path=LOG_NAME,
        processes=1,
        cpus=allocation.cpus,
        gpus=allocation.gpus,
        memory_mb=allocation.memory_mb,
        walltime_seconds=allocation.seconds,
        cost=Cost(0.0 if allocation.gpus else hours * allocation.cpus, hours * allocation.gpus),
        node_type=wanted.node_type,
    )


@dataclass(frozen=True, slots=True)
class IntoPilot:
    """The value of `Setting.pack` that makes jobs, which the pilot holds, requests of it.

    `pilot` is the pilot's planned job. `numbers` returns the given count of new numbers.
    """

    pilot: PlannedJob
    numbers: Callable[[int], range]

    def __call__(self, jobs: tuple[PlannedJob, ...]) -> PackedJobs:
        """Return the jobs as requests. Raises: RowtuiError."""
        numbers = self.numbers(len(jobs)) if jobs else ()
        made = [self._request(job, number) for job, number in zip(jobs, numbers, strict=True)]
        tokens = {job.token: one.token for job, one in zip(jobs, made, strict=True)}
        return PackedJobs(with_new_tokens(made, tokens))

    def _request(self, job: PlannedJob, number: int) -> PlannedJob:
        pilot = self.pilot
        place = InBundle(
            token=pilot.token,
            node_type="",
            cpus=pilot.cpus,
            memory_mb=pilot.memory_mb,
            gpus=pilot.gpus,
            seconds=pilot.walltime_seconds,
            whole_node=False,
            lane=number,
            own_seconds=max(1, job.walltime_seconds),
        )
        return as_member(job, place, number)._replace(destination=pilot.destination)
