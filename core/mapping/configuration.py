"""What has been loaded: mapping files as parsed, and the configuration that they make together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from rowtui.core.errors import Problem
from rowtui.core.mapping.dialect import SEED, Dialect
from rowtui.core.mapping.entities import Entity, Said
from rowtui.core.mapping.place import Place

KIND_NAMES = ("tools", "roles", "users", "destinations", "pools")


class MappingFile(NamedTuple):
    """One file as parsed: its entities in file order, by kind and id, nothing inherited yet.

    `dialect`, `default_inherits`: as written, None if the file does not say. `context`: the global
    variables, each with its place. `sealed`: not trusted, so nothing of it may be evaluated.
    `silenced`: entity place line -> codes of lint messages that a `# noqa` comment silences (the
    empty set: all). `broken`: (kind, id) -> the first error of an entity that cannot be used
    because of it; with the id "" that of a section ("global", "tools", ...), with both "" that of
    the whole file. `include`: other files that this one names, each with its place.
    """

    name: str
    digest: str = ""
    sealed: bool = False
    dialect: str | None = None
    dialect_place: Place = Place("")
    default_inherits: str | None = None
    default_inherits_place: Place = Place("")
    context: Mapping[str, Said] = {}
    has_pool_store: bool = False
    entities: Mapping[str, Mapping[str, Entity]] = {}
    problems: tuple[Problem, ...] = ()
    silenced: Mapping[int, frozenset[str]] = {}
    broken: Mapping[tuple[str, str], Problem] = {}
    include: tuple[tuple[str, Place], ...] = ()


class Configuration(NamedTuple):
    """All files merged and every chain of `inherits` followed.

    `broken`: (kind, id) -> what is wrong with an entity, so that a job which needs it fails with
    that reason while the others go on. `unusable`: why no job at all can be mapped, "" if some
    can.
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
        """The entities of a kind ("tools", "roles", ...) by id, in order."""
        return self.entities.get(kind, {})


def one_line(problem: Problem) -> str:
    """A problem as the reason of something else: its place and what is wrong."""
    place = Place(problem.file, problem.line, problem.column)
    return f"{place}: {problem.message}"
