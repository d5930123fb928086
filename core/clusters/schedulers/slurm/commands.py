"""Read the answers of sbatch, scancel and scontrol to requests.

The input is the result of one command; the output is what is certain. A submission counts as
refused only if the text is a known refusal: after any other failure a job may exist. Source: texts
and exit statuses of Slurm 22.05.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from rowtui.core.clusters.command_log import CommandResult, Trouble
from rowtui.core.clusters.schedulers.base import (
    Accepted,
    DryAnswer,
    DryVerdict,
    Job,
    JobKey,
    JobSpec,
    JobState,
    OutcomeUnknown,
    Rejected,
    SubmitResult,
    Unreachable,
    speaks_of_connection,
)
from rowtui.core.clusters.schedulers.slurm.parse import (
    MOST_JOBS,
    REASON_LIMIT,
    read_tasks,
    write_tasks,
)

# Build the arguments of scancel and scontrol for many jobs at once. Pure.
#
# The input is jobs; the result is the words that name them. Tasks of one array are one word
# `ID_[0-9,12]`, which is one message to the controller. The words are in batches that fit a command
# line.


ACT_BATCH = 100  # scancel and scontrol send one message for each word; a message takes 1-10 ms
ACT_LENGTH = 50_000  # bytes of ids on one command line of scancel or scontrol
TASKS_IN_WORD = 1_000  # at most 8 kB of numbers


class Word(NamedTuple):
    """One word of a command line, and the jobs that it names."""

    text: str
    jobs: list[JobKey]


def words_of(jobs: Sequence[JobKey]) -> list[Word]:
    """Return the words for these jobs."""
    words: list[Word] = []
    tasks: dict[int, list[JobKey]] = {}
    for job in jobs:
        if job.task is None:
            words.append(Word(str(job), [job]))
        else:
            tasks.setdefault(job.id, []).append(job)
    for number, keys in tasks.items():
        for start in range(0, len(keys), TASKS_IN_WORD):
            part = keys[start : start + TASKS_IN_WORD]
            numbers = write_tasks(key.task or 0 for key in part)
            words.append(Word(f"{number}_[{numbers}]" if len(part) > 1 else str(part[0]), part))
    return words


def read_words(text: str) -> list[JobKey]:
    """Return the jobs of words that are joined with commas, such as `12,13_[0-3,7]`."""
    jobs = []
    for number, several, one in re.findall(r"(\d+)(?:_(?:\[([\d:,-]+)\]|(\d+)))?", text):
        tasks = read_tasks(several or one, MOST_JOBS) if several or one else None
        jobs += [JobKey(int(number), task) for task in tasks or (None,)]
    return jobs


def batches(words: Sequence[Word]) -> Iterator[list[Word]]:
    """Yield the words in batches that fit one command line."""
    batch: list[Word] = []
    length = 0
    for word in words:
        if batch and (len(batch) == ACT_BATCH or length + len(word.text) > ACT_LENGTH):
            yield batch
            batch, length = [], 0
        batch.append(word)
        length += len(word.text) + 1
    if batch:
        yield batch


def waiting_and_whole(
    asked: Collection[JobKey], known: Sequence[Job]
) -> tuple[list[JobKey], set[int]]:
    """Return the waiting tasks to be cancelled, and the arrays that are cancelled as a whole.

    An array is cancelled as a whole if all its active tasks are in `asked`; its tasks are not among
    the waiting tasks returned.
    """
    ids = {key.id for key in asked}
    active = {job.key: job.state for job in known if job.id in ids and job.state.active}
    left = active.keys() - asked
    whole = {key.id for key in active} - {key.id for key in left}
    waiting = [
        key
        for key, state in active.items()
        if key in asked and key.id not in whole and state in (JobState.PENDING, JobState.HELD)
    ]
    return waiting, whole


# The controller's own refusals of a submission: it has checked the request and discarded it.
# Messages about sockets, messages or authentication are not included: the request may have arrived.
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
# With these errors sbatch ends before it contacts the controller.
_NEVER_SENT = re.compile(
    r"This does not look like a batch script|Batch script contains DOS line breaks"
    r"|Batch script is empty|Unable to open file|Invalid generic resource \(gres\) specification"
    r"|Could not establish a configuration source|Unable to process configuration file"
    r"|fatal: .* mutually exclusive"
)
_FAILED = "Batch job submission failed: "
_ID = re.compile(r"(\d+)(?:;\S+)?")


def read_submission(result: CommandResult) -> SubmitResult:
    """Read the result of one sbatch. Unless it is a known refusal, a job may exist."""
    if result.trouble is Trouble.NOT_STARTED:
        return Rejected(result.complaint)
    if result.trouble is Trouble.UNREACHABLE:
        return Unreachable(result.complaint)
    found = _said(result.stderr)
    if result.exit_status == 0:
        for line in reversed(result.stdout.decode(errors="replace").split("\n")):
            if (match := _ID.fullmatch(line.strip())) and int(match.group(1)) > 0:
                return Accepted(int(match.group(1)))
        return OutcomeUnknown(f"sbatch printed no job id. {found}".rstrip())
    lines = result.stderr.decode(errors="replace").splitlines()
    if result.exit_status == 1:
        verdicts = [line.partition(_FAILED)[2].strip() for line in lines if _FAILED in line]
        if verdicts and all(verdict in _REFUSALS for verdict in verdicts):
            return Rejected(found)
        if not verdicts and any(_NEVER_SENT.search(line) for line in lines):
            return Rejected(found)
    # ssh also ends with 255 when it fails: only sbatch's own messages about its options count.
    if (
        result.exit_status == 255
        and any(line.startswith("sbatch: ") for line in lines)
        and not any(_FAILED in line for line in lines)
    ):
        return Rejected(found)
    if result.trouble is not None:
        return OutcomeUnknown(f"{result.complaint}. {found}")
    return OutcomeUnknown(found or result.complaint, ended=not speaks_of_connection(found))


_TEST_FAILED = "allocation failure: "
_ESTIMATE = re.compile(r"Job \d+ to start at (\d+) using (.+)")


def read_dry_run(result: CommandResult) -> DryAnswer:
    """Read the answer of `sbatch --test-only`, which is on stderr; times are epoch seconds."""
    if result.exit_status is None:
        return DryAnswer(DryVerdict.NOT_TOLD, result.complaint)
    lines = result.stderr.decode(errors="replace").splitlines()
    if result.exit_status == 0:
        for line in lines:
            if match := _ESTIMATE.search(line):
                return DryAnswer(DryVerdict.TAKES, "", float(match[1]), match[2].strip())
        return DryAnswer(DryVerdict.TAKES)
    verdicts = [line.partition(_TEST_FAILED)[2].strip() for line in lines if _TEST_FAILED in line]
    own_words = any(line.startswith("sbatch: ") for line in lines)
    refused = (
        all(verdict in _REFUSALS for verdict in verdicts)
        if verdicts
        else any(_NEVER_SENT.search(line) for line in lines)
        or (result.exit_status == 255 and own_words)
    )
    found = _said(result.stderr) or result.complaint
    return DryAnswer(DryVerdict.REFUSES if refused else DryVerdict.NOT_TOLD, found)


def _said(stderr: bytes) -> str:
    """Return the message of a failed sbatch in one line, without the program's name."""
    lines = []
    for line in stderr.decode(errors="replace").splitlines():
        words = re.sub(r"^sbatch: (?:error: |fatal: )?", "", line.strip()).removeprefix(_FAILED)
        words = words.removeprefix(_TEST_FAILED)
        if words and not words.startswith("Try "):
            lines.append(words)
    return "; ".join(dict.fromkeys(lines))[:REASON_LIMIT]


# `Kill job error on job id 3_[4-6]: WHY`, `WHY for job 3`, `3_4-6: WHY`
_ABOUT_ONE = (
    re.compile(r"Kill job error on job id (?P<id>\d+)(?:_(?P<tasks>\S+))?: (?P<why>.*)"),
    re.compile(r"(?P<why>.*) for job (?P<id>\d+)(?:_(?P<tasks>\S+))?$"),
    re.compile(r"(?P<id>\d+)(?:_(?P<tasks>\S+))?: (?P<why>.*)"),
)
_OVER = re.compile(r"already (?:completing or completed|finished)")
# After these errors the request may have reached the controller.
_UNCLEAR = re.compile(
    r"Socket timed out|Unexpected message received|Zero Bytes|gave no answer|connection broke"
)


def read_answers(result: CommandResult, jobs: Iterable[JobKey], done: str) -> dict[JobKey, str]:
    """Return job -> why it was not `done` (cancelled, held, released, changed); "" if no error.

    Cancelling or releasing a job that has ended is no error.
    """
    parts: dict[JobKey, str] = {}
    of_array: dict[int, list[str]] = {}
    for line in result.stderr.decode(errors="replace").splitlines():
        match = next((match for form in _ABOUT_ONE if (match := form.search(line))), None)
        if match is None:
            continue
        number, why = int(match["id"]), match["why"].strip()[:REASON_LIMIT]
        tasks = read_tasks(match["tasks"], MOST_JOBS) if match["tasks"] else None
        if tasks is None:
            parts[JobKey(number)] = why
        else:
            parts |= {JobKey(number, task): why for task in tasks}
            of_array.setdefault(number, []).append(why)
    # An error message without a job id applies to all jobs.
    rest = "" if parts and result.trouble is None else result.complaint[:REASON_LIMIT]
    errors = {}
    for job in jobs:
        why = parts.get(job)
        if why is None and job.task is None and job.id in of_array:
            # The request was for the whole array: ended tasks do not matter if others are active.
            words = of_array[job.id]
            why = next((it for it in words if not _OVER.search(it)), words[0])
        if why is None and job.task is not None:
            why = parts.get(JobKey(job.id))
        errors[job] = _weighed(rest if why is None else why, done)
    return errors


def _weighed(error: str, done: str) -> str:
    if error == "No error" or (_OVER.search(error) and done not in ("held", "changed")):
        return ""
    return f"{error} (it may still be {done})" if _UNCLEAR.search(error) else error


def dependency(job: JobSpec) -> str:
    """Return the sbatch dependency for the jobs that a job waits for, "" for none."""
    after = [*map(str, job.after), *map(str, job.after_tasks)]
    parts = ["afterok:" + ":".join(after)] if after else []
    if job.after_each:
        parts.append(f"aftercorr:{job.after_each}")
    return ",".join(parts)


def names_account(script: str) -> bool:
    """Whether the script's own header sets an account."""
    for line in script.splitlines():
        if not line.startswith("#"):
            if line.strip():
                return False
        elif line.startswith("#SBATCH") and line[7:].strip().startswith(("--account", "-A")):
            return True
    return False
