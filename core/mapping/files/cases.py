"""Cases for `mapping test`: the request of a job, and the destination that is expected.

The cases run through a mapper, and the differences from the expected results are described in
words; `case_reader` reads them from a file. Source: docs/mapping.md, "Commands".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rowtui.core.base.errors import Problem
from rowtui.core.mapping.engine.explain import decide
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.files.case_differences import ExpectedDecision, differences_from
from rowtui.core.mapping.model.decision import Decision, MappingOutcome, Placement
from rowtui.core.mapping.model.origin import FilePosition
from rowtui.core.mapping.model.request import MappingRequest

CASE_KEYS: Mapping[str, str] = {
    "name": "the name of the case in the report",
    "tool": "the action that is mapped",
    "action": "the same as tool",
    "user": "who submits it: a login name; with an @ an e-mail address",
    "roles": "the groups of the user, in order",
    "input_size": "GB of the declared inputs",
    "attempt": "which attempt it is, from 1",
    "cores": "the resources of the action itself",
    "mem": "the same, in GB",
    "gpus": "the same",
    "directories": "the names of the directories in the job",
    "values": "their values",
    "version": "the version of the action",
    "state": "the state of the job, `new` or `resubmitted`",
    "params": "parameters of the job",
    "previous_params": "the destination's parameters at the attempt before",
    "history_tags": "tags of Galaxy's history, `name` or `name:value`, for files of TPV",
    "preferences": "the user's `extra_preferences` in Galaxy, for files of TPV",
    "cluster": "the cluster on which it is submitted",
    "expect": "the expected outcome",
}
EXPECT_KEYS: Mapping[str, str] = {
    "destination": "the id (or name) of the destination, or a list of which one is right",
    "not_destination": "destinations, one or a list, where it may not go",
    "outcome": "how it ends: " + ", ".join(outcome.value for outcome in MappingOutcome),
    "cores": "the cores that it gets",
    "mem": "the memory that it gets, in GB",
    "gpus": "the GPUs that it gets",
    "params": "parameters of the destination with their values; null: not there",
    "env": "environment variables with their values; null: not there",
    "message": "a regular expression that is found in the message",
}
OUTCOMES = tuple(outcome.value for outcome in MappingOutcome)


class Case(NamedTuple):
    """One request and its expected result."""

    name: str
    place: FilePosition
    request: MappingRequest
    expected: ExpectedDecision


class Cases(NamedTuple):
    """The valid cases of a file, and the problems of the file."""

    cases: tuple[Case, ...] = ()
    problems: tuple[Problem, ...] = ()


class CaseResult(NamedTuple):
    """The result of a case.

    `differences` are in words; `decision`: the reasons, if the case failed.
    """

    case: Case
    placement: Placement
    differences: tuple[str, ...] = ()
    decision: Decision | None = None

    @property
    def passed(self) -> bool:
        """Whether the result is as expected."""
        return not self.differences


def run_cases(mapper: Mapper, cases: Sequence[Case]) -> tuple[CaseResult, ...]:
    """Run every case through the mapper, in order."""
    return tuple(_run(mapper, case) for case in cases)


def _run(mapper: Mapper, case: Case) -> CaseResult:
    placement = mapper.place(case.request)
    differences = tuple(differences_from(case.expected, placement))
    decision = decide(mapper, case.request) if differences else None
    return CaseResult(case, placement, differences, decision)
