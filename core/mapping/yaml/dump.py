"""Write a merged configuration as YAML that loads to the same configuration.

The input is the configuration that `load` made of all files; the output is one file with every
entity and all its inherited values, so that `inherits` itself is only a comment. Values keep their
types: text is read as text again. The output of TPV's own dump cannot be loaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rowtui.core.base.text import visible
from rowtui.core.mapping.model.configuration import KIND_NAMES, Configuration
from rowtui.core.mapping.model.entities import Entity
from rowtui.core.mapping.model.fields import FIELDS_OF
from rowtui.core.mapping.model.tags import SchedulingTags
from rowtui.core.mapping.yaml.emit import INDENT, map_lines


def configuration_text(configuration: Configuration) -> str:
    """Return the configuration as one mapping file, without broken or refused parts."""
    return "".join(f"{line}\n" for line in _lines(configuration))


def _lines(configuration: Configuration) -> Iterator[str]:
    head: dict[str, Any] = {"dialect": configuration.dialect.name}
    if configuration.default_inherits:
        head["default_inherits"] = configuration.default_inherits
    if any(file.has_pool_store for file in configuration.files):
        head["resource_pool_store"] = {}
    if configuration.context:
        head["context"] = {name: said.value for name, said in configuration.context.items()}
    yield "global:"
    yield from map_lines(head, INDENT)
    for kind in KIND_NAMES:
        entities = configuration.of_kind(kind)
        if not entities:
            continue
        yield f"{kind}:"
        for name, entity in entities.items():
            yield from _entity(kind, name, entity)


def _entity(kind: str, name: str, entity: Entity) -> Iterator[str]:
    if entity.place.file:
        yield f"{INDENT}# {visible(str(entity.place))}{_heritage(entity)}"
    body = _properties(kind, entity)
    if entity.rules:
        rules = entity.rules.values()
        body["rules"] = [{"id": rule.id, **_properties("rules", rule)} for rule in rules]
    yield from map_lines({name: body}, INDENT)


def _heritage(entity: Entity) -> str:
    return f", inherits {visible(entity.inherits)}" if entity.inherits else ""


def _properties(holder: str, entity: Entity) -> dict[str, Any]:
    """Return the properties of an entity, in the form of a file."""
    found: dict[str, Any] = {}
    for name, field in FIELDS_OF[holder].items():
        if name in {"id", "inherits", "rules"}:
            continue
        value = getattr(entity, field.attribute)
        if isinstance(value, SchedulingTags):
            value = {strength: tags for strength, tags in value.lists().items() if tags}
        if value is None or (value is False and name == "abstract"):
            continue
        if isinstance(value, (dict, list)) and not value:
            continue
        found[name] = dict(value) if isinstance(value, Mapping) else value
    return found
