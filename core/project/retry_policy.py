"""Which failed jobs are tried again without a question, how often, and with which change.

Takes `rowtui.toml` in the folder of the project; gives a `RetryPolicy`. Each `[[retry]]` table is a
rule; the first rule that matches the action, the cause of a failure and the job's log decides.
Rules of the file come before the default rules: more memory after "out of memory", more time after
"time limit", the same again after a lost node or a preemption. Other failures are not retried
without a rule, because a program that fails for its own reason would fail again. A rule with
`continue` takes the end of a job neither as a failure nor as an attempt: the work goes on in
another job with the same amounts.

A retry happens only within the limits that the user confirmed for a run (`core/runs`).
"""

from __future__ import annotations

import contextlib
import enum
import os
import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.mapping.code.patterns import (
    LONGEST_SUBJECT,
    PatternError,
    TimedPattern,
    compile_pattern,
)
from rowtui.core.project.failed_jobs import FailedAttempt
from rowtui.core.project.next_attempt import (
    AmountChange,
    parse_cpus,
    parse_memory,
    parse_walltime,
    suggested_change,
)
from rowtui.core.submission.plan.outcome import (
    LOST,
    NODE_FAILED,
    OUT_OF_MEMORY,
    PREEMPTED,
    TIME_LIMIT,
    exit_words,
)
from rowtui.core.submission.plan.record import JobRecord
from rowtui.core.submission.sending.fence import begun_at
from rowtui.core.workflow.duration import DurationError, format_duration, parse_duration
from rowtui.core.workflow.toml_file import TomlFile, TomlTable, open_toml
from rowtui.core.workflow.toml_keys import Key, TableKeys

if TYPE_CHECKING:
    from rowtui.core.workflow.model import Workflow

T = TypeVar("T")
LogLines = Callable[[], Sequence[str]]
Progress = Callable[[str], bool]

POLICY_FILE = "rowtui.toml"
ANY = "any"
MOST_WAIT_SECONDS = 3600.0
"""The wait before a retry doubles with each attempt, up to an hour."""
MOST_ATTEMPTS = 1000
"""Attempts at a directory, for all causes together."""
CONTINUES, MOST_CONTINUES = 100, 100_000  # of an attempt: if a rule has no number, and at most

_LARGEST_FILE = 1 << 20
_SEARCHED_BYTES = 1 << 18
_SEARCHED_LINES = 1000
_SEARCHED_FILES = 1000  # of a directory, and directories of a job
_NODE = "node failure"
_CAUSES = {
    OUT_OF_MEMORY: (OUT_OF_MEMORY,),
    TIME_LIMIT: (TIME_LIMIT,),
    _NODE: (NODE_FAILED, LOST),
    PREEMPTED: (PREEMPTED,),
    ANY: (),
}
_EXIT = re.compile(r"exit (?:code )?([0-9]{1,3})")
_CAUSE = "|".join((*_CAUSES, _EXIT.pattern))
_RULE = {
    "action": Key("string", "The actions of the rule, as a pattern; all if not set."),
    "on": Key("texts", "The causes of a failure that the rule retries.", form=_CAUSE),
    "log": Key("string", "A pattern that a line of the job's log must contain."),
    "attempts": Key(
        "integer", "The most attempts at a directory; 3 if not set.", least=1, most=MOST_ATTEMPTS
    ),
    "memory": Key("string", 'The memory of the next attempt, such as "2x" or "16G".'),
    "walltime": Key("string", 'The time limit of the next attempt, such as "2x".'),
    "cpus": Key("string", 'The CPUs of the next attempt, such as "2x" or "8".'),
    "partition": Key("string", "The partition of the next attempt."),
    "exclude": Key("boolean", "The next attempt may not run on the nodes where it failed."),
    "wait": Key("string", 'The time before the second attempt, such as "00:10:00".'),
    "continue": Key("boolean", "The end is no failure: the same job is submitted again."),
    "continues": Key(
        "integer", "The most continuations in a row; 100 if not set.", least=1, most=MOST_CONTINUES
    ),
    "progress": Key("string", 'A file that the job must have changed, such as "checkpoint.*".'),
}
_OF_RETRIES = ("attempts", "memory", "walltime", "cpus", "partition", "exclude")
POLICY_KEYS = TableKeys(
    {
        "retry": Key(
            "tables",
            "A rule about failed work; the first one that fits decides.",
            keys=TableKeys(_RULE, words={"anyOf": [{"required": ["on"]}, {"required": ["log"]}]}),
        )
    }
)
_CONTINUES_HINT = "the same job is submitted again, which is no attempt: `continues` limits it"
_PATTERN_HINT = 'write it as "checkpoint.*" or "out/checkpoint.*"'
_HINT = 'causes are "out of memory", "time limit", "node failure", "preempted", "exit 75" and "any"'


class RetryRule(NamedTuple):
    """One rule. `on`: causes; `attempts`: at most this many that fail for one of these causes.

    `log`: a pattern that a line of the job's log must contain; None for any log. `wait_seconds`:
    before the second attempt. `line`: in rowtui.toml, 0 for a default rule. `continues`: the job is
    continued at most so often, 0 for a rule about failures; `progress`: a pattern; a file with this
    name must have changed in its directory, "" for none.
    """

    action: str
    on: tuple[str, ...]
    attempts: int
    change: AmountChange = AmountChange()
    wait_seconds: float = 0.0
    line: int = 0
    log: TimedPattern | None = None
    continues: int = 0
    progress: str = ""

    def matches(
        self, action: str, cause: str, log: LogLines = tuple, progress: Progress = bool
    ) -> bool:
        """Whether the rule decides about a job of this action that failed for this cause.

        Raises: PatternError if the search in the log takes too long.
        """
        if not (fnmatchcase(action, self.action) and any(_means(it, cause) for it in self.on)):
            return False
        if self.progress and not progress(self.progress):
            return False
        return self.log is None or any(map(self.log.search, log()))

    def wait_before(self, attempt: int) -> float:
        """Return the seconds to wait before this attempt, counted from the end of the last."""
        doubled: float = self.wait_seconds * 2.0 ** min(max(0, attempt - 2), 30)
        return min(doubled, MOST_WAIT_SECONDS) if doubled else 0.0

    def __str__(self) -> str:
        """Return the rule as text, such as `out of memory: memory 2x, at most 3 attempts`."""
        who = "" if self.action == "*" else f"{visible(self.action)}: "
        tries = "no retry" if self.attempts <= 1 else f"at most {self.attempts} attempts"
        if self.continues:
            tries = f"continues, at most {plural(self.continues, 'time')}"
        wait = f", after {format_duration(int(self.wait_seconds))}" if self.wait_seconds else ""
        change = f"{self.change}, " if self.attempts > 1 and str(self.change) else ""
        log = "" if self.log is None else f" with {visible(self.log.text)} in the log"
        log += f" after a change of {visible(self.progress)}" if self.progress else ""
        return f"{who}{', '.join(map(visible, self.on))}{log}: {change}{tries}{wait}"


DEFAULT_RULES = (
    RetryRule("*", (OUT_OF_MEMORY,), 3, suggested_change(OUT_OF_MEMORY)),
    RetryRule("*", (TIME_LIMIT,), 3, suggested_change(TIME_LIMIT)),
    RetryRule("*", (_NODE,), 3, wait_seconds=60.0),
    RetryRule("*", (PREEMPTED,), 10),
)


class RetryEffect(enum.Enum):
    """What the rules do about failed work."""

    RETRIED = "retried"
    CONTINUES = "continues"
    USED_UP = "attempts used up"
    NONE = "no rule"


class RetryDecision(NamedTuple):
    """What becomes of failed work: `rule` retries it `wait_seconds` after it failed, as attempt
    (or continuation) `attempt` of this rule; or `why` states the reason against it.
    """

    effect: RetryEffect
    rule: RetryRule | None = None
    attempt: int = 0
    wait_seconds: float = 0.0
    why: str = ""


class RetryPolicy(NamedTuple):
    """The rules in the order in which they are asked."""

    rules: tuple[RetryRule, ...] = DEFAULT_RULES

    def decide(self, workflow: Workflow, failure: FailedAttempt) -> RetryDecision:
        """Return whether, how and when failed work of a project is tried again.

        A rule counts the attempts for which it decides: other causes have their own rules.
        """
        try:
            log = _log(workflow.root, failure.record)
            progress = partial(made_progress, workflow, failure.record)
            given = failure.action, failure.cause, log, progress
            rule = next((it for it in self.rules if it.matches(*given)), None)
            if rule is None:
                return RetryDecision(RetryEffect.NONE, why="no rule retries this cause")
            if 0 < rule.continues <= failure.continues:
                why = f"its rule continues it {plural(rule.continues, 'time')}"
                return RetryDecision(RetryEffect.USED_UP, rule, why=why)
            if rule.continues:
                number, wait = failure.continues + 1, min(rule.wait_seconds, MOST_WAIT_SECONDS)
                return RetryDecision(RetryEffect.CONTINUES, rule, number, wait)
            tried = 1 + sum(
                it.end is not None
                and rule.matches(it.action, it.end.cause, _log(workflow.root, it))
                for it in failure.before
            )
        except PatternError as error:
            return RetryDecision(RetryEffect.NONE, why=error.message)
        if tried >= rule.attempts or failure.attempt >= MOST_ATTEMPTS:
            most = min(rule.attempts, MOST_ATTEMPTS)
            tries = "one attempt" if most == 1 else f"{most:,} attempts"
            return RetryDecision(RetryEffect.USED_UP, rule, why=f"its rule allows {tries}")
        return RetryDecision(RetryEffect.RETRIED, rule, tried + 1, rule.wait_before(tried + 1))

    def continues(self, workflow: Workflow, record: JobRecord) -> bool:
        """Whether the work of a job goes on, so that its end is no failure."""
        return self.decide(workflow, FailedAttempt.of(record)).effect is RetryEffect.CONTINUES


NO_RETRIES = RetryPolicy(())


def load_policy(root: Path) -> RetryPolicy:
    """Return the rules of a project, with the default rules after them.

    Raises: InvalidFileError with all problems of rowtui.toml.
    """
    file = open_toml(root / POLICY_FILE, POLICY_KEYS, _LARGEST_FILE)
    if file is None:
        return RetryPolicy()
    rules = tuple(_rules(file))
    file.raise_if_errors()
    return RetryPolicy((*rules, *DEFAULT_RULES))


def end_of_log(root: Path, record: JobRecord) -> list[str]:
    """Return the last lines of a job's log on this machine; none if it cannot be read.

    Lines are cut after 512 characters, so that the search in them surely ends.
    """
    try:
        with open(root / record.log_path, "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _SEARCHED_BYTES))
            data = file.read(_SEARCHED_BYTES)
    except OSError:
        return []
    lines = data.decode(errors="replace").splitlines()[-_SEARCHED_LINES:]
    return [line[:LONGEST_SUBJECT] for line in reversed(lines)]


def made_progress(workflow: Workflow, record: JobRecord | None, pattern: str) -> bool:
    """Whether such a file changed in a directory of the job since the job made its fence."""
    if record is None:
        return False
    since = begun_at(workflow.root, record.token) or record.submitted_at
    for name in record.directories[:_SEARCHED_FILES]:
        paths = islice((workflow.workspace / name).glob(pattern), _SEARCHED_FILES)
        with contextlib.suppress(OSError):
            if any(path.lstat().st_mtime >= since for path in paths):
                return True
    return False


def _log(root: Path, record: JobRecord | None) -> LogLines:
    return tuple if record is None else partial(end_of_log, root, record)


def _rules(file: TomlFile) -> Iterator[RetryRule]:
    for table in file.top.tables("retry") or ():
        on = _causes(table)
        attempts = table.integer("attempts")
        continues = table.boolean("continue") or "continues" in table
        for name in _OF_RETRIES if continues else ():
            if name in table:
                table.problem(name, f"a rule with `continue` has no `{name}`", _CONTINUES_HINT)
        change = AmountChange(
            memory=_parsed(table, "memory", parse_memory),
            walltime=_parsed(table, "walltime", parse_walltime),
            cpus=_parsed(table, "cpus", parse_cpus),
            partition=table.string("partition") or "",
            continues=continues,
            exclude=table.boolean("exclude") or False,
        )
        wait = _parsed(table, "wait", _seconds)
        yield RetryRule(
            table.string("action") or "*",
            on,
            3 if attempts is None else attempts,
            change,
            wait or 0.0,
            file.locate(table.path)[0],
            _parsed(table, "log", compile_pattern),
            (table.integer("continues") or CONTINUES) if continues else 0,
            _parsed(table, "progress", _file_pattern) or "",
        )


def _causes(table: TomlTable) -> tuple[str, ...]:
    if "on" not in table and "log" in table:
        return (ANY,)
    if "on" not in table:
        table.problem((), "a `[[retry]]` needs `on`: the causes that it retries", _HINT)
        return ()
    found = table.strings("on") or ()
    for cause in found:
        if not re.fullmatch(_CAUSE, cause):
            table.problem("on", f"'{visible(cause)}' is no cause of a failure", _HINT)
    return found


def _parsed(table: TomlTable, key: str, parse: Callable[[str], T]) -> T | None:
    text = table.string(key)
    if text is None:
        return None
    try:
        return parse(text)
    except RowtuiError as error:
        table.problem(key, error.message, error.hint)
        return None


def _file_pattern(text: str) -> str:
    parts = PurePosixPath(text).parts
    inside = parts and not text.startswith("/") and ".." not in parts and "**" not in text
    if not (inside and text.isprintable()):
        raise RowtuiError(f"'{visible(text)}' is no file of a directory", _PATTERN_HINT)
    return text


def _seconds(text: str) -> float:
    try:
        return float(parse_duration(text))
    except DurationError as error:
        raise RowtuiError(f"'{visible(text)}' is no time: {error}", error.hint) from None


def _means(on: str, cause: str) -> bool:
    if on == ANY or cause in _CAUSES.get(on, ()):
        return True
    match = _EXIT.fullmatch(on)
    return match is not None and cause == exit_words(int(match[1]))
