"""The differences of a placement from the expected result of a case, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rowtui.core.base.text import visible
from rowtui.core.mapping.code.patterns import LONGEST_SUBJECT, PatternError, compile_pattern
from rowtui.core.mapping.model.decision import MappingOutcome, Placement
from rowtui.core.mapping.model.fields import AMOUNTS
from rowtui.core.mapping.model.request import Amounts


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
            said = f"`{visible(placement.message)}`" if placement.message else "there is none"
            yield f"the message does not match `{visible(expected.message)}`: {said}"
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
