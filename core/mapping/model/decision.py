"""The results of the mapper, with every reason as a value.

`Placement` is the short result: where a job goes and with which values, or why nowhere. `Decision`
is the long result for the user: which entities matched, the values that each contributed, every
destination with every constraint, and the smallest changes that would admit the job elsewhere.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.mapping.model.origin import Origin
from rowtui.core.mapping.model.request import Amounts, MappingRequest, WhatIf

if TYPE_CHECKING:
    from rowtui.core.base.document import Flat, Plain, TextOrNull


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


class JobTag(NamedTuple):
    """A tag of the job."""

    strength: str
    tag: str
    origin: Origin


class Replaced(NamedTuple):
    """A value that another one won over."""

    written: Plain
    origin: Origin


class Contribution(NamedTuple):
    """One value of the job and its origin; `replaced`: the values it replaced, nearest first.

    `field`: `mem`, `params.partition`, `env.OMP_NUM_THREADS`, `tags.highmem`, ...; `value`: as
    evaluated, `written`: as written. Both are as in mapping files: `mem` is in GB.
    """

    field: str
    value: Plain
    written: Plain
    origin: Origin
    replaced: tuple[Replaced, ...] = ()


class ConstraintCheck(NamedTuple):
    """One constraint of one destination: the request and the offer.

    `constraint`: `max_accepted_cores`, `tag highmem`, `maximum_walltime`, ...; `tag`: the tag as
    written, for a constraint on a tag.
    """

    constraint: str
    asked: str
    offered: str
    passed: bool
    hint: TextOrNull = ""
    origin: Origin | None = None
    tag: TextOrNull = ""


class LiftingChange(NamedTuple):
    """A single change with which the mapper, when it runs again, takes the destination.

    `words`: `64 CPUs instead of 96`. `would_be_first`: the job then goes there, and does not only
    fit there.
    """

    words: str
    what_if: WhatIf
    would_be_first: bool = False


class TagPoints(NamedTuple):
    """What a tag adds to the score of a destination."""

    tag: str
    points: int


class DestinationLoad(NamedTuple):
    """How busy the partition of a destination is; None: not known.

    `expected_wait_seconds`: until a small job would probably start.
    """

    expected_wait_seconds: float | None = None
    free_cpus: int | None = None
    pending_jobs: int | None = None


class Candidate(NamedTuple):
    """A destination that takes the job. `destination_id`: its id in the mapping files.

    `rank`: from 1, in the order of trying; None if a rank function left it out. `passed_over`: why
    it refused the job when it was tried, "" if it was chosen or never tried.
    """

    destination_id: str
    cluster: str
    partition: TextOrNull
    rank: int | None
    score: int
    by_tag: tuple[TagPoints, ...]
    checks: tuple[ConstraintCheck, ...]
    origin: Origin
    chosen: bool = False
    passed_over: TextOrNull = ""
    load: Flat[DestinationLoad] = DestinationLoad()


class Refusal(NamedTuple):
    """A destination that does not take the job: the failed checks in `failed`, all in `checks`."""

    destination_id: str
    cluster: str
    partition: TextOrNull
    failed: tuple[ConstraintCheck, ...]
    checks: tuple[ConstraintCheck, ...]
    origin: Origin
    changes: tuple[LiftingChange, ...] = ()
    load: Flat[DestinationLoad] = DestinationLoad()


class Decision(NamedTuple):
    """The mapper's result for one job request, with the reasons."""

    request: MappingRequest
    chosen: Placement
    matched: tuple[Matched, ...] = ()
    rules: tuple[RuleOutcome, ...] = ()
    job: Amounts = Amounts()
    tags: tuple[JobTag, ...] = ()
    contributions: tuple[Contribution, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    ranked_by: str = ""
    entity_id: str = ""
