"""Loaded mapping files: each file as parsed, and the configuration merged from all files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from rowtui.core.base.errors import Problem
from rowtui.core.mapping.model.dialect import SEED, Dialect
from rowtui.core.mapping.model.entities import Entity
from rowtui.core.mapping.model.origin import FilePosition, Said

KIND_NAMES = ("tools", "roles", "users", "destinations", "pools")


class MappingFile(NamedTuple):
    """One parsed file: its entities in file order, by kind and id, without inherited values.

    `dialect`, `default_inherits`: as written, None if the file does not set them. `context`: the
    global variables, each with its place. `sealed`: the file is not trusted, so none of its code
    may be evaluated. `silenced`: entity place line -> codes of lint messages that a `# noqa`
    comment silences (the empty set: all). `broken`: (kind, id) -> the first error of an entity,
    which makes it unusable; with the id "" the error of a section ("global", "tools", ...), with
    both "" the error of the whole file. `include`: the other files that this file names, each with
    its place.
    """

    name: str
    digest: str = ""
    sealed: bool = False
    dialect: str | None = None
    dialect_place: FilePosition = FilePosition("")
    default_inherits: str | None = None
    default_inherits_place: FilePosition = FilePosition("")
    context: Mapping[str, Said] = {}
    has_pool_store: bool = False
    entities: Mapping[str, Mapping[str, Entity]] = {}
    problems: tuple[Problem, ...] = ()
    silenced: Mapping[int, frozenset[str]] = {}
    broken: Mapping[tuple[str, str], Problem] = {}
    include: tuple[tuple[str, FilePosition], ...] = ()


class Configuration(NamedTuple):
    """All files merged, with every chain of `inherits` resolved.

    `broken`: (kind, id) -> the problem of an entity, so that a job which needs the entity fails
    with this reason while other jobs are not affected. `unusable`: why no job at all can be mapped,
    "" if some jobs can.
    """

    dialect: Dialect = SEED
    default_inherits: str | None = None
    context: Mapping[str, Said] = {}
    entities: Mapping[str, Mapping[str, Entity]] = {}
    broken: Mapping[tuple[str, str], Problem] = {}
    sealed_globals: str = ""
    """The name of an untrusted file whose global section would change every job."""
    unusable: str = ""
    files: tuple[MappingFile, ...] = ()
    problems: tuple[Problem, ...] = ()

    def of_kind(self, kind: str) -> Mapping[str, Any]:
        """Return the entities of a kind ("tools", "roles", ...) by id, in order."""
        return self.entities.get(kind, {})


def one_line(problem: Problem) -> str:
    """Return a problem as the reason of another problem: its place and its message."""
    place = FilePosition(problem.file, problem.line, problem.column)
    return f"{place}: {problem.message}"
