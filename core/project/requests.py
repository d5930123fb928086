"""What could be submitted: job requests for the eligible directories of some actions.

Takes a project, actions and what to choose of their groups; forms no more groups than are needed.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.errors import RowtuiError
from rowtui.core.grouping.model import Group, JobRequest, Status
from rowtui.core.grouping.request import job_requests
from rowtui.core.grouping.select import duplicates
from rowtui.core.grouping.whole import whole_groups
from rowtui.core.state.model import DirectorySet
from rowtui.core.workflow.model import Action

if TYPE_CHECKING:
    from rowtui.core.grouping.form import GroupCut
    from rowtui.core.project.project import Project


class Requests(NamedTuple):
    """What could be submitted: job requests in order, and a sentence for each group left out."""

    requests: tuple[JobRequest, ...]
    skipped: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


class FirstGroups(Sequence[Group]):
    """The first groups of a cut, each formed only where somebody looks at it."""

    def __init__(self, cut: GroupCut, count: int) -> None:
        self.cut = cut
        self._count = min(count, len(cut))

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> Group:  # type: ignore[override]
        return self.cut[range(self._count)[number]]

    def sizes(self) -> list[int]:
        """How many directories each has."""
        return [end - begin for begin, end in pairwise(self.cut.begins[: self._count + 1])]

    def positions(self, number: int) -> Any:
        """The directories of a group, in order: array('I') or a numpy array."""
        begins = self.cut.begins
        return self.cut.positions[begins[number] : begins[number + 1]]


class Chosen(NamedTuple):
    """The groups that could be submitted, in order, and sentences as in `Requests`."""

    parts: tuple[Sequence[Group], ...]
    skipped: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def form_requests(
    project: Project,
    actions: Sequence[Action],
    among: Sequence[int] | None = None,
    *,
    only: Mapping[int, Collection[int]] | None = None,
    limit: int | None = None,
) -> Requests:
    """See `Project.requests`."""
    chosen = choose_groups(project, actions, among, only=only, limit=limit)
    requests = job_requests(chain.from_iterable(chosen.parts))
    return Requests(requests, chosen.skipped, chosen.problems)


def choose_groups(
    project: Project,
    actions: Sequence[Action],
    among: Sequence[int] | None = None,
    *,
    only: Mapping[int, Collection[int]] | None = None,
    limit: int | None = None,
) -> Chosen:
    """The groups of `Project.requests`. Actions that `limit` leaves nothing for are not looked at.

    Raises: RowtuiError if a directory would be submitted twice.
    """
    parts: list[Sequence[Group]] = []
    skipped: list[str] = []
    problems: list[str] = []
    # All groups are formed only where a directory may be in two of them.
    repeats = _may_repeat(project, actions, among)
    left = sys.maxsize if limit is None or repeats else limit
    for action in actions:
        if not left:
            break
        try:
            cut = project.cut(action, (Status.ELIGIBLE,), among)
            part: Sequence[Group] = FirstGroups(cut, left if only is None else len(cut))
            if action.group.submit_whole and len(cut):
                every = project.groups(action, tuple(Status))
                part, left_out = whole_groups(cut.page(), every, project.state.directories)
                skipped += left_out
        except RowtuiError as error:
            problems.append(str(error))
            continue
        if only is not None:
            wanted = only.get(action.index, ())
            part = tuple(group for number, group in enumerate(part) if number in wanted)
        if len(part) > left:
            part = part[:left]
        parts.append(part)
        left -= len(part)
    twice = duplicates(chain.from_iterable(parts)) if repeats else ()
    if twice:
        raise RowtuiError(
            "\n".join(each.sentence(project.state.directories) for each in twice[:10]),
            "check that actions of the same name include different directories",
        )
    if repeats and limit is not None:
        for number, part in enumerate(parts):
            parts[number] = tuple(islice(part, limit))
            limit -= len(parts[number])
    return Chosen(tuple(parts), tuple(skipped), tuple(problems))


def _may_repeat(project: Project, actions: Sequence[Action], among: Sequence[int] | None) -> bool:
    """Whether a directory may be eligible twice for one name."""
    if among is not None and len(set(among)) < len(among):
        return True
    times = Counter(action.name for action in actions)
    seen: dict[str, DirectorySet] = {}
    for action in actions:
        if times[action.name] == 1:
            continue
        eligible = project.status_row(action, among).eligible
        if seen.get(action.name, 0) & eligible:
            return True
        seen[action.name] = seen.get(action.name, 0) | eligible
    return False
