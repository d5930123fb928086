"""Which entities concern a job: by regular expression, in order of appearance, with the defaults.

Takes a configuration; gives, for an action's name, a user's or a role's, one entity with everything
inherited, or why there is none. Each answer is worked out once.
Source: seed text "Multiple matches", "Default inheritance"; reference tpv.md A6.
"""

from __future__ import annotations

import re
from functools import reduce
from typing import NamedTuple

from rowtui.core.mapping.configuration import Configuration, one_line
from rowtui.core.mapping.decision import Matched, Outcome
from rowtui.core.mapping.entities import AMOUNTS, KINDS, Destination, Entity, Tool, inherit
from rowtui.core.mapping.evaluate import StopMapping
from rowtui.core.mapping.origin import Origin
from rowtui.core.mapping.patterns import PatternError, compile_pattern
from rowtui.core.mapping.request import Amounts, MappingRequest
from rowtui.core.text import visible

UNKNOWN_TOOL = "unknown_tool_id"
_LONGEST_ID = 512  # what patterns are checked for


class Found(NamedTuple):
    """What a lookup gave. `stop`: why a job with this match cannot be mapped at all."""

    entity: Entity | None = None
    matched: tuple[Matched, ...] = ()
    stop: StopMapping | None = None


class Lookup:
    """The entities of one configuration, by what they match."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.dialect = configuration.dialect
        self._patterns = {
            kind: [
                (key, pattern)
                for key in configuration.of_kind(kind)
                if (pattern := _pattern(key)) is not None
            ]
            for kind in ("tools", "roles", "users")
        }
        self._found: dict[tuple[str, str], Found] = {}
        self._tools: dict[tuple[str, str, Amounts, Amounts], Found] = {}

    def tool(self, request: MappingRequest) -> Found:
        """The tool entity of a job; there always is one, unless the job must stop."""
        key = (request.tool_id, request.tool_type, request.declared, request.assumed)
        found = self._tools.get(key)
        if found is None:
            found = self._tools[key] = self._tool(request)
        return found

    def role(self, name: str) -> Found:
        """The entity of a role, if any matches."""
        return self._lookup("roles", name)

    def user(self, name: str) -> Found:
        """The entity of a user, if any matches."""
        return self._lookup("users", name)

    def _tool(self, request: MappingRequest) -> Found:
        name = (request.tool_id or UNKNOWN_TOOL)[:_LONGEST_ID]
        of_job = Origin("request", name)
        label = f"tool_provided_resources_{request.tool_id}"
        under = _said_by_job(label, request.assumed, of_job)
        over = _said_by_job(label, request.declared, of_job)
        if self.dialect.tool_type_tags:
            over = over or Tool(label, of_job)
            over.tpv_tags.put("accept", f"tool_type_{request.tool_type}")
            over.say(f"tags.tool_type_{request.tool_type}", "accept")
        found = self._matching("tools", name, under, over)
        if found.entity is None and found.stop is None:
            return Found(Tool(name, of_job), found.matched)
        if not found.matched and found.entity is not None and self.dialect.keeps_id:
            entity = found.entity.shallow()
            entity.id = name
            return Found(entity, found.matched)
        return found

    def _lookup(self, kind: str, name: str) -> Found:
        key = (kind, name)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._matching(kind, name[:_LONGEST_ID], None, None)
        return found

    def _matching(self, kind: str, name: str, under: Entity | None, over: Entity | None) -> Found:
        """Defaults first, then every match in order, each inheriting from those before it."""
        entities = self.configuration.of_kind(kind)
        chain = [] if under is None else [under]
        matched = []
        default = self.default(kind)
        if default is not None:
            chain.append(default)
            matched.append(Matched(default.origin, "", "default_inherits"))
        if over is not None:
            chain.append(over)
        for key, pattern in self._patterns[kind]:
            if pattern.match(name):
                entity = entities[key]
                matched.append(Matched(entity.origin, key, name))
                stop = self._why_not(kind, key, entity)
                if stop is not None:
                    return Found(None, tuple(matched), stop)
                chain.append(entity)
        if default is not None:
            stop = self._why_not(kind, default.id, default, is_default=True)
            if stop is not None:
                return Found(None, tuple(matched), stop)
        if not chain:
            return Found(None, tuple(matched))
        return Found(reduce(lambda a, b: inherit(b, a, self.dialect), chain), tuple(matched))

    def default(self, kind: str) -> Entity | None:
        """The entity of a kind that all others inherit from, if there is one of that name."""
        name = self.configuration.default_inherits
        return self.configuration.of_kind(kind).get(name) if name else None

    def _why_not(
        self, kind: str, key: str, entity: Entity, *, is_default: bool = False
    ) -> StopMapping | None:
        if entity.abstract and not is_default:
            message = f"{entity.kind} {visible(key)} is abstract: it is only there to inherit from"
            return StopMapping(Outcome.FAILED, message, entity.origin, "JobMappingException")
        return self.why_unusable(kind, key, entity)

    def why_unusable(self, kind: str, key: str, entity: Entity) -> StopMapping | None:
        """Why an entity may not be evaluated: it has an error, or nobody trusts its file."""
        problem = self.configuration.broken.get((kind, key))
        if problem is not None:
            message = one_line(problem)
            return StopMapping(Outcome.BROKEN, message, entity.origin, "InvalidFileError")
        sealed = sealed_origin(entity)
        if sealed is not None:
            message = f"{sealed.place.file} is not trusted yet"
            return StopMapping(Outcome.UNTRUSTED, message, sealed)
        return None

    def destinations(self, added: tuple[Destination, ...] = ()) -> list[Destination]:
        """All destinations with what they inherit, in order; `added` come after the files'."""
        under: list[Entity] = []
        default = self.default("destinations")
        if default is not None:
            under.append(default)
        if self.dialect.tool_type_tags:
            guard = Destination("tool_type_secure_defaults")
            guard.tpv_dest_tags.put("reject", "tool_type_user_defined")
            under.append(guard)
        found = []
        for entity in (*self.configuration.of_kind("destinations").values(), *added):
            whole = reduce(lambda a, b: inherit(b, a, self.dialect), [*under, entity])
            assert isinstance(whole, Destination)
            found.append(_with_capacity(whole) if self.dialect.own_amounts_are_capacity else whole)
        for each in found:
            each.dialect = self.dialect
        return found


def sealed_origin(entity: Entity) -> Origin | None:
    """Who in an untrusted file had a part in an entity, if anybody."""
    if entity.origin.sealed:
        return entity.origin
    for said in entity.said.values():
        for each in said:
            if each.origin.sealed:
                return each.origin
    for rule in entity.rules.values():
        if rule.origin.sealed:
            return rule.origin
    return None


def _pattern(key: str) -> re.Pattern[str] | None:
    try:
        return compile_pattern(key)
    except PatternError:
        return None  # a problem of the file, told when it was loaded


def _said_by_job(name: str, amounts: Amounts, origin: Origin) -> Tool | None:
    if amounts == Amounts():
        return None
    entity = KINDS["tools"](name, origin)
    for field in AMOUNTS:
        value = getattr(amounts, field)
        if value is not None:
            setattr(entity, field, value)
            entity.say(field, value)
    assert isinstance(entity, Tool)
    return entity


def _with_capacity(destination: Destination) -> Destination:
    """cores, mem and gpus of a destination say what it has (seed): the most that it accepts."""
    for name in AMOUNTS:
        value = getattr(destination, name)
        if isinstance(value, str):
            value = float(value)  # checked when it was loaded
        accepted = getattr(destination, f"max_accepted_{name}")
        if value is not None and (accepted is None or value < accepted):
            setattr(destination, f"max_accepted_{name}", value)
            destination.said[f"max_accepted_{name}"] = destination.said.get(name, ())
    return destination
