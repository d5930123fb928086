"""The object that is being read, and its single values as values of an entity.

The methods take nodes with their places, make messages that name them, and record every problem
with its line and column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from math import isnan
from typing import Any

from rowtui.core.base.errors import Problem
from rowtui.core.base.text import visible
from rowtui.core.mapping.model.entities import Entity
from rowtui.core.mapping.model.fields import UNKNOWN_KEY, EntityField
from rowtui.core.mapping.model.origin import FilePosition, Origin, Said
from rowtui.core.mapping.yaml.nodes import MOST_DIGITS, Items, Node, Scalar, YamlTable
from rowtui.core.workflow.toml_file import did_you_mean

_ALL_CODES: frozenset[str] = frozenset()

TRUTH_WORDS: Mapping[str, bool] = {
    **dict.fromkeys(("true", "yes", "on", "y", "t", "1"), True),
    **dict.fromkeys(("false", "no", "off", "n", "f", "0"), False),
}
"""The texts, in lower case, that TPV reads as true and false; it refuses all others."""

_WHOLE_NUMBER = re.compile(r"\s*[-+]?[0-9_]+(?:\.0+)?\s*")


def quoted(name: str) -> str:
    """Return a name from the file, for a message."""
    return f"`{visible(name if len(name) <= 80 else name[:77] + '...')}`"


def kind_of_node(node: Node) -> str:
    """Return the kind of a node with its article: `a map`, `a list`, `text`, ..."""
    if isinstance(node, YamlTable):
        return "a map"
    if isinstance(node, Items):
        return "a list"
    if node.value is None:
        return "empty"
    if isinstance(node.value, bool):
        return "true or false"
    return "text" if isinstance(node.value, str) else "a number"


class Subject:
    """The object whose properties are being read: an entity, a rule, or a section of the file.

    `words`: its name in messages; `error`: the first of its errors; `silenced`: the codes of lint
    messages that it silences (the empty set: all, None: none).
    """

    __slots__ = ("entity", "error", "problems", "silenced", "words")

    def __init__(
        self,
        entity: Entity,
        words: str,
        problems: list[Problem],
        silenced: frozenset[str] | None = None,
    ) -> None:
        self.entity = entity
        self.words = words
        self.problems = problems
        self.silenced = silenced
        self.error: Problem | None = None

    def say(self, field: str, value: Any, place: FilePosition) -> None:
        """Do the same as `Entity.say` without `_replace`, which would take most of the time."""
        entity = self.entity
        kind, name, _, rule, sealed = entity.origin
        found = Said(value, Origin(kind, name, place, rule, sealed))
        entity.said[field] = (found, *entity.said.get(field, ()))

    def wrong(self, place: FilePosition, message: str, hint: str = "") -> None:
        """Record an error."""
        problem = Problem(*place, message, hint)
        self.problems.append(problem)
        if self.error is None:
            self.error = problem

    def doubt(self, place: FilePosition, message: str, hint: str = "") -> None:
        """Record a warning."""
        self.problems.append(Problem(*place, message, hint, "warning"))

    def unexpected(self, key: Scalar, where: str, known: Iterable[str], hint: str = "") -> None:
        """Record a key that nothing reads."""
        if self.silenced == _ALL_CODES or (self.silenced and UNKNOWN_KEY in self.silenced):
            return
        names = list(known)
        message = f"unknown key {quoted(key.text)} in {where} is ignored ({UNKNOWN_KEY})"
        hint = hint or did_you_mean(key.text, names)
        known_ones = f"known are {', '.join(names)}" if len(names) < 10 else "remove it"
        self.doubt(key.place, message, hint or known_ones)

    def mismatch(self, key: Scalar, node: Node, wanted: str, hint: str = "") -> None:
        """Record a value of the wrong kind."""
        found = kind_of_node(node)
        message = f"{quoted(key.text)} of {self.words} must be {wanted}, but is {found}"
        self.wrong(node.place if isinstance(node, Scalar) else key.place, message, hint)

    def table(self, key: Scalar, node: Node, wanted: str = "a map") -> YamlTable | None:
        """Return the node as a map; for any other node, record a problem and return None."""
        if isinstance(node, YamlTable):
            return node
        self.mismatch(key, node, wanted, f"write `{visible(key.text)}:` and indented below it keys")
        return None


def value_place(key: Scalar, node: Node) -> FilePosition:
    """Return the place of a value: the first line of a text; the key of a map or list."""
    if type(node) is not Scalar:
        return key.place
    place = node.place
    return place if node.text_line == place.line else FilePosition(place.file, node.text_line, 1)


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
