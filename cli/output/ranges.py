"""Numbers of jobs and groups as short ranges."""

from __future__ import annotations

from collections.abc import Sequence


def spans(numbers: Sequence[int]) -> list[list[int]]:
    """Return `[[1, 3], [7, 7]]` for 1, 2, 3, 7."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found


def ranges(numbers: Sequence[int]) -> str:
    """Return `1-3, 7` for 1, 2, 3, 7."""
    return ", ".join(
        str(first) if first == last else f"{first}-{last}" for first, last in spans(numbers)
    )
