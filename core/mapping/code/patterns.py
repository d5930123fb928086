"""Entity ids as regular expressions whose matching surely ends.

The input is the text of a pattern; the output is the compiled pattern or an error. Python's matcher
cannot be interrupted and has exponentially many ways through some patterns, so all but the simplest
patterns are matched by the package `regex` under a time limit. Ids are matched at the start of a
name, as TPV matches them with `re.match`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible

LONGEST_PATTERN = 10_000
"""Characters of a pattern: room for hundreds of alternative names."""
LONGEST_SUBJECT = 512
"""Characters of a subject for which matching surely ends soon. Do not match longer ones."""
_SECONDS = 0.5  # for one match; patterns of real sites take microseconds


class PatternError(RowtuiError):
    """A pattern is invalid, or matching it takes too long."""


class TimedPattern:
    """A compiled pattern, for subjects of up to `LONGEST_SUBJECT` characters."""

    __slots__ = ("_compiled", "_limit", "text")

    def __init__(self, text: str, compiled: Any, limit: dict[str, float]) -> None:
        """`compiled`: a pattern of `re` or `regex`; `limit`: the time limit, if it has one."""
        self.text, self._compiled, self._limit = text, compiled, limit

    def match(self, subject: str) -> bool:
        """Whether the pattern matches the start of a subject. Raises: PatternError."""
        return self._matches(self._compiled.match, subject)

    def search(self, subject: str) -> bool:
        """Whether the pattern matches anywhere in a subject. Raises: PatternError."""
        return self._matches(self._compiled.search, subject)

    def _matches(self, method: Any, subject: str) -> bool:
        try:
            return method(subject, **self._limit) is not None
        except TimeoutError:
            message = f"matching the pattern {_shown(self.text)} takes more than {_SECONDS:g} s"
            hint = (
                "Write each repeat once and unambiguously: `(a+)+` is `a+`, `(.*,)*` is "
                "`([^,]*,)*`; one `.*` is enough between two fixed parts."
            )
            raise PatternError(message, hint) from None


def compile_pattern(text: str) -> TimedPattern:
    """Return the compiled pattern. Raises: PatternError if Python's `re` does not accept it."""
    if len(text) > LONGEST_PATTERN:
        message = f"the pattern has {len(text):,} characters; {LONGEST_PATTERN:,} are allowed"
        raise PatternError(message, "Use several entities, or a shorter pattern.")
    try:
        if _is_simple(text):
            return TimedPattern(text, re.compile(text), {})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about sets that a later Python may read otherwise
            flags = re.compile(text).flags
        import regex  # takes 15 ms, and most files have only simple patterns

        try:
            compiled = regex.compile(_for_regex(text, flags), regex.V0)
        except regex.error as error:
            raise _invalid(text, str(error)) from None
        return TimedPattern(text, compiled, {"timeout": _SECONDS})
    except re.error as error:
        raise _invalid(text, str(error)) from None
    except (OverflowError, RecursionError, MemoryError):
        raise _invalid(text, "it is nested too deeply or repeats too often") from None


_TOKEN = r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]?|"  # an escape, a set


def _for_regex(text: str, flags: int) -> str:
    """Return a pattern that means for `regex` what the text means for `re`.

    In `regex`, `[:` in a set begins a class of characters, and `{e}` allows for errors.
    """
    if flags & re.VERBOSE:  # comments may hold any bracket
        return text
    name = r"\\N\{[^}]*\}|"
    repeat = r"\{(?:\d+|\d*,\d*)\}|"
    tokens = re.findall(name + _TOKEN + repeat + ".", text, re.DOTALL)
    return "".join(_token_for_regex(token) for token in tokens)


def _token_for_regex(token: str) -> str:
    if token[0] == "[":
        return "[" + re.sub(r"(\\.)|\[", lambda found: found[1] or r"\[", token[1:])
    return r"\{" if token == "{" else token


def looks_like_glob(text: str) -> str:
    """Return a hint if the text was probably meant as a file name pattern or as plain text, or "".

    Public files have ids such as `dataplant*` and `2.1.0+galaxy7`.
    """
    if text.startswith("*"):
        better = ".*" + re.escape(text[1:]) if re.fullmatch(r"[\w.-]*", text[1:]) else ".*..."
        return f"A pattern cannot begin with `*`; for any text write `.*`: {_shown(better)}."
    for at, char in _repeats_of_a_letter(text):
        before, after = text[at - 1], text[at + 1 : at + 2]
        if char == "*":
            meant = text[:at] + ".*" + text[at + 1 :]
            return (
                f"`{visible(before)}*` means any number of {_shown(before)}, "
                f"not any text; that would be {_shown(meant)}."
            )
        if before.isalnum() and after.isalnum():
            meant = text[:at] + r"\+" + text[at + 1 :]
            return f"`+` repeats the character before it; for a plus write {_shown(meant)}."
    return ""


def _repeats_of_a_letter(text: str) -> Iterator[tuple[int, str]]:
    """Yield each `*` and `+` behind one literal character, outside of sets and escapes."""
    tokens = re.finditer(_TOKEN + ".", text, re.DOTALL)
    for before, token in pairwise(tokens):
        literal = before[0]
        if token[0] in "*+" and len(literal) == 1 and (literal.isalnum() or literal in "-_/@:"):
            yield token.start(), token[0]


def _shown(text: str) -> str:
    return "`" + visible(text if len(text) <= 100 else text[:97] + "...") + "`"


def _invalid(text: str, reason: str) -> PatternError:
    hint = looks_like_glob(text) or r"For a character that is meant as it is, write `\` before it."
    return PatternError(f"{_shown(text)} is not a regular expression: {reason}", hint)


def _is_simple(text: str) -> bool:
    """Whether `re` matches a pattern in time, as nearly all real ids: no groups, few repeats."""
    if "(" in text or "[" in text or "{" in text:
        return False
    return text.count("*") + text.count("+") + text.count("?") <= 3
