"""A regular expression as an automaton of positions, each with the characters that it matches.

The input is a pattern's parse tree; the output is its positions and the steps between them, each
with its number of ways. Where the tree is not followed exactly (look-around, anchors, long counted
repeats), the automaton has more ways than the pattern. Source: Glushkov 1961 (positions); CPython's
matcher for the effect of an empty round.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

LONGEST_SUBJECT = 512
"""Characters of a subject for which matching surely ends soon. Do not match longer ones."""
_MOST_POSITIONS = 2_000
_MOST_EDGES = 20_000
_MOST_COPIES = 3  # a repeat of more rounds, other than a short fixed number, counts as a loop


_OTHERS = 1 << 256  # stands for all characters beyond Latin-1
_ALL = (1 << 257) - 1
_NONE = 0


@cache
def _category(name: str) -> int:
    letter = {"DIGIT": "d", "SPACE": "s", "WORD": "w"}[name.removeprefix("NOT_")]
    pattern = re.compile("\\" + (letter.upper() if name.startswith("NOT_") else letter))
    return sum(1 << code for code in range(256) if pattern.match(chr(code))) | _OTHERS


def _char(code: int) -> int:
    return 1 << code if code < 256 else _OTHERS


def _either_case(chars: int) -> int:
    """Return the characters with their other cases; for some of Latin-1 these are beyond it."""
    both = chars
    for code in range(256):
        if chars >> code & 1 and chr(code).isalpha():
            for char in chr(code).lower() + chr(code).upper():
                both |= _char(ord(char))
            both |= _OTHERS
    return _ALL if chars & _OTHERS else both


def _set(members: Iterable[tuple[Any, Any]]) -> int:
    chars, negated = 0, False
    for operation, argument in members:
        name = str(operation)
        if name == "NEGATE":
            negated = True
        elif name == "LITERAL":
            chars |= _char(argument)
        elif name == "RANGE":
            low, high = argument
            if high > 255:
                chars |= _OTHERS
            if low < 256:
                chars |= (1 << min(high, 255) + 1) - (1 << low)
        elif name == "CATEGORY":
            chars |= _category(str(argument).removeprefix("CATEGORY_"))
        else:
            return _ALL
    return (_ALL & ~chars) | _OTHERS if negated else chars


class TooLarge(Exception):
    """The pattern is too large for a certain result."""


class UnknownOperation(Exception):
    """An unknown operation inside a repeat."""


class PatternPart:
    """A piece of the pattern: its first and last positions, and the ways in which it is empty."""

    __slots__ = ("empty", "first", "last")

    def __init__(self, empty: int, first: dict[int, int], last: dict[int, int]) -> None:
        self.empty = empty
        self.first = first
        self.last = last


def _add(into: dict[int, int], what: dict[int, int], times: int = 1) -> None:
    if times:
        for position, ways in what.items():
            into[position] = into.get(position, 0) + ways * times


START = 0
_ONE_CHARACTER = ("LITERAL", "NOT_LITERAL", "ANY", "IN")


class Automaton:
    """Positions of a pattern and the steps between them, each with its number of ways."""

    def __init__(self, flags: int) -> None:
        self.chars: list[int] = [_NONE]
        self.steps: list[dict[int, int]] = [{}]
        self.width: list[int] = [0]  # largest number of rounds of a loop over this position alone
        # whether this loop is of one character and not of a group
        self.is_plain: list[bool] = [False]
        self.edges = 0
        self.conditional = False  # whether a match can still fail at the end of the pattern
        self._ignore_case = bool(flags & re.IGNORECASE)
        self._repeated = 0

    def build(self, tree: Any) -> PatternPart:
        """Add the pattern after the start, and return the part of the whole pattern."""
        whole = self._sequence(tree)
        self._connect({START: 1}, whole.first)
        return whole

    def _connect(self, last: dict[int, int], first: dict[int, int]) -> None:
        self.edges += len(last) * len(first)
        if self.edges > _MOST_EDGES:
            raise TooLarge
        for position, ways in last.items():
            _add(self.steps[position], first, ways)

    def _position(self, chars: int) -> PatternPart:
        if len(self.chars) >= _MOST_POSITIONS:
            raise TooLarge
        if self._ignore_case:
            chars = _either_case(chars)
        self.chars.append(chars)
        self.steps.append({})
        self.width.append(LONGEST_SUBJECT)
        self.is_plain.append(False)
        here = {len(self.chars) - 1: 1}
        return PatternPart(0, here, here)

    def _sequence(self, tree: Any) -> PatternPart:
        whole = PatternPart(1, {}, {})
        for operation, argument in tree:
            whole = self._join(whole, self._one(str(operation), argument))
        return whole

    def _join(self, left: PatternPart, right: PatternPart) -> PatternPart:
        self._connect(left.last, right.first)
        first, last = dict(left.first), dict(right.last)
        _add(first, right.first, left.empty)
        _add(last, left.last, right.empty)
        return PatternPart(min(left.empty * right.empty, 1 << 20), first, last)

    def _either(self, parts: Iterable[PatternPart]) -> PatternPart:
        whole = PatternPart(0, {}, {})
        for part in parts:
            whole.empty += part.empty
            _add(whole.first, part.first)
            _add(whole.last, part.last)
        return whole

    def _one(self, name: str, argument: Any) -> PatternPart:
        if name == "LITERAL":
            return self._position(_char(argument))
        if name == "NOT_LITERAL":
            return self._position((_ALL & ~_char(argument)) | _OTHERS)
        if name == "ANY":
            return self._position(_ALL)
        if name == "IN":
            return self._position(_set(argument))
        if name == "BRANCH":
            return self._either([self._sequence(branch) for branch in argument[1]])
        if name == "SUBPATTERN":
            return self._group(argument)
        if name == "ATOMIC_GROUP":
            return self._sequence(argument)
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            return self._repeat(*argument)
        if name == "AT":
            return self._at(str(argument))
        if name in ("ASSERT", "ASSERT_NOT"):
            self.conditional = True
            # matched from here, but no step leads on from it
            looked_at = self._sequence(argument[1])
            return PatternPart(1, looked_at.first if argument[0] > 0 else {}, {})
        if name == "FAILURE":
            return self._position(_NONE)
        if name == "GROUPREF_EXISTS":
            _, yes, no = argument
            branches = [self._sequence(yes), self._sequence(no) if no else PatternPart(1, {}, {})]
            return self._either(branches)
        if self._repeated:
            raise UnknownOperation
        self.conditional = True  # a group reference, or an operation of a later Python: any text
        return self._loop(self._position(_ALL), 0, LONGEST_SUBJECT)

    def _group(self, argument: Any) -> PatternPart:
        _, added, removed, tree = argument
        before = self._ignore_case
        self._ignore_case = (before or bool(added & re.IGNORECASE)) and not removed & re.IGNORECASE
        part = self._sequence(tree)
        self._ignore_case = before
        return part

    def _at(self, name: str) -> PatternPart:
        if name in ("AT_END", "AT_END_STRING"):
            return self._position(_NONE)  # nothing follows
        self.conditional = self.conditional or not name.startswith("AT_BEGINNING")
        return PatternPart(1, {}, {})

    def _repeat(self, least: int, most: int, tree: Any) -> PatternPart:
        most = min(int(most), LONGEST_SUBJECT)  # no subject has room for more rounds
        least = min(int(least), LONGEST_SUBJECT)
        if most == 0:
            return PatternPart(1, {}, {})
        few = most <= _MOST_COPIES or (least == most <= 16)
        if few:
            return self._copies(least, most, tree)
        self._repeated += 1
        part = self._sequence(tree)
        self._repeated -= 1
        if len(tree) == 1 and str(tree[0][0]) in _ONE_CHARACTER:
            self.is_plain[-1] = True
        return self._loop(part, least, most)

    def _copies(self, least: int, most: int, tree: Any) -> PatternPart:
        whole = PatternPart(1, {}, {})
        copies = [self._sequence(tree) for _ in range(most)]
        for copy in reversed(copies[least:]):
            whole = self._join(copy, whole)
            whole = PatternPart(whole.empty + 1, whole.first, whole.last)
        for copy in reversed(copies[:least]):
            whole = self._join(copy, whole)
        return whole

    def _loop(self, part: PatternPart, least: int, most: int) -> PatternPart:
        """Connect the end of each round with the next one.

        An empty round ends the loop, as in Python.
        """
        rounds = 2 if part.empty and least > 1 else 1
        for position, ways in part.last.items():
            if len(part.last) == len(part.first) == 1:
                self.width[position] = min(self.width[position], most - least + 1)
            else:
                self.width[position] = LONGEST_SUBJECT
            self._connect({position: ways * rounds}, part.first)
        last: dict[int, int] = {}
        _add(last, part.last, 1 + min(part.empty, 2))
        return PatternPart((least == 0) + part.empty, part.first, last)
