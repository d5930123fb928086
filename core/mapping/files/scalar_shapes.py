"""Convert single values of a file to the values of an entity."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import isnan
from typing import Any

from rowtui.core.base.text import visible
from rowtui.core.mapping.files.subject import Subject, kind_of_node, quoted, value_place
from rowtui.core.mapping.model.fields import EntityField
from rowtui.core.mapping.yaml.nodes import MOST_DIGITS, Node, Scalar, YamlTable

TRUTH_WORDS: Mapping[str, bool] = {
    **dict.fromkeys(("true", "yes", "on", "y", "t", "1"), True),
    **dict.fromkeys(("false", "no", "off", "n", "f", "0"), False),
}
"""The texts, in lower case, that TPV reads as true and false; it refuses all others."""

_WHOLE_NUMBER = re.compile(r"\s*[-+]?[0-9_]+(?:\.0+)?\s*")


def set_value(subject: Subject, field: EntityField, key: Scalar, node: Node, value: Any) -> None:
    setattr(subject.entity, field.attribute, value)
    subject.say(field.attribute, value, value_place(key, node))


def in_quotes(node: Node) -> str:
    """Return the hint for a number or truth value where text is required."""
    if not isinstance(node, Scalar) or node.value is None or len(node.text) > 40:
        return ""
    return f'write it in quotes: "{visible(node.text)}"'


def _amount(subject: Subject, field: EntityField, key: Scalar, node: Node) -> None:
    value = node.value if type(node) is Scalar else None
    kind = type(value)
    if kind is int or (isinstance(value, float) and not isnan(value)) or (kind is str and value):
        set_value(subject, field, key, node, value)
    elif kind is str or kind is float:
        message = f"{quoted(key.text)} of {subject.words} is {'no number' if value else 'empty'}"
        subject.wrong(node.place, message, "write a number or an expression")
    else:
        bare = _in_bare_braces(node)
        hint = f"an expression stands here without braces: {bare}" if bare else ""
        subject.mismatch(key, node, "a number or an expression", hint)


def _number(subject: Subject, field: EntityField, key: Scalar, node: Node) -> None:
    value = as_number(node)
    if value is not None:
        set_value(subject, field, key, node, value)
        return
    hint = "expressions are not evaluated here" if kind_of_node(node) == "text" else ""
    subject.mismatch(key, node, "a number", hint)


def as_number(node: Node) -> int | float | None:
    """Return a number, or text of a number as a number; None for anything else and for NaN."""
    if not isinstance(node, Scalar) or isinstance(node.value, bool) or node.value is None:
        return None
    value = node.value
    for number in (int, float):
        if isinstance(value, str) and value.isascii() and len(value) < MOST_DIGITS:
            try:
                value = number(value)
            except ValueError:
                continue
    if isinstance(value, str) or (isinstance(value, float) and isnan(value)):
        return None
    return value


def as_whole_number(node: Node) -> int | float | None:
    """Return a number without a fraction. As in TPV, text for such a number has no exponent."""
    value = as_number(node)
    if value is None or value % 1 != 0:
        return None
    text = node.value if isinstance(node, Scalar) else None
    return None if isinstance(text, str) and not _WHOLE_NUMBER.fullmatch(text) else value


def _text(subject: Subject, field: EntityField, key: Scalar, node: Node) -> None:
    if not isinstance(node, Scalar) or not isinstance(node.value, str):
        subject.mismatch(key, node, "text", in_quotes(node))
    elif not node.value.strip():
        subject.doubt(node.place, f"{quoted(key.text)} of {subject.words} is empty and ignored")
    else:
        set_value(subject, field, key, node, node.value)


def _code(subject: Subject, field: EntityField, key: Scalar, node: Node) -> None:
    if isinstance(node, Scalar) and isinstance(node.value, str):
        set_value(subject, field, key, node, node.value)
    else:
        subject.mismatch(key, node, "text", in_quotes(node))


def _condition(subject: Subject, field: EntityField, key: Scalar, node: Node) -> None:
    if isinstance(node, Scalar) and (isinstance(node.value, str) or node.value in (0, 1)):
        value = node.value if isinstance(node.value, bool) else node.text
        set_value(subject, field, key, node, value)
    else:
        subject.mismatch(key, node, "an expression, or true or false", in_quotes(node))


def _flag(subject: Subject, field: EntityField, key: Scalar, node: Node) -> None:
    """Read a flag as TPV does: any number is accepted, and spaces around a word are ignored."""
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, str):
        value = TRUTH_WORDS.get(value.strip().lower())
    _set_truth(subject, field, key, node, None if value is None else bool(value))


def _boolean(subject: Subject, field: EntityField, key: Scalar, node: Node) -> None:
    _set_truth(subject, field, key, node, as_boolean(node))


def _set_truth(
    subject: Subject, field: EntityField, key: Scalar, node: Node, value: bool | None
) -> None:
    if value is None:
        subject.mismatch(key, node, "true or false", TRUTH_HINT)
    else:
        set_value(subject, field, key, node, value)


TRUTH_HINT = "write true or false, without quotes"


def as_boolean(node: Node) -> bool | None:
    """Return a truth value from a boolean, 0 or 1, or a word; None for anything else."""
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, str):
        return TRUTH_WORDS.get(value.lower())
    return bool(value) if value in (0, 1) else None


def _in_bare_braces(node: Node) -> str:
    """Return the expression in `{cores}` without quotes, which YAML reads as a map; else ""."""
    if not isinstance(node, YamlTable) or len(node.entries) != 1:
        return ""
    [(key, value)] = node.entries.values()
    if not isinstance(value, Scalar) or value.value is not None:
        return ""
    return visible(key.text)


def quotes_missing(node: Node) -> str:
    bare = _in_bare_braces(node)
    return f'put it in quotes if it is an expression: "{{{bare}}}"' if bare else ""


Reader = Callable[[Subject, EntityField, Scalar, Node], None]
SCALAR_READERS: Mapping[str, Reader] = {
    "amount": _amount,
    "number": _number,
    "text": _text,
    "code": _code,
    "condition": _condition,
    "flag": _flag,
    "boolean": _boolean,
}
