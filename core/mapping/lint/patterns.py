"""Find ids of entities that match names which their author may not have meant.

Ids are regular expressions that match from the start, and every match is used. Whether one of two
patterns covers the other is computed for the form of nearly all real ids: a name, with an optional
`.*` before or behind it. A dot in a name is taken as a literal dot.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from rowtui.core.mapping.code.patterns import PatternError, compile_pattern, looks_like_glob
from rowtui.core.mapping.engine.lookup import EntityIds
from rowtui.core.mapping.lint.findings import LintFinding, shortened, title
from rowtui.core.mapping.model.configuration import Configuration
from rowtui.core.mapping.model.entities import Entity

_FORM = re.compile(
    r"\^?(?P<before>\.\*)?(?P<name>(?:[\w/@:,~% -]|\.(?![*+?{])|\\[^\w])*)"
    r"(?P<behind>\.\*)?(?P<end>\$)?",
    re.ASCII,
)
_LAST = "\U0010ffff"  # sorts after every name with the same start


class UsualPattern(NamedTuple):
    """A pattern of the usual form.

    `floating`: anything may precede the name; `closed`: nothing may follow the name; `open_end`:
    the pattern ends in `.*`.
    """

    name: str
    floating: bool
    closed: bool
    open_end: bool

    def covers(self, other: UsualPattern) -> bool:
        """Whether this pattern matches everything that the other matches."""
        if self.closed and not other.closed:
            return False
        if self.floating:
            if self.closed:
                return other.name.endswith(self.name)
            return self.name in other.name
        if other.floating:
            return not self.name and not self.closed
        if self.closed:
            return self.name == other.name
        return other.name.startswith(self.name)


def shape_of(key: str) -> UsualPattern | None:
    """Return the form of a pattern; None if it has another form."""
    match = _FORM.fullmatch(key)
    if match is None:
        return None
    name = re.sub(r"\\(.)", r"\1", match["name"])
    closed = bool(match["end"]) and not match["behind"]
    return UsualPattern(name, bool(match["before"]), closed, bool(match["behind"]))


def sample_of(key: str) -> str:
    """Return a name that a pattern was probably written for; "" if that is not clear."""
    shape = shape_of(key)
    return shape.name if shape is not None else ""


def pattern_findings(configuration: Configuration) -> Iterator[LintFinding]:
    """Yield M201 to M205."""
    for kind in ("tools", "roles", "users"):
        entities = configuration.of_kind(kind)
        default = configuration.default_inherits or ""
        yield from _globs(entities)
        shapes = {key: shape for key in entities if (shape := shape_of(key)) is not None}
        yield from _abstract(entities, shapes)
        yield from _pairs(configuration, kind, entities, shapes, default)


def _globs(entities: Mapping[str, Entity]) -> Iterator[LintFinding]:
    """Yield one finding for a file and severity, for any number of similar ids.

    The finding is a warning, or a note if the ids only end in a redundant `/*`.
    """
    found: dict[tuple[str, bool], list[tuple[Entity, str]]] = {}
    for key, entity in entities.items():
        hint = looks_like_glob(key)
        if not hint:
            continue
        try:
            compile_pattern(key)
        except PatternError:
            continue  # reported when the file was loaded
        harmless = key.endswith("/*") and not looks_like_glob(key[:-2])
        found.setdefault((entity.place.file, harmless), []).append((entity, hint))
    for (_, harmless), alike in found.items():
        entity, hint = alike[0]
        message = f"the id of {title(entity)} is a regular expression, but does not look like one"
        if len(alike) > 1:
            message += f"; so are those of {len(alike) - 1} more, as {title(alike[1][0])}"
        if harmless:
            hint = "The pattern matches the same ids without `/*`, since ids match from the start"
        yield LintFinding("M201", entity.place, message, hint, "note" if harmless else "warning")


def _abstract(
    entities: Mapping[str, Entity], shapes: Mapping[str, UsualPattern]
) -> Iterator[LintFinding]:
    """Yield abstract entities that match a concrete one too, whose jobs then fail."""
    abstract = EntityIds(key for key, entity in entities.items() if entity.abstract)
    matched: dict[str, list[str]] = {}
    for other, shape in shapes.items():
        if not shape.name or shape.floating or entities[other].abstract:
            continue
        for each in abstract.candidates(shape.name):
            with suppress(PatternError):
                if each.matches(shape.name):
                    matched.setdefault(each.key, []).append(shape.name)
    for key, entity in entities.items():
        if found := matched.get(key):
            more = f" and {len(found) - 1} more" if len(found) > 1 else ""
            yield LintFinding(
                "M202",
                entity.place,
                f"abstract {title(entity)} also matches {shortened(found[0])}{more}: "
                "such jobs fail",
                f"Ids match from the start: write {shortened(key + '$')}, or choose an id "
                "that no name begins with",
                "error",
            )


def _pairs(
    configuration: Configuration,
    kind: str,
    entities: Mapping[str, Entity],
    shapes: Mapping[str, UsualPattern],
    default: str,
) -> Iterator[LintFinding]:
    """Yield findings about pairs of patterns if one pattern covers the other."""
    at = {key: number for number, key in enumerate(entities)}
    parents = {
        entity.inherits
        for file in configuration.files
        for entity in file.entities.get(kind, {}).values()
    }
    same: set[tuple[str, str]] = set()
    for wide, narrow in _covering(shapes):
        if default in {wide, narrow} or entities[wide].abstract or entities[narrow].abstract:
            continue
        if shapes[wide].covers(shapes[narrow]) and shapes[narrow].covers(shapes[wide]):
            first, second = sorted((wide, narrow), key=at.__getitem__)
            if (first, second) not in same:
                same.add((first, second))
                yield _identical(entities[first], entities[second])
            continue
        hidden = at[wide] > at[narrow] and narrow not in parents
        if hidden and replaces_all(entities[wide], entities[narrow]):
            yield LintFinding(
                "M205",
                entities[narrow].place,
                f"all values of {title(entities[narrow])} are replaced by "
                f"{title(entities[wide])}, which comes later and matches the same jobs",
                f"Later matches count: put the special one behind the general one "
                f"({entities[wide].place})",
            )
        elif _by_accident(shapes[wide], shapes[narrow]):
            later = at[wide] > at[narrow]
            yield LintFinding(
                "M203",
                entities[wide].place,
                f"{title(entities[wide])} also matches {shortened(shapes[narrow].name)}"
                + (" and, being later, overrides it" if later else ""),
                f"Ids match from the start: write {shortened(wide + '$')} if only this one is "
                f"meant, {shortened(wide + '.*')} if all are",
                "warning" if later else "note",
            )


def _covering(shapes: Mapping[str, UsualPattern]) -> Iterator[tuple[str, str]]:
    """Yield every (key, other) where the key's pattern covers the other's."""
    ordered = sorted((shape.name, key) for key, shape in shapes.items())
    names = [name for name, _ in ordered]
    for key, shape in shapes.items():
        if shape.floating or not shape.name:
            found = list(shapes)
        else:
            start = bisect_left(names, shape.name)
            end = bisect_left(names, shape.name + _LAST)
            found = [other for _, other in ordered[start:end]]
        for other in found:
            if other != key and shape.covers(shapes[other]):
                yield key, other


def _by_accident(wide: UsualPattern, narrow: UsualPattern) -> bool:
    """Whether one name merely begins like the other, as `bwa` and `bwa_mem2`."""
    if wide.floating or wide.open_end or not wide.name or narrow.name == wide.name:
        return False
    follows = narrow.name[len(wide.name)]
    return wide.name[-1] not in "/_-.:@ " and (follows.isalnum() or follows in "_-")


def _identical(first: Entity, second: Entity) -> LintFinding:
    other_file = first.place.file != second.place.file
    return LintFinding(
        "M204",
        second.place,
        f"{title(second)} matches the same as {title(first)} ({first.place})",
        "Both apply, the later one over the earlier one; write the same id if one is to replace "
        "or extend the other",
        "note" if other_file else "warning",
    )


def replaces_all(upper: Entity, under: Entity) -> bool:
    """Whether no value of one entity remains once the other lies over it."""
    if not (under.said or under.rules):
        return False
    fields = under.said.keys() - {"inherits", "abstract"}
    if not fields <= upper.said.keys() or not under.rules.keys() <= upper.rules.keys():
        return False
    rules = under.rules.items()
    return all(rule.said.keys() <= upper.rules[key].said.keys() for key, rule in rules)
