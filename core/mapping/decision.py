"""What the mapper answers, with every reason as a value.

`Placement` is the short answer: where a job goes and with what, or why nowhere. `Decision` is the
long one, made for people: which entities matched, what each contributed, every destination with
every constraint, and the smallest changes that would admit the job elsewhere.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.mapping.request import Amounts

if TYPE_CHECKING:
    from rowtui.core.mapping.origin import Origin
    from rowtui.core.mapping.request import MappingRequest, WhatIf


class Outcome(enum.Enum):
    """How a mapping ended."""

    CHOSEN = "chosen"
    NOWHERE = "nowhere"  # no destination takes the job
    FAILED = "failed"  # a rule says `fail`
    WAITS = "waits"  # a rule says not yet
    INCOMPATIBLE = "incompatible"  # tags of action, role and user contradict each other
    UNTRUSTED = "untrusted"  # it needs a file that nobody has trusted
    BROKEN = "broken"  # an entity that it needs has an error
    ERROR = "error"  # an expression went wrong


class Placement(NamedTuple):
    """Where a job goes and with what. Containers are shared: look, never change.

    `destination` is the entity's id, `name` what it is called where jobs are sent. `message`,
    `origin` and `cause` (the class of an exception) say what went wrong, and where it is written.
    """

    outcome: Outcome
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
        """Whether the job has a place to go."""
        return self.outcome is Outcome.CHOSEN


class Matched(NamedTuple):
    """An entity that took part: `pattern` matched `subject` ("" where it was not looked up)."""

    origin: Origin
    pattern: str = ""
    subject: str = ""


class RuleOutcome(NamedTuple):
    """One rule that was evaluated. `effect`: what it changed, in words."""

    origin: Origin
    condition: str
    matched: bool
    effect: str = ""


class Contribution(NamedTuple):
    """One value of the job and who said it; `replaced`: what it won over, nearest first.

    `field`: `mem`, `params.partition`, `env.OMP_NUM_THREADS`, `tags.highmem`, ...; `value`: as
    evaluated, `written`: as written.
    """

    field: str
    value: Any
    written: Any
    origin: Origin
    replaced: tuple[tuple[Any, Origin], ...] = ()


class Check(NamedTuple):
    """One constraint of one destination: what was asked, what is offered.

    `constraint`: `max_accepted_cores`, `tag highmem`, `maximum_walltime`, ...; `tag`: the tag as it
    is written, where it is about one.
    """

    constraint: str
    asked: str
    offered: str
    passed: bool
    hint: str = ""
    origin: Origin | None = None
    tag: str = ""


class Change(NamedTuple):
    """A single change after which the mapper, run again with it, takes the destination.

    `words`: `cores 96 -> 64`. `first`: the job then also goes there, not only could.
    """

    words: str
    what_if: WhatIf
    first: bool = False


class Candidate(NamedTuple):
    """A destination that passed every check. `rank`: from 1, in the order of trying.

    `by_tag`: what each tag added to the score. `tried`: why it was passed over when its turn
    came, "" if it was chosen or never reached.
    """

    destination: str
    cluster: str
    partition: str
    rank: int
    score: int
    by_tag: tuple[tuple[str, int], ...]
    checks: tuple[Check, ...]
    origin: Origin
    chosen: bool = False
    tried: str = ""


class Refusal(NamedTuple):
    """A destination that does not take the job: what failed first in `failed`, all in `checks`."""

    destination: str
    cluster: str
    partition: str
    failed: tuple[Check, ...]
    checks: tuple[Check, ...]
    origin: Origin
    changes: tuple[Change, ...] = ()


class Decision(NamedTuple):
    """The mapper's answer for one job request, with the reasons."""

    request: MappingRequest
    chosen: Placement
    matched: tuple[Matched, ...] = ()
    rules: tuple[RuleOutcome, ...] = ()
    job: Amounts = Amounts()
    tags: tuple[tuple[str, str, Origin], ...] = ()  # strength, tag, who said so
    contributions: tuple[Contribution, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    ranked_by: str = ""
    entity_id: str = ""
