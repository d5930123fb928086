"""A JSON schema of mapping files, for editors that complete and check YAML during typing.

The schema is made from the table of properties (`fields`), so that it allows exactly the properties
that parsing accepts. One rule is stricter: a key that parsing would ignore with a warning is not
allowed. Source: JSON Schema draft 2020-12.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from rowtui.core.mapping.files.subject import TRUTH_WORDS
from rowtui.core.mapping.model.dialect import DIALECTS
from rowtui.core.mapping.model.fields import (
    ENV_FORMS,
    FIELDS_OF,
    GLOBALS,
    HOLDERS,
    OVERSIZE,
    SECTIONS,
    SINGULAR,
    TOP_LEVEL,
    EntityField,
    Shape,
)
from rowtui.core.mapping.model.tags import STRENGTHS

Schema: TypeAlias = dict[str, Any]

_NUMERAL = r"^\s*[-+]?([0-9][0-9_]*\.?[0-9]*|\.[0-9]+|[iI]nf)([eE][-+]?[0-9]+)?\s*$"
_NAME = "^[^\\W\\d]\\w*$"

_TEXT: Schema = {"type": ["string", "null"]}
_TRUTH_WORD = "|".join(
    "".join(f"[{letter.upper()}{letter}]" for letter in word) for word in TRUTH_WORDS
)
_FLAG: Schema = {
    "anyOf": [
        {"type": ["boolean", "number", "null"]},
        {
            "type": "string",
            "pattern": rf"^\s*({_TRUTH_WORD})\s*$",
            "description": "yes, no, on, off",
        },
    ]
}
_BOOLEAN: Schema = {
    "anyOf": [
        {"type": ["boolean", "null"]},
        {"enum": [0, 1]},
        {"type": "string", "pattern": f"^({_TRUTH_WORD})$", "description": "yes, no, on, off"},
    ]
}
_NUMBER: Schema = {"anyOf": [{"type": ["number", "null"]}, {"type": "string", "pattern": _NUMERAL}]}
_NAMED: Schema = {"type": "string", "minLength": 1}
_TEXTS: Schema = {"type": ["array", "null"], "items": {"type": "string"}}
_TAGS: Schema = {**_TEXTS, "uniqueItems": True}
_VARIABLES: Schema = {"type": ["object", "null"], "propertyNames": {"pattern": _NAME}}
_SINGLE: Schema = {"type": ["string", "number", "boolean", "null"]}
_STRENGTHS = {
    "require": "tags that the other side must have",
    "prefer": "tags that the other side should have",
    "accept": "tags that the other side may have",
    "reject": "tags that the other side must not have",
}


def mapping_schema() -> Schema:
    """Return the schema of a mapping file, as JSON data.

    Source: draft 2020-12, which yaml-language-server reads.
    """
    sections = {
        kind: {
            "description": TOP_LEVEL[kind],
            "type": ["object", "null"],
            "additionalProperties": {"$ref": f"#/$defs/{SINGULAR[kind]}"},
        }
        for kind in SECTIONS
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mapping file",
        "description": "Where jobs may go, where they should go, and with what.",
        "type": ["object", "null"],
        "properties": {"global": _globals(), **sections},
        "patternProperties": {"^(x-|\\.)": {"description": "for anchors; not read"}},
        "additionalProperties": False,
        "$defs": {SINGULAR[holder]: _entity(holder) for holder in HOLDERS},
    }


def _globals() -> Schema:
    shapes: Mapping[str, Schema] = {
        "dialect": {"enum": [*DIALECTS, None]},
        "default_inherits": _TEXT,
        "context": _VARIABLES,
        "include": {"type": ["array", "string", "null"], "minLength": 1, "items": _NAMED},
        "resource_pool_store": {"type": ["object", "null"]},
    }
    return {
        "description": TOP_LEVEL["global"],
        "type": ["object", "null"],
        "properties": {name: {"description": GLOBALS[name], **shapes[name]} for name in GLOBALS},
        "additionalProperties": False,
    }


def _entity(holder: str) -> Schema:
    schema: Schema = {
        "type": "object",
        "properties": {
            name: {"description": field.description, **_shape(field, holder)}
            for name, field in FIELDS_OF[holder].items()
        },
        "additionalProperties": False,
    }
    if holder == "rules":
        schema["required"] = ["if"]
    return schema


def _shape(field: EntityField, holder: str) -> Schema:
    if field.shape == "tags":
        return _tags(("require", "reject") if holder == "pools" else STRENGTHS)
    return _SHAPES[field.shape]


def _tags(strengths: tuple[str, ...]) -> Schema:
    return {
        "type": ["object", "null"],
        "properties": {name: {"description": _STRENGTHS[name], **_TAGS} for name in strengths},
        "additionalProperties": False,
    }


_OVERSIZE: Schema = {
    name: {
        "description": OVERSIZE[name],
        **(_BOOLEAN if name == "reserve_pool" else _NUMBER),
    }
    for name in OVERSIZE
}
_ENV_ENTRY: Schema = {
    "type": "object",
    "properties": {name: {"description": ENV_FORMS[name], "type": "string"} for name in ENV_FORMS},
    "additionalProperties": False,
    "anyOf": [{"required": ["name", "value"]}, {"required": ["file"]}, {"required": ["execute"]}],
    "dependentRequired": {"name": ["value"], "value": ["name"]},
}
_RULE: Schema = {"$ref": "#/$defs/rule"}
_SHAPES: Mapping[Shape, Schema] = {
    "amount": {
        "anyOf": [{"type": ["number", "null"]}, {"type": "string", "minLength": 1}],
    },
    "number": _NUMBER,
    "text": _TEXT,
    "code": _TEXT,
    "condition": {"anyOf": [{"type": ["string", "boolean"]}, {"enum": [0, 1]}]},
    "flag": _FLAG,
    "boolean": _BOOLEAN,
    "variables": _VARIABLES,
    "params": {"type": ["object", "null"]},
    "env": {
        "anyOf": [
            {"type": ["object", "null"], "additionalProperties": _SINGLE},
            {"type": "array", "items": _ENV_ENTRY},
        ]
    },
    "handlers": {
        "type": ["object", "null"],
        "additionalProperties": {"type": "object", "additionalProperties": _SINGLE},
    },
    "texts": _TEXTS,
    "oversize": {
        "type": ["object", "null"],
        "properties": _OVERSIZE,
        "additionalProperties": False,
    },
    "rules": {
        "anyOf": [
            {"type": ["array", "null"], "items": _RULE},
            {"type": "object", "additionalProperties": _RULE},
        ]
    },
    "label": {"type": ["string", "number", "boolean", "null"]},
    "ignored": {"deprecated": True},
}
