"""Every piece of code that an entity holds, for compiling, checking, showing and for memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from rowtui.core.mapping.entities import AMOUNTS, BOUNDS, Destination, Entity, env_key
from rowtui.core.mapping.expressions import Code, compile_block, compile_execute, compile_text
from rowtui.core.mapping.origin import Origin


class Piece(NamedTuple):
    """One code, where it stands, and in which field."""

    field: str
    code: Code
    origin: Origin


def pieces(entity: Entity, *, text_as_tpv: bool, rules: bool = True) -> Iterator[Piece]:
    """All code of an entity; with that of its rules."""
    for name in (*AMOUNTS, *BOUNDS):
        value = getattr(entity, name)
        if isinstance(value, str):
            yield Piece(name, compile_block(value), entity.whence(name))
    if entity.rank:
        yield Piece("rank", compile_block(entity.rank), entity.whence("rank"))
    for field, value, origin in _texts(entity):
        for text in _strings(value):
            yield Piece(field, compile_text(text, as_tpv=text_as_tpv), origin)
    if not rules:
        return
    for rule in entity.rules.values():
        condition = rule.if_condition
        if isinstance(condition, str):
            yield Piece("if", compile_block(condition), rule.whence("if_condition"))
        if rule.execute:
            yield Piece("execute", compile_execute(rule.execute), rule.whence("execute"))
        if rule.fail:
            yield Piece("fail", compile_text(rule.fail, as_tpv=text_as_tpv), rule.whence("fail"))
        yield from pieces(rule, text_as_tpv=text_as_tpv, rules=False)


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
