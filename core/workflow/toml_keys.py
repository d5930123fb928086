"""Declare the keys of a TOML file once: for its loader, and for the JSON Schema of the file.

`TomlTable` checks a table against the declaration. Editors complete and check a file with the
schema, and show the sentence of each key. The schema accepts what the loader accepts, apart from
the loader's rules about meanings (docs/check.md). Source: JSON Schema draft 2020-12.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from math import inf
from typing import Any, Literal, NamedTuple, TypeAlias

from rowtui.core.workflow.positions import KeyPath

LARGEST_INTEGER = 2**63 - 1  # the limit of TOML and of Row

# A line is a string without control characters, which can go into the header of a script; texts are
# one string or several. The code of the loader checks the values of kind `any`.
Kind = Literal[
    "string", "line", "strings", "texts", "boolean", "integer", "number",
    "array", "table", "tables", "any",
]  # fmt: skip
_TYPES: Mapping[Kind, tuple[str, Any]] = {
    "string": ("a string", str),
    "line": ("a string", str),
    "strings": ("an array of strings", list),
    "texts": ("an array of strings", (list, str)),
    "boolean": ("true or false", bool),
    "integer": ("an integer", int),
    "number": ("a number", (int, float)),
    "array": ("an array", list),
    "table": ("a table", dict),
    "tables": ("an array of tables", list),
    "any": ("", object),
}


class Key(NamedTuple):
    """One key of a table. `about`: a sentence for the user, which editors show.

    `required`: None, or the hint where the key is missing. `least`, `most`: of numbers; `wanted`:
    the end of the message if a number is outside, or an integer too large. `hint`: for a value of a
    wrong type, made from the path of the key and the value. `keys`: of a table, or of each table of
    an array; None for a table with any content. `either`: the forms of a value of kind `any`, or of
    the elements of an array. The code of the loader checks `form`, the pattern of a whole string or
    of each, and `words`, further rules in words of JSON Schema.
    """

    kind: Kind
    about: str = ""
    required: str | None = None
    least: float | None = None
    most: float | None = None
    wanted: str = ""
    choices: Collection[str] = ()
    hint: str | Callable[[KeyPath, Any], str] = ""
    keys: TableKeys | None = None
    either: tuple[Key, ...] = ()
    form: str = ""
    words: Mapping[str, Any] = {}

    def type_wanted(self, value: object) -> str:
        """Return the type that a value should have, such as `a string`; "" if it has this type."""
        wanted, right = _TYPES[self.kind]
        is_boolean = isinstance(value, bool) and self.kind in ("integer", "number")
        return wanted if is_boolean or not isinstance(value, right) else ""

    def size_wanted(self, value: float) -> str:
        """Return what a number should be, such as `at least 1`; "" if it is within its bounds."""
        least, most = self.least or 0, self.most
        if most is None:
            most = LARGEST_INTEGER if self.kind == "integer" else inf
        above = self.words.get("exclusiveMinimum", -inf)
        if least <= value <= most and above < value < inf:  # a nan fails this comparison
            return ""
        if self.wanted and (self.kind == "number" or value > most):
            return self.wanted
        if value > most:
            return f"at most {most}"
        return "a non-negative integer" if least == 0 else f"at least {least}"


class TableKeys(NamedTuple):
    """The keys that a table may have. `others`: of each key with another name; None refuses it.

    `subject` begins the message about a missing key, such as `the partition`; "" leaves this
    message to the code of the loader. `one`: exactly one of the keys is wanted. `lenient`: an
    unknown key is only a warning. `elsewhere`: keys that another file has, with the hint that
    states which. `words`: of JSON Schema.
    """

    named: Mapping[str, Key]
    others: Key | None = None
    subject: str = ""
    one: bool = False
    lenient: bool = False
    elsewhere: Mapping[str, str] = {}
    words: Mapping[str, Any] = {}


ANY_KEYS = TableKeys({}, Key("any"))

Schema: TypeAlias = dict[str, Any]

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_LINE: Schema = {"type": "string", "not": {"pattern": r"[\x00-\x1f\x7f]"}}


def file_schema(title: str, keys: TableKeys) -> Schema:
    """Return the schema of a file with these keys, as JSON data."""
    return {"$schema": DRAFT, "title": title, **_table(keys)}


def _table(keys: TableKeys) -> Schema:
    others = False if keys.others is None else _field(keys.others)
    schema: Schema = {
        "type": "object",
        "properties": {name: _field(field) for name, field in keys.named.items()},
        "additionalProperties": others,
    }
    if required := [name for name, field in keys.named.items() if field.required is not None]:
        schema["required"] = required
    if keys.one:
        schema |= {"minProperties": 1, "maxProperties": 1}
    return schema | dict(keys.words)


def _field(field: Key) -> Schema:
    about: Schema = {"description": field.about} if field.about else {}
    either = [_field(each) for each in field.either]
    inner: Schema = {"type": "object"} if field.keys is None else _table(field.keys)
    form = {"pattern": f"^({field.form})$"} if field.form else {}
    words = dict(field.words)
    match field.kind:
        case "table":
            return about | inner | words
        case "tables":
            return (
                about | {"type": "array", "items": {"anyOf": either} if either else inner} | words
            )
        case "strings" | "texts":
            one = {"type": "string", **form, **words.pop("items", {})}
            several = {"type": "array", "items": one, **words}
            return about | (several if field.kind == "strings" else {"anyOf": [one, several]})
        case "array" if either:
            return about | {"type": "array", "items": {"anyOf": either}} | words
        case "any" if either:
            return about | {"anyOf": either} | words
    own: Schema = {} if field.kind == "any" else {"type": field.kind}
    schema = about | (_LINE if field.kind == "line" else own) | form
    if field.choices:
        schema["enum"] = list(field.choices)
    if field.kind in ("integer", "number") and "exclusiveMinimum" not in words:
        schema["minimum"] = field.least or 0
    if field.most is not None:
        schema["maximum"] = field.most
    return schema | words
