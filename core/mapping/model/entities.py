"""Entities: tools, roles, users, rules and destinations, and how one is laid over another.

All values are stored as written (expressions are text), and nothing is evaluated. The attribute
`said` stores the origin of every value, and the values that it replaced. Attribute names are the
names that expressions in mapping files use (`entity.cores`, `entity.tpv_tags`,
`d.max_accepted_mem`). Expressions receive entities, and a copy of an entity where they may change
it. Source: TPV's documentation, "Concepts".
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self

from rowtui.core.mapping.code.model import IncompatibleTagsException
from rowtui.core.mapping.model.dialect import SEED, Dialect
from rowtui.core.mapping.model.fields import ACCEPTED, AMOUNTS, BOUNDS, BUDGETS, env_key, merge_env
from rowtui.core.mapping.model.origin import FilePosition, Origin, Said, chain
from rowtui.core.mapping.model.tags import IncompatibleTagsError, SchedulingTags, score

_SCALARS = (*AMOUNTS, *BOUNDS, *BUDGETS, "rank", "inherits")
_OF_DESTINATIONS = (*ACCEPTED, "runner")
_OF_RULES = ("if_condition", "execute", "fail")
_MAPS = ("params", "context", "resubmit")


class Entity:
    """The properties of all entities, as numbers or expressions.

    Units: mem in GB; cores and gpus are counts.
    """

    kind: ClassVar[str] = "entity"
    order: ClassVar[int] = 0  # of two kinds laid over each other, the result has the higher one

    cores: Any = None
    mem: Any = None
    gpus: Any = None
    min_cores: Any = None
    min_mem: Any = None
    min_gpus: Any = None
    max_cores: Any = None
    max_mem: Any = None
    max_gpus: Any = None
    max_concurrent_cores: float | None = None
    max_concurrent_mem: float | None = None
    max_concurrent_gpus: float | None = None
    rank: str | None = None
    inherits: str | None = None
    abstract: bool = False
    # Set by the engine once all files are merged: how entities combine and score.
    dialect: Dialect | None = None
    # Destination -> its score for this entity, as far as the engine has computed it.
    scores: Mapping[str, int] = MappingProxyType({})

    def __init__(self, id: str, origin: Origin | None = None) -> None:  # noqa: A002
        self.id = id
        self.origin = origin or Origin(self.kind, id)
        self.env: list[dict[str, Any]] = []
        self.params: dict[str, Any] = {}
        self.context: dict[str, Any] = {}
        self.resubmit: dict[str, dict[str, Any]] = {}
        self.tpv_tags = SchedulingTags()
        self.rules: dict[str, Rule] = {}
        self.said: dict[str, tuple[Said, ...]] = {}

    def __repr__(self) -> str:
        """Return the kind and the id."""
        return f"{type(self).__name__}({self.id!r})"

    @property
    def place(self) -> FilePosition:
        """The place of the entity in its file."""
        return self.origin.place

    def say(self, field: str, value: Any, place: FilePosition | None = None) -> None:
        """Record that this entity itself gives `field` this value."""
        self.note(field, value, self.origin if place is None else self.origin._replace(place=place))

    def note(self, field: str, value: Any, origin: Origin) -> None:
        """Record that `origin` gives `field` this value, over the earlier values."""
        self.said[field] = (Said(value, origin), *self.said.get(field, ()))

    def whence(self, field: str) -> Origin:
        """Return the origin of the value of a field, or of the entity if there is none."""
        found = self.said.get(field)
        return found[0].origin if found else self.origin

    def speak(self, dialect: Dialect) -> None:
        """Set the dialect of the entity and of its tags and rules."""
        self.dialect = self.tpv_tags.dialect = dialect
        for rule in self.rules.values():
            rule.speak(dialect)

    # For expressions

    def inherit(self, entity: Entity) -> Entity:
        """Lay this entity over another; its own values take precedence."""
        return inherit(self, entity, self._common_dialect(entity))

    def combine(self, entity: Entity) -> Entity:
        """Lay this entity over another, with the stronger claims on tags.

        Raises: IncompatibleTagsException.
        """
        try:
            return combine(self, entity, self._common_dialect(entity))
        except IncompatibleTagsError as error:
            raise IncompatibleTagsException(error.message) from error

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with some values replaced; containers are copied only if it is `deep`."""
        new = self.private() if deep else self.shallow()
        new.__dict__.update(update or {})
        return new

    def _common_dialect(self, other: Entity) -> Dialect:
        return self.dialect or other.dialect or SEED

    # For the engine

    def shallow(self) -> Self:
        """Return a new object with the same values; containers are shared."""
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        return new

    def private(self) -> Self:
        """Return a copy whose containers may be changed too."""
        new = self.shallow()
        new.__dict__.pop("scores", None)  # the tags of the copy may change
        new.env = [dict(entry) for entry in self.env]
        new.params = copy.deepcopy(self.params)
        new.context = copy.deepcopy(self.context)
        new.resubmit = copy.deepcopy(self.resubmit)
        new.tpv_tags = self.tpv_tags.copy()
        new.rules = dict(self.rules)
        new.said = dict(self.said)
        return new


class Rule(Entity):
    """Conditional changes to the entity that has the rule."""

    kind = "rule"
    if_condition: Any = None
    execute: str | None = None
    fail: str | None = None


class Pool(Entity):
    """How much of a resource one user may hold at once, over all jobs selected by its tags."""

    kind = "pool"
    order = 1
    oversize: Mapping[str, Any] = {}
    fail_open: bool | None = None

    def __init__(self, id: str, origin: Origin | None = None) -> None:  # noqa: A002
        super().__init__(id, origin)
        self.tpv_dest_tags = SchedulingTags()


class Tool(Entity):
    """The values for an action."""

    kind = "tool"
    order = 2


class Role(Entity):
    """The values for a group of users."""

    kind = "role"
    order = 3


class User(Entity):
    """The values for a user."""

    kind = "user"
    order = 4


class Destination(Entity):
    """A place a job may go. `tpv_dest_tags`: its own tags; `tpv_tags`: the tags of its job.

    `max_accepted_*`, `min_accepted_*`: the amounts it accepts, inclusive, as numbers.
    """

    kind = "destination"
    order = 5
    runner: str | None = None
    max_accepted_cores: float | None = None
    max_accepted_mem: float | None = None
    max_accepted_gpus: float | None = None
    min_accepted_cores: float | None = None
    min_accepted_mem: float | None = None
    min_accepted_gpus: float | None = None

    # Set by the engine; see docs/mapping.md, "Live facts".
    load: Any = None

    def __init__(self, id: str, origin: Origin | None = None) -> None:  # noqa: A002
        super().__init__(id, origin)
        self.tpv_dest_tags = SchedulingTags()
        self.name_override: str | None = None
        self.handler_tags: list[Any] = []

    @property
    def dest_name(self) -> str:
        """The name of the destination in the runner; by default its id."""
        return self.name_override or self.id

    def score(self, entity: Entity) -> int:
        """Return the score of its tags for an entity's tags."""
        known = entity.scores.get(self.id)
        if known is not None:
            return known
        dialect = self._common_dialect(entity)
        return sum(n for _, n in score(self.tpv_dest_tags, entity.tpv_tags, dialect))

    def matches(self, entity: Entity, context: object = None) -> bool:
        """Whether its own limits and its tags allow an entity. `context` is TPV's, unused.

        Raises: ValueError or TypeError for an amount of the entity that is no number yet.
        """
        if self.abstract:
            return False
        for name in AMOUNTS:
            asked = getattr(entity, name)
            most = getattr(self, f"max_accepted_{name}")
            least = getattr(self, f"min_accepted_{name}")
            if asked is None or (most is None and least is None):
                continue
            number = float(asked)
            if (most is not None and number > most) or (least is not None and number < least):
                return False
        return entity.tpv_tags.match(self.tpv_dest_tags)

    def speak(self, dialect: Dialect) -> None:
        """Set the dialect of the entity and of its tags and rules."""
        super().speak(dialect)
        self.tpv_dest_tags.dialect = dialect

    def private(self) -> Self:
        """Return a copy whose containers may be changed too."""
        new = super().private()
        new.tpv_dest_tags = self.tpv_dest_tags.copy()
        new.handler_tags = list(self.handler_tags)
        return new


KINDS: Mapping[str, type[Entity]] = {
    "tools": Tool,
    "roles": Role,
    "users": User,
    "destinations": Destination,
    "pools": Pool,
}


def inherit(child: Entity, parent: Entity, dialect: Dialect) -> Entity:
    """Return the child over the parent: its own values take precedence.

    Rules are applied in this way too.
    """
    new = _lay_over(child, parent, dialect)
    new.tpv_tags = child.tpv_tags.over(parent.tpv_tags)
    new.tpv_tags.dialect = dialect
    _say_tags(new, child, parent)
    if isinstance(child, (Destination, Pool)) and isinstance(parent, (Destination, Pool)):
        assert isinstance(new, (Destination, Pool))
        new.tpv_dest_tags = child.tpv_dest_tags.over(parent.tpv_dest_tags)
        _carry(new, child, parent, [f"tags.{t}" for t in child.tpv_dest_tags.all_tag_values()])
    return new


def combine(higher: Entity, lower: Entity, dialect: Dialect) -> Entity:
    """Return the user over role over tool, or a destination over all of them.

    Raises: IncompatibleTagsError. cores, mem, gpus and bounds are overridden; if the lower value
    takes precedence (`dialect.lower_wins`), the caller that evaluates them applies this rule.
    """
    tags = higher.tpv_tags.combined_over(lower.tpv_tags, dialect)
    is_capacity = dialect.own_amounts_are_capacity and isinstance(higher, Destination)
    new = _lay_over(higher, lower, dialect, own_amounts=not is_capacity)
    new.id = f"{type(higher).__name__}: {higher.id}, {type(lower).__name__}: {lower.id}"
    new.tpv_tags = tags
    _say_tags(new, higher, lower)
    return new


def _lay_over(
    upper: Entity, under: Entity, dialect: Dialect, *, own_amounts: bool = True
) -> Entity:
    base = upper if under.order <= upper.order else under
    new = base.shallow()
    new.__dict__.pop("scores", None)
    new.id, new.origin, new.abstract = upper.id, upper.origin, upper.abstract
    new.dialect = dialect
    new.said = found = dict(under.said)
    # Fields that an entity does not set are None in its class; most entities set two of these
    # fields.
    of_upper, of_under, of_new = upper.__dict__, under.__dict__, new.__dict__
    for field in _SCALARS:
        value = of_upper.get(field)
        if value is None or (field in AMOUNTS and not own_amounts):
            value = of_under.get(field)
        else:
            found[field] = chain(upper.said.get(field, ()), under.said.get(field, ()))
        if value is not None or field in of_new:
            of_new[field] = value
    for field in _MAPS:
        values = getattr(upper, field)
        merged = getattr(under, field)
        if values:
            merged = {**merged, **values}
            _carry(new, upper, under, [f"{field}.{name}" for name in values])
        setattr(new, field, merged)
    new.env = merge_env(under.env, upper.env)
    _carry(new, upper, under, [f"env.{env_key(entry)}" for entry in upper.env])
    new.rules = _merge_rules(upper, under, dialect)
    if isinstance(upper, Rule) and isinstance(under, Rule):
        _fill(new, upper, under, _OF_RULES, found)
    if isinstance(upper, Destination) and isinstance(under, Destination):
        assert isinstance(new, Destination)
        _fill(new, upper, under, _OF_DESTINATIONS, found)
        if dialect.name_is_inherited:
            new.name_override = upper.name_override or under.name_override
            new.handler_tags = upper.handler_tags or under.handler_tags
            _carry(new, upper, under, ("name_override", "handler_tags"))
    if isinstance(upper, Pool) and isinstance(under, Pool):
        assert isinstance(new, Pool)
        new.oversize = {**under.oversize, **upper.oversize}
        new.fail_open = under.fail_open if upper.fail_open is None else upper.fail_open
    return new


def _fill(
    new: Entity,
    upper: Entity,
    under: Entity,
    fields: tuple[str, ...],
    said: dict[str, tuple[Said, ...]],
) -> None:
    for field in fields:
        value = getattr(upper, field)
        if value is None:
            value = getattr(under, field)
        else:
            said[field] = chain(upper.said.get(field, ()), under.said.get(field, ()))
        setattr(new, field, value)


def _say_tags(new: Entity, upper: Entity, under: Entity) -> None:
    _carry(new, upper, under, [f"tags.{tag}" for tag in upper.tpv_tags.all_tag_values()])


def _carry(new: Entity, upper: Entity, under: Entity, keys: Iterable[str]) -> None:
    """Put the upper entity's values of these keys before the values of the entity below."""
    for key in keys:
        new.said[key] = chain(upper.said.get(key, ()), under.said.get(key, ()))


def _merge_rules(upper: Entity, under: Entity, dialect: Dialect) -> dict[str, Rule]:
    if not upper.rules or not under.rules:
        return upper.rules or under.rules
    merged = {**under.rules, **upper.rules}
    for name in upper.rules.keys() & under.rules.keys():
        rule = inherit(upper.rules[name], under.rules[name], dialect)
        assert isinstance(rule, Rule)
        merged[name] = rule
    return merged
