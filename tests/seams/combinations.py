"""The dimensions of the matrix, all combinations, and a selection that covers each pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, product
from typing import NamedTuple

FLOWS = ("plain", "network")
SHARINGS = ("single", "mapped", "packed")
PLACES = ("local", "slurm", "copied")
EVENTS = ("success", "failure", "refusal", "cancel", "retry", "edit", "kill")


class Combination(NamedTuple):
    """One project and what happens in it.

    `flow`: actions alone, or a network of them. `sharing`: how jobs find a destination: one by one,
    by a mapping file, or packed. `place`: this machine, a Slurm cluster that has the project's
    folder, or one that is reached over SSH and gets a copy. `event`: see `scenarios.py`.
    """

    flow: str
    sharing: str
    place: str
    event: str

    def __str__(self) -> str:
        """The name that `--only` and the tests use."""
        return "-".join(self)


def everything() -> list[Combination]:
    """All combinations."""
    return [Combination(*values) for values in product(FLOWS, SHARINGS, PLACES, EVENTS)]


def covering(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Rows in which each pair of values occurs that occurs in `rows`: greedily, so not the fewest.

    Of rows that bring as many new pairs, the one whose values were chosen least often is taken.
    """
    missing = {pair for row in rows for pair in pairs(row)}
    chosen: list[tuple[str, ...]] = []
    while missing:
        used = Counter(value for row in chosen for value in enumerate(row))
        gains = [
            (len(pairs(row) & missing), -sum(used[value] for value in enumerate(row)))
            for row in rows
        ]
        best = rows[gains.index(max(gains))]
        chosen.append(best)
        missing -= pairs(best)
    return chosen


def pairs(row: tuple[str, ...]) -> set[tuple[tuple[int, str], tuple[int, str]]]:
    """All pairs of values of a row, each value with its position."""
    return set(combinations(enumerate(row), 2))


def selection() -> list[Combination]:
    """The combinations that the test suite runs."""
    return [Combination(*row) for row in covering(everything())]
