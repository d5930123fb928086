"""Merge mapping files into one configuration, and resolve every chain of `inherits`.

The input is parsed files in their order (later files override); the output is a `Configuration`. A
problem of an entity makes this entity broken, never the others. Source: TPV's documentation,
"Loader" and "Inherit".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rowtui.core.base.errors import Problem
from rowtui.core.base.text import visible
from rowtui.core.mapping.files.parse import parse_mapping
from rowtui.core.mapping.files.places import MappingSource
from rowtui.core.mapping.lint.merged import check_configuration
from rowtui.core.mapping.model.configuration import KIND_NAMES, Configuration, MappingFile, one_line
from rowtui.core.mapping.model.context import check_variable
from rowtui.core.mapping.model.dialect import DIALECTS, SEED, Dialect
from rowtui.core.mapping.model.entities import Entity, inherit
from rowtui.core.mapping.model.origin import FilePosition, Said
from rowtui.core.workflow.toml_file import did_you_mean

_MOST_INHERITED = 1_000_000  # values and rules; a chain of n entities that each add one: n² / 2
_MOST_COMPARED = 200_000  # ids, for parents that are missing: a few seconds


def load_mapping(
    sources: Sequence[MappingSource], problems: Sequence[Problem] = ()
) -> Configuration:
    """Return the configuration of these sources. `problems`: the problems of finding them."""
    files = [
        parse_mapping(source.data, source.name, digest=source.digest, sealed=not source.trusted)
        for source in sources
    ]
    return merge_files(files, problems)


def merge_files(files: Sequence[MappingFile], problems: Sequence[Problem] = ()) -> Configuration:
    """Return the configuration of these parsed files."""
    merging = _Merging(files, list(problems))
    for file in files:
        merging.add(file)
        if merging.dialect.inherits_per_file:
            merging.follow_inherits()
    if not merging.dialect.inherits_per_file:
        merging.follow_inherits()
    return check_configuration(merging.result())


class _Merging:
    def __init__(self, files: Sequence[MappingFile], problems: list[Problem]) -> None:
        self.files = tuple(files)
        self.problems = problems
        self.dialect = self._dialect()
        self.default_inherits: str | None = None
        self.context: dict[str, Said] = {}
        self.entities: dict[str, dict[str, Entity]] = {kind: {} for kind in KIND_NAMES}
        self.broken: dict[tuple[str, str], Problem] = {}
        self.sealed_globals = ""
        self.inherited = self.compared = 0
        errors = [each for each in problems if each.severity == "error"]
        self.unusable = one_line(errors[0]) if errors else ""

    def _dialect(self) -> Dialect:
        parts = [file for file in self.files if file.dialect in DIALECTS]
        names = {file.dialect for file in parts}
        if len(names) > 1:
            last = parts[-1]
            other = next(file for file in parts if file.dialect != last.dialect)
            self.complain(
                last.dialect_place,
                f"dialect {last.dialect} is set here and {other.dialect} in {other.name}",
                "all files of a project share one dialect; the dialect of the last file applies",
            )
        return DIALECTS[parts[-1].dialect or ""] if parts else SEED

    def complain(self, place: FilePosition, message: str, hint: str = "") -> Problem:
        problem = Problem(place.file, place.line, place.column, message, hint)
        self.problems.append(problem)
        return problem

    def add(self, file: MappingFile) -> None:
        """Lay one file over the files before it."""
        self.problems += file.problems
        for key, problem in file.broken.items():
            if not key[1]:  # a whole section, or the whole file
                self.unusable = self.unusable or one_line(problem)
            else:
                self.broken[key] = problem
        if file.default_inherits:
            self.default_inherits = file.default_inherits
        if file.sealed and (file.default_inherits or file.context or file.dialect):
            self.sealed_globals = self.sealed_globals or file.name
        for name, said in file.context.items():
            self.add_variable(name, said)
        for kind in KIND_NAMES:
            self.add_entities(kind, file.entities.get(kind, {}))

    def add_variable(self, name: str, said: Said) -> None:
        earlier = self.context.get(name)
        complaint = check_variable(name, said, earlier, self.dialect)
        if complaint and earlier is not None:
            self.complain(said.origin.place, *complaint)
            return
        self.context[name] = said

    def add_entities(self, kind: str, new: Mapping[str, Entity]) -> None:
        merged = self.entities[kind]
        both = {**merged, **new}
        done: dict[str, Entity] = {}
        for name, entity in new.items():
            earlier = merged.pop(name, None)
            if earlier is None:
                merged[name] = entity
                continue
            resolved = self.resolved(kind, both, name, done)
            merged[name] = inherit(resolved, earlier, self.dialect)

    def follow_inherits(self) -> None:
        """Lay every entity over its parent, the parent's parent, and so on."""
        self.inherited = 0
        for kind, entities in self.entities.items():
            done: dict[str, Entity] = {}
            for name, entity in entities.items():
                if entity.inherits:
                    self.resolved(kind, entities, name, done)
            entities.update(done)

    def resolved(
        self, kind: str, entities: Mapping[str, Entity], name: str, done: dict[str, Entity]
    ) -> Entity:
        """Return an entity laid over all its parents.

        `done`: the entities resolved before; further ones are added. Each entity is laid over its
        parent once, for any number of children.
        """
        chain: dict[str, None] = {}
        while name not in done:
            entity = entities[name]
            chain[name] = None
            parent = entity.inherits
            if not parent:
                break
            if parent not in entities:
                self.no_parent(kind, entities, entity)
                break
            if parent in chain:
                members = list(chain)
                for member in members[members.index(parent) :]:
                    self.cycle(kind, entities[member])
                break
            name = parent
        whole = done.get(name)
        for link in reversed(chain):
            entity = entities[link]
            self.inherited += len(whole.said) + len(whole.rules) if whole else 0
            if self.inherited > _MOST_INHERITED and whole is not None:
                whole = None
                if (kind, entity.inherits) not in self.broken:  # reported for the parent
                    self.too_much(kind, entity)
            whole = done[link] = entity if whole is None else inherit(entity, whole, self.dialect)
            # A problem of a parent is a problem of its children too.
            problem = self.broken.get((kind, entity.inherits or ""))
            if entity.inherits and problem is not None:
                self.broken.setdefault((kind, link), problem)
        assert whole is not None
        return whole

    def no_parent(self, kind: str, entities: Mapping[str, Entity], child: Entity) -> None:
        name = child.inherits or ""
        message = f"{child.kind} {visible(child.id)} inherits {visible(name)}, which is not there"
        self.compared += len(entities)
        hint = did_you_mean(name, entities) if self.compared <= _MOST_COMPARED else ""
        hint = hint or f"there is no such entity among the {kind}"
        self.broken_by(kind, child, message, hint)

    def cycle(self, kind: str, child: Entity) -> None:
        message = f"{child.kind} {visible(child.id)} inherits from itself in a circle"
        self.broken_by(kind, child, message, f"by way of {visible(child.inherits or '')}")

    def too_much(self, kind: str, child: Entity) -> None:
        message = f"{child.kind} {visible(child.id)} inherits too much"
        hint = f"all chains of `inherits` together may pass on {_MOST_INHERITED:,} values"
        self.broken_by(kind, child, message, hint)

    def broken_by(self, kind: str, child: Entity, message: str, hint: str) -> None:
        """Report a problem of an entity's `inherits`, once."""
        place = child.whence("inherits").place
        problem = Problem(place.file, place.line, place.column, message, hint)
        if problem not in self.problems:
            self.problems.append(problem)
        self.broken.setdefault((kind, child.id), problem)

    def result(self) -> Configuration:
        for entities in self.entities.values():
            for entity in entities.values():
                entity.speak(self.dialect)
        return Configuration(
            dialect=self.dialect,
            default_inherits=self.default_inherits,
            context=self.context,
            entities=self.entities,
            broken=self.broken,
            sealed_globals=self.sealed_globals,
            unusable=self.unusable,
            files=self.files,
            problems=tuple(self.problems),
        )
