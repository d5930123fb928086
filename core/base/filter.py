"""The filters that the user types for lists: `failed T<0.9 !name~^old "two words"`.

Takes the text; gives terms, and checks whether values and rows match. All terms must hold. A
pattern that could take forever is refused before it is used. Lists in memory use `row_matches`;
wide columns call `holds` once for each distinct value (`core/groups/listing.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import pattern
from rowtui.core.base.text import similar, visible
from rowtui.core.base.values import MISSING, compact

MOST_CHARACTERS: Final = 400  # of a filter
MOST_PATTERN: Final = 200  # characters of a regular expression
MOST_STEPS: Final = 1_100_000  # ways to match a pattern at one place: two `.*`, not three
SEARCHED: Final = 500  # characters of a text that are searched with a pattern

CONTAINS, EQUALS, PATTERN = "", "=", "~"
_ORDERED: Final = ("<=", ">=", "<", ">")
_FIELD: Final = pattern(r'(/[^\s"=!<>~]*|[^\W\d][\w./%-]*)(==|!=|<=|>=|=|<|>|~)')
_UNITS: Final = {
    "": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
    "s": 1, "m": 60, "h": 3600, "d": 86_400,
}  # fmt: skip


class FilterError(RowtuiError):
    """A filter that cannot be used. `at`: the character, from 1; 0 for the whole filter."""

    def __init__(self, message: str, hint: str = "", at: int = 0) -> None:
        super().__init__(f"{message} (at character {at})" if at else message, hint)
        self.at = at


class Term(NamedTuple):
    """One condition. `field` "" means any text of the row; `text` is lower-case if `folds`."""

    field: str
    operator: str  # CONTAINS, EQUALS, PATTERN, or one of < <= > >=
    text: str
    negated: bool
    folds: bool  # upper and lower case are the same
    number: float | None
    at: int


class RowFilter(NamedTuple):
    """A parsed filter. Without terms, every row matches."""

    terms: tuple[Term, ...] = ()

    @property
    def fields(self) -> tuple[str, ...]:
        """Return the named fields, once each, in order."""
        return tuple(dict.fromkeys(term.field for term in self.terms if term.field))


def parse_filter(text: str) -> RowFilter:
    """Return the terms of a filter. Raises: FilterError."""
    if len(text) > MOST_CHARACTERS:
        raise FilterError(f"a filter has at most {MOST_CHARACTERS} characters")
    terms: list[Term] = []
    at = 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at >= len(text):
            return RowFilter(tuple(terms))
        term, at = _read_term(text, at)
        terms.append(term)


def _read_term(text: str, start: int) -> tuple[Term, int]:
    at = start
    negated = False
    while text[at : at + 1] == "!":
        negated, at = not negated, at + 1
    if at >= len(text) or text[at].isspace():
        raise FilterError("! needs a condition that the rows must not meet", at=start + 1)
    field, operator = "", CONTAINS
    found = _FIELD.match(text, at)
    if text[at] == "~":
        operator, at = PATTERN, at + 1
    elif found is not None:
        field, operator, at = found[1], found[2], found.end()
    if operator == "!=":
        negated, operator = not negated, EQUALS
    elif operator == "==":
        operator = EQUALS
    began = at
    word, at = _read_word(text, at)
    return _term(field, operator, word, negated, began + 1), at


def _read_word(text: str, at: int) -> tuple[str, int]:
    """Read up to the next blank that is not quoted."""
    found: list[str] = []
    quote = -1
    while at < len(text) and (quote >= 0 or not text[at].isspace()):
        if quote >= 0 and text.startswith('\\"', at):
            found.append('"')
            at += 1
        elif text[at] == '"':
            quote = -1 if quote >= 0 else at
        else:
            found.append(text[at])
        at += 1
    if quote >= 0:
        raise FilterError("this quote is not closed", at=quote + 1)
    return "".join(found), at


def _term(field: str, operator: str, word: str, negated: bool, at: int) -> Term:
    number = number_of(word)
    if operator in _ORDERED and number is None:
        what = f"'{visible(word)}' is not a number" if word else "the number is missing"
        raise FilterError(f"{operator} compares with a number: {what}", at=at)
    if operator == PATTERN:
        refuse_bad_pattern(word, at)
        return Term(field, operator, word, negated, not _has_capitals(word), None, at)
    folds = word == word.lower()
    return Term(field, operator, word, negated, folds, number, at)


def _has_capitals(pattern: str) -> bool:
    plain = re.sub(r"\\.", "", pattern)
    return plain != plain.lower()


def number_of(text: str) -> float | None:
    """Parse `0.7`, `1e-3`, `12,800`, `20k`, `3M`, `90m`, `2h` (seconds), `01:30:00`; else None."""
    found = re.fullmatch(r"([+-]?[\d.,]+(?:[eE][+-]?\d+)?)([kMGTsmhd]?)", text)
    if found is not None:
        digits = found[1].replace(",", "")
        try:
            if not found[2]:
                return int(digits) if digits.lstrip("+-").isdecimal() else float(digits)
            return float(digits) * _UNITS[found[2]]
        except ValueError:
            return None
    clock = re.fullmatch(r"(?:(\d{1,6})-)?(\d{1,6}):(\d\d)(?::(\d\d))?", text)
    if clock is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in clock.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


# Patterns


def refuse_bad_pattern(pattern: str, at: int, most_steps: int = MOST_STEPS) -> None:
    """Refuse a pattern that may take too long. Raises: FilterError."""
    if len(pattern) > MOST_PATTERN:
        raise FilterError(f"a pattern has at most {MOST_PATTERN} characters", at=at)
    try:
        parsed = re._parser.parse(pattern)  # type: ignore[attr-defined]
        steps = _steps(parsed)
        re.compile(pattern)
    except re.error as error:
        where = at + (error.pos or 0)
        raise FilterError(f"the pattern is invalid: {error.msg}", at=where) from None
    except (OverflowError, RecursionError):
        raise FilterError("the pattern is too deep or too long", at=at) from None
    if steps > most_steps:
        raise FilterError(
            "the pattern could take forever",
            "repeat no group that itself repeats or has alternatives, and use .* twice at most",
            at,
        )


_NEVER: Final = MOST_STEPS + 1


def _steps(parsed: Any) -> int:
    """Return in how many ways the pattern may match at one place, up to a limit."""
    steps = 1
    for operator, argument in parsed:
        steps = min(_NEVER, steps * _steps_of(str(operator), argument))
    return steps


def _steps_of(operator: str, argument: Any) -> int:
    if operator in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        least, most, inner = int(argument[0]), int(argument[1]), _steps(argument[2])
        if most == 1:
            return 1 + inner
        if inner > 1 and (least != most or least > 20):
            return _NEVER
        return min(_NEVER, inner**most) if least == most else min(most, SEARCHED) + 1
    if operator == "BRANCH":
        return max(2, sum(_steps(branch) for branch in argument[1]))
    if operator == "SUBPATTERN":
        return _steps(argument[-1])
    if operator == "ATOMIC_GROUP":
        return _steps(argument)
    if operator in ("ASSERT", "ASSERT_NOT"):
        return _steps(argument[1])
    if operator in ("GROUPREF", "GROUPREF_EXISTS"):
        return _NEVER
    return 1


@lru_cache(maxsize=64)
def compiled(pattern: str, folds: bool) -> re.Pattern[str]:
    """Return the compiled pattern of a term."""
    return re.compile(pattern, re.IGNORECASE if folds else 0)


# Matches


def with_known_fields(
    wanted: RowFilter, known: Mapping[str, str], *, pointers: bool = False
) -> RowFilter:
    """Return the filter with the list's own field names. `known`: other name -> column id.

    `pointers`: a field that is not a column is a JSON pointer. Raises: FilterError for a field that
    the list does not have.
    """
    return RowFilter(tuple(_known(term, known, pointers) for term in wanted.terms))


def _known(term: Term, known: Mapping[str, str], pointers: bool) -> Term:
    field = term.field
    if not field or (field.startswith("/") and pointers):
        return term
    column = known.get(field) or known.get(field.lower())
    if column is not None:
        return term._replace(field=column)
    if pointers:
        return term._replace(field="/" + field)
    close = similar(field, known)
    hint = f"did you mean {close[0]}? " if close else ""
    listed = ", ".join(sorted(set(known.values())))
    raise FilterError(f"this list has no column '{visible(field)}'", f"{hint}It has {listed}")


def holds(term: Term, value: Any) -> bool:
    """Whether a value satisfies the term, without its negation.

    Values are texts, numbers, other JSON, or MISSING, which is an empty text.
    """
    if term.operator in _ORDERED:
        number = number_of(value) if isinstance(value, str) else value
        if isinstance(number, bool) or not isinstance(number, int | float):
            return False
        assert term.number is not None
        return _ordered(term.operator, number, term.number)
    if (
        term.operator == EQUALS
        and term.number is not None
        and isinstance(value, int | float)
        and not isinstance(value, bool)
        and value == term.number
    ):
        return True
    text = text_of(value)
    if term.operator == PATTERN:
        return compiled(term.text, term.folds).search(text[:SEARCHED]) is not None
    if term.folds:
        text = text.lower()
    return text == term.text if term.operator == EQUALS else term.text in text


def _ordered(operator: str, value: float, number: float) -> bool:
    if operator == "<":
        return value < number
    if operator == "<=":
        return value <= number
    return value > number if operator == ">" else value >= number


def text_of(value: Any) -> str:
    """Return a value as displayed: a text unchanged, other JSON compact, MISSING as ""."""
    if isinstance(value, str):
        return value
    return "" if value is MISSING else compact(value)


def row_matches(wanted: RowFilter, row: Mapping[str, Any]) -> bool:
    """Whether a row, given as values by column, matches. A missing field is an empty text."""
    for term in wanted.terms:
        if term.field:
            found = holds(term, row.get(term.field, MISSING))
        else:
            found = any(holds(term, value) for value in row.values())
        if found == term.negated:
            return False
    return True


def places(wanted: RowFilter, column: str, text: str) -> list[tuple[int, int]]:
    """Return the matches in the text of a column: (begin, end), in order, without overlaps."""
    found: list[tuple[int, int]] = []
    for term in wanted.terms:
        if term.negated or term.field not in ("", column) or not term.text:
            continue
        if term.operator == PATTERN:
            matches = compiled(term.text, term.folds).finditer(text[:SEARCHED])
            found += [one.span() for one in matches if one.end() > one.start()]
        elif term.operator in (CONTAINS, EQUALS):
            folded = text.lower() if term.folds else text
            if len(folded) == len(text):
                found += _each(folded, term.text)
    return _apart(sorted(found))


def _each(text: str, word: str) -> Iterable[tuple[int, int]]:
    at = text.find(word)
    while at >= 0:
        yield at, at + len(word)
        at = text.find(word, at + len(word))


def _apart(found: list[tuple[int, int]]) -> list[tuple[int, int]]:
    apart: list[tuple[int, int]] = []
    for begin, end in found:
        if apart and begin <= apart[-1][1]:
            apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
        else:
            apart.append((begin, end))
    return apart
