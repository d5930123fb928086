"""How a job ended: the one word that all commands, views and sums read, and what belongs to it.

A `JobResult` is concluded once, in `core/submission/reconcile/conclude.py`, and stored in the
journal. This module holds the words, their groups and their form in the journal, and reads the ends
that older versions stored without a word.
"""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

from rowtui.core.base.document import TextOrNull
from rowtui.core.base.lazy import pattern, signal
from rowtui.core.clusters.schedulers.base import OUT_OF_MEMORY_SIGNAL, Job, JobState, job_label
from rowtui.core.state.model import MISSING_PRODUCTS, LastEnd

CANCELLED = "cancelled"
DID_NOT_START = "it did not start: "  # prefix of a scheduler's own words
LOST = "lost"  # the scheduler no longer lists the job, and the job never began
NODE_FAILED = "the node failed"
NOT_BEGUN = "not begun"  # a request of a bundle that ended before the request started
NOT_REACHED = "not reached: "  # prefix of a job's reason, at a directory after the failed one
NOT_REPORTED = "exit code 3: the completed directories could not be reported"
NOT_SENT = "not sent: "  # prefix of the reason why a cluster could not be reached
OUT_OF_MEMORY = "out of memory"
PREEMPTED = "preempted"
TIME_LIMIT = "time limit"
UNFINISHED = "it stopped before its end: by a signal, or by `exit` in the setup"
WITHOUT_A_WORD = "ended without a word"


class JobOutcome(enum.Enum):
    """How a job ended. The order is that of `outcome_of` for equally strong evidence."""

    COMPLETED = "completed"
    NO_PRODUCT = "no product"  # it ended well, but directories lack products
    EXIT = "exit code"
    SETUP_FAILED = "setup failed"
    SIGNAL = "signal"
    TIME_LIMIT = "time limit"
    OUT_OF_MEMORY = "out of memory"
    NODE_FAILED = "node failed"
    PREEMPTED = "preempted"
    LOST = "lost"
    NOT_STARTED = "not started"  # the scheduler ended it before its script began
    NOT_REPORTED = "not reported"  # completed directories could not be reported (a full disk)
    NO_REPORT = "no report"  # it began, and nothing else is known
    CANCELLED = "cancelled"
    NOT_REACHED = "not reached"  # what it needed did not end well, or its bundle ended before
    REFUSED = "refused"
    NEVER_SENT = "never sent"

    @property
    def good(self) -> bool:
        """Whether the job did its work."""
        return self is JobOutcome.COMPLETED

    @property
    def by_hand(self) -> bool:
        """Whether the user ended the job."""
        return self is JobOutcome.CANCELLED

    @property
    def not_run(self) -> bool:
        """Whether the job never ran, without a failure of its own."""
        return self in _NOT_RUN

    @property
    def failed(self) -> bool:
        """Whether the job failed: it did not complete its directories, by no one's wish."""
        return not (self.good or self.by_hand or self.not_run)

    @property
    def state(self) -> JobState:
        """The state that lists of jobs show; FAILED for every cause, which stands beside it."""
        return JobState.FAILED if self.failed else JobState(self.value)


_NOT_RUN = frozenset({JobOutcome.NOT_REACHED, JobOutcome.REFUSED, JobOutcome.NEVER_SENT})


class JobResult(NamedTuple):
    """The end of a job. `cause` names no directory; it is "" for a good end.

    `sentence`: the cause, and the directory in which the command failed, for the user. `exit_code`:
    the command's, or the script's if no command failed; None: unknown. `signal`: a name such as
    KILL, "" for none. `at_directory`: the index of the directory at which the job ended; None: not
    known. `ended_at`: epoch seconds, 0 if the job never ran; `seconds`: wall time, None: not known;
    `node`: where it ran, "" if unknown.
    `incomplete`: the number of directories that the job did not complete.
    """

    outcome: JobOutcome
    cause: str = ""
    sentence: str = ""
    exit_code: int | None = None
    signal: str = ""
    at_directory: int | None = None
    ended_at: float = 0.0
    seconds: float | None = None
    node: str = ""
    incomplete: int = 0

    @property
    def kind(self) -> str:
        """The cause as a kind and a code or signal, without names; "" for a good end.

        Older versions counted directories in it, and a scheduler's own words may contain names.
        """
        if self.outcome.not_run or self.outcome.by_hand:
            return self.outcome.value
        is_counted = self.outcome is JobOutcome.NO_PRODUCT
        return MISSING_PRODUCTS if is_counted else ": ".join(self.cause.split(": ")[:2])

    def to_json(self) -> dict[str, Any]:
        """Return the fields that the detail of a journal's entry does not have, if they differ."""
        fields = self._replace(sentence="", exit_code=None)._asdict()
        if self.cause == self.sentence:
            del fields["cause"]
        kept = {it: value for it, value in fields.items() if value or it == "at_directory"}
        if self.at_directory is None:
            del kept["at_directory"]
        return {**kept, "outcome": self.outcome.value}


SCHEDULER_ENDS = {
    JobState.TIMEOUT: (JobOutcome.TIME_LIMIT, TIME_LIMIT),
    JobState.OUT_OF_MEMORY: (JobOutcome.OUT_OF_MEMORY, OUT_OF_MEMORY),
    JobState.NODE_FAIL: (JobOutcome.NODE_FAILED, NODE_FAILED),
    JobState.PREEMPTED: (JobOutcome.PREEMPTED, PREEMPTED),
}
"""The outcome and the cause of the states in which a scheduler names why it ended a job."""


def ended_by(
    outcome: JobOutcome, cause: str, exit_code: int | None = None, signal_: str = ""
) -> JobResult:
    """Return an end whose sentence is its cause."""
    return JobResult(outcome, cause, cause, exit_code, signal_)


def end_by_code(code: int) -> JobResult:
    """Return the end of a job whose command or script ended with this code, which is not 0."""
    if name := signal_of(code):
        return ended_by(JobOutcome.SIGNAL, killed_by(name), None, name)
    return ended_by(JobOutcome.EXIT, f"exit code {code}", code)


def end_by_scheduler(known: Job) -> JobResult:
    """Return the end of a job that failed, from its scheduler's record alone."""
    if known.launch_error:
        return ended_by(JobOutcome.NOT_STARTED, f"{DID_NOT_START}{known.launch_error}")
    if known.exit_signal == OUT_OF_MEMORY_SIGNAL:
        return ended_by(*SCHEDULER_ENDS[JobState.OUT_OF_MEMORY])
    if known.exit_signal:
        name = signal_name(known.exit_signal) or str(known.exit_signal)
        return ended_by(JobOutcome.SIGNAL, killed_by(name), None, name)
    if known.exit_code:
        return end_by_code(known.exit_code)
    return ended_by(JobOutcome.NO_REPORT, known.reason or WITHOUT_A_WORD)


def scheduler_cause(known: Job | None) -> str:
    """Return why a scheduler ended a job, by its own record; "" if the job ended well."""
    if known is None:
        return WITHOUT_A_WORD
    if known.state is JobState.COMPLETED:
        return ""
    if known.state is JobState.LOST:
        return LOST
    if known.state is JobState.CANCELLED:
        return CANCELLED
    if known.state in SCHEDULER_ENDS:
        return SCHEDULER_ENDS[known.state][1]
    return end_by_scheduler(known).cause


def read_end(fields: Any, exit_code: int | None, sentence: str) -> JobResult | None:
    """Return the end with these fields of `to_json`; None without them, or if they are unknown."""
    try:
        outcome = JobOutcome(fields["outcome"])
        kept = {name: fields[name] for name in _STORED if name in fields}
        return JobResult(outcome, sentence, sentence, exit_code)._replace(**kept)
    except (TypeError, ValueError, KeyError):
        return None


_STORED = ("cause", "signal", "at_directory", "ended_at", "seconds", "node", "incomplete")


_WORDS = {
    "": JobOutcome.COMPLETED,
    TIME_LIMIT: JobOutcome.TIME_LIMIT,
    OUT_OF_MEMORY: JobOutcome.OUT_OF_MEMORY,
    NODE_FAILED: JobOutcome.NODE_FAILED,
    CANCELLED: JobOutcome.CANCELLED,
    LOST: JobOutcome.LOST,
    NOT_REPORTED: JobOutcome.NOT_REPORTED,
    MISSING_PRODUCTS: JobOutcome.NO_PRODUCT,
}
_OLD_END = pattern(
    r"killed \(signal (?P<signal>[A-Z0-9+-]+)[,)]"
    r"|exit code (?P<code>[0-9]{1,9})(?P<setup>: the setup failed)?(?: in directory |$)"
)


def read_old_end(exit_code: int | None, reason: str, ended_at: float = 0.0) -> JobResult:
    """Return the end of a job from the text that older versions stored without an outcome."""
    cause = reason.partition(" in directory ")[0]
    signal_, outcome = "", _WORDS.get(reason, JobOutcome.NO_REPORT)
    if match := _OLD_END.match(reason):
        signal_ = match["signal"] or ""
        outcome = JobOutcome.SIGNAL if signal_ else JobOutcome.EXIT
        outcome = JobOutcome.SETUP_FAILED if match["setup"] else outcome
        exit_code = exit_code if match["code"] is None or match["setup"] else int(match["code"])
    elif reason.startswith((NOT_BEGUN, NOT_REACHED)):
        outcome = JobOutcome.CANCELLED if CANCELLED in reason else JobOutcome.NOT_REACHED
    exit_code = exit_code if outcome in _WITH_CODE else None
    return JobResult(outcome, cause, reason, exit_code, signal_, None, ended_at)


class FailureJson(NamedTuple):
    """How the job of a failed directory ended. `exit_code` is the command's own.

    `job`: the job's id as in `JobReference`.
    """

    exit_code: int | None
    signal: TextOrNull
    reason: str
    job: str | None
    cluster: str


def failure_json(reason: str, end: LastEnd | None) -> FailureJson:
    """Return why a directory failed. `end`: how its last job ended, if that is known."""
    found = read_old_end(None, reason)
    job = None if end is None else job_label(end.job_id, end.token)
    cluster = "" if end is None else end.cluster
    return FailureJson(found.exit_code, found.signal, reason, job, cluster)


_WITH_CODE = frozenset(
    {
        JobOutcome.COMPLETED,
        JobOutcome.NO_PRODUCT,
        JobOutcome.EXIT,
        JobOutcome.SETUP_FAILED,
        JobOutcome.NOT_REPORTED,
    }
)


def exit_words(code: int) -> str:
    """Return the meaning of an exit code: `exit code 3`, or `killed (signal KILL)` for 137."""
    name = signal_of(code)
    return killed_by(name) if name else f"exit code {code}"


def signal_of(code: int) -> str:
    """Return the signal for which a shell returns this exit code, without SIG; "" for none."""
    return signal_name(code - 128) if code > 128 else ""


def killed_by(name: str) -> str:
    """Return the text for a job that a signal ended: `killed (signal KILL)`."""
    return f"killed (signal {name})"


def signal_name(number: int) -> str:
    """Return the name of a signal without SIG; "" if there is no signal with that number."""
    try:
        return signal.Signals(number).name.removeprefix("SIG")
    except ValueError:
        return ""
