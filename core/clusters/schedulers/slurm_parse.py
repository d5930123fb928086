"""What Slurm's commands say, read into values. Pure: bytes of an answer in, jobs out.

Decides how answers are asked for so that they can be read back without doubt: squeue and sacct
get a separator that was drawn for this one call, since job names and comments may hold anything,
newlines and `|` included. Source: texts, states and exit statuses of Slurm 22.05.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from rowtui.core.clusters.commands import CommandResult, Trouble
from rowtui.core.clusters.schedulers.base import (
    Accepted,
    Job,
    JobKey,
    JobState,
    OutcomeUnknown,
    Rejected,
    SubmitResult,
    Unreachable,
)

COMMENT_PREFIX = "rowtui:"  # our token in a job's comment, apart from comments of others
REASON_LIMIT = 300  # characters of an error text that are worth keeping

_STATES = {
    "PENDING": JobState.PENDING,
    "CONFIGURING": JobState.PENDING,  # has nodes, which are still being prepared
    "REQUEUED": JobState.PENDING,
    "REQUEUE_FED": JobState.PENDING,
    "REQUEUE_HOLD": JobState.HELD,
    "RESV_DEL_HOLD": JobState.HELD,
    "SPECIAL_EXIT": JobState.HELD,
    "RUNNING": JobState.RUNNING,
    "RESIZING": JobState.RUNNING,
    "SIGNALING": JobState.RUNNING,
    "SUSPENDED": JobState.SUSPENDED,
    "STOPPED": JobState.SUSPENDED,
    "COMPLETING": JobState.COMPLETING,
    "STAGE_OUT": JobState.COMPLETING,
    "COMPLETED": JobState.COMPLETED,
    "FAILED": JobState.FAILED,
    "LAUNCH_FAILED": JobState.FAILED,
    "TIMEOUT": JobState.TIMEOUT,
    "DEADLINE": JobState.TIMEOUT,
    "CANCELLED": JobState.CANCELLED,
    "PREEMPTED": JobState.CANCELLED,
    "REVOKED": JobState.CANCELLED,
    "OUT_OF_MEMORY": JobState.OUT_OF_MEMORY,
    "NODE_FAIL": JobState.NODE_FAIL,
    "BOOT_FAIL": JobState.NODE_FAIL,
}
_TOLD_BY_STATE = frozenset({"PREEMPTED", "DEADLINE", "CONFIGURING", "BOOT_FAIL"})
_NOTHING = frozenset({"", "None", "N/A", "(null)", "Unknown"})


class UnreadableError(ValueError):
    """An answer that is not in the form that was asked for."""


def job_state(word: str, reason: str = "") -> JobState:
    """Slurm's word for a state (`CANCELLED by 0` too) in ours; held jobs pend for a reason."""
    state = _STATES.get(word.split(" ", 1)[0].rstrip("+"), JobState.UNKNOWN)
    if state is JobState.PENDING and reason.startswith(("JobHeld", "job requeued in held state")):
        return JobState.HELD
    return state


def seconds_of(text: str) -> int | None:
    """`1-02:03:04`, `02:03:04` or `03:04` in seconds; None for UNLIMITED, INVALID, N/A, ..."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


_DURATION = re.compile(r"(?:(?:(\d+)-)?(\d+):)?(\d+):(\d+)")


def token_of(comment: str) -> str:
    """The token in a job's comment, "" for a job that is not ours."""
    return comment.removeprefix(COMMENT_PREFIX) if comment.startswith(COMMENT_PREFIX) else ""


@dataclass(frozen=True, slots=True)
class QueueForm:
    """One squeue output format. `mark` is new each time, so that no job name can imitate it."""

    mark: str

    @classmethod
    def new(cls) -> QueueForm:
        """A form with a mark of its own."""
        return cls(secrets.token_hex(8))

    @property
    def option(self) -> str:
        """The argument of squeue's `-o`. Free text stands between marks, the name last."""
        fields = "%A|%T|%M|%l|%S|%P|%N|%r"
        return f"{self.mark}>{fields}{self.mark}|%k{self.mark}|%j"

    def read(self, stdout: bytes) -> list[Job]:
        """The jobs in squeue's order. Raises: UnreadableError."""
        text = stdout.decode("utf-8", "surrogateescape")
        head, *records = text.split(f"{self.mark}>")
        if head.strip():
            raise UnreadableError(head.strip()[:REASON_LIMIT])
        gap = f"{self.mark}|"
        known: dict[str, _Facts] = {}  # thousands of jobs wait for one reason
        jobs = []
        try:
            for record in records:
                fields, comment, name = record.split(gap)
                number, _, rest = fields.partition("|")
                facts = known.get(rest)
                if facts is None:
                    facts = known[rest] = _facts(rest)
                if name.endswith("\n"):
                    name = name[:-1]
                jobs.append(Job(int(number), facts[0], name, token_of(comment), *facts[1:]))
        except ValueError as error:
            raise UnreadableError(str(error)[:REASON_LIMIT]) from error
        return jobs


def knows_none(result: CommandResult) -> bool:
    """Whether squeue says that it has no such job; it does so if a single id was asked for."""
    return result.exit_status == 1 and b"Invalid job id specified" in result.stderr


# state, reason, partition, elapsed, limit, nodes, start_estimate, exit_code: the fields of Job
_Facts = tuple[JobState, str, str, int | None, int | None, str, int | None, int | None]


def _facts(fields: str) -> _Facts:
    word, elapsed, limit, start, partition, nodes, reason = fields.split("|", 6)
    state = job_state(word, reason)
    waits = state in (JobState.PENDING, JobState.HELD)
    return (
        state,
        _reason(word, reason),
        partition,
        seconds_of(elapsed),
        seconds_of(limit),
        nodes,
        int(start) if waits and start.isdigit() else None,
        0 if state is JobState.COMPLETED else None,
    )


def _reason(word: str, reason: str) -> str:
    if word in _TOLD_BY_STATE:
        return word.lower().replace("_", " ")
    return "" if reason in _NOTHING else reason


def read_exit_statuses(stdout: bytes) -> dict[int, tuple[int | None, int | None]]:
    """Job id -> (exit code, signal) from `squeue -O JobID:20,exit_code:20` (raw wait statuses)."""
    found: dict[int, tuple[int | None, int | None]] = {}
    for line in stdout.decode("utf-8", "replace").splitlines():
        match line.split():
            case [number, status] if number.isdigit() and status.isdigit():
                raw = int(status)
                # A core dump sets bit 7 beside the signal's number.
                found[int(number)] = (None, raw & 0x7F) if raw & 0x7F else (raw >> 8, None)
    return found


@dataclass(frozen=True, slots=True)
class AccountForm:
    """One sacct output format: free text first, the job's number last.

    The number holds no newline, so the first newline after it ends the record.
    """

    mark: str

    FIELDS = (
        "Comment,SubmitLine,JobName,Reason,State,ExitCode,ElapsedRaw,TimelimitRaw,Partition,"
        "NodeList,JobIDRaw"
    )

    @classmethod
    def new(cls) -> AccountForm:
        """A form with a mark of its own."""
        return cls(f"|{secrets.token_hex(8)}|")

    @property
    def options(self) -> tuple[str, ...]:
        """The options of sacct: jobs without their steps, no header, our separator."""
        return ("-X", "-n", "-P", f"--delimiter={self.mark}", f"--format={self.FIELDS}")

    def read(self, stdout: bytes) -> list[Job]:
        """The jobs in sacct's order. Raises: UnreadableError."""
        text = stdout.decode("utf-8", "surrogateescape")
        if not text.strip():
            return []
        width = self.FIELDS.count(",")  # fields, less the number, which shares its part
        first, *parts = text.split(self.mark)
        jobs = []
        try:
            if not parts or len(parts) % width:
                raise ValueError(text[:REASON_LIMIT])
            for at in range(0, len(parts), width):
                number, _, following = parts[at + width - 1].partition("\n")
                jobs.append(self._job(int(number), [first, *parts[at : at + width - 1]]))
                first = following
        except ValueError as error:
            raise UnreadableError(str(error)[:REASON_LIMIT]) from error
        return jobs

    @staticmethod
    def _job(number: int, fields: list[str]) -> Job:
        comment, submit_line, name, reason, word, status, *rest = fields
        elapsed, limit, partition, nodes = rest
        # Few sites keep comments in accounting; the submit line is always kept.
        given = re.search(rf"--comment={COMMENT_PREFIX}([A-Za-z0-9._-]+)", submit_line)
        code, _, by_signal = status.partition(":")
        state = job_state(word, reason)
        ended = not state.active and state is not JobState.UNKNOWN
        return Job(
            number,
            state,
            name,
            token_of(comment) or (given.group(1) if given else ""),
            _reason(word.split(" ", 1)[0], reason),
            partition,
            int(elapsed) if elapsed.isdigit() else None,
            int(limit) * 60 if limit.isdigit() else None,
            "" if nodes == "None assigned" else nodes,
            None,
            int(code) if ended and code.isdigit() and by_signal in ("", "0") else None,
            int(by_signal) if by_signal.isdigit() and by_signal != "0" else None,
        )


# The controller's own refusals of a submission: it has looked at the request and thrown it away.
# Anything about sockets, messages or authentication is not here: the request may have arrived.
_REFUSALS = frozenset(
    {
        "Access denied to requested reservation",
        "Access/permission denied",
        "Burst Buffer permission denied",
        "Burst Buffer resource limit exceeded",
        "CPU count specification invalid",
        "Cannot request more threads per core than the job allocation",
        "Core count for reservation node list is not consistent!",
        "Duplicate generic resource (gres) specification",
        "I/O error writing script/environment to file",
        "Invalid Trackable RESource (TRES) specification",
        "Invalid GRES specification (with and without type identification)",
        "Invalid KNL configuration (MCDRAM or NUMA option)",
        "Invalid account or account/partition combination specified",
        "Invalid cluster feature specification",
        "Invalid feature specification",
        "Invalid generic resource (gres) specification",
        "Invalid job array specification",
        "Invalid license specification",
        "Invalid node name specified",
        "Invalid partition name specified",
        "Invalid preferred feature specification",
        "Invalid qos specification",
        "Invalid time-min specification (exceeds job's time or other limits)",
        "Invalid wckey specification",
        "Job --batch option is invalid or not a subset of --constraints",
        "Job dependency problem",
        "Job size specification needs to be provided",
        "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
        "Memory required by task is not available",
        "More processors requested than permitted",
        "Multiple partition job request not supported when a partition is set in the association",
        "No partition specified or system default partition",
        "Node count specification invalid",
        "Pathname of a file, directory or other parameter too long",
        "Requested GRES option unsupported by configured SelectType plugin",
        "Requested account has breached requested QOS usage threshold",
        "Requested more tasks than available processors",
        "Requested node configuration is not available",
        "Requested nodes not in this partition",
        "Requested operation is presently disabled",
        "Requested operation not supported on this system",
        "Requested partition configuration not available now",
        "Requested reservation is in use",
        "Requested reservation is invalid",
        "Requested reservation not usable now",
        "Required node not available (down, drained or reserved)",
        "Required partition not available (inactive or drain)",
        "Requested time limit is invalid (missing or exceeds some limit)",
        "Task count specification invalid",
        "Task distribution specification invalid",
        "Time limit specification required, but not provided",
        "User's group not permitted to use this partition",
    }
)
# sbatch gives up on these before it says a word to the controller.
_NEVER_SENT = re.compile(
    r"This does not look like a batch script|Batch script contains DOS line breaks"
    r"|Batch script is empty|Unable to open file|Invalid generic resource \(gres\) specification"
    r"|Could not establish a configuration source|Unable to process configuration file"
)
_FAILED = "Batch job submission failed: "
_ID = re.compile(r"(\d+)(?:;\S+)?")


def read_submission(result: CommandResult) -> SubmitResult:
    """What is certain about one sbatch. Whatever is not a known refusal may have made a job."""
    if result.trouble is Trouble.NOT_STARTED:
        return Rejected(result.complaint)
    if result.trouble is Trouble.UNREACHABLE:
        return Unreachable(result.complaint)
    said = _said(result.stderr)
    if result.exit_status == 0:
        for line in reversed(result.stdout.decode(errors="replace").split("\n")):
            if (match := _ID.fullmatch(line.strip())) and int(match.group(1)) > 0:
                return Accepted(int(match.group(1)))
        return OutcomeUnknown(f"sbatch printed no job id. {said}".rstrip())
    lines = result.stderr.decode(errors="replace").splitlines()
    if result.exit_status == 1:
        verdicts = [line.partition(_FAILED)[2].strip() for line in lines if _FAILED in line]
        if verdicts and all(verdict in _REFUSALS for verdict in verdicts):
            return Rejected(said)
        if not verdicts and any(_NEVER_SENT.search(line) for line in lines):
            return Rejected(said)
    # 255 is also what ssh says when it fails: only sbatch's own words on its options count.
    if (
        result.exit_status == 255
        and any(line.startswith("sbatch: ") for line in lines)
        and not any(_FAILED in line for line in lines)
    ):
        return Rejected(said)
    return OutcomeUnknown(f"{result.complaint}. {said}" if result.trouble else said)


def _said(stderr: bytes) -> str:
    """A failed sbatch's words in one line, without its own name."""
    lines = []
    for line in stderr.decode(errors="replace").splitlines():
        words = re.sub(r"^sbatch: (?:error: |fatal: )?", "", line.strip()).removeprefix(_FAILED)
        if words and not words.startswith("Try "):
            lines.append(words)
    return "; ".join(dict.fromkeys(lines))[:REASON_LIMIT]


# `Kill job error on job id 3: REASON`, `REASON for job 3`, `3_4: REASON`
_ABOUT_ONE = (
    re.compile(r"Kill job error on job id (?P<job>\S+): (?P<why>.*)"),
    re.compile(r"(?P<why>.*) for job (?P<job>\S+)$"),
    re.compile(r"(?P<job>\d+(?:_\S+)?): (?P<why>.*)"),
)
_OVER = re.compile(r"already (?:completing or completed|finished)")
# The request may have reached the controller.
_UNCLEAR = re.compile(
    r"Socket timed out|Unexpected message received|Zero Bytes|gave no answer|connection broke"
)


def read_answers(result: CommandResult, jobs: Iterable[JobKey], done: str) -> dict[JobKey, str]:
    """Job -> why it was not `done` (cancelled, held, released), "" where nothing was said of it.

    A job that is over needs neither cancelling nor releasing.
    """
    errors: dict[str, str] = {}
    for line in result.stderr.decode(errors="replace").splitlines():
        for form in _ABOUT_ONE:
            if match := form.search(line):
                errors[match["job"]] = match["why"].strip()[:REASON_LIMIT]
                break
    # A complaint about no job in particular concerns them all.
    rest = "" if errors and result.trouble is None else result.complaint[:REASON_LIMIT]
    return {job: _weighed(errors.get(str(job), rest), done) for job in jobs}


def _weighed(error: str, done: str) -> str:
    if _OVER.search(error) and done != "held":
        return ""
    return f"{error} (it may still be {done})" if _UNCLEAR.search(error) else error
