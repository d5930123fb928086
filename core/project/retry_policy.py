"""Which failed jobs are tried again without a question, how often, and with which change.

Takes `rowtui.toml` in the folder of the project; gives a `RetryPolicy`. Each `[[retry]]` table is a
rule; the first rule that matches the action, the cause of a failure and the job's log decides.
Rules of the file come before the default rules: more memory after "out of memory", more time after
"time limit", the same again after a lost node or a preemption. Other failures are not retried
without a rule, because a program that fails for its own reason would fail again.

A retry happens only within the limits that the user confirmed for a run (`core/runs`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
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
from rowtui.core.workflow.duration import DurationError, format_duration, parse_duration
from rowtui.core.workflow.toml_file import TomlFile, TomlTable, open_toml
from rowtui.core.workflow.toml_keys import Key, TableKeys

T = TypeVar("T")
LogLines = Callable[[], Sequence[str]]

POLICY_FILE = "rowtui.toml"
ANY = "any"
MOST_WAIT_SECONDS = 3600.0
"""The wait before a retry doubles with each attempt, up to an hour."""
MOST_ATTEMPTS = 1000
"""Attempts at a directory, for all causes together."""

_LARGEST_FILE = 1 << 20
_SEARCHED_BYTES = 1 << 18
_SEARCHED_LINES = 1000
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
    "wait": Key("string", 'The time before the second attempt, such as "00:10:00".'),
}
POLICY_KEYS = TableKeys(
    {
        "retry": Key(
            "tables",
            "A rule about failed work; the first one that fits decides.",
            keys=TableKeys(_RULE, words={"anyOf": [{"required": ["on"]}, {"required": ["log"]}]}),
        )
    }
)
_HINT = 'causes are "out of memory", "time limit", "node failure", "preempted", "exit 75" and "any"'


class RetryRule(NamedTuple):
    """One rule. `on`: causes; `attempts`: at most this many that fail for one of these causes.

    `log`: a pattern that a line of the job's log must contain; None for any log. `wait_seconds`:
    before the second attempt. `line`: in rowtui.toml, 0 for a default rule.
    """

    action: str
    on: tuple[str, ...]
    attempts: int
    change: AmountChange = AmountChange()
    wait_seconds: float = 0.0
    line: int = 0
    log: TimedPattern | None = None

    def matches(self, action: str, cause: str, log: LogLines) -> bool:
        """Whether the rule decides about a job of this action that failed for this cause.

        Raises: PatternError if the search in the log takes too long.
        """
        if not (fnmatchcase(action, self.action) and any(_means(it, cause) for it in self.on)):
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
        wait = f", after {format_duration(int(self.wait_seconds))}" if self.wait_seconds else ""
        change = f"{self.change}, " if self.attempts > 1 and not self.change.is_nothing else ""
        log = "" if self.log is None else f" with {visible(self.log.text)} in the log"
        return f"{who}{', '.join(map(visible, self.on))}{log}: {change}{tries}{wait}"


DEFAULT_RULES = (
    RetryRule("*", (OUT_OF_MEMORY,), 3, suggested_change(OUT_OF_MEMORY)),
    RetryRule("*", (TIME_LIMIT,), 3, suggested_change(TIME_LIMIT)),
    RetryRule("*", (_NODE,), 3, wait_seconds=60.0),
    RetryRule("*", (PREEMPTED,), 10),
)


class RetryDecision(NamedTuple):
    """What becomes of failed work: `rule` retries it `wait_seconds` after it failed, as attempt
    `attempt` of this rule; or `why` states the reason against it.
    """

    rule: RetryRule | None = None
    attempt: int = 0
    wait_seconds: float = 0.0
    why: str = ""


class RetryPolicy(NamedTuple):
    """The rules in the order in which they are asked."""

    rules: tuple[RetryRule, ...] = DEFAULT_RULES

    def rule(self, action: str, cause: str, log: LogLines = tuple) -> RetryRule | None:
        """Return the rule that decides about this failure; None if nothing retries it.

        Raises: PatternError if the search in the log takes too long.
        """
        return next((it for it in self.rules if it.matches(action, cause, log)), None)

    def decide(self, root: Path, failure: FailedAttempt) -> RetryDecision:
        """Return whether, how and when failed work of the project at `root` is tried again.

        A rule counts the attempts for which it decides: other causes have their own rules.
        """
        try:
            rule = self.rule(failure.action, failure.cause, _log(root, failure.record))
            if rule is None:
                return RetryDecision(why="no rule retries this cause")
            tried = 1 + sum(
                it.end is not None and rule.matches(it.action, it.end.cause, _log(root, it))
                for it in failure.before
            )
        except PatternError as error:
            return RetryDecision(why=error.message)
        if tried >= rule.attempts or failure.attempt >= MOST_ATTEMPTS:
            most = min(rule.attempts, MOST_ATTEMPTS)
            tries = "one attempt" if most == 1 else f"{most:,} attempts"
            return RetryDecision(why=f"its rule allows {tries}")
        return RetryDecision(rule, tried + 1, rule.wait_before(tried + 1))


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


def _log(root: Path, record: JobRecord | None) -> LogLines:
    return tuple if record is None else partial(end_of_log, root, record)


def _rules(file: TomlFile) -> Iterator[RetryRule]:
    for table in file.top.tables("retry") or ():
        on = _causes(table)
        attempts = table.integer("attempts")
        change = AmountChange(
            memory=_parsed(table, "memory", parse_memory),
            walltime=_parsed(table, "walltime", parse_walltime),
            cpus=_parsed(table, "cpus", parse_cpus),
            partition=table.string("partition") or "",
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
