"""The code of a mapping file as a person reads it before trusting it.

Takes a `Source`; gives lines: everything that would run with its place, or, where the same file
was trusted before, the difference to what was trusted. Nothing of it runs. All is made visible.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rowtui.core.mapping.codes import pieces
from rowtui.core.mapping.configuration import MappingFile
from rowtui.core.mapping.dialect import DIALECTS, SEED
from rowtui.core.mapping.parse import parse_mapping
from rowtui.core.mapping.sources import Source
from rowtui.core.mapping.trust import TrustStore, difference
from rowtui.core.text import plural, visible

MOST_DIFFERENCE = 1_000_000  # lines: what somebody agrees to is never cut
_CUT = "more character"  # what `difference` says of a line that it does not show in full


class Expression(NamedTuple):
    """One piece of code: where it stands, whose it is, and its text."""

    line: int
    what: str
    text: str


def expressions(file: MappingFile) -> list[Expression]:
    """All code of a file, in the order of its lines, each once."""
    dialect = DIALECTS.get(file.dialect or "", SEED)
    found = {
        Expression(
            piece.origin.place.line,
            f"{piece.field} of {piece.origin._replace(place=piece.origin.place._replace(file=''))}",
            piece.code.text,
        )
        for entities in file.entities.values()
        for entity in entities.values()
        for piece in pieces(entity, text_as_tpv=dialect.text_as_tpv)
        if not piece.code.constant
    }
    return sorted(found)


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
    found = expressions(file)
    if not found:
        yield "  has no code: nothing of it would run"
        return
    yield f"  {plural(len(found), 'piece')} of code would run as you:"
    for each in found:
        yield f"  line {each.line}, {each.what}"
        yield from (
            f"      | {visible(line.expandtabs(4))}" for line in each.text.rstrip("\n").split("\n")
        )
