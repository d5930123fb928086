"""Entity ids as regular expressions whose matching surely ends.

The input is the text of a pattern; the output is the compiled pattern or an error. Python's matcher
tries one way after another and cannot be interrupted, and some patterns have exponentially many
ways; such patterns are refused (`pattern_ways`). Ids are matched with `re.match`, as in TPV.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.mapping.code.pattern_automaton import LONGEST_SUBJECT
from rowtui.core.mapping.code.pattern_ways import why_slow

LONGEST_PATTERN = 10_000
"""Characters of a pattern: room for hundreds of alternative names."""


__all__ = [
    "LONGEST_PATTERN",
    "LONGEST_SUBJECT",
    "PatternError",
    "compile_pattern",
    "looks_like_glob",
]


class PatternError(RowtuiError):
    """A pattern is invalid, or matching it could take too long."""


def compile_pattern(text: str) -> re.Pattern[str]:
    """Return the compiled pattern, for `match` on subjects of up to `LONGEST_SUBJECT` characters.

    Raises: PatternError.
    """
    if len(text) > LONGEST_PATTERN:
        message = f"the pattern has {len(text):,} characters; {LONGEST_PATTERN:,} are allowed"
        raise PatternError(message, "Use several entities, or a shorter pattern.")
    try:
        if _cannot_nest(text):
            return re.compile(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about sets that a later Python may read otherwise
            compiled = re.compile(text)
            tree = import_module("re._parser").parse(text)
    except re.error as error:
        raise _invalid(text, str(error)) from None
    except (OverflowError, RecursionError, MemoryError):
        raise _invalid(text, "it is nested too deeply or repeats too often") from None
    reason = why_slow(tree, compiled.flags)
    if reason:
        hint = (
            "Say each repeat once and unambiguously: `(a+)+` is `a+`, `(.*,)*` is `([^,]*,)*`; "
            "one `.*` is enough between two fixed parts."
        )
        raise PatternError(f"the pattern {_shown(text)} could take forever: {reason}", hint)
    return compiled


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
    tokens = re.finditer(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]?|.", text, re.DOTALL)
    for before, token in pairwise(tokens):
        literal = before[0]
        if token[0] in "*+" and len(literal) == 1 and (literal.isalnum() or literal in "-_/@:"):
            yield token.start(), token[0]


def _shown(text: str) -> str:
    return "`" + visible(text if len(text) <= 100 else text[:97] + "...") + "`"


def _invalid(text: str, reason: str) -> PatternError:
    hint = looks_like_glob(text) or r"For a character that is meant as it is, write `\` before it."
    return PatternError(f"{_shown(text)} is not a regular expression: {reason}", hint)


def _cannot_nest(text: str) -> bool:
    """Whether a pattern needs no analysis, as nearly all real ids: no groups, few repeats."""
    if "(" in text or "[" in text or "{" in text:
        return False
    return text.count("*") + text.count("+") + text.count("?") <= 3
