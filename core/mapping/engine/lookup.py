"""Find the entities for a job: by regular expression, in order of appearance, with defaults.

The input is a configuration; the output is, for the name of an action, a user or a role, one entity
with all inherited values, or why there is none. Each result is computed once. Source: TPV's
documentation, "Multiple matches" and "Default inheritance".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import reduce
from itertools import islice
from typing import NamedTuple

from rowtui.core.base.text import visible
from rowtui.core.mapping.code.patterns import PatternError, TimedPattern, compile_pattern
from rowtui.core.mapping.engine.evaluate import StopMapping
from rowtui.core.mapping.model.configuration import Configuration, one_line
from rowtui.core.mapping.model.decision import MappingOutcome, Matched
from rowtui.core.mapping.model.entities import KINDS, Destination, Entity, Tool, inherit
from rowtui.core.mapping.model.fields import AMOUNTS
from rowtui.core.mapping.model.origin import Origin
from rowtui.core.mapping.model.request import Amounts, MappingRequest

UNKNOWN_TOOL = "unknown_tool_id"
_LONGEST_ID = 512  # characters that patterns are matched with


class LookupResult(NamedTuple):
    """The result of a lookup. `stop`: why a job with this match cannot be mapped at all."""

    entity: Entity | None = None
    matched: tuple[Matched, ...] = ()
    stop: StopMapping | None = None


class EntityLookup:
    """The entities of one configuration, by the names that they match.

    `to_run`: entities of untrusted files stop their jobs; False: no code is run, as for checks.
    """

    def __init__(self, configuration: Configuration, *, to_run: bool = True) -> None:
        self.configuration = configuration
        self.dialect = configuration.dialect
        self._to_run = to_run
        self._ids = {
            kind: EntityIds(configuration.of_kind(kind)) for kind in ("tools", "roles", "users")
        }
        self._found: dict[tuple[str, str], LookupResult] = {}
        self._tools: dict[tuple[str, str, Amounts, Amounts], LookupResult] = {}

    def entities(
        self, request: MappingRequest
    ) -> tuple[list[Entity], tuple[Matched, ...], StopMapping | None]:
        """Return the tool, role and user entities of a job, their matches, or why it stops."""
        if self.configuration.unusable:
            return [], (), StopMapping(MappingOutcome.BROKEN, self.configuration.unusable)
        if self.configuration.sealed_globals:
            name = self.configuration.sealed_globals
            message = f"{name} is not trusted yet, and its `global` section concerns every job"
            return [], (), StopMapping(MappingOutcome.UNTRUSTED, message)
        found = self.of_request(request)
        matched = tuple(each for one in found for each in one.matched)
        stop = next((one.stop for one in found if one.stop is not None), None)
        return [one.entity for one in found if one.entity is not None], matched, stop

    def of_request(self, request: MappingRequest) -> list[LookupResult]:
        """Return the results for the tool of a job, the first role with any match, and the user."""
        found = [self.tool(request)]
        if request.user is not None:
            roles = (self.role(name) for name in request.user.roles)
            matching = (one for one in roles if one.entity is not None or one.stop is not None)
            found += islice(matching, 1)
            found.append(self.user(request.user.key))
        return found

    def tool(self, request: MappingRequest) -> LookupResult:
        """Return the tool entity of a job; there is always one, unless the job must stop."""
        key = (request.tool_id, request.tool_type, request.declared, request.assumed)
        found = self._tools.get(key)
        if found is None:
            found = self._tools[key] = self._tool(request)
        return found

    def role(self, name: str) -> LookupResult:
        """Return the entity of a role, if any matches."""
        return self._lookup("roles", name)

    def user(self, name: str) -> LookupResult:
        """Return the entity of a user, if any matches."""
        return self._lookup("users", name)

    def _tool(self, request: MappingRequest) -> LookupResult:
        name = (request.tool_id or UNKNOWN_TOOL)[:_LONGEST_ID]
        of_job = Origin("request", name)
        label = f"tool_provided_resources_{request.tool_id}"
        under = _said_by_job(label, request.assumed, of_job)
        over = _said_by_job(label, request.declared, of_job)
        if self.dialect.tool_type_tags:
            over = over or Tool(label, of_job)
            over.tpv_tags.put("accept", f"tool_type_{request.tool_type}")
            over.say(f"tags.tool_type_{request.tool_type}", "accept")
            over.speak(self.dialect)
        found = self._matching("tools", name, under, over)
        if found.entity is None and found.stop is None:
            unknown = Tool(name, of_job)
            unknown.speak(self.dialect)
            return LookupResult(unknown, found.matched)
        if not found.matched and found.entity is not None and self.dialect.keeps_id:
            entity = found.entity.shallow()
            entity.id = name
            return LookupResult(entity, found.matched)
        return found

    def _lookup(self, kind: str, name: str) -> LookupResult:
        key = (kind, name)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._matching(kind, name[:_LONGEST_ID], None, None)
        return found

    def _matching(
        self, kind: str, name: str, under: Entity | None, over: Entity | None
    ) -> LookupResult:
        """Combine the defaults and every match in order, each inheriting from those before it."""
        entities = self.configuration.of_kind(kind)
        chain = [] if under is None else [under]
        matched = []
        default = self.default(kind)
        if default is not None:
            chain.append(default)
            matched.append(Matched(default.origin, "", "default_inherits"))
        if over is not None:
            chain.append(over)
        for each in self._ids[kind].candidates(name):
            key = each.key
            entity = entities[key]
            try:
                matches = each.matches(name)
            except PatternError as error:
                message = f"the id of {entity.kind} {visible(key)}: {error.message}"
                slow = StopMapping(MappingOutcome.ERROR, message, entity.origin, "TimeLimitError")
                return LookupResult(None, tuple(matched), slow)
            if matches:
                matched.append(Matched(entity.origin, key, name))
                stop = self._why_not(kind, key, entity)
                if stop is not None:
                    return LookupResult(None, tuple(matched), stop)
                chain.append(entity)
        if default is not None:
            stop = self._why_not(kind, default.id, default, is_default=True)
            if stop is not None:
                return LookupResult(None, tuple(matched), stop)
        if not chain:
            return LookupResult(None, tuple(matched))
        return LookupResult(reduce(lambda a, b: inherit(b, a, self.dialect), chain), tuple(matched))

    def default(self, kind: str) -> Entity | None:
        """Return the entity of a kind that all others inherit from, if it exists."""
        name = self.configuration.default_inherits
        return self.configuration.of_kind(kind).get(name) if name else None

    def _why_not(
        self, kind: str, key: str, entity: Entity, *, is_default: bool = False
    ) -> StopMapping | None:
        if entity.abstract and not is_default:
            message = f"{entity.kind} {visible(key)} is abstract: it is only there to inherit from"
            return StopMapping(MappingOutcome.FAILED, message, entity.origin, "JobMappingException")
        return self.why_unusable(kind, key, entity)

    def why_unusable(self, kind: str, key: str, entity: Entity) -> StopMapping | None:
        """Return why an entity may not be evaluated: it has an error, or its file is untrusted."""
        problem = self.configuration.broken.get((kind, key))
        if problem is not None:
            message = one_line(problem)
            return StopMapping(MappingOutcome.BROKEN, message, entity.origin, "InvalidFileError")
        sealed = sealed_origin(entity) if self._to_run else None
        if sealed is not None:
            message = f"{sealed.place.file} is not trusted yet"
            return StopMapping(MappingOutcome.UNTRUSTED, message, sealed)
        return None

    def destinations(self, added: tuple[Destination, ...] = ()) -> list[Destination]:
        """Return all destinations with inherited values, in order; `added` are the last ones."""
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
            each.speak(self.dialect)
        return found


def sealed_origin(entity: Entity) -> Origin | None:
    """Return the origin of a value from an untrusted file in an entity, or None."""
    for holder in (entity, *entity.rules.values()):  # a trusted rule may inherit from a sealed one
        if holder.origin.sealed:
            return holder.origin
        for entry in holder.said.values():
            for each in entry:
                if each.origin.sealed:
                    return each.origin
    return None


# Characters that match one character each, with an optional `.*` at the end: most ids of tools.
_PLAIN_ID = re.compile(r"([A-Za-z0-9_/@:.-]*?)(?:\.\*)?").fullmatch
_LONGEST_PLAIN_ID = 1_000


def plain_id(key: str) -> str | None:
    """Return the part of a simple id that every matching name begins with, or None.

    In a simple id, dots stand for any character, and there is at most a `.*` at the end. A simple
    id is a valid pattern and quick to match.
    """
    found = _PLAIN_ID(key) if len(key) <= _LONGEST_PLAIN_ID else None
    return found[1] if found else None


class EntityIds:
    """The ids of one kind, by the start of the names that match them."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._by_start: dict[str, list[_Id]] = {}
        for at, key in enumerate(keys):
            each = _Id(key, at)
            self._by_start.setdefault(each.start, []).append(each)
        self._lengths = sorted(set(map(len, self._by_start)))

    def candidates(self, name: str) -> list[_Id]:
        """Return the ids that a name may match, in the order of the files."""
        found: list[_Id] = []
        for length in self._lengths:
            if length > len(name):
                break
            found += self._by_start.get(name[:length], ())
        found.sort(key=lambda each: each.at)
        return found


class _Id:
    """An id as a pattern, compiled when a name may match it first: compiling takes 0.1 ms.

    `start`: the start of every matching name; `at`: the position of the id among all ids.
    """

    __slots__ = ("_pattern", "_too_slow", "at", "key", "start")

    def __init__(self, key: str, at: int) -> None:
        self.key = key
        self.at = at
        self.start = (plain_id(key) or "").partition(".")[0]
        self._pattern: TimedPattern | str | None = key
        self._too_slow: PatternError | None = None

    def matches(self, name: str) -> bool:
        """Whether the pattern matches the start of a name.

        Raises: PatternError if matching takes too long, and then for every name.
        """
        if self._too_slow is not None:
            raise self._too_slow
        if isinstance(self._pattern, str):
            try:
                self._pattern = compile_pattern(self._pattern)
            except PatternError:
                self._pattern = None  # a problem of the file, which was reported when it was loaded
        try:
            return self._pattern is not None and self._pattern.match(name)
        except PatternError as error:
            self._too_slow = error
            raise


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
    """Use cores, mem and gpus of a destination as the most that it accepts (dialect seed)."""
    for name in AMOUNTS:
        value = getattr(destination, name)
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                continue  # the destination is broken, which was reported when it was loaded
        accepted = getattr(destination, f"max_accepted_{name}")
        if value is not None and (accepted is None or value < accepted):
            setattr(destination, f"max_accepted_{name}", value)
            destination.said[f"max_accepted_{name}"] = destination.said.get(name, ())
    return destination
