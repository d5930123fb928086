"""Scheduling tags: the tags that entities require, prefer, accept and reject.

The input is the four lists of an entity. The operations on two sets are TPV's: inherit (the child's
claim on a tag replaces the parent's), combine (the strongest claim takes precedence: reject,
require, prefer, accept), match, and score. Existing expressions in mapping files use the names of
the methods. Source: TPV's documentation, "Scheduling".
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.mapping.code.model import IncompatibleTagsException
from rowtui.core.mapping.model.dialect import SEED, Dialect

STRENGTHS = ("require", "prefer", "accept", "reject")
# Claims are laid over each other in this order, and the last one takes precedence.
_LAYERS = ("accept", "prefer", "require", "reject")


class TagType(enum.IntEnum):
    """The strength of an entity's claim on a tag. The numbers are TPV 3's weights."""

    REQUIRE = 3
    PREFER = 2
    ACCEPT = 1
    REJECT = -1


class Tag(NamedTuple):
    """One tag with its strength."""

    value: str
    tag_type: TagType


class IncompatibleTagsError(RowtuiError):
    """Two sets of tags that cannot be combined. `tag`: the first that clashes."""

    def __init__(self, tag: str, one: str, other: str) -> None:
        """`one` and `other`: the two strengths, of the lower and the higher entity."""
        super().__init__(
            f"the tag '{visible(tag)}' is {_past(one)} on one side and {_past(other)} on the other",
            "an entity that is combined with another may not contradict it",
        )
        self.tag, self.one, self.other = tag, one, other


class InvalidTagsError(RowtuiError, ValueError):
    """The tags of an expression are no list of texts."""


class SchedulingTags:
    """The tags of one entity, each in one of four lists. Expressions may change their own copy.

    `dialect`: how `combine` and `score` count; None for tags that an expression has made, which use
    the dialect of the tags that they are combined with.
    """

    __slots__ = ("accept", "dialect", "prefer", "reject", "require")

    def __init__(
        self,
        require: Iterable[str] | None = None,
        prefer: Iterable[str] | None = None,
        accept: Iterable[str] | None = None,
        reject: Iterable[str] | None = None,
    ) -> None:
        """Raises: InvalidTagsError for a value that is no list of texts."""
        self.require = _listed("require", require)
        self.prefer = _listed("prefer", prefer)
        self.accept = _listed("accept", accept)
        self.reject = _listed("reject", reject)
        self.dialect: Dialect | None = None

    def __repr__(self) -> str:
        """Return the lists that are not empty."""
        return f"SchedulingTags({', '.join(f'{k}={v}' for k, v in self.lists().items() if v)})"

    def __eq__(self, other: object) -> bool:
        """Whether both have the same tags with the same strengths, in any order."""
        return isinstance(other, SchedulingTags) and self.strengths() == other.strengths()

    __hash__ = None  # type: ignore[assignment]

    def lists(self) -> dict[str, list[str]]:
        """Return the four lists by name; a list that an expression has set to None is empty."""
        return {name: getattr(self, name) or [] for name in STRENGTHS}

    def strengths(self) -> dict[str, str]:
        """Return tag -> the list that it is in."""
        return {tag: name for name in STRENGTHS for tag in getattr(self, name) or ()}

    def copy(self) -> SchedulingTags:
        """Return a copy, which may be changed."""
        new = object.__new__(SchedulingTags)
        for name in STRENGTHS:
            setattr(new, name, list(getattr(self, name) or ()))
        new.dialect = self.dialect
        return new

    def __bool__(self) -> bool:
        """Whether there is any tag."""
        return bool(self.require or self.prefer or self.accept or self.reject)

    # For expressions

    @property
    def tags(self) -> Iterator[Tag]:
        """Each tag with its strength, the strongest lists first."""
        for name, tags in self.lists().items():
            for tag in tags:
                yield Tag(tag, TagType[name.upper()])

    def all_tag_values(self) -> Iterator[str]:
        """Yield every tag, of any strength."""
        for tags in self.lists().values():
            yield from tags

    def filter(
        self, tag_type: TagType | list[TagType] | None = None, tag_value: str | None = None
    ) -> Iterator[Tag]:
        """Yield the tags of these strengths, or with this value, or both."""
        wanted = [tag_type] if isinstance(tag_type, TagType) else tag_type
        for tag in self.tags:
            if wanted and tag.tag_type not in wanted:
                continue
            if tag_value and tag.value != tag_value:
                continue
            yield tag

    def add_tag_override(self, tag_type: TagType, tag_value: str) -> None:
        """Put a tag into one list, and remove it from all others."""
        self.put(TagType(tag_type).name.lower(), tag_value)

    def inherit(self, other: SchedulingTags) -> SchedulingTags:
        """Return the other tags, where the claims of these tags take precedence."""
        return self.over(other)

    def can_combine(self, other: SchedulingTags) -> bool:
        """Whether no tag is required on one side and rejected on the other.

        In dialect seed, a preferred tag may not be rejected on the other side either.
        """
        return self._clash(other, self._common_dialect(other)) is None

    def combine(self, other: SchedulingTags) -> SchedulingTags:
        """Return the stronger claim of both on every tag. Raises: IncompatibleTagsException."""
        try:
            return other.combined_over(self, self._common_dialect(other))
        except IncompatibleTagsError as error:
            raise IncompatibleTagsException(error.message) from error

    def match(self, other: SchedulingTags) -> bool:
        """Whether a job with these tags suits a destination with the other tags."""
        return next(tag_clashes(self, other), None) is None

    def score(self, other: SchedulingTags) -> int:
        """Return the score of a destination with these tags for a job with the other tags."""
        return sum(points for _, points in score(self, other, self._common_dialect(other)))

    def _common_dialect(self, other: SchedulingTags) -> Dialect:
        return self.dialect or other.dialect or SEED

    # For the engine

    def put(self, strength: str, tag: str) -> None:
        """Put a tag into one list, and remove it from all others."""
        self.drop(tag)
        setattr(self, strength, [*(getattr(self, strength) or ()), tag])

    def drop(self, tag: str) -> None:
        """Remove a tag from the list that it is in."""
        for name in STRENGTHS:
            tags = getattr(self, name)
            if tags and tag in tags:
                tags.remove(tag)

    def over(self, parent: SchedulingTags) -> SchedulingTags:
        """Inherit: return the parent's tags, where the claims of these tags take precedence."""
        if not self:
            new = parent.copy()
        else:
            own = _claims((name, getattr(self, name)) for name in _LAYERS)
            new = SchedulingTags()
            for name, tags in parent.lists().items():
                setattr(new, name, [tag for tag in tags if tag not in own])
            for tag, name in own.items():
                getattr(new, name).append(tag)
        new.dialect = self.dialect or parent.dialect
        return new

    def combined_over(self, lower: SchedulingTags, dialect: Dialect) -> SchedulingTags:
        """Combine: return the strongest claim of both sides for every tag.

        Raises: IncompatibleTagsError.
        """
        clash = self._clash(lower, dialect)
        if clash is not None:
            raise clash
        new = SchedulingTags()
        layers = ((name, getattr(side, name)) for name in _LAYERS for side in (self, lower))
        for tag, name in _claims(layers).items():
            getattr(new, name).append(tag)
        new.dialect = dialect
        return new

    def _clash(self, lower: SchedulingTags, dialect: Dialect) -> IncompatibleTagsError | None:
        against = ("require", "prefer") if dialect.prefer_against_reject else ("require",)
        rejected, rejected_below = set(self.reject or ()), set(lower.reject or ())
        for name in against:
            for tag in getattr(lower, name) or ():
                if tag in rejected:
                    return IncompatibleTagsError(tag, name, "reject")
            for tag in getattr(self, name) or ():
                if tag in rejected_below:
                    return IncompatibleTagsError(tag, "reject", name)
        return None

    def weighed(self, dialect: Dialect) -> dict[str, int]:
        """Return tag -> its weight in a score."""
        return {
            tag: weight
            for name, weight in zip(STRENGTHS, dialect.weights, strict=True)
            for tag in getattr(self, name) or ()
        }


def _listed(name: str, tags: Iterable[str] | None) -> list[str]:
    if isinstance(tags, (str, bytes)):
        message = f"the tags of `{name}` must be a list, not {visible(repr(tags)[:60])}"
        raise InvalidTagsError(message, f"write {name}=[...]")
    found = list(tags or ())
    wrong = next((tag for tag in found if not isinstance(tag, str)), None)
    if wrong is not None:
        raise InvalidTagsError(f"a tag must be text, not {visible(repr(wrong)[:60])}")
    return found


def _claims(layers: Iterable[tuple[str, Iterable[str] | None]]) -> dict[str, str]:
    """Return tag -> its list; a later claim replaces an earlier one and takes its own position."""
    claims: dict[str, str] = {}
    for name, tags in layers:
        for tag in tags or ():
            claims.pop(tag, None)
            claims[tag] = name
    return claims


def tag_clashes(job: SchedulingTags, offered: SchedulingTags) -> Iterator[tuple[str, str, str]]:
    """Yield why a job and a destination do not match, nothing if they match.

    Each result is (tag, the job's strength or "", the destination's or ""). A tag that one side
    requires must be on the other, in any list; a tag that one side rejects must not, in any list,
    including the list of rejected tags.
    """
    of_job, of_destination = job.strengths(), offered.strengths()
    for tag in dict.fromkeys((*of_job, *of_destination)):
        mine, its = of_job.get(tag, ""), of_destination.get(tag, "")
        if "reject" in {mine, its}:
            if mine and its:
                yield tag, mine, its
        elif "require" in {mine, its} and not (mine and its):
            yield tag, mine, its


def score(
    offered: SchedulingTags, job: SchedulingTags, dialect: Dialect
) -> tuple[tuple[str, int], ...]:
    """Return the points that each tag adds to a destination's score for a job.

    For tags of both, the points are the product of the weights. Tags that only the destination has
    count against it.
    """
    wanted = job.weighed(dialect)
    return tuple(
        (tag, weight * wanted[tag] if tag in wanted else -weight)
        for tag, weight in offered.weighed(dialect).items()
    )


def _past(strength: str) -> str:
    return {"require": "required", "prefer": "preferred", "accept": "accepted"}.get(
        strength, "rejected"
    )
