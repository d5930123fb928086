"""Scheduling tags: what entities require, prefer, accept and reject, and how two sets meet.

Takes the four lists of an entity; gives the operations of TPV on them: inherit (the
child's claim on a tag replaces the parent's), combine (the stronger claim wins: reject, require,
prefer, accept), match, and score. The names of methods are those that expressions in mapping files
already use. Source: TPV's documentation, "Scheduling".
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rowtui.core.errors import RowtuiError
from rowtui.core.mapping.dialect import Dialect
from rowtui.core.text import visible

STRENGTHS = ("require", "prefer", "accept", "reject")
# In this order claims are laid over each other, so that the last one wins.
_LAYERS = ("accept", "prefer", "require", "reject")


class TagType(enum.IntEnum):
    """How strongly an entity feels about a tag. The numbers are TPV 3's weights."""

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


class SchedulingTags:
    """The tags of one entity, each in one of four lists. Expressions may change their own copy."""

    __slots__ = ("accept", "prefer", "reject", "require")

    def __init__(
        self,
        require: Iterable[str] | None = None,
        prefer: Iterable[str] | None = None,
        accept: Iterable[str] | None = None,
        reject: Iterable[str] | None = None,
    ) -> None:
        self.require = list(require or ())
        self.prefer = list(prefer or ())
        self.accept = list(accept or ())
        self.reject = list(reject or ())

    def __repr__(self) -> str:
        """The lists that are not empty."""
        return f"SchedulingTags({', '.join(f'{k}={v}' for k, v in self.lists().items() if v)})"

    def __eq__(self, other: object) -> bool:
        """The same tags with the same strengths, in whatever order."""
        return isinstance(other, SchedulingTags) and self.strengths() == other.strengths()

    __hash__ = None  # type: ignore[assignment]

    def lists(self) -> dict[str, list[str]]:
        """The four lists by name."""
        return {name: getattr(self, name) for name in STRENGTHS}

    def strengths(self) -> dict[str, str]:
        """Tag -> which list it is in."""
        return {tag: name for name in STRENGTHS for tag in getattr(self, name)}

    def copy(self) -> SchedulingTags:
        """The same, to be changed."""
        return SchedulingTags(self.require, self.prefer, self.accept, self.reject)

    def __bool__(self) -> bool:
        """Whether there is any tag."""
        return bool(self.require or self.prefer or self.accept or self.reject)

    # For expressions

    @property
    def tags(self) -> Iterator[Tag]:
        """Each tag with its strength, the strongest lists first."""
        for name in STRENGTHS:
            for tag in getattr(self, name):
                yield Tag(tag, TagType[name.upper()])

    def all_tag_values(self) -> Iterator[str]:
        """Every tag, whatever its strength."""
        for name in STRENGTHS:
            yield from getattr(self, name)

    def filter(
        self, tag_type: TagType | list[TagType] | None = None, tag_value: str | None = None
    ) -> Iterator[Tag]:
        """The tags of these strengths, or with this value, or both."""
        wanted = [tag_type] if isinstance(tag_type, TagType) else tag_type
        for tag in self.tags:
            if wanted and tag.tag_type not in wanted:
                continue
            if tag_value and tag.value != tag_value:
                continue
            yield tag

    def add_tag_override(self, tag_type: TagType, tag_value: str) -> None:
        """Put a tag into one list, out of all others."""
        self.put(TagType(tag_type).name.lower(), tag_value)

    # For the engine

    def put(self, strength: str, tag: str) -> None:
        """Put a tag into one list, out of all others."""
        self.drop(tag)
        getattr(self, strength).append(tag)

    def drop(self, tag: str) -> None:
        """Take a tag out of whatever list it is in."""
        for name in STRENGTHS:
            tags = getattr(self, name)
            if tag in tags:
                tags.remove(tag)

    def over(self, parent: SchedulingTags) -> SchedulingTags:
        """Inherit: the parent's tags with this one's claims instead of its own."""
        new = parent.copy()
        for name in _LAYERS:
            for tag in getattr(self, name):
                new.put(name, tag)
        return new

    def combined_over(self, lower: SchedulingTags, dialect: Dialect) -> SchedulingTags:
        """Combine: the strongest claim of both sides for every tag.

        Raises: IncompatibleTagsError.
        """
        self._refuse_clash(lower, dialect)
        new = SchedulingTags()
        for name in _LAYERS:
            for tag in (*getattr(self, name), *getattr(lower, name)):
                new.put(name, tag)
        return new

    def _refuse_clash(self, lower: SchedulingTags, dialect: Dialect) -> None:
        against = ("require", "prefer") if dialect.prefer_against_reject else ("require",)
        for name in against:
            for tag in getattr(lower, name):
                if tag in self.reject:
                    raise IncompatibleTagsError(tag, name, "reject")
            for tag in getattr(self, name):
                if tag in lower.reject:
                    raise IncompatibleTagsError(tag, "reject", name)

    def weighed(self, dialect: Dialect) -> dict[str, int]:
        """Tag -> its weight in a score."""
        return {
            tag: weight
            for name, weight in zip(STRENGTHS, dialect.weights, strict=True)
            for tag in getattr(self, name)
        }


def tag_clashes(job: SchedulingTags, offered: SchedulingTags) -> Iterator[tuple[str, str, str]]:
    """Why these cannot meet: (tag, the job's strength or "", the destination's or ""). None: match.

    A tag that one side requires must be on the other, in any list; one that a side rejects must
    not, in any list, rejected ones included.
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
    """What each tag adds to a destination's score for a job; the sum is the score.

    Tags of both: the product of the weights. Tags that only the destination has count against it.
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
