"""Make the JSON Schema of a file from the declaration of its keys that its loader uses.

Editors complete and check a file with the schema, and show the sentence of each key. The schema
accepts what the loader accepts, apart from the loader's rules about meanings (docs/check.md).
Source: JSON Schema draft 2020-12.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from rowtui.core.workflow.toml_file import Kind, TableKeys, TomlField

Schema: TypeAlias = dict[str, Any]

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_TYPES: dict[Kind, Schema] = {
    "string": {"type": "string"},
    "line": {"type": "string", "not": {"pattern": r"[\x00-\x1f\x7f]"}},
    "boolean": {"type": "boolean"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "array": {"type": "array"},
    "any": {},
}


def file_schema(title: str, about: str, keys: TableKeys) -> Schema:
    """Return the schema of a file with these keys, as JSON data."""
    return {"$schema": DRAFT, "title": title, "description": about, **_table(keys)}


def _table(keys: TableKeys) -> Schema:
    others = False if keys.others is None else _field(keys.others)
    schema: Schema = {
        "type": "object",
        "properties": {name: _field(field) for name, field in keys.named.items()},
        "additionalProperties": others,
        **keys.words,
    }
    if required := [name for name, field in keys.named.items() if field.required is not None]:
        schema["required"] = required
    if keys.one:
        schema |= {"minProperties": 1, "maxProperties": 1}
    return schema


def _field(field: TomlField) -> Schema:
    about: Schema = {"description": field.about} if field.about else {}
    either = [_field(each) for each in field.either]
    inner: Schema = {"type": "object"} if field.keys is None else _table(field.keys)
    words = dict(field.words)
    match field.kind:
        case "table":
            return about | inner | words
        case "tables":
            return about | {"type": "array", "items": {"anyOf": either} if either else inner}
        case "strings" | "texts":
            one = {"type": "string", **words.pop("items", {})}
            several = {"type": "array", "items": one, **words}
            return about | (several if field.kind == "strings" else {"anyOf": [one, several]})
        case "array" if either:
            return about | {"type": "array", "items": {"anyOf": either}} | words
        case "any" if either:
            return about | {"anyOf": either} | words
    schema = about | _TYPES[field.kind]
    if field.choices:
        schema["enum"] = list(field.choices)
    if field.kind in ("integer", "number") and "exclusiveMinimum" not in words:
        schema["minimum"] = field.least or 0
    if field.most is not None:
        schema["maximum"] = field.most
    return schema | words
