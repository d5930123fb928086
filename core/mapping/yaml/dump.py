"""Write a merged configuration as YAML that loads to the same configuration.

The input is the configuration that `load` made of all files; the output is one file with every
entity and all its inherited values, so that `inherits` itself is only a comment. Values keep their
types: text is read as text again. The output of TPV's own dump cannot be loaded.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from rowtui.core.base.text import visible
from rowtui.core.mapping.model.configuration import KIND_NAMES, Configuration
from rowtui.core.mapping.model.entities import Entity
from rowtui.core.mapping.model.fields import FIELDS_OF
from rowtui.core.mapping.model.tags import SchedulingTags

_PLAIN = re.compile(r"[A-Za-z_./][A-Za-z0-9_./@=<>()+*-]*(?: [A-Za-z0-9_./@=<>()+*-]+)*")
_WORDS = frozenset({"true", "false", "null", "nan", "inf", "yes", "no", "on", "off", "y", "n"})
_BLOCK = re.compile(r"[!-~][ -~]*(?:\n+[ -~]+)*\n?")  # printable lines, the first not indented
INDENT = "  "
_LONGEST_KEY = 1000  # characters; YAML allows 1024 before a colon on its line


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
        heritage = f", inherits {visible(entity.inherits)}" if entity.inherits else ""
        yield f"{INDENT}# {visible(str(entity.place))}{heritage}"
    body = _properties(kind, entity)
    if entity.rules:
        rules = entity.rules.values()
        body["rules"] = [{"id": rule.id, **_properties("rules", rule)} for rule in rules]
    yield from map_lines({name: body}, INDENT)


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


def map_lines(values: Mapping[Any, Any], indent: str) -> Iterator[str]:
    """Yield the lines of a map, each after `indent`."""
    for key, value in values.items():
        shown = scalar(key)
        if len(shown) > _LONGEST_KEY:
            yield f"{indent}? {shown}"
            yield from _entry(f"{indent}:", value, indent)
        else:
            yield from _entry(f"{indent}{shown}:", value, indent)


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    """Yield a key (or the dash of a list) with its value, on the same line if possible."""
    deeper = indent + INDENT
    if isinstance(value, Mapping) and value:
        yield head
        yield from map_lines(value, deeper)
    elif isinstance(value, (list, tuple)) and value:
        yield head
        for item in value:
            yield from _item(item, deeper)
    elif isinstance(value, str) and "\n" in value and _BLOCK.fullmatch(value):
        trailing = len(value) - len(value.rstrip("\n"))
        yield f"{head} |" + ("" if trailing else "-")
        for line in value.removesuffix("\n").split("\n"):
            yield f"{deeper}{line}" if line else ""
    else:
        yield f"{head} {scalar(value)}"


def _item(item: Any, indent: str) -> Iterator[str]:
    """Yield an item of a list; a map begins behind its dash."""
    if not isinstance(item, Mapping) or not item:
        yield from _entry(f"{indent}-", item, indent)
        return
    lines = map_lines(item, indent + INDENT)
    yield f"{indent}- {next(lines).lstrip(' ')}"
    yield from lines


def scalar(value: Any) -> str:
    """Return a value on one line, in a form that YAML 1.2 reads as the same value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(scalar, value)) + "]"
    if isinstance(value, Mapping):
        inside = ", ".join(f"{scalar(key)}: {scalar(each)}" for key, each in value.items())
        return "{" + inside + "}"
    text = str(value)
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS and not text.startswith("."):
        return text
    return _quoted(text)


def _number(value: float) -> str:
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    text = repr(value)
    return text if "." in text or "e" not in text else text.replace("e", ".0e")


def _quoted(text: str) -> str:
    """Return the text in double quotes with unprintable characters escaped.

    JSON would write characters beyond 16 bits as pairs of surrogates.
    """
    parts = []
    for char in text:
        code = ord(char)
        if char in '"\\':
            parts.append("\\" + char)
        elif char.isprintable():
            parts.append(char)
        elif code < 0x20 or char == "\x7f":
            parts.append(json.dumps(char)[1:-1] if code < 0x20 else "\\x7f")
        else:
            parts.append(f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}")
    return '"' + "".join(parts) + '"'
