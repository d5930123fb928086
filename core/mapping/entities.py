"""Entities: tools, roles, users, rules and destinations, and how one is laid over another.

Everything here is data as it was written (expressions are text); nothing is evaluated. Every value
knows who said it, and what it replaced, in `said`. Attribute names are those that expressions in
mapping files use (`entity.cores`, `entity.tpv_tags`, `d.max_accepted_mem`); expressions see
entities, and get a copy of their own where they may change one. Source: TPV's documentation,
"Concepts".
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self

from rowtui.core.mapping.dialect import SEED, Dialect
from rowtui.core.mapping.flow import IncompatibleTagsException
from rowtui.core.mapping.origin import Origin
from rowtui.core.mapping.place import Place
from rowtui.core.mapping.tags import IncompatibleTagsError, SchedulingTags, score

AMOUNTS = ("gpus", "cores", "mem")  # in the order of evaluation
BOUNDS = tuple(f"{bound}_{what}" for bound in ("min", "max") for what in AMOUNTS)
BUDGETS = tuple(f"max_concurrent_{what}" for what in AMOUNTS)
ACCEPTED = tuple(f"{bound}_accepted_{what}" for what in AMOUNTS for bound in ("max", "min"))
_SCALARS = (*AMOUNTS, *BOUNDS, *BUDGETS, "rank", "inherits")
_OF_DESTINATIONS = (*ACCEPTED, "runner")
_OF_RULES = ("if_condition", "execute", "fail")
_MAPS = ("params", "context", "resubmit")


class Said(NamedTuple):
    """A value as written, and who wrote it."""

    value: Any
    origin: Origin


class Entity:
    """What all entities have. Units: mem in GB; cores, gpus counts; as numbers or expressions."""

    kind: ClassVar[str] = "entity"
    order: ClassVar[int] = 0  # of two kinds laid over each other, the higher one stays

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
    # Destination -> its score for this entity, as far as the engine has worked it out.
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
        """The kind and the id."""
        return f"{type(self).__name__}({self.id!r})"

    @property
    def place(self) -> Place:
        """Where it is written."""
        return self.origin.place

    def say(self, field: str, value: Any, place: Place | None = None) -> None:
        """Note that this entity itself gives `field` this value."""
        self.note(field, value, self.origin if place is None else self.origin._replace(place=place))

    def note(self, field: str, value: Any, origin: Origin) -> None:
        """Note that somebody gives `field` this value, over whoever said it before."""
        self.said[field] = (Said(value, origin), *self.said.get(field, ()))

    def whence(self, field: str) -> Origin:
        """Who said the value of a field; the entity itself if nobody did."""
        said = self.said.get(field)
        return said[0].origin if said else self.origin

    def speak(self, dialect: Dialect) -> None:
        """Set the dialect of the entity and of all that belongs to it."""
        self.dialect = self.tpv_tags.dialect = dialect
        for rule in self.rules.values():
            rule.speak(dialect)

    # For expressions

    def inherit(self, entity: Entity) -> Entity:
        """Lay this entity over another: what it says itself counts."""
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
        """A copy with some values replaced; its containers are its own only where it is `deep`."""
        new = self.private() if deep else self.shallow()
        new.__dict__.update(update or {})
        return new

    def _common_dialect(self, other: Entity) -> Dialect:
        return self.dialect or other.dialect or SEED

    # For the engine

    def shallow(self) -> Self:
        """The same values in a new object; containers are shared."""
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        return new

    def private(self) -> Self:
        """A copy whose containers may be changed too."""
        new = self.shallow()
        new.__dict__.pop("scores", None)  # its tags may become others
        new.env = [dict(entry) for entry in self.env]
        new.params = copy.deepcopy(self.params)
        new.context = copy.deepcopy(self.context)
        new.resubmit = copy.deepcopy(self.resubmit)
        new.tpv_tags = self.tpv_tags.copy()
        new.rules = dict(self.rules)
        new.said = dict(self.said)
        return new


class Rule(Entity):
    """Conditional changes to the entity whose rule it is."""

    kind = "rule"
    if_condition: Any = None
    execute: str | None = None
    fail: str | None = None


class Pool(Entity):
    """How much of something one user may hold at once, over all jobs that its tags select."""

    kind = "pool"
    order = 1
    oversize: Mapping[str, Any] = {}
    fail_open: bool | None = None

    def __init__(self, id: str, origin: Origin | None = None) -> None:  # noqa: A002
        super().__init__(id, origin)
        self.tpv_dest_tags = SchedulingTags()


class Tool(Entity):
    """What is known of an action."""

    kind = "tool"
    order = 2


class Role(Entity):
    """What is known of a group of users."""

    kind = "role"
    order = 3


class User(Entity):
    """What is known of a user."""

    kind = "user"
    order = 4


class Destination(Entity):
    """A place a job may go. `tpv_dest_tags`: what it offers; `tpv_tags`: those of its job.

    `max_accepted_*`, `min_accepted_*`: what it takes, inclusive, as numbers.
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
        """What it is called where jobs are sent; its id unless it says otherwise."""
        return self.name_override or self.id

    def score(self, entity: Entity) -> int:
        """How well its tags suit an entity's."""
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
        """Set the dialect of the entity and of all that belongs to it."""
        super().speak(dialect)
        self.tpv_dest_tags.dialect = dialect

    def private(self) -> Self:
        """A copy whose containers may be changed too."""
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
    """The child over the parent: what it says itself counts. Also how a rule is applied."""
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
    """User over role over tool, or a destination over all of them.

    Raises: IncompatibleTagsError. cores, mem, gpus and bounds are overridden; where the lower one
    is to win (`dialect.lower_wins`), that is for whoever evaluates them.
    """
    tags = higher.tpv_tags.combined_over(lower.tpv_tags, dialect)
    new = _lay_over(higher, lower, dialect, own_amounts=not _is_capacity(higher, dialect))
    new.id = f"{_title(higher)}: {higher.id}, {_title(lower)}: {lower.id}"
    new.tpv_tags = tags
    _say_tags(new, higher, lower)
    return new


def _is_capacity(entity: Entity, dialect: Dialect) -> bool:
    return dialect.own_amounts_are_capacity and isinstance(entity, Destination)


def _title(entity: Entity) -> str:
    return type(entity).__name__


def _lay_over(
    upper: Entity, under: Entity, dialect: Dialect, *, own_amounts: bool = True
) -> Entity:
    base = upper if under.order <= upper.order else under
    new = base.shallow()
    new.__dict__.pop("scores", None)
    new.id, new.origin, new.abstract = upper.id, upper.origin, upper.abstract
    new.dialect = dialect
    new.said = said = dict(under.said)
    # What an entity does not say is None in its class; most say two of these.
    of_upper, of_under, of_new = upper.__dict__, under.__dict__, new.__dict__
    for field in _SCALARS:
        value = of_upper.get(field)
        if value is None or (field in AMOUNTS and not own_amounts):
            value = of_under.get(field)
        else:
            said[field] = _chain(upper.said.get(field, ()), under.said.get(field, ()))
        if value is not None or field in of_new:
            of_new[field] = value
    for field in _MAPS:
        values = getattr(upper, field)
        merged = getattr(under, field)
        if values:
            merged = {**merged, **values}
            _say_each(said, field, values, upper)
        setattr(new, field, merged)
    new.env = merge_env(under.env, upper.env)
    for entry in upper.env:
        key = f"env.{env_key(entry)}"
        said[key] = _chain(upper.said.get(key, ()), under.said.get(key, ()))
    new.rules = _merge_rules(upper, under, dialect)
    if isinstance(upper, Rule) and isinstance(under, Rule):
        _fill(new, upper, under, _OF_RULES, said)
    if isinstance(upper, Destination) and isinstance(under, Destination):
        assert isinstance(new, Destination)
        _fill(new, upper, under, _OF_DESTINATIONS, said)
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
            said[field] = _chain(upper.said.get(field, ()), under.said.get(field, ()))
        setattr(new, field, value)


def _chain(upper: tuple[Said, ...], under: tuple[Said, ...]) -> tuple[Said, ...]:
    """Who said a value, the upper entity's first; each once, though it may inherit twice."""
    if not upper or not under:
        return upper or under
    known = set(map(id, upper))
    return upper + tuple(each for each in under if id(each) not in known)


def _say_each(
    said: dict[str, tuple[Said, ...]], field: str, values: Mapping[str, Any], upper: Entity
) -> None:
    for name in values:
        key = f"{field}.{name}"
        said[key] = _chain(upper.said.get(key, ()), said.get(key, ()))


def _say_tags(new: Entity, upper: Entity, under: Entity) -> None:
    _carry(new, upper, under, [f"tags.{tag}" for tag in upper.tpv_tags.all_tag_values()])


def _carry(new: Entity, upper: Entity, under: Entity, keys: Iterable[str]) -> None:
    """What the upper one says of these before what the one under it says."""
    for key in keys:
        new.said[key] = _chain(upper.said.get(key, ()), under.said.get(key, ()))


def _merge_rules(upper: Entity, under: Entity, dialect: Dialect) -> dict[str, Rule]:
    if not upper.rules or not under.rules:
        return upper.rules or under.rules
    merged = {**under.rules, **upper.rules}
    for name in upper.rules.keys() & under.rules.keys():
        rule = inherit(upper.rules[name], under.rules[name], dialect)
        assert isinstance(rule, Rule)
        merged[name] = rule
    return merged


def env_key(entry: Mapping[str, Any]) -> str:
    """What an entry of env is known by: its variable, or its whole self."""
    return str(entry["name"]) if "name" in entry else repr(sorted(entry.items()))


def merge_env(under: list[dict[str, Any]], upper: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Entries of the same name (or the same in all) are replaced in place, others appended."""
    if not upper or not under:
        return upper or under
    left = list(upper)
    merged = []
    for entry in under:
        for at, mine in enumerate(left):
            if ("name" in mine and entry.get("name") == mine["name"]) or entry == mine:
                merged.append(left.pop(at))
                break
        else:
            merged.append(entry)
    return merged + left
