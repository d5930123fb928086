"""The origin of every value in an entity, and its place in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.text import visible

if TYPE_CHECKING:
    from rowtui.core.base.document import Flat, Plain


class FilePosition(NamedTuple):
    """A position in a file. `line` and `column` count from 1; 0 means the whole file."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        """Return `file:line`, the form that editors and compilers use."""
        return f"{self.file}:{self.line}" if self.line else self.file


class Origin(NamedTuple):
    """The entity (and its rule) that a value comes from, and the place of the value.

    `kind`: tool, role, user, rule, destination, pool, global, request (values of the action itself
    in workflow.toml), or what-if. `sealed`: the file is not trusted.
    """

    kind: str
    id: str
    place: Flat[FilePosition] = FilePosition("")
    rule: str = ""
    sealed: bool = False

    def __str__(self) -> str:
        """Return `rule R of tool T in F:L`."""
        text = f"{self.kind} {visible(self.id)}" if self.id else self.kind
        if self.rule:
            text = f"rule {visible(self.rule)} of {text}"
        return f"{text} in {self.place}" if self.place.file else text


class Said(NamedTuple):
    """A value as written, and its origin."""

    value: Plain
    origin: Origin


_MOST_ORIGINS = 500
"""Origins of one value that are kept: of chains of thousands of entities, the newest."""


def chain(upper: tuple[Said, ...], under: tuple[Said, ...]) -> tuple[Said, ...]:
    """Return the newest origins of a value, the upper entity's first, and none twice.

    The newest origin in an untrusted file is always among them.
    """
    if not upper or not under:
        return upper or under
    known = set(map(id, upper))
    chain = upper + tuple([each for each in under if id(each) not in known])
    kept, sealed = chain[:_MOST_ORIGINS], [e for e in chain[_MOST_ORIGINS:] if e.origin.sealed]
    if not sealed or any(each.origin.sealed for each in kept):
        return kept
    return (*kept, sealed[0])
