"""The results of the mapper, with every reason as a value.

`Placement` is the short result: where a job goes and with which values, or why nowhere. `Decision`
is the long result for the user: which entities matched, the values that each contributed, every
destination with every constraint, and the smallest changes that would admit the job elsewhere.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.mapping.model.request import Amounts

if TYPE_CHECKING:
    from rowtui.core.mapping.model.origin import Origin
    from rowtui.core.mapping.model.request import MappingRequest, WhatIf


class MappingOutcome(enum.Enum):
    """How a mapping ended."""

    CHOSEN = "chosen"
    NOWHERE = "nowhere"  # no destination takes the job
    FAILED = "failed"  # a rule has `fail`
    WAITS = "waits"  # a rule defers the job
    INCOMPATIBLE = "incompatible"  # tags of action, role and user contradict each other
    UNTRUSTED = "untrusted"  # the job needs a file that the user has not trusted
    BROKEN = "broken"  # an entity that the job needs has an error
    ERROR = "error"  # an expression failed


class Placement(NamedTuple):
    """Where a job goes and with which values.

    Containers are shared, so callers must not change them. `destination` is the entity's id, `name`
    the name of the destination in the runner. `message`, `origin` and `cause` (the class of an
    exception) describe the failure and its place in the files.
    """

    outcome: MappingOutcome
    destination: str = ""
    name: str = ""
    runner: str = ""
    amounts: Amounts = Amounts()
    env: tuple[Mapping[str, Any], ...] = ()
    params: Mapping[str, Any] = {}
    resubmit: Mapping[str, Mapping[str, Any]] = {}
    handler_tags: tuple[Any, ...] = ()
    message: str = ""
    origin: Origin | None = None
    cause: str = ""
    notices: tuple[str, ...] = ()

    @property
    def chosen(self) -> bool:
        """Whether a destination was chosen."""
        return self.outcome is MappingOutcome.CHOSEN


class Matched(NamedTuple):
    """An entity that took part: `pattern` matched `subject` ("" if there was no lookup)."""

    origin: Origin
    pattern: str = ""
    subject: str = ""


class RuleOutcome(NamedTuple):
    """One rule that was evaluated. `effect`: its changes, in words."""

    origin: Origin
    condition: str
    matched: bool
    effect: str = ""


class Contribution(NamedTuple):
    """One value of the job and its origin; `replaced`: the values it replaced, nearest first.

    `field`: `mem`, `params.partition`, `env.OMP_NUM_THREADS`, `tags.highmem`, ...; `value`: as
    evaluated, `written`: as written.
    """

    field: str
    value: Any
    written: Any
    origin: Origin
    replaced: tuple[tuple[Any, Origin], ...] = ()


class ConstraintCheck(NamedTuple):
    """One constraint of one destination: the request and the offer.

    `constraint`: `max_accepted_cores`, `tag highmem`, `maximum_walltime`, ...; `tag`: the tag as
    written, for a constraint on a tag.
    """

    constraint: str
    asked: str
    offered: str
    passed: bool
    hint: str = ""
    origin: Origin | None = None
    tag: str = ""


class LiftingChange(NamedTuple):
    """A single change with which the mapper, when it runs again, takes the destination.

    `words`: `cores 96 -> 64`. `first`: the job then goes there, and does not only fit there.
    """

    words: str
    what_if: WhatIf
    first: bool = False


class Candidate(NamedTuple):
    """A destination that passed every check. `rank`: from 1, in the order of trying.

    `by_tag`: the points that each tag added to the score. `tried`: why the destination refused the
    job when it was tried, "" if it was chosen or never tried.
    """

    destination: str
    cluster: str
    partition: str
    rank: int
    score: int
    by_tag: tuple[tuple[str, int], ...]
    checks: tuple[ConstraintCheck, ...]
    origin: Origin
    chosen: bool = False
    tried: str = ""


class Refusal(NamedTuple):
    """A destination that does not take the job: the failed checks in `failed`, all in `checks`."""

    destination: str
    cluster: str
    partition: str
    failed: tuple[ConstraintCheck, ...]
    checks: tuple[ConstraintCheck, ...]
    origin: Origin
    changes: tuple[LiftingChange, ...] = ()


class Decision(NamedTuple):
    """The mapper's result for one job request, with the reasons."""

    request: MappingRequest
    chosen: Placement
    matched: tuple[Matched, ...] = ()
    rules: tuple[RuleOutcome, ...] = ()
    job: Amounts = Amounts()
    tags: tuple[tuple[str, str, Origin], ...] = ()  # strength, tag, origin
    contributions: tuple[Contribution, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    ranked_by: str = ""
    entity_id: str = ""
