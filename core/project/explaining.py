"""The destination of one group's job and the reasons, for screens and commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.groups.form import job_requests
from rowtui.core.mapping.model.request import Person, WhatIf
from rowtui.core.project.context.credentials import person_named
from rowtui.core.project.planning.plan_submission import counted_on
from rowtui.core.project.views.views import PlacementExplanation, WhatIfRequest
from rowtui.core.workflow.model import Action

if TYPE_CHECKING:
    from rowtui.core.groups.form import GroupCut
    from rowtui.core.groups.model import Group
    from rowtui.core.project.open_project import OpenProject

_NOTHING = WhatIf()


def explain_group(
    project: OpenProject,
    action: Action,
    groups: GroupCut | Sequence[Group],
    number: int,
    *,
    generation: int = 0,
    what_if: WhatIfRequest | None = None,
) -> PlacementExplanation:
    """Return the explanation for group `number` (from 0) of `groups`, or one with a `problem`."""
    found = PlacementExplanation(generation, action.index, number + 1, len(groups), 0, "", None)
    if not 0 <= number < len(groups):
        return found._replace(problem=f"{action.name} has no such group now")
    group = groups[number]
    try:
        mapping = project.mapping
        mapping.read()
        (job,) = counted_on(project, job_requests((group,)))
        asked = what_if or WhatIfRequest()
        decision = mapping.decide(
            job,
            what_if=None if asked.change == _NOTHING else asked.change,
            person=_person(mapping.person, asked),
        )
    except RowtuiError as error:
        return found._replace(problem=error.message)
    sources = mapping.sources.sources
    return PlacementExplanation(
        generation=generation,
        action_index=action.index,
        group=number + 1,
        groups=len(groups),
        directories=len(group.indices),
        first=project.state.directories.name(group.indices[0]),
        decision=decision,
        files=mapping.sources.trust,
        problems=mapping.configuration.problems,
        notices=tuple(source.notice for source in sources if source.notice),
        loads_at=mapping.loads_at,
    )


def _person(usual: Person, asked: WhatIfRequest) -> Person:
    person = usual
    if asked.user is not None and asked.user != usual.name:
        person = person_named(asked.user)
    return person if asked.roles is None else person._replace(roles=asked.roles)
