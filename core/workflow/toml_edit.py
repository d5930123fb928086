"""Set or remove one setting of an action in the text of workflow.toml.

tomlkit parses and writes the text. New keys are inserted into its tree directly: its own methods
place a key behind the comments that follow, write their own line ends, ignore the indentation, and
write invalid TOML for a dotted key in an inline table. tomlkit also moves elements of an array that
other tables separate, and is slow for long texts: it gets the text of one action only.
`tests/core/workflow/test_tomlkit.py` has an example of each fault.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rowtui.core.workflow.positions import offsets
from tomlkit import dumps, key_value, parse, value
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AbstractTable, AoT, InlineTable, Item, Key, Null, Table


class NotEditableError(Exception):
    """tomlkit cannot read the text, or does not write it as it was."""


def with_setting(text: str, action: int, path: Sequence[str], literal: str | None) -> str:
    """Return the text with this setting of the action at this index; without it for None.

    `text`: valid TOML without a byte order mark. `literal`: the value as TOML; a string gets the
    quotes of the one that it replaces. Raises: NotEditableError.
    """
    known = offsets(text)
    if (start := known.get(("action", action))) is None:
        raise NotEditableError
    end = known.get(("action", action + 1), len(text))
    if text[start] == "{":  # an array of inline tables
        return _edited(text, action, path, literal)
    return text[:start] + _edited(text[start:end], 0, path, literal) + text[end:]


def _edited(text: str, action: int, path: Sequence[str], literal: str | None) -> str:
    try:
        document = parse(text)
        if dumps(document) != text:
            raise NotEditableError
        actions: Any = document["action"]
        _set(actions[action], path, literal, "\r\n" if "\r\n" in text else "\n")
        return dumps(document)
    except (TOMLKitError, RecursionError) as error:
        raise NotEditableError from error


def _set(table: AbstractTable, path: Sequence[str], literal: str | None, line_end: str) -> None:
    name = path[-1]
    holder = _holder(table, path)
    if holder is None:
        if literal is not None:
            _add(table, path, literal, line_end)
    elif literal is None:
        _remove(table, path)
    else:
        old: Any = holder[name]
        single = old.as_string().startswith("'")
        holder[name] = value(literal.replace('"', "'") if single else literal)


def _holder(table: AbstractTable, path: Sequence[str]) -> AbstractTable | None:
    """Return the innermost table of the path. A table can have parts in several places."""
    for key, item in table.value.body:
        if key is None or key.key != path[0]:
            continue
        if len(path) == 1:
            return table
        if isinstance(item, AbstractTable) and (holder := _holder(item, path[1:])) is not None:
            return holder
    return None


def _remove(table: AbstractTable, path: Sequence[str]) -> None:
    """Remove a pair: the value, and each part of its dotted key that has no other value."""
    body = table.value.body
    for at, (key, item) in enumerate(body):
        if key is None or key.key != path[0]:
            continue
        if len(path) > 1 and isinstance(item, AbstractTable):
            _remove(item, path[1:])
            if not key.is_dotted() or any(inner is not None for inner, _ in item.value.body):
                continue
        body[at] = (None, Null())
        if isinstance(table, InlineTable) and at and body[at - 1][1].as_string() == " ":
            del body[at - 1]  # of the blanks on both sides, one remains
        return


def _add(table: AbstractTable, path: Sequence[str], literal: str, line_end: str) -> None:
    """Add a pair beside similar pairs, in the innermost table that has a header or braces."""
    body = table.value.body
    named = [
        (at, key.is_dotted(), item)
        for at, (key, item) in enumerate(body)
        if key is not None and key.key == path[0] and isinstance(item, AbstractTable)
    ]
    similar = [at for at, dotted, _ in named if dotted]
    inner = [item for _, dotted, item in named if not dotted]
    if inner and not similar:
        headed = [each for each in inner if not _is_without_header(each)]
        _add((headed or inner)[-1], path[1:], literal, line_end)
        return
    similar = similar or [at for at, entry in enumerate(body) if _is_pair(*entry)]
    new_key, new = key_value(f"{'.'.join(path)} = {literal}")
    if isinstance(table, InlineTable):
        new.trivia.indent, new.trivia.trail = " ", "" if body else " "
    elif _is_without_header(table):
        table.trivia.comment_ws = table.trivia.comment = ""  # copies of an inner table's
        table.trivia.trail, new.trivia.trail = line_end, 2 * line_end
    else:
        above = _last(body[similar[-1]][1]).trivia if similar else table.trivia
        new.trivia.indent, new.trivia.trail = above.indent, above.trail.lstrip(" \t")
        above.trail = above.trail or line_end  # the last line may have no line end
    body.insert(similar[-1] + 1 if similar else 0, (new_key, new))


def _is_pair(key: Key | None, item: Item) -> bool:
    """Whether an entry of a table is written as `key = value`, where the key may have dots."""
    return key is not None and (key.is_dotted() or not isinstance(item, (Table, AoT)))


def _is_without_header(table: AbstractTable) -> bool:
    return isinstance(table, Table) and table.is_super_table()


def _last(item: Item) -> Item:
    """Return the value of a dotted key."""
    while isinstance(item, Table):
        item = item.value.body[-1][1]
    return item
