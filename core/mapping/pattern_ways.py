"""In how many ways a regular expression can go through one text, counted before it is matched.

Takes a pattern's parse tree; gives the reason why a backtracking matcher may take too long, or "".
The tree becomes an automaton of positions. Two different paths over the same text from a position
back to it mean exponential time. Other paths are counted for subjects of `LONGEST_SUBJECT`
characters: three overlapping `.*` in a row are the most that is let through. Where the tree is not
followed exactly (look-around, anchors, long counted repeats), it is taken for worse than it is.
Source: Weber and Seidl 1991 (degrees of ambiguity); CPython's matcher for what an empty round does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from math import log2
from typing import Any, NamedTuple

LONGEST_SUBJECT = 512
"""Characters of a subject for which matching is sure to end soon. Match nothing longer."""
_MOST_POSITIONS = 2_000
_MOST_EDGES = 20_000
_MOST_STEPS = 1_000_000  # of the search for two paths: about a tenth of a second
_MOST_COPIES = 3  # a repeat of more, other than a short fixed number, counts as a loop
# What is let through, measured to end within a second or two: log2 of the ways there may be besides
# dividing 512 characters among 0, 1, 2, 3 overlapping loops, which are 2 ** (0, 9, 17, 24.4) ways.
_SPARE_BITS = (18.0, 12.0, 6.0, 3.0)
_SPARE_BITS_OF_GROUPS = (18.0, 11.0, 3.0)  # a round of a group takes 20 times that of a character
_FEW_ROUNDS = 16  # a loop of no more rounds counts among those choices


def why_slow(tree: Any, flags: int) -> str:
    """Why matching could take too long, or "". `tree` is of `re._parser.parse`."""
    automaton = _Automaton(flags)
    try:
        whole = automaton.build(tree)
        component = _components(automaton.steps)
        if _is_exponential(automaton, component):
            return "a repeated part can match the same text in more than one way"
        if not _has_few_ways(automaton, component, whole):
            return "too many repeats and choices overlap in it"
    except _TooLarge:
        return "it has too many alternatives to be sure"
    except _Unknown:
        return "it refers to a group inside a repeat"
    except RecursionError:
        return "it is nested too deeply"
    return ""


# ------------------------------------------------------------------ characters

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
    """The characters with their other cases. A few of Latin-1 have theirs beyond it."""
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


# ------------------------------------------------------------------ the automaton of positions


class _TooLarge(Exception):
    """The pattern is too large to be sure."""


class _Unknown(Exception):
    """An operation that is not understood, inside a repeat."""


class _Part:
    """A piece of the pattern: where it begins and ends, and in how many ways it can be empty."""

    __slots__ = ("empty", "first", "last")

    def __init__(self, empty: int, first: dict[int, int], last: dict[int, int]) -> None:
        self.empty = empty
        self.first = first
        self.last = last


def _add(into: dict[int, int], what: dict[int, int], times: int = 1) -> None:
    if times:
        for position, ways in what.items():
            into[position] = into.get(position, 0) + ways * times


_START = 0
_ONE_CHARACTER = ("LITERAL", "NOT_LITERAL", "ANY", "IN")


class _Automaton:
    """Positions of a pattern and the steps between them, each with its number of ways."""

    def __init__(self, flags: int) -> None:
        self.chars: list[int] = [_NONE]
        self.steps: list[dict[int, int]] = [{}]
        self.width: list[int] = [0]  # how often a loop over this position alone can go round
        self.is_plain: list[bool] = [False]  # whether that loop is of one character, not a group
        self.edges = 0
        self.conditional = False  # whether the end can still fail where the pattern is at its end
        self._ignore_case = bool(flags & re.IGNORECASE)
        self._repeated = 0

    def build(self, tree: Any) -> _Part:
        """Add the pattern behind the start. The result is the whole pattern's part."""
        whole = self._sequence(tree)
        self._connect({_START: 1}, whole.first)
        return whole

    def _connect(self, last: dict[int, int], first: dict[int, int]) -> None:
        self.edges += len(last) * len(first)
        if self.edges > _MOST_EDGES:
            raise _TooLarge
        for position, ways in last.items():
            _add(self.steps[position], first, ways)

    def _position(self, chars: int) -> _Part:
        if len(self.chars) >= _MOST_POSITIONS:
            raise _TooLarge
        if self._ignore_case:
            chars = _either_case(chars)
        self.chars.append(chars)
        self.steps.append({})
        self.width.append(LONGEST_SUBJECT)
        self.is_plain.append(False)
        here = {len(self.chars) - 1: 1}
        return _Part(0, here, here)

    def _sequence(self, tree: Any) -> _Part:
        whole = _Part(1, {}, {})
        for operation, argument in tree:
            whole = self._join(whole, self._one(str(operation), argument))
        return whole

    def _join(self, left: _Part, right: _Part) -> _Part:
        self._connect(left.last, right.first)
        first, last = dict(left.first), dict(right.last)
        _add(first, right.first, left.empty)
        _add(last, left.last, right.empty)
        return _Part(min(left.empty * right.empty, 1 << 20), first, last)

    def _either(self, parts: Iterable[_Part]) -> _Part:
        whole = _Part(0, {}, {})
        for part in parts:
            whole.empty += part.empty
            _add(whole.first, part.first)
            _add(whole.last, part.last)
        return whole

    def _one(self, name: str, argument: Any) -> _Part:
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
            looked_at = self._sequence(argument[1])  # tried from here, and leads nowhere
            return _Part(1, looked_at.first if argument[0] > 0 else {}, {})
        if name == "FAILURE":
            return self._position(_NONE)
        if name == "GROUPREF_EXISTS":
            _, yes, no = argument
            branches = [self._sequence(yes), self._sequence(no) if no else _Part(1, {}, {})]
            return self._either(branches)
        if self._repeated:
            raise _Unknown
        self.conditional = True  # a reference to a group, or what later Pythons bring: any text
        return self._loop(self._position(_ALL), 0, LONGEST_SUBJECT)

    def _group(self, argument: Any) -> _Part:
        _, added, removed, tree = argument
        before = self._ignore_case
        self._ignore_case = (before or bool(added & re.IGNORECASE)) and not removed & re.IGNORECASE
        part = self._sequence(tree)
        self._ignore_case = before
        return part

    def _at(self, name: str) -> _Part:
        if name in ("AT_END", "AT_END_STRING"):
            return self._position(_NONE)  # nothing comes behind it
        self.conditional = self.conditional or not name.startswith("AT_BEGINNING")
        return _Part(1, {}, {})

    def _repeat(self, least: int, most: int, tree: Any) -> _Part:
        most = min(int(most), LONGEST_SUBJECT)  # more often no subject can be gone through
        least = min(int(least), LONGEST_SUBJECT)
        if most == 0:
            return _Part(1, {}, {})
        few = most <= _MOST_COPIES or (least == most <= 16)
        if few:
            return self._copies(least, most, tree)
        self._repeated += 1
        part = self._sequence(tree)
        self._repeated -= 1
        if len(tree) == 1 and str(tree[0][0]) in _ONE_CHARACTER:
            self.is_plain[-1] = True
        return self._loop(part, least, most)

    def _copies(self, least: int, most: int, tree: Any) -> _Part:
        whole = _Part(1, {}, {})
        copies = [self._sequence(tree) for _ in range(most)]
        for copy in reversed(copies[least:]):
            whole = self._join(copy, whole)
            whole = _Part(whole.empty + 1, whole.first, whole.last)
        for copy in reversed(copies[:least]):
            whole = self._join(copy, whole)
        return whole

    def _loop(self, part: _Part, least: int, most: int) -> _Part:
        """Behind each round comes another one; an empty round ends the loop, as in Python."""
        rounds = 2 if part.empty and least > 1 else 1
        for position, ways in part.last.items():
            if len(part.last) == len(part.first) == 1:
                self.width[position] = min(self.width[position], most - least + 1)
            else:
                self.width[position] = LONGEST_SUBJECT
            self._connect({position: ways * rounds}, part.first)
        last: dict[int, int] = {}
        _add(last, part.last, 1 + min(part.empty, 2))
        return _Part((least == 0) + part.empty, part.first, last)


# ------------------------------------------------------------------ counting the ways


def _components(steps: list[dict[int, int]]) -> list[int]:
    """Each position's strongly connected component; steps lead to the same or a lower one."""
    count = len(steps)
    index = [-1] * count
    low = [0] * count
    component = [-1] * count
    pending: list[int] = []
    found = visited = 0
    for root in range(count):
        if index[root] >= 0:
            continue
        work = [(root, iter(steps[root]))]
        index[root] = low[root] = visited
        visited += 1
        pending.append(root)
        while work:
            here, onwards = work[-1]
            for there in onwards:
                if index[there] < 0:
                    index[there] = low[there] = visited
                    visited += 1
                    pending.append(there)
                    work.append((there, iter(steps[there])))
                    break
                if component[there] < 0:
                    low[here] = min(low[here], index[there])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[here])
                if low[here] == index[here]:
                    while True:
                        member = pending.pop()
                        component[member] = found
                        if member == here:
                            break
                    found += 1
    return component


def _is_exponential(automaton: _Automaton, component: list[int]) -> bool:
    """Whether two different paths over the same text lead from a position back to it."""
    steps, chars = automaton.steps, automaton.chars
    inner = [
        [there for there in onwards if component[there] == component[here]]
        for here, onwards in enumerate(steps)
    ]
    for here, onwards in enumerate(inner):
        if any(steps[here][there] > 1 for there in onwards):
            return True
    seen: set[tuple[int, int]] = set()
    pending = [(here, here) for here, onwards in enumerate(inner) if len(onwards) > 1]
    taken = 0
    while pending:
        left, right = pending.pop()
        taken += len(inner[left]) * len(inner[right])
        if taken > _MOST_STEPS:
            raise _TooLarge
        for one in inner[left]:
            for other in inner[right]:
                if not chars[one] & chars[other]:
                    continue
                if one == other:
                    if left != right:
                        return True
                    continue
                pair = (one, other) if one < other else (other, one)
                if pair not in seen:
                    seen.add(pair)
                    pending.append(pair)
    return False


def _has_few_ways(automaton: _Automaton, component: list[int], whole: _Part) -> bool:
    """Whether the paths from the start stay within what a matcher tries in a second or two.

    Goes through the components from the start on and keeps, for each number of loops that were
    left at any of many moments, the most bits of other choices.
    """
    steps = automaton.steps
    members: dict[int, list[int]] = {}
    for position, which in enumerate(component):
        members.setdefault(which, []).append(position)
    best: dict[int, dict[_Loops, float]] = {which: {} for which in members}
    best[component[_START]][_Loops(0, False)] = 0.0
    is_loop = {
        which: len(group) > 1 or group[0] in steps[group[0]] for which, group in members.items()
    }
    for which in sorted(members, reverse=True):
        group = members[which]
        exits = [(here, there) for here in group for there in steps[here]]
        exits = [(here, there) for here, there in exits if component[there] != which]
        ends_here = not exits and not automaton.conditional
        ends_here = ends_here and all(position in whole.last for position in group)
        rounds = _rounds(automaton, group)
        is_long = is_loop[which] and rounds > _FEW_ROUNDS
        is_group = len(group) > 1 or not automaton.is_plain[group[0]]
        for loops, bits in best[which].items():
            if _too_many(loops, bits):
                return False
            if is_long and not ends_here and _too_many(loops.and_another(is_group), bits):
                return False
        for here, there in exits:
            choices, stays = _overlaps(automaton, component, is_loop, here, there)
            more = log2(choices) + (log2(rounds) if stays and not is_long else 0.0)
            target = best[component[there]]
            for loops, bits in best[which].items():
                after = loops.and_another(is_group) if stays and is_long else loops
                target[after] = max(target.get(after, 0.0), bits + more)
    return True


class _Loops(NamedTuple):
    """How many loops the text may be divided among, and whether a group is repeated in one."""

    number: int
    of_groups: bool

    def and_another(self, of_group: bool) -> _Loops:
        return _Loops(self.number + 1, self.of_groups or of_group)


def _too_many(loops: _Loops, bits: float) -> bool:
    spare = _SPARE_BITS_OF_GROUPS if loops.of_groups else _SPARE_BITS
    return loops.number >= len(spare) or bits > spare[loops.number]


def _rounds(automaton: _Automaton, group: list[int]) -> int:
    return automaton.width[group[0]] if len(group) == 1 else LONGEST_SUBJECT


def _overlaps(
    automaton: _Automaton, component: list[int], is_loop: dict[int, bool], here: int, there: int
) -> tuple[int, bool]:
    """In how many ways a character of `there` can be gone on with, and whether staying is one.

    Loops further on count once together: which of them a character falls to is counted with them.
    """
    chars, onwards, which = automaton.chars, automaton.steps[here], component[here]
    ways, to_loops, stays = 0, 0, False
    for other, times in onwards.items():
        if chars[other] & chars[there] or (not chars[there] and chars[other]):
            if component[other] == which:
                stays = True
            elif is_loop[component[other]]:
                to_loops = max(to_loops, times)
            else:
                ways += times
    return max(ways + to_loops, onwards[there], 1), stays
