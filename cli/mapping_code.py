"""What a mapping file could do, as a person reads it before trusting it.

Takes a `Source`; gives lines: everything that would run with its place, and what would be set in
jobs (their environment, their options); or, where the same file was trusted before, the difference
to what was trusted. Nothing of it runs. All is made visible.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from rowtui.core.mapping.codes import pieces
from rowtui.core.mapping.configuration import MappingFile
from rowtui.core.mapping.entities import Entity, env_key
from rowtui.core.mapping.origin import Origin
from rowtui.core.mapping.parse import parse_mapping
from rowtui.core.mapping.sources import Source
from rowtui.core.mapping.trust import TrustStore, difference
from rowtui.core.text import plural, visible

MOST_DIFFERENCE = 1_000_000  # lines: what somebody agrees to is never cut
_CUT = "more character"  # what `difference` says of a line that it does not show in full


class Expression(NamedTuple):
    """One piece of code, or one setting: where it stands, whose it is, and its text."""

    line: int
    what: str
    text: str


def expressions(file: MappingFile) -> list[Expression]:
    """All code of a file, in the order of its lines, each once.

    What is code in one of the dialects counts: another file may say which one is spoken.
    """
    found = {
        Expression(piece.origin.place.line, _whose(piece.field, piece.origin), piece.code.text)
        for entity in _entities(file)
        for as_tpv in (False, True)
        for piece in pieces(entity, text_as_tpv=as_tpv)
        if not piece.code.constant
    }
    return sorted(found)


def settings(file: MappingFile) -> list[Expression]:
    """What jobs would get as it is written: variables and shell code of env, and parameters.

    A variable such as LD_PRELOAD decides what runs as much as an expression does.
    """
    holders: list[Entity] = []
    for entity in _entities(file):
        holders += [entity, *entity.rules.values()]
    found = set()
    for holder in holders:
        for entry in holder.env:
            field = f"env.{env_key(entry)}" if "name" in entry else "env"
            value = entry["value"] if "name" in entry and "value" in entry else dict(entry)
            origin = holder.whence(f"env.{env_key(entry)}")
            found.add(Expression(origin.place.line, _whose(field, origin), _text(value)))
        for name, value in holder.params.items():
            origin = holder.whence(f"params.{name}")
            field = _whose(f"params.{name}", origin)
            found.add(Expression(origin.place.line, field, _text(value)))
    return sorted(found)


def _entities(file: MappingFile) -> Iterator[Entity]:
    for entities in file.entities.values():
        yield from entities.values()


def _whose(field: str, origin: Origin) -> str:
    return f"{visible(field)} of {origin._replace(place=origin.place._replace(file=''))}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def review_lines(source: Source, store: TrustStore) -> Iterator[str]:
    """What somebody reads who is asked to trust a file."""
    file = parse_mapping(source.data, source.name, digest=source.digest, sealed=True)
    size = plural(len(source.data), "byte")
    yield f"{source.name} ({size}, sha256 {source.digest})"
    if source.notice:
        yield f"  {visible(source.notice)}"
    for problem in file.problems:
        yield from (f"  {visible(line)}" for line in str(problem).split("\n"))
    before = store.last_trusted(source.place)
    if before is not None:
        changed = difference(before, source.data, source.name, MOST_DIFFERENCE)
        yield "  What changed since you trusted it:"
        yield from (f"  {line}" for line in changed)
        if not any(_CUT in line for line in changed):
            return
    code = expressions(file)
    if code:
        yield f"  {plural(len(code), 'piece')} of code would run as you:"
    else:
        yield "  has no code: nothing of it would run here"
    yield from _listed(code)
    others = [each for each in settings(file) if each not in set(code)]
    if others:
        yield f"  {plural(len(others), 'setting')} would reach your jobs as written:"
        yield from _listed(others)


def _listed(found: list[Expression]) -> Iterator[str]:
    for each in found:
        yield f"  line {each.line}, {each.what}"
        for line in each.text.rstrip("\n").split("\n"):
            yield f"      | {visible(line.expandtabs(4))}"
