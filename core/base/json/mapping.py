"""JSON objects of the mapper: requests, decisions and explanations."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from rowtui.core.base.json import ProblemJson
from rowtui.core.base.json.directories import AmountsJson, PlaceJson


class OriginJson(TypedDict):
    """Where something is written. `line` and `column` from 1; 0: the whole file."""

    kind: str
    id: str
    rule: str
    file: str
    line: int
    column: int


class PersonJson(TypedDict):
    """The user for whom a job is mapped. `roles`: Unix groups."""

    name: str
    email: str
    roles: list[str]


class AddedTagJson(TypedDict):
    """A tag and how strongly it is meant: require, prefer, accept or reject."""

    tag: str
    strength: str


class WhatIfJson(AmountsJson):
    """Changes to a job that the user asks about; null: unchanged."""

    walltime_seconds: int | None
    drop_tags: list[str]
    add_tags: list[AddedTagJson]


class RequestJson(TypedDict):
    """What the mapper is asked about one job. `declared`: what the action asks for.

    `input_size`: of its declared inputs, GB (2^30 bytes).
    """

    action: str
    user: PersonJson | None
    declared: AmountsJson
    input_size: float
    attempt: int
    cluster: str
    partition: str | None
    walltime_seconds: int | None
    what_if: WhatIfJson | None


class PlacementJson(TypedDict):
    """Where the mapper sends a job and with what, or why nowhere.

    `state`: placed, refused or waiting; `outcome`: the mapper's own word. `destination_id`: the id
    of the destination in the mapping files. `hint`: what the user can do. `cause`: the class of an
    exception in an expression. `params`, `env`, `resubmit`, `handler_tags`: as in the files.
    """

    state: Literal["placed", "refused", "waiting"]
    outcome: str
    reason: str
    destination_id: str | None
    name: str | None
    runner: str | None
    cpus: float | None
    memory_mb: int | None
    gpus: float | None
    env: list[Any]
    params: dict[str, Any]
    resubmit: dict[str, Any]
    handler_tags: list[Any]
    message: str | None
    cause: str | None
    origin: OriginJson | None
    hint: str | None
    notices: list[str]


class MatchedJson(TypedDict):
    """An entity of the mapping files that took part; `pattern` matched `subject`."""

    pattern: str
    subject: str
    origin: OriginJson


class RuleJson(TypedDict):
    """A rule that was evaluated."""

    condition: str
    matched: bool
    effect: str
    origin: OriginJson


class TagJson(TypedDict):
    """A tag of the job."""

    tag: str
    strength: str
    origin: OriginJson


class ReplacedJson(TypedDict):
    """A value that another one won over."""

    written: Any
    origin: OriginJson


class ValueJson(TypedDict):
    """One value of the job. `field` and `value` are as in mapping files: `mem` is in GB."""

    field: str
    value: Any
    written: Any
    origin: OriginJson
    replaced: list[ReplacedJson]


class CheckJson(TypedDict):
    """One constraint of a destination: asked against offered."""

    constraint: str
    asked: str
    offered: str
    passed: bool
    hint: str | None
    origin: OriginJson | None


class PointsJson(TypedDict):
    """What a tag adds to the score of a destination."""

    tag: str
    points: int


class WouldTakeJson(TypedDict):
    """The smallest change with which a destination takes the job."""

    words: str
    would_be_first: bool
    what_if: WhatIfJson


class OfferJson(TypedDict):
    """A destination and how busy it is. `destination_id`: its id in the mapping files."""

    destination_id: str
    cluster: str
    partition: str | None
    origin: OriginJson
    expected_wait_seconds: float | None
    free_cpus: int | None
    pending_jobs: int | None


class CandidateJson(OfferJson):
    """A destination that takes the job. `rank`: null where a rank function left it out."""

    rank: int | None
    score: int
    by_tag: list[PointsJson]
    chosen: bool
    passed_over: str | None
    checks: list[CheckJson]


class RefusalJson(OfferJson):
    """A destination that does not take the job."""

    failed: list[CheckJson]
    checks: list[CheckJson]
    changes: list[WouldTakeJson]


class DecisionJson(PlacementJson):
    """The mapper's answer for one job, with all that led to it.

    `destination`: null without a place. `job`: its amounts before a destination changed them.
    """

    request: RequestJson
    destination: PlaceJson | None
    walltime_seconds: int | None
    matched: list[MatchedJson]
    rules: list[RuleJson]
    job: AmountsJson
    tags: list[TagJson]
    values: list[ValueJson]
    candidates: list[CandidateJson]
    refusals: list[RefusalJson]
    ranked_by: str
    reasons: list[str]


class GroupsDecisionJson(DecisionJson):
    """A decision, and the groups that it holds for: `groups` are ranges of numbers from 1.

    `directory_count` and `first_directory` are of the first of these groups.
    """

    groups: list[list[int]]
    directory_count: int
    first_directory: str


class MappingFileJson(TypedDict):
    """A mapping file, whether its code may run, and why."""

    name: str
    trusted: bool
    because: str


class NotThereJson(TypedDict):
    """`explain` of directories that do not exist yet: by name, what their jobs wait for."""

    version: int
    action: str
    not_there: dict[str, str]


class WorkflowChangeJson(TypedDict):
    """`explain --write` and `--undo`: what changes in workflow.toml. `diff`: lines.

    `written`: only with `--yes`. `fields`: what of the what-if is set. `notes`: what that means.
    """

    version: int
    written: bool
    fields: list[str]
    diff: list[str]
    notes: list[str]


class ExplainedJson(TypedDict):
    """`explain`: where the jobs of an action go, and why.

    `about`: which directories the groups are made of. `group_count`: how many groups there are.
    `why_not`: the destination that was asked about.
    """

    version: int
    action: str
    about: str
    group_count: int
    why_not: str | None
    files: list[MappingFileJson]
    problems: list[ProblemJson]
    decisions: list[GroupsDecisionJson]
