"""submit_whole: only groups that are complete may be submitted.

A group of eligible directories is whole if it is, directory by directory, one of the groups that
all included directories form. Row fails as a whole where one is not; this skips the group and says
so.
"""

from __future__ import annotations

from collections.abc import Sequence

from rowtui.core.grouping.model import Group
from rowtui.core.state.model import Directories
from rowtui.core.text import plural, visible


def whole_groups(
    eligible: Sequence[Group], whole: Sequence[Group], directories: Directories
) -> tuple[tuple[Group, ...], tuple[str, ...]]:
    """The eligible groups that are whole, and a sentence for each that is not.

    `whole`: the groups of all directories that the action includes, whatever their status.
    """
    complete = {group.indices for group in whole}
    kept = tuple(group for group in eligible if group.indices in complete)
    if len(kept) == len(eligible):
        return kept, ()
    home = {position: group for group in whole for position in group.indices}
    skipped = tuple(
        _sentence(group, home, directories) for group in eligible if group.indices not in complete
    )
    return kept, skipped


def _sentence(group: Group, home: dict[int, Group], directories: Directories) -> str:
    first = visible(directories.name(group.indices[0]))
    more = len(group.indices) - 1
    what = f"action '{visible(group.action.name)}' on directory '{first}'"
    if more:
        what += f" and {more:,} more"
    homes = {id(home[p]): home[p] for p in group.indices if p in home}
    absent = {p for other in homes.values() for p in other.indices}.difference(group.indices)
    if len(homes) > 1:
        why = f"its directories belong to {len(homes):,} different whole groups"
    elif absent:
        name = visible(directories.name(min(absent)))
        why = f"{plural(len(absent), 'directory', 'directories')} of the whole group"
        why += f" {'is' if len(absent) == 1 else 'are'} not eligible or not chosen ('{name}'"
        why += ", ...)" if len(absent) > 1 else ")"
    else:
        why = "the whole group has these directories in another order or number"
    return f"{what} is skipped, because submit_whole is set and {why}"
