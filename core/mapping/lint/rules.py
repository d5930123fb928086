"""Find rules that never apply, always fail, or change nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rowtui.core.mapping.code.expressions import compile_block
from rowtui.core.mapping.lint.findings import LintFinding, title, whose
from rowtui.core.mapping.lint.patterns import shape_of
from rowtui.core.mapping.model.configuration import Configuration
from rowtui.core.mapping.model.entities import Destination, Entity, Rule
from rowtui.core.mapping.model.origin import Said


def rule_findings(configuration: Configuration) -> Iterator[LintFinding]:
    """Yield all findings M30x except M305."""
    shared = _shared_ids(configuration)
    seen: set[int] = set()
    for kind, entities in configuration.entities.items():
        default = entities.get(configuration.default_inherits or "")
        for entity in entities.values():
            own = {name: rule for name, rule in entity.rules.items() if id(rule) not in seen}
            seen.update(map(id, own.values()))
            yield from _never(own, shared)
            yield from _after_failure(configuration, entity)
            yield from _all_fail(kind, entity, shared, is_default=entity is default)
            yield from _unchanged(own, default)


def _shared_ids(configuration: Configuration) -> frozenset[str]:
    """Return the ids of rules that several entities have: one may replace another."""
    seen: set[str] = set()
    shared: set[str] = set()
    for file in configuration.files:
        for entities in file.entities.values():
            for entity in entities.values():
                shared |= seen & entity.rules.keys()
                seen |= entity.rules.keys()
    return frozenset(shared)


def _never(rules: Mapping[str, Rule], shared: frozenset[str]) -> Iterator[LintFinding]:
    for name, rule in rules.items():
        condition = rule.if_condition
        if condition is None or name in shared or flag(condition) is not False:
            continue  # `if: false` may switch off a rule of another entity
        yield LintFinding(
            "M301",
            rule.whence("if_condition").place,
            f"{whose(rule.origin)} never applies: its condition is always false",
            "Remove it, or write its condition",
        )


def _always_fails(rule: Rule) -> bool:
    return flag(rule.if_condition) is True and bool(rule.fail)


def _after_failure(configuration: Configuration, entity: Entity) -> Iterator[LintFinding]:
    rules = list(entity.rules.values())
    for at, rule in enumerate(rules[:-1]):
        if _always_fails(rule):
            count = len(rules) - at - 1
            effect = "fails the job"
            if isinstance(entity, Destination) and not configuration.dialect.fail_ends_all:
                effect = "refuses every job"
            words = "the rule" if count == 1 else f"the {count} rules"
            yield LintFinding(
                "M302",
                rules[at + 1].place,
                f"{words} of {title(entity)} from here on never run: "
                f"{whose(rule.origin)} always {effect}",
                f"It is written at {rule.place}",
            )
            return


def _all_fail(
    kind: str, entity: Entity, shared: frozenset[str], *, is_default: bool
) -> Iterator[LintFinding]:
    """Yield rules that fail all jobs; `fail` without a condition may close a single entity."""
    shape = shape_of(entity.id)
    matches_all = shape is not None and not shape.name and not shape.closed
    if not is_default and (kind in {"destinations", "pools"} or not matches_all):
        return
    for name, rule in entity.rules.items():
        if _always_fails(rule) and name not in shared:
            what = "no destination takes a job" if kind == "destinations" else "every job fails"
            yield LintFinding(
                "M303",
                rule.place,
                f"{what}: {whose(rule.origin)} always applies, and to all {kind}",
                "Write a condition, or put the rule into the entities that it is meant for",
                "error",
            )


def _unchanged(rules: Mapping[str, Rule], default: Entity | None) -> Iterator[LintFinding]:
    for name, rule in rules.items():
        own: dict[str, object] = {}
        under: dict[str, Said] = {}
        for field, chain in rule.said.items():
            inherited = chain
            if _is_own(rule, chain[0]):
                own[field] = chain[0].value
                inherited = chain[1:]
            if inherited:
                under[field] = inherited[0]
        parent = default.rules.get(name) if default is not None else None
        for field, chain in parent.said.items() if parent and parent is not rule else ():
            under.setdefault(field, chain[0])
        own.pop("id", None)
        if own and all(f in under and under[f].value == value for f, value in own.items()):
            place = min(entry.origin.place for entry in under.values())
            yield LintFinding(
                "M304",
                rule.place,
                f"{whose(rule.origin)} overrides the one at {place} without changing anything",
                "Remove it: the rule is inherited as it is",
                "note",
            )


def _is_own(rule: Rule, said: Said) -> bool:
    """Whether the rule itself sets the value; an inherited value has another entity as origin."""
    one, other = said.origin, rule.origin
    return (one.kind, one.id, one.place.file) == (other.kind, other.id, other.place.file)


def flag(condition: Any) -> bool | None:
    """Return the constant value of a condition; None if it is not constant."""
    if isinstance(condition, bool):
        return condition
    code = compile_block(str(condition))
    return bool(code.value) if code.constant else None
