"""Explain why a job waits or how it ended, in a sentence for the user, with a hint.

The input is a scheduler's record of a job; the result is an `ReasonExplanation`. The schedulers'
reasons are in the tables of the installed kinds of schedulers (the local scheduler uses Slurm's);
no reason is in two of them. A reason that is in no table is shown unchanged. Text from outside is
made safe to show. Source: signal(7).
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator, Mapping
from functools import cache

from rowtui.core.base.lazy import pattern
from rowtui.core.clusters.schedulers.base import OUT_OF_MEMORY_SIGNAL, Job, JobState
from rowtui.core.clusters.schedulers.kind import BUILT_IN, PLUG_INS, scheduler_kind
from rowtui.core.clusters.schedulers.reason_table import (
    HELD,
    ReasonExplanation,
    Reasons,
    find_reason,
    foreign,
)
from rowtui.core.workflow.duration import format_duration


def in_words(reason: str) -> str:
    """Return `BurstBufferStageIn` as `burst buffer stage in`; a text with spaces unchanged."""
    text = foreign(reason)
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*", text):
        return text
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[A-Z]", text)
    return " ".join(word if len(word) > 1 and word.isupper() else word.lower() for word in words)


def explain(job: Job, now: float) -> ReasonExplanation:
    """Return the explanation of a job for its user. `now`: epoch seconds."""
    match job.state:
        case JobState.PENDING:
            return _waits(job, now)
        case JobState.HELD:
            return _held(job)
        case JobState.RUNNING:
            return _runs(job)
        case JobState.SUSPENDED if (explanation := _suspended(job.reason)) is not None:
            return explanation
        case JobState.UNKNOWN if job.reason.strip():
            return ReasonExplanation(f"The state of this job is unknown: {_as_it_is(job)}.")
    if (cause := _CAUSES.get(job.reason)) is not None and job.state is JobState.FAILED:
        job = job._replace(state=cause)
    if job.state.bad:
        if (explanation := find_reason(job.reason, (ENDINGS,))) is not None:
            return explanation
        if (ended := _ENDED.get(job.state)) is not None:
            return ended(job)
    return _STATES[job.state]


def how_long(seconds: int) -> str:
    """Return `less than a minute`, `5 min`, `2 h`, `3 days`: rounded down."""
    minutes = seconds // 60
    if minutes < 1:
        return "less than a minute"
    if minutes < 120:
        return f"{minutes} min"
    hours = minutes // 60
    return f"{hours} h" if hours < 48 else f"{hours // 24:,} days"


def _waits(job: Job, now: float) -> ReasonExplanation:
    explanation = find_reason(job.reason, reason_tables())
    if explanation is None:
        explanation = ReasonExplanation(
            f"It waits: {_as_it_is(job)}." if job.reason.strip() else "It waits for its turn."
        )
    ahead = 0 if job.start_estimate is None else job.start_estimate - int(now)
    # A scheduler without an estimate may answer with a date in a year.
    if explanation.needs_person or not 0 < ahead < _YEAR:
        return explanation
    due = how_long(ahead)
    if job.reason == "BeginTime":
        return explanation._replace(sentence=f"{explanation.sentence} That is in {due}.")
    sentence = f"{explanation.sentence} The scheduler expects it to start in {due}."
    return explanation._replace(sentence=sentence)


def _held(job: Job) -> ReasonExplanation:
    explanation = find_reason(job.reason, reason_tables())
    if explanation is not None and explanation.needs_person:
        return explanation
    if explanation is not None or not job.reason.strip():
        return HELD
    return HELD._replace(sentence=f"It is held: {_as_it_is(job)}.")


def _runs(job: Job) -> ReasonExplanation:
    if (
        job.reason in _STARTING
        and (explanation := find_reason(job.reason, reason_tables())) is not None
    ):
        return explanation
    where = f" on {foreign(job.nodes)}" if job.nodes.strip() else ""
    if job.limit is None or job.elapsed is None or job.limit > _YEAR:
        return ReasonExplanation(f"It runs{where}.")
    left = job.limit - job.elapsed
    if left <= 0:
        return ReasonExplanation(f"It runs{where}; its time is up, and it is being stopped.")
    return ReasonExplanation(f"It runs{where}; its time limit is reached in {how_long(left)}.")


def _as_it_is(job: Job) -> str:
    """Return an unknown reason in words, and as the scheduler wrote it."""
    words, reason = in_words(job.reason), foreign(job.reason)
    return (words if words == reason else f"{words} ({reason})").removesuffix(".")


def _failed(job: Job) -> ReasonExplanation:
    """Explain a failed job: signals and exit codes are more precise than Slurm's reasons."""
    raised = _RAISED.match(job.reason)
    if raised and job.exit_signal is None:
        job = job._replace(exit_signal=int(raised[1]))
    number, code = job.exit_signal, job.exit_code
    said = foreign(job.reason) if _OURS.match(job.reason) else ""  # with the directory
    killed = _KILLED.match(job.reason)
    if killed and f"SIG{killed[1]}" in signal.Signals.__members__:
        return _by_signal(signal.Signals[f"SIG{killed[1]}"], "", "", said)
    if job.launch_error or (job.reason == "JobLaunchFailure" and not number and not code):
        return _LAUNCH_FAILURE
    if number == OUT_OF_MEMORY_SIGNAL:
        return _STATES[JobState.OUT_OF_MEMORY]
    if number:
        return _by_signal(number, "It was ended")
    if code is not None and 128 < code <= 128 + 64:
        return _by_signal(code - 128, "A program in it was ended", f", exit code {code}", said)
    if code:
        sentence, hint = _EXIT_CODES.get(code, ("Its script failed", "See the log of the job."))
        return ReasonExplanation(f"{sentence} ({said or f'exit code {code}'}).", hint)
    if job.reason.strip() and job.reason != "NonZeroExitCode":
        return ReasonExplanation(f"It failed: {_as_it_is(job)}.", "See the log of the job.")
    return ReasonExplanation("Its script failed.", "See the log of the job.")


def _by_signal(number: int, subject: str, beside: str = "", said: str = "") -> ReasonExplanation:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    what, hint = _SIGNALS.get(name, ("", ""))
    colon = ": " if what else ""
    ended = f"{said[0].upper()}{said[1:]}" if said else f"{subject} by {name}{beside}"
    return ReasonExplanation(f"{ended}{colon}{what}.", hint or "See the log of the job.")


def _timed_out(job: Job) -> ReasonExplanation:
    limit = f" of {format_duration(job.limit)}" if job.limit and 0 < job.limit < _YEAR else ""
    hint = "Ask for more time, or for fewer directories in one job; finished ones stay completed."
    return ReasonExplanation(f"It was stopped at its time limit{limit}.", hint)


def _node_failed(job: Job) -> ReasonExplanation:
    node = f" ({foreign(job.nodes)})" if job.nodes.strip() else ""
    hint = "The job is not to blame: submit its directories again."
    return ReasonExplanation(f"A node that it ran on failed{node}.", hint)


def _cancelled(job: Job) -> ReasonExplanation:
    # Slurm's reason is the one for which the job had waited before.
    when = "while it ran" if job.elapsed else "before it started"
    hint = "Submit its directories again if they still need it."
    return ReasonExplanation(f"It was cancelled {when}.", hint)


def _refused(job: Job) -> ReasonExplanation:
    why = f": {_as_it_is(job)}" if job.reason.strip() else ""
    return ReasonExplanation(
        f"The scheduler refused it{why}.", "Its directories may be submitted again."
    )


def _suspended(reason: str) -> ReasonExplanation | None:
    return find_reason(reason, (it for it in reason_tables() if it.explains_suspension))


_YEAR = 366 * 86_400
_STARTING = frozenset({"Prolog", "being started"})  # reasons of jobs that have their nodes
_ENDED: Mapping[JobState, Callable[[Job], ReasonExplanation]] = {
    JobState.FAILED: _failed,
    JobState.TIMEOUT: _timed_out,
    JobState.NODE_FAIL: _node_failed,
    JobState.CANCELLED: _cancelled,
    JobState.REFUSED: _refused,
}
# rowtui's own texts for the causes of jobs in state FAILED (`submission.plan.outcome`).
_CAUSES: Mapping[str, JobState] = {
    "time limit": JobState.TIMEOUT,
    "out of memory": JobState.OUT_OF_MEMORY,
    "the node failed": JobState.NODE_FAIL,
    "preempted": JobState.PREEMPTED,
    "lost": JobState.LOST,
}
_STATES: Mapping[JobState, ReasonExplanation] = {
    JobState.SUSPENDED: ReasonExplanation(
        "It was stopped for the time being and keeps its memory; it goes on from there.",
        "An administrator or a job of higher priority did that: it need not be submitted again.",
    ),
    JobState.COMPLETING: ReasonExplanation("It has ended, and the scheduler cleans up after it."),
    JobState.COMPLETED: ReasonExplanation("It ran to its end."),
    JobState.OUT_OF_MEMORY: ReasonExplanation(
        "It was ended since it used more memory than it had asked for.",
        "Ask for more memory, or let fewer processes run in one job.",
    ),
    JobState.PREEMPTED: ReasonExplanation(
        "It was ended to make room for a job of higher priority.",
        "Submit its directories again; another partition may not preempt its jobs.",
    ),
    JobState.LOST: ReasonExplanation(
        "The scheduler has no record of this job any more.",
        "Submit its directories again: should it turn up after all, it ends without running.",
    ),
    JobState.UNKNOWN: ReasonExplanation("The state of this job is unknown."),
    JobState.RESERVED: ReasonExplanation("A plan holds its directories; it is about to be sent."),
    JobState.NOT_REACHED: ReasonExplanation(
        "A job before it ended, so that its turn never came.",
        "Submit its directories again if they still need it.",
    ),
    JobState.NEVER_SENT: ReasonExplanation("It was never sent.", "Submit its directories again."),
}

# Slurm's codes in place of a signal: for a script that could not be started, and for memory.
# The text that is recorded of a job's own command (`submission.reconcile.ending`).
_OURS = pattern(r"exit code [0-9]+(?: \(a disk was full\))?(?: in directory |$)|killed \(")
_KILLED = pattern(r"killed \(signal ([A-Z0-9]+)")
_RAISED = pattern(r"RaisedSignal:([0-9]{1,3})\b")
_LAUNCH_FAILURE = ReasonExplanation(
    "The scheduler could not start its script, or not open the file for its output.",
    "Does the folder of its log exist there, and may it be written? Then submit again.",
)
# How jobs ended, if the reason has more information than the state.
ENDINGS = Reasons(
    {
        "DependencyNeverSatisfied": ReasonExplanation(
            "It was cancelled since a job that it had to wait for did not end well.",
            "Submit the failed job again, then this one.",
        ),
        "OutOfMemory": _STATES[JobState.OUT_OF_MEMORY],
        "preempted": ReasonExplanation(
            "A job of higher priority took its place.", "Submit its directories again."
        ),
        "deadline": ReasonExplanation(
            "It could not end before its deadline.", "Give it a later one."
        ),
        "boot fail": ReasonExplanation(
            "Its node could not be started.", "The job is not to blame: submit it again."
        ),
        "SystemFailure": ReasonExplanation(
            "The cluster failed while it ran.", "The job is not to blame: submit it again."
        ),
        "InactiveLimit": ReasonExplanation(
            "It was ended since it did nothing for too long.",
            "The log of the job may show the cause.",
        ),
        "opening input/output file": _LAUNCH_FAILURE,
        "the machine was restarted": ReasonExplanation(
            "The machine was restarted while it ran.", "Submit its directories again."
        ),
        "the machine was restarted while the job ran": ReasonExplanation(
            "The machine was restarted while it ran.", "Submit its directories again."
        ),
        "the process that watched over the job was killed": ReasonExplanation(
            "The process that watched over it was killed, and so it was ended.",
            "Submit its directories again.",
        ),
    },
    (
        (
            pattern(r"Dependency: job (\d+) did not end well"),
            lambda match: ReasonExplanation(
                f"It was cancelled since job {match[1]}, which it had to wait for, did not end"
                " well.",
                "Submit the failed job again, then this one.",
            ),
        ),
    ),
)
_EXIT_CODES = {
    124: ("A program in it was stopped by a time limit of its own", "See `timeout` in its log."),
    126: (
        "A program in it may not be executed",
        "Make it executable, or check that it is built for these nodes; its log names it.",
    ),
    127: (
        "A program in it was not found",
        "Load the module or set up the environment that it needs; its log names it.",
    ),
}
# Name of a signal -> cause, hint.
_SIGNALS = {
    "SIGHUP": ("its session was closed", "Submit its directories again."),
    "SIGINT": ("it was interrupted", ""),
    "SIGQUIT": ("it was asked to quit", ""),
    "SIGILL": (
        "it came to an instruction that this processor does not have",
        "Build the program for the nodes that it runs on, or use other nodes.",
    ),
    "SIGTRAP": ("it stopped as if for a debugger", ""),
    "SIGABRT": (
        "it gave up by itself, usually after an error",
        "The log of the job names the error.",
    ),
    "SIGBUS": (
        "it touched memory that could not be had, often of a file that was cut or a full disk",
        "Check quotas and the room in temporary folders.",
    ),
    "SIGFPE": ("it divided by zero or the like", "The log of the job may show the place."),
    "SIGKILL": (
        "it was killed from outside, often since it used too much memory",
        "Look at the end of its log; if the log shows no error, ask for more memory.",
    ),
    "SIGUSR1": ("the warning before its time limit, which it did not expect", "Ask for more time."),
    "SIGSEGV": (
        "it touched memory that is not its own",
        "This is a defect of the program, or its stack is too small.",
    ),
    "SIGUSR2": ("a message that it did not expect", ""),
    "SIGPIPE": (
        "the program that was to read its output had ended",
        "The log of the job may name the program.",
    ),
    "SIGALRM": ("a time limit of its own ended", ""),
    "SIGTERM": ("it was asked to stop", "A user or the scheduler stopped the job: see its log."),
    "SIGXCPU": ("it used more processor time than it may", "Ask for more time."),
    "SIGXFSZ": ("a file grew larger than it may", "Check the limits on the sizes of files."),
    "SIGSYS": ("it asked the system for something that it does not have or forbids", ""),
}


def reason_tables() -> Iterator[Reasons]:
    """Yield the reasons of all installed kinds, of built-in ones first.

    Kinds that cannot be loaded are left out.
    """
    yield from (table for name in BUILT_IN if (table := scheduler_kind(name).reasons) is not None)
    yield from _other_reasons()


@cache
def _other_reasons() -> tuple[Reasons, ...]:
    kinds = (kind for kind in PLUG_INS.load_all(())[0] if kind.name not in BUILT_IN)
    return tuple(table for kind in kinds if (table := kind.reasons) is not None)
