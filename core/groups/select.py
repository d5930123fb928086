"""Select actions by a pattern, and find directories that would be submitted twice.

In a pattern, `*` matches any run of characters and `?` one character; all other characters match
themselves, case-sensitively, and the whole name must match.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rowtui.core.base.text import visible
from rowtui.core.groups.model import Group
from rowtui.core.state.model import Directories
from rowtui.core.workflow.model import Action, Workflow


def matches(pattern: str, name: str) -> bool:
    """Whether the pattern matches the whole name. Linear except for the last `*`, no recursion."""
    at = position = 0
    star, resume = -1, 0
    while position < len(name):
        if at < len(pattern) and pattern[at] == "*":
            star, resume = at, position
            at += 1
        elif at < len(pattern) and pattern[at] in {"?", name[position]}:
            at += 1
            position += 1
        elif star >= 0:  # the last star matches one more character
            resume += 1
            at, position = star + 1, resume
        else:
            return False
    return all(char == "*" for char in pattern[at:])


def matching_actions(workflow: Workflow, pattern: str | None) -> tuple[Action, ...]:
    """Return the action elements whose name matches, in file order; all without a pattern."""
    if pattern is None:
        return workflow.actions
    return tuple(action for action in workflow.actions if matches(pattern, action.name))


class Duplicate(NamedTuple):
    """A directory that would be submitted several times for one action name."""

    action: str
    position: int
    times: int

    def sentence(self, directories: Directories) -> str:
        """Describe the problem in words."""
        return (
            f"directory '{visible(directories.name(self.position))}' would be submitted multiple"
            f" times ({self.times}) for action '{visible(self.action)}'"
        )


def duplicates(groups: Iterable[Group]) -> tuple[Duplicate, ...]:
    """Return each (action name, directory) that occurs more than once in all these groups."""
    times: dict[str, dict[int, int]] = {}
    for group in groups:
        counts = times.setdefault(group.action.name, {})
        for position in group.indices:
            counts[position] = counts.get(position, 0) + 1
    return tuple(
        Duplicate(name, position, count)
        for name, counts in times.items()
        for position, count in sorted(counts.items())
        if count > 1
    )
