"""Count the ways in which a regular expression can match one text, before it is matched.

The input is a pattern's parse tree; the output is why a backtracking matcher may take too long, or
"". The tree becomes an automaton of positions (`pattern_automaton`). Two different paths over the
same text from a position back to it mean exponential time. Other paths are counted for subjects of
`LONGEST_SUBJECT` characters: at most three overlapping `.*` in a row are allowed. Source: Weber and
Seidl 1991 (degrees of ambiguity).
"""

from __future__ import annotations

from math import log2
from typing import Any, NamedTuple

from rowtui.core.mapping.code.pattern_automaton import (
    LONGEST_SUBJECT,
    START,
    Automaton,
    PatternPart,
    TooLarge,
    UnknownOperation,
)

_MOST_STEPS = 1_000_000  # of the search for two paths: about a tenth of a second
# The allowed ways, measured to end within a second or two: log2 of the number of ways besides
# dividing 512 characters among 0, 1, 2, 3 overlapping loops, which are 2 ** (0, 9, 17, 24.4) ways.
_SPARE_BITS = (18.0, 12.0, 6.0, 3.0)
# a round of a group takes 20 times as long as that of a character
_SPARE_BITS_OF_GROUPS = (18.0, 11.0, 3.0)
_FEW_ROUNDS = 16  # a loop of at most this many rounds counts among the other choices


def why_slow(tree: Any, flags: int) -> str:
    """Return why matching could take too long, or "". `tree` is of `re._parser.parse`."""
    automaton = Automaton(flags)
    try:
        whole = automaton.build(tree)
        component = _components(automaton.steps)
        if _is_exponential(automaton, component):
            return "a repeated part can match the same text in more than one way"
        if not _has_few_ways(automaton, component, whole):
            return "too many repeats and choices overlap in it"
    except TooLarge:
        return "it has too many alternatives to be sure"
    except UnknownOperation:
        return "it refers to a group inside a repeat"
    except RecursionError:
        return "it is nested too deeply"
    return ""


# ------------------------------------------------------------------ counting the ways


def _components(steps: list[dict[int, int]]) -> list[int]:
    """Return each position's strongly connected component; steps never lead to a higher one."""
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


def _is_exponential(automaton: Automaton, component: list[int]) -> bool:
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
            raise TooLarge
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


def _has_few_ways(automaton: Automaton, component: list[int], whole: PatternPart) -> bool:
    """Whether the number of paths from the start is small enough for a matcher in a second or two.

    The function visits the components from the start on. For each number of loops that a path has
    left, it keeps the largest number of bits of other choices.
    """
    steps = automaton.steps
    members: dict[int, list[int]] = {}
    for position, which in enumerate(component):
        members.setdefault(which, []).append(position)
    best: dict[int, dict[_Loops, float]] = {which: {} for which in members}
    best[component[START]][_Loops(0, False)] = 0.0
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
    """The number of loops that share the text, and whether any of them repeats a group."""

    number: int
    of_groups: bool

    def and_another(self, of_group: bool) -> _Loops:
        return _Loops(self.number + 1, self.of_groups or of_group)


def _too_many(loops: _Loops, bits: float) -> bool:
    spare = _SPARE_BITS_OF_GROUPS if loops.of_groups else _SPARE_BITS
    return loops.number >= len(spare) or bits > spare[loops.number]


def _rounds(automaton: Automaton, group: list[int]) -> int:
    return automaton.width[group[0]] if len(group) == 1 else LONGEST_SUBJECT


def _overlaps(
    automaton: Automaton, component: list[int], is_loop: dict[int, bool], here: int, there: int
) -> tuple[int, bool]:
    """Return in how many ways `here` goes on with a character of `there`, and if one stays.

    Loops further on count together as one way: the division of the text among loops is counted with
    the loops.
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
