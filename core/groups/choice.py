"""The groups that may be submitted: whole ones where that is asked for, and none twice.

With `submit_whole`, a group of eligible directories may be submitted only if it equals, directory
by directory, one of the groups that all included directories form. Other groups are skipped and
reported, where Row fails entirely.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from rowtui.core.base.text import plural, visible
from rowtui.core.groups.model import Group
from rowtui.core.state.model import Directories

NOT_WHOLE: Final = "it is not whole: "


class NotWhole(NamedTuple):
    """A group that is skipped. `sentence` is `reason` with the group's name, for a list."""

    group: Group
    reason: str
    sentence: str


def whole_groups(
    eligible: Sequence[Group], whole: Sequence[Group], directories: Directories
) -> tuple[tuple[Group, ...], tuple[NotWhole, ...]]:
    """Return the eligible groups that are whole, and the other eligible groups.

    `whole`: the groups of all directories that the action includes, regardless of their status;
    groups without a directory of the eligible groups may be left out.
    """
    complete = {group.indices for group in whole}
    kept = tuple(group for group in eligible if group.indices in complete)
    if len(kept) == len(eligible):
        return kept, ()
    home = {position: group for group in whole for position in group.indices}
    skipped = tuple(
        _not_whole(group, home, directories) for group in eligible if group.indices not in complete
    )
    return kept, skipped


def _not_whole(group: Group, home: dict[int, Group], directories: Directories) -> NotWhole:
    first = visible(directories.name(group.indices[0]))
    more = len(group.indices) - 1
    what = f"action '{visible(group.action.name)}' on directory '{first}'"
    if more:
        what += f" and {more:,} more"
    homes = {id(home[p]): home[p] for p in group.indices if p in home}
    absent = {p for other in homes.values() for p in other.indices}.difference(group.indices)
    why = why_not_whole(len(homes), len(absent), directories.name(min(absent)) if absent else "")
    sentence = f"{what} is skipped, because submit_whole is set and {why}"
    return NotWhole(group, NOT_WHOLE + why, sentence)


def why_not_whole(homes: int, absent: int, example: str) -> str:
    """Return why a group is not whole. `homes`: of how many whole groups it has directories.

    `absent`: how many directories of these are not in the group; `example`: the first one's name.
    """
    if homes > 1:
        return f"its directories belong to {homes:,} different whole groups"
    if absent:
        why = f"{plural(absent, 'directory', 'directories')} of the whole group"
        why += f" {'is' if absent == 1 else 'are'} not eligible or not chosen"
        return f"{why} ('{visible(example)}'{', ...' if absent > 1 else ''})"
    return "the whole group has these directories in another order or number"


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
