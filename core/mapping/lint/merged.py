"""Check a merged configuration: code, patterns, constants and capacities.

Nothing is evaluated. A problem of one entity marks this entity as broken: a job that needs it fails
with the problem as the reason, and other jobs are not affected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from rowtui.core.base.errors import Problem
from rowtui.core.base.text import visible
from rowtui.core.mapping.code.patterns import PatternError, compile_pattern
from rowtui.core.mapping.code.snippets import CodeSnippet, own_pieces, rule_pieces
from rowtui.core.mapping.engine.lookup import plain_id
from rowtui.core.mapping.model.configuration import Configuration
from rowtui.core.mapping.model.context import check_variable
from rowtui.core.mapping.model.entities import Destination, Entity, Rule
from rowtui.core.mapping.model.fields import AMOUNTS, BOUNDS
from rowtui.core.mapping.model.origin import FilePosition, Said
from rowtui.core.workflow.toml_file import did_you_mean

NO_DEFAULT = "M208"  # the code of this finding in lint


def check_configuration(configuration: Configuration) -> Configuration:
    """Return the configuration with every further problem, and the entities that these break."""
    checking = _Checking(configuration)
    for kind, entities in configuration.entities.items():
        for name, entity in entities.items():
            checking.entity(kind, name, entity)
    checking.default()
    checking.pools()
    return configuration._replace(
        problems=(*configuration.problems, *checking.problems),
        broken={**checking.broken, **configuration.broken},
    )


class _Checking:
    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.dialect = configuration.dialect
        self.problems: list[Problem] = []
        self.broken: dict[tuple[str, str], Problem] = {}
        self.said: set[tuple[FilePosition, str]] = set()
        # by identity, since children share rules with their parents
        self.of_rules: dict[int, Problem | None] = {}

    def note(
        self, place: FilePosition, message: str, hint: str = "", severity: str = "error"
    ) -> Problem:
        """Record a problem once for each place, since every child repeats inherited code."""
        problem = Problem(place.file, place.line, place.column, message, hint, severity)
        if (place, message) not in self.said:
            self.said.add((place, message))
            self.problems.append(problem)
        return problem

    def entity(self, kind: str, name: str, entity: Entity) -> None:
        key = (kind, name)
        for piece in own_pieces(entity, text_as_tpv=self.dialect.text_as_tpv):
            self.break_by(key, self.code(piece))
        for rule in entity.rules.values():
            if id(rule) not in self.of_rules:
                self.of_rules[id(rule)] = self.rule(rule)
            self.break_by(key, self.of_rules[id(rule)])
        if kind in ("tools", "roles", "users") and plain_id(name) is None:
            try:
                compile_pattern(name)
            except PatternError as error:
                message = f"the id of {entity.kind} {visible(name)}: {error.message}"
                self.note(entity.place, message, error.hint)
        self.constants(key, entity)
        if isinstance(entity, Destination) and self.dialect.own_amounts_are_capacity:
            self.capacity(key, entity)

    def break_by(self, key: tuple[str, str], problem: Problem | None) -> None:
        """Mark an entity as broken by a problem, if there is one."""
        if problem is not None:
            self.broken.setdefault(key, problem)

    def rule(self, rule: Rule) -> Problem | None:
        """Return the first error in the code of a rule, and record all errors."""
        as_tpv = self.dialect.text_as_tpv
        found = [self.code(piece) for piece in rule_pieces(rule, text_as_tpv=as_tpv)]
        return next((each for each in found if each is not None), None)

    def code(self, piece: CodeSnippet) -> Problem | None:
        """Return the error in a piece of code, or None."""
        if piece.code.syntax_error is None:
            return None
        severity = "error"
        if piece.origin.rule and not self.dialect.bad_rules_are_errors:
            severity = "warning"
        problem = self.syntax(piece, severity)
        return problem if severity == "error" else None

    def syntax(self, piece: CodeSnippet, severity: str) -> Problem:
        complaint = piece.code.syntax_error
        assert complaint is not None
        place = piece.origin.place
        if complaint.line > 1:
            place = place._replace(line=place.line + complaint.line - 1, column=complaint.column)
        message = f"{piece.field} of {_whose(piece)}: {complaint.message}"
        return self.note(place, message, _what_was_meant(piece), severity)

    def constants(self, key: tuple[str, str], entity: Entity) -> None:
        for name, said, earlier in self.overridden(entity):
            complaint = check_variable(name, said, earlier, self.dialect)
            if complaint:
                problem = self.note(said.origin.place, *complaint)
                self.broken.setdefault(key, problem)

    def overridden(self, entity: Entity) -> Iterator[tuple[str, Said, Said]]:
        """Yield each variable of an entity with each value that it replaces."""
        shared = self.configuration.context
        for holder in (entity, *entity.rules.values()):
            for name in holder.context:
                chain = list(holder.said.get(f"context.{name}", ()))
                if holder is not entity:
                    chain += entity.said.get(f"context.{name}", ())
                if name in shared:
                    chain.append(shared[name])
                for newer, older in pairwise(chain):
                    yield name, newer, older

    def capacity(self, key: tuple[str, str], destination: Destination) -> None:
        for name in AMOUNTS:
            value = getattr(destination, name)
            if not isinstance(value, str):
                continue
            try:
                float(value)
            except ValueError:
                problem = self.note(
                    destination.whence(name).place,
                    f"{name} of destination {visible(destination.id)} must be a number: "
                    "it is what the destination has",
                    "in dialect tpv3 it would be forced on every job instead",
                )
                self.broken.setdefault(key, problem)

    def default(self) -> None:
        name = self.configuration.default_inherits
        kinds = self.configuration.entities.values()
        if not name or any(name in entities for entities in kinds):
            return
        files = self.configuration.files
        file = next(each for each in reversed(files) if each.default_inherits)
        self.note(
            file.default_inherits_place,
            f"`default_inherits` names {visible(name)}, and there is no such entity ({NO_DEFAULT})",
            did_you_mean(name, [key for entities in kinds for key in entities]),
            "warning",
        )

    def pools(self) -> None:
        pools = self.configuration.of_kind("pools")
        wired = any(file.has_pool_store for file in self.configuration.files)
        if pools and not wired and self.dialect.name == "tpv3":
            first = next(iter(pools.values()))
            self.note(
                first.place,
                "there are pools, but global.resource_pool_store is not set",
                "TPV refuses such files; rowtui itself needs no store",
            )


_UNIT = re.compile(r"\s*[\d.]+\s*[A-Za-z]+\s*")
_ONE_EQUALS = re.compile(r"[^=<>!:]=[^=]")


def _what_was_meant(piece: CodeSnippet) -> str:
    """Return a hint for the commonest mistakes in code, or "" for other mistakes."""
    text = piece.code.text.strip()
    if piece.field in (*AMOUNTS, *BOUNDS) and _UNIT.fullmatch(text):
        return "an amount is a number or an expression, without a unit: mem is in GB"
    if piece.field == "if" and "\n" not in text and _ONE_EQUALS.search(text):
        return "to compare, write `==`"
    return ""


def _whose(piece: CodeSnippet) -> str:
    origin = piece.origin
    whose = f"{origin.kind} {visible(origin.id)}"
    return f"rule {visible(origin.rule)} of {whose}" if origin.rule else whose
