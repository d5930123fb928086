"""Collect every piece of code of an entity, for compiling, checking and display."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from rowtui.core.mapping.code.compiler import without_warnings
from rowtui.core.mapping.code.expressions import compile_block, compile_execute, compile_text
from rowtui.core.mapping.code.model import Code, ExpressionKind
from rowtui.core.mapping.code.text_source import TextSource, text_source
from rowtui.core.mapping.model.entities import Destination, Entity, Rule
from rowtui.core.mapping.model.fields import AMOUNTS, BOUNDS, env_key
from rowtui.core.mapping.model.origin import FilePosition, Origin


class CodeSnippet(NamedTuple):
    """One code, its place, and its field."""

    field: str
    code: Code
    origin: Origin

    def place_of(self, at: tuple[int, int]) -> FilePosition:
        """Return the place in the file of a line and column of the code, both from 1."""
        place = self.origin.place
        return place._replace(line=place.line + at[0] - 1, column=at[1]) if at[0] > 1 else place


def syntax_of(code: Code, *, as_tpv: bool) -> tuple[ast.Module, TextSource]:
    """Return the syntax tree of a code without a syntax error, and the source for its places."""
    is_text = code.form is ExpressionKind.TEXT
    source = text_source(code.text, as_tpv=as_tpv) if is_text else TextSource(code.text)
    with without_warnings():
        return ast.parse(source.source), source


def pieces(entity: Entity, *, text_as_tpv: bool) -> Iterator[CodeSnippet]:
    """Yield all code of an entity, with the code of its rules."""
    yield from own_pieces(entity, text_as_tpv=text_as_tpv)
    for rule in entity.rules.values():
        yield from rule_pieces(rule, text_as_tpv=text_as_tpv)


def rule_pieces(rule: Rule, *, text_as_tpv: bool) -> Iterator[CodeSnippet]:
    """Yield all code of a rule."""
    condition = rule.if_condition
    if isinstance(condition, str):
        yield CodeSnippet("if", compile_block(condition), rule.whence("if_condition"))
    if rule.execute:
        yield CodeSnippet("execute", compile_execute(rule.execute), rule.whence("execute"))
    if rule.fail:
        yield CodeSnippet("fail", compile_text(rule.fail, as_tpv=text_as_tpv), rule.whence("fail"))
    yield from own_pieces(rule, text_as_tpv=text_as_tpv)


def own_pieces(entity: Entity, *, text_as_tpv: bool) -> Iterator[CodeSnippet]:
    """Yield all code of an entity except the code of its rules."""
    for name in (*AMOUNTS, *BOUNDS):
        value = getattr(entity, name)
        if isinstance(value, str):
            yield CodeSnippet(name, compile_block(value), entity.whence(name))
    if entity.rank:
        yield CodeSnippet("rank", compile_block(entity.rank), entity.whence("rank"))
    for field, value, origin in _texts(entity):
        for text in _strings(value):
            yield CodeSnippet(field, compile_text(text, as_tpv=text_as_tpv), origin)


def unique_pieces(entities: Iterable[Entity], *, text_as_tpv: bool) -> Iterator[CodeSnippet]:
    """Yield all code of several entities. Code that several entities inherit comes once."""
    rules: set[int] = set()
    seen: set[tuple[str, Code, Origin]] = set()
    for entity in entities:
        for piece in own_pieces(entity, text_as_tpv=text_as_tpv):
            if piece not in seen:
                seen.add(piece)
                yield piece
        for rule in entity.rules.values():
            if id(rule) not in rules:
                rules.add(id(rule))
                yield from rule_pieces(rule, text_as_tpv=text_as_tpv)


def _texts(entity: Entity) -> Iterator[tuple[str, Any, Origin]]:
    for entry in entity.env:
        field = f"env.{env_key(entry)}"
        yield field, entry, entity.whence(field)
    for name, value in entity.params.items():
        yield f"params.{name}", value, entity.whence(f"params.{name}")
    for name, value in entity.resubmit.items():
        yield f"resubmit.{name}", value, entity.whence(f"resubmit.{name}")
    if isinstance(entity, Destination):
        if entity.name_override:
            field = "destination_name_override"
            yield field, entity.name_override, entity.whence("name_override")
        yield "tags", entity.handler_tags, entity.whence("handler_tags")


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)
