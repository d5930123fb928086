"""The code and settings of a mapping file, for the user to read before trusting the file.

The input is a `Source`. The result is lines: all code that would run with its place, and all
settings for jobs (their environment, their options); or, if the same file was trusted before, the
difference from the trusted content. No code of the file runs. Control characters are made visible.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from rowtui.core.base.text import plural, visible
from rowtui.core.mapping.code.snippets import pieces
from rowtui.core.mapping.files.parse import parse_mapping
from rowtui.core.mapping.files.sources import Source
from rowtui.core.mapping.files.trust import TrustStore, difference
from rowtui.core.mapping.model.configuration import MappingFile
from rowtui.core.mapping.model.entities import Entity, env_key
from rowtui.core.mapping.model.origin import Origin

MOST_DIFFERENCE = 1_000_000  # lines: the content that the user agrees to is never cut
_CUT = "more character"  # the mark that `difference` puts on a line it does not show in full


class Expression(NamedTuple):
    """One piece of code, or one setting: its place, its owner, and its text."""

    line: int
    what: str
    text: str


def expressions(file: MappingFile) -> list[Expression]:
    """Return all code of a file, in the order of its lines, each once.

    Text that is code in any of the dialects is included, because another file may select the
    dialect.
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
    """Return texts that jobs would get as written: variables and code of env, parameters.

    A variable such as LD_PRELOAD decides which code runs as much as an expression does.
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
    """Yield the lines that the user reads before trusting a file."""
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
