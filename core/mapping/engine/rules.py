"""Rules: conditions in order, each changing the entity for the rules after it.

The resulting entity depends only on which rules applied, so each entity is computed once for every
sequence of results that occurs (`RuleState`); only rules with `execute` make an entity for a single
request. Source: TPV's documentation, "Rules".
"""

from __future__ import annotations

from typing import Any

from rowtui.core.mapping.code.expressions import compile_block, compile_execute
from rowtui.core.mapping.code.model import Code
from rowtui.core.mapping.engine.evaluate import Evaluator, Namespace, StopMapping
from rowtui.core.mapping.engine.notes import MappingNotes
from rowtui.core.mapping.model.decision import MappingOutcome
from rowtui.core.mapping.model.dialect import Dialect
from rowtui.core.mapping.model.entities import Entity, Rule, inherit
from rowtui.core.mapping.model.origin import Origin
from rowtui.core.mapping.model.tags import SchedulingTags


class RuleState:
    """An entity after some of its rules. Shared between requests; never changed."""

    __slots__ = ("_no", "_yes", "applied", "at", "entity", "rules", "shared")

    def __init__(
        self,
        entity: Entity,
        rules: tuple[CompiledRule, ...],
        at: int = 0,
        *,
        applied: bool = False,
        shared: bool = True,
    ) -> None:
        """`at`: the next rule; `applied`: whether any has; `shared`: not for a single request."""
        self.entity = entity
        self.shared = shared
        self.rules = rules
        self.at = at
        self.applied = applied
        self._no: RuleState | None = None
        self._yes: RuleState | None = None

    @classmethod
    def start(cls, entity: Entity) -> RuleState:
        """Return the state before any rule."""
        return cls(entity, tuple(map(CompiledRule, entity.rules.values())))

    def skip(self) -> RuleState:
        """Return the state if the next rule does not apply."""
        if self._no is None:
            self._no = RuleState(
                self.entity, self.rules, self.at + 1, applied=self.applied, shared=self.shared
            )
        return self._no

    def apply(self, dialect: Dialect) -> RuleState:
        """Return the state if the next rule applies (a rule without `execute`)."""
        if self._yes is None:
            entity = apply_rule(self.rules[self.at].rule, self.entity, dialect)
            self._yes = RuleState(entity, self.rules, self.at + 1, applied=True, shared=self.shared)
        return self._yes


class CompiledRule:
    """A rule with its code."""

    __slots__ = ("condition", "execute", "origin", "rule")

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.origin = rule.whence("if_condition")
        condition = rule.if_condition
        text = condition if isinstance(condition, str) else str(condition)
        self.condition: Code = compile_block(text)
        self.execute = compile_execute(rule.execute) if rule.execute else None


def run_rules(
    state: RuleState,
    namespace: Namespace,
    evaluator: Evaluator,
    notes: MappingNotes | None,
    *,
    announce: bool,
) -> RuleState:
    """Return the state after all rules.

    `announce`: the namespace holds this entity as `entity` from the start, and not only after a
    rule has applied (True for jobs, False for destinations). Raises: StopMapping, TryNextError.
    """
    rules = state.rules
    while state.at < len(rules):
        compiled = rules[state.at]
        rule = compiled.rule
        if announce or state.applied:
            namespace["entity"] = state.entity
            if announce and not state.applied:
                namespace["self"] = state.entity
        if not _holds(compiled, namespace, evaluator):
            state = state.skip()
            if notes is not None:
                notes.rule(rule, False)
            continue
        if rule.fail:
            if notes is not None:
                notes.rule(rule, True)
            _fail(rule, namespace, evaluator)
        if compiled.execute is None:
            state = state.apply(evaluator.dialect)
        else:
            entity = _executed(compiled, state, namespace, evaluator)
            state = RuleState(entity, rules, state.at + 1, applied=True, shared=False)
        namespace["entity"] = state.entity
        if notes is not None:
            notes.rule(rule, True)
    return state


def _holds(compiled: CompiledRule, namespace: Namespace, evaluator: Evaluator) -> bool:
    code = compiled.condition
    if code.constant:
        return bool(code.value)
    origin = compiled.origin
    value = evaluator.value(code, namespace, origin)
    try:
        return bool(value)
    except Exception as error:  # a class of the site may raise any exception
        message = f"the condition has no truth value: {type(error).__name__}: {error}"
        raise StopMapping(MappingOutcome.ERROR, message, origin, type(error).__name__) from error


def _fail(rule: Rule, namespace: Namespace, evaluator: Evaluator) -> None:
    origin = rule.whence("fail")
    message = evaluator.value(evaluator.text(str(rule.fail)), namespace, origin)
    raise StopMapping(MappingOutcome.FAILED, str(message), origin, "JobMappingException")


def apply_rule(rule: Rule, entity: Entity, dialect: Dialect) -> Entity:
    """Return the rule's properties over the entity's."""
    new = inherit(rule, entity, dialect)
    new.origin = entity.origin
    new.rules = entity.rules
    new.abstract = entity.abstract
    new.id = entity.id if dialect.keeps_id else f"{rule.id}, Rule: {rule.id}"
    return new


def _executed(
    compiled: CompiledRule, state: RuleState, namespace: Namespace, evaluator: Evaluator
) -> Entity:
    """Return the entity after `execute` has run on `entity` in the namespace."""
    rule, dialect = compiled.rule, evaluator.dialect
    assert compiled.execute is not None
    origin = rule.whence("execute")
    if dialect.execute_keeps_rule:
        entity = apply_rule(rule, state.entity, dialect).private()
        namespace["entity"] = entity
        evaluator.value(compiled.execute, namespace, origin)
        _settle_shapes(entity, origin)
        _note_changes(entity, state.entity, origin)
        return entity
    # As in TPV, the code changes the `entity` in the namespace. Before any rule has applied, this
    # is not yet the copy that rules change, so the result is laid over that copy.
    seen: Entity = namespace["entity"]
    under = state.entity.private()  # may share containers with the entity that the code changes
    changed = seen if dialect.changes_in_place and seen is not state.entity else seen.private()
    namespace["entity"] = changed
    evaluator.value(compiled.execute, namespace, origin)
    _settle_shapes(changed, origin)
    _note_changes(changed, seen, origin)
    new = changed
    if seen is not state.entity or not state.applied:
        new = inherit(changed, under, dialect)
        new.rules = state.entity.rules
    new.id = f"{changed.id}, Rule: {changed.id}"
    return new


def _settle_shapes(entity: Entity, origin: Origin) -> None:
    """Refuse values that no later step accepts, since code may set any attribute to anything.

    Tags get the form of one list for each tag again: code may set a list to None, or add a tag to a
    second list. Raises: StopMapping.
    """
    wrong = [
        name
        for name in ("params", "context", "resubmit", "rules")
        if not isinstance(getattr(entity, name), dict)
    ]
    wrong += [
        name
        for name in ("tpv_tags", "tpv_dest_tags")
        if not _are_tags(getattr(entity, name, entity.tpv_tags))
    ]
    if not isinstance(entity.env, list) or not all(isinstance(each, dict) for each in entity.env):
        wrong.append("env")
    if wrong or not isinstance(entity.id, str):
        what = wrong[0] if wrong else "id"
        message = f"the code of execute left {what} with an invalid value"
        raise StopMapping(MappingOutcome.ERROR, message, origin, "TypeError")
    entity.tpv_tags = entity.tpv_tags.over(entity.tpv_tags)


def _are_tags(value: object) -> bool:
    return isinstance(value, SchedulingTags) and all(
        tags is None
        or (isinstance(tags, (list, tuple, set)) and all(isinstance(tag, str) for tag in tags))
        for tags in (value.require, value.prefer, value.accept, value.reject)
    )


def _note_changes(entity: Entity, before: Entity, origin: Origin) -> None:
    """Record the origin of every simple value that code has changed."""
    for field, value in entity.__dict__.items():
        if field in _NOT_VALUES:
            continue
        old = getattr(before, field, None)
        if isinstance(value, dict):
            _note_each(entity, field, value, old if isinstance(old, dict) else {}, origin)
        elif value is not old and value != old:
            entity.note(field, value, origin)
    for tag, strength in entity.tpv_tags.strengths().items():
        if before.tpv_tags.strengths().get(tag) != strength:
            entity.note(f"tags.{tag}", strength, origin)


_NOT_VALUES = frozenset({"id", "origin", "said", "rules", "tpv_tags", "tpv_dest_tags", "env"})


def _note_each(
    entity: Entity, field: str, values: dict[str, Any], old: dict[str, Any], origin: Origin
) -> None:
    for name, value in values.items():
        if name not in old or old[name] != value:
            entity.note(f"{field}.{name}", value, origin)
