"""Convert the nodes of a file to the values of an entity, one function for each shape.

The functions take nodes with their places, set attributes of the current entity, record the place
of every value, and record every problem. Nothing is evaluated. `READ` has a function for each shape
of `fields`.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Mapping
from typing import Any

from rowtui.core.base.text import visible
from rowtui.core.mapping.files.subject import (
    SCALAR_READERS,
    TRUTH_HINT,
    Reader,
    Subject,
    as_boolean,
    as_number,
    as_whole_number,
    in_quotes,
    kind_of_node,
    quoted,
    quotes_missing,
    set_value,
    value_place,
)
from rowtui.core.mapping.model.entities import Destination, Pool
from rowtui.core.mapping.model.fields import ENV_FORMS, OVERSIZE, EntityField, env_key
from rowtui.core.mapping.model.origin import FilePosition
from rowtui.core.mapping.model.tags import STRENGTHS, SchedulingTags
from rowtui.core.mapping.yaml.nodes import Items, Node, Scalar, YamlTable, plain
from rowtui.core.workflow.toml_file import did_you_mean

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def variables(subject: Subject, table: YamlTable) -> dict[str, tuple[Any, FilePosition]]:
    """Return context variables by name, with their places; unreadable names are reported."""
    found = {}
    for name, (key, node) in table.entries.items():
        if name.isidentifier() and not keyword.iskeyword(name):
            found[name] = (plain(node), value_place(key, node))
            continue
        message = f"the variable {quoted(name)} in the context of {subject.words} can never be read"
        hint = "a name has letters, digits and _ only and does not begin with a digit"
        if keyword.iskeyword(name):
            hint = f"{quoted(name)} is a word of the language; choose another name"
        subject.wrong(key.place, message, hint)
    return found


def _variables(subject: Subject, _field: EntityField, key: Scalar, node: Node) -> None:
    table = subject.table(key, node, "a map of variables")
    if table is None:
        return
    for name, (value, place) in variables(subject, table).items():
        subject.entity.context[name] = value
        subject.say(f"context.{name}", value, place)


def _params(subject: Subject, _field: EntityField, key: Scalar, node: Node) -> None:
    table = subject.table(key, node)
    if table is None:
        return
    entity = subject.entity
    for name, (inner, value_node) in table.entries.items():
        if not _is_text_key(subject, key, inner):
            continue
        entity.params[name] = value = plain(value_node)
        if hint := quotes_missing(value_node):
            message = f"{quoted(inner.text)} of {subject.words} is a map, not an expression"
            subject.doubt(inner.place, message, hint)
        subject.say(f"params.{name}", value, value_place(inner, value_node))


def _is_text_key(subject: Subject, key: Scalar, inner: Scalar) -> bool:
    """Whether a key of a map is text, as TPV requires; any other key is reported."""
    if isinstance(inner.value, str):
        return True
    message = f"the key {quoted(inner.text)} in {quoted(key.text)} of {subject.words} is not text"
    subject.wrong(inner.place, message, f'write it in quotes: "{visible(inner.text)}"')
    return False


def _env(subject: Subject, _field: EntityField, key: Scalar, node: Node) -> None:
    if isinstance(node, YamlTable):
        for name, (inner, value) in node.entries.items():
            if not _is_text_key(subject, key, inner):
                continue
            if isinstance(value, Scalar):
                _add_env(subject, inner, {"name": name, "value": str(value.value)}, value)
            else:
                subject.mismatch(inner, value, "text or a number", quotes_missing(value))
    elif isinstance(node, Items):
        for item in node.items:
            if isinstance(item, YamlTable):
                _env_entry(subject, item)
            else:
                message = f"an entry of `env` of {subject.words} is {kind_of_node(item)}"
                subject.wrong(item.place, message, "write `- name: ...` and `value: ...` below it")
    else:
        hint = "write `NAME: value` on lines of their own below it"
        subject.mismatch(key, node, "a map or a list", hint)


def _env_entry(subject: Subject, table: YamlTable) -> None:
    entry = {}
    place = table.place
    good = True
    for name, (key, node) in table.entries.items():
        if isinstance(node, Scalar) and isinstance(node.value, str):
            entry[name] = node.value
            place = value_place(key, node) if name == "value" else place
        else:
            subject.mismatch(key, node, "text", in_quotes(node))
            good = False
        if name not in ENV_FORMS:
            subject.unexpected(key, f"`env` of {subject.words}", ENV_FORMS)
    if not good:
        return
    if ("name" in entry) != ("value" in entry) or not entry.keys() & ENV_FORMS.keys():
        message = f"an entry of `env` of {subject.words} sets nothing"
        subject.wrong(table.place, message, "write `name` and `value`, or `file`, or `execute`")
        return
    first_key = next(iter(table.entries.values()))[0]
    _add_env(subject, first_key._replace(place=place), entry, None)


def _add_env(subject: Subject, key: Scalar, entry: dict[str, str], node: Node | None) -> None:
    name = entry.get("name", "")
    if "name" in entry and not _VARIABLE.fullmatch(name) and "{" not in name:
        message = f"{quoted(name)} in `env` of {subject.words} is not the name of a variable"
        subject.doubt(key.place, message, "shells take letters, digits and _")
    subject.entity.env.append(entry)
    place = key.place if node is None else value_place(key, node)
    subject.say(f"env.{env_key(entry)}", entry.get("value", entry), place)


def _handlers(subject: Subject, _field: EntityField, key: Scalar, node: Node) -> None:
    table = subject.table(key, node, "a map of handlers")
    if table is None:
        return
    for name, (inner, handler) in table.entries.items():
        if not _is_text_key(subject, key, inner):
            continue
        if not isinstance(handler, YamlTable):
            hint = "write `condition` and `destination` below it"
            subject.mismatch(inner, handler, "a map", hint)
            continue
        values = {}
        for word, (word_key, value) in handler.entries.items():
            if not _is_text_key(subject, inner, word_key):
                continue
            if isinstance(value, Scalar):
                values[word] = value.value
            else:
                subject.mismatch(word_key, value, "a single value")
        subject.entity.resubmit[name] = values
        subject.say(f"resubmit.{name}", values, inner.place)


def _tags(subject: Subject, field: EntityField, key: Scalar, node: Node) -> None:
    table = subject.table(key, node, "a map of lists of tags")
    if table is None:
        return
    lists: dict[str, list[str]] = {}
    places: dict[str, tuple[str, FilePosition]] = {}
    for strength, (inner, listed) in table.entries.items():
        if strength not in STRENGTHS:
            subject.unexpected(inner, f"`{key.text}` of {subject.words}", STRENGTHS)
        elif isinstance(subject.entity, Pool) and strength in ("prefer", "accept"):
            message = f"{quoted(strength)} means nothing to {subject.words}"
            subject.wrong(inner.place, message, "pools select jobs by `require` and `reject`")
        elif not isinstance(listed, Scalar) or listed.value is not None:
            lists[strength] = _listed_tags(subject, strength, inner, listed, places)
    tags = SchedulingTags(**lists)
    setattr(subject.entity, field.attribute, tags)
    for tag, (strength, place) in places.items():
        subject.say(f"tags.{tag}", strength, place)


def _listed_tags(
    subject: Subject,
    strength: str,
    key: Scalar,
    node: Node,
    places: dict[str, tuple[str, FilePosition]],
) -> list[str]:
    if not isinstance(node, Items):
        hint = f"write {strength}: [{visible(node.text)}]" if isinstance(node, Scalar) else ""
        subject.mismatch(key, node, "a list of tags", hint)
        return []
    tags = []
    for item in node.items:
        if not isinstance(item, Scalar) or not isinstance(item.value, str):
            message = f"a tag in {quoted(strength)} of {subject.words} must be text"
            subject.wrong(item.place, f"{message}, but is {kind_of_node(item)}", in_quotes(item))
        elif item.value in places:
            _twice(subject, strength, item, *places[item.value])
        else:
            places[item.value] = (strength, item.place)
            tags.append(item.value)
    return tags


def _twice(subject: Subject, strength: str, item: Scalar, other: str, place: FilePosition) -> None:
    message = f"the tag {quoted(item.text)} of {subject.words} is there twice"
    lists = f"in {quoted(other)}" if other == strength else f"in {quoted(other)} as well"
    where = f"{lists}, at line {place.line}, column {place.column}"
    subject.wrong(item.place, f"{message}: {where}", "keep one of them")


def _texts(subject: Subject, field: EntityField, key: Scalar, node: Node) -> None:
    if not isinstance(node, Items):
        hint = f"write {key.text}: [{visible(node.text)}]" if isinstance(node, Scalar) else ""
        subject.mismatch(key, node, "a list", hint)
        return
    texts = []
    for item in node.items:
        if isinstance(item, Scalar) and isinstance(item.value, str):
            texts.append(item.value)
        else:
            message = f"{quoted(key.text)} of {subject.words} may hold only text"
            subject.wrong(item.place, f"{message}, not {kind_of_node(item)}", in_quotes(item))
    assert isinstance(subject.entity, Destination)
    set_value(subject, field, key, node, texts)


def _oversize(subject: Subject, field: EntityField, key: Scalar, node: Node) -> None:
    table = subject.table(key, node)
    if table is None:
        return
    values: dict[str, Any] = {}
    for name, (inner, value_node) in table.entries.items():
        value = _OVERSIZE_READ.get(name, as_number)(value_node)
        if name not in OVERSIZE:
            hint = did_you_mean(name, OVERSIZE) or f"known are {', '.join(OVERSIZE)}"
            message = f"unknown key {quoted(name)} in `oversize` of {subject.words}"
            subject.wrong(inner.place, message, hint)
        elif isinstance(value_node, Scalar) and value_node.value is None:
            continue
        elif value is None:
            wanted = {"reserve_pool": "true or false", "max_concurrent": "a whole number"}
            hint = TRUTH_HINT if name == "reserve_pool" else ""
            subject.mismatch(inner, value_node, wanted.get(name, "a number"), hint)
        else:
            values[name] = value
    set_value(subject, field, key, node, values)


_OVERSIZE_READ: Mapping[str, Callable[[Node], Any]] = {
    "reserve_pool": as_boolean,
    "max_concurrent": as_whole_number,
}


def _ignored(subject: Subject, _field: EntityField, key: Scalar, _node: Node) -> None:
    message = f"{quoted(key.text)} inside {subject.words} is ignored"
    subject.doubt(key.place, message, "the key above is the id; remove this line")


def _label(subject: Subject, _field: EntityField, key: Scalar, node: Node) -> None:
    if not isinstance(node, Scalar):
        subject.mismatch(key, node, "text")
    elif node.text != subject.entity.origin.rule and node.text:
        message = f"{quoted(key.text)} inside {subject.words} is ignored"
        subject.doubt(key.place, message, "the key above is the id; remove this line")


def _not_here(subject: Subject, field: EntityField, key: Scalar, node: Node) -> None:
    """`parse` reads these properties itself."""


READ: Mapping[str, Reader] = {
    **SCALAR_READERS,
    "variables": _variables,
    "params": _params,
    "env": _env,
    "handlers": _handlers,
    "tags": _tags,
    "texts": _texts,
    "oversize": _oversize,
    "ignored": _ignored,
    "rules": _not_here,
    "label": _label,
}
