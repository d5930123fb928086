"""Cases for `mapping test`: the request of a job, and the destination that is expected.

The cases run through a mapper, and the differences from the expected results are described in
words; `case_reader` reads them from a file. Source: docs/mapping.md, "Commands".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rowtui.core.base.errors import Problem
from rowtui.core.base.text import visible
from rowtui.core.mapping.code.patterns import LONGEST_SUBJECT, PatternError, compile_pattern
from rowtui.core.mapping.engine.explain import decide
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.model.decision import Decision, MappingOutcome, Placement
from rowtui.core.mapping.model.fields import AMOUNTS
from rowtui.core.mapping.model.origin import FilePosition
from rowtui.core.mapping.model.request import Amounts, MappingRequest

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


class ExpectedDecision(NamedTuple):
    """The expected result. None and empty values are not compared."""

    outcome: MappingOutcome | None = None
    destinations: tuple[str, ...] = ()
    not_destinations: tuple[str, ...] = ()
    amounts: Amounts = Amounts()
    params: Mapping[str, Any] = {}
    env: Mapping[str, Any] = {}
    message: str = ""


def differences_from(expected: ExpectedDecision, placement: Placement) -> Iterator[str]:
    """Yield each difference; none if the placement is as expected."""
    names = {placement.destination, placement.name} if placement.chosen else set()
    went = f"it goes to {visible(placement.destination)}" if placement.chosen else _ended(placement)
    if expected.outcome is not None and placement.outcome is not expected.outcome:
        yield f"the outcome is not {expected.outcome.value}: {went}"
    elif expected.destinations and not names & {*expected.destinations}:
        yield f"expected {either(expected.destinations)}, but {went}"
    for unwanted in expected.not_destinations:
        if unwanted in names:
            yield f"it goes to {visible(unwanted)}, where it may not go"
    if expected.message:
        try:
            found = compile_pattern(expected.message).search(placement.message[:LONGEST_SUBJECT])
        except PatternError as error:
            yield error.message
            return
        if not found:
            text = f"`{visible(placement.message)}`" if placement.message else "there is none"
            yield f"the message does not match `{visible(expected.message)}`: {text}"
    if not placement.chosen:
        return
    for what in AMOUNTS:
        wanted, got = getattr(expected.amounts, what), getattr(placement.amounts, what)
        if wanted is not None and not _same_number(wanted, got):
            yield f"{what} is {_shown(got)}, not {_shown(wanted)}"
    yield from _entries("param", expected.params, placement.params)
    env = {str(each["name"]): each.get("value") for each in placement.env if "name" in each}
    texts = {key: None if value is None else str(value) for key, value in expected.env.items()}
    yield from _entries("variable", texts, env)


def _ended(placement: Placement) -> str:
    words = f": {visible(placement.message)}" if placement.message else ""
    return f"it ends as {placement.outcome.value}{words}"


def either(names: Sequence[str]) -> str:
    """Return the names with "or" between them."""
    return " or ".join(map(visible, names))


def _same_number(wanted: Any, got: Any) -> bool:
    try:
        return float(wanted) == float(got)
    except (TypeError, ValueError, OverflowError):
        return False


def _entries(what: str, wanted: Mapping[str, Any], got: Mapping[str, Any]) -> Iterator[str]:
    for name, value in wanted.items():
        there = got.get(name)
        if there == value and (there is None or type(there) is type(value)):
            continue
        where = f"{what} {visible(name)}"
        if there is None:
            yield f"{where} is not there; expected {_shown(value)}"
        elif value is None:
            yield f"{where} is there: {_shown(there)}"
        elif str(there) == str(value):
            yield f"{where} is {_shown(there)} as {_kind(there)}, not as {_kind(value)}"
        else:
            yield f"{where} is {_shown(there)}, not {_shown(value)}"


def _kind(value: Any) -> str:
    kinds = {str: "text", bool: "true or false", list: "a list", dict: "a map"}
    return kinds.get(type(value), "a number")


def _shown(value: Any) -> str:
    if value is None:
        return "not set"
    text = visible(str(value))
    return f"`{text}`" if isinstance(value, str) else text


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
