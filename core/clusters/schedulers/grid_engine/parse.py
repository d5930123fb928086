"""Parse the output of Grid Engine's qsub, qstat -xml, qacct, qdel, qhold and qrls.

The input is the bytes that these commands printed; the result is jobs and answers, or
`QstatFormatError`. A job has its token at the end of its name, because both the queue and the
accounts show only the name. Grid Engine numbers tasks from 1: rowtui's task k is task k + 1 there.
Source: the manual pages of 8.1 (qstat, accounting, sge_status), and its measured behaviour.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

from rowtui.core.base.text import visible
from rowtui.core.clusters.command_log import CommandResult, Trouble
from rowtui.core.clusters.schedulers.base import (
    Accepted,
    DryAnswer,
    DryVerdict,
    Job,
    JobKey,
    JobState,
    OutcomeUnknown,
    Rejected,
    SubmitResult,
    Unreachable,
    speaks_of_connection,
    task_token,
)

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MARK = ".rowtui-"  # between the name and the token
REASON_LIMIT = 300  # characters kept of an error text
NAME_LIMIT = 80  # characters of a name, of the 512 that Grid Engine allows with the token
MOST_TASKS = 1 << 20  # of one array; an answer with more tasks is rejected


def unread(error: Exception, fields: Mapping[str, str]) -> QstatFormatError:
    """Return an error for people about an answer, with the job that could not be read, if any."""
    if isinstance(error, QstatFormatError):
        return error
    if isinstance(error, ElementTree.ParseError):
        return QstatFormatError(f"XML that is cut off or damaged ({error})")
    shown = " ".join(f"{name}={value}" for name, value in fields.items() if value)
    return QstatFormatError(f"a job that cannot be read: {visible(shown)}"[:REASON_LIMIT])


class QstatFormatError(ValueError):
    """An answer of another form than the requested one."""


def marked_name(name: str, token: str) -> str:
    """Return the name of a job in Grid Engine, without characters that it refuses or garbles."""
    safe = re.sub(r"[^A-Za-z0-9_.+=-]", "_", name.replace(MARK, "_"))[:NAME_LIMIT]
    return f"{safe if safe[:1].isalpha() else f'j{safe}'}{MARK}{token}"


def name_and_token(marked: str) -> tuple[str, str]:
    """Return the two parts of a job's name; the token is "" for a job that is not rowtui's."""
    name, mark, token = marked.rpartition(MARK)
    return (name, token) if mark else (marked, "")


def common_beginning(tokens: Iterable[str]) -> str:
    """Return the common beginning of tokens, without the numbers of tasks.

    The names of all jobs with these tokens have this text after the mark.
    """
    arrays = sorted(re.sub(r"\.[0-9]+$", "", token) for token in tokens)
    first, last = arrays[0], arrays[-1]
    same = next((at for at, char in enumerate(first) if last[at : at + 1] != char), len(first))
    return first[:same]


def task_range(tasks: Sequence[int]) -> str | None:
    """Return task numbers as the range that qsub takes for an array; None if they form none."""
    first, last = min(tasks), max(tasks)
    step = (last - first) // (len(tasks) - 1) if len(tasks) > 1 else 1
    if not step or sorted(tasks) != list(range(first, last + 1, step)):
        return None
    return f"{first + 1}-{last + 1}:{step}"


def key_words(keys: Collection[JobKey]) -> list[str]:
    """Return jobs and tasks as words for qdel, qhold and qrls: `12`, `13.1-4`; ranges together."""
    words: list[str] = []
    run: list[int] = []
    job_id = 0
    for key in [*sorted({key for key in keys if key.task is not None}), None]:
        if run and (key is None or key.id != job_id or key.task != run[-1] + 1):
            words.append(f"{job_id}.{run[0] + 1}" + (f"-{run[-1] + 1}" if run[1:] else ""))
            run = []
        if key is not None and key.task is not None:
            job_id = key.id
            run.append(key.task)
    return [*(str(key.id) for key in keys if key.task is None), *words]


# The qmaster's texts after it has checked a request and discarded it. Texts about messages, sending
# or answers are not included: the request may have arrived.
_REFUSED = re.compile(
    r"job rejected|job was rejected|denied: |unknown resource |error: no suitable queues"
    r"|attribute \"|can't resolve hostname|ERROR! two files|job name too long"
    r"|.* not allowed in objectname|paths may not be empty",
    re.IGNORECASE,
)
# After these errors qsub ends before it contacts the qmaster.
_NEVER_SENT = re.compile(r"qsub: |Unable to read script file|.*no input read from stdin")
_FAILED = "Unable to run job: "
_ID = re.compile(r"([0-9]{1,18})(?:\.[0-9]+-[0-9]+:[0-9]+)?")


def read_submission(result: CommandResult) -> SubmitResult:
    """Read the result of one qsub. Unless it is a known refusal, a job may exist.

    For a job that no queue may run, qsub prints a warning and ends with status 1, but the job
    exists.
    """
    if result.trouble is Trouble.NOT_STARTED:
        return Rejected(result.complaint)
    if result.trouble is Trouble.UNREACHABLE:
        return Unreachable(result.complaint)
    lines = result.stderr.decode(errors="replace").splitlines()
    said = _said(lines)
    if result.exit_status == 0:
        for line in reversed(result.stdout.decode(errors="replace").splitlines()):
            if (match := _ID.fullmatch(line.strip())) and int(match[1]):
                return Accepted(int(match[1]))
        return OutcomeUnknown(f"qsub printed no job id. {said}".rstrip())
    if result.exit_status is None:
        return OutcomeUnknown(f"{result.complaint}. {said}".rstrip())
    verdicts = [line.removeprefix(_FAILED) for line in lines if line.startswith(_FAILED)]
    if any("has been submitted" in line for line in lines):
        return OutcomeUnknown(said)
    if verdicts and all(_REFUSED.match(verdict) for verdict in verdicts):
        return Rejected(said)
    if not verdicts and any(_NEVER_SENT.match(line) for line in lines):
        return Rejected(said)
    if any("Connection refused" in line for line in lines):  # no server, so nothing was sent
        return Unreachable(said)
    return OutcomeUnknown(said or result.complaint, ended=not speaks_of_connection(said))


_VERIFIED = re.compile(r"verification: found (?:suitable queue|possible assignment)")
_UNSUITABLE = re.compile(r"verification: no suitable queues?|no suitable queues")


def read_dry_run(result: CommandResult) -> DryAnswer:
    """Read the answer of `qsub -w v`: whether any queue could run the job on an empty cluster."""
    if result.exit_status is None:
        return DryAnswer(DryVerdict.NOT_TOLD, result.complaint)
    lines = (result.stdout + b"\n" + result.stderr).decode(errors="replace").splitlines()
    if any(_VERIFIED.search(line) for line in lines):
        return DryAnswer(DryVerdict.TAKES)
    said = _said(lines) or result.complaint
    refusals = (line.strip().removeprefix(_FAILED) for line in lines)
    if any(
        _UNSUITABLE.search(it) or _REFUSED.match(it) or _NEVER_SENT.match(it) for it in refusals
    ):
        return DryAnswer(DryVerdict.REFUSES, said)
    return DryAnswer(DryVerdict.NOT_TOLD, said or "qsub printed nothing")


def _said(lines: Iterable[str]) -> str:
    """Return the error text of a failed command in one line."""
    words = (line.strip().removeprefix(_FAILED).removeprefix("qsub: ") for line in lines)
    return "; ".join(dict.fromkeys(it for it in words if it and it != "Exiting."))[:REASON_LIMIT]


class ListedJobs(NamedTuple):
    """Jobs of qstat, and which of the held ones also wait for other jobs."""

    jobs: list[Job]
    waiting: frozenset[JobKey] = frozenset()


_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SCHEMA = b"job_info"
_PIECE = 1 << 16  # characters


def read_queue(stdout: bytes, now: float) -> ListedJobs:
    """Return the jobs of `qstat -xml -r` in its order; tasks of arrays one by one.

    Times in the output are UTC. Raises: QstatFormatError.
    """
    # Names of other users' jobs may contain characters that XML forbids. A document type never
    # occurs, and could expand a small answer to a large one.
    if b"<!" in stdout or _SCHEMA not in stdout:
        raise QstatFormatError(_shown(stdout) or "nothing")
    text = _NOT_XML.sub("?", stdout.decode("utf-8", "replace"))
    jobs: list[Job] = []
    waiting: set[JobKey] = set()
    fields: dict[str, str] = {}
    try:
        parser: Any = ElementTree.XMLPullParser(["end"])
        # In pieces, because the parser blocks the other threads of this process.
        for start in range(0, len(text), _PIECE):
            parser.feed(text[start : start + _PIECE])
            for _, element in parser.read_events():
                if element.tag != "job_list":
                    continue
                fields = {child.tag: (child.text or "").strip() for child in element}
                entry = _jobs_of(fields, element, now)
                if "predecessor_jobs" in fields:
                    waiting |= {job.key for job in entry if job.state is JobState.HELD}
                jobs += entry
                element.clear()
        parser.close()
    except (ElementTree.ParseError, KeyError, ValueError) as error:
        raise unread(error, fields) from error
    return ListedJobs(jobs, frozenset(waiting))


def _jobs_of(fields: Mapping[str, str], element: Element, now: float) -> list[Job]:
    """Return the jobs of one entry: a single job, or tasks of an array with equal fields."""
    # 8.1.9 prints `<` in a name as `%lt;`.
    marked = (fields.get("full_job_name") or fields.get("JB_name", "")).replace("%lt;", "<")
    name, token = name_and_token(marked)
    state, reason = _state(fields.get("state", ""))
    if state is JobState.HELD and "predecessor_jobs" in fields:
        others = ", ".join((it.text or "").strip() for it in element.iter("predecessor_jobs"))
        reason = f"waits for {others}"
    started = fields.get("JAT_start_time")
    queue, _, host = fields.get("queue_name", "").partition("@")
    limit = None
    if "hard_request" in fields:  # the element may occur several times
        asked = {it.get("name"): it.text or "" for it in element.iter("hard_request")}
        limit = seconds_of(asked.get("h_rt", "none"))
    job = Job(
        int(fields["JB_job_number"]),
        state,
        name,
        token,
        reason,
        queue or fields.get("hard_req_queue", ""),
        max(0, round(now - _utc(started))) if started else None,
        limit,
        host,
    )
    tasks = fields.get("tasks")
    return [job_of_task(job, task) for task in _tasks(tasks)] if tasks else [job]


def job_of_task(job: Job, task: int) -> Job:
    """Return one task of the array that this job represents."""
    token = task_token(job.token, task) if job.token else ""
    return job._replace(token=token, task=task)


def _tasks(text: str) -> Iterator[int]:
    """Yield rowtui's task numbers of `3`, `1,3` or `3-10:1,12`."""
    for part in text.split(","):
        ends, _, step = part.partition(":")
        first, _, last = ends.partition("-")
        numbers = range(int(first), int(last or first) + 1, int(step or 1))
        if len(numbers) > MOST_TASKS:
            raise QstatFormatError(f"an array of {len(numbers):,} tasks")
        yield from (number - 1 for number in numbers)


def _state(letters: str) -> tuple[JobState, str]:
    """Return the state of a job in the queue, and the reason that its letters contain."""
    waits = "q" in letters
    if "E" in letters:
        return JobState.PENDING, "error"
    if "d" in letters:
        return (JobState.PENDING if waits else JobState.COMPLETING), "being deleted"
    if waits:
        if "h" in letters:
            return JobState.HELD, "held"
        return JobState.PENDING, "rescheduled" if "R" in letters else ""
    for letter, reason in (("s", "suspended"), ("S", "its queue is suspended"), ("T", "load")):
        if letter in letters:
            return JobState.SUSPENDED, reason
    if "t" in letters:
        return JobState.RUNNING, "being started"
    return (JobState.RUNNING if "r" in letters else JobState.UNKNOWN), ""


def in_error(job: Job) -> bool:
    """Whether Grid Engine could not start the job, and keeps it until the error is cleared."""
    return job.state is JobState.PENDING and job.reason == "error"


def _utc(text: str) -> float:
    # 8.1.9 prints whole seconds, other versions fractions.
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def seconds_of(text: str) -> int | None:
    """Return `8`, `14s`, `1:02:03` or `1:00:02:03` (with days) in seconds; None for INFINITY and
    similar texts.
    """
    parts = text.strip().removesuffix("s").split(":")
    try:
        numbers = [float(part or 0) for part in parts]
    except ValueError:
        return None
    if len(numbers) == 4:
        days, *numbers = numbers
        numbers[0] += days * 24
    total = 0.0
    for number in numbers:
        total = total * 60 + number
    return round(total) if total < 1e12 else None


def read_error_reasons(stdout: bytes) -> dict[JobKey, str]:
    """Return why jobs could not be started, from `qstat -j`. The only task of a job is number 1."""
    found: dict[JobKey, str] = {}
    job_id = 0
    for line in stdout.decode(errors="replace").splitlines():
        if match := re.fullmatch(r"job_number:\s+([0-9]{1,18})", line):
            job_id = int(match[1])
        elif match := re.match(r"error reason\s+([0-9]+):\s+(?:\S+ \S+ \[\S+\]: )?(.*)", line):
            reason = match[2].removeprefix("error: ").strip()[:REASON_LIMIT]
            found[JobKey(job_id, int(match[1]) - 1)] = found[JobKey(job_id)] = reason
    return found


_DENIED = re.compile(r'(?:denied: )?job "?([0-9]+)"?(?: task "([0-9]+)")? (.*)')
_NOT_THERE = "does not exist"


def read_answers(
    result: CommandResult, jobs: Collection[JobKey], *, gone_is_fine: bool
) -> dict[JobKey, str]:
    """Return job -> why a request about it failed, "" if there was no error message."""
    by_key: dict[JobKey, str] = {}
    others = []
    for line in (result.stdout + b"\n" + result.stderr).decode(errors="replace").splitlines():
        match = _DENIED.match(line.strip())
        if match:
            key = JobKey(int(match[1]), int(match[2]) - 1 if match[2] else None)
            by_key[key] = match[3].strip()[:REASON_LIMIT]
        elif line.strip() and not re.search(r"modified hold|has (deleted|registered)", line):
            others.append(line)
    if gone_is_fine:
        by_key = {key: "" if _NOT_THERE in error else error for key, error in by_key.items()}
    # An error message without a job id applies to all jobs.
    rest = "" if by_key or result.exit_status == 0 else (_said(others) or result.complaint)
    if result.trouble is Trouble.TIMED_OUT:
        rest = f"{result.complaint} (it may still be done)"
    return {key: by_key.get(key, by_key.get(JobKey(key.id), rest))[:REASON_LIMIT] for key in jobs}


_NOT_FOUND = re.compile(rb"job (id|name) .* not found")


def read_folders(stdout: bytes) -> dict[int, str]:
    """Return the folders that jobs were submitted from, from `qstat -j`."""
    found: dict[int, str] = {}
    number = 0
    for line in stdout.decode("utf-8", "surrogateescape").split("\n"):
        name, _, value = line.partition(":")
        if name == "job_number" and value.strip().isdecimal():
            number = int(value)
        elif name == "sge_o_workdir" or (name == "cwd" and number not in found):
            found[number] = value.strip()
    return found


def knows_none(result: CommandResult) -> bool:
    """Whether qacct reports that it has no such job."""
    return result.exit_status == 1 and bool(_NOT_FOUND.search(result.stderr + result.stdout))


def _shown(output: bytes) -> str:
    return output[:REASON_LIMIT].decode(errors="replace").strip()
