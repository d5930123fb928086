"""Job requests for the eligible directories of some actions.

The input is a project, actions and a choice of their groups. Only the needed groups are formed.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.groups.choice import duplicates, whole_groups
from rowtui.core.groups.form import job_requests
from rowtui.core.groups.model import Group, JobRequest, Status
from rowtui.core.state.model import DirectorySet
from rowtui.core.submission.plan.model import RefusedAt, RefusedWork
from rowtui.core.workflow.model import Action

if TYPE_CHECKING:
    from rowtui.core.groups.form import GroupCut
    from rowtui.core.project.project import Project


class Requests(NamedTuple):
    """Job requests in order, and the work that is left out."""

    requests: tuple[JobRequest, ...]
    refused: tuple[RefusedWork, ...] = ()
    problems: tuple[str, ...] = ()


class FirstGroups(Sequence[Group]):
    """The first groups of a cut; each group is formed on access."""

    def __init__(self, cut: GroupCut, count: int) -> None:
        self.cut = cut
        self._count = min(count, len(cut))

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> Group:  # type: ignore[override]
        return self.cut[range(self._count)[number]]

    def sizes(self) -> list[int]:
        """Return the number of directories of each group."""
        return [end - begin for begin, end in pairwise(self.cut.begins[: self._count + 1])]

    def positions(self, number: int) -> Any:
        """Return the positions of a group's directories, in order: array('I') or a numpy array."""
        begins = self.cut.begins
        return self.cut.positions[begins[number] : begins[number + 1]]


class ChosenGroups(NamedTuple):
    """The groups that could be submitted, in order, and the omitted work, as in `Requests`."""

    parts: tuple[Sequence[Group], ...]
    refused: tuple[RefusedWork, ...] = ()
    problems: tuple[str, ...] = ()


def form_requests(
    project: Project,
    actions: Sequence[Action],
    among: Sequence[int] | None = None,
    *,
    only: Mapping[int, Collection[int]] | None = None,
    limit: int | None = None,
) -> Requests:
    """Return job requests for the eligible directories of these actions, in order.

    `only`: action index -> numbers of the chosen groups, from 0. A bad action does not stop the
    others: it adds a sentence to `problems`. Raises: RowtuiError if a directory would be submitted
    twice.
    """
    chosen = choose_groups(project, actions, among, only=only, limit=limit)
    requests = job_requests(chain.from_iterable(chosen.parts))
    return Requests(requests, chosen.refused, chosen.problems)


def choose_groups(
    project: Project,
    actions: Sequence[Action],
    among: Sequence[int] | None = None,
    *,
    only: Mapping[int, Collection[int]] | None = None,
    limit: int | None = None,
) -> ChosenGroups:
    """Return the groups of `form_requests`. Actions that `limit` excludes are not evaluated.

    Raises: RowtuiError if a directory would be submitted twice.
    """
    parts: list[Sequence[Group]] = []
    refused: list[RefusedWork] = []
    problems: list[str] = []
    # All groups are formed only if a directory may be in two groups.
    repeats = _may_repeat(project, actions, among)
    left = sys.maxsize if limit is None or repeats else limit
    for action in actions:
        if not left:
            break
        try:
            cut = project.cut(action, (Status.ELIGIBLE,), among)
            part: Sequence[Group] = FirstGroups(cut, left if only is None else len(cut))
            if action.group.submit_whole and len(cut):
                every = project.cut(action, tuple(Status)).page()
                part, left_out = whole_groups(cut.page(), every, project.state.directories)
                name = project.state.directories.name
                refused += (
                    RefusedWork(
                        RefusedAt.GROUP,
                        action.name,
                        (tuple(map(name, it.group.indices)),),
                        it.reason,
                        text=it.sentence,
                    )
                    for it in left_out
                )
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
    return ChosenGroups(tuple(parts), tuple(refused), tuple(problems))


def _may_repeat(project: Project, actions: Sequence[Action], among: Sequence[int] | None) -> bool:
    """Whether a directory may be eligible twice under one action name."""
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
