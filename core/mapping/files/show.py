"""Show the values of mapping files for an action and a user, before any job.

The input is a mapper or its lookup; the output is one entity with every value, its origin and the
values that it replaced, and its rules in order, as data for tables and JSON. Nothing is evaluated:
expressions are shown as written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.mapping.code.expressions import number
from rowtui.core.mapping.engine.evaluate import StopMapping
from rowtui.core.mapping.engine.jobs import combined
from rowtui.core.mapping.engine.lookup import EntityLookup, LookupResult
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.model.decision import MappingOutcome, Matched
from rowtui.core.mapping.model.entities import Entity, Rule
from rowtui.core.mapping.model.fields import AMOUNTS, BOUNDS, BUDGETS, env_key
from rowtui.core.mapping.model.origin import Origin, Said
from rowtui.core.mapping.model.request import MappingRequest, Person
from rowtui.core.mapping.yaml.dump import configuration_text
from rowtui.core.workflow.toml_file import did_you_mean

if TYPE_CHECKING:
    from rowtui.core.base.document import Plain

__all__ = ["EffectiveEntity", "EffectiveRule", "Value", "configuration_text", "effective"]


class Value(NamedTuple):
    """One value: `cores`, `params.queue`, `env.PATH`, `context.limit`, `tags.highmem`, ...

    `replaced`: other values, nearest first. `note`: how the value was chosen if it is not simply
    the nearest one.
    """

    field: str
    value: Plain
    origin: Origin
    replaced: tuple[Said, ...] = ()
    note: str = ""


class EffectiveRule(NamedTuple):
    """One rule, with the values that it sets if `condition` holds."""

    id: str
    condition: str
    origin: Origin
    values: tuple[Value, ...] = ()


class EffectiveEntity(NamedTuple):
    """The known values for a job of an action and a user before its rules run.

    `matched`: the entities that took part, in order; `stop`: why no such job can be mapped, "" if
    it can; `untrusted`: the file that has to be trusted first, whose values are included anyway;
    `hint`: a similar entity, if nothing matched.
    """

    action: str
    user: Person | None = None
    id: str = ""
    matched: tuple[Matched, ...] = ()
    values: tuple[Value, ...] = ()
    rules: tuple[EffectiveRule, ...] = ()
    untrusted: str = ""
    stop: str = ""
    stop_origin: Origin | None = None
    hint: str = ""


def effective(
    mapper: Mapper | EntityLookup, tool_id: str, user: Person | None = None
) -> EffectiveEntity:
    """Return the values for jobs of `tool_id` by `user`. Never raises for contents of files."""
    lookup = mapper.lookup if isinstance(mapper, Mapper) else mapper
    found = lookup.of_request(MappingRequest(tool_id, user))
    untrusted = _untrusted(found)
    if untrusted:
        lookup = EntityLookup(lookup.configuration, to_run=False)
        found = lookup.of_request(MappingRequest(tool_id, user))
    hint = "" if found[0].matched else did_you_mean(tool_id, lookup.configuration.of_kind("tools"))
    matched = tuple(each for one in found for each in one.matched)
    answer = EffectiveEntity(tool_id, user, matched=matched, untrusted=untrusted, hint=hint)
    stops: list[StopMapping] = [one.stop for one in found if one.stop is not None]
    entities = [one.entity for one in found if one.entity is not None]
    if stops:
        return answer._replace(stop=stops[0].message, stop_origin=stops[0].origin)
    try:
        whole = combined(entities, lookup.dialect)
    except StopMapping as stop:
        return answer._replace(stop=stop.message, stop_origin=stop.origin)
    values = [
        _settled(value, entities) if lookup.dialect.lower_wins else value
        for value in _values(whole)
    ]
    rules = tuple(map(_rule, _all_rules(entities, whole, early=lookup.dialect.early)))
    return answer._replace(id=whole.id, values=tuple(values), rules=rules)


def _untrusted(found: Sequence[LookupResult]) -> str:
    for one in found:
        stop = one.stop
        if (
            stop is not None
            and stop.outcome is MappingOutcome.UNTRUSTED
            and stop.origin is not None
        ):
            return stop.origin.place.file
    return ""


def _all_rules(entities: Sequence[Entity], whole: Entity, *, early: bool) -> Iterable[Rule]:
    """Return the rules in the order in which they run: entity by entity, or all combined."""
    if early:
        return [rule for entity in entities for rule in entity.rules.values()]
    return whole.rules.values()


def _values(entity: Entity) -> Iterator[Value]:
    for field in (*AMOUNTS, *BOUNDS, *BUDGETS, "rank"):
        value = getattr(entity, field)
        if value is not None:
            yield _value(entity, field, value)
    for name, value in entity.params.items():
        yield _value(entity, f"params.{name}", value)
    for entry in entity.env:
        key = env_key(entry)
        shown = entry["value"] if "name" in entry and "value" in entry else dict(entry)
        yield _value(entity, f"env.{key}", shown)
    for name, value in entity.context.items():
        yield _value(entity, f"context.{name}", value)
    for tag, strength in entity.tpv_tags.strengths().items():
        yield _value(entity, f"tags.{tag}", strength)
    for name, handler in entity.resubmit.items():
        yield _value(entity, f"resubmit.{name}", handler)


def _value(entity: Entity, field: str, value: Any) -> Value:
    chain: list[Said] = []
    for entry in entity.said.get(field, ()):
        if all(origin != entry.origin for _, origin in chain):
            chain.append(entry)
    if not chain:
        return Value(field, value, entity.origin)
    if field.startswith("tags."):  # tags are combined by strength: the strongest claim comes first
        chain.sort(key=lambda each: each[0] != value)
    return Value(field, value, chain[0][1], tuple(chain[1:]))


def _settled(value: Value, entities: Sequence[Entity]) -> Value:
    """Return an amount that several entities set: the lower one (bounds min_*: the higher)."""
    field = value.field
    if field not in {*AMOUNTS, *BOUNDS}:
        return value
    parts = [each for each in reversed(entities) if getattr(each, field) is not None]
    if len(parts) < 2:
        return value
    higher = field.startswith("min_")
    numbers = [number(getattr(each, field)) for each in parts]
    word = "higher" if higher else "lower"
    at = 0
    note = f"the {word} of these once they are worked out"
    if all(each is not None for each in numbers):
        choose = max if higher else min
        at = numbers.index(choose(each for each in numbers if each is not None))
        note = f"the {word} one counts"
    chosen = _value(parts[at], field, getattr(parts[at], field))
    others = tuple(
        Said(getattr(each, field), each.whence(field)) for each in parts if each is not parts[at]
    )
    return chosen._replace(replaced=others + chosen.replaced, note=note)


def _rule(rule: Rule) -> EffectiveRule:
    does = [field for field in ("execute", "fail") if getattr(rule, field)]
    values = [*_values(rule), *(_value(rule, field, getattr(rule, field)) for field in does)]
    condition = rule.if_condition
    words = str(condition).strip() if isinstance(condition, str) else str(condition).lower()
    return EffectiveRule(rule.id, words, rule.whence("if_condition"), tuple(values))
